"""What became of each alarm, out of the events that a history keeps of it."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Sequence

from ...history.alarms import Action, AlarmEvent, AlarmSubject
from .model import Status

_STATUS = {
    Action.RAISED: Status.OPEN,
    Action.ACKNOWLEDGED: Status.ACKNOWLEDGED,
    Action.RESOLVED: Status.RESOLVED,
    Action.REOPENED: Status.OPEN,
    Action.FIXED: Status.FIXED,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """What a history knows of an alarm.

    Attributes:
        id: of the alarm.
        subject: what it is about, as it was first kept.
        status: what the last event made of it.
        raised_us: when it was first heard of, in microseconds since 1970.
        last: the last event.
        events: how many there are.
    """

    id: str
    subject: AlarmSubject
    status: Status
    raised_us: int
    last: AlarmEvent
    events: int


def known_alarms(events: Iterable[AlarmEvent]) -> dict[str, Known]:
    """What became of the alarms in *events*, by id, the oldest alarm first; of one moment, a person's word counts."""
    found: dict[str, Known] = {}
    for event in sorted(events, key=lambda one: (one.at_us, one.action is not Action.RAISED, one.id)):
        before = found.get(event.alarm)
        found[event.alarm] = Known(
            id=event.alarm,
            subject=event.subject if before is None else before.subject,
            status=_STATUS[event.action],
            raised_us=event.at_us if before is None else before.raised_us,
            last=event,
            events=1 if before is None else before.events + 1,
        )
    return found


def is_expired(until: str | None, now: dt.datetime, versions: Sequence[object]) -> bool:
    return False
