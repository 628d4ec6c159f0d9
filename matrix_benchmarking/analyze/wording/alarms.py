"""A known alarm in words, and as plain data for machines."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence

import msgspec

from ...history.alarms import Action, AlarmSubject
from ...history.records import moment
from ...kpi import KPIDefinition
from ..verdict.alarms import cause_id
from ..verdict.lifecycle import Known, is_expired
from ..verdict.model import Status
from ..words import count_of, is_or_are, percent
from .verdicts import levels as shown_levels

KPIsByName = Mapping[str, KPIDefinition]
"""How the workload shows its KPIs, by name; what none of them is, is shown as it was kept."""


def about(subject: AlarmSubject, kpis: KPIsByName) -> str:
    """What an alarm is about: ``p95_latency of onnx-fp32 since 1.3.0 (20.0 → 22.5 ms, +12.5 %)``."""
    return _line(f"{subject.kpi} of {subject.series} since {subject.first_bad} ({levels(subject, kpis)})")


def levels(subject: AlarmSubject, kpis: KPIsByName) -> str:
    """Both levels, as an analysis shows them, and, where there is one, their ratio: ``20.0 → 22.5 ms, +12.5 %``."""
    kpi = kpis.get(subject.kpi)
    if kpi is not None and kpi.unit == subject.unit:
        text = shown_levels(kpi, subject)
    else:
        text = f"{subject.old_level:.4g} → {subject.new_level:.4g} {subject.unit}".rstrip()
    if subject.old_level <= 0 or subject.new_level < 0:
        return text
    return f"{text}, {percent(subject.new_level / subject.old_level - 1)}"


def about_unjudged(alarms: Sequence[tuple[Known, str]], kpis: KPIsByName) -> str:
    """A sentence on alarms that nothing can repair: ``1 alarm is over, since its KPI is not judged any more: …``"""
    its = "its" if len(alarms) == 1 else "their"
    count = f"{count_of(len(alarms), 'alarm')} {is_or_are(len(alarms))} over, since {its} KPI is not judged any more"
    return f"{count}: {_named(alarms, kpis)}"


def _named(alarms: Sequence[tuple[Known, str]], kpis: KPIsByName) -> str:
    more = f"; and {len(alarms) - 3} more" if len(alarms) > 3 else ""
    reasons = "; ".join(dict.fromkeys(reason for _, reason in alarms))
    return "; ".join(f"{alarm.id} {about(alarm.subject, kpis)}" for alarm, _ in alarms[:3]) + f"{more} ({reasons})"


def about_unseen(alarms: Sequence[tuple[Known, str]], kpis: KPIsByName) -> str:
    """A sentence on open alarms whose change isn't there: ``2 alarms of the history are open, and not to be seen …``"""
    count = f"{count_of(len(alarms), 'alarm')} of the history {is_or_are(len(alarms))} open"
    what = f"{count}, and not to be seen in these runs ('matbench alarms resolve' closes what is over)"
    return f"{what}: {_named(alarms, kpis)}"


def standing(alarm: Known, now: dt.datetime) -> str:
    """The status with what stands behind it: ``acknowledged by ann on 2026-03-01 until 1.4: known``.

    Whether a version is over, only an analysis knows; a date that is over is said.
    """
    last = alarm.last
    if last.action is Action.RAISED:
        return alarm.status.value
    done = "reopened" if last.action is Action.REOPENED else alarm.status.value
    by = f" by {last.version}" if last.version else "" if last.action is Action.FIXED else f" by {last.author}"
    until = f" until {last.until}" if last.until else ""
    over = ", which is over" if is_expired(last.until, now, []) else ""
    reason = f": {last.reason}" if last.reason else ""
    return _line(f"{done}{by} on {moment(last.at_us):%Y-%m-%d}{until}{over}{reason}")


def as_data(alarm: Known) -> dict[str, object]:
    """What is known of *alarm*, as JSON has it: times as ISO 8601, levels in the unit, null for what nobody said."""
    subject, last = alarm.subject, alarm.last
    return {
        "id": alarm.id,
        "cause": cause_id(subject.workload, subject.first_bad),
        "status": alarm.status.value,
        **msgspec.structs.asdict(subject),
        "raised_at": moment(alarm.raised_us).isoformat(),
        "changed_at": moment(last.at_us).isoformat(),
        "author": last.author,
        "reason": last.reason,
        "until": last.until,
        "fixed_by": last.version if alarm.status is Status.FIXED else None,
        "events": alarm.events,
    }


def _line(text: str) -> str:
    """*text* in one line, so that no reason looks like another alarm."""
    return " ".join(text.split())
