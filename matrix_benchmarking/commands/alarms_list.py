"""``matbench alarms list``: the alarms of a history as a table, or as JSON."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING

import click

from .. import workload
from ..errors import MatbenchError
from ..history import moment, open_history
from . import run
from .options import Command, Invocation, common, flag, option
from .place import Place, locate, place

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.table import Table

    from ..analyze.verdict.alarm_wording import KPIs
    from ..analyze.verdict.lifecycle import Known
    from ..config import Config


@click.command("list", cls=Command, section="alarms_list")
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
@common
@click.pass_obj
def command(invocation: Invocation, place: Place, workload: str | None, all: bool, format: str) -> None:
    """List the alarms of a history: open and acknowledged ones, the newest first."""
    from ..analyze.verdict.alarm_wording import as_data
    from ..analyze.verdict.lifecycle import known_alarms
    from ..analyze.verdict.model import Status

    assert invocation.config is not None
    location = locate(invocation.config, place)
    with open_history(location, writable=False) as history:
        known = known_alarms(history.alarm_events())
    wanted = _of_workload(list(known.values()), workload)
    order = list(Status)
    shown = [each for each in wanted if all or each.status in (Status.OPEN, Status.ACKNOWLEDGED)]
    shown.sort(key=lambda each: (order.index(each.status), -each.raised_us, each.id))
    if format == "json":
        click.echo(json.dumps([as_data(each) for each in shown], indent=2))
        return
    if shown:
        console = run.answer_console()
        console.print(_table(shown, kpis_of(shown, invocation.config, workload)))
    hidden = len(wanted) - len(shown)
    more = f"{hidden} resolved or fixed (--all lists them)" if hidden else ""
    if not shown:
        click.echo(run.printable(f"{location}: {f'no alarm is open; {more}' if more else 'no alarms'}"))
    elif more:
        click.echo(more)


def kpis_of(alarms: Iterable[Known], config: Config, given: str | None = None) -> dict[str, KPIs]:
    """The KPIs by workload, to show levels as they ask for: of the workload that is given, configured or installed.

    What only the history names is not imported.
    """
    installed = set(workload.known_names())
    found: dict[str, KPIs] = {}
    for name in filter(None, dict.fromkeys([given, config.workload, *(each.subject.workload for each in alarms)])):
        if name in (given, config.workload) or name in installed:
            try:
                loaded = workload.load(name)
            except MatbenchError:
                continue
            found.setdefault(loaded.name, loaded.kpis)
    return found


def _of_workload(known: Sequence[Known], workload: str | None) -> Sequence[Known]:
    """Those of the workload that is named as the history names it, or as other commands do."""
    if workload is None:
        return known
    if not any(each.subject.workload == workload for each in known):
        workload = run.load_workload(workload).name
    return [each for each in known if each.subject.workload == workload]


def _table(alarms: Sequence[Known], kpis: Mapping[str, KPIs]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from ..analyze.verdict.alarm_wording import levels, standing

    has_several = len({each.subject.workload for each in alarms}) > 1
    table = Table()
    table.add_column("Alarm", no_wrap=True)
    for name in [*(["Workload"] if has_several else []), "KPI", "Series", "First bad", "Levels"]:
        table.add_column(name, overflow="fold")
    table.add_column("Raised", no_wrap=True)
    table.add_column("Status", overflow="fold")
    now = dt.datetime.now(dt.UTC)
    for each in alarms:
        subject = each.subject
        cells = [
            each.id,
            *([subject.workload] if has_several else []),
            *(subject.kpi, subject.series, subject.first_bad, levels(subject, kpis.get(subject.workload, {}))),
            f"{moment(each.raised_us):%Y-%m-%d}",
            standing(each, now),
        ]
        table.add_row(*(Text(run.printable(cell)) for cell in cells))
    return table
