"""The changes of a series: what the detector sees, without the episodes that ended too soon for it to see them end.

A regression of a few versions that was repaired would else be the beginning of a level that never was, on which nothing
that comes later can be told. So the series is judged again without them, as if they hadn't been measured.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from ...workload import MinimumEffect
from .. import detect
from ..detect import Change, Judgement, Minimum, Watched, changes_of, judge_watched, p_values
from ..detect.changes import goes_on, level
from ..detect.evidence import Floats
from ..detect.series import Blocks, held, median, scale_of
from ..select.selection import SelectedSeries
from .model import amount
from .returns import FEWEST_OLD, LEFT, early_return

NEARBY = 2
"""What is left of a step can be seen to begin so many versions away from the end of its episode."""

AT_ONCE = 1_000
"""So many points further the detector goes before episodes are left out: what follows one is gone along again."""


@dataclasses.dataclass(frozen=True, slots=True)
class JudgedSeries:
    """A series with what the detector says of it.

    Attributes:
        judgement: of the series without its episodes.
        changes: all, the oldest first; an episode is two, of which the second takes the first back.
        p_values: of the changes, each when it was the last one.
        judged: first point of the change that the judgement is about; None where it saw none.
    """

    series: SelectedSeries
    judgement: Judgement
    changes: tuple[Change, ...]
    p_values: tuple[float, ...]
    judged: int | None
    minimum: MinimumEffect


def judged_together(
    series: Sequence[SelectedSeries], minima: Sequence[MinimumEffect], blocks: Callable[[SelectedSeries], Blocks]
) -> list[JudgedSeries]:
    """Each of *series* as :func:`judged` sees it; those in which nothing shows beside each other."""
    values = (one.values for one in series)
    least = [Minimum(one.relative, one.absolute) for one in minima]
    found = detect.watched_together(values, least, blocks=map(blocks, series), points=AT_ONCE)
    return [
        JudgedSeries(one, seen, (), (), None, minimum) if isinstance(seen, Judgement) else judged(one, minimum, seen)
        for one, minimum, seen in zip(series, minima, found, strict=True)
    ]


def judged(series: SelectedSeries, minimum: MinimumEffect, watched: Watched) -> JudgedSeries:
    """*series*, *watched* so far, with its changes that reach the *minimum*."""
    values, kpi = series.values, series.kpi
    limit = Minimum(minimum.relative, minimum.absolute)
    kept, series_values = list(range(len(values))), list(values)
    found: list[tuple[Change, float]] = []
    place = 0

    def p_value(stop: int) -> float:
        seen = judge_watched(watched.until(stop), minimum=limit).p_value
        return 1.0 if seen is None else seen

    while True:
        seen = changes_of(watched, lower_is_better=kpi.lower_better, minimum=limit)
        changes = [change for change in seen if not _is_left_over(_placed(change, kept), [one for one, _ in found])]
        episode = _first_episode(series_values, changes, place, minimum, kpi.lower_better, watched.stop)
        if episode is None and not watched.is_whole:
            place, watched = watched.stop, watched.further(AT_ONCE)
            continue
        if episode is None:
            break
        away, back = episode
        p = p_value(max(back.first, away.seen + 1))
        away_from, back_to = _placed(away, kept), _placed(back, kept)
        # One version can take several changes back; the first of them says how far.
        found = [each for each in found if each[0].takes_back is None or each[0].first != back_to.first]
        found += [(away_from, p), (back_to, p)]
        watched = watched.without(away.first, back.first)
        del kept[away.first : back.first], series_values[away.first : back.first]
        place = away.first
    # What was seen up to a change depends on nothing later, so the series up to the next one gives its p-value.
    p_of = dict(zip((one.first for one in seen), p_values(watched, limit), strict=True))
    found += [(_placed(one, kept), p_of[one.first]) for one in changes]
    found.sort(key=lambda each: (each[0].first, each[0].takes_back is None))
    judgement = judge_watched(watched, lower_is_better=kpi.lower_better, minimum=limit)
    suspicion = judgement.suspicion
    if suspicion is not None and suspicion.first_bad is not None and suspicion.last_good is not None:
        first, last = kept[suspicion.first_bad], kept[suspicion.last_good]
        judgement = dataclasses.replace(
            judgement, suspicion=dataclasses.replace(suspicion, first_bad=first, last_good=last)
        )
    return JudgedSeries(
        series,
        judgement,
        tuple(_with_drifts(_with_levels([change for change, _ in found], values), values)),
        tuple(p for _, p in found),
        None if not seen else kept[seen[-1].first],
        minimum,
    )


def _first_episode(
    values: Sequence[Sequence[float]],
    changes: Sequence[Change],
    asked: int,
    minimum: MinimumEffect,
    lower_is_better: bool | None,
    known: int | None = None,
) -> tuple[Change, Change] | None:
    """The first change that was taken back before the detector saw another one, and what took it back.

    Of the *values* so many are *known* yet; all unless given.

    Of changes that were followed by another one before the point *asked*, this was asked before.

    A better level that lasted is one: to lose it is a regression, which the detector sees.
    """
    if lower_is_better is None:
        return None
    for place, change in enumerate(changes):
        begin = changes[place - 1].first if place else 0
        stop = changes[place + 1].seen if place + 1 < len(changes) else known or len(values)
        if stop < asked:
            continue
        is_up = change.is_worse == lower_is_better
        back = early_return(values, begin, change, stop, amount(minimum, change.old_level), is_up=is_up)
        if back is not None and (change.is_worse or back.first - change.first < FEWEST_OLD):
            return dataclasses.replace(change, new_level=back.old_level), back
    return None


def _is_left_over(change: Change, found: Sequence[Change]) -> bool:
    """Whether *change* is what an episode that counts as repaired left of its step."""
    away = {one.first: one for one in found if one.takes_back is None}
    for back in found:
        if back.takes_back is None or not change.is_worse or abs(change.first - back.first) > NEARBY:
            continue
        before = away[back.takes_back]
        if abs(change.new_level - before.old_level) <= LEFT * abs(before.new_level - before.old_level):
            return True
    return False


def _placed(change: Change, kept: Sequence[int]) -> Change:
    """*change*, whose indices are those of *kept*, with those of the whole series."""
    return dataclasses.replace(
        change,
        first=kept[change.first],
        last_before=kept[change.last_before],
        seen=kept[change.seen],
        takes_back=None if change.takes_back is None else kept[change.takes_back],
    )


def _with_levels(changes: Sequence[Change], values: Sequence[Sequence[float]]) -> list[Change]:
    """What took a change back leads to all that is measured up to the next change, not only to what first showed it."""
    starts = [*(change.first for change in changes), len(values)]
    return [
        change
        if change.takes_back is None
        else dataclasses.replace(
            change, new_level=_level(values[change.first : min(start for start in starts if start > change.first)])
        )
        for change in changes
    ]


def _with_drifts(changes: Sequence[Change], values: Sequence[Sequence[float]]) -> list[Change]:
    """A change that goes on a drift, as far as could be told when it was seen, says which change began that."""
    made: list[Change] = []
    for change in changes:
        before = made[-1] if made else None
        if before is not None and before.takes_back is change.takes_back is None and before.is_worse is change.is_worse:
            began = before.first if before.drifts_from is None else before.drifts_from
            starts = [one.first - began for one in (*made, change) if one.first > began]
            if goes_on(middles(values, began, change.seen + 1)[0], starts):
                change = dataclasses.replace(change, drifts_from=began)
        made.append(change)
    return made


def middles(values: Sequence[Sequence[float]], first: int, stop: int) -> tuple[Floats, float]:
    """The medians of the points from *first* to before *stop*, and the unit they are in: no square overflows."""
    points = np.array([median(list(repeats)) for repeats in values[first:stop]], dtype=np.float64)
    unit = scale_of(points)
    return held(points, unit), unit


def _level(values: Sequence[Sequence[float]]) -> float:
    """Where the points lie, with outliers held back."""
    points, unit = middles(values, 0, len(values))
    return level(points) * unit
