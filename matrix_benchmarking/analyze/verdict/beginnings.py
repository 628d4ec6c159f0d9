"""With which version the changes of several series began: one commit moves many, and each alone is unsure of it."""

from __future__ import annotations

import collections
import math
from collections.abc import Collection, Iterator, Sequence

import msgspec
import numpy as np

from ...grouped import grouped
from ..detect import Change
from .alarms import NEARBY, alarm_id
from .levels import LEAST_NOISE, JudgedSeries, middles, noise_of

# Twice the logarithm of how much less likely another beginning may be: by itself, and more where more begin with it.
_LIKELY, _MORE_WITH_OTHERS, _MOST = 4.0, 2.0, 10.0
_MOST_OF_ONE = 16.0  # so much says one point at most: it may be disturbed
_AROUND = 40  # points on both sides, by which the noise goes


class _Beginning(msgspec.Struct, frozen=True):
    """With which versions a change can have begun, and how much less likely that is than where it was seen to."""

    unlikely: dict[str, float]  # by the key of the version, as twice the logarithm of a ratio
    places: dict[str, int]

    @property
    def likely(self) -> list[str]:
        return [key for key, much in self.unlikely.items() if much <= _LIKELY]


def begun_together(series: Sequence[JudgedSeries], raised: Collection[str]) -> list[JudgedSeries]:
    """*series*, in which changes that can have begun with one version do so: with that of most, the likeliest of all.

    Alarms that were *raised*, by their ids, stay with their version.
    """
    waiting = {(row, at): each for row, one in enumerate(series) for at, each in _beginnings(one, raised)}
    chosen = {which: place for which, one in waiting.items() if len(one.places) == 1 for place in one.places.values()}
    counts, total = collections.Counter[str](), collections.Counter[str]()
    for one in waiting.values():
        counts.update(one.likely)
        total.update(one.unlikely)
    at = grouped((key, which) for which, one in waiting.items() for key in one.places)
    while counts and (begin := min(counts, key=lambda key: (-counts[key], total[key]))) and counts[begin] > 1:
        most = min(_LIKELY + _MORE_WITH_OTHERS * math.log(counts[begin]), _MOST)
        for which in at.pop(begin):
            if which in waiting and waiting[which].unlikely[begin] <= most:
                one = waiting.pop(which)
                chosen[which] = one.places[begin]
                counts.subtract(one.likely)
                total.subtract(one.unlikely)
        del counts[begin]
    return [_moved(one, row, chosen) for row, one in enumerate(series)]


def _beginnings(one: JudgedSeries, raised: Collection[str]) -> Iterator[tuple[int, _Beginning]]:
    """Those of the steps of one series, with the place of the change: not of drifts, nor of what was taken back."""
    keys, values = one.series.keys, one.series.values if one.changes else []
    referred = {change.takes_back for change in one.changes} | {change.drifts_from for change in one.changes}
    for at, change in enumerate(one.changes):
        if change.first in referred or change.takes_back is not None or change.drifts_from is not None:
            continue
        begin = one.changes[at - 1].first + 1 if at else 1
        end = one.changes[at + 1].first if at + 1 < len(one.changes) else len(values)
        first, last = max(change.first - NEARBY, begin), min(change.first + NEARBY, change.seen, end - 1)
        if change.last_before != change.first - 1 or not first <= change.first <= last:
            continue
        places = {keys[place]: place for place in range(first, last + 1)}
        stays = {key: place for key, place in places.items() if alarm_id(one.series.id, key) in raised}
        if stays:
            yield at, _Beginning(dict.fromkeys(stays, 0.0), stays)
        else:
            unlikely = _unlikely(values, change, first, last, begin, end)
            yield at, _Beginning(dict(zip(places, unlikely, strict=True)), places)


def _unlikely(
    values: Sequence[Sequence[float]], change: Change, first: int, last: int, begin: int, end: int
) -> list[float]:
    """How much less likely the *change* began at each place from *first* to *last* than where it was seen to."""
    start = max(begin - 1, change.first - _AROUND)
    points, unit = middles(values, start, min(end, change.first + _AROUND))
    old, new = change.old_level / unit, change.new_level / unit
    noise = max(noise_of(points), LEAST_NOISE * abs(new - old)) or 1.0  # of equal levels no place is likelier
    said = np.clip(((points - new) ** 2 - (points - old) ** 2) / noise**2, -_MOST_OF_ONE, _MOST_OF_ONE)  # for the old
    for_old = np.concatenate([[0.0], said.cumsum()])
    seen = for_old[change.first - start]
    return [float(seen - for_old[place - start]) for place in range(first, last + 1)]


def _moved(one: JudgedSeries, row: int, chosen: dict[tuple[int, int], int]) -> JudgedSeries:
    moved = {
        change.first: first for at, change in enumerate(one.changes) if (first := chosen.get((row, at))) is not None
    }
    changes = [
        msgspec.structs.replace(change, first=moved[change.first], last_before=moved[change.first] - 1)
        if change.first in moved
        else change
        for change in one.changes
    ]
    if one.judged is None or one.judged not in moved:
        return msgspec.structs.replace(one, changes=tuple(changes))
    judged, counts = moved[one.judged], [point.count for point in one.series.points]
    more = sum(counts[one.judged : judged]) - sum(counts[judged : one.judged])  # runs of the old level
    judgement = msgspec.structs.replace(one.judgement, runs_before=one.judgement.runs_before + more)
    return msgspec.structs.replace(one, changes=tuple(changes), judged=judged, judgement=judgement)
