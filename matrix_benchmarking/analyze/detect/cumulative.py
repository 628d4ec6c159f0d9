"""Small shifts and drifts: the sum of what each point lies off the level before it, which no single block can raise.

A self-starting cumulative sum (Page 1954, Biometrika 41, 100–115; Hawkins 1987, The Statistician 36, 299–315). It goes
beside the walk, where repeats say what the noise is, and sees what stays below the walk's threshold for long.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

import numpy as np

from .evidence import Flags, Floats, Integers, Prior, normal_score
from .levels import Levels

# What a point may lie off, in standard deviations, without adding to the sum: half of the shift it is best for.
ALLOWANCE = 0.5
# Where the sum is an alarm: in normal noise after some 7,000 points in each direction (Siegmund's approximation).
LIMIT = 7.0
NEWEST_LEFT_OUT = 20
MOST_OF_ONE = 2.5  # a point counts for no more than that, so that an alarm takes four of them at least
_RECENT = 12  # so many of the newest steps from point to point say how the noise spreads today
_LENT_DEGREES = 4.0


def first_crossing(
    points: Floats,
    levels: Levels,
    prior: Prior,
    speaks: Flags,
    since: int,
    is_enough: Callable[[int, int], bool] = lambda seen, start: True,
) -> tuple[int, int] | None:
    """Where the sum is first beyond its limit, and where it began to rise: places in the *points* of a level, or None.

    Only points for which *speaks* holds add to it. No crossing before *since* is looked for; each has to be enough.
    """
    first = int(levels.counts[0])
    if len(points) <= first:
        return None
    scores = _scores(points[None], levels.counts, levels, prior, speaks[None])[0]
    found = heapq.merge(*(_crossings(sign * scores, since - first) for sign in (1.0, -1.0)))
    there = ((seen + first, start + first) for seen, start in found)
    return next((one for one in there if is_enough(*one)), None)


def crosses(points: Floats, levels: Levels, prior: Prior, speaks: Flags) -> Flags:
    """Of several series, shape (series, n), whether the sum is ever beyond its limit; *prior* has shape (series, 1)."""
    scores = _scores(points, levels.counts[: len(levels.counts) // len(points)], levels, prior, speaks)
    return np.asarray((_over(_path(scores)) | _over(_path(-scores))).any(axis=1))


def _scores(points: Floats, counts: Integers, levels: Levels, prior: Prior, speaks: Flags) -> Floats:
    """How far each point lies off the level before it, as normal scores, shape (series, points); NaN if it is mute."""
    places = np.arange(int(counts[0]), points.shape[1])
    which = counts.searchsorted(places, side="right") - 1
    known = counts[which].astype(float)
    level, squares = (of.reshape(len(points), -1)[:, which] for of in (levels.level, levels.squares))
    degrees = known - 1.0 + prior.degrees
    variance = (squares + prior.degrees * prior.deviation**2) / degrees * (1.0 + 1.0 / known)
    off = points[:, places] - level
    ratio = off / np.sqrt(np.where(variance > 0.0, variance, np.inf))
    scores = np.sign(ratio) * normal_score(np.abs(ratio), degrees) / _of_recent(ratio)
    held = np.clip(scores, -MOST_OF_ONE, MOST_OF_ONE)
    return np.where(speaks[:, places], held / _of_correlation(held), np.nan)


def _of_recent(ratios: Floats) -> Floats:
    """By how much the newest *ratios* of each series spread more than 1, by steps, where a new level doesn't show."""
    steps = np.hstack([np.zeros((len(ratios), _RECENT)), np.diff(ratios, axis=1) ** 2 / 2.0])
    windows = np.lib.stride_tricks.sliding_window_view(steps, _RECENT, axis=1)
    count = np.clip(np.arange(ratios.shape[1]) - 1.0, 0.0, _RECENT - 1.0)
    spread = (windows.sum(axis=2) - windows.max(axis=2) + _LENT_DEGREES) / (count + _LENT_DEGREES)
    return np.asarray(np.sqrt(np.maximum(spread, 1.0)))


def _of_correlation(scores: Floats) -> Floats:
    """By how much a positive correlation of points, beyond two standard errors, widens their sum, save the newest."""
    known = np.arange(scores.shape[1]) - NEWEST_LEFT_OUT
    nothing = np.zeros((len(scores), 1))
    products = np.hstack([nothing, nothing, np.cumsum(scores[:, 1:] * scores[:, :-1], axis=1)])
    squares = np.hstack([nothing, np.cumsum(scores * scores, axis=1)])
    count = np.maximum(known, 1.0)
    places = np.maximum(known, 0)
    correlation = products[:, places] / np.maximum(squares[:, places], 1.0) - 2.0 / np.sqrt(count)
    correlation = np.clip(correlation, 0.0, 0.9)
    return np.asarray(np.sqrt((1.0 + correlation) / (1.0 - correlation)))


def _crossings(scores: Floats, since: int) -> Iterator[tuple[int, int]]:
    """The places from *since* on with the sum beyond the limit, each with the first one after it was last zero."""
    path = _path(scores[None])
    for seen in np.flatnonzero(_over(path)[0]).tolist():
        if seen > since:
            yield seen - 1, int(seen - path[0, : seen + 1][::-1].argmin())


def _path(scores: Floats) -> Floats:
    """The sum before and after each of the scores, shape (series, scores)."""
    return np.hstack([np.zeros((len(scores), 1)), np.nancumsum(scores - ALLOWANCE, axis=1)])


def _over(path: Floats) -> Flags:
    return np.asarray(path - np.minimum.accumulate(path, axis=1) > LIMIT)
