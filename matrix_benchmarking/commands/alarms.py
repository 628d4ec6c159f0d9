"""``matbench alarms``: what got worse and is known of in a history, and the commands by which people deal with it."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from .. import workload as workloads
from ..errors import ConfigError, MatbenchError
from ..history import Query, moment, open_history
from ..history.alarms import Action, system_user
from ..runs.text import PrintedColumn, PrintedTable
from ..workload_code import known_names
from .options import Command, CommandGroup, configuration, flag, option, together
from .printing import answer_console, say
from .run import load_workload
from .shared_options import Locate, place

if TYPE_CHECKING:
    from ..analyze.handling import KPIsByName
    from ..analyze.verdict.lifecycle import Known

LEAST_FOLDED = 8


@click.group("alarms", cls=CommandGroup)
def command() -> None:
    """List alarms; acknowledge, resolve, open them again.

    'matbench alarms' alone is 'matbench alarms list'.
    """


@command.command("list", cls=Command, section="alarms_list")
@place
@option(
    "--workload", config_key="", metavar="NAME", help="Only alarms of this workload: its name, a module or a .py file."
)
@flag("--all", help="List those that are resolved or fixed, too.")
@option(
    "--format",
    type=click.Choice(["table", "json"]),
    default="table",
    metavar="FORMAT",
    help="table, or json for machines.",
)
def list_alarms(locate: Locate, workload: str | None, all: bool, format: str) -> None:
    """List the alarms of a history: open and acknowledged ones, the newest first."""
    from ..analyze.handling import as_data, is_over
    from ..analyze.verdict.lifecycle import known_alarms
    from ..analyze.verdict.model import Status

    location = locate()
    with open_history(location, writable=False) as history:
        wanted = list(known_alarms(history.alarm_events()).values())
        now = dt.datetime.now(dt.UTC)
        over = {one.id for one in wanted if is_over(one, now, history.runs(Query(one.subject.workload)))}
    if workload is not None:  # named as the history names it, or as other commands do
        is_there = any(each.subject.workload == workload for each in wanted)
        name = workload if is_there else load_workload(workload).name
        wanted = [each for each in wanted if each.subject.workload == name]
    order = list(Status)
    shown = [each for each in wanted if all or each.status in (Status.OPEN, Status.ACKNOWLEDGED)]
    shown.sort(key=lambda each: (order.index(each.status), -each.raised_us, each.id))
    if format == "json":
        click.echo(json.dumps([as_data(each, over=each.id in over) for each in shown], indent=2))
        return
    if shown:
        answer_console().print(_table(shown, kpis_of(shown, workload), over))
    hidden = len(wanted) - len(shown)
    more = f"{hidden} resolved or fixed (--all lists them)" if hidden else ""
    if not shown:
        say(f"{location}: {f'no alarm is open; {more}' if more else 'no alarms'}")
    elif more:
        click.echo(more)


def _command(name: str, action: Action, help: str, *more: Callable[[Any], Any]) -> None:
    @command.command(
        name,
        cls=Command,
        section=f"alarms_{name}",
        help=f"{help} ID is the beginning of an alarm's id, of at least four characters.",
    )
    @together(
        *more,
        click.argument("ids", nargs=-1, required=True, metavar="ID..."),
        option("--reason", config_key="", metavar="TEXT", help="Why, in your words; others read it."),
        option(
            "--author",
            config_key="",
            metavar="NAME",
            help="Who says so; the name of the user on this machine if left out.",
        ),
        place,
    )
    def deal(**said: Any) -> None:
        _deal(action, **said)


_command(
    "ack",
    Action.ACKNOWLEDGED,
    "Acknowledge alarms: they are known, and fail no analysis any more.\n\nA further worsening is an alarm of its own.",
    option(
        "--until",
        config_key="",
        metavar="VERSION|DATE",
        help="Up to this version, or the end of a day (2026-01-31, tomorrow, '2 weeks'; UTC); for always if left out.",
    ),
)
_command(
    "resolve",
    Action.RESOLVED,
    "Resolve alarms: they are dealt with, by a fix or because the new level is the one that is wanted.\n\n",
)
_command("reopen", Action.REOPENED, "Open alarms again that were acknowledged, resolved or fixed.\n\n")
_command("comment", Action.COMMENTED, "Say something of alarms, which stay what they are.\n\n")


def _deal(
    action: Action,
    locate: Locate,
    ids: tuple[str, ...],
    author: str | None,
    reason: str | None,
    until: str | None = None,
) -> None:
    """Keep that *author* did *action* to the alarms *ids*: to all of them or, where one can't be, to none."""
    from ..analyze.handling import about, standing
    from ..runs.judging import deal

    if not (reason or "").strip() and action is not Action.REOPENED:
        raise ConfigError("no reason given: use --reason TEXT, so that others know why")
    location = locate()
    author = (author or "").strip() or system_user()
    if not author:
        raise ConfigError("nobody knows who you are here: use --author NAME or MATBENCH_AUTHOR")
    chosen, notes = deal(location, action, ids, author=author, reason=reason, until=until)
    kpis = kpis_of(chosen)
    for each in chosen:
        what = about(each.subject, kpis.get(each.subject.workload, {}))
        say(f"{each.id} {what}: {standing(each)}")
    for note in notes:
        say(note)


def kpis_of(alarms: Iterable[Known], given: str | None = None) -> dict[str, KPIsByName]:
    """The KPIs by workload, to show levels as they ask for; what only the history names is not imported."""
    configured = configuration().workload
    trusted = {given, configured, *known_names()}
    found: dict[str, KPIsByName] = {}
    for name in filter(None, dict.fromkeys([given, configured, *(each.subject.workload for each in alarms)])):
        if name in trusted:
            try:
                loaded = workloads.load(name)
            except MatbenchError:
                continue
            found.setdefault(loaded.name, loaded.kpis)
    return found


def _table(alarms: Sequence[Known], kpis: Mapping[str, KPIsByName], over: Collection[str] = ()) -> PrintedTable:
    from ..analyze.handling import levels, standing

    has_several = len({each.subject.workload for each in alarms}) > 1
    folding = [*(["Workload"] if has_several else []), "KPI", "Series", "First bad", "Levels"]
    columns = [PrintedColumn("Alarm"), *(PrintedColumn(title, folds_to=LEAST_FOLDED) for title in folding)]
    columns += [PrintedColumn("Raised"), PrintedColumn("Status", folds_to=LEAST_FOLDED)]
    rows = []
    for each in alarms:
        subject = each.subject
        named = [each.id, *([subject.workload] if has_several else []), subject.kpi, subject.series, subject.first_bad]
        raised = f"{moment(each.raised_us):%Y-%m-%d}"
        rows.append(
            [*named, levels(subject, kpis.get(subject.workload, {})), raised, standing(each, over=each.id in over)]
        )
    return PrintedTable.of(columns, rows)
