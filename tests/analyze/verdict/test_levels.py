"""The changes of a series, episodes and drifts among them: each limit on both of its sides."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from toy_runs import entry, workload

from matrix_benchmarking.analyze.detect import Change, judge, judge_watched, watch
from matrix_benchmarking.analyze.detect.series import Blocks
from matrix_benchmarking.analyze.select.selection import select
from matrix_benchmarking.analyze.select.series import Series
from matrix_benchmarking.analyze.verdict import levels as of
from matrix_benchmarking.workload import MinimumEffect


def took_back(change: Change) -> bool:
    return change.takes_back is not None


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
    found = of.with_levels(changes, values, which=took_back)
    assert [one.new_level for one in found] == [110.0, pytest.approx(102.0), 100.0, 150.0]
    last = of.with_levels(changes[:2], values, which=took_back)
    assert last[1].new_level == pytest.approx((100.0 + 102.0 + 104.0 + 150.0 + 150.0) / 5)


def episodes(
    values: list[list[float]], changes: list[Change], asked: int = 0, *, lower: bool | None = True, least: float = 0.0
) -> tuple[int, int] | None:
    """The first points of the first change that was taken back and of what took it back."""
    found = of._first_episode(values, changes, asked, MinimumEffect(0.0, least), lower, len(values))
    return None if found is None else (found[0].first, found[1].first)


def stays(*levels: tuple[float, int]) -> list[list[float]]:
    return [[level] for level, count in levels for _ in range(count)]


def test_the_first_change_that_was_taken_back_before_the_next_is_an_episode() -> None:
    values = stays((100.0, 6), (110.0, 2), (100.0, 6), (110.0, 2), (100.0, 4))
    changes = [change(6, 100.0, 109.0), change(14, 100.0, 110.0)]
    assert episodes(values, changes) == (6, 8)
    (away, _) = of._first_episode(values, changes, 0, MinimumEffect(0.0, 0.0), True, len(values)) or (None, None)
    assert away is not None
    assert away.new_level == 110.0  # as far as it was away
    assert episodes(values, changes, 15) == (6, 8)
    assert episodes(values, changes, 16) == (14, 16)
    assert episodes(values, changes, 20) == (14, 16)
    assert episodes(values, changes, 21) is None
    assert episodes(values, changes, lower=None) is None
    assert episodes(values, [changes[1], change(16, 110.0, 100.0, worse=False, seen=18)]) == (14, 16)
    assert episodes(values, [changes[1], change(16, 110.0, 100.0, worse=False, seen=17)]) is None
    assert episodes(values, [changes[0], change(8, 110.0, 100.0, worse=False, seen=9), changes[1]]) == (14, 16)
    assert episodes(values[3:], [change(3, 100.0, 110.0)]) == (3, 5)  # the old level is three points


def test_the_old_level_of_a_change_is_that_since_the_one_before() -> None:
    values = stays((300.0, 20), (100.0, 5), (110.0, 2), (100.0, 3))
    changes = [change(20, 300.0, 100.0, worse=False), change(25, 100.0, 110.0)]
    assert episodes(values, changes) == (25, 27)
    short = [*values[:20], *values[23:]]
    assert episodes(short, [change(20, 300.0, 100.0, worse=False), change(22, 100.0, 110.0)]) is None


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
    better = [msgspec.structs.replace(one, is_worse=one.first != 40) for one in steps]
    assert [one.drifts_from for one in of._with_drifts(better, values)] == [None, 20, None, None]
    back = [*steps[:2], msgspec.structs.replace(steps[2], takes_back=30), steps[3]]
    assert [one.drifts_from for one in of._with_drifts(back, values)] == [None, 20, None, None]
    assert of._with_drifts([], values) == []


@pytest.mark.parametrize(("seen", "drifts_from"), [(14, None), (15, 10)])
def test_a_drift_is_told_by_the_points_up_to_the_one_that_showed_the_change(seen: int, drifts_from: int | None) -> None:
    """It takes six."""
    steps = [change(10, 100.0, 111.0), change(13, 111.0, 114.0, seen=seen)]
    found = of._with_drifts(steps, [[100.0 + place] for place in range(20)])
    assert [one.drifts_from for one in found] == [None, drifts_from]
    third = [steps[0], change(13, 111.0, 114.0, seen=15), change(15, 114.0, 116.0, seen=16)]
    of_three = of._with_drifts(third, [[100.0 + place] for place in range(20)])
    assert of_three[2].drifts_from == 10  # by all seven points, as the newest two levels have four


def measured(*levels: tuple[float, int], together: range = range(0)) -> tuple[Series, Blocks]:
    """A series on these levels, three runs a version, of which some were measured *together*."""
    points = [level for level, count in levels for _ in range(count)]
    values = [[level + 0.3 * ((7 * place + 3 * run) % 5 - 2) for run in range(3)] for place, level in enumerate(points)]
    blocks: Blocks = [[(together[0] if place in together else place, None)] * 3 for place in range(len(values))]
    runs = [entry({"version": f"1.{place}.0", "cost": value}, place) for place, of in enumerate(values) for value in of]
    (series,) = select(runs, workload(), kpi_filter=["cost"]).series
    return series, blocks


def judged(*levels: tuple[float, int], together: range = range(0)) -> tuple[of.JudgedSeries, Callable[[int], Any]]:
    """That series, and the p-value of what so many of its versions show."""
    series, blocks = measured(*levels, together=together)
    found = of.judged(series, MinimumEffect(), watch(series.values, blocks=blocks))
    return found, lambda count: judge(series.values[:count], blocks=blocks[:count]).p_value


def seen_in(found: of.JudgedSeries) -> list[tuple[int, int | None]]:
    """The first points of the changes, and those of what they took back."""
    return [(one.first, one.takes_back) for one in found.changes]


def test_the_p_value_of_an_episode_is_that_of_what_was_seen_before_it_ended() -> None:
    found, p_value = judged((100.0, 20), (110.0, 6), (100.0, 10))
    assert seen_in(found) == [(20, None), (26, 20)]
    assert (found.changes[0].seen, found.p_values) == (21, (p_value(26), p_value(26)))
    assert p_value(22) != p_value(26) != p_value(27)


def test_an_episode_that_the_first_version_after_it_confirmed_has_the_p_value_with_that() -> None:
    found, p_value = judged((100.0, 20), (110.0, 4), (100.0, 10), together=range(20, 24))
    assert seen_in(found) == [(20, None), (24, 20)]
    assert (found.changes[0].seen, found.p_values) == (24, (p_value(25), p_value(25)))
    assert p_value(24) != p_value(25) != p_value(26)


def test_one_version_that_takes_two_changes_back_says_so_of_the_first() -> None:
    found, _ = judged((100.0, 20), (110.0, 5), (120.0, 4), (100.0, 10))
    assert seen_in(found) == [(20, None), (25, None), (29, 20)]
    assert found.changes[2].old_level == pytest.approx(110.0, abs=1.0)
    apart, _ = judged((100.0, 20), (110.0, 3), (100.0, 10), (110.0, 3), (100.0, 10))
    assert seen_in(apart) == [(20, None), (23, 20), (33, None), (36, 33)]


def test_what_takes_a_change_back_comes_before_the_change_that_begins_with_it() -> None:
    found, _ = judged((100.0, 20), (110.0, 2), (90.0, 12))
    assert seen_in(found) == [(20, None), (22, 20), (22, None)]
    assert found.judged == 22


@pytest.mark.parametrize("at_once", [7, 12, 22, 30])
def test_a_history_is_judged_alike_however_many_points_are_gone_along_at_once(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    series, blocks = measured((100.0, 16), (110.0, 3), (100.0, 10), (110.0, 3), (100.0, 10), (105.0, 8))
    whole = of.judged(series, MinimumEffect(), watch(series.values, blocks=blocks))
    assert seen_in(whole) == [(16, None), (19, 16), (29, None), (32, 29), (42, None)]
    monkeypatch.setattr(of, "AT_ONCE", at_once)
    found = of.judged(series, MinimumEffect(), watch(series.values, at_once, blocks))
    assert (found.changes, found.p_values, found.judgement) == (whole.changes, whole.p_values, whole.judgement)


def test_evidence_that_was_none_when_an_episode_ended_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(*given: Any, **options: Any) -> Any:
        return msgspec.structs.replace(judge_watched(*given, **options), p_value=None)

    monkeypatch.setattr(of, "judge_watched", without)
    assert judged((100.0, 20), (110.0, 4), (100.0, 10))[0].p_values == (1.0, 1.0)


def test_levels_are_medians_in_a_unit_in_which_no_square_overflows() -> None:
    points, unit = of.middles([[9.0], [1.0, 5.0, 2.0], [-6.0], [7.0]], 1, 3)
    assert (points.tolist(), unit) == ([2.0 / 4.0, -6.0 / 4.0], 4.0)
    values = [[1e308], [1.6e308], [1.2e308, 1.4e308, 1.7e308]]
    (back,) = of.with_levels([change(1, 1e308, 1.6e308, takes_back=0)], values, which=took_back)
    assert back.new_level == pytest.approx(1.5e308)
    assert math.isfinite(float(np.sum(of.middles([[1e308], [-1e308]], 0, 2)[0] ** 2)))
