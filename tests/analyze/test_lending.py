"""What groups lend each other of their variances, on numbers worked out by hand and on simulated ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from matrix_benchmarking.analyze.lending import correlation_of, lent


def lent_to(variances: list[float], degrees: list[float], correlation: float = 0.0) -> tuple[list[float], list[float]]:
    found = lent(np.array(variances), np.array(degrees), np.array(correlation))
    return found[0].tolist(), found[1].tolist()


def test_a_group_alone_has_its_own_variance_and_degrees() -> None:
    assert lent_to([4.0], [3.0]) == ([4.0], [3.0])


def test_two_groups_lend_each_other_what_they_have_and_not_their_own() -> None:
    variances, degrees = lent_to([1.0, 9.0], [4.0, 4.0])
    # Of one group nothing tells how groups differ: a tenth of how badly its logarithm tells a variance is taken for it.
    differ = 0.1 * np.sqrt((2.0 * special.polygamma(1, 2.0) ** 2 + special.polygamma(3, 2.0)) / 0.5)
    half = next(x for x in np.linspace(0.5, 50.0, 500_000) if special.polygamma(1, x) <= differ)
    worth = min(2.0 * float(half), 4.0)
    assert degrees == pytest.approx([4.0 + worth, 4.0 + worth], rel=1e-3)
    own = np.log([1.0, 9.0]) - special.digamma(2.0) + np.log(2.0)
    centre = np.exp(own[::-1] + special.digamma(half) - np.log(half))
    together = (4.0 * np.array([1.0, 9.0]) + worth * centre) / (4.0 + worth)
    assert variances == pytest.approx(together.tolist(), rel=1e-3)


def test_groups_that_look_alike_lend_at_most_the_degrees_that_they_have() -> None:
    variances, degrees = lent_to([2.0] * 5, [3.0] * 5)
    assert len(set(degrees)) == 1
    assert 3.0 < degrees[0] <= 3.0 + 4 * 3.0
    assert variances == pytest.approx([variances[0]] * 5)


def test_groups_that_differ_lend_less_than_those_that_do_not() -> None:
    alike = lent_to([1.0, 1.1, 0.9, 1.2, 1.0], [8.0] * 5)[1]
    differing = lent_to([1.0, 30.0, 0.03, 5.0, 0.2], [8.0] * 5)[1]
    assert max(differing) < min(alike)


def test_one_group_of_enormous_spread_hides_nothing_from_the_others() -> None:
    random = np.random.default_rng(4)
    quiet = random.chisquare(4, 12) / 4
    before = lent_to(quiet.tolist(), [4.0] * 12)
    after = lent_to([*quiet.tolist(), 1e4], [4.0] * 13)
    for found, was in zip(after[0][:12], before[0], strict=True):
        assert found < 1.7 * was
    assert min(after[1][:12]) > 0.4 * min(before[1])


def test_a_group_of_equal_values_lends_nothing_and_is_lent_to() -> None:
    variances, degrees = lent_to([0.0, 2.0, 2.0, 2.0], [2.0] * 4)
    assert variances[0] > 0.5
    assert degrees[0] > 2.0
    assert lent_to([2.0, 2.0, 2.0], [2.0] * 3)[0] == pytest.approx(variances[1:])
    assert lent_to([0.0, 0.0], [2.0, 2.0]) == ([0.0, 0.0], [2.0, 2.0])


def test_a_group_without_degrees_has_what_is_lent_alone() -> None:
    variances, degrees = lent_to([np.nan, 2.0, 2.0], [0.0, 5.0, 5.0])
    assert degrees[0] > 5.0
    assert 1.0 < variances[0] < 3.0


def test_groups_that_say_the_same_again_lend_less_the_more_they_do() -> None:
    degrees = [lent_to([2.0] * 10, [4.0] * 10, one)[1][0] for one in (-1.0, 0.0, 0.5, 0.9, 1.0)]
    assert degrees[0] == degrees[1]
    assert degrees == sorted(degrees, reverse=True)
    assert degrees[-1] == 4.0
    # (1 − .81) / (1 + 8 × .81) of 9 × 4 degrees
    assert degrees[3] == pytest.approx(4.0 + 36.0 * 0.19 / 7.48)


def test_each_of_many_analyses_is_by_itself() -> None:
    random = np.random.default_rng(1)
    variances, degrees = random.chisquare(3, (2, 4, 6)), np.full((2, 4, 6), 3.0)
    correlation = random.uniform(0, 0.5, (2, 4))
    together = lent(variances, degrees, correlation)
    alone = lent(variances[1, 2], degrees[1, 2], correlation[1, 2])
    assert together[0][1, 2] == pytest.approx(alone[0])
    assert together[1][1, 2] == pytest.approx(alone[1])


def test_the_correlation_is_the_mean_over_pairs_of_groups() -> None:
    random = np.random.default_rng(2)
    deviations = random.normal(size=(3, 9))
    deviations -= deviations.mean(axis=1, keepdims=True)
    found = np.corrcoef(deviations)
    assert float(correlation_of(deviations)) == pytest.approx((found[0, 1] + found[0, 2] + found[1, 2]) / 3)


def test_groups_without_a_common_block_say_nothing_of_correlation() -> None:
    nan = np.nan
    assert float(correlation_of(np.array([[1.0, -1.0, nan, nan], [nan, nan, 1.0, -1.0]]))) == 0.0
    assert float(correlation_of(np.array([[1.0, -1.0, nan], [1.0, -1.0, 0.0]]))) > 0.9
    assert float(correlation_of(np.array([[0.0, 0.0], [0.0, 0.0]]))) == 0.0
