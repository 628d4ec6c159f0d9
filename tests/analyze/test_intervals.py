"""Intervals and comparisons against scipy's own tests and against what must hold for any data."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from matrix_benchmarking.analyze import intervals
from matrix_benchmarking.analyze.intervals import Method, Sample, Scale

positive = st.floats(1e-6, 1e9)
samples = st.lists(positive, min_size=2, max_size=8)


def test_one_run_has_no_deviation_and_without_other_repeats_no_interval() -> None:
    sample = intervals.summarise([409.44])
    assert (sample.runs, sample.mean, sample.deviation) == (1, 409.44, None)
    assert intervals.interval(sample, Scale.RATIO) is None


def test_on_the_plain_scale_the_interval_is_students() -> None:
    values = [-1.0, 0.5, 2.0, 0.1]
    found = intervals.interval(intervals.summarise(values), intervals.scale_of(values))
    low, high = stats.t.interval(0.95, 3, loc=sum(values) / 4, scale=stats.sem(values))
    assert found is not None
    assert (found.low, found.high) == pytest.approx((low, high))


@given(samples)
def test_an_interval_of_positive_values_is_positive_and_holds_the_mean_in_its_middle_as_a_ratio(
    values: list[float],
) -> None:
    sample = intervals.summarise(values)
    found = intervals.interval(sample, Scale.RATIO)
    assert found is not None
    assert 0 < found.low <= sample.mean * (1 + 1e-12)
    assert found.low * found.high == pytest.approx(sample.mean**2)


@given(samples, st.floats(1e-3, 1e3))
def test_the_unit_does_not_change_whether_two_samples_can_be_told_apart(values: list[float], factor: float) -> None:
    others = [value * 1.1 for value in values[:-1]] + [values[-1]]
    here = intervals.compare(intervals.summarise(values), intervals.summarise(others), Scale.RATIO)
    there = intervals.compare(
        intervals.summarise([value * factor for value in values]),
        intervals.summarise([value * factor for value in others]),
        Scale.RATIO,
    )
    assert here.p_value == pytest.approx(there.p_value, abs=1e-6)


def test_two_repeated_samples_are_compared_as_welch_does() -> None:
    first, second = [-1.0, 0.5, 2.0], [3.0, 3.5, 2.5, 3.1]
    found = intervals.compare(intervals.summarise(first), intervals.summarise(second), Scale.DIFFERENCE)
    assert found.method is Method.WELCH
    assert found.p_value == pytest.approx(stats.ttest_ind(first, second, equal_var=False).pvalue)


def test_the_pooled_spread_weighs_points_by_their_degrees_of_freedom() -> None:
    first, second = intervals.summarise([1.0, 3.0]), intervals.summarise([10.0, 10.0, 16.0])
    spread = intervals.pooled([first, second, intervals.summarise([7.0])], Scale.DIFFERENCE)
    assert spread is not None
    assert (spread.degrees, spread.points) == (3, 2)
    assert spread.deviation == pytest.approx(math.sqrt((2.0 + 24.0) / 3))


def test_a_single_run_borrows_the_spread_of_other_points_and_says_so() -> None:
    spread = intervals.pooled([intervals.summarise([100.0, 110.0, 90.0])], Scale.RATIO)
    found = intervals.interval(intervals.summarise([50.0]), Scale.RATIO, spread)
    assert found is not None
    assert found.pooled
    assert found.high / 50 == pytest.approx(math.exp(stats.t.ppf(0.975, 2) * 0.1))


def test_a_difference_within_the_spread_is_not_claimed_and_one_far_beyond_it_is() -> None:
    reference = intervals.summarise([100.0, 110.0, 90.0])
    spread = intervals.pooled([reference], Scale.RATIO)
    near = intervals.compare(intervals.summarise([105.0]), reference, Scale.RATIO, spread)
    far = intervals.compare(intervals.summarise([300.0]), reference, Scale.RATIO, spread)
    assert (near.apart, near.method) == (False, Method.POOLED)
    assert far.apart is True
    assert far.difference == pytest.approx(2.0)


def test_without_any_repeat_it_is_unknown_whether_two_points_differ() -> None:
    found = intervals.compare(intervals.summarise([1.0]), intervals.summarise([100.0]), Scale.RATIO)
    assert (found.apart, found.p_value, found.method) == (None, None, Method.NONE)


def test_identical_repeats_are_told_apart_from_other_values_and_not_from_equal_ones() -> None:
    same = intervals.summarise([5.0, 5.0])
    assert intervals.compare(same, intervals.summarise([5.0, 5.0, 5.0]), Scale.RATIO).apart is False
    assert intervals.compare(same, intervals.summarise([6.0, 6.0]), Scale.RATIO).apart is True


def test_a_zero_among_the_values_puts_all_on_the_plain_scale() -> None:
    assert intervals.scale_of([1.0, 2.0]) is Scale.RATIO
    assert intervals.scale_of([1.0, 0.0]) is Scale.DIFFERENCE


@pytest.mark.parametrize("runs", [2, 3, 7])
def test_the_mean_of_the_largest_numbers_is_no_larger(runs: int) -> None:
    largest = sys.float_info.max
    assert intervals.summarise([largest] * runs) == Sample(runs, largest, 0.0)
    assert intervals.summarise([largest, -largest] * runs).mean == 0.0
