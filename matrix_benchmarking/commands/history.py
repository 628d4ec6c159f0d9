"""``matbench history``: what is in a history, and the commands that move, prune and deliver what is in one."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import click

from ..filters import show as shown
from ..history import moment, open_history
from ..history.outbox import Outbox
from . import run
from .history_export import command as export_command
from .history_flush import command as flush_command
from .history_import import command as import_command
from .history_prune import command as prune_command
from .options import Command, Group, Invocation, common, flag
from .place import Place, locate, outboxes, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from ..history import History, SeriesSummary, Span, Summary


@click.group("history", cls=Group)
def command() -> None:
    """Show what is in a history; export, import, prune and deliver.

    'matbench history' alone is 'matbench history show'.
    """


@click.command("show", cls=Command, section="history_show")
@place
@flag("--series", help="List every KPI by its labels, versions among them.")
@common
@click.pass_obj
def show(invocation: Invocation, place: Place, series: bool) -> None:
    """Show what is in a history.

    Workloads, KPIs by their labels (each version by itself), first and last run, its size, and how many alarms nobody
    has dealt with.
    """
    assert invocation.config is not None
    location = locate(invocation.config, place)
    console = run.answer_console()
    with open_history(location, writable=False) as history:
        summary = history.summary()
        console.print(run.printable(f"{location}: {_size(summary.size_bytes)}"))
        console.print(_workloads(summary))
        if series:
            console.print(_series(summary.series))
        alarms = _alarms(history)
    if alarms:
        click.echo(alarms)
    waiting = Outbox(outboxes(), str(location)).pending()
    if waiting:
        runs = "1 run waits" if waiting == 1 else f"{waiting} runs wait"
        run.warn([f"{runs} in the outbox: 'matbench history flush' delivers"])


for each in (show, export_command, import_command, prune_command, flush_command):
    command.add_command(each)


def _alarms(history: History) -> str:
    """How many alarms are open and acknowledged; empty where there are none."""
    events = history.alarm_events()
    if not events:
        return ""
    from ..analyze.verdict.lifecycle import known_alarms
    from ..analyze.verdict.model import Status

    counts = collections.Counter(alarm.status for alarm in known_alarms(events).values())
    parts = [f"{counts[each]} {each.value}" for each in (Status.OPEN, Status.ACKNOWLEDGED) if counts[each]]
    return f"Alarms: {', '.join(parts)} ('matbench alarms' lists them)" if parts else ""


def _workloads(summary: Summary) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table()
    table.add_column("Workload", overflow="fold")
    for name in ("Runs", "KPIs by labels", "KPI values"):
        table.add_column(name, justify="right")
    table.add_column("First run")
    table.add_column("Last run")
    for each in summary.workloads:
        table.add_row(
            Text(run.printable(each.workload)),
            f"{each.runs.count:,}",
            f"{each.series:,}",
            f"{each.values:,}",
            *_span(each.runs),
        )
    return table


def _series(found: Sequence[SeriesSummary]) -> Table:
    from rich.table import Table
    from rich.text import Text

    constant = _constant_labels(found)
    table = Table()
    table.add_column("KPI", overflow="fold")
    table.add_column("Labels that differ", overflow="fold")
    table.add_column("Values", justify="right")
    table.add_column("First run")
    table.add_column("Last run")
    for each in sorted(found, key=lambda each: (each.workload, each.kpi, repr(each.labels))):
        labels = ", ".join(f"{name}={shown(value)}" for name, value in each.labels.items() if name not in constant)
        name = f"{each.kpi} ({each.unit})" if each.unit else each.kpi
        row = [Text(run.printable(name)), Text(run.printable(labels))]
        table.add_row(*row, f"{each.span.count:,}", *_span(each.span))
    return table


def _constant_labels(found: Sequence[SeriesSummary]) -> set[str]:
    """Labels that all of *found* share, in name, type and value."""
    if len(found) < 2:
        return set()
    first, *others = found
    return {
        name
        for name, value in first.labels.items()
        if all(name in each.labels and repr(each.labels[name]) == repr(value) for each in others)
    }


def _span(of: Span) -> tuple[str, str]:
    return _time(of.first_us), _time(of.last_us)


def _time(time_us: int | None) -> str:
    if time_us is None:
        return "unknown"
    try:
        return f"{moment(time_us):%Y-%m-%d %H:%M} UTC"
    except (TypeError, OverflowError):  # of a row that somebody edited
        return "no time"


def _size(count: int) -> str:
    size, units = float(count), ["bytes", "KiB", "MiB", "GiB"]
    while size >= 1024 and len(units) > 1:
        size, units = size / 1024, units[1:]
    return f"{size:,.0f} {units[0]}" if units[0] == "bytes" else f"{size:,.1f} {units[0]}"
