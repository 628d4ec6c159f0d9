"""Means that are drawn to a curve through all: by value, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from matrix_benchmarking.analyze.best_of import Estimates, estimate
from matrix_benchmarking.analyze.bounds import drawn_together
from matrix_benchmarking.analyze.intervals import Scale


def of(values: np.ndarray, variances: np.ndarray) -> Estimates:
    return Estimates(Scale.DIFFERENCE, values, variances, np.full(len(values), 8.0))


def test_five_points_are_too_few_to_say_anything_of_each_other_and_six_are_not() -> None:
    values, along = np.array([1.0, 2.5, 2.5, 4.5, 4.5, 6.5]), np.arange(1.0, 7.0)
    five = of(values[:5], np.ones(5))
    assert drawn_together(five, along[:5]) is five
    assert (drawn_together(of(values, np.ones(6)), along).variances < 0.98).all()


@pytest.mark.parametrize("beside", ["differences", "logarithms"])
def test_points_near_a_parabola_have_what_weighted_least_squares_say(beside: str) -> None:
    along = np.array([-3.0, -2.0, -0.5, 1.0, 2.0, 2.5, 4.0, 6.0])
    variances = np.array([1.0, 2.0, 1.0, 4.0, 1.0, 1.0, 2.0, 1.0])
    values = 3 - along + 0.5 * along**2 + 0.01 * np.array([1, -1, 1, -1, 1, -1, 1, -1])
    found = drawn_together(of(values, variances), along if beside == "differences" else np.exp(along))
    powers = along[:, None] ** np.arange(3)
    covariance = np.linalg.inv(powers.T @ (powers / variances[:, None]))
    assert found.values == pytest.approx(powers @ covariance @ powers.T @ (values / variances))
    assert found.variances == pytest.approx(np.einsum("ij,jk,ik->i", powers, covariance, powers))


_NO_PARABOLA = np.array([-5.0, 7.0, 4.0, -4.0, -7.0, 5.0])  # none is nearer to six points than a flat line is


@pytest.mark.parametrize("unit", [1.0, 1e-3])
@pytest.mark.parametrize("rest", [3.0 * np.tile([1, -1], 6), 0.95 * np.tile([1, -1], 6), _NO_PARABOLA])
def test_points_that_lie_apart_keep_the_share_of_their_own_that_their_distances_say(
    rest: np.ndarray, unit: float
) -> None:
    values, variance, count = unit * (10 + rest), unit**2 * 2.0, len(rest)
    along = np.arange(count) - (count - 1) / 2
    found = drawn_together(of(values, np.full(count, variance)), along)
    powers = along[:, None] ** np.arange(3)
    hat = powers @ np.linalg.inv(powers.T @ powers) @ powers.T
    curve = hat @ values
    total = np.sum((values - curve) ** 2) / stats.chi2.ppf(0.16, count - 3)  # variance about the curve and of errors
    share = variance / total
    assert share < 1  # at the smallest distance the points lie apart by hardly more than errors say
    assert found.values == pytest.approx(curve + (1 - share) * (values - curve))
    assert found.variances == pytest.approx(variance * (1 - share) + share**2 * total * np.diag(hat))


@pytest.mark.parametrize(("factor", "shift"), [(1e6, 0.0), (1e-6, 0.0), (1e-3, -1000.0)])
def test_what_is_beside_the_points_may_be_in_any_unit_and_about_any_level(factor: float, shift: float) -> None:
    along = np.array([-3.0, -2.0, 0.5, 1.0, 2.0, 2.5, 4.0, 6.0])
    measured = of(3 - along + 0.5 * along**2 + np.tile([1.5, -1.5], 4), np.ones(8))
    expected, found = (drawn_together(measured, beside) for beside in (along, shift + factor * along))
    assert found.values == pytest.approx(expected.values, rel=1e-6)
    assert found.variances == pytest.approx(expected.variances, rel=1e-6)


def test_a_point_far_from_all_others_on_the_curve_keeps_what_was_measured() -> None:
    along = np.array([-0.02, -0.01, 0.0, 0.01, 0.02, 0.03, 1.0])
    values = np.array([1.0, 1.1, 0.9, 1.0, 1.1, 0.9, 7.0])
    found = drawn_together(of(values, np.ones(7)), along)
    powers = along[:, None] ** np.arange(3)
    hat = powers @ np.linalg.inv(powers.T @ powers) @ powers.T
    assert found.values == pytest.approx(hat @ values)
    assert found.variances == pytest.approx(np.diag(hat))


def test_points_far_apart_learn_nothing_and_none_gets_less_sure() -> None:
    rng = np.random.default_rng(3)
    values, variances = 1000 * rng.standard_normal(20), np.full(20, 1.0)
    found = drawn_together(of(values, variances), np.exp(rng.standard_normal(20)))
    assert found.values == pytest.approx(values, abs=0.1)
    assert found.variances == pytest.approx(variances, abs=1e-4)
    assert (found.variances <= variances).all()


def test_where_the_other_value_is_the_same_everywhere_the_means_are_drawn_to_their_middle() -> None:
    values = np.array([1.0, 1.1, 0.9, 1.05, 0.95, 1.0])
    found = drawn_together(of(values, np.ones(6)), np.full(6, 5.0))
    assert found.values == pytest.approx(np.ones(6))
    assert found.variances == pytest.approx(np.full(6, 1 / 6))


def test_one_point_that_differs_from_its_neighbours_stays_nearer_to_what_was_measured_than_to_them() -> None:
    rng, along = np.random.default_rng(8), np.linspace(60.0, 140.0, 25)
    truth = np.where(along == along[7], 1.5 * along, along)
    runs = truth[:, None] * np.exp(0.05 * rng.standard_normal((25, 3)))
    found = estimate(runs.tolist())
    drawn = drawn_together(found, 1 / along)
    away = np.exp(found.values[7]) - along[7]
    assert np.exp(drawn.values[7]) - along[7] > 0.8 * away
    errors = [np.abs(np.exp(one.values) / truth - 1).mean() for one in (found, drawn)]
    assert errors[1] < errors[0]


def test_of_two_different_values_beside_the_points_of_each_are_drawn_to_their_middle() -> None:
    values = np.array([1.0, 1.1, 0.9, 3.05, 2.95, 3.0, 3.0])
    found = drawn_together(of(values, np.ones(7)), np.array([0.3] * 3 + [0.7] * 4))
    assert found.values == pytest.approx([1.0] * 3 + [3.0] * 4)
    assert found.variances == pytest.approx([1 / 3] * 3 + [1 / 4] * 4)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_measured_the_answer_lies_between_the_measured_and_the_curve(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, variances = rng.normal(0, 10 ** rng.uniform(-6, 3), 9), 10 ** rng.uniform(-6, 3, 9)
    found = drawn_together(of(values, variances), np.exp(rng.normal(0, 10 ** rng.uniform(-3, 1), 9)))
    assert np.isfinite(found.values).all()
    assert ((found.variances > 0) & (found.variances <= variances)).all()
