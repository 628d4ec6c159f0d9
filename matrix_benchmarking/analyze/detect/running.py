"""The estimates of `levels` for many series beside each other, a point of all of them at a time.

A row of numbers is one point of each series. Their first points are kept in order by inserting one row after the other,
so that nothing is sorted anew for each count; sums are rounded as those of one series are, to the last digit.
"""

from __future__ import annotations

import numpy as np

from matrix_benchmarking.analyze.detect.evidence import Floats
from matrix_benchmarking.analyze.detect.levels import FENCE, QUARTILES, ROUNDING, Integers, Levels, estimate

_INSERTED = 128
"""Up to so many points are inserted, of which numpy adds a row in one go; few counts beyond are asked about."""
_LANES = 8
"""In so many running sums numpy adds a row."""


def estimate_beside(points: Floats, counts: Integers) -> Levels:
    """What `estimate` gives of the same *points*, shape (series, n); the first of *counts* is a small one."""
    few = counts[counts <= _INSERTED]
    columns = [row.T for row in _inserted(np.ascontiguousarray(points[:, :_INSERTED].T), few)]
    if len(few) < len(counts):
        rest = estimate(points, counts[len(few) :])
        names = ("level", "squares", "low", "high", "second_low", "second_high")
        others = [getattr(rest, name).reshape(len(points), -1) for name in names]
        columns = [np.hstack(each) for each in zip(columns, others, strict=True)]
    return Levels(np.tile(counts, len(points)), *[column.ravel() for column in columns])


def _inserted(points: Floats, counts: Integers) -> Floats:
    """The fields of `Levels` but the first, shape (6, counts, series), from *points* of shape (n, series)."""
    most = int(counts[-1])
    ordered, following, least = (np.full((most, points.shape[1]), np.inf) for _ in range(3))
    held = np.empty((-(-most // _LANES) * _LANES, points.shape[1]))
    found = np.empty((6, len(counts), points.shape[1]))
    place = 0
    for count in range(1, most + 1):
        np.minimum(ordered[:count], points[count - 1], out=least[:count])
        following[0] = least[0]
        np.maximum(least[1:count], ordered[: count - 1], out=following[1:count])
        ordered, following = following, ordered
        if count == counts[place]:
            _estimate(points[:count], ordered[:count], held, found[:, place])
            place += 1
    return found


def _estimate(points: Floats, ordered: Floats, held: Floats, found: Floats) -> None:
    """Fills in what is *found* of all these points; *held* is room for them."""
    level, squares, low, high, *_ = found
    count = len(points)
    found[4], found[5] = ordered[1], ordered[-2]
    first, third = (_quantile(ordered, float(share)) for share in QUARTILES.ravel())
    room = FENCE * (third - first)
    np.copyto(low, np.where(room > 0.0, first - room, ordered[1]))
    np.copyto(high, np.where(room > 0.0, third + room, ordered[-2]))
    kept = held[: -(-count // _LANES) * _LANES]
    np.maximum(points, low, out=kept[:count])
    np.minimum(kept[:count], high, out=kept[:count])
    kept[count:] = 0.0
    np.minimum(np.maximum(_sum(kept) / count, low), high, out=level)
    kept[:count] -= level
    kept *= kept
    np.add(_sum(kept), count * (ROUNDING * level) ** 2, out=squares)


def _quantile(ordered: Floats, share: float) -> Floats:
    place = share * (len(ordered) - 1)
    lower, upper = ordered[int(place)], ordered[int(place) + 1]
    return np.asarray(lower + (place - int(place)) * (upper - lower))


def _sum(rows: Floats) -> Floats:
    """Their sum, added in the order in which numpy adds a row that is filled up with zeros."""
    one, two, three, four, five, six, seven, eight = rows.reshape(-1, _LANES, rows.shape[1]).sum(axis=0)
    return np.asarray(((one + two) + (three + four)) + ((five + six) + (seven + eight)))
