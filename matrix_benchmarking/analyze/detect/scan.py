"""Goes along a series once, point by point, and raises an alarm where the last points lie on a new level.

What was decided at a point is never revised: the alarms of the first points of a series are those of the whole series
up to there. After an alarm the new level is learnt from where it starts, with what is known of the noise.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from matrix_benchmarking.analyze.detect import evidence
from matrix_benchmarking.analyze.detect.evidence import Flags, Floats, Prior, Split, Weighed
from matrix_benchmarking.analyze.detect.levels import LEAST, Integers, Levels, counts_up_to, estimate, joined

LAGS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 24, 30, 40, 56, 80, 112, 160)
_BY_LAG = {lag: float(evidence.by_lag(lag)) for lag in (1, *LAGS)}
_ORDERED_UP_TO = 24
_FIRST_CHUNK = 128
_LEAST_LATER = 5
MOST_CARRIED = 20.0
# How far from the middle, in standard deviations of the old level, points of a new one count in full, by their number.
_HELD = {2: 1.0, 3: 1.5, 4: 1.5, 5: 2.0, 6: 2.0}
_HELD_OF_MORE = 3.0
_HELD_OF_MANY = 3.5


@dataclasses.dataclass(frozen=True, slots=True)
class Series:
    """A series without gaps.

    Attributes:
        points: one value a version, shape (n,).
        runs: number of runs behind each, shape (n,).
        precision: variance of each point relative to one with the usual number of runs, shape (n,).
        prior: what repeats say of the noise, before the first point.
        repeated: whether any version has more than one run.
    """

    points: Floats
    runs: Floats
    precision: Floats
    prior: Prior
    repeated: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Alarm:
    """A new level: from where it lasts, at which point it was seen, and how far the evidence exceeded its threshold."""

    start: int
    seen: int
    excess: float
    deviation: float
    correlation: float


@dataclasses.dataclass(frozen=True, slots=True)
class Evidence:
    """Splits of a level (arrays): the last point, what they weigh, by how much that exceeds the threshold, and whether
    there are points enough for it."""

    last: Integers
    split: Split
    weighed: Weighed
    excess: Floats
    confirmed: Flags


@dataclasses.dataclass(frozen=True, slots=True)
class Walk:
    """The alarms of a series, in order, and the *begin* of the level on which it ends, with what was known before it."""

    alarms: list[Alarm]
    begin: int
    prior: Prior


def walk(series: Series) -> Walk:
    """Once along the whole series."""
    found: list[Alarm] = []
    begin, prior, least = 0, series.prior, least_history(series.prior)
    while (alarm := _first(series, begin, prior, least)) is not None:
        found.append(alarm)
        degrees = min(MOST_CARRIED, alarm.start - begin + prior.degrees)
        begin, least = alarm.start, _LEAST_LATER
        prior = Prior(degrees, alarm.deviation, alarm.correlation)
    return Walk(found, begin, prior)


def least_history(prior: Prior) -> int:
    """The number of points that an old level needs."""
    return LEAST if prior.degrees < LEAST else _LEAST_LATER


def newest(series: Series, begin: int, prior: Prior) -> Evidence | None:
    """All splits between *begin* and the last point, whether or not they raise an alarm; None if there are none."""
    points = series.points[begin:]
    least = least_history(prior)
    last = len(points) - 1
    if last < least:
        return None
    levels = estimate(points, counts_up_to(last, least))
    every = _screen(series, begin, levels, (last, last + 1), prior, every=True)
    return _weigh(series, begin, levels, every, prior) if len(every[0]) else None


def _first(series: Series, begin: int, prior: Prior, least: int) -> Alarm | None:
    """The first alarm of the level that starts at *begin*."""
    points = series.points[begin:]
    counts = counts_up_to(len(points) - 1, least)
    levels: Levels | None = None
    start, step = least, _FIRST_CHUNK
    while start < len(points):
        stop = min(len(points), start + step)
        done = 0 if levels is None else len(levels.counts)
        new = counts[done:][counts[done:] < stop]
        levels = joined(levels, estimate(points, new)) if len(new) else levels
        assert levels is not None
        found = _screen(series, begin, levels, (start, stop), prior)
        if len(found[0]):
            alarm = _alarm(_weigh(series, begin, levels, found, prior), series, begin, least)
            if alarm is not None:
                return alarm
        start, step = stop, 2 * step
    return None


def _alarm(found: Evidence, series: Series, begin: int, least: int) -> Alarm | None:
    """The earliest of the splits that exceed their threshold; the best supported of those that do so together."""
    over = (found.excess >= 0.0) & found.confirmed
    if not over.any():
        return None
    last = int(found.last[over].min())
    chosen = np.flatnonzero(over & (found.last == last))
    best = int(chosen[np.argmax(found.weighed.score[chosen])])
    start = _locate(series.points[begin : begin + last + 1], int(found.split.after[best]), least)
    weighed = found.weighed
    return Alarm(
        begin + start,
        begin + last,
        float(found.excess[best]),
        float(weighed.deviation[best]),
        float(weighed.correlation[best]),
    )


def _locate(points: Floats, after: int, least: int) -> int:
    """Where the new level starts most likely, near the split that was found: the best fit of two levels."""
    few = min(2, after)
    starts = np.arange(max(least, len(points) - 3 * after), len(points) - few + 1)
    old, new = np.median(points[:-after]), np.median(points[-after:])
    room = abs(new - old)
    held = np.clip(points, min(old, new) - room, max(old, new) + room)
    sums = np.cumsum(held)
    before, total = sums[starts - 1], sums[-1]
    behind = len(points) - starts
    fit = ((total - before) / behind - before / starts) ** 2 * (starts * behind)
    return int(starts[np.argmax(fit)])


def _screen(
    series: Series, begin: int, levels: Levels, span: tuple[int, int], prior: Prior, every: bool = False
) -> tuple[Integers, Integers]:
    """Last points and lags of the splits in *span* whose bound reaches the threshold, or of all."""
    start, stop = span
    lasts: list[Integers] = []
    lags: list[Integers] = []
    growth = evidence.by_length(np.arange(start, stop) + 1.0 + prior.degrees)
    for lag in [1, *LAGS] if every or series.repeated else LAGS:
        first = max(start, int(levels.counts[0]) + lag - 1)
        if first >= stop:
            break
        last = np.arange(first, stop)
        if lag > _ORDERED_UP_TO:
            last = last[last - lag + 1 >= lag]
            if not len(last):
                continue
        split = _split(series, begin, levels, last, lag)
        far = np.full(len(last), every) | (evidence.bound(split, prior) >= _BY_LAG[lag] + growth[last - start])
        if lag == 1:
            far &= every | (split.runs >= 3.0)
        lasts.append(last[far])
        lags.append(np.full(int(far.sum()), lag))
    if not lasts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return np.concatenate(lasts), np.concatenate(lags)


def _weigh(series: Series, begin: int, levels: Levels, found: tuple[Integers, Integers], prior: Prior) -> Evidence:
    """The full weight of the splits that were found, and by how much it exceeds the threshold."""
    parts = []
    for lag in np.unique(found[1]):
        last = found[0][found[1] == lag]
        parts.append((last, _split(series, begin, levels, last, int(lag), whole=True)))
    last = np.concatenate([part[0] for part in parts])
    names = [field.name for field in dataclasses.fields(Split)]
    split = Split(
        *[np.concatenate([np.broadcast_to(getattr(part[1], name), part[0].shape) for part in parts]) for name in names]
    )
    weighed = evidence.weigh(split, prior)
    excess = weighed.score - evidence.threshold(split.after, last + 1.0 + prior.degrees)
    return Evidence(last, split, weighed, excess, evidence.confirmed(split, weighed, prior))


def _split(series: Series, begin: int, levels: Levels, last: Integers, lag: int, whole: bool = False) -> Split:
    """The splits whose new level are the *lag* points up to each of *last*."""
    which = np.searchsorted(levels.counts, last - lag + 1, side="right") - 1
    before = levels.counts[which].astype(float)
    old, squares = levels.level[which], levels.squares[which]
    windows = _windows(series.points[begin:], last, lag)
    kept = _held(windows, old, np.sqrt(squares / (before - 1.0)), lag)
    new = kept.sum(axis=1) / lag
    deviations = kept - new[:, None]
    products: Any = 0.0
    tail: Any = 1.0
    if whole:
        products = levels.products[which] + np.einsum("ij,ij->i", deviations[:, 1:], deviations[:, :-1])
        tail = np.where(new > old, levels.tail_up[which], levels.tail_down[which])
    squares_after = np.einsum("ij,ij->i", deviations, deviations)
    return Split(
        before,
        np.full(len(last), float(lag)),
        new - old,
        squares,
        squares_after,
        products,
        tail,
        levels.outliers[which],
        _windows(series.precision[begin:], last, lag).mean(axis=1) if series.repeated else 1.0,
        _windows(series.runs[begin:], last, lag).sum(axis=1) if series.repeated else float(lag),
    )


def _windows(points: Floats, last: Integers, lag: int) -> Floats:
    """The *lag* points up to each of *last*: shape (len(last), lag)."""
    every: Floats = np.ndarray((len(points) - lag + 1, lag), np.float64, points, strides=points.strides * 2)
    begin = int(last[0]) - lag + 1
    if len(last) == last[-1] - last[0] + 1:
        return every[begin : begin + len(last)]
    return every[last - lag + 1]


def _held(windows: Floats, old: Floats, spread: Floats, lag: int) -> Floats:
    """Outliers of the new level held back near that of its middle points that is next to the old level."""
    if lag == 1:
        return windows
    if lag > _ORDERED_UP_TO:
        room = _HELD_OF_MANY * spread
        return _clip(windows, old, room)
    place = lag // 2 - 1
    ordered = np.sort(windows, axis=1)
    middle = np.minimum(np.maximum(old, ordered[:, place]), ordered[:, lag - 1 - place])
    room = _HELD.get(lag, _HELD_OF_MORE) * spread
    return _clip(windows, middle, room)


def _clip(windows: Floats, middle: Floats, room: Floats) -> Floats:
    """As numpy.clip, which takes longer for few points."""
    return np.minimum(np.maximum(windows, (middle - room)[:, None]), (middle + room)[:, None])
