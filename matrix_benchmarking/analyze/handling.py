"""Known alarms for people: in words, which ones the beginnings of ids mean, and the events that keep what was said."""

from __future__ import annotations

import datetime as dt
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ..errors import ConfigError, did_you_mean
from ..filters import exact
from ..history.alarms import Action, AlarmEvent, AlarmSubject
from ..history.records import KeptRun, moment
from ..kpi import KPIDefinition
from ..matrix import typed
from .select.versions import is_commit, key, same_kind
from .verdict.alarms import cause_id, of_cause
from .verdict.lifecycle import Known, date_of
from .verdict.model import Status
from .wording.verdicts import levels as shown_levels
from .words import count_of, is_or_are, named, percent

SHORTEST = 4
_REFUSED: dict[Action | None, set[Status]] = {
    Action.ACKNOWLEDGED: {Status.FIXED, Status.RESOLVED},
    Action.RESOLVED: {Status.FIXED, Status.RESOLVED},
    Action.REOPENED: {Status.OPEN},
}

_AHEAD = re.compile(r"(\d{1,3})\s*(d|w)(?:(?<=d)ays?|(?<=w)eeks?)?")
_MEANS_A_TIME = re.compile(
    r"\d+ ?(?:h|m|y|hours?|months?|years?)|\d{4}(?:-\d{1,2}-|/\d{1,2}/)\d{1,2}|[12]\d{3}-\d\d-\d\d[T ].*"
    r"|\d{1,2}/\d{1,2}/\d{2,4}|\d+\s+\D.*"
)


def chosen(known: Mapping[str, Known], texts: Iterable[str], action: Action | None = None) -> list[Known]:
    """The alarms that *texts* mean, each once: whole ids, or beginnings that only one alarm, or one cause, has.

    A cause means those of its alarms that *action* can be done to; without an action, all of them.

    Raises:
        ConfigError: one of *texts* means no alarm, or several.
    """
    found: dict[str, Known] = {}
    problems = []
    causes = of_cause(known)
    for text in dict.fromkeys(texts):
        matches = [text] if text in known else [each for each in known if each.startswith(text)]
        shared = [each for each in causes if each.startswith(text)] if len(text) >= SHORTEST else []
        if not matches and len(shared) == 1:
            refused = _REFUSED.get(action, set())
            together = [each for each in causes[shared[0]] if each.status not in refused] or causes[shared[0]]
            found |= {each.id: each for each in together}
        elif len(matches) == 1 and (len(text) >= SHORTEST or text in known):
            found[matches[0]] = known[matches[0]]
        else:
            problems.append(_not_one(text, matches, known))
    if problems:
        raise ConfigError("\n".join(problems))
    return list(found.values())


def events(
    alarms: Sequence[Known],
    action: Action,
    *,
    author: str,
    now: dt.datetime,
    reason: str | None = None,
    until: str | None = None,
) -> list[AlarmEvent]:
    """What is to be kept when *author* does *action* to *alarms*: now or, where clocks differ, after the last event.

    Raises:
        ConfigError: it can't be done to one of them, such as to acknowledge what is fixed.
    """
    refused = _REFUSED.get(action, set())
    problems = [
        f"alarm {each.id} is open already"
        if each.status is Status.OPEN
        else f"alarm {each.id} is {standing(each)}: 'matbench alarms reopen' opens it again"
        for each in alarms
        if each.status in refused
    ]
    if problems:
        raise ConfigError("\n".join(problems))
    return [each.event(action, author, now, reason=reason, until=until) for each in alarms]


def checked_until(text: str, now: dt.datetime) -> str:
    """*text* as a date (2026-01-31) that is not over, or else as the version that it is.

    What counts days from today (``tomorrow``, ``10 days``, ``2w``) is a date too.

    Raises:
        ConfigError: it is empty, no date of the calendar, or a day in the past.
    """
    meant, today = text.strip(), now.astimezone(dt.UTC).date()
    if not meant:
        raise ConfigError("`until` is empty: give a version, a date such as 2026-01-31, or leave it out")
    ahead = _ahead(meant)
    day = date_of(meant) if ahead is None else today + dt.timedelta(ahead)
    if day is None and _MEANS_A_TIME.fullmatch(meant):
        raise ConfigError(f"`until` takes a version, or a date such as 2026-01-31, and '{text}' is neither")
    if day is None:
        return meant
    if day < today:
        raise ConfigError(f"`until` is {day}, which is in the past: the acknowledgement would be over already")
    return day.isoformat()


def _ahead(text: str) -> int | None:
    """So many days from today; None for what says no number of days."""
    match = _AHEAD.fullmatch(text.lower())
    if match is None:
        return {"yesterday": -1, "today": 0, "tomorrow": 1}.get(text.lower())
    return int(match[1]) * (7 if match[2] == "w" else 1)


def versions_of(alarm: Known, runs: Iterable[KeptRun]) -> list[object]:
    """The versions of what *alarm* is about: values of the label of a history's *runs* that has those it names."""
    subject = alarm.subject
    mine = [run.head.labels or {} for run in runs if any(kpi.name == subject.kpi for kpi in run.kpis)]
    pairs = [(name, value) for labels in mine for name, value in labels.items() if name not in subject.labels]
    pairs = [(name, value) for name, value in pairs if isinstance(value, str | int | float)]
    # Beside it may stand the values of other comparison keys.
    named_ones = tuple(text.split(" · ")[0].strip('"') for text in (subject.first_bad, subject.last_good))
    axes = {name for name, value in pairs if exact(value).startswith(named_ones)}  # a commit is cut there
    return list({typed(value): value for name, value in pairs if name in axes}.values())


def is_over(alarm: Known, now: dt.datetime, runs: Iterable[KeptRun]) -> bool:
    """Whether an acknowledgement is, by its date or by a later version of a history's *runs*.

    Where nothing but an order tells which version is later, an analysis alone knows.
    """
    until = alarm.last.until
    if until is None or date_of(until) is not None:
        return alarm.is_over(now, [])
    return alarm.is_over(now, [label for label in versions_of(alarm, runs) if exact(label) != until])


def not_measured_yet(until: str | None, versions: Sequence[object]) -> str:
    """That no run has the version *until* yet, as a sentence; empty for a date, and for one of the *versions*.

    Raises:
        ConfigError: it is no version of theirs and no later one by its form, or others are later: it would hold for
            ever, or not at all.
    """
    if until is None or date_of(until) is not None or not versions:
        return ""
    is_there = until in map(exact, versions)
    alike = [label for label in versions if same_kind([label, until]) is not None]
    later = [label for label in alike if key(label) > key(until)]
    if later and (not is_there or same_kind(versions) is not None):  # else their order isn't that of their numbers
        newest = exact(max(later, key=key))
        raise ConfigError(f"`until` is the version {until}, and {newest} is later: the acknowledgement would be over")
    if is_there:
        return ""
    if alike or (is_commit(until) and any(is_commit(exact(label)) for label in versions)):
        return f"No run has the version {until} yet."
    hint = did_you_mean(until, map(exact, versions))
    raise ConfigError(
        f"`until` takes a version or a date such as 2026-01-31, and no run has the version '{until}': {hint}"
    )


def _not_one(text: str, matches: Sequence[str], known: Mapping[str, Known]) -> str:
    if matches:
        listed = named([f"{each} ({known[each].subject.kpi})" for each in matches])
        if len(matches) > 1:
            return f"'{text}' is the beginning of {len(matches)} alarms: {listed}; give more of the id"
        return f"'{text}' is too short for an id, of which {SHORTEST} characters are needed: did you mean {listed}?"
    whole = {each[: max(len(text), SHORTEST)]: each for each in known}
    nearest = difflib.get_close_matches(text, whole)
    hint = f"did you mean '{whole[nearest[0]]}'?" if nearest else "'matbench alarms --all' lists those that there are"
    return f"there is no alarm '{text}': {hint}"


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
    reasons = "; ".join(dict.fromkeys(reason for _, reason in alarms))
    said = named([f"{alarm.id} {about(alarm.subject, kpis)}" for alarm, _ in alarms], 3, are_long=True)
    return f"{said} ({reasons})"


def about_unseen(alarms: Sequence[tuple[Known, str]], kpis: KPIsByName) -> str:
    """A sentence on open alarms whose change isn't there: ``2 alarms of the history are open, and not to be seen …``"""
    count = f"{count_of(len(alarms), 'alarm')} of the history {is_or_are(len(alarms))} open"
    what = f"{count}, and not to be seen in these runs ('matbench alarms resolve' closes what is over)"
    return f"{what}: {_named(alarms, kpis)}"


def standing(alarm: Known, *, over: bool = False) -> str:
    """The status with what stands behind it: ``acknowledged by ann on 2026-03-01 until 1.4: known``.

    Args:
        over: :func:`is_over`.
    """
    last, remark = alarm.last, f"; {alarm.remark}" if alarm.remark else ""
    if last.action is Action.RAISED:
        return _line(f"{alarm.status.value}{remark}")
    done = "reopened" if last.action is Action.REOPENED else alarm.status.value
    by = f" by {last.version}" if last.version else "" if last.action is Action.FIXED else f" by {last.author}"
    until = f" until {last.until}{', which is over' if over else ''}" if last.until else ""
    reason = f": {last.reason}" if last.reason else ""
    return _line(f"{done}{by} on {moment(last.at_us):%Y-%m-%d}{until}{reason}{remark}")


def as_data(alarm: Known, *, over: bool = False) -> dict[str, object]:
    """What is known of *alarm*, as JSON has it: times as ISO 8601, levels in the unit, null for what nobody said.

    Args:
        over: :func:`is_over`.
    """
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
        "is_over": over,
        "fixed_by": last.version if alarm.status is Status.FIXED else None,
        "events": alarm.events,
    }


def _line(text: str) -> str:
    """*text* in one line, so that no reason looks like another alarm."""
    return " ".join(text.split())
