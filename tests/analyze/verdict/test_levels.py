"""The changes of a series, episodes and drifts among them: each limit on both of its sides."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from matrix_benchmarking.analyze.verdict import levels as of
from matrix_benchmarking.analyze.verdict.model import Change
from matrix_benchmarking.workload import MinimumEffect


def change(first: int, old: float, new: float, *, worse: bool = True, seen: int | None = None, **more: Any) -> Change:
    return Change(first, first - 1, first + 1 if seen is None else seen, old, new, worse, **more)


@pytest.mark.parametrize(
    ("minimum", "level", "expected"),
    [
        (MinimumEffect(0.01, 0.0), 200.0, 2.0),
        (MinimumEffect(0.01, 0.0), -200.0, 2.0),
        (MinimumEffect(0.01, 3.0), 200.0, 3.0),
        (MinimumEffect(0.0, 0.5), 0.0, 0.5),
    ],
)
def test_what_counts_is_the_larger_of_both_minima(minimum: MinimumEffect, level: float, expected: float) -> None:
    assert of.amount(minimum, level) == expected


@pytest.mark.parametrize(
    ("first", "new", "worse", "is_left"),
    [
        (30, 105.0, True, True),
        (30, 105.01, True, False),
        (30, 95.0, True, True),
        (30, 94.99, True, False),
        (32, 100.0, True, True),
        (33, 100.0, True, False),
        (28, 100.0, True, True),
        (27, 100.0, True, False),
        (30, 100.0, False, False),
    ],
)
def test_what_an_episode_left_of_its_step_is_a_quarter_at_most_and_two_versions_away(
    first: int, new: float, worse: bool, is_left: bool
) -> None:
    episode = [change(20, 100.0, 120.0), change(30, 120.0, 100.0, worse=False, takes_back=20)]
    assert of._is_left_over(change(first, 120.0, new, worse=worse), episode) is is_left
    assert not of._is_left_over(change(first, 120.0, new), episode[:1])


def test_a_change_among_kept_points_is_one_of_the_whole_series() -> None:
    kept = [0, 1, 2, 7, 8, 9, 12]
    assert of._placed(Change(3, 2, 5, 1.0, 2.0, True, takes_back=1), kept) == Change(7, 2, 9, 1.0, 2.0, True, 1)
    assert of._placed(Change(6, 4, 6, 1.0, 2.0, True, takes_back=3), kept) == Change(12, 8, 12, 1.0, 2.0, True, 7)
    assert of._placed(Change(6, 4, 6, 1.0, 2.0, True), kept).takes_back is None


def test_what_took_a_change_back_leads_to_the_mean_up_to_the_next_change() -> None:
    values = [[100.0]] * 4 + [[110.0]] * 2 + [[100.0], [102.0], [104.0, 1000.0, 0.0]] + [[150.0]] * 2
    changes = [
        change(4, 100.0, 110.0),
        change(6, 110.0, 100.0, worse=False, takes_back=4),
        change(6, 110.0, 100.0),
        change(9, 102.0, 150.0),
    ]
    found = of._with_levels(changes, values)
    assert [one.new_level for one in found] == [110.0, pytest.approx(102.0), 100.0, 150.0]
    last = of._with_levels(changes[:2], values)
    assert last[1].new_level == pytest.approx((100.0 + 102.0 + 104.0 + 150.0 + 150.0) / 5)


def episodes(
    values: list[list[float]], changes: list[Change], asked: int = 0, *, lower: bool | None = True, least: float = 0.0
) -> tuple[int, int] | None:
    """The first points of the first change that was taken back and of what took it back."""
    found = of._first_episode(values, changes, asked, MinimumEffect(0.0, least), lower)
    return None if found is None else (found[0].first, found[1].first)


def stays(*levels: tuple[float, int]) -> list[list[float]]:
    return [[level] for level, count in levels for _ in range(count)]


def test_the_first_change_that_was_taken_back_before_the_next_is_an_episode() -> None:
    values = stays((100.0, 6), (110.0, 2), (100.0, 6), (110.0, 2), (100.0, 4))
    changes = [change(6, 100.0, 109.0), change(14, 100.0, 110.0)]
    assert episodes(values, changes) == (6, 8)
    (away, _) = of._first_episode(values, changes, 0, MinimumEffect(0.0, 0.0), True) or (None, None)
    assert away is not None
    assert away.new_level == 110.0  # as far as it was away
    assert episodes(values, changes, 15) == (6, 8)
    assert episodes(values, changes, 16) == (14, 16)
    assert episodes(values, changes, 20) == (14, 16)
    assert episodes(values, changes, 21) is None
    assert episodes(values, changes, lower=None) is None
    assert episodes(values, [changes[1], change(16, 110.0, 100.0, worse=False, seen=18)]) == (14, 16)
    assert episodes(values, [changes[1], change(16, 110.0, 100.0, worse=False, seen=17)]) is None


def test_the_old_level_of_a_change_is_that_since_the_one_before() -> None:
    values = stays((300.0, 20), (100.0, 5), (110.0, 2), (100.0, 3))
    changes = [change(20, 300.0, 100.0, worse=False), change(25, 100.0, 110.0)]
    assert episodes(values, changes) == (25, 27)
    short = [*values[:19], *values[20:]]
    assert episodes(short, [change(20, 300.0, 100.0, worse=False), change(24, 100.0, 110.0)]) is None


@pytest.mark.parametrize(("count", "found"), [(4, (6, 10)), (5, None)])
def test_a_better_level_that_lasted_five_versions_is_no_episode(count: int, found: tuple[int, int] | None) -> None:
    better = stays((100.0, 6), (90.0, count), (100.0, 4))
    assert episodes(better, [change(6, 100.0, 90.0, worse=False)]) == found
    worse = stays((100.0, 6), (110.0, count), (100.0, 4))
    assert episodes(worse, [change(6, 100.0, 110.0)]) == (6, 6 + count)
    falling = stays((100.0, 6), (90.0, count), (100.0, 4))
    assert episodes(falling, [change(6, 100.0, 90.0)], lower=False) == (6, 6 + count)


def test_what_is_left_may_be_the_minimum_of_the_old_level() -> None:
    values = stays((100.0, 6), (110.0, 2), (104.0, 3))
    assert [episodes(values, [change(6, 100.0, 110.0)], least=least) for least in (3.9, 4.0)] == [None, (6, 8)]


def drifting(slope: float) -> list[list[float]]:
    random = np.random.default_rng(7)
    points = 100.0 + random.normal(0.0, 0.5, 60) + slope * np.maximum(np.arange(60) - 19, 0)
    return [[float(one)] for one in points]


def test_a_change_that_goes_on_a_drift_says_which_one_began_it() -> None:
    values = drifting(1.0)
    steps = [change(first, 100.0 + first - 20, 100.0 + first - 14, seen=first + 3) for first in (20, 30, 40, 50)]
    assert [one.drifts_from for one in of._with_drifts(steps, values)] == [None, 20, 20, 20]
    better = [dataclasses.replace(one, is_worse=one.first != 40) for one in steps]
    assert [one.drifts_from for one in of._with_drifts(better, values)] == [None, 20, None, None]
    back = [*steps[:2], dataclasses.replace(steps[2], takes_back=30), steps[3]]
    assert [one.drifts_from for one in of._with_drifts(back, values)] == [None, 20, None, None]
    assert of._with_drifts([], values) == []


def test_levels_are_medians_in_a_unit_in_which_no_square_overflows() -> None:
    points, unit = of.middles([[9.0], [1.0, 5.0, 2.0], [-6.0], [7.0]], 1, 3)
    assert (points.tolist(), unit) == ([2.0 / 4.0, -6.0 / 4.0], 4.0)
    assert of._level([[1.6e308], [1.2e308, 1.4e308, 1.7e308]]) == pytest.approx(1.5e308)
    assert math.isfinite(float(np.sum(of.middles([[1e308], [-1e308]], 0, 2)[0] ** 2)))
