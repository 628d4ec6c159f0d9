"""A step among the first versions, too early for an alarm: as part of the first level it would hide all later ones."""

from __future__ import annotations

import math

import numpy as np

from .evidence import Floats, Integers, Prior
from .series import LEAST_DEGREES, TimeSeries

LATEST = 16
"""So many first points are looked at, so that later ones change nothing."""
FEWEST, MOST, FEWEST_SINCE = 3, 7, 5
"""Points before such a step, and since it."""
CLEAR = 7.0
"""Student's ratio of it."""
UNLIKE = 0.5
"""Of the squares on both sides so many are from one point to the next, else they have steps of their own."""
_CORRELATION = 0.6  # as is assumed of short histories

_COUNTS, _BEFORE = np.array(
    [
        (count, before)
        for count in range(FEWEST + FEWEST_SINCE, LATEST + 1)
        for before in range(FEWEST, min(MOST, count - FEWEST_SINCE) + 1)
    ]
).T


def first_levels(points: Floats) -> tuple[Integers, Floats]:
    """Where the first level of each series begins that lasts, and how its points spread; *points* of shape (series, n).

    The first few points that show a step decide: those after them don't move it. 0 where there is none.
    """
    if points.shape[1] < _COUNTS[0]:
        return np.zeros(len(points), dtype=np.int64), np.zeros(len(points))
    points = points[:, :LATEST] - np.median(points[:, :LATEST], axis=1, keepdims=True)
    few = points.shape[1] >= _COUNTS
    counts, before = _COUNTS[few], _BEFORE[few]
    nothing = np.zeros((len(points), 1))
    sums, squares = (np.hstack([nothing, each.cumsum(axis=1)]) for each in (points, points * points))
    steps = np.square(np.diff(points, axis=1, prepend=0.0))
    of_steps = np.hstack([nothing, steps.cumsum(axis=1)])
    since, old, new = counts - before, sums[:, before], sums[:, counts] - sums[:, before]
    within = squares[:, counts] - old * old / before - new * new / since
    rounding = 1e-12 * squares[:, counts]
    variance = np.maximum(within, 0.0) / (counts - 2)
    shift = new / since - old / before
    ratio = np.where(within > rounding, shift * shift / np.maximum(variance, rounding + 1e-300), 0.0)
    ratio /= 1.0 / before + 1.0 / since
    neighbours = of_steps[:, counts] - of_steps[:, [1]] - steps[:, before]
    clear = (ratio >= CLEAR * CLEAR) & (neighbours >= 2.0 * UNLIKE * within)
    first = np.where(clear, counts, LATEST + 1).min(axis=1, keepdims=True)
    best = np.where(counts == first, ratio, -1.0).argmax(axis=1)
    rows = np.arange(len(points))
    return np.where(clear.any(axis=1), before[best], 0), np.sqrt(variance[rows, best])


def first_level(series: TimeSeries) -> tuple[int, Prior]:
    """Where the first level begins that lasts, and what is known of the noise before it."""
    prior, first = series.prior, slice(LATEST)
    if prior.degrees >= LEAST_DEGREES or (np.diff(series.stretches[first]) == 0).any():
        return 0, prior  # repeats say how it spreads, and neighbours of one campaign share its mood
    (begin,), (deviation,) = first_levels(series.points[None])
    if not begin:
        return 0, prior
    own = max(float(begin), LEAST_DEGREES - float(prior.degrees))  # both sides told how points spread
    squares = own * deviation**2 + prior.degrees * prior.deviation**2
    return int(begin), Prior(own + prior.degrees, math.sqrt(squares / (own + prior.degrees)), _CORRELATION)
