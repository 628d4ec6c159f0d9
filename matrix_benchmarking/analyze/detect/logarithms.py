"""Splits of a level on the logarithmic scale, on which noise that grows with the value is even: pure mathematics.

All of it is asked of one series only: few splits come near their threshold.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from .evidence import Flags, Floats, Prior, Split
from .levels import Integers, Levels, estimate
from .series import TimeSeries
from .splits import Evidence, weigh

LESS_ON_LOGARITHMS = 0.3
"""How far below the threshold the evidence on the logarithmic scale may stay."""
_MORE_ON_LOGARITHMS = 0.3
"""How far above it that evidence has to be, where it stands alone."""


def as_clear_on_logarithms(
    series: TimeSeries, begin: int, levels: Levels, found: Evidence, over: Integers, prior: Prior
) -> Integers:
    """Those of the splits *over* their threshold that are so, or nearly, if logarithms are compared.

    Where the noise grows with the value, as that of latencies does, the largest values look further off than they are.
    Where values have no logarithm, all of them are.
    """
    points = _with_logarithms(series, begin, found, over)
    if points is None:
        return over
    unsure = _shrinking(found, over, levels, float(points.min())) > found.excess[over] + LESS_ON_LOGARITHMS
    if not unsure.any():
        return over
    again = _on_logarithms(series, begin, levels, found, over[unsure], points, prior)
    unsure[unsure] = again.excess < -LESS_ON_LOGARITHMS
    return over[~unsure]


def clearer_on_logarithms(series: TimeSeries, begin: int, levels: Levels, found: Evidence, prior: Prior) -> Evidence:
    """*found*, in which levels with a factor of two between them are as clear as they are on the logarithmic scale.

    Where the noise grows with the value, a new level is the more restless the higher it is, and twenty times the
    latency would be harder to see than five times.
    """
    far = np.flatnonzero((found.excess < 0.0) & is_doubled(levels, found.split))
    if not len(far):
        return found
    far = far[found.last[far] < _first_without(series.points[begin : begin + int(found.last[far].max()) + 1])]
    points = _with_logarithms(series, begin, found, far) if len(far) else None
    if points is None:
        return found
    again = _on_logarithms(series, begin, levels, found, far, points, prior)
    excess = found.excess.copy()
    excess[far] = np.maximum(excess[far], again.excess - _MORE_ON_LOGARITHMS)
    weighed = dataclasses.replace(found.weighed, score=found.weighed.score + excess - found.excess)
    return dataclasses.replace(found, weighed=weighed, excess=excess)


def is_doubled(levels: Levels, split: Split, row: Integers | int = 0, beside: int = 1) -> Flags:
    """Of which splits, each of the series *row* of so many *beside* each other, a level is twice the other one."""
    each = len(levels.counts) // beside
    old = levels.level[row * each + levels.counts[:each].searchsorted(split.before)]
    new = old + split.shift
    return np.asarray((old * new > 0.0) & (np.maximum(np.abs(old), np.abs(new)) > 2.0 * np.minimum(abs(old), abs(new))))


def _first_without(points: Floats) -> int:
    """The first point that has another sign than the first one: it says nothing of the splits before it."""
    others = points * points[0] <= 0.0
    return int(others.argmax()) if others.any() else len(points)


def _with_logarithms(series: TimeSeries, begin: int, found: Evidence, which: Integers) -> Floats | None:
    """The points, or all of them with another sign, up to the end of the last of the splits; None if one has none."""
    points = series.points[begin : begin + int(found.last[which].max()) + 1]
    points = -points if points[0] < 0.0 else points
    return points if float(points.min()) > 0.0 else None


def _on_logarithms(
    series: TimeSeries, begin: int, levels: Levels, found: Evidence, asked: Integers, points: Floats, prior: Prior
) -> Evidence:
    """What the splits that are *asked* about weigh on the logarithmic scale; *points* are those that have one."""
    span = slice(begin, begin + len(points))
    logarithms, squares = np.zeros(len(series.points)), series.squares.copy()
    # About 1, as the floor of a spread, which is what rounding leaves, goes by the level: in any unit the same.
    logarithms[span] = 1.0 + np.log(points / abs(float(levels.level[0])))
    squares[span] /= points
    squares[span] /= points
    splits = found.last[asked], found.split.after[asked].astype(np.int64)
    which = np.searchsorted(levels.counts, splits[0] - splits[1] + 1, side="right") - 1
    needed = estimate(logarithms[span], np.unique(levels.counts[which]))
    relative = Prior(prior.degrees, prior.deviation / abs(float(levels.level[0])), prior.correlation)
    return weigh(dataclasses.replace(series, points=logarithms, squares=squares), begin, needed, splits, relative)


def _shrinking(found: Evidence, over: Integers, levels: Levels, smallest: float) -> Floats:
    """By how much the scores of splits may shrink on the logarithmic scale.

    There the shift is log(new / old), and no deviation is stretched by more than 1 / *smallest*.
    """
    before = found.split.before[over].astype(np.int64)
    old = np.abs(levels.level[levels.counts.searchsorted(before)])
    shift = np.abs(found.split.shift[over]) / old
    return np.asarray(found.weighed.score[over] * (1.0 - smallest / old * np.log1p(shift) / np.maximum(shift, 1e-9)))
