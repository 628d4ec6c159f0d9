"""What became of each alarm, out of the events that a history keeps of it, and what an analysis has to add to them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ...filters import exact
from ...history.alarms import Action, AlarmEvent, AlarmSubject
from ...history.records import moment
from ...kpi import KPIDefinition
from ..select.series import series_id
from ..select.versions import key, same_kind
from .model import ALONE, Alarm, Analysis, Outcome, SeriesVerdict, Status

ANALYSIS = "matbench"  # the author of what no person said
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

_STATUS = {
    Action.RAISED: Status.OPEN,
    Action.ACKNOWLEDGED: Status.ACKNOWLEDGED,
    Action.RESOLVED: Status.RESOLVED,
    Action.REOPENED: Status.OPEN,
    Action.FIXED: Status.FIXED,
}


class Known(msgspec.Struct, frozen=True):
    id: str
    subject: AlarmSubject  # as it was first kept
    status: Status  # what the last event made of it
    raised_us: int  # when it was first heard of, in microseconds since 1970
    last: AlarmEvent
    events: int  # how many there are that count
    comment: AlarmEvent | None = None  # the last one that somebody made
    disputed: str | None = None  # the version that repaired it, by an analysis, before somebody opened it again

    @property
    def series(self) -> str:
        """The id of its series."""
        return series_id(self.subject.workload, self.subject.kpi, self.subject.unit, self.subject.labels)

    @property
    def remark(self) -> str:
        """The comment with who made it, and when: ``ann on 2026-03-01: known``; empty where nobody did."""
        said = self.comment
        return "" if said is None else f"{said.author} on {moment(said.at_us):%Y-%m-%d}: {said.reason}"

    def is_over(self, now: dt.datetime, versions: Sequence[object]) -> bool:
        """Whether it was acknowledged, and is no longer: *versions* are those that there are, in their order."""
        return self.status is Status.ACKNOWLEDGED and is_expired(self.last.until, now, versions)

    def event(self, action: Action, author: str, now: dt.datetime, **said: str | None) -> AlarmEvent:
        """What is to be kept of *author* doing *action*: now or, where clocks differ, after the last event."""
        at_us = next_us(now, self)
        return AlarmEvent(alarm=self.id, action=action, at_us=at_us, author=author, subject=self.subject, **said)

    @property
    def is_retired(self) -> bool:
        """Whether an analysis closed it because its KPI was not judged any more."""
        return self.status is Status.RESOLVED and self.last.author == ANALYSIS


def known_alarms(events: Iterable[AlarmEvent]) -> dict[str, Known]:
    """What became of the alarms in *events*, by id, the oldest alarm first; of one moment, a person's word counts.

    What was raised is not raised again: two analyses at once, or two histories that were put together, each say so.
    """
    found: dict[str, Known] = {}
    for event in sorted(events, key=lambda one: (one.at_us, one.action is not Action.RAISED, one.id)):
        before, status = found.get(event.alarm), _STATUS.get(event.action, Status.OPEN)
        if before is not None and event.action is Action.COMMENTED:
            found[event.alarm] = msgspec.structs.replace(before, comment=event, events=before.events + 1)
        elif before is None:
            found[event.alarm] = Known(event.alarm, event.subject, status, event.at_us, event, 1)
        elif event.action is not Action.RAISED:
            disputed = before.disputed
            if event.action is Action.REOPENED and event.author == ANALYSIS:
                disputed = None
            elif event.action is Action.REOPENED and before.status is Status.FIXED:
                disputed = before.last.version
            found[event.alarm] = msgspec.structs.replace(
                before, status=status, last=event, events=before.events + 1, disputed=disputed
            )
    return found


def next_us(now: dt.datetime, after: Known | None) -> int:
    """*now* in microseconds since 1970; later than the last event, where the clock of who said that was ahead."""
    now_us = (now - moment(0)) // dt.timedelta(microseconds=1)
    if after is None:
        return now_us
    return max(now_us, after.last.at_us + 1, 0 if after.comment is None else after.comment.at_us + 1)


def unseen(analysis: Analysis, known: Mapping[str, Known]) -> list[tuple[Known, str]]:
    """The open alarms of the series of *analysis* whose change it doesn't see, and why."""
    verdicts = {verdict.id: verdict for verdict in analysis.verdicts}
    seen = {alarm.id for verdict in analysis.verdicts for alarm in verdict.alarms}
    found = []
    for alarm in known.values():
        verdict = verdicts.get(alarm.series)
        if alarm.status is Status.OPEN and alarm.id not in seen and verdict is not None:
            found.append((alarm, _why_unseen(alarm.subject.first_bad, verdict)))
    return found


def _why_unseen(first_bad: str, verdict: SeriesVerdict) -> str:
    if first_bad not in verdict.versions:
        return f"there is no run of {first_bad}"
    if verdict.outcome is Outcome.CANT_TELL:
        return verdict.why
    if verdict.outcome is Outcome.SUSPECTED and verdict.first_bad_version == first_bad:
        return f"suspected: {verdict.why or ALONE}"
    if verdict.too_small is not None:
        return "; ".join(["what changed is less than the minimum effect", *verdict.notes])
    return "; ".join([f"no change at {first_bad} is shown", *verdict.notes])


def of_unjudged_kpis(
    known: Iterable[Known], kpis: Mapping[str, KPIDefinition], now: dt.datetime
) -> list[tuple[Known, str]]:
    """The open alarms of KPIs that are not judged any more, and why: no analysis would ever close them."""
    found = []
    for alarm in known:
        kpi = kpis.get(alarm.subject.kpi)
        if kpi is None or not (alarm.status is Status.OPEN or alarm.is_over(now, [])):
            continue
        if kpi.lower_better is None:
            found.append((alarm, f"neither direction of {kpi.name} is better any more"))
        elif kpi.ignored_for_regression:
            found.append((alarm, f"{kpi.name} is left out of analyses by its workload"))
    return found


def is_expired(until: str | None, now: dt.datetime, versions: Sequence[object]) -> bool:
    """Whether an acknowledgement is over: *until* a date when its day is, UTC, a version when there is a later one."""
    if until is None:
        return False
    day = date_of(until)
    if day is not None:
        return now.astimezone(dt.UTC).date() > day
    meant = [place for place, label in enumerate(versions) if exact(label) == until]
    if meant:
        return meant[-1] < len(versions) - 1
    return any(same_kind([label, until]) is not None and key(label) > key(until) for label in versions)


def date_of(until: str) -> dt.date | None:
    if not _DATE.fullmatch(until):
        return None
    try:
        return dt.date.fromisoformat(until)
    except ValueError:  # the 31st of February
        return None


def new_events(analysis: Analysis, known: Mapping[str, Known]) -> list[AlarmEvent]:
    """The events of *analysis* that the history doesn't know; *known* are its alarms by id."""
    events: list[AlarmEvent] = []
    for verdict in analysis.verdicts:
        for alarm in verdict.alarms:
            before, is_fixed = known.get(alarm.id), alarm.status is Status.FIXED
            if before is None:
                action = None if is_fixed else Action.RAISED
            elif is_fixed:
                action = None if before.status is Status.FIXED else Action.FIXED
            else:
                is_again = before.status is Status.FIXED or (before.is_retired and alarm.status is Status.OPEN)
                action = Action.REOPENED if is_again else None
            if action is not None:
                events.append(
                    AlarmEvent(
                        alarm=alarm.id,
                        action=action,
                        at_us=next_us(analysis.made_at, before),
                        author=ANALYSIS,
                        version=alarm.fixed_by if is_fixed else None,
                        reason=alarm.note if action is Action.REOPENED else None,
                        subject=subject_of(analysis.workload, verdict, alarm),
                    )
                )
    return events


def subject_of(workload: str, verdict: SeriesVerdict, alarm: Alarm) -> AlarmSubject:
    return AlarmSubject(
        workload=workload,
        kpi=alarm.kpi,
        unit=verdict.kpi.unit,
        lower_better=verdict.kpi.lower_better,
        labels=verdict.labels,
        series=verdict.name,
        first_bad=alarm.first_bad,
        last_good=alarm.last_good,
        old_level=alarm.old_level,
        new_level=alarm.new_level,
    )
