"""Two sets of repeats, or two parts of a series, side by side: how far apart, how sure, what settles a doubt."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from matrix_benchmarking.analyze.detect import (
    EmptyLevelError,
    InvalidThresholdError,
    Judgement,
    Kind,
    compare_levels,
    judge,
    judge_pair,
)
from matrix_benchmarking.analyze.intervals import Spread

OLD, SLOWER = [100.0, 101.0, 99.0, 100.5, 99.5], [110.0, 111.0, 109.0, 110.5, 109.5]
ANY_RUNS = st.lists(st.one_of(st.floats(), st.none(), st.sampled_from([0.0, 1.0, 5e-324, 1e308])), max_size=6)


def runs(seed: int, count: int, level: float = 100.0, noise: float = 0.03) -> npt.NDArray[np.float64]:
    return level * np.exp(noise * np.random.default_rng([81, seed]).standard_normal(count))


def pair(seed: int, count: int, effect: float = 0.0, spread: Spread | None = None) -> Judgement:
    both = runs(seed, 2 * count)
    return judge_pair(both[:count], both[count:] * (1.0 + effect), lower_is_better=True, spread=spread)


def test_a_slower_build_is_a_regression_with_its_size_in_the_interval() -> None:
    verdict = judge_pair(OLD, SLOWER, lower_is_better=True)
    assert verdict.kind is Kind.REGRESSION
    assert verdict.effect is not None and verdict.effect.low < 0.1 < verdict.effect.high
    assert verdict.difference is not None and verdict.difference.value == pytest.approx(10.0)
    assert (verdict.old_level, verdict.new_level) == pytest.approx((100.0, 110.0))
    assert (verdict.runs_before, verdict.runs_after) == (5, 5)
    assert (verdict.first_bad, verdict.last_good, verdict.reruns, verdict.changes) == (None, None, None, ())


def test_direction_says_whether_it_is_a_regression() -> None:
    assert judge_pair(OLD, SLOWER, lower_is_better=False).kind is Kind.IMPROVEMENT
    assert judge_pair(SLOWER, OLD, lower_is_better=True).kind is Kind.IMPROVEMENT
    assert judge_pair(OLD, SLOWER, lower_is_better=None).kind is Kind.CHANGE


def test_the_p_value_is_welchs() -> None:
    old, new = [10.0, -11.0, 12.0], [14.0, 19.0, 15.0]  # not all positive: compared as differences
    expected = stats.ttest_ind(old, new, equal_var=False).pvalue
    assert judge_pair(old, new, lower_is_better=True).p_value == pytest.approx(expected)


def test_differences_below_the_minimum_effect_are_none() -> None:
    assert judge_pair(OLD, SLOWER, lower_is_better=True, minimum_effect=0.2).kind is Kind.NO_CHANGE
    assert judge_pair(OLD, SLOWER, lower_is_better=True, minimum_effect_absolute=20.0).kind is Kind.NO_CHANGE
    errors = judge_pair([0.0, 0.0, 0.0], [0.02, 0.03, 0.02], lower_is_better=True, minimum_effect_absolute=0.01)
    assert (errors.kind, errors.effect) == (Kind.REGRESSION, None)


def test_one_run_a_side_is_not_enough_unless_other_pairs_say_how_runs_spread() -> None:
    verdict = judge_pair([100.0], [110.0], lower_is_better=True)
    assert (verdict.kind, verdict.p_value, verdict.reruns) == (Kind.NOT_ENOUGH_HISTORY, None, 1)
    assert verdict.effect is not None and verdict.effect.value == pytest.approx(0.1)
    known = judge_pair([100.0], [110.0], lower_is_better=True, spread=Spread(0.01, 40, 10))
    assert known.kind is Kind.REGRESSION
    unsure = judge_pair([100.0], [110.0], lower_is_better=True, spread=Spread(0.05, 40, 10))
    assert unsure.kind is Kind.NO_CHANGE
    assert unsure.reruns == 3


def test_a_side_without_a_run_is_not_enough() -> None:
    for old, new in (([], OLD), (OLD, [math.nan, None]), ([], [])):
        assert judge_pair(old, new, lower_is_better=True).kind is Kind.NOT_ENOUGH_HISTORY  # type: ignore[arg-type]


def test_one_run_against_several_has_their_spread() -> None:
    assert judge_pair(OLD, [110.0], lower_is_better=True).kind is Kind.REGRESSION
    assert judge_pair(OLD, [102.0], lower_is_better=True).kind is Kind.NO_CHANGE


@pytest.mark.parametrize("count", [2, 3, 5, 10])
def test_equal_builds_are_rarely_told_apart(count: int) -> None:
    found = [pair(seed, count) for seed in range(400)]
    assert sum(v.kind is Kind.REGRESSION for v in found) <= 400 * 0.045
    assert sum(v.p_value is not None and v.p_value <= 0.05 for v in found) <= 400 * 0.08


def test_a_known_spread_finds_what_two_repeats_alone_do_not() -> None:
    alone = sum(pair(seed, 2, 0.1).kind is Kind.REGRESSION for seed in range(100))
    helped = sum(pair(seed, 2, 0.1, Spread(0.03, 60, 20)).kind is Kind.REGRESSION for seed in range(100))
    assert helped > 1.5 * alone
    false = sum(pair(seed, 2, 0.0, Spread(0.03, 60, 20)).kind is Kind.REGRESSION for seed in range(400))
    assert false <= 400 * 0.045


def test_one_spike_neither_hides_a_regression_nor_makes_one() -> None:
    assert judge_pair(OLD, [*SLOWER[:4], 200.0], lower_is_better=True).kind is Kind.REGRESSION
    assert judge_pair([*OLD[:4], 200.0], SLOWER, lower_is_better=True).kind is Kind.REGRESSION
    assert judge_pair(OLD, [*OLD[:4], 200.0], lower_is_better=True).kind is Kind.NO_CHANGE


def test_reruns_settle_a_doubtful_pair() -> None:
    doubtful = [verdict for seed in range(60) if (verdict := pair(seed, 3, 0.05)).reruns is not None]
    assert 5 <= len(doubtful) <= 50
    assert all(v.kind is Kind.NO_CHANGE and 1 <= (v.reruns or 0) <= 20 for v in doubtful)


def test_equal_values_differ_by_any_step() -> None:
    assert judge_pair([5.0] * 3, [5.0] * 3, lower_is_better=True).p_value == 1.0
    assert judge_pair([5.0] * 3, [6.0] * 3, lower_is_better=True).kind is Kind.REGRESSION


@settings(max_examples=150, deadline=None)
@given(
    ANY_RUNS, ANY_RUNS, st.one_of(st.none(), st.builds(Spread, st.floats(0.0, 1e6), st.integers(1, 100), st.just(3)))
)
def test_any_pair_gets_a_verdict(old: list[float | None], new: list[float | None], spread: Spread | None) -> None:
    verdict = judge_pair(old, new, lower_is_better=True, spread=spread)
    assert verdict.p_value is None or 0.0 <= verdict.p_value <= 1.0
    assert (verdict.p_value is None) == (verdict.kind is Kind.NOT_ENOUGH_HISTORY)


@pytest.mark.parametrize("seed", range(6))
def test_scaling_a_pair_changes_nothing(seed: int) -> None:
    old, new = runs(seed, 5), runs(seed + 50, 5) * 1.05
    verdict, scaled = (judge_pair(old * by, new * by, lower_is_better=True) for by in (1.0, 1000.0))
    assert scaled.kind is verdict.kind
    assert scaled.p_value == pytest.approx(verdict.p_value)
    turned = judge_pair(old, new, lower_is_better=False)
    assert (turned.kind is Kind.IMPROVEMENT) == (verdict.kind is Kind.REGRESSION)


def test_impossible_options_of_a_pair_are_refused() -> None:
    with pytest.raises(InvalidThresholdError, match=r"^A minimum effect is"):
        judge_pair(OLD, SLOWER, lower_is_better=True, minimum_effect=-1.0)


def test_two_parts_of_a_series_are_compared_as_its_verdict_does() -> None:
    values = [*runs(1, 40), *runs(2, 20) * 1.2]
    verdict = judge(values, lower_is_better=True)
    assert verdict.first_bad == 40
    effect, difference = compare_levels(values, (0, 40), (40, 60))
    assert (effect, difference) == (verdict.effect, verdict.difference)
    assert effect is not None and effect.low < 0.2 < effect.high


def test_parts_of_a_series_may_have_gaps_and_repeats() -> None:
    values = [[99.0, 100.0, 101.0], None, 100.5, math.nan, 99.5, [110.0, 111.0], 109.0]
    _, difference = compare_levels(values, (0, 5), (5, 7))
    assert difference.low < 9.75 < difference.high
    with pytest.raises(EmptyLevelError, match=r"^None of the versions 3 to 3 of the series has a value\.$"):
        compare_levels(values, (3, 4), (5, 7))


@pytest.mark.parametrize(("old", "new"), [((0, 1), (1, 2)), ((0, 1), (1, 6)), ((0, 5), (5, 6)), ((3, 4), (0, 2))])
def test_few_points_give_wide_intervals(old: tuple[int, int], new: tuple[int, int]) -> None:
    effect, difference = compare_levels([10.0, 10.1, 9.9, 10.0, 10.05, 12.0], old, new)
    assert difference.low <= difference.value <= difference.high
    assert effect is not None and effect.low <= effect.value <= effect.high
    assert effect.high - effect.low > 0.01
