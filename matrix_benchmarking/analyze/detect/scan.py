"""Goes along a series once, point by point, and raises an alarm where the last points lie on a new level.

What was decided at a point is never revised. After an alarm the new level is learnt from where it starts, with what is
known of the noise. A `Watched` keeps what was seen, so that parts of the series can be judged without going again.
"""

from __future__ import annotations

import dataclasses
import itertools

import msgspec
import numpy as np

from .cumulative import first_crossing
from .early import first_level
from .evidence import MORE_OF_TWO, Flags, Floats, Integers, Prior, behind, only
from .levels import LEAST, LONGEST, Levels, counts_up_to, estimate
from .series import LEAST_DEGREES, OF_THE_PRIOR, Blocks, TimeSeries, Values, precision, prepare
from .splits import (
    FEWEST_BLOCKS,
    LAGS,
    Candidates,
    Plateau,
    as_clear_on_logarithms,
    candidates,
    clearer_on_logarithms,
    every_lag,
    weigh,
)

_FIRST_CHUNK = 128
_LEAST_OF_KNOWN_NOISE = 3
_FIRST_SPLITS = 32
MOST_CARRIED = 20.0


class NewLevel(msgspec.Struct, frozen=True):
    """A new level: from where it lasts, and at which point it was seen."""

    start: int
    seen: int
    excess: float  # of the evidence over its threshold
    deviation: float
    correlation: float


class Walk(msgspec.Struct, frozen=True):
    """What was decided along the first *count* points of a series."""

    count: int
    alarms: list[NewLevel]
    begin: int  # of the level on which it ends
    prior: Prior  # what was known of the noise before that level
    levels: list[Levels | None]  # what was estimated of each level on the way
    first: int  # where the first level begins


def walk(series: TimeSeries, known: Walk | None = None, looks: Candidates | None = None) -> Walk:
    """Once along the whole series, from where *known* ends; *looks* are the next splits, if they were weighed."""
    known = _begun(series) if known is None else known
    found, levels, begin, prior = [*known.alarms], known.levels[:-1], known.begin, known.prior
    there, same = known.levels[-1], known.count - begin
    while True:
        alarm = None if looks is None or there is None else _raised(Plateau(series, begin, prior, there), looks)
        if alarm is None:
            alarm, there = _first(series, begin, prior, there, same)
        levels.append(there)
        if alarm is None:
            return Walk(len(series.points), found, begin, prior, levels, known.first)
        found.append(alarm)
        prior, begin = _prior(alarm, begin, prior), alarm.start
        there, same, looks = None, 0, None  # a level may begin long before it is seen


def _begun(series: TimeSeries) -> Walk:
    first, prior = first_level(series)
    return Walk(0, [], first, prior, [None], first)


def up_to(whole: Walk, count: int, series: TimeSeries) -> Walk:
    """What the *whole* walk had seen of the first *count* points of *series*; nothing where it began elsewhere then."""
    start = _begun(_first_points(series, count))
    if start.first != whole.first:
        return start
    known, prior = [*itertools.takewhile(lambda alarm: alarm.seen < count, whole.alarms)], start.prior
    begin = start.first
    for alarm in known:
        begin, prior = alarm.start, _prior(alarm, begin, prior)
    levels = whole.levels[len(known)]
    if levels is not None:
        few = int(levels.counts.searchsorted(count - begin, side="right"))
        levels = only(levels, slice(few)) if few else None
    return Walk(count, known, begin, prior, [*whole.levels[: len(known)], levels], start.first)


def _prior(alarm: NewLevel, begin: int, prior: Prior) -> Prior:
    """What is known of the noise on the level after *alarm*, which ended the one that starts at *begin*."""
    degrees = min(MOST_CARRIED, alarm.start - begin + prior.degrees)
    return Prior(degrees, alarm.deviation, alarm.correlation)


def least_history(prior: Prior) -> int:
    """The number of points that an old level needs: few where repeats or the level before tell of the noise."""
    return LEAST if prior.degrees < LEAST_DEGREES else _LEAST_OF_KNOWN_NOISE


def newest(series: TimeSeries, seen: Walk) -> tuple[Plateau, Candidates] | None:
    """What is known of the level on which *seen* ends, and all its splits up to the last point, if there are any."""
    points = series.points[seen.begin :]
    least = least_history(seen.prior)
    last = len(points) - 1
    if last < least:
        return None
    levels = _known(points, counts_up_to(last, least), seen.levels[-1])
    of = Plateau(series, seen.begin, seen.prior, levels)
    return of, clearer_on_logarithms(of, weigh(of, every_lag(levels, last)))


def _known(points: Floats, counts: Integers, levels: Levels | None) -> Levels:
    """Estimates from *counts* points, of which *levels* has those that the walk needed: fewer or more."""
    if levels is None:
        return estimate(points, counts)
    first = counts[counts < levels.counts[0]]
    first = first[np.isin(len(points) - first, LAGS)]  # the others no split asks for
    there = slice(*levels.counts.searchsorted([counts[0], counts[-1] + 1]))
    return behind([*([estimate(points, first)] if len(first) else []), only(levels, there)])


def suspicious(of: Plateau, found: Candidates) -> int | None:
    """Which of the splits up to the last point is where a new level begins that isn't confirmed; None for none.

    It is the best fit near the one that speaks most for it, of which the threshold may be lower.
    """
    over = np.flatnonzero(unconfirmed(of.series, found, len(of.series.points) - 1))
    if found.excess[over].max(initial=-1.0) >= 0.0:
        over = as_clear_on_logarithms(of, found, over)
    if not len(over):
        return None
    best, points = int(over[np.argmax(found.excess[over])]), of.series.points[of.begin :]
    start = _locate(points, int(found.split.after[best]), int(of.levels.counts[0]))
    same = (found.split.after == len(points) - start) & (found.split.shift * found.split.shift[best] > 0.0)
    return int(same.argmax()) if same.any() else best


def unconfirmed(series: TimeSeries, found: Candidates, last: int | Integers) -> Flags:
    """Which of the splits that end at *last* are over their threshold, but for the evidence of a second block.

    Two points may be as much below theirs as it is above that of one: what the first was suspected of isn't taken back.
    """
    alone = series.blocks_from(last + 1 - found.split.after.astype(np.int64), last) < FEWEST_BLOCKS
    return np.asarray(((found.excess >= 0.0) & (alone | ~found.confirmed)) | as_far_as_one(found))


def as_far_as_one(found: Candidates, room: float = 0.0) -> Flags:
    """Which of the splits of two points would be over the threshold of one, but for *room*, and aren't over theirs."""
    is_near = (found.excess < 0.0) & (found.excess >= MORE_OF_TWO - room)
    return np.asarray((found.split.after == 2.0) & is_near)


def _first(
    series: TimeSeries, begin: int, prior: Prior, levels: Levels | None, same: int
) -> tuple[NewLevel | None, Levels | None]:
    """The first alarm of a level, of which the *same* first points raise none, and what was estimated on the way."""
    points, least = series.points[begin:], least_history(prior)
    counts = counts_up_to(len(points), least)
    start, step = max(least, same), _FIRST_CHUNK
    while start < len(points):
        stop = min(len(points), start + step)
        done = 0 if levels is None else len(levels.counts)
        new = counts[done:][counts[done:] < stop]
        if len(new):
            further = estimate(points, new)
            levels = further if levels is None else behind([levels, further])
        assert levels is not None
        of = Plateau(series, begin, prior, levels)
        alarm = _or_creeping(_earliest(of, candidates(of, (start, stop))), of, (start, stop))
        if alarm is not None:
            return alarm, levels
        start, step = stop, 2 * step
    return None, levels


def _earliest(of: Plateau, found: tuple[Integers, Integers]) -> NewLevel | None:
    """The alarm of the earliest point; few splits are weighed at once, as nothing after that point is of interest."""
    last, lag = found
    done, few = 0, _FIRST_SPLITS
    while done < len(last):
        stop = int(last.searchsorted(last[min(done + few, len(last)) - 1], side="right"))
        alarm = _raised(of, weigh(of, (last[done:stop], lag[done:stop])))
        if alarm is not None:
            return alarm
        done, few = stop, 4 * few
    return None


def _raised(of: Plateau, found: Candidates) -> NewLevel | None:
    """The alarm of the earliest point up to which one of the splits that were *found* raises one."""
    found = clearer_on_logarithms(of, found)
    over = (found.excess >= 0.0) & found.confirmed
    for seen in dict.fromkeys(found.last[over].tolist()):  # in rising order
        alarm = _alarm(of, found, np.flatnonzero(over & (found.last == seen)))
        if alarm is not None:
            return alarm
    return None


def _or_creeping(alarm: NewLevel | None, of: Plateau, span: tuple[int, int]) -> NewLevel | None:
    """*alarm*, or an earlier one of the cumulative sum, where repeats say what the noise is."""
    series, begin, prior = of.series, of.begin, of.prior
    if series.prior.degrees == 0.0:
        return alarm
    points = series.means[begin : begin + span[1]]
    levels = estimate(points, of.levels.counts[of.levels.counts < len(points)])
    if alarm is not None:
        points = points[: alarm.seen - begin]

    def begins(seen: int, rising: int) -> int:
        return begin + _locate(points[: seen + 1], seen - rising + 1, least_history(prior))

    def is_enough(seen: int, rising: int) -> bool:
        return bool(series.blocks_from(begins(seen, rising), begin + seen) >= FEWEST_BLOCKS)

    crossing = first_crossing(points, levels, prior, series.speaks[begin:], span[0], is_enough)
    if crossing is None:
        return alarm
    start, seen = begins(*crossing), begin + crossing[0]
    which = int(levels.counts.searchsorted(start - begin, side="right")) - 1
    squares = float(levels.squares[which]) + prior.degrees * prior.deviation**2
    deviation = float(np.sqrt(squares / (float(levels.counts[which]) - 1.0 + prior.degrees)))
    return NewLevel(start, seen, 0.0, deviation, 0.0)


def _alarm(of: Plateau, found: Candidates, over: Integers) -> NewLevel | None:
    """The best supported of the splits *over* their threshold, if it is so on the logarithmic scale too."""
    series, begin = of.series, of.begin
    over = as_clear_on_logarithms(of, found, over)
    if not len(over):
        return None
    best = int(over[np.argmax(found.weight.score[over])])
    seen, weight = begin + int(found.last[best]), only(found.weight, best)
    start = begin + _locate(series.points[begin : seen + 1], int(found.split.after[best]), least_history(of.prior))
    if series.blocks_from(start, seen) < FEWEST_BLOCKS:  # the split had a point of the old level in it
        return None
    return NewLevel(start, seen, float(found.excess[best]), float(weight.deviation), float(weight.correlation))


def _locate(points: Floats, after: int, least: int) -> int:
    """Where the new level starts most likely, near the split that was found: the best fit of two levels."""
    left_out = max(len(points) - 3 * after - LONGEST, 0)
    points, few = points[left_out:], min(2, after)
    starts = np.arange(max(least, len(points) - 3 * after), len(points) - few + 1)
    old, new = median_of(points[:-after]), median_of(points[-after:])
    room = abs(new - old)
    held = np.minimum(np.maximum(points, min(old, new) - room), max(old, new) + room)
    sums = held.cumsum()
    before, total = sums[starts - 1], sums[-1]
    behind = len(points) - starts
    fit = ((total - before) / behind - before / starts) ** 2 * (starts * behind)
    return left_out + int(starts[fit.argmax()])


def median_of(points: Floats) -> float:
    """As numpy's, in a fifth of the time for few points."""
    half = len(points) // 2
    ordered = np.partition(points, [max(half - 1, 0), half])
    return float(ordered[half] if len(points) % 2 else (ordered[half - 1] + ordered[half]) / 2.0)


class Watched(msgspec.Struct, frozen=True):
    """A series that was gone along so far."""

    series: TimeSeries  # up to there
    index: Integers  # of each of its points in the values
    scale: float  # what these were divided by
    walk: Walk
    whole: tuple[TimeSeries, Integers]  # with what follows

    @property
    def is_whole(self) -> bool:
        return len(self.index) == len(self.whole[1])

    @property
    def stop(self) -> int:
        return int(self.index[-1]) + 1 if len(self.index) else 0

    def further(self, points: int) -> Watched:
        return self._to(len(self.index) + points, self.whole, self.walk)

    def until(self, stop: int) -> Watched:
        count = self._place(stop)
        series, index = _first_points(self.series, count), self.index[:count]
        known = up_to(self.walk, count, series)
        seen = known if known.count == count else walk(series, known)
        return Watched(series, index, self.scale, seen, (series, index))

    def without(self, first: int, stop: int) -> Watched:
        """As if the values from *first* to before *stop* weren't there; not the first three, which tell of noise."""
        begin, end = self._place(first), self._place(stop)
        series, index = self.whole
        left = series.part(lambda array: np.concatenate([array[:begin], array[end:]]))
        if "precision" not in series.common:  # else there are neither repeats nor campaigns, and that stays so
            left = dataclasses.replace(left, precision=precision(left.runs, left.stretches))
        known = up_to(self.walk, begin, left)
        whole = left, np.concatenate([index[:begin], index[end:] - (stop - first)])
        return self._to(len(self.index) - (end - begin), whole, known)

    def _to(self, count: int, whole: tuple[TimeSeries, Integers], known: Walk) -> Watched:
        series = _first_points(whole[0], count)
        return Watched(series, whole[1][:count], self.scale, walk(series, known), whole)

    def _place(self, index: int) -> int:
        place = int(self.index.searchsorted(index))
        assert place >= min(OF_THE_PRIOR, len(self.index))
        return place


def watch(values: Values, points: int | None = None, blocks: Blocks | None = None) -> Watched:
    """Once along the series of *values*, one entry a version as those of `judge`, or along its first *points*."""
    series, index, scale = prepare(values, blocks)
    first = series if points is None else _first_points(series, points)
    return Watched(first, index[:points], scale, walk(first), (series, index))


def _first_points(series: TimeSeries, count: int) -> TimeSeries:
    return series.part(lambda array: array[:count])
