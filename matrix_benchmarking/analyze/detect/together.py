"""Many series at once: those in which nothing shows are judged as arrays over series, at a tenth of the time.

In most series of a history nothing happens. What says so, the walk's own formulas, is evaluated for all series of one
length beside each other; where anything comes near its threshold, the series is left to be gone along by itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from matrix_benchmarking.analyze.detect import scan
from matrix_benchmarking.analyze.detect.changes import Minimum, levels_of
from matrix_benchmarking.analyze.detect.cumulative import crosses
from matrix_benchmarking.analyze.detect.effects import CONFIDENCE, check_confidence, checked, reach
from matrix_benchmarking.analyze.detect.evidence import Flags, Floats, Prior, Split, Weighed
from matrix_benchmarking.analyze.detect.judge import (
    MINIMUM_EFFECT,
    chance_of_none,
    doubtful,
    judge_watched,
    no_change,
    reruns,
    sight,
)
from matrix_benchmarking.analyze.detect.judgement import Judgement
from matrix_benchmarking.analyze.detect.levels import LEAST, Integers, Levels, counts_up_to
from matrix_benchmarking.analyze.detect.logarithms import is_doubled
from matrix_benchmarking.analyze.detect.running import estimate_beside
from matrix_benchmarking.analyze.detect.series import (
    Blocks,
    Values,
    campaigns,
    held,
    precision,
    prepare,
    scale_of,
    single_runs,
)
from matrix_benchmarking.analyze.detect.smallest import asked_about, smallest_steps
from matrix_benchmarking.analyze.detect.splits import ARRAYS, Evidence, Series, candidates, every_lag, weigh
from matrix_benchmarking.analyze.detect.watched import Watched, watch

T = TypeVar("T", Split, Weighed)
S = TypeVar("S", np.float64, np.bool_)

_AT_ONCE = 7_000_000
"""So many points estimates may be of at a time: with fewer, numpy's calls cost more than what they compute."""
LONGEST_TOGETHER = 1000
"""A series of more points has arrays of its own that are long enough."""
_FIRST_SPLITS = 32
_RERUNS_AT_ONCE = 256
_POINTS_AT_ONCE = 1_000_000
_NEAR = 1e-6
"""What lies so little below a threshold may be above it by the rounding of another order of sums."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Beside:
    """Series of one length beside each other.

    Attributes:
        places: of each among all that were asked about.
        series: one behind the other.
        prior: that of each, numbers of shape (series, 1).
        scales: what the values of each were divided by.
        index: of the points of each in its values, shape (series, n).
    """

    places: Integers
    series: Series
    prior: Prior
    scales: Floats
    index: Integers

    @property
    def length(self) -> int:
        return len(self.series.points) // len(self.places)

    def rows(self, numbers: npt.NDArray[S]) -> npt.NDArray[S]:
        """Shape (series, n)."""
        return numbers.reshape(len(self.places), -1)

    def parts(self) -> Iterator[_Beside]:
        """A part of the series at a time, of which what is estimated fits into little memory."""
        counts = counts_up_to(self.length - 1, scan.least_history(self.series.prior))
        few = max(_AT_ONCE // (len(counts) * self.length), 1)
        if few >= len(self.places):
            yield self
            return
        for start in range(0, len(self.places), few):
            yield self.only(np.arange(start, min(start + few, len(self.places))))

    def only(self, rows: Integers) -> _Beside:
        arrays = {name: self.rows(getattr(self.series, name))[rows].ravel() for name in ARRAYS}
        series = Series(**arrays, prior=self.series.prior, beside=len(rows))
        return _Beside(self.places[rows], series, _of(self.prior, rows), self.scales[rows], self.index[rows])


@dataclasses.dataclass(frozen=True, slots=True)
class _Newest:
    """Of each of the series at *places* the split that looks most like a change now, and what it weighs: all (series,).

    And the smallest step that would have been seen, and for how many versions: see :func:`.smallest.smallest_steps`.
    """

    places: Integers
    split: Split
    weighed: Weighed
    excess: Floats
    steps: Floats
    versions: Integers


def judge_all(
    values: Sequence[Values],
    *,
    lower_is_better: bool | None = None,
    minimum_effect: float = MINIMUM_EFFECT,
    minimum_effect_absolute: float = 0.0,
    confidence: float = CONFIDENCE,
    blocks: Sequence[Blocks | None] | None = None,
) -> list[Judgement]:
    """The verdict on each of many series: what `judge` says of it, ten times as fast where most of them are quiet.

    Args:
        values, blocks: of each series as those of `judge`, and so are the others.

    Raises:
        InvalidThresholdError: a minimum effect is negative or not a number, the confidence isn't between 0 and 1.
    """
    minimum = checked(minimum_effect, minimum_effect_absolute)
    check_confidence(confidence)
    found = watched_together(values, [minimum] * len(values), blocks=blocks, confidence=confidence)
    return [
        seen
        if isinstance(seen, Judgement)
        else judge_watched(
            seen,
            lower_is_better=lower_is_better,
            minimum_effect=minimum_effect,
            minimum_effect_absolute=minimum_effect_absolute,
            confidence=confidence,
        )
        for seen in found
    ]


def watched_together(
    values: Iterable[Values],
    minima: Sequence[Minimum],
    *,
    blocks: Iterable[Blocks | None] | None = None,
    confidence: float = CONFIDENCE,
    points: int | None = None,
) -> list[Judgement | Watched]:
    """What `judge` says of each of the series in which nothing shows, and what `watch` sees along the others.

    Args:
        values: of each series as those of `judge`.
        minima: the smallest effect that counts, of each series, in the values' unit.
        blocks: of each series.
        confidence: of the intervals.
        points: so many of a series that is too long to lie beside others; all unless given.
    """
    found: dict[int, Judgement | Watched] = {}
    for every in _side_by_side(values, [None] * len(minima) if blocks is None else blocks, points, found):
        looks = [_looked_at(part, _minimum(part, minima)) for part in every.parts()]
        found.update(each for _, others in looks for each in others.items())
        newest = _joined([one for one, _ in looks])
        if len(newest.places):
            chosen = every.only(np.flatnonzero(np.isin(every.places, newest.places)))
            judgements = _judgements(chosen, newest, _minimum(chosen, minima), confidence)
            found.update(zip(newest.places.tolist(), judgements, strict=True))
    return [found[place] for place in range(len(minima))]


def _side_by_side(
    values: Iterable[Values],
    blocks: Iterable[Blocks | None],
    points: int | None,
    found: dict[int, Judgement | Watched],
) -> Iterator[_Beside]:
    """The series of each length; what is seen along those that are too short or too long for it is *found* at once."""
    groups: dict[tuple[int, bool], list[tuple[int, Series, float, Integers]]] = {}
    alone: dict[int, list[tuple[int, bytes, tuple[Flags, Integers] | None]]] = {}
    known: dict[int, tuple[Blocks, tuple[Flags, Integers]]] = {}  # series of the same runs share their blocks
    least = _least(Prior())
    for place, (one, of) in enumerate(zip(values, blocks, strict=True)):
        if len(one) > LONGEST_TOGETHER:
            found[place] = watch(one, points, of)
            continue
        single = single_runs(one)
        if single is not None and len(single) >= least:
            if of is not None and id(of) not in known:
                known[id(of)] = of, campaigns(of)
            told = None if of is None else known[id(of)][1]
            alone.setdefault(len(single), []).append((place, single.tobytes(), told))
            continue
        series, index, scale = prepare(one, of)
        if len(series.points) < _least(series.prior):
            found[place] = Watched(series, index, scale, scan.walk(series), (series, index))
        else:
            group = groups.setdefault((len(series.points), series.prior.degrees > 0.0), [])
            group.append((place, series, scale, index))
    for length, singles in alone.items():
        for some in _some(singles, length):
            yield _of_single_runs(*zip(*some, strict=True))
    for (length, _), several in groups.items():
        for those in _some(several, length):
            yield _of_prepared(*zip(*those, strict=True))


def _least(prior: Prior) -> int:
    """So many points a series needs to be judged."""
    return scan.least_history(prior) + 2


def _some(series: Sequence[Any], length: int) -> Iterator[Sequence[Any]]:
    """So many series at a time that the arrays over them stay below a hundred megabytes."""
    few = max(_POINTS_AT_ONCE // length, 1)
    return (series[start : start + few] for start in range(0, len(series), few))


def _of_single_runs(
    places: Sequence[int], values: Sequence[bytes], fresh: Sequence[tuple[Flags, Integers] | None]
) -> _Beside:
    """Series of one run a version, without gaps."""
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
    series = Series(flat, ones, variance, Prior(), ones, own.ravel(), empty, stretches.ravel(), flat, len(places))
    index = np.broadcast_to(np.arange(points.shape[1]), points.shape)
    return _Beside(np.array(places), series, Prior(nothing, nothing, nothing), scales, index)


def _of_prepared(
    places: Sequence[int], several: Sequence[Series], scales: Sequence[float], index: Sequence[Integers]
) -> _Beside:
    arrays = {name: np.concatenate([getattr(one, name) for one in several]) for name in ARRAYS}
    arrays["stretches"] = _apart([one.stretches for one in several])
    priors = [[[getattr(one.prior, name)] for one in several] for name in Prior.__dataclass_fields__]
    series = Series(**arrays, prior=several[0].prior, beside=len(several))
    return _Beside(np.array(places), series, Prior(*map(np.array, priors)), np.array(scales), np.array(index))


def _apart(stretches: Sequence[Integers]) -> Integers:
    """Those of series of one length, one behind the other: none goes on from one series into the next."""
    return np.concatenate([each + place * len(each) for place, each in enumerate(stretches)])


def _looked_at(part: _Beside, minimum: Minimum) -> tuple[_Newest, dict[int, Judgement | Watched]]:
    """How the newest points of the series look in which nothing shows, and what is seen along the others."""
    least = scan.least_history(part.series.prior)
    counts, length = counts_up_to(part.length - 1, least), part.length
    levels = estimate_beside(part.rows(part.series.points), counts)
    quiet_until = _quiet_until(part, levels, least)
    if part.series.prior.degrees > 0.0:
        means = part.rows(part.series.means)
        quiet_until[crosses(means, estimate_beside(means, counts), part.prior)] = 0
    every = np.arange(len(part.places))
    found = _newest_splits(part, levels)
    lags = len(found.last) // len(every)
    best = part.rows(found.excess).argmax(axis=1) + lags * every
    quiet = (quiet_until == length) & (found.excess[best] < -_NEAR)
    quiet &= ~part.rows(is_doubled(levels, found.split, every.repeat(lags), len(every))).any(axis=1)
    best = best[quiet]
    steps, versions = smallest_steps(part.series, 0, found, minimum)
    split, weighed = _only(found.split, best), _only(found.weighed, best)
    newest = _Newest(part.places[quiet], split, weighed, found.excess[best], steps[quiet], versions[quiet])
    others = np.flatnonzero(~quiet).tolist()
    return newest, {int(part.places[row]): _watched(part, row, levels, int(quiet_until[row])) for row in others}


def _newest_splits(part: _Beside, levels: Levels) -> Evidence:
    """All splits of each series up to its last point; in full only those that may look most like a change.

    And those with which a step is asked for. The others are as they are at best.
    """
    last, lag = every_lag(levels, part.length - 1)
    rows = np.arange(len(part.places)).repeat(len(lag))
    splits = last[0] + part.length * rows, np.tile(lag, len(part.places))
    at_best = part.series.prior.degrees == 0.0
    found = weigh(part.series, 0, levels, splits, _each(part.prior, rows), at_best=at_best)
    if at_best:
        best = part.rows(found.excess).argmax(axis=1) + len(lag) * np.arange(len(part.places))
        asked = np.union1d(best, asked_about(part.series, 0, found)[0])
        _weigh_in_full(part, levels, found, asked)
        likely = found.excess >= found.excess[best].repeat(len(lag)) - _NEAR
        likely[asked] = False
        _weigh_in_full(part, levels, found, np.flatnonzero(likely))
    return found


def _weigh_in_full(part: _Beside, levels: Levels, found: Evidence, which: Integers) -> None:
    """Of what was *found* at best, some of the splits as they are."""
    if not len(which):
        return
    splits = found.last[which], found.split.after[which].astype(np.int64)
    full = weigh(part.series, 0, levels, splits, _each(part.prior, splits[0] // part.length))
    found.excess[which] = full.excess
    for there, now in ((found.split, full.split), (found.weighed, full.weighed)):
        for name in there.__dataclass_fields__:
            getattr(there, name)[which] = getattr(now, name)


def _quiet_until(part: _Beside, levels: Levels, least: int) -> Integers:
    """Of each series the first point up to which a split is near its threshold; its length where none is."""
    length = part.length
    last, lag = candidates(part.series, 0, levels, (least, length), part.prior)
    until = np.full(len(part.places), length)
    row, few = last // length, _FIRST_SPLITS
    while len(last):  # of each series the earliest splits are weighed first
        number = np.arange(len(row)) - row.searchsorted(row)
        near = np.flatnonzero(number < few)
        for at_best in (True, False) if part.series.prior.degrees == 0.0 else (False,):
            if len(near):
                near = near[_is_near(part, levels, last[near], lag[near], at_best=at_best)]
        np.minimum.at(until, row[near], last[near] % length)
        left = (number >= few) & (until[row] == length)
        last, lag, row, few = last[left], lag[left], row[left], 4 * few
    return until


def _is_near(part: _Beside, levels: Levels, last: Integers, lag: Integers, *, at_best: bool) -> Flags:
    """Which of the splits come near their threshold; *at_best* they may, see :func:`.splits.weigh`."""
    row = last // part.length
    found = weigh(part.series, 0, levels, (last, lag), _each(part.prior, row), at_best=at_best)
    return (found.excess >= -_NEAR) | is_doubled(levels, found.split, row, len(part.places))


def _watched(part: _Beside, row: int, levels: Levels, quiet_until: int) -> Watched:
    """What is seen along one of the series, in which nothing shows up to the point *quiet_until*."""
    prior = Prior(*[float(getattr(part.prior, name)[row, 0]) for name in Prior.__dataclass_fields__])
    arrays = {name: part.rows(getattr(part.series, name))[row] for name in ARRAYS}
    series = Series(**arrays, prior=prior)
    each = len(levels.counts) // len(part.places)
    known = scan.Walk(quiet_until, [], 0, prior, [levels.part(slice(row * each, (row + 1) * each))])
    index = part.index[row]
    return Watched(series, index, float(part.scales[row]), scan.walk(series, known), (series, index))


def _judgements(every: _Beside, newest: _Newest, minimum: Minimum, confidence: float) -> Iterator[Judgement]:
    split, length = newest.split, every.length
    first = length - split.after.astype(np.int64)
    old = np.empty(len(first))
    for count in np.unique(first):
        of = first == count
        old[of] = levels_of(every.rows(every.series.points)[of, :count])
    more = _more(every, newest, old, minimum)
    runs = np.hstack([np.zeros((len(old), 1)), every.rows(every.series.runs).cumsum(axis=1)])
    before = runs[np.arange(len(first)), first]
    wide, p_values = reach(newest.weighed, confidence), chance_of_none(newest.excess)
    of_runs = before.astype(int), (runs[:, -1] - before).astype(int)
    columns = [split.shift, wide, old, every.scales, p_values, *of_runs, more]
    count = length - scan.least_history(every.series.prior)
    sights = [
        sight(*each, count)
        for each in zip((newest.steps * every.scales).tolist(), newest.versions.tolist(), strict=True)
    ]
    for (shift, far, level, scale, p_value, early, late, again), seen in zip(
        zip(*[one.tolist() for one in columns], strict=True), sights, strict=True
    ):
        yield no_change(shift, far, level, scale, p_value, (early, late), again, seen)


def _more(every: _Beside, newest: _Newest, old: Floats, minimum: Minimum) -> Integers:
    """Of each series how many more runs would raise the alarm; 0 where none would, or there is no doubt."""
    asked = np.flatnonzero(doubtful(newest.excess, old, newest.split.shift, minimum))
    more = np.zeros(len(old), dtype=np.int64)
    for start in range(0, len(asked), _RERUNS_AT_ONCE):
        these = asked[start : start + _RERUNS_AT_ONCE]
        more[these] = reruns(_only(newest.split, these[:, None]), every.length, 0, _of(every.prior, these))
    return more


def _minimum(part: _Beside, minima: Sequence[Minimum]) -> Minimum:
    """The smallest effects that count, of all *minima* those of its series, in the unit of their points."""
    relative, absolute = (
        np.array([getattr(minima[place], name) for place in part.places]) for name in ("relative", "absolute")
    )
    return Minimum(relative, absolute / part.scales)


def _of(prior: Prior, rows: Integers) -> Prior:
    """That of some of the series."""
    return Prior(*[getattr(prior, name)[rows] for name in Prior.__dataclass_fields__])


def _each(prior: Prior, rows: Integers) -> Prior:
    """That of the series of each split."""
    return Prior(*[getattr(prior, name)[rows, 0] for name in Prior.__dataclass_fields__])


def _only(numbers: T, which: Integers) -> T:
    return type(numbers)(*[getattr(numbers, name)[which] for name in numbers.__dataclass_fields__])


def _joined(parts: Sequence[_Newest]) -> _Newest:
    places, *others = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("places", "excess", "steps", "versions")
    )
    return _Newest(places, _behind([part.split for part in parts]), _behind([part.weighed for part in parts]), *others)


def _behind(parts: Sequence[T]) -> T:
    """One behind the other."""
    names = parts[0].__dataclass_fields__
    return type(parts[0])(*[np.concatenate([getattr(part, name) for part in parts]) for name in names])
