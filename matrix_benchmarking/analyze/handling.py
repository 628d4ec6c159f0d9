"""What people do with alarms: which they mean by the beginnings of ids, and the events that keep what they said."""

from __future__ import annotations

import datetime as dt
import difflib
import functools
import re
from collections.abc import Iterable, Mapping, Sequence

from ..errors import ConfigError, did_you_mean
from ..filters import exact
from ..history.alarms import Action, AlarmEvent
from ..history.records import KeptRun
from ..matrix import typed
from .select.versions import is_commit, key, same_kind
from .verdict.alarms import of_cause
from .verdict.lifecycle import Known, date_of, next_us
from .verdict.model import Status
from .wording.alarms import standing
from .words import named

SHORTEST = 4
_LIKE_A_DATE = re.compile(r"[0-9]{4}(?:-[0-9]{1,2}-|/[0-9]{1,2}/)[0-9]{1,2}")
_REFUSED: dict[Action | None, set[Status]] = {
    Action.ACKNOWLEDGED: {Status.FIXED, Status.RESOLVED},
    Action.RESOLVED: {Status.FIXED, Status.RESOLVED},
    Action.REOPENED: {Status.OPEN},
}

_AHEAD = re.compile(r"(\d{1,3})\s*(d|w)(?:(?<=d)ays?|(?<=w)eeks?)?")
_MEANS_A_TIME = re.compile(
    r"\d+ ?(?:h|m|y|hours?|months?|years?)|[12]\d{3}-\d\d-\d\d[T ].*|\d{1,2}/\d{1,2}/\d{2,4}|\d+\s+\D.*"
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
    problems = [
        f"alarm {each.id} is open already"
        if each.status is Status.OPEN
        else f"alarm {each.id} is {standing(each, now)}: 'matbench alarms reopen' opens it again"
        for each in alarms
        if each.status in _REFUSED[action]
    ]
    if problems:
        raise ConfigError("\n".join(problems))
    event = functools.partial(AlarmEvent, action=action, author=author, reason=reason, until=until)
    return [event(alarm=each.id, at_us=next_us(now, each), subject=each.subject) for each in alarms]


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
    if ahead is None and _MEANS_A_TIME.fullmatch(meant):
        raise ConfigError(f"`until` takes a version, or a date such as 2026-01-31, and '{text}' is neither")
    if ahead is None and not _LIKE_A_DATE.fullmatch(meant):
        return meant
    day = date_of(meant) if ahead is None else today + dt.timedelta(ahead)
    if day is None:
        raise ConfigError(f"`until` is '{text}', which is no date such as 2026-01-31")
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
