"""What is known of a level from its first points: where it lies and how it spreads, without being led by outliers."""

from __future__ import annotations

import msgspec
import numpy as np

from .. import special
from .evidence import Flags, Floats, Integers, behind

LEAST = 8
_EVERY_UP_TO = 64
_NARROWEST = 32
_IN_ONE_GO = 128
_GROWTH = 1.06
FENCE = 1.7
QUARTILES = np.array([[0.25], [0.75]])
FAR_OFF = 4.0
LONGEST = 5_000
"""So many points say where a level lies, of a longer one the newest: what a change costs doesn't grow with it."""
ROUNDING = 1e-12
_PER_SKEW = 0.4
_SKEW_ROOM = 0.3
_TAIL_POINTS, _SHAPE = 2.0, 1.25
_TAIL_ROOM = 0.15  # how far, in standard deviations, the second-largest deviation may exceed what is expected


class Levels(msgspec.Struct, frozen=True):
    """Estimates from the first *counts* points, shape (estimates,); those of several series one behind the other.

    Points beyond 1.7 interquartile ranges from the quartiles (3 standard deviations of a normal distribution) count as
    if they lay there.
    """

    counts: Integers
    level: Floats  # the mean
    squares: Floats  # sum of squared deviations from it
    low: Floats  # the values at which outliers are held back
    high: Floats
    second_low: Floats  # the second-smallest and the second-largest value
    second_high: Floats


class Noise(msgspec.Struct, frozen=True):
    """What else is known of some of the levels, each an array of shape (number of levels,)."""

    products: Floats  # sum of products of successive deviations
    tail_up: Floats  # by how much the second-largest deviation exceeds that of normal noise; at least 1
    tail_down: Floats
    skew: Floats  # of the points, outliers held back
    outliers: Floats  # number of points more than four standard deviations off

    def tail(self, which: Integers, is_up: Flags, after: Floats) -> Floats:
        """By how much outliers and skew of the levels *which* exceed normal noise's, up or down, at least 1.

        Of a mean of several points *after* what single ones were off says less, by their number, unless it is so little
        that it is the shape of the noise.
        """
        far = np.where(is_up, self.tail_up[which], self.tail_down[which])
        skew = np.where(is_up, self.skew[which], -self.skew[which])
        of_single = np.maximum(1.0 + (far - 1.0) * np.minimum(_TAIL_POINTS / after, 1.0), np.minimum(far, _SHAPE))
        return np.asarray(np.maximum(of_single, 1.0 + _PER_SKEW * (skew - _SKEW_ROOM)))


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
    """From the first ``counts[i]``, at least two and rising, of the points of series, shape (n,) or (series, n)."""
    points = np.atleast_2d(points)
    parts, start = [], 0
    while start < len(counts):
        # Sums over up to 128 numbers are the same however wide: these counts go together.
        most = min(max(int(counts[start]), _IN_ONE_GO), int(counts[-1]))
        width = max(_NARROWEST, 1 << (most - 1).bit_length())
        stop = int(counts.searchsorted(width, side="right"))
        parts.append(_estimate(points, counts[start:stop], width))
        start = stop
    return behind(parts, len(points))


def _estimate(points: Floats, counts: Integers, width: int) -> Levels:
    """From the first *counts* points of each series, as sums over *width* numbers.

    The width is a power of two, beyond 128 that of the count and not of its neighbours: sums are always rounded alike.
    """
    points = points[:, None, :width]
    points = np.concatenate([points, np.zeros((len(points), 1, width - points.shape[2]))], axis=2)
    inside = np.arange(width) < counts[:, None]
    ordered = np.where(inside, points, np.inf)
    ordered.sort(axis=2)
    ordered = ordered.reshape(-1, width)
    every, rows = np.tile(counts, len(points)), np.arange(len(ordered))
    low, high = _fences(ordered, every, rows)
    second = ordered[:, 1].copy(), ordered[rows, every - 2]
    shape = len(points), len(counts), 1
    counted = inside.astype(float)
    kept = np.maximum(points, low.reshape(shape), out=ordered.reshape(len(points), -1, width))
    np.minimum(kept, high.reshape(shape), out=kept)
    kept *= counted
    # Of equal values it is theirs, whatever rounding does to their sum.
    level = np.minimum(np.maximum((kept.sum(axis=2) / counts).ravel(), low), high)
    kept -= level.reshape(shape)
    kept *= counted
    kept *= kept
    # The floor is what rounding does to equal values.
    squares = kept.sum(axis=2).ravel() + every * (ROUNDING * level) ** 2
    return Levels(every, level, squares, low, high, *second)


def spread(points: Floats) -> tuple[float, float, float]:
    """The level of at least two points, their squares, and their products as of `noise`, sooner computed than there."""
    count, ordered = len(points), np.sort(points)

    def quantile(share: float) -> float:
        place = share * (count - 1)
        lower, upper = float(ordered[int(place)]), float(ordered[int(place) + 1])
        return lower + (place - int(place)) * (upper - lower)

    first, third = (quantile(float(share)) for share in QUARTILES[:, 0])
    room = FENCE * (third - first)
    low, high = (first - room, third + room) if room > 0.0 else (float(ordered[1]), float(ordered[-2]))
    padded = np.zeros(max(_NARROWEST, even_width(count)))
    kept = padded[:count]
    np.maximum(points, low, out=kept)
    np.minimum(kept, high, out=kept)
    level = min(max(float(padded.sum()) / count, low), high)
    kept -= level
    products = kept[1:] * kept[:-1]
    kept *= kept
    rounding = ROUNDING * level
    squares = float(padded.sum()) + count * (rounding * rounding)
    kept[0], kept[1:] = 0.0, products
    return level, squares, float(padded.sum())


def even_width(count: int) -> int:
    """To what rows of *count* numbers are filled up with zeros, so that how wide others are doesn't change their sums.

    numpy adds each eighth number of up to 128, and the halves of more.
    """
    return -8 * (-count // 8) if count <= 128 else 1 << (count - 1).bit_length()


def noise(points: Floats, levels: Levels, which: Integers) -> Noise:
    """What else is known of the levels *which* (indices in rising order), from the same points, shape (series, n)."""
    counts, level, squares = levels.counts[which], levels.level[which], levels.squares[which]
    most = int(counts.max())
    used = points[which // (len(levels.counts) // len(points)), :most]
    room = np.zeros((2, len(which), even_width(most)))
    deviations, powers = room[0, :, :most], room[1, :, :most]
    np.maximum(used, levels.low[which, None], out=deviations)
    np.minimum(deviations, levels.high[which, None], out=deviations)
    deviations -= level[:, None]
    inside = np.arange(most) < counts[:, None]
    deviations *= inside.astype(float)
    np.multiply(deviations[:, 1:], deviations[:, :-1], out=powers[:, 1:])
    products = room[1].sum(axis=1)
    spread = np.sqrt(squares / (counts - 1))
    unit = np.where(spread > 0.0, spread, 1.0)
    enough = np.maximum(counts, LEAST)  # of three the second-largest is the middle one: it tells of no tail
    far = unit * (special.ndtri((enough - 1.375) / (enough + 0.25)) + _TAIL_ROOM)
    deviations /= unit[:, None]
    np.multiply(deviations, deviations, out=powers)
    powers *= deviations
    skew = room[1].sum(axis=1) / counts
    np.subtract(used, level[:, None], out=powers)
    off = (np.abs(powers, out=powers) > FAR_OFF * spread[:, None]) & inside
    return Noise(
        products,
        np.maximum((levels.second_high[which] - level) / far, 1.0),
        np.maximum((level - levels.second_low[which]) / far, 1.0),
        skew,
        np.count_nonzero(off, axis=1).astype(float),
    )


def _fences(ordered: Floats, counts: Integers, rows: Integers) -> tuple[Floats, Floats]:
    """The values at which outliers are held back; the second ones from the ends where half of the values are equal."""
    place = QUARTILES * (counts - 1)
    below = place.astype(np.int64)
    lower, upper = ordered[rows, below], ordered[rows, below + 1]
    first, third = lower + (place - below) * (upper - lower)
    room = FENCE * (third - first)
    second = ordered[:, 1], ordered[rows, counts - 2]
    return np.where(room > 0.0, first - room, second[0]), np.where(room > 0.0, third + room, second[1])
