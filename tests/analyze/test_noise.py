"""What groups of runs say of each other's noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from matrix_benchmarking.analyze import noise
from matrix_benchmarking.analyze.noise import Spreads, moderated, prior_of


def drawn(seed: int, groups: int, degrees: float, prior: float, variance: float = 4.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    truths = variance * prior / rng.chisquare(prior, groups)
    return truths * rng.chisquare(degrees, groups) / degrees


@pytest.mark.parametrize("prior", [2.0, 6.0, 20.0])
def test_many_groups_tell_how_alike_they_are(prior: float) -> None:
    variances = drawn(1, 3000, 4.0, prior)
    found = prior_of(variances, np.full(3000, 4.0))
    assert found is not None
    assert prior / 1.6 <= found.degrees <= prior * 1.15
    assert found.variance == pytest.approx(4.0, rel=0.15)


def test_the_likelihood_is_that_of_scaled_f_distributions() -> None:
    variances, degrees = np.array([1.0, 2.5, 9.0]), np.array([2.0, 3.0, 5.0])
    from matrix_benchmarking.analyze.noise import _WORTHS, _likelihoods, _of_any_place

    found, expected = [], []
    for place in (1.5, 4.0):
        places = np.full(len(_WORTHS), math.log(place))
        found += list(_likelihoods(np.log(variances), degrees, places) + _of_any_place(degrees))
        expected += [
            sum(
                stats.f.logpdf(one / place, own, worth) + math.log(one / place)
                for one, own in zip(variances, degrees, strict=True)
            )
            for worth in _WORTHS
        ]
    assert np.subtract(found, found[0]) == pytest.approx(np.subtract(expected, expected[0]))


def test_few_groups_that_look_alike_are_not_taken_for_equal() -> None:
    variances, degrees = np.array([1.0, 1.1, 0.9]), np.full(3, 2.0)
    found = prior_of(variances, degrees)
    assert found is not None
    assert found.degrees < 20


def test_groups_without_degrees_or_spread_say_nothing() -> None:
    assert prior_of(np.array([0.0, 3.0]), np.array([4.0, 0.0])) is None
    few = prior_of(np.array([1.0, 2.0]), np.array([4.0, 4.0]))
    assert prior_of(np.array([1.0, 2.0, 0.0, 9.0]), np.array([4.0, 4.0, 4.0, 0.0])) == few
    assert prior_of(np.array([1.0, 2.0, 0.5]), np.array([4.0, 4.0, 1.0])) != few


def test_a_moderated_variance_lies_between_a_groups_own_and_the_typical_one_by_their_degrees() -> None:
    found, degrees = moderated(np.array([1.0, 9.0, 5.0]), np.array([2.0, 2.0, 0.0]), Spreads(4.0, 6.0))
    assert found == pytest.approx([(2 + 24) / 8, (18 + 24) / 8, 4.0])
    assert degrees == pytest.approx([8.0, 8.0, 6.0])


def test_a_group_that_is_far_noisier_than_the_prior_explains_keeps_its_own_spread() -> None:
    found, degrees = moderated(np.array([1.0] * 20 + [225.0]), np.full(21, 2.0), Spreads(1.0, 10.0))
    assert found[:20] == pytest.approx([1.0] * 20)
    assert (found[20], degrees[20]) == pytest.approx((225.0, 2.0), rel=0.01)


def test_the_prior_has_the_fewest_degrees_whose_likelihood_is_within_half_a_unit_of_the_largest() -> None:
    worths, tenths = np.geomspace(0.7, 200.0, 24), np.arange(-30, 31) / 10
    inside = 0
    for seed in range(40):
        degrees = np.random.default_rng(seed).integers(2, 6, 6).astype(float)
        variances = drawn(seed, 6, degrees, 6.0)  # type: ignore[arg-type]
        places = np.median(np.log(variances)) + tenths
        scaled = variances / np.exp(places)[:, None]
        heights = (stats.f.logpdf(scaled, degrees, worths[:, None, None]) - places[:, None]).sum(axis=-1)
        best = heights.max(axis=1)
        fewest = int(np.argmax(best >= best.max() - 0.5))
        inside += bool(0 < fewest < best.argmax())
        found = prior_of(variances, degrees)
        assert found is not None
        assert found.degrees == pytest.approx(worths[fewest])
        assert math.log(found.variance) == pytest.approx(places[heights[fewest].argmax()])
    assert inside > 20


def test_the_prior_is_found_between_the_ends_of_what_is_tried() -> None:
    equal = prior_of(np.full(20_000, 3.0), np.full(20_000, 2.0))
    assert equal == Spreads(pytest.approx(3.0), pytest.approx(200.0))  # type: ignore[arg-type]
    wild = prior_of(np.exp(np.linspace(-40, 40, 300)), np.full(300, 9.0))
    assert wild is not None
    assert wild.degrees == pytest.approx(0.7)
    assert noise._WORTHS.size == 24
    assert pytest.approx(np.arange(-30, 31) / 10) == noise._PLACES


def test_an_infinite_variance_or_a_single_group_is_no_obstacle() -> None:
    known = prior_of(np.array([2.0]), np.array([5.0]))
    assert known is not None
    assert known.variance == pytest.approx(2.0, rel=0.2)
    assert prior_of(np.array([np.inf, 2.0, np.nan]), np.array([5.0, 5.0, 5.0])) == known
    assert prior_of(np.array([]), np.array([])) is None


def test_what_a_group_without_degrees_seems_to_have_does_not_count() -> None:
    found, degrees = moderated(np.array([np.nan, 1.0]), np.array([0.0, 1.0]), Spreads(4.0, 3.0))
    assert found.tolist() == [4.0, (1.0 + 12.0) / 4.0]
    assert degrees.tolist() == [3.0, 4.0]
