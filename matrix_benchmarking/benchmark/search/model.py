"""What noisy runs tell about a whole curve: pure mathematics, from (virtual users, value) pairs to a belief.

On logarithmic axes throughput rises with one slope up to a knee and goes on with another: in proportion
first, then flat or gently falling; latency is flat first, then rises in proportion. Neither the knee, nor
how far a real curve departs from two slopes, nor the noise is known, so each combination of them on a grid
is one Gaussian process (Rasmussen and Williams 2006, Gaussian Processes for Machine Learning, sections 2.2
and 2.7), and the combinations are weighted by how well they explain the runs (their marginal likelihood).
A curve may break off at an edge between any two numbers that were measured; what lies beyond tells nothing
of what lies before it, so a rise that leads to an edge is expected to go on up to it.
This pools the noise over neighbours: a flat top that was measured at six places is known from six runs.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]

KNEES_PER_DOUBLING = 4
BENDS = (0.05, 0.2)  # over how many doublings the slope changes at the knee: abruptly or gently


@dataclasses.dataclass(frozen=True, slots=True)
class Departure:
    """How a curve departs from its two slopes, and how probable such a curve is."""

    deviation: float  # standard deviation around the slopes, as a fraction
    length: float  # how far it reaches, in doublings: a short one makes a jagged curve
    jump: float  # standard deviation of the logarithm of the jump at an edge, which may be anywhere; 0 for no edge
    probability: float


DEPARTURES = (
    Departure(0.01, 1.0, 0.0, 0.36),
    Departure(0.04, 1.0, 0.0, 0.18),
    Departure(0.12, 1.0, 0.0, 0.16),
    Departure(0.25, 0.5, 0.0, 0.10),
    Departure(0.15, 0.15, 0.0, 0.12),
    Departure(0.02, 1.0, 0.7, 0.08),
)

SLOPE_BEYOND = 0.4  # standard deviation of what d log(value) per doubling changes by at an edge
NOISES = ((0.025, 0.25), (0.05, 0.5), (0.1, 0.25))  # standard deviation of one run, and how probable it is
LEVEL = 3.0  # standard deviation of the logarithm of a curve's height at its knee: in effect unknown
NEGLIGIBLE = 1e-2  # combinations less probable than this, relative to the most probable, are left out


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

    Shapes: ``means`` (combinations, points), ``covariances`` (combinations, points, points), the rest (combinations,):
    ``weights``, their probabilities; ``noises``, the standard deviation of one run; ``jagged``: does the curve vary
    within less than a doubling?
    """

    weights: Array
    means: Array
    covariances: Array
    noises: Array
    jagged: Bools

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

    def probability_of_any_gain(self, reference: int, gain: float, chances: Array, groups: Indices) -> float:
        """The probability that the true value of any point exceeds (1 + *gain*) times that of *reference*.

        Points of one group (*groups* has the index of the first of each) count once, by the most probable. In a jagged
        curve groups are independent; in a smooth one they rise and fall together, and the most probable stands for all.
        *chances* are the probabilities that a point may be the answer at all.
        """
        differences, deviations = self._differences(reference)
        each = chances * special.ndtr((differences - math.log1p(gain)) / deviations)
        likeliest = np.maximum.reduceat(each, groups, axis=1)
        of_any = np.where(self.jagged, 1 - np.prod(1 - likeliest, axis=1), likeliest.max(axis=1))
        return float(self.weights @ of_any)

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
    """The belief about *points* after *runs* (virtual users, positive value); the knee is in the *span*."""
    values = np.log([value for _, value in runs])
    top = values.max()
    count = len(runs)
    positions = np.log2([float(vus) for vus, _ in runs] + [float(point) for point in points])
    curves = _curves(span, np.unique(positions[:count]))
    noises = np.array([noise for noise, _ in NOISES])
    means, covariances = curves.believed(shape, positions[:count])
    noisy = covariances[:, None] + noises[:, None, None] ** 2 * np.eye(count)
    lower: Array = np.asarray(np.linalg.cholesky(noisy), dtype=np.float64)
    residual = np.linalg.solve(lower, (values - top - means)[:, None, :, None])[..., 0]
    weights = _weights(lower, residual, curves.probability)
    curve, noise = np.nonzero(weights > NEGLIGIBLE)
    kept, source = curves.taken(curve).with_edges_between(np.unique(positions))
    origin = curve[source], noise[source]
    means, covariances = kept.believed(shape, positions)
    gain = np.linalg.solve(lower[origin], covariances[:, :count, count:])
    share = weights[origin] * kept.probability / curves.probability[origin[0]]
    return Belief(
        weights=share / share.sum(),
        means=top + means[:, count:] + np.einsum("mn,mnp->mp", residual[origin], gain),
        covariances=covariances[:, count:, count:] - np.swapaxes(gain, 1, 2) @ gain,
        noises=noises[origin[1]],
        jagged=np.array([kind.length < 1 for kind in DEPARTURES])[kept.departure],
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Curves:
    """Kinds of curves that are believed possible before any run, each a Gaussian process.

    The slope changes over ``bend`` doublings at ``knee``; ``low`` and ``high`` are the gap that the edge is in,
    infinite without one, ``beyond`` the first measured position beyond it; ``departure`` is an index into DEPARTURES.
    """

    knee: Array
    bend: Array
    departure: Indices
    low: Array
    high: Array
    beyond: Array
    probability: Array

    def taken(self, chosen: Indices) -> _Curves:
        """Some of them, in the order of *chosen*."""
        return _Curves(*(getattr(self, field.name)[chosen] for field in dataclasses.fields(self)))

    def with_edges_between(self, positions: Array) -> tuple[_Curves, Indices]:
        """Each curve with an edge once for each place between *positions* in its gap; and which curve it was."""
        starts, ends = positions[:-1], positions[1:]
        inside = (starts >= self.low[:, None]) & (ends <= self.high[:, None])
        source, place = np.nonzero(inside)
        edged = np.concatenate([np.zeros(np.isinf(self.low).sum(), dtype=bool), np.ones(len(source), dtype=bool)])
        source = np.concatenate([np.flatnonzero(np.isinf(self.low)), source])
        found = self.taken(source)
        share = (ends - starts)[place] / (found.high[edged] - found.low[edged])
        found.low[edged], found.high[edged] = starts[place], ends[place]
        found.probability[edged] *= share
        return found, source

    def believed(self, shape: Shape, positions: Array) -> tuple[Array, Array]:
        """Means (curves, positions) and covariances (curves, positions, positions) of log(value)."""
        distances = (positions - self.knee[:, None]) / self.bend[:, None]
        above = self.bend[:, None] * np.logaddexp(0, distances)
        below = -self.bend[:, None] * np.logaddexp(0, -distances)
        slopes = np.stack([np.full_like(above, LEVEL), shape.below[1] * below, shape.above[1] * above], axis=-1)
        nearness = np.stack([kind.deviation**2 * _matern(positions, kind.length) for kind in DEPARTURES])
        jumps = np.array([kind.jump for kind in DEPARTURES])[self.departure]
        beyond = positions > 0.5 * (self.low + self.high)[:, None]
        past = np.where(beyond, positions - self.beyond[:, None], 0.0)
        same_side = beyond[:, :, None] == beyond[:, None, :]
        slope = SLOPE_BEYOND**2 * past[:, :, None] * past[:, None, :]
        jump = jumps[:, None, None] ** 2 * beyond[:, :, None] * beyond[:, None, :] + slope
        covariances = slopes @ np.swapaxes(slopes, 1, 2) + nearness[self.departure] * same_side + jump
        return shape.below[0] * below + shape.above[0] * above, covariances


def _curves(span: tuple[int, int], measured: Array) -> _Curves:
    """All curves, with an edge in each gap between neighbours that were *measured*."""
    knees = _knees(span)
    wide = math.log2(span[1] / span[0])
    columns: list[tuple[float, float, int, float, float, float, float]] = []
    for index, kind in enumerate(DEPARTURES):
        if kind.jump:
            few = [(knee, BENDS[0]) for knee in knees[::2]]
            gaps = list(itertools.pairwise(measured))
            columns += [
                (knee, bend, index, low, high, high, kind.probability * (high - low) / wide / len(few))
                for knee, bend in few
                for low, high in gaps
            ]
        else:
            many = [(knee, bend) for knee in knees for bend in BENDS]
            nowhere = (math.inf, math.inf, math.inf, kind.probability / len(many))
            columns += [(knee, bend, index, *nowhere) for knee, bend in many]
    knee, bend, departure, low, high, beyond, probability = (np.array(column) for column in zip(*columns, strict=True))
    return _Curves(knee, bend, departure, low, high, beyond, probability)


def _knees(span: tuple[int, int]) -> Array:
    """Positions of the knee; those beyond either end make the curve one straight slope."""
    first, last = math.log2(span[0]), math.log2(span[1])
    inside = np.linspace(first, last, 1 + math.ceil((last - first) * KNEES_PER_DOUBLING))
    return np.concatenate([[first - 1], inside, [last + 1]])


def _matern(positions: Array, length: float) -> Array:
    """Matérn covariance, ν = 3/2: rough enough for a dip, a step or a bump."""
    distances = math.sqrt(3) * np.abs(positions[:, None] - positions) / length
    return np.asarray((1 + distances) * np.exp(-distances))


def _weights(lower: Array, residual: Array, probability: Array) -> Array:
    """Each combination (curves, noises) by its marginal likelihood, relative to the most probable."""
    determinant = np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
    noises = np.log([probability for _, probability in NOISES])
    log_weights = -0.5 * (residual**2).sum(axis=-1) - determinant + np.log(probability)[:, None] + noises
    return np.asarray(np.exp(log_weights - log_weights.max()))


def _positive(variances: Array) -> Array:
    """Variances without the tiny negative values that rounding makes of zero."""
    return np.maximum(variances, 1e-12)
