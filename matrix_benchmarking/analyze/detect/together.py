"""Many series at once: those in which nothing shows are judged as arrays over series, at a tenth of the time.

Where anything comes near a threshold of the walk, the series is left to be gone along by itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import numpy as np

from . import scan
from .changes import Minimum, asked_about, levels_of, reach, smallest_steps
from .cumulative import crosses
from .early import first_levels
from .evidence import Flags, Floats, Integers, only
from .judge import MINIMUM, Judgement, chance_of_none, doubtful, judge_watched, no_change, reruns, sight
from .levels import Levels, counts_up_to
from .scan import Watched
from .series import Blocks, Values
from .side_by_side import Beside, estimate_beside, side_by_side
from .splits import FEWEST_BLOCKS, Candidates, Plateau, candidates, every_lag, is_doubled, weigh

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
