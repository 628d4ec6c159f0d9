"""How far levels lie apart, by value: intervals, what is unknown, and which changes are far enough to count."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy import stats

from matrix_benchmarking.analyze.detect import (
    Estimate,
    InvalidThresholdError,
    change_points,
    compare_levels,
    evidence,
    judge,
)
from matrix_benchmarking.analyze.detect.changes import Minimum, estimates, level, levels_of, moves, reach, split_of
from matrix_benchmarking.analyze.detect.evidence import Floats, Prior, Split, Weight
from matrix_benchmarking.analyze.detect.judge import chance, chance_of_none, doubtful, reruns, sight
from matrix_benchmarking.analyze.detect.scan import NewLevel
from matrix_benchmarking.analyze.detect.series import prepare

NOTHING: dict[str, Any] = {"products": 0.0, "tail": 1.0, "outliers": 0.0, "far": 0.0, "others": 0.0, "precision": 1.0}


def near(one: Estimate | None, *expected: float) -> bool:
    assert one is not None
    return msgspec.structs.astuple(one) == pytest.approx(expected)


def test_levels_of_three_versions_are_their_middle_ones_and_spread_as_they_do() -> None:
    values = [10.0, 14.0, 11.0, None, 15.0, 17.0, 16.0, 99.0]
    split = Split(3.0, 3.0, 5.0, 26.0 / 3.0, 2.0, blocks=3.0, runs=3.0, **NOTHING)
    weighed = evidence.weigh(split, Prior())
    wide = stats.t.ppf(0.975, max(weighed.degrees, 1.0)) * weighed.error
    effect, difference = compare_levels(values, (0, 4), (3, 7))
    assert near(difference, 5.0, 5.0 - wide, 5.0 + wide)
    ratio, factor = 16.0 / 11.0, math.exp(wide / 11.0)
    assert near(effect, ratio - 1.0, ratio / factor - 1.0, ratio * factor - 1.0)


def test_one_version_is_known_by_the_spread_of_the_others() -> None:
    split = Split(2.0, 1.0, -3.0, 2.0, 0.0, blocks=1.0, runs=1.0, **NOTHING)
    weighed = evidence.weigh(split, Prior())
    wide = stats.t.ppf(0.975, max(weighed.degrees, 1.0)) * weighed.error
    assert near(compare_levels([9.0, 11.0, 7.0], (0, 2), (2, 3))[1], -3.0, -3.0 - wide, -3.0 + wide)
    assert near(compare_levels([7.0, 9.0, 11.0], (0, 1), (1, 3))[1], 3.0, 3.0 - wide, 3.0 + wide)


def test_the_runs_of_three_versions_say_how_two_of_them_spread() -> None:
    runs = [[10.0, 10.4, 9.6], [10.1, 9.7, 10.5], [9.9, 10.3, 9.5]]
    difference = compare_levels(runs, (0, 1), (1, 2))[1]
    assert difference.value == pytest.approx(0.1)
    assert 0.3 < difference.high - difference.low < 3.0
    assert compare_levels(runs[:2], (0, 1), (1, 2))[1].high == math.inf
    series, _, scale = prepare(runs)
    points = series.points
    weighed = evidence.weigh(split_of(points[:1], points[1:], series.precision[1:], series.runs[1:]), series.prior)
    assert compare_levels(runs, (0, 1), (1, 3))[1].high == pytest.approx(
        (points[1:].mean() - points[0] + float(reach(weighed))) * scale
    )


def test_of_one_run_on_each_side_no_interval_is_known() -> None:
    nothing = Estimate(10.0, -math.inf, math.inf)
    assert compare_levels([10.0, 20.0], (0, 1), (1, 2)) == (Estimate(1.0, -1.0, math.inf), nothing)
    assert compare_levels([10.0, -5.0], (0, 1), (1, 2))[0] == Estimate(-1.5, -math.inf, math.inf)
    assert compare_levels([10.0, 0.0], (0, 1), (1, 2))[0] == Estimate(-1.0, -math.inf, math.inf)
    assert near(compare_levels([1000.0, 0.001], (0, 1), (1, 2))[0], 1e-6 - 1.0, -1.0, math.inf)
    assert near(compare_levels([0.001, 1000.0], (0, 1), (1, 2))[0], 1e6 - 1.0, -1.0, math.inf)
    assert compare_levels([0.0, 10.0], (0, 1), (1, 2)) == (None, nothing)
    assert compare_levels([-5.0, 5.0], (0, 1), (1, 2)) == (None, nothing)


@pytest.mark.parametrize("wrong", [-1e-9, math.inf, math.nan])
def test_a_minimum_effect_is_zero_or_positive(wrong: float) -> None:
    for pair in ((wrong, 0.0), (0.0, wrong)):
        with pytest.raises(InvalidThresholdError):
            Minimum(*pair)


def test_the_interval_of_a_ratio_is_even_on_the_logarithmic_scale() -> None:
    effect, difference = estimates(2.0, 4.0, 1.0, 8.0)
    assert near(effect, 0.5, 1.5 * math.exp(-0.25) - 1.0, 1.5 * math.exp(0.25) - 1.0)
    assert near(difference, 16.0, 8.0, 24.0)
    falling, _ = estimates(-2.0, 4.0, 1.0, 8.0)
    assert near(falling, -0.5, 0.5 * math.exp(-0.5) - 1.0, 0.5 * math.exp(0.5) - 1.0)
    assert near(estimates(-6.0, 4.0, 1.0, 8.0)[0], -1.5, -1.75, -1.25)
    assert near(estimates(-4.0, 4.0, 1.0, 8.0)[0], -1.0, -1.0, -0.75)  # no count falls by 125 %
    ratio = 0.001 / 4.0
    assert near(estimates(-3.999, 4.0, 1e-4, 1.0)[0], ratio - 1, ratio * math.exp(-0.1) - 1, ratio * math.exp(0.1) - 1)
    assert near(estimates(0.001, 0.001, 1e-4, 1.0)[0], 1.0, 2 * math.exp(-0.1) - 1, 2 * math.exp(0.1) - 1)
    assert estimates(5.0, -4.0, 1.0, 8.0)[0] is None
    assert estimates(5.0, 0.0, 1.0, 8.0)[0] is None
    assert near(estimates(-1.0, 0.005, 0.1, 8.0)[0], -200.0, -220.0, -180.0)
    assert near(estimates(0.0, 1.0, 499.0, 1.0)[0], 0.0, -1.0, math.exp(499.0) - 1.0)
    assert near(estimates(0.0, 1.0, 500.0, 1.0)[0], 0.0, -1.0, math.inf)


def test_an_interval_has_one_degree_of_freedom_at_least() -> None:
    assert reach(Weight(0.0, 0.0, 2.0, 0.0, 0.3)) == pytest.approx(2.0 * stats.t.ppf(0.975, 1.0))
    assert reach(Weight(0.0, 0.0, 2.0, 0.0, 7.0)) == pytest.approx(2.0 * stats.t.ppf(0.975, 7.0))


def test_two_levels_are_a_split_without_outliers() -> None:
    old, new = np.array([1.0, 2.0, 6.0]), np.array([7.0, 8.0, 9.0, 8.0])
    split = split_of(old, new, np.array([1.0, 0.5, 0.5, 1.0]), np.array([1.0, 3.0, 3.0, 1.0]))
    assert split == Split(
        3.0, 4.0, 6.0, 14.0, pytest.approx(2.0), pytest.approx(0.0), 1.0, 0.0, 0.0, 0.0, 0.75, 4.0, 8.0
    )
    turned = split_of(new, old, np.ones(3), np.ones(3))
    assert (turned.shift, turned.before, turned.after) == (-6.0, 4.0, 3.0)
    rising = split_of(np.arange(4.0), np.arange(8.0), np.ones(8), np.ones(8))
    assert rising.products == pytest.approx(1.25 + 26.25)


def test_the_level_of_four_points_holds_outliers_back() -> None:
    assert level(np.array([1.0, 2.0, 60.0])) == 2.0
    assert level(np.array([1.0, 2.0])) == 1.5
    four = np.array([1.0, 2.0, 3.0, 60.0])
    assert level(four) == pytest.approx((6.0 + min(60.0, 17.25 + 1.7 * 15.5)) / 4.0)
    assert levels_of(np.stack([four[:3], four[1:]])).tolist() == [2.0, 3.0]
    assert levels_of(np.stack([four, -four])) == pytest.approx([level(four), -level(four)])


def test_a_minimum_is_reached_on_its_limit_and_both_have_to_be() -> None:
    minimum = Minimum(0.25, 3.0)
    assert [bool(minimum.reached(16.0, new)) for new in (12.0, 12.1, 19.9, 20.0)] == [True, False, False, True]
    assert [bool(minimum.reached(-4.0, new)) for new in (-7.0, -6.9, -1.0, -1.1)] == [True, False, True, False]


BEFORE = [10.0, 10.0, 10.0, 10.0, 10.0]


def found(new: list[float], relative: float, seen: int = 6, deviation: float = 1.0) -> list[tuple[int, int]]:
    alarm = NewLevel(5, seen, 0.5, deviation, 0.0)
    return [(one.first, one.seen) for one in moves(np.array(BEFORE + new), [alarm], Minimum(relative, 0.0))]


def test_a_step_counts_from_where_it_first_reached_the_minimum() -> None:
    assert found([11.0, 11.0, 12.0, 10.0], 0.1) == [(5, 6)]
    assert found([11.0, 11.0, 13.0, 10.0], 0.11) == [(5, 7)]
    assert found([11.0, 11.0, 13.0, 15.0], 0.22) == [(5, 8)]  # of 15, 14 counts: three deviations off
    assert found([11.0, 11.0, 13.0, 15.0], 0.23) == []
    assert found([11.0, 11.0, 11.0, 21.0], 0.32, deviation=3.0) == [(5, 8)]
    assert found([11.0, 13.0, 40.0, 40.0], 0.35) == [(5, 8)]  # of 40, 15 counts: the first two lie around 12
    assert found([11.0, 13.0, 40.0, 40.0], 0.36) == []
    assert found([11.0, 11.0, 13.0, 11.0], 0.11, seen=8) == [(5, 8)]


def test_a_level_that_the_same_points_put_elsewhere_does_not_count_twice() -> None:
    points = np.array(BEFORE + [12.0] * 4 + [15.0] * 4)
    first, second = NewLevel(5, 9, 0.0, 1.0, 0.0), NewLevel(9, 9, 0.0, 1.0, 0.0)
    any_size = Minimum(0.0, 0.0)
    assert [one.first for one in moves(points, [first, second], any_size)] == [9]
    later = msgspec.structs.replace(second, seen=10)
    both = moves(points, [first, later], any_size)
    assert [(one.first, one.seen, one.old) for one in both] == [(5, 9, (0, 5)), (9, 10, (5, 9))]
    assert [one.old for one in moves(points, [first, later], Minimum(0.3, 0.0))] == [(0, 5)]
    assert [one.first for one in moves(points, [first, later], Minimum(0.0, 4.5))] == [9]
    third = NewLevel(11, 12, 0.0, 1.0, 0.0)
    assert [one.old for one in moves(points, [first, later, third], any_size)] == [(0, 5), (5, 9), (9, 11)]
    assert moves(points, [], any_size) == []


def splits(shift: Floats) -> Split:
    return Split(30.0, 2.0, shift, 29.0, 0.1, blocks=2.0, runs=2.0, **NOTHING)


def test_a_hundred_more_runs_are_the_most_that_are_asked_for() -> None:
    shifts = np.linspace(0.5, 3.0, 1500)[:, None]
    more = reruns(splits(shifts), 32, 0, Prior())
    assert (more[0], more.max()) == (0, 100)
    for place in (more.argmax(), np.flatnonzero(more)[-1], 900):
        shift, asked = float(shifts[place, 0]), int(more[place])
        assert asked == plain_reruns(shift)


def plain_reruns(shift: float) -> int:
    """One more run at a time."""
    for more in range(1, 101):
        after = 2.0 + more
        longer = msgspec.structs.replace(
            splits(np.array(shift)), after=after, squares_after=0.1 * after / 2.0, blocks=after, runs=after
        )
        weighed = evidence.weigh(longer, Prior())
        if weighed.score >= evidence.threshold(after, 32.0 + more) and evidence.confirmed(longer, weighed, Prior()):
            return more
    return 0


@pytest.mark.parametrize("others", [0.2, 0.9, 1.6])
@pytest.mark.parametrize("shift", [1.9, 2.1, 2.5])
def test_far_runs_and_the_others_grow_with_more_of_them(shift: float, others: float) -> None:
    far = msgspec.structs.replace(splits(np.array(shift)), far=1.0, others=others, blocks=2.0)
    expected = 0
    for more in range(1, 101):
        share = (2.0 + more) / 2.0
        longer = msgspec.structs.replace(
            far,
            after=2.0 + more,
            squares_after=0.1 * share,
            far=share,
            others=others * math.sqrt(share),
            blocks=2.0 + more,
            runs=2.0 + more,
        )
        weighed = evidence.weigh(longer, Prior())
        enough = weighed.score >= evidence.threshold(2.0 + more, 40.0 + more)
        if enough and evidence.confirmed(longer, weighed, Prior()):
            expected = more
            break
    assert expected > 0
    assert reruns(far, 47, 7, Prior()).tolist() == [expected]


def test_in_doubt_is_what_comes_within_one_deviation_and_would_count() -> None:
    minimum = Minimum(0.5, 0.0)
    assert [bool(doubtful(excess, 10.0, 5.0, minimum)) for excess in (-1.0, -1.01, 0.5)] == [True, False, True]
    assert not doubtful(0.0, 10.0, 4.9, minimum)


def test_the_chance_of_evidence_falls_with_it() -> None:
    assert [chance(excess) for excess in (-9.0, -2.5, -2.0, -1.5, -1.0)] == pytest.approx([1.0, 1.0, 0.94, 0.59, 0.19])
    assert [chance(excess) for excess in (-0.75, -0.5, -0.25, 0.0)] == pytest.approx([0.1, 0.05, 0.02, 0.008])
    assert chance(0.25) == pytest.approx(0.003)
    assert chance(1.25) == pytest.approx(0.003 * math.exp(-4.0))
    assert chance(1e9) == pytest.approx(0.003 * math.exp(-400.0), rel=1e-9, abs=0.0)
    assert chance_of_none(np.array([0.1, 0.0, -0.25, -9.0])) == pytest.approx([0.008, 0.008, 0.02, 1.0])


def test_what_would_show_is_unknown_where_one_block_speaks_or_no_step_is_enough() -> None:
    assert sight(1.5, 4, 9) == ((1.5, 4), False)
    assert sight(math.nan, 4, 9) == (None, False)
    assert sight(1.5, 0, 2) == (None, True)
    assert sight(1.5, 0, 1) == (None, False)


def test_nothing_is_said_of_a_series_that_is_too_short_but_its_level() -> None:
    verdict = judge([[4.0, 5.0], 6.0, 8.0], lower_is_better=True)
    assert (verdict.old_level, verdict.new_level, verdict.runs_before, verdict.runs_after) == (6.0, None, 4, 0)
    assert (verdict.reruns, verdict.would_show, verdict.is_one_block) == (7, None, False)
    assert judge([]).old_level is None


def test_the_newest_five_thousand_points_say_where_a_level_lies() -> None:
    noise = np.random.default_rng(11).normal(0.0, 1.0, 14_000)
    long = np.concatenate([np.full(2_000, 200.0), np.full(5_000, 100.0)]) + noise[:7_000]
    assert level(long) == level(long[-5_000:]) == pytest.approx(100.0, abs=0.1)
    assert levels_of(np.array([long, long[::-1]])).tolist() == [level(long), level(long[::-1])]
    ones = np.ones(7_000)
    split = split_of(long, long + 3.0, ones, ones)
    assert (split.before, split.after, split.shift) == (5_000.0, 5_000.0, pytest.approx(3.0))
    stepped = np.concatenate([np.full(12_000, 100.0), np.full(40, 120.0)]) + noise[:12_040]
    assert change_points(stepped) == [12_000]


@pytest.mark.parametrize(("shift", "reach"), [(8.0, 7.9), (-3.0, 2.9), (9.0, 4.0), (-3.5, 2.0)])
def test_a_ratio_holds_no_change_only_where_the_difference_does(shift: float, reach: float) -> None:
    """By the smaller level alone the interval of a ratio of three would, of a difference that is two errors from 0."""
    effect, difference = estimates(shift, 4.0, reach, 1.0, is_found=True)
    assert effect is not None and difference.low * difference.high > 0.0
    assert effect.low * effect.high > 0.0 and effect.low < effect.value < effect.high
    unsure, difference = estimates(shift, 4.0, abs(shift) + 0.1, 1.0, is_found=True)
    assert unsure is not None and unsure.low < 0.0 < unsure.high and difference.low < 0.0 < difference.high


def test_a_fall_to_nearly_nothing_is_no_error() -> None:
    effect, _ = estimates(-1e10, 1e10 + 5e-324, 1.0, 1.0, is_found=True)
    tiny, _ = estimates(-1.5, 1.5 + 5e-324, 0.1, 1.0, is_found=True)
    for found in (effect, tiny):
        assert found is not None and found.value == pytest.approx(-1.0)
    almost, _ = estimates(5e-324 - 4.0, 4.0, 0.1, 1.0, is_found=True)
    assert almost is not None and almost.value == -1.0


def test_the_interval_of_a_thousandth_or_a_thousandfold_is_near_that_of_the_difference() -> None:
    for shift, old, is_found in ((-9.99, 10.0, False), (-9.99, 10.0, True), (9990.0, 10.0, True)):
        effect, _ = estimates(shift, old, 0.03 * abs(shift), 1.0, is_found=is_found)
        assert effect is not None
        ends = sorted((1.03 * shift / old, 0.97 * shift / old))
        farther = ((1.0 + shift / old) * (0.5 if shift < 0 else 2.0)) - 1.0
        assert effect.low == pytest.approx(max(ends[0], -1.0))
        assert effect.high == pytest.approx(max(ends[1], farther))
    unclear, difference = estimates(-9.0, 10.0, 6.0, 1.0)
    assert unclear is not None
    assert unclear.low < 0.0 < unclear.high
    assert difference.high < 0.0


def test_the_farther_end_of_an_interval_grows_with_the_noise() -> None:
    for shift in (0.2, 1.0, 30.0, -0.3, -0.9):
        ends = [estimates(shift, 1.0, part * abs(shift), 1.0, is_found=True)[0] for part in np.linspace(0.01, 0.99, 99)]
        farther = [one.high if shift > 0 else -one.low for one in ends if one is not None]
        assert farther == sorted(farther)
