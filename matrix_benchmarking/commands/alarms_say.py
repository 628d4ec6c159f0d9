"""``matbench alarms ack``, ``resolve`` and ``reopen``: what people say of alarms, into the history."""

from __future__ import annotations

import datetime as dt
import getpass
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import ConfigError
from ..history import Query, open_history
from ..history.alarms import Action
from . import run
from .alarms_list import kpis_of
from .options import Command, Invocation, common, option
from .place import Place, locate, place

if TYPE_CHECKING:
    from ..history.alarms import Action

C = TypeVar("C", bound=Callable[..., Any])

LONGEST_AUTHOR = 200


def _shared(function: C) -> C:
    """The ids of the alarms, and the options that all these commands have."""
    decorators: list[Callable[[Any], Any]] = [
        click.argument("ids", nargs=-1, required=True, metavar="ID..."),
        option("--reason", config_key="", metavar="TEXT", help="Why, in your words; others read it."),
        option(
            "--author",
            config_key="",
            metavar="NAME",
            help="Who says so; the name of the user on this machine if left out.",
        ),
        place,
        common,
        click.pass_obj,
    ]
    decorated: Any = function
    for decorator in reversed(decorators):
        decorated = decorator(decorated)
    result: C = decorated
    return result


@click.command("ack", cls=Command, section="alarms_ack")
@option(
    "--until",
    config_key="",
    metavar="VERSION|DATE",
    help="Up to this version, or the end of a day (2026-01-31, tomorrow, '2 weeks'; UTC); for always if left out.",
)
@_shared
def ack(
    invocation: Invocation,
    ids: tuple[str, ...],
    place: Place,
    reason: str | None,
    author: str | None,
    until: str | None,
) -> None:
    """Acknowledge alarms: they are known, and fail no analysis any more.

    A further worsening is an alarm of its own. ID is the beginning of an alarm's id, of at least four characters.
    """
    _say(Action.ACKNOWLEDGED, invocation, place, ids, author, _required(reason), until)


@click.command("resolve", cls=Command, section="alarms_resolve")
@_shared
def resolve(invocation: Invocation, ids: tuple[str, ...], place: Place, reason: str | None, author: str | None) -> None:
    """Resolve alarms: they are dealt with, by a fix or because the new level is the one that is wanted.

    ID is the beginning of an alarm's id, of at least four characters.
    """
    _say(Action.RESOLVED, invocation, place, ids, author, _required(reason))


@click.command("reopen", cls=Command, section="alarms_reopen")
@_shared
def reopen(invocation: Invocation, ids: tuple[str, ...], place: Place, reason: str | None, author: str | None) -> None:
    """Open alarms again that were acknowledged, resolved or fixed.

    ID is the beginning of an alarm's id, of at least four characters.
    """
    _say(Action.REOPENED, invocation, place, ids, author, (reason or "").strip() or None)


def _say(
    action: Action,
    invocation: Invocation,
    place: Place,
    ids: tuple[str, ...],
    author: str | None,
    reason: str | None,
    until: str | None = None,
) -> None:
    """Keep that *author* did *action* to the alarms *ids*: to all of them or, where one can't be, to none."""
    from ..analyze.verdict import handling
    from ..analyze.verdict.alarm_wording import about, standing
    from ..analyze.verdict.lifecycle import known_alarms

    assert invocation.config is not None
    now = dt.datetime.now(dt.UTC)
    until = None if until is None else handling.checked_until(until, now)
    author = _author(author)
    location = locate(invocation.config, place)
    with open_history(location, writable=False) as history:
        known = known_alarms(history.alarm_events())
        chosen = handling.chosen(known, ids, action)
        by_kpi = {} if until is None else {(each.subject.workload, each.subject.kpi): each for each in chosen}
        notes = {
            handling.unseen(until, handling.versions_of(one, history.runs(Query(workload))))
            for (workload, _), one in by_kpi.items()
        }
    said = handling.events(chosen, action, author=author, now=now, reason=reason, until=until)
    with open_history(location, writable=True) as history:
        history.record_alarms(said)
        known = known_alarms(history.alarm_events())
    kpis = kpis_of(chosen, invocation.config)
    for each in chosen:
        alarm = known[each.id]
        what = about(alarm.subject, kpis.get(alarm.subject.workload, {}))
        click.echo(run.printable(f"{alarm.id} {what}: {standing(alarm, now)}"))
    for note in sorted(notes - {""}):
        click.echo(run.printable(note))


def _required(reason: str | None) -> str:
    text = (reason or "").strip()
    if not text:
        raise ConfigError("no reason given: use --reason TEXT, so that others know why")
    return text


def _author(given: str | None) -> str:
    """Who says so: *given*, else the name of the user on this machine."""
    name = (given or "").strip()
    if not name:
        try:
            name = getpass.getuser().strip()
        except (OSError, KeyError, ImportError):  # a container's user has no name
            name = ""
    if not name:
        raise ConfigError("nobody knows who you are here: use --author NAME or MATBENCH_AUTHOR")
    if len(name) > LONGEST_AUTHOR:
        raise ConfigError(f"the author has {len(name)} characters; {LONGEST_AUTHOR} are possible")
    return name
