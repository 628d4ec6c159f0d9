"""The formulas of the evidence, each against a slow and plain computation, or by value."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy import special, stats

from matrix_benchmarking.analyze.detect import evidence
from matrix_benchmarking.analyze.detect.evidence import Floats, Prior, Split, Weight

SPLIT = Split(
    before=30.0,
    after=6.0,
    shift=-1.7,
    squares_before=31.0,
    squares_after=9.0,
    products=14.0,
    tail=1.2,
    outliers=1.0,
    far=2.0,
    others=0.7,
    precision=0.8,
    blocks=6.0,
    runs=6.0,
)
PRIOR = Prior(5.0, 1.3, 0.2)


def split(**changes: float) -> Split:
    return msgspec.structs.replace(SPLIT, **changes)


def covariances(count: int, correlation: float) -> Floats:
    """Of points of variance 1 that follow each other."""
    places = np.arange(count)
    return np.asarray(correlation ** np.abs(places[:, None] - places))


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.9])
def test_the_variances_of_means_are_those_of_correlated_points(correlation: float) -> None:
    every = covariances(36, correlation)
    assert evidence.variance_of_mean(30.0, correlation) == pytest.approx(every[:30, :30].mean())
    assert evidence._covariance(SPLIT, correlation) == pytest.approx(every[:30, 30:].mean())


@pytest.mark.parametrize(("ratio", "degrees"), [(0.5, 5.0), (3.0, 8.0), (6.0, 30.0)])
def test_a_normal_score_is_as_improbable_as_the_ratio(ratio: float, degrees: float) -> None:
    score = evidence.normal_score(ratio, degrees)
    assert score == pytest.approx(-special.ndtri(stats.t.sf(ratio, degrees)), rel=0.004)
    assert evidence.ratio_of(score, degrees) == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("after", "length", "expected"),
    [
        (1, 45, 3.83),
        (2, 45, 4.63),
        (3, 45, 3.81),
        (4, 45, 3.86),
        (6, 45, 3.7),
        (10, 45, 3.61),
        (18, 45, 3.98),
        (40, 45, 4.23),
        (160, 45, 4.28),
        (1000, 45, 4.28),
        (5, 45, 3.86 - 0.16 * math.log(5 / 4) / math.log(6 / 4)),
        (1, 8, 2.7),
        (1, 10, 2.7),
        (1, 13, 3.15),
        (1, 16, 3.5),
        (1, 19, 3.8),
        (1, 23, 4.13),
        (1, 28, 4.22),
        (1, 38, 4.02),
        (1, 90, 3.83 + 0.5 * math.log(2)),
    ],
)
def test_the_threshold_by_points_on_the_new_level_and_on_both(after: float, length: float, expected: float) -> None:
    assert evidence.threshold(after, length) == pytest.approx(expected)


def plain_correlation(split: Split, prior: Prior) -> float:
    points = split.before + split.after
    raw = split.products / (split.squares_before + split.squares_after)
    unbiased = (points * raw + 2) / max(points - 6, 8)  # Marriott and Pope
    known = points + prior.degrees
    seen = (points * unbiased + prior.degrees * prior.correlation) / known
    error = known**-0.5
    cautious = seen + min(max(seen - 0.4 * error, -error), error)
    unknown = (40 - split.before - 0.15 * split.after - prior.degrees) / 32
    return float(min(max(cautious, 0.6 * min(max(unknown, 0), 1), 0), 0.9))


@pytest.mark.parametrize("prior", [Prior(), PRIOR])
@pytest.mark.parametrize("before", [4.0, 8.0, 12.0, 40.0, 60.0])
@pytest.mark.parametrize("products", [-20.0, 0.0, 6.0, 14.0, 39.0])
def test_the_weight_of_a_split_is_that_of_a_plain_computation(prior: Prior, before: float, products: float) -> None:
    one = split(before=before, products=products)
    correlation = plain_correlation(one, prior)
    found = evidence.weigh(one, prior)
    assert found.correlation == pytest.approx(correlation)
    every = covariances(int(before) + 6, correlation)
    old, new, both = every[:-6, :-6].mean(), every[-6:, -6:].mean(), every[:-6, -6:].mean()
    known = prior.degrees * prior.deviation**2
    points, points_new = before * (1 - old) + prior.degrees, 6 * (1 - new)
    pooled = (31.0 + 1.05 * 9.0 + known) / (points + points_new)
    of_new = max(pooled, (8 * (31.0 + known) / points + 1.05 * 9.0) / (8 + points_new))
    variance = of_new * new * 0.8 + pooled * max(old - 2 * both, 0)
    degrees = (before + 4) * (1 - correlation**2) / (1 + correlation**2) + prior.degrees
    assert found.deviation == pytest.approx(math.sqrt(pooled))
    assert found.error == pytest.approx(math.sqrt(variance))
    assert found.degrees == pytest.approx(degrees)
    ratio = 1.7 / math.sqrt(variance) / 1.2
    assert found.score == pytest.approx(evidence.normal_score(ratio, max(degrees, 3.0)))


def test_nothing_is_known_before_the_first_point() -> None:
    assert Prior() == Prior(0.0, 0.0, 0.0)


def test_few_degrees_of_freedom_count_as_three() -> None:
    few = split(before=3.0, after=2.0, products=0.0)
    found = evidence.weigh(few, Prior())
    assert found.degrees < 3.0
    assert found.score == pytest.approx(evidence.normal_score(1.7 / found.error / 1.2, 3.0))


def test_where_nothing_spreads_any_shift_is_certain() -> None:
    nothing: dict[str, Any] = {"squares_before": 0.0, "squares_after": 0.0, "products": 0.0}
    with np.errstate(all="raise"):
        assert evidence.weigh(split(**nothing), Prior()).score == 99.0
        assert evidence.weigh(split(**nothing, shift=0.0), Prior()).score == 0.0
    assert evidence.weigh(split(shift=0.0), Prior()).score == 0.0


def is_confirmed(prior: Prior = PRIOR, deviation: float = 1.0, **changes: float) -> bool:
    return bool(evidence.confirmed(split(**changes), Weight(0.0, deviation, 0.0, 0.0, 0.0), prior))


@pytest.mark.parametrize("degrees", [0.0, 5.0])
@pytest.mark.parametrize("before", [8.0, 26.0, 300.0])
@pytest.mark.parametrize("outliers", [0.0, 1.0])
@pytest.mark.parametrize(("far", "blocks"), [(1, 4), (2, 5), (3, 9)])
def test_what_a_coincidence_explains_confirms_nothing(
    far: int, blocks: int, outliers: float, before: float, degrees: float
) -> None:
    """That is so many far ones among the blocks, while the others are off together as far as they are."""
    some: dict[str, float] = {"far": far, "blocks": blocks, "outliers": outliers, "before": before}
    rate = (outliers + 0.5) / max(before + degrees + 1, 28)
    limit = stats.norm.isf(min(2e-4 / (math.comb(blocks, far) * rate**far), 1.0))
    assert is_confirmed(Prior(degrees), **some, others=max(limit, 0.0) + 1e-4)
    assert limit < 0.0 or not is_confirmed(Prior(degrees), **some, others=limit - 1e-4)


def test_without_an_outlier_nothing_is_a_coincidence() -> None:
    assert is_confirmed(far=0.0, others=0.0, outliers=10.0, before=10.0)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_two_runs_that_lie_very_far_off_are_as_likely_glitches(sign: float) -> None:
    two = {"far": 0.0, "runs": 2.0, "deviation": 2.0}
    assert is_confirmed(**two, shift=sign * 13.0)  # 6.5 deviations
    assert not is_confirmed(**two, shift=sign * 13.01)
    assert is_confirmed(**{**two, "runs": 3.0}, shift=sign * 50.0)
    assert not is_confirmed(**{**two, "runs": 1.0}, shift=sign * 50.0)
