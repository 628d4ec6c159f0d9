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
    judge,
    no_change,
    reruns,
    sight,
)
from matrix_benchmarking.analyze.detect.judgement import Judgement
from matrix_benchmarking.analyze.detect.levels import Integers, Levels, counts_up_to, estimate
from matrix_benchmarking.analyze.detect.logarithms import is_doubled
from matrix_benchmarking.analyze.detect.series import Blocks, Values, precision, prepare, single_runs
from matrix_benchmarking.analyze.detect.smallest import smallest_steps
from matrix_benchmarking.analyze.detect.splits import ARRAYS, Series, candidates, every_lag, weigh

T = TypeVar("T", Split, Weighed)
S = TypeVar("S", np.float64, np.bool_)

_AT_ONCE = 2_000_000
"""So many numbers an array of estimates may have: 16 megabytes, of which a handful are held at a time."""
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
    """

    places: Integers
    series: Series
    prior: Prior
    scales: Floats

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
        for start in range(0, len(self.places), few):
            yield self.only(np.arange(start, min(start + few, len(self.places))))

    def only(self, rows: Integers) -> _Beside:
        arrays = {name: self.rows(getattr(self.series, name))[rows].ravel() for name in ARRAYS}
        series = Series(**arrays, prior=self.series.prior, beside=len(rows))
        return _Beside(self.places[rows], series, _of(self.prior, rows), self.scales[rows])


@dataclasses.dataclass(frozen=True, slots=True)
class _Newest:
    """Of each series the split that looks most like a change now, and what it weighs: numbers of shape (series,).

    And the smallest step that would have been seen, and for how many versions: see :func:`.smallest.smallest_steps`.
    """

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
    blocks = [None] * len(values) if blocks is None else blocks
    found = unchanged(values, [minimum] * len(values), blocks=blocks, confidence=confidence)
    return [
        quiet
        or judge(
            one,
            lower_is_better=lower_is_better,
            minimum_effect=minimum_effect,
            minimum_effect_absolute=minimum_effect_absolute,
            confidence=confidence,
            blocks=of,
        )
        for quiet, one, of in zip(found, values, blocks, strict=True)
    ]


def unchanged(
    values: Iterable[Values],
    minima: Sequence[Minimum],
    *,
    blocks: Iterable[Blocks | None] | None = None,
    confidence: float = CONFIDENCE,
) -> list[Judgement | None]:
    """What `judge` says of each of the series in which nothing shows; None for those to be gone along one by one.

    Args:
        values: of each series as those of `judge`.
        minima: the smallest effect that counts, of each series, in the values' unit.
        blocks: of each series.
        confidence: of the intervals.
    """
    found: list[Judgement | None] = [None] * len(minima)
    for every in _side_by_side(values, [None] * len(minima) if blocks is None else blocks):
        quiet, newest = zip(*[_looked_at(part, _minimum(part, minima)) for part in every.parts()], strict=True)
        chosen = every.only(np.flatnonzero(np.concatenate(quiet)))
        if not len(chosen.places):
            continue
        judgements = _judgements(chosen, _joined(newest), _minimum(chosen, minima), confidence)
        for place, judgement in zip(chosen.places, judgements, strict=True):
            found[place] = judgement
    return found


def _side_by_side(values: Iterable[Values], blocks: Iterable[Blocks | None]) -> Iterator[_Beside]:
    """The series of each length that is long enough to be judged, and not too long to lie beside others."""
    groups: dict[tuple[int, bool], list[tuple[int, Series, float]]] = {}
    alone: dict[int, list[tuple[int, bytes, tuple[Flags, Integers] | None]]] = {}
    for place, (one, of) in enumerate(zip(values, blocks, strict=True)):
        if len(one) > LONGEST_TOGETHER:
            continue
        single = single_runs(one)
        if single is not None:
            alone.setdefault(len(single), []).append((place, single.tobytes(), None if of is None else _fresh(of)))
        else:
            series, _, scale = prepare(one, of)
            groups.setdefault((len(series.points), series.prior.degrees > 0.0), []).append((place, series, scale))
    for length, found in alone.items():
        if length >= scan.least_history(Prior()) + 2:
            for some in _some(found, length):
                yield _of_single_runs(*zip(*some, strict=True))
    for (length, _), several in groups.items():
        if length >= scan.least_history(several[0][1].prior) + 2:
            for those in _some(several, length):
                yield _of_prepared(*zip(*those, strict=True))


def _some(series: Sequence[Any], length: int) -> Iterator[Sequence[Any]]:
    """So many series at a time that the arrays over them stay below a hundred megabytes."""
    few = max(_POINTS_AT_ONCE // length, 1)
    return (series[start : start + few] for start in range(0, len(series), few))


def _fresh(blocks: Blocks) -> tuple[Flags, Integers]:
    """Of each single run whether the one before it is of another campaign, and its stretch."""
    campaigns = np.array([version[0][0] for version in blocks])
    in_turn = np.array([(version[0][1] or 0) < 0 for version in blocks], dtype=bool)
    fresh = np.ones(len(blocks), dtype=bool)
    fresh[1:] = campaigns[1:] != campaigns[:-1]
    begins = fresh | ~in_turn
    begins[1:] |= ~in_turn[:-1]
    return fresh, np.maximum.accumulate(np.where(begins, np.arange(len(blocks)), 0))


def _of_single_runs(
    places: Sequence[int], values: Sequence[bytes], fresh: Sequence[tuple[Flags, Integers] | None]
) -> _Beside:
    """Series of one run a version, without gaps."""
    points = np.frombuffer(b"".join(values)).reshape(len(places), -1).copy()
    largest = np.abs(points).max(axis=1)
    scales = np.where(largest > 0.0, np.ldexp(1.0, np.frexp(largest)[1] - 1), 1.0)
    points /= scales[:, None]
    flat, ones, nothing = points.ravel(), np.ones(points.size), np.zeros((len(places), 1))
    own, stretches = np.ones(points.shape), np.arange(points.size).reshape(points.shape)
    for row, of in enumerate(fresh):
        if of is not None:
            own[row], stretches[row] = of[0], of[1] + row * points.shape[1]
    empty = np.zeros(points.size)
    variance = precision(ones, stretches.ravel())
    series = Series(flat, ones, variance, Prior(), ones, own.ravel(), empty, stretches.ravel(), flat, len(places))
    return _Beside(np.array(places), series, Prior(nothing, nothing, nothing), scales)


def _of_prepared(places: Sequence[int], several: Sequence[Series], scales: Sequence[float]) -> _Beside:
    arrays = {name: np.concatenate([getattr(one, name) for one in several]) for name in ARRAYS}
    arrays["stretches"] = _apart([one.stretches for one in several])
    priors = [[[getattr(one.prior, name)] for one in several] for name in Prior.__dataclass_fields__]
    series = Series(**arrays, prior=several[0].prior, beside=len(several))
    return _Beside(np.array(places), series, Prior(*map(np.array, priors)), np.array(scales))


def _apart(stretches: Sequence[Integers]) -> Integers:
    """Those of series of one length, one behind the other: none goes on from one series into the next."""
    return np.concatenate([each + place * len(each) for place, each in enumerate(stretches)])


def _looked_at(part: _Beside, minimum: Minimum) -> tuple[Flags, _Newest]:
    """In which of the series nothing shows, and how their newest points look."""
    least = scan.least_history(part.series.prior)
    levels = estimate(part.rows(part.series.points), counts_up_to(part.length - 1, least))
    quiet = ~_alarmed(part, levels, least)
    if part.series.prior.degrees > 0.0:
        means = part.rows(part.series.means)
        quiet &= ~crosses(means, estimate(means, counts_up_to(part.length - 1, least)), part.prior)
    last, lag = every_lag(levels, part.length - 1)
    ends = np.repeat(last[0] + part.length * np.arange(len(quiet)), len(lag))
    rows = np.repeat(np.arange(len(quiet)), len(lag))
    found = weigh(part.series, 0, levels, (ends, np.tile(lag, len(quiet))), _each(part.prior, rows))
    best = part.rows(found.excess).argmax(axis=1) + len(lag) * np.arange(len(quiet))
    quiet &= found.excess[best] < -_NEAR
    quiet &= ~part.rows(is_doubled(levels, found.split, rows, len(quiet))).any(axis=1)
    best = best[quiet]
    steps, versions = smallest_steps(part.series, 0, found, minimum)
    split, weighed = _only(found.split, best), _only(found.weighed, best)
    return quiet, _Newest(split, weighed, found.excess[best], steps[quiet], versions[quiet])


def _alarmed(part: _Beside, levels: Levels, least: int) -> Flags:
    """In which of the series a split is over its threshold; of each the earliest splits are weighed first."""
    last, lag = candidates(part.series, 0, levels, (least, part.length), part.prior)
    alarmed = np.zeros(len(part.places), dtype=bool)
    row = last // part.length
    few = _FIRST_SPLITS
    while len(last):
        number = np.arange(len(row)) - row.searchsorted(row)
        now = number < few
        found = weigh(part.series, 0, levels, (last[now], lag[now]), _each(part.prior, row[now]))
        alarmed[row[now][(found.excess >= -_NEAR) | is_doubled(levels, found.split, row[now], len(part.places))]] = True
        left = ~now & ~alarmed[row]
        last, lag, row, few = last[left], lag[left], row[left], 4 * few
    return alarmed


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
    return _Newest(
        _behind([part.split for part in parts]),
        _behind([part.weighed for part in parts]),
        *[np.concatenate([getattr(part, name) for part in parts]) for name in ("excess", "steps", "versions")],
    )


def _behind(parts: Sequence[T]) -> T:
    """One behind the other."""
    names = parts[0].__dataclass_fields__
    return type(parts[0])(*[np.concatenate([getattr(part, name) for part in parts]) for name in names])
