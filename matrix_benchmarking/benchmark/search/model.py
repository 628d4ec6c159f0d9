"""What noisy runs tell about a whole curve: pure mathematics, from (virtual users, value) pairs to a belief.

On logarithmic axes throughput rises with one slope up to a knee and goes on with another: in proportion
first, then flat or gently falling; latency is flat first, then rises in proportion. Neither the knee, nor
how far a real curve departs from two slopes, nor the noise is known, so each combination of them on a grid
is one Gaussian process (Rasmussen and Williams 2006, Gaussian Processes for Machine Learning, sections 2.2
and 2.7), and the combinations are weighted by how well they explain the runs (their marginal likelihood).
This pools the noise over neighbours: a flat top that was measured at six places is known from six runs.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

KNEES_PER_DOUBLING = 4
BENDS = (0.05, 0.2)
"""Over how many doublings the slope changes at the knee: abruptly or gently."""

DEPARTURES = ((0.01, 0.0, 0.45), (0.04, 0.0, 0.25), (0.12, 0.0, 0.26), (0.03, 0.25, 0.04))
"""Standard deviations of a curve around its two slopes and of a jump at the knee, as fractions; how probable."""

NOISES = ((0.025, 0.25), (0.05, 0.5), (0.1, 0.25))
"""Standard deviation of one run, as a fraction, and how probable it is."""

LEVEL = 3.0
"""Standard deviation of the logarithm of a curve's height at its knee: in effect unknown."""

NEGLIGIBLE = 1e-2
"""Combinations less probable than this, relative to the most probable, are left out."""


@dataclasses.dataclass(frozen=True, slots=True)
class Shape:
    """Slopes below and above the knee: mean and standard deviation of d log(value) per doubling."""

    below: tuple[float, float]
    above: tuple[float, float]


THROUGHPUT = Shape(below=(0.45, 0.25), above=(-0.05, 0.2))
LATENCY = Shape(below=(0.1, 0.2), above=(0.69, 0.25))


@dataclasses.dataclass(frozen=True, slots=True)
class Belief:
    """A mixture of normal distributions of log(value) at some points, one for each combination.

    Attributes:
        weights: probability of each combination, shape (combinations,).
        means: shape (combinations, points).
        covariances: shape (combinations, points, points).
        noises: standard deviation of one run, shape (combinations,).
    """

    weights: Array
    means: Array
    covariances: Array
    noises: Array

    def expected(self) -> Array:
        """Expected log(value) of each point."""
        return np.asarray(self.weights @ self.means)

    def probability_below(self, limit: float) -> Array:
        """For each point, the probability that its true value is below *limit*."""
        deviations = np.sqrt(_positive(np.diagonal(self.covariances, axis1=1, axis2=2)))
        return np.asarray(self.weights @ special.ndtr((math.log(limit) - self.means) / deviations))

    def probability_of_gain(self, reference: int, gain: float) -> Array:
        """For each point, the probability that its true value exceeds (1 + *gain*) times that of *reference*."""
        differences, deviations = self._differences(reference)
        return np.asarray(self.weights @ special.ndtr((differences - math.log1p(gain)) / deviations))

    def expected_gain(self, reference: int, gain: float) -> Array:
        """For each point, how much its log(value) is expected to exceed that of *reference*, above *gain*.

        The expected improvement of Jones, Schonlau and Welch (1998), Journal of Global Optimization 13, 455–492.
        """
        differences, deviations = self._differences(reference)
        excess = differences - math.log1p(gain)
        ratios = excess / deviations
        density = np.exp(-0.5 * ratios**2) / math.sqrt(2 * math.pi)
        return np.asarray(self.weights @ (excess * special.ndtr(ratios) + deviations * density))

    def _differences(self, reference: int) -> tuple[Array, Array]:
        """Means and standard deviations of log(value) minus that of *reference*, shapes (combinations, points)."""
        variances = np.diagonal(self.covariances, axis1=1, axis2=2)
        shared = self.covariances[:, :, reference]
        deviations = np.sqrt(_positive(variances + variances[:, [reference]] - 2 * shared))
        return self.means - self.means[:, [reference]], deviations

    def more_telling(self, first: int, second: int) -> int:
        """Which of the two points narrows their difference more by one more run."""
        return first if self._narrowing(first, first, second) > self._narrowing(second, first, second) else second

    def _narrowing(self, point: int, first: int, second: int) -> float:
        """By how much one run at *point* lowers the variance of the difference."""
        shared = self.covariances[:, first, point] - self.covariances[:, second, point]
        return float(self.weights @ (shared**2 / (self.covariances[:, point, point] + self.noises**2)))


def believe(shape: Shape, runs: Sequence[tuple[int, float]], points: Sequence[int], span: tuple[int, int]) -> Belief:
    """The belief about *points* after *runs*: pairs of virtual users and a positive value.

    Args:
        span: the fewest and most virtual users of the search: where the knee may be.
    """
    values = np.log([value for _, value in runs])
    top = values.max()
    count = len(runs)
    positions = np.log2([float(vus) for vus, _ in runs] + [float(point) for point in points])
    prior = _prior(shape, positions, span)
    noises = np.array([noise for noise, _ in NOISES])
    noisy = prior.covariances_of_runs(count)[:, :, None] + noises[:, None, None] ** 2 * np.eye(count)
    lower: Array = np.asarray(np.linalg.cholesky(noisy), dtype=np.float64)
    surprise = np.broadcast_to((values - top - prior.means[:, :count])[:, None, None, :, None], (*lower.shape[:4], 1))
    residual = np.linalg.solve(lower, surprise)[..., 0]
    weights = _weights(lower, residual)
    kept = weights > NEGLIGIBLE * weights.max()
    knee, departure, noise = np.nonzero(kept)
    covariances = prior.covariances(knee, departure)
    gain = np.linalg.solve(lower[kept], covariances[:, :count, count:])
    return Belief(
        weights=weights[kept] / weights[kept].sum(),
        means=top + prior.means[knee, count:] + np.einsum("mn,mnp->mp", residual[kept], gain),
        covariances=covariances[:, count:, count:] - np.swapaxes(gain, 1, 2) @ gain,
        noises=noises[noise],
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Prior:
    """What is believed before any run: a normal distribution for each knee and departure.

    Attributes:
        means: shape (knees, positions).
        level_and_slopes: what these three contribute to the standard deviation, shape (knees, positions, 3).
        is_above: 1 above the knee, else 0, shape (knees, positions).
        nearness: correlation of the departures, shape (positions, positions).
    """

    means: Array
    level_and_slopes: Array
    is_above: Array
    nearness: Array

    def covariances_of_runs(self, count: int) -> Array:
        """For all combinations and the first *count* positions: shape (knees, departures, count, count)."""
        knee, departure = np.indices((len(self.means), len(DEPARTURES))).reshape(2, -1)
        return self.covariances(knee, departure, count).reshape(-1, len(DEPARTURES), count, count)

    def covariances(self, knee: Indices, departure: Indices, count: int | None = None) -> Array:
        """For some combinations and the first *count* positions: shape (combinations, count, count)."""
        slopes, above = self.level_and_slopes[knee, :count], self.is_above[knee, :count]
        departures, jumps, _ = np.array(DEPARTURES)[departure].T[:, :, None, None] ** 2
        jump = jumps * above[:, :, None] * above[:, None, :]
        return np.asarray(slopes @ np.swapaxes(slopes, 1, 2) + departures * self.nearness[:count, :count] + jump)


def _prior(shape: Shape, positions: Array, span: tuple[int, int]) -> _Prior:
    knees, bends = np.meshgrid(_knees(span), BENDS)
    bend = bends.reshape(-1, 1)
    distances = (positions - knees.reshape(-1, 1)) / bend
    above, below = bend * np.logaddexp(0, distances), -bend * np.logaddexp(0, -distances)
    level = np.full_like(above, LEVEL)
    return _Prior(
        means=shape.below[0] * below + shape.above[0] * above,
        level_and_slopes=np.stack([level, shape.below[1] * below, shape.above[1] * above], axis=-1),
        is_above=np.heaviside(distances, 0),
        nearness=_matern(positions),
    )


def _knees(span: tuple[int, int]) -> Array:
    """Positions of the knee; those beyond either end make the curve one straight slope."""
    first, last = math.log2(span[0]), math.log2(span[1])
    inside = np.linspace(first, last, 1 + math.ceil((last - first) * KNEES_PER_DOUBLING))
    return np.concatenate([[first - 1], inside, [last + 1]])


def _matern(positions: Array) -> Array:
    """Matérn covariance, ν = 3/2, with a length of one doubling: rough enough for a dip, a step or a bump."""
    distances = math.sqrt(3) * np.abs(positions[:, None] - positions)
    return np.asarray((1 + distances) * np.exp(-distances))


def _weights(lower: Array, residual: Array) -> Array:
    """Probability of each combination (knees, departures, noises), from its marginal likelihood."""
    determinant = np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
    departures = np.log([probability for _, _, probability in DEPARTURES])
    noises = np.log([probability for _, probability in NOISES])
    log_weights = -0.5 * (residual**2).sum(axis=-1) - determinant + departures[:, None] + noises
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())


def _positive(variances: Array) -> Array:
    """Variances without the tiny negative values that rounding makes of zero."""
    return np.maximum(variances, 1e-12)
