"""What a person does to alarms of a history: acknowledge, resolve, open again, comment."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from ..analyze import handling
from ..analyze.verdict.lifecycle import Known, known_alarms
from ..errors import ConfigError
from ..history import Location, Query, open_history
from ..history.alarms import LONGEST_AUTHOR, Action, AlarmEvent

LONGEST_REASON = 2000


def deal(
    location: Location,
    action: Action,
    ids: Sequence[str],
    *,
    author: str,
    reason: str | None = None,
    until: str | None = None,
    raised: Sequence[AlarmEvent] = (),
) -> tuple[list[Known], list[str]]:
    """Keep that *author* did *action* to the alarms *ids*: to all of them or, where one can't be, to none.

    Args:
        ids: beginnings of ids of alarms or causes, each of at least four characters.
        raised: what an analysis says that the history may not know yet; of it is kept what *ids* mean.

    Returns:
        The alarms as they are now, and what is to be known of *until*, as sentences.

    Raises:
        ConfigError: no reason, an unknown id, a text that is too long, or what can't be done to one of them.
    """
    reason = (reason or "").strip() or None
    if reason is None and action is not Action.REOPENED:
        raise ConfigError("no reason given: say why, so that others know")
    if reason is not None and not any(map(str.isalnum, reason)):
        raise ConfigError(f"'{reason}' is no reason: say why, so that others know")
    for what, text, longest in (("author", author, LONGEST_AUTHOR), ("reason", reason or "", LONGEST_REASON)):
        if len(text) > longest:
            raise ConfigError(f"the {what} has {len(text)} characters; {longest} are possible")
    now = dt.datetime.now(dt.UTC)
    until = None if until is None else handling.checked_until(until, now)
    with open_history(location, writable=False) as history:
        kept = list(history.alarm_events())
        known = known_alarms([*kept, *(event for event in raised if event.alarm not in {one.alarm for one in kept})])
        chosen = handling.chosen(known, ids, action)
        by_kpi = {} if until is None else {(each.subject.workload, each.subject.kpi): each for each in chosen}
        notes = {
            handling.not_measured_yet(until, handling.versions_of(one, history.runs(Query(workload))))
            for (workload, _), one in by_kpi.items()
        }
    there = {one.alarm for one in kept}
    wanted = {one.id for one in chosen} - there
    said = [
        *(event for event in raised if event.alarm in wanted),
        *handling.events(chosen, action, author=author, now=now, reason=reason, until=until),
    ]
    with open_history(location, writable=True) as history:
        history.record_alarms(said)
        known = known_alarms(history.alarm_events())
    return [known[each.id] for each in chosen], sorted(notes - {""})
