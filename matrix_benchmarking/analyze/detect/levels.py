"""What is known of a level from its first points: where it lies and how it spreads, without being led by outliers."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
from scipy import special

from matrix_benchmarking.analyze.detect.evidence import Floats

Integers = npt.NDArray[np.int64]
LEAST = 8
_EVERY_UP_TO = 64
_GROWTH = 1.06
_FENCE = 1.7
_QUARTILES = np.array([[0.25], [0.75]])
FAR_OFF = 4.0
_ROUNDING = 1e-12
_PER_SKEW = 0.4
_SKEW_ROOM = 0.3
_TAIL_ROOM = 0.15  # how far, in standard deviations, the second-largest deviation may exceed what is expected


@dataclasses.dataclass(frozen=True, slots=True)
class Levels:
    """Estimates from the first *counts* points, each an array of shape (number of estimates,).

    Points beyond 1.7 interquartile ranges from the quartiles (3 standard deviations of a normal distribution) count as
    if they lay there.

    Attributes:
        counts: number of points.
        level: their mean.
        squares: sum of squared deviations from it.
        low, high: the values at which outliers are held back.
        second_low, second_high: the second-smallest and the second-largest value.
    """

    counts: Integers
    level: Floats
    squares: Floats
    low: Floats
    high: Floats
    second_low: Floats
    second_high: Floats


@dataclasses.dataclass(frozen=True, slots=True)
class Noise:
    """What else is known of some of the levels, each an array of shape (number of levels,).

    Attributes:
        products: sum of products of successive deviations.
        tail_up, tail_down: by how much the second-largest deviation exceeds that of a normal distribution; at least 1.
        outliers: number of points more than four standard deviations off.
    """

    products: Floats
    tail_up: Floats
    tail_down: Floats
    outliers: Floats


def counts_up_to(count: int, least: int = LEAST) -> Integers:
    """The numbers of points at which a level is estimated anew: each up to 64, then every 6 %.

    Which ones there are doesn't depend on *count*, so that the same points always have the same estimates.
    """
    counts = list(range(least, min(count, _EVERY_UP_TO) + 1))
    following = _EVERY_UP_TO
    while (following := int(following * _GROWTH) + 1) <= count:
        counts.append(following)
    return np.array(counts, dtype=np.int64)


def estimate(points: Floats, counts: Integers) -> Levels:
    """Estimates from the first ``counts[i]`` of *points*, at least two of them and in rising order."""
    used = points[: counts[-1]]
    inside = np.arange(len(used)) < counts[:, None]
    ordered = np.where(inside, used, np.inf)
    ordered.sort(axis=1)
    rows = np.arange(len(counts))
    low, high = _fences(ordered, counts, rows)
    kept = np.minimum(np.maximum(used, low[:, None]), high[:, None])
    kept *= inside
    level = kept.sum(axis=1) / counts
    deviations = (kept - level[:, None]) * inside
    # The floor is what rounding does to equal values.
    squares = np.einsum("ij,ij->i", deviations, deviations) + counts * (_ROUNDING * level) ** 2
    return Levels(counts, level, squares, low, high, ordered[:, 1], ordered[rows, counts - 2])


def noise(points: Floats, levels: Levels, which: Integers) -> Noise:
    """What else is known of the levels *which* (indices in rising order), from the same points."""
    counts, level, squares = levels.counts[which], levels.level[which], levels.squares[which]
    used = points[: counts[-1]]
    inside = np.arange(len(used)) < counts[:, None]
    kept = np.minimum(np.maximum(used, levels.low[which, None]), levels.high[which, None])
    deviations = (kept - level[:, None]) * inside
    spread = np.sqrt(squares / (counts - 1))
    unit = np.where(spread > 0.0, spread, 1.0)
    room = unit * (special.ndtri((counts - 1.375) / (counts + 0.25)) + _TAIL_ROOM)
    relative = deviations / unit[:, None]
    skew = np.einsum("ij,ij,ij->i", relative, relative, relative) / counts
    off = (np.abs(used - level[:, None]) > FAR_OFF * spread[:, None]) & inside
    return Noise(
        np.einsum("ij,ij->i", deviations[:, 1:], deviations[:, :-1]),
        np.maximum(np.maximum((levels.second_high[which] - level) / room, 1.0), 1.0 + _PER_SKEW * (skew - _SKEW_ROOM)),
        np.maximum(np.maximum((level - levels.second_low[which]) / room, 1.0), 1.0 - _PER_SKEW * (skew + _SKEW_ROOM)),
        off.sum(axis=1).astype(float),
    )


def joined(first: Levels | None, second: Levels) -> Levels:
    """Both, one behind the other."""
    if first is None:
        return second
    names = [field.name for field in dataclasses.fields(Levels)]
    return Levels(*[np.concatenate([getattr(first, name), getattr(second, name)]) for name in names])


def _fences(ordered: Floats, counts: Integers, rows: Integers) -> tuple[Floats, Floats]:
    """The values at which outliers are held back; the smallest and the largest where half of the values are equal."""
    place = _QUARTILES * (counts - 1)
    below = place.astype(np.int64)
    lower, upper = ordered[rows, below], ordered[rows, np.minimum(below + 1, counts - 1)]
    first, third = lower + (place - below) * (upper - lower)
    room = _FENCE * (third - first)
    smallest, largest = ordered[:, 0], ordered[rows, counts - 1]
    return np.where(room > 0.0, first - room, smallest), np.where(room > 0.0, third + room, largest)
