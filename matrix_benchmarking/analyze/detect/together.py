"""Many series at once: those in which nothing shows are judged as arrays over series, at a tenth of the time.

Series of one length lie beside each other. Where anything comes near a threshold of the walk, the series is left to be
gone along by itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from . import scan
from .changes import Minimum, asked_about, levels_of, reach, smallest_steps
from .cumulative import crosses
from .early import first_levels
from .evidence import Flags, Floats, Integers, Prior, behind, only
from .judge import MINIMUM, Judgement, chance_of_none, doubtful, judge_watched, no_change, reruns, sight
from .levels import FENCE, LEAST, QUARTILES, ROUNDING, Levels, counts_up_to, estimate
from .scan import Watched, watch
from .series import ARRAYS, Blocks, TimeSeries, Values, campaigns, held, precision, prepare, scale_of, single_runs
from .splits import FEWEST_BLOCKS, Candidates, Plateau, candidates, every_lag, is_doubled, weigh

T = TypeVar("T")
S = TypeVar("S", np.float64, np.bool_)

# So many points estimates may be of at a time, so that they fit into little memory: with fewer, numpy's calls cost more
# than what they compute.
_AT_ONCE = 7_000_000
LONGEST_TOGETHER = 1000  # a series of more points has arrays of its own that are long enough
_FIRST_SPLITS = 32
_RERUNS_AT_ONCE = 256
_NEAR = 1e-6  # what lies so little below a threshold may be above it by the rounding of another order of sums


def judge_all(
    values: Sequence[Values],
    *,
    lower_is_better: bool | None = None,
    minimum: Minimum = MINIMUM,
    blocks: Sequence[Blocks | None] | None = None,
) -> list[Judgement]:
    """The verdict on each of many series: what `judge` says of it, ten times as fast where most of them are quiet."""
    found = watched_together(values, [minimum] * len(values), blocks=blocks)
    return [
        seen if isinstance(seen, Judgement) else judge_watched(seen, lower_is_better=lower_is_better, minimum=minimum)
        for seen in found
    ]


def watched_together(
    values: Iterable[Values],
    minima: Sequence[Minimum],
    *,
    blocks: Iterable[Blocks | None] | None = None,
    points: int | None = None,
) -> list[Judgement | Watched]:
    """What `judge` says of each of the series in which nothing shows, and what `watch` sees along the others.

    Of each series the *values*, the smallest effect that counts, and the *blocks*; so many *points* of one that is too
    long to lie beside others, all unless given.
    """
    found: dict[int, Judgement | Watched] = {}
    for part in side_by_side(values, [None] * len(minima) if blocks is None else blocks, points, found):
        of = [[getattr(minima[place], name) for place in part.places] for name in ("relative", "absolute")]
        relative, absolute = map(np.array, of)
        found.update(_looked_at(part, Minimum(relative, absolute / part.scales)))
    return [found[place] for place in range(len(minima))]


def _looked_at(part: Beside, minimum: Minimum) -> Iterator[tuple[int, Judgement | Watched]]:
    """The place of each of the series, and the verdict where nothing shows, or what is seen along it."""
    begun = first_levels(part.rows(part.series.points))[0] > 0
    for row in np.flatnonzero(begun).tolist():
        yield int(part.places[row]), _watched(part, row)
    if begun.all():
        return
    if begun.any():
        left = np.flatnonzero(~begun)
        part, minimum = part.only(left), only(minimum, left)
    least, length = scan.least_history(part.series.prior), part.length
    counts = counts_up_to(length - 1, least)
    levels = estimate_beside(part.rows(part.series.points), counts)
    quiet_until, looks = _quiet_until(part, levels, least)
    if part.series.prior.degrees > 0.0:
        means = part.rows(part.series.means)
        creeping = crosses(means, estimate_beside(means, counts), part.prior, part.rows(part.series.speaks))
        quiet_until[creeping] = 0
        looks = {row: found for row, found in looks.items() if not creeping[row]}
    every = np.arange(len(part.places))
    found = _newest_splits(part, levels)
    lags = len(found.last) // len(every)
    best = part.rows(found.excess).argmax(axis=1) + lags * every
    quiet = (quiet_until == length) & (found.excess[best] < -_NEAR)
    quiet &= ~part.rows(scan.as_far_as_one(found, _NEAR)).any(axis=1)
    quiet &= ~part.rows(is_doubled(levels, found.split, every.repeat(lags), len(every))).any(axis=1)
    for row in np.flatnonzero(~quiet).tolist():
        each = len(levels.counts) // len(every)
        known = scan.Walk(
            int(quiet_until[row]),
            [],
            0,
            only(part.prior, (row, 0)),
            [only(levels, slice(row * each, (row + 1) * each))],
            0,
        )
        yield int(part.places[row]), _watched(part, row, known, looks.get(row))
    if quiet.any():
        rows = np.flatnonzero(quiet)
        seen = [one[rows] for one in smallest_steps(part.series, 0, found, minimum)]
        judgements = _judgements(part.only(rows), only(found, best[rows]), seen, only(minimum, rows))
        yield from zip(part.places[rows].tolist(), judgements, strict=True)


def _weigh(part: Beside, levels: Levels, splits: tuple[Integers, Integers], *, at_best: bool = False) -> Candidates:
    of_each = only(part.prior, (splits[0] // part.length, 0))
    return weigh(Plateau(part.series, 0, of_each, levels), splits, at_best=at_best)


def _newest_splits(part: Beside, levels: Levels) -> Candidates:
    """All splits of each series up to its last point, at best; as they are where they may be best or are asked for."""
    last, lag = every_lag(levels, part.length - 1)
    rows = np.arange(len(part.places)).repeat(len(lag))
    splits = last[0] + part.length * rows, np.tile(lag, len(part.places))
    at_best = part.series.prior.degrees == 0.0
    found = _weigh(part, levels, splits, at_best=at_best)
    if at_best:
        best = part.rows(found.excess).argmax(axis=1) + len(lag) * np.arange(len(part.places))
        asked = np.union1d(best, asked_about(part.series, 0, found)[0])
        _weigh_in_full(part, levels, found, asked)
        likely = found.excess >= found.excess[best].repeat(len(lag)) - _NEAR
        likely[asked] = False
        _weigh_in_full(part, levels, found, np.flatnonzero(likely))
    return found


def _weigh_in_full(part: Beside, levels: Levels, found: Candidates, which: Integers) -> None:
    """Of what was *found* at best, some of the splits as they are."""
    if not len(which):
        return
    full = _weigh(part, levels, (found.last[which], found.split.after[which].astype(np.int64)))
    found.excess[which] = full.excess
    for there, now in ((found.split, full.split), (found.weight, full.weight)):
        for name in there.__struct_fields__:
            getattr(there, name)[which] = getattr(now, name)


def _quiet_until(part: Beside, levels: Levels, least: int) -> tuple[Integers, dict[int, Candidates]]:
    """Of each series the first point up to which a split is near its threshold, else its length; and those splits."""
    length = part.length
    last, lag = candidates(Plateau(part.series, 0, part.prior, levels), (least, length))
    until, looks = np.full(len(part.places), length), dict[int, Candidates]()
    row, few = last // length, _FIRST_SPLITS
    while len(last):  # of each series the earliest splits are weighed first
        number = np.arange(len(row)) - row.searchsorted(row)
        near, later = np.flatnonzero(number < few), last[number >= few]
        if part.series.prior.degrees == 0.0:
            near = near[_near(part, levels, last[near], lag[near], at_best=True)[0]]
        if len(near):
            is_near, found = _near(part, levels, last[near], lag[near], at_best=False)
            near = near[is_near]
            np.minimum.at(until, row[near], last[near] % length)
            for one in np.unique(row[near]).tolist():
                there = one * length + until[one]
                if there not in later:
                    look = only(found, np.flatnonzero(is_near & (found.last == there)))
                    looks[one] = msgspec.structs.replace(look, last=look.last % length)
        left = (number >= few) & (until[row] == length)
        last, lag, row, few = last[left], lag[left], row[left], 4 * few
    return until, looks


def _near(part: Beside, levels: Levels, last: Integers, lag: Integers, *, at_best: bool) -> tuple[Flags, Candidates]:
    """Which of the splits come near their threshold; *at_best* they may, see :func:`.splits.weigh`. And all of them."""
    row = last // part.length
    found = _weigh(part, levels, (last, lag), at_best=at_best)
    return (found.excess >= -_NEAR) | is_doubled(levels, found.split, row, len(part.places)), found


def _watched(part: Beside, row: int, known: scan.Walk | None = None, looks: Candidates | None = None) -> Watched:
    """What is seen along one of the series, of which the beginning is *known*, and how what follows *looks*."""
    prior, index = only(part.prior, (row, 0)), part.index[row]
    series = dataclasses.replace(part.series.part(lambda array: part.rows(array)[row]), prior=prior, beside=1)
    return Watched(series, index, float(part.scales[row]), scan.walk(series, known, looks), (series, index))


def _judgements(
    every: Beside, found: Candidates, smallest: Sequence[Floats | Integers], minimum: Minimum
) -> Iterator[Judgement]:
    """The verdict on each of some series in which nothing shows: of which *found* is the split that looks most like it.

    *smallest* see :func:`.changes.smallest_steps`.
    """
    split = found.split
    first = every.length - split.after.astype(np.int64)
    old = np.empty(len(first))
    for count in np.unique(first):
        of = first == count
        old[of] = levels_of(every.rows(every.series.points)[of, :count])
    more = _more(every, found, old, minimum)
    runs = np.hstack([np.zeros((len(old), 1)), every.rows(every.series.runs).cumsum(axis=1)])
    before = runs[np.arange(len(first)), first]
    wide, p_values = reach(found.weight), chance_of_none(found.excess)
    of_runs = before.astype(int), (runs[:, -1] - before).astype(int)
    columns = [split.shift, wide, old, every.scales, p_values, *of_runs, more, *smallest]
    rows = zip(*[one.tolist() for one in columns], strict=True)
    for shift, far, level, scale, p_value, before_it, after_it, again, step, versions in rows:
        seen = sight(step * scale, versions, FEWEST_BLOCKS)  # of each of the series so many versions could be new
        yield no_change(shift, far, level, scale, p_value, (before_it, after_it), again, seen)


def _more(every: Beside, newest: Candidates, old: Floats, minimum: Minimum) -> Integers:
    asked = np.flatnonzero(doubtful(newest.excess, old, newest.split.shift, minimum))
    more = np.zeros(len(old), dtype=np.int64)
    for start in range(0, len(asked), _RERUNS_AT_ONCE):
        these = asked[start : start + _RERUNS_AT_ONCE]
        more[these] = reruns(only(newest.split, these[:, None]), every.length, 0, only(every.prior, these))
    return more


class Beside(msgspec.Struct, frozen=True):
    places: Integers  # of each among all that were asked about
    series: TimeSeries  # one behind the other
    prior: Prior  # that of each, numbers of shape (series, 1)
    scales: Floats  # what the values of each were divided by
    index: Integers  # of the points of each in its values, shape (series, n)

    @property
    def length(self) -> int:
        return len(self.series.points) // len(self.places)

    def rows(self, numbers: npt.NDArray[S]) -> npt.NDArray[S]:
        """Shape (series, n)."""
        return numbers.reshape(len(self.places), -1)

    def only(self, rows: Integers) -> Beside:
        series = dataclasses.replace(self.series.part(lambda array: self.rows(array)[rows].ravel()), beside=len(rows))
        return Beside(self.places[rows], series, only(self.prior, rows), self.scales[rows], self.index[rows])


def side_by_side(
    values: Iterable[Values],
    blocks: Iterable[Blocks | None],
    points: int | None,
    found: dict[int, Judgement | Watched],
) -> Iterator[Beside]:
    """Some series of one length at a time; what is seen along those that are too short or too long is *found* first."""
    groups: dict[tuple[int, int, bool], list[tuple[int, TimeSeries, float, Integers]]] = {}
    alone: dict[int, list[tuple[int, bytes, tuple[Flags, Integers] | None]]] = {}
    known: dict[int, tuple[Blocks, tuple[Flags, Integers]]] = {}  # series of the same runs share their blocks
    fewest = _least(Prior())
    for place, (one, of) in enumerate(zip(values, blocks, strict=True)):
        if len(one) > LONGEST_TOGETHER:
            found[place] = watch(one, points, of)
            continue
        single = single_runs(one)
        if single is not None and len(single) >= fewest:
            if of is not None and id(of) not in known:
                known[id(of)] = of, campaigns(of)
            told = None if of is None else known[id(of)][1]
            alone.setdefault(len(single), []).append((place, single.tobytes(), told))
            continue
        series, index, scale = prepare(one, of)
        if len(series.points) < _least(series.prior):
            found[place] = Watched(series, index, scale, scan.walk(series), (series, index))
        else:
            group = groups.setdefault((len(series.points), _least(series.prior), bool(series.prior.degrees > 0.0)), [])
            group.append((place, series, scale, index))
    for length, singles in alone.items():
        for some in _some(singles, length, fewest):
            yield _of_single_runs(*zip(*some, strict=True))
    for (length, least, _), several in groups.items():
        for those in _some(several, length, least):
            yield _of_prepared(*zip(*those, strict=True))


def _least(prior: Prior) -> int:
    """So many points a series needs to be judged."""
    return scan.least_history(prior) + 2


def _some(series: Sequence[T], length: int, least: int) -> Iterator[Sequence[T]]:
    """So many series at a time; each is estimated from so many of its points, from those before its first split on."""
    few = max(_AT_ONCE // (len(counts_up_to(length - 1, least - 2)) * length), 1)
    return (series[start : start + few] for start in range(0, len(series), few))


def _of_single_runs(
    places: Sequence[int], values: Sequence[bytes], fresh: Sequence[tuple[Flags, Integers] | None]
) -> Beside:
    points = np.frombuffer(b"".join(values)).reshape(len(places), -1).copy()
    first = np.sort(np.abs(points[:, :LEAST]))
    scales = np.ldexp(1.0, np.frexp(first[:, LEAST // 2])[1] - 1)
    for begun in np.flatnonzero(first[:, 0] == 0.0):
        scales[begun] = scale_of(points[begun])
    points = held(points, scales[:, None])
    flat, ones, nothing = points.ravel(), np.ones(points.size), np.zeros((len(places), 1))
    own, stretches = np.ones(points.shape), np.arange(points.size).reshape(points.shape)
    for row, of in enumerate(fresh):
        if of is not None:
            own[row], stretches[row] = of[0], of[1] + row * points.shape[1]
    empty = np.zeros(points.size)
    variance = precision(ones, stretches.ravel())
    series = TimeSeries(flat, ones, variance, Prior(), ones, own.ravel(), empty, stretches.ravel(), flat, len(places))
    index = np.broadcast_to(np.arange(points.shape[1]), points.shape)
    return Beside(np.array(places), series, Prior(nothing, nothing, nothing), scales, index)


def _of_prepared(
    places: Sequence[int], several: Sequence[TimeSeries], scales: Sequence[float], index: Sequence[Integers]
) -> Beside:
    arrays = {name: np.concatenate([getattr(one, name) for one in several]) for name in ARRAYS}
    # None goes on from one series into the next.
    arrays["stretches"] += np.repeat(np.arange(len(several)) * len(several[0].points), len(several[0].points))
    priors = [[[getattr(one.prior, name)] for one in several] for name in Prior.__struct_fields__]
    series = TimeSeries(**arrays, prior=several[0].prior, beside=len(several))
    return Beside(np.array(places), series, Prior(*map(np.array, priors)), np.array(scales), np.array(index))


# Up to so many points are inserted, of which numpy adds a row in one go; few counts beyond are asked about.
_INSERTED = 128
_LANES = 8  # in so many running sums numpy adds a row


def estimate_beside(points: Floats, counts: Integers) -> Levels:
    """What `estimate` gives of the same *points*, shape (series, n), to the last digit; the first of *counts* is small.

    The first points of all are kept in order by inserting one row after the other, so that nothing is sorted anew.
    """
    few = counts[counts <= _INSERTED]
    inserted = _inserted(np.ascontiguousarray(points[:, :_INSERTED].T), few)
    first = Levels(np.tile(few, len(points)), *[row.T.ravel() for row in inserted])
    return first if len(few) == len(counts) else behind([first, estimate(points, counts[len(few) :])], len(points))


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
