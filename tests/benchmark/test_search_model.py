"""The model of a curve against the formulas of its parts, one Gaussian process at a time."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from matrix_benchmarking.benchmark.search import model

RUNS = [(2, 10.0), (8, 38.0), (32, 90.0), (32, 95.0), (128, 30.0)]
POINTS = [2, 4, 8, 16, 32, 45, 64, 90, 128]
SPAN = (2, 128)


def kernel(first: float, second: float, kind: model.Departure) -> float:
    distance = math.sqrt(3) * abs(first - second) / kind.length
    return kind.deviation**2 * (1 + distance) * math.exp(-distance)


def softplus(value: float, width: float) -> float:
    return width * float(np.logaddexp(0, value / width))


def gaussian_process(positions, shape, knee, bend, kind, edge, anchor):
    """Mean and covariance, entry by entry; *edge* and *anchor* are None for a curve without one."""
    above = [softplus(position - knee, bend) for position in positions]
    below = [-softplus(knee - position, bend) for position in positions]
    mean = [shape.below[0] * low + shape.above[0] * high for low, high in zip(below, above, strict=True)]
    covariance = np.zeros((len(positions), len(positions)))
    for i, j in itertools.product(range(len(positions)), repeat=2):
        is_past = [edge is not None and positions[k] > edge for k in (i, j)]
        value = 9.0 + shape.below[1] ** 2 * below[i] * below[j] + shape.above[1] ** 2 * above[i] * above[j]
        if is_past[0] == is_past[1]:
            value += kernel(positions[i], positions[j], kind)
        if all(is_past):
            value += kind.jump**2 + 0.16 * (positions[i] - anchor) * (positions[j] - anchor)
        covariance[i, j] = value
    return np.array(mean), covariance


def reference(shape):
    """Expected log(value) of each point, by adding up all curves, edges and noises without leaving any out."""
    runs = np.log2([vus for vus, _ in RUNS])
    values = np.log([value for _, value in RUNS])
    points = np.log2(POINTS)
    knees = [0.0, *np.linspace(1, 7, 25), 8.0]
    gaps = [(1.0, 3.0), (3.0, 5.0), (5.0, 7.0)]
    total, expected = 0.0, np.zeros(len(POINTS))
    for kind in model.DEPARTURES:
        curves = [(knee, bend, None, None, 1.0) for knee in knees for bend in (0.05, 0.2)]
        if kind.jump:
            places = [
                (0.5 * (low + high), top, (high - low) / 6) for _, top in gaps for low, high in inside(points, top)
            ]
            curves = [(knee, 0.05, *place) for knee in knees[::2] for place in places]
        divisor = len(knees[::2]) if kind.jump else len(curves)
        for knee, bend, edge, anchor, share in curves:
            mean, covariance = gaussian_process([*runs, *points], shape, knee, bend, kind, edge, anchor)
            for noise, probability in ((0.025, 0.25), (0.05, 0.5), (0.1, 0.25)):
                noisy = covariance[:5, :5] + noise**2 * np.eye(5)
                surprise = values - values.max() - mean[:5]
                density = stats.multivariate_normal(mean[:5], noisy).pdf(values - values.max())
                weight = density * probability * kind.probability * share / divisor
                total += weight
                expected += weight * (mean[5:] + covariance[5:, :5] @ np.linalg.solve(noisy, surprise))
    return values.max() + expected / total


def inside(points, top):
    """Neighbouring points in the gap of two doublings that ends at *top*."""
    return [pair for pair in itertools.pairwise(points) if top - 2 <= pair[0] and pair[1] <= top]


@pytest.mark.parametrize("shape", [model.THROUGHPUT, model.LATENCY], ids=["throughput", "latency"])
def test_the_belief_is_the_sum_over_all_curves_edges_and_noises(shape, monkeypatch):
    monkeypatch.setattr(model, "NEGLIGIBLE", 0.0)
    belief = model.believe(shape, RUNS, POINTS, SPAN)
    np.testing.assert_allclose(belief.expected(), reference(shape), rtol=1e-9)


def test_what_is_negligible_moves_the_belief_by_less_than_half_a_percent(monkeypatch):
    usual = model.believe(model.THROUGHPUT, RUNS, POINTS, SPAN).expected()
    monkeypatch.setattr(model, "NEGLIGIBLE", 0.0)
    exact = model.believe(model.THROUGHPUT, RUNS, POINTS, SPAN).expected()
    np.testing.assert_allclose(usual[[0, 2, 4, 8]], exact[[0, 2, 4, 8]], atol=0.005)


def test_what_is_a_hundred_times_less_probable_than_the_most_probable_is_left_out(monkeypatch):
    measured = [vus for vus, _ in RUNS]
    usual = model.believe(model.THROUGHPUT, RUNS, measured, SPAN).weights
    monkeypatch.setattr(model, "NEGLIGIBLE", 0.0)
    exact = model.believe(model.THROUGHPUT, RUNS, measured, SPAN).weights
    assert len(usual) == np.count_nonzero(exact > 0.01 * exact.max())


def test_runs_that_no_curve_explains_leave_a_belief():
    wild = [(vus, value) for vus in (4, 16, 64) for value in (1.0, 1000.0) * 7]
    found = model.believe(model.THROUGHPUT, wild, [4, 16, 64], SPAN).expected()
    np.testing.assert_allclose(found, math.log(1000.0) / 2, atol=0.2)


def test_a_single_number_of_users_has_a_belief():
    found = model.believe(model.THROUGHPUT, [(8, 100.0), (8, 100.0)], [8], (8, 8))
    assert found.expected()[0] == pytest.approx(math.log(100.0), abs=1e-3)


def test_the_kinds_of_curves_and_their_probabilities():
    kinds = [(kind.deviation, kind.length, kind.jump, kind.probability) for kind in model.DEPARTURES]
    assert kinds == [
        (0.01, 1.0, 0.0, 0.36),
        (0.04, 1.0, 0.0, 0.18),
        (0.12, 1.0, 0.0, 0.16),
        (0.25, 0.5, 0.0, 0.10),
        (0.15, 0.15, 0.0, 0.12),
        (0.02, 1.0, 0.7, 0.08),
    ]
    assert math.fsum(kind.probability for kind in model.DEPARTURES) == pytest.approx(1.0)


def test_a_doubling_of_users_is_expected_to_raise_throughput_first_and_latency_at_last() -> None:
    """Nearly in proportion, which is ln 2 = 0.69, or hardly at all; each is uncertain by about a third of that."""
    assert model.Shape(below=(0.45, 0.25), above=(-0.05, 0.2)) == model.THROUGHPUT
    assert model.Shape(below=(0.1, 0.2), above=(0.69, 0.25)) == model.LATENCY


def test_a_rise_is_expected_to_go_on_up_to_an_edge():
    runs = [(1, 4.0), (4, 9.0), (16, 22.0), (64, 55.0), (128, 83.0), (152, 91.0), (152, 94.0), (181, 25.0), (256, 24.0)]
    belief = model.believe(model.THROUGHPUT, [*runs, (512, 24.0)], [152, 159, 166, 173, 181], (1, 512))
    chances = belief.probability_of_gain(0, 0.03)
    assert chances[1:4].max() > 0.1
    assert chances[4] < 0.001


def test_without_an_edge_a_point_beyond_is_as_near_as_before():
    flat = [(vus, 100.0) for vus in (1, 4, 16, 64)]
    belief = model.believe(model.THROUGHPUT, flat, [16, 32, 64], SPAN)
    assert belief.expected()[1] == pytest.approx(math.log(100.0), abs=0.02)


def believed(jagged: bool) -> model.Belief:
    """Points at 0, +3 %, +3 %, +3 % of the first, as logarithms, each known to within 2 % by itself."""
    means = np.log([[1.0, 1.03, 1.03, 1.03]])
    covariances = np.diag([0.0, 0.0004, 0.0004, 0.0004])[None]
    return model.Belief(np.ones(1), means, covariances, np.array([0.03]), np.array([jagged]))


@pytest.mark.parametrize(
    ("jagged", "chances", "groups", "expected"),
    [
        (False, [0.0, 1.0, 1.0, 1.0], [0, 1, 2, 3], 0.5),
        (True, [0.0, 1.0, 1.0, 1.0], [0, 1, 2, 3], 0.875),
        (True, [0.0, 1.0, 1.0, 1.0], [0, 2], 0.75),  # two groups of two points
        (True, [0.0, 1.0, 0.5, 0.0], [0, 1, 2, 3], 1 - 0.5 * 0.75),
        (False, [0.0, 0.2, 0.8, 0.4], [0, 1, 2, 3], 0.4),
    ],
)
def test_places_of_a_jagged_curve_are_chances_of_their_own(jagged, chances, groups, expected):
    found = believed(jagged).probability_of_any_gain(0, 0.03, np.array(chances), np.array(groups))
    assert found == pytest.approx(expected)


def test_only_what_varies_within_less_than_a_doubling_is_jagged():
    belief = model.believe(model.THROUGHPUT, RUNS, POINTS, SPAN)
    assert belief.jagged.shape == belief.weights.shape
    flat = [(vus, 100.0) for vus in (1, 2, 4, 8, 16, 32, 64)]
    smooth = model.believe(model.THROUGHPUT, flat, POINTS, SPAN)
    teeth = [(vus, 100.0 if index % 2 else 70.0) for index, (vus, _) in enumerate(flat)]
    rough = model.believe(model.THROUGHPUT, teeth, POINTS, SPAN)
    assert smooth.weights[smooth.jagged].sum() < 0.1 < 0.8 < rough.weights[rough.jagged].sum()


MIXED = model.Belief(
    weights=np.array([0.25, 0.75]),
    means=np.log([[100.0, 104.0], [90.0, 93.0]]),
    covariances=np.array([[[0.0016, 0.0004], [0.0004, 0.0009]], [[0.0001, 0.0], [0.0, 0.0004]]]),
    noises=np.array([0.02, 0.05]),
    jagged=np.array([False, True]),
)
"""Two kinds of curves at two points."""


def test_what_is_likely_below_a_limit_is_so_in_each_curve_by_its_weight():
    one, other = (
        stats.norm(mean, deviation).cdf(np.log([100.0]))[0]
        for mean, deviation in ((math.log(104), 0.03), (math.log(93), 0.02))
    )
    assert MIXED.probability_below(100.0)[1] == pytest.approx(0.25 * one + 0.75 * other)
    assert MIXED.probability_below(100.0)[0] == pytest.approx(0.25 * 0.5 + 0.75)


def test_what_is_likely_to_gain_does_so_beyond_the_tolerance_in_each_curve_by_its_weight():
    one, other = (
        1 - stats.norm(math.log(ratio), math.sqrt(variance)).cdf(math.log(1.03))
        for ratio, variance in ((104 / 100, 0.0016 + 0.0009 - 2 * 0.0004), (93 / 90, 0.0005))
    )
    assert MIXED.probability_of_gain(0, 0.03)[1] == pytest.approx(0.25 * one + 0.75 * other)


def test_the_expected_gain_is_the_mean_of_what_lies_above_the_tolerance():
    expected = 0.0
    for weight, ratio, variance in ((0.25, 104 / 100, 0.0016 + 0.0009 - 2 * 0.0004), (0.75, 93 / 90, 0.0005)):
        difference = stats.norm(math.log(ratio), math.sqrt(variance))
        expected += weight * difference.expect(lambda value: value - math.log(1.03), lb=math.log(1.03), ub=1.0)
    found = MIXED.expected_gain(0, 0.03)
    assert found[1] == pytest.approx(expected)
    assert found[0] == pytest.approx(0.0, abs=1e-9)


def test_a_run_tells_by_how_much_it_lowers_the_variance_of_the_difference():
    for point in (0, 1):
        lowered = 0.0
        for weight, covariance, noise in zip(MIXED.weights, MIXED.covariances, MIXED.noises, strict=True):
            shared = covariance[:, point]
            after = covariance - np.outer(shared, shared) / (covariance[point, point] + noise**2)
            lowered += weight * ([1, -1] @ (covariance - after) @ [1, -1])
        assert MIXED._narrowing(point, 0, 1) == pytest.approx(lowered)


def test_the_less_known_of_two_points_is_the_more_telling():
    known = model.Belief(
        np.ones(1), np.zeros((1, 3)), np.diag([0.0001, 0.0004, 0.0001])[None], np.array([0.02]), np.array([False])
    )
    assert (known.more_telling(0, 1), known.more_telling(1, 0), known.more_telling(1, 2)) == (1, 1, 1)
    assert known.more_telling(0, 2) == 2  # the challenger, of two that tell the same
