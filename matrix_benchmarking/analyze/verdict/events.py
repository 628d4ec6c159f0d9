"""What an analysis has to add to the history: alarms that it raises, and those that are repaired or no longer are."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping

from ...history.alarms import Action, AlarmEvent, AlarmSubject
from .lifecycle import ANALYSIS, Known, next_us
from .model import Alarm, Analysis, SeriesVerdict, Status


def new_events(analysis: Analysis, known: Mapping[str, Known]) -> list[AlarmEvent]:
    """The events of *analysis* that the history doesn't know; *known* are its alarms by id."""
    events: list[AlarmEvent] = []
    for verdict in analysis.verdicts:
        for alarm in verdict.alarms:
            before = known.get(alarm.id)
            if alarm.status is not Status.FIXED and before is None:
                events.append(_event(analysis, verdict, alarm, Action.RAISED))
            elif before is not None and (
                (alarm.status is Status.FIXED) != (before.status is Status.FIXED)
                or (before.is_retired and alarm.status is Status.OPEN)
            ):
                action = Action.FIXED if alarm.status is Status.FIXED else Action.REOPENED
                events.append(_event(analysis, verdict, alarm, action, before))
    return events


def retirements(unjudged: Iterable[tuple[Known, str]], now: dt.datetime) -> list[AlarmEvent]:
    """The events that close alarms of KPIs that are not judged any more, each with the reason."""
    return [
        AlarmEvent(
            alarm=alarm.id,
            action=Action.RESOLVED,
            at_us=next_us(now, alarm),
            author=ANALYSIS,
            reason=reason,
            subject=alarm.subject,
        )
        for alarm, reason in unjudged
    ]


def subject_of(verdict: SeriesVerdict, alarm: Alarm) -> AlarmSubject:
    """What *alarm* is about, as a history keeps it."""
    return AlarmSubject(
        workload=alarm.workload,
        kpi=alarm.kpi,
        unit=verdict.kpi.unit,
        lower_better=verdict.kpi.lower_better,
        labels=dict(alarm.labels),
        series=alarm.series,
        first_bad=alarm.first_bad,
        last_good=alarm.last_good,
        old_level=alarm.old_level,
        new_level=alarm.new_level,
    )


def _event(
    analysis: Analysis, verdict: SeriesVerdict, alarm: Alarm, action: Action, after: Known | None = None
) -> AlarmEvent:
    """An event of now, after the last one of *after*."""
    return AlarmEvent(
        alarm=alarm.id,
        action=action,
        at_us=next_us(analysis.made_at, after),
        author=ANALYSIS,
        version=alarm.fixed_by if action is Action.FIXED else None,
        reason=alarm.note if action is Action.REOPENED else None,
        subject=subject_of(verdict, alarm),
    )
