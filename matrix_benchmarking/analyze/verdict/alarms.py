"""The alarms in a series: which changes for the worse still hold, which were repaired, what people said of them."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Collection, Mapping, Sequence

import msgspec

from ...grouped import grouped
from ...history.alarms import Action
from ...history.records import digest
from ...workload import MinimumEffect
from ..detect import Change
from ..select.series import Series
from .levels import FURTHEST, middles, outlasts, persists, stays_away, with_levels
from .lifecycle import Known
from .model import Alarm, Analysis, Status, amount

# How much of a step may be left for it to count as repaired: levels of few points are uncertain by so much.
LEFT_AFTER_A_FIX = 0.25
# Runs that are measured again later can move a change by so many versions: it is still the alarm that was raised.
NEARBY = 2
ID_LENGTH = 12
RETURNS = 2  # a level that a history left and returned to so often is one of two that the machine has


class Raised(msgspec.Struct, frozen=True):
    changes: tuple[Change, ...] = ()  # those that count
    alarms: tuple[Alarm, ...] = ()  # of those that are worse, in their order
    worst: int | None = None  # place in *changes* of the last one that is worse and not repaired
    is_back: bool = False  # the last change only repaired an earlier one
    notes: tuple[str, ...] = ()


def alarm_id(series: str, point: str) -> str:
    """The id of an alarm: of the series' id and the key of its first bad point."""
    return digest([series, point])[:ID_LENGTH]


def alarms_of(
    series: Series,
    changes: Sequence[Change],
    minimum: MinimumEffect,
    known: Mapping[str, Known],
    now: dt.datetime,
    accepted: Sequence[bool],
) -> Raised:
    """The alarms of one series, of which the detector saw these *changes*; *known* are those of the history, by id.

    Each change is *accepted* or not by the false discovery rate; an alarm that was raised before stays.
    """
    if not changes:
        return Raised()
    ids = _ids(series, changes, known)
    starts = {change.first for change, identity, passes in zip(changes, ids, accepted, strict=True)
              if change.takes_back is None and (passes or identity in known)}  # fmt: skip
    ways_back = _ways_back(changes, starts, minimum)
    starts |= ways_back
    kept = [(change, identity) for change, identity in zip(changes, ids, strict=True)
            if (change.first if change.takes_back is None else change.takes_back) in starts]  # fmt: skip
    counted = tuple(change for change, _ in kept)
    dropped = len(changes) - len(kept)
    goes_on = {before.first for before, after in itertools.pairwise(changes) if after not in counted}
    counted = tuple(with_levels(counted, series.values, which=lambda one: one.first in goes_on))
    known_levels = levels_known(counted, series.values)
    repairs = {
        place: _repairs(counted, place, minimum, goes_on)
        for place, one in enumerate(counted)
        if one.is_worse and one.drifts_from is None and place not in known_levels
    }
    alarms = tuple(
        _alarm(series, counted[place], kept[place][1], [counted[repair] for repair in those], known, now)
        for place, those in repairs.items()
    )
    held = [place for place, alarm in zip(repairs, alarms, strict=True) if alarm.status is not Status.FIXED]
    notes = []
    if dropped:
        are = "change is" if dropped == 1 else "changes are"
        notes.append(f"{dropped} {are} left out: so many series show as much by chance")
    if known_levels:
        change = counted[max(known_levels)]
        levels = " and ".join(series.kpi.show(level) for level in sorted((change.old_level, change.new_level)))
        notes.append(f"this machine has two levels, {levels}: it went back and forth before, and that is no alarm")
    last = len(counted) - 1
    repaired = [place for place, those in repairs.items() if last in those]
    is_back = bool(counted) and (
        counted[last].takes_back is not None
        or counted[last].first in ways_back
        or (bool(repaired) and not _better_than_before(counted, repaired[0], minimum))
    )
    return Raised(counted, alarms, max(held, default=None), is_back, tuple(notes))


def _ways_back(changes: Sequence[Change], starts: Collection[int], minimum: MinimumEffect) -> set[int]:
    """The first way back from each alarm of which none is among those that count, which begin at *starts*.

    It is no discovery: without it, what was repaired would be worse for ever.
    """
    found = set()
    for place, change in enumerate(changes):
        if change.is_worse and change.first in starts:
            repairs = [changes[at] for at in _repairs(changes, place, minimum)]
            if repairs and all(one.takes_back is None and one.first not in starts for one in repairs):
                found.add(repairs[0].first)
    return found


def _ids(series: Series, changes: Sequence[Change], known: Mapping[str, Known]) -> list[str]:
    """The id of each change: its own, or that of an alarm raised next to it before the history was amended."""
    own = [alarm_id(series.id, series.keys[change.first]) for change in changes]
    if all(identity in known or not change.is_worse for identity, change in zip(own, changes, strict=True)):
        return own
    taken = set(own)
    places = {alarm_id(series.id, key): place for place, key in enumerate(series.keys)} if known else {}
    of_series = {
        place: identity
        for identity, alarm in known.items()
        if (place := places.get(identity)) is not None and identity not in taken and alarm.series == series.id
    }
    ids = []
    for change, identity in zip(changes, own, strict=True):
        near = [place for place in of_series if abs(place - change.first) <= NEARBY]
        if identity not in known and change.is_worse and near:
            identity = of_series.pop(min(near, key=lambda place: abs(place - change.first)))
        ids.append(identity)
    return ids


def _repairs(changes: Sequence[Change], place: int, minimum: MinimumEffect, unsure: Collection[int] = ()) -> list[int]:
    """The places of the changes that led back from *place*, for the most part or to what isn't worth a word.

    What took it back at once did, unless it is *unsure*, by its first version: a change that followed is left out. An
    improvement that was itself taken back did not.
    """
    change, undone = changes[place], {one.takes_back for one in changes}
    step = change.new_level - change.old_level
    allowed = max(LEFT_AFTER_A_FIX * abs(step), amount(minimum, change.old_level))
    return [
        at
        for at, later in enumerate(changes[place + 1 :], place + 1)
        if (later.takes_back == change.first and later.first not in unsure)
        or (
            not later.is_worse
            and (later.takes_back is not None or later.first not in undone)
            and (later.new_level - change.old_level) * math.copysign(1.0, step) <= allowed
        )
    ]


def levels_known(changes: Sequence[Change], values: Sequence[Sequence[float]]) -> set[int]:
    """The places of the changes for the worse that lead to a level that was left for the old one twice before.

    Not to one that lasts much longer than it did then, nor where values don't stay on their level, as noise doesn't.
    """
    known = set()
    for place, change in enumerate(changes):
        if change.is_worse:
            begin = max(change.first - FURTHEST, 0)
            points, unit = middles(values, begin, change.seen + 1)
            levels = change.old_level / unit, change.new_level / unit
            stays = stays_away(points, *levels)
            last = changes[place + 1].first if place + 1 < len(changes) else len(values)
            is_rare = len(stays) < RETURNS or outlasts(last - change.first, stays)
            if not is_rare and persists(points[: change.first - begin], *levels):
                known.add(place)
    return known


def _better_than_before(changes: Sequence[Change], place: int, minimum: MinimumEffect) -> bool:
    """Whether the last level is better than the one before the change at *place*, by more than the minimum."""
    old, new = changes[place].old_level, changes[-1].new_level
    is_lower_worse = changes[place].new_level < old
    return (new - old if is_lower_worse else old - new) > amount(minimum, old)


def _alarm(
    series: Series,
    change: Change,
    identity: str,
    repairs: Sequence[Change],
    known: Mapping[str, Known],
    now: dt.datetime,
) -> Alarm:
    last = len(series.points) - 1
    alarm = Alarm.of(series, change, identity, is_new=change.seen == last)
    before = known.get(identity)
    if before is not None:
        alarm = _with_history(alarm, before, series, now)
    disputed = None if before is None else before.disputed
    for fix in repairs:
        version = series.versions[fix.first]
        if version != disputed:
            fixed = msgspec.structs.replace(
                alarm, status=Status.FIXED, fixed_by=version, is_new=fix.seen == last, note=""
            )
            return fixed if before is not None else msgspec.structs.replace(fixed, id="")  # which was never raised
    return alarm


def _with_history(alarm: Alarm, known: Known, series: Series, now: dt.datetime) -> Alarm:
    event, alarm = known.last, msgspec.structs.replace(alarm, comment=known.remark)
    if event.action is Action.RAISED:
        return alarm
    at = dt.datetime.fromtimestamp(event.at_us / 10**6, dt.UTC)
    status, note = Status.OPEN, ""
    if known.is_over(now, series.labels_for(event.until)):
        note = f"the acknowledgement until {event.until} has run out"
    elif known.is_retired:
        note = f"it was closed because {event.reason}, and is judged again"
    elif known.status is Status.FIXED:
        note = f"it was fixed by {event.version}, and is not any more"
    else:
        status = known.status
    return msgspec.structs.replace(
        alarm, author=event.author, reason=event.reason, until=event.until, at=at, status=status, note=note
    )


class Cause(msgspec.Struct, frozen=True):
    """Alarms that nobody dealt with and that begin with the same version, the largest first."""

    id: str  # of the workload and the first bad version: the same everywhere
    first_bad: str  # in words
    alarms: tuple[Alarm, ...]


def cause_id(workload: str, first_bad: str) -> str:
    """The id of the cause behind the alarms of *workload* that begin with the version *first_bad*, in words."""
    return digest([ascii(workload), "cause", ascii(first_bad)])[:ID_LENGTH]


def causes(analysis: Analysis) -> list[Cause]:
    """The causes of the alarms that make *analysis* fail: those of most alarms first."""
    # One without an id is a comparison's own, of which no history knows since when.
    found = grouped((alarm.first_bad, alarm) for _, alarm in analysis.alarms(Status.OPEN) if alarm.id)
    made = [Cause(cause_id(analysis.workload, version), version, tuple(alarms)) for version, alarms in found.items()]
    return sorted(made, key=lambda cause: -len(cause.alarms))


def of_cause(known: Mapping[str, Known]) -> dict[str, list[Known]]:
    return grouped((cause_id(one.subject.workload, one.subject.first_bad), one) for one in known.values())
