"""Parts of the verdict on the newest version, by value: each limit on both of its sides."""

from __future__ import annotations

import collections
import math
import random
from typing import Any

import numpy as np
import pytest

from matrix_benchmarking.analyze.detect import Kind, change_points, evidence, judge, judge_all, p_values, watch
from matrix_benchmarking.analyze.detect.changes import Minimum
from matrix_benchmarking.analyze.detect.evidence import Prior, Split
from matrix_benchmarking.analyze.detect.judge import chance, chance_of_none, doubtful, reruns
from matrix_benchmarking.analyze.detect.splits import length_of

NO_PRIOR = Prior()


def split(shift: float, **others: Any) -> Split:
    """Thirty points and three that lie by *shift* higher, of a spread of 1."""
    fields = {
        "before": 30.0, "after": 3.0, "squares_before": 29.0, "squares_after": 2.0, "products": 0.0, "tail": 1.0,
        "outliers": 0.0, "far": 0.0, "others": 0.0, "precision": 1.0, "blocks": 3.0, "runs": 3.0,
    }  # fmt: skip
    return Split(**{name: np.array([[value]]) for name, value in {**fields, "shift": shift, **others}.items()})


def more(of: Split, begin: int = 0, prior: Prior = NO_PRIOR, points: int = 33) -> int:
    return int(reruns(of, points, begin, prior)[0])


def plain(of: Split, begin: int, prior: Prior, points: int = 33) -> int:
    """One run more after the other: the new level stays where it is, as does its spread and the share that is far."""
    values = {name: float(getattr(of, name)[0, 0]) for name in Split.__struct_fields__}
    for count in range(1, 101):
        share = (values["after"] + count) / values["after"]
        longer = Split(**{
            **values,
            "after": values["after"] + count,
            "squares_after": values["squares_after"] * share,
            "far": values["far"] * share,
            "others": values["others"] * math.sqrt(share),  # the same distance, in standard errors of a longer mean
            "blocks": values["blocks"] + count,
            "runs": values["runs"] + count,
        })  # fmt: skip
        weighed = evidence.weigh(longer, prior)
        limit = evidence.threshold(longer.after, length_of(begin, points - begin + count, prior))
        if weighed.score >= limit and evidence.confirmed(longer, weighed, prior):
            return count
    return 0


@pytest.mark.parametrize(
    ("of", "begin", "prior"),
    [
        (split(1.5), 0, NO_PRIOR),
        (split(1.2), 40, Prior(12.0, 1.0, 0.1)),
        (split(1.0), 10, Prior(3.0, 1.2, 0.0)),
        (split(1.8, far=1.0, others=0.9, outliers=1.0), 0, NO_PRIOR),
        (split(1.6, far=2.0, others=0.4, outliers=1.0), 0, NO_PRIOR),
        (split(1.4, far=3.0, others=0.0), 0, NO_PRIOR),
        (split(2.5, products=6.0, tail=1.3, precision=0.5), 0, NO_PRIOR),
        (split(20.0, after=1.0, squares_after=0.0, blocks=1.0, runs=1.0), 0, NO_PRIOR),
        (split(0.1), 0, NO_PRIOR),
    ],
)
def test_so_many_more_runs_raise_the_alarm_as_one_more_after_the_other_does(
    of: Split, begin: int, prior: Prior
) -> None:
    assert more(of, begin, prior, begin + 33) == plain(of, begin, prior, begin + 33)


def test_a_hundred_runs_are_the_most_that_are_asked_for() -> None:
    low, high = 0.1, 3.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (low, middle) if more(split(middle)) else (middle, high)
    assert (more(split(high)), more(split(low))) == (100, 0)


def test_a_change_is_doubtful_from_a_standard_deviation_below_the_threshold_on() -> None:
    least = Minimum(0.01, 0.0)
    excess = np.array([-1.0, np.nextafter(-1.0, -2.0), 0.0, 0.0])
    shift = np.array([1.0, 1.0, 0.99, -1.0])
    assert doubtful(excess, np.full(4, 100.0), shift, least).tolist() == [True, False, False, True]


def test_a_p_value_falls_no_further_than_a_hundred_standard_deviations_take_it() -> None:
    assert chance(-3.0) == chance_of_none(-3.0) == 1.0
    assert chance(-1.0) == chance_of_none(-1.0) == pytest.approx(0.19)
    assert chance(0.0) == chance_of_none(0.0) == chance_of_none(0.01) == chance_of_none(5.0) == pytest.approx(0.008)
    assert chance(0.25) == 0.003
    assert chance(0.5) == pytest.approx(0.003 * math.exp(-1.0))
    assert chance(100.25) == chance(1e9) == pytest.approx(0.003 * math.exp(-400.0))


@pytest.mark.parametrize(("minimum", "found"), [(9.9, [12]), (10.1, [])])
def test_a_minimum_is_in_the_unit_of_the_values(minimum: float, found: list[int]) -> None:
    values = [100.0 + 0.1 * (place % 3) for place in range(12)] + [110.0 + 0.1 * (place % 3) for place in range(6)]
    assert change_points(values, minimum=Minimum(0.0, minimum)) == found
    assert len(p_values(watch(values), Minimum(0.0, minimum))) == len(found)


def test_the_p_value_of_a_change_that_the_next_level_first_showed_is_that_without_it() -> None:
    points = np.repeat([100.0, 105.0, 115.0], [18, 5, 4]) + np.random.default_rng(21).standard_normal(27)
    assert [(one.first, one.seen) for one in judge(points).changes] == [(18, 23), (23, 25)]
    before, last = p_values(watch(points), Minimum(0.0))
    assert (before, last) == (judge(points[:23]).p_value, judge(points).p_value)
    assert judge(points[:24]).p_value != before
    later = np.repeat([100.0, 103.0, 115.0], [18, 5, 4]) + np.random.default_rng(13).standard_normal(27)
    assert [(one.first, one.seen) for one in judge(later).changes] == [(18, 24), (23, 25)]
    assert p_values(watch(later), Minimum(0.0))[0] == judge(later[:23]).p_value == pytest.approx(0.0276, abs=1e-4)


@pytest.mark.parametrize(
    "values",
    [
        [0.0] * 30,
        [5.0] * 16 + [7.0] * 2,
        [0.0] * 12 + [0.5, 0.0, 0.5, 0.0, 0.0],
        [[0.0] * 3] * 20,
        [[1.0] * 3] * 9 + [[2.0] * 3] * 4,
        [[0.0] * 3] * 9 + [[0.0, 0.0, 1.0]] * 4,
        [[1.0] * 3] * 3,
    ],
)
def test_nothing_is_divided_by_a_spread_that_is_not_there(values: list[Any]) -> None:
    with np.errstate(divide="raise", invalid="raise"):
        assert judge_all([values, values]) == [judge(values)] * 2


def test_what_one_version_was_suspected_of_the_second_does_not_take_back() -> None:
    draw, kinds = random.Random(20261129), collections.Counter[tuple[bool, bool]]()
    for _ in range(200):
        values: list[float] = [100.0 + draw.gauss(0.0, 1.0) + (6.0 if place >= 20 else 0.0) for place in range(22)]
        first, second = (judge(values[:stop], lower_is_better=True) for stop in (21, 22))
        kinds[first.suspicion is not None, second.suspicion is not None or second.kind is Kind.REGRESSION] += 1
    assert kinds[True, True] > 80
    assert kinds[True, False] < kinds[True, True] / 8


@pytest.mark.parametrize("factor", [1.1, 1.3, 2.0])
def test_a_suspicion_begins_where_the_new_level_does(factor: float) -> None:
    """The newest point alone speaks for one as clearly, with a lower threshold; where it begins a bisection goes by."""
    noise = np.random.default_rng(815).normal(1.0, 0.01, (20, 17))
    begun = [judge((20.0 * row * np.where(np.arange(17) >= 15, factor, 1.0)).tolist()).suspicion for row in noise]
    assert sum(one is not None for one in begun) >= 14
    assert {(one.last_good, one.first_bad) for one in begun if one is not None} == {(14, 15)}
