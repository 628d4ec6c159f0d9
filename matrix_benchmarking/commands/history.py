"""``matbench history``: what is in a history, and the commands that move, prune and deliver what is in one."""

from __future__ import annotations

import collections
import gzip
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import click

from .. import bucket, filters, lts, moments
from ..errors import ConfigError, did_you_mean, needing
from ..files import read_regular
from ..history import (
    History,
    Location,
    OpenSearchLocation,
    SeriesSummary,
    Span,
    Summary,
    delivery,
    moment,
    open_history,
    transfer,
)
from ..history.delivery import Outbox
from ..history.location import SUFFIX, ParquetLocation, is_export
from ..matrix import Matrix
from ..runs.text import PrintedColumn, PrintedTable
from . import upload_lts
from .options import PATH, Command, CommandGroup, configuration, flag, option
from .printing import answer_console, printable, progress_bar, say, warn, write
from .run import start
from .shared_options import Locate, RunOptions, located, place, replace_option

LEAST_FOLDED = 8
SQLITE_HEADER = b"SQLite format 3\0"


@click.group("history", cls=CommandGroup)
def command() -> None:
    """Show what is in a history; export, import, prune and deliver.

    'matbench history' alone is 'matbench history show'.
    """


@command.command("show", cls=Command, section="history_show")
@place
@flag("--series", help="List every KPI by its labels, versions among them.")
def show(locate: Locate, series: bool) -> None:
    """Show what is in a history.

    Workloads, KPIs by their labels (each version by itself), first and last run, its size, and how many alarms nobody
    has dealt with.
    """
    location = locate()
    console = answer_console()
    with open_history(location, writable=False) as history:
        summary = history.summary()
        console.print(printable(f"{location}: {_size(summary.size_bytes)}"))
        console.print(_workloads(summary))
        if series:
            console.print(_series(summary.series))
        alarms = _alarms(history)
    if alarms:
        click.echo(alarms)
    outbox = Outbox(delivery.outboxes(), str(location))
    if outbox.pending():
        warn([delivery.waiting(outbox)])


@command.command("export", cls=Command, section="history_export")
@click.argument("file")
@place
@option(
    "--format",
    config_key="",
    type=click.Choice(["json", "parquet"]),
    help="json: a run a line; parquet: a table, for DuckDB, pandas and mb.open. By FILE's ending unless given.",
)
def export(file: str, locate: Locate, format: str | None) -> None:
    """Write everything of a history to FILE, a path or s3://bucket/name.

    'matbench history import' reads it; JSON is compressed if its name ends in .gz.
    """
    location = locate()
    is_parquet = format == "parquet" or (format is None and file.endswith(SUFFIX))
    if is_parquet and file != "-" and not file.endswith(SUFFIX):
        raise ConfigError(f"'{file}' should end in {SUFFIX}, by which it is found again")
    if os.path.isfile(file) and read_regular(file, len(SQLITE_HEADER)) == SQLITE_HEADER:
        raise ConfigError(f"'{file}' is a SQLite database, perhaps a history: export to another file")
    write_export = _parquet_writer() if is_parquet else transfer.write_export
    written = transfer.Contents(0, 0)
    with open_history(location, writable=False) as history, progress_bar("exporting") as progress:
        total = sum(1 for _ in history.runs())

        def draw(done: int) -> None:
            progress(done, max(total, done))

        def export_to(stream: IO[bytes]) -> None:
            nonlocal written
            if file.endswith(".gz"):
                with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as compressed:
                    written = write_export(history, compressed, progress=draw)
            else:
                written = write_export(history, stream, progress=draw)

        if file.startswith(bucket.BEGINNING):
            with tempfile.NamedTemporaryFile(prefix="matbench-export-") as local:
                export_to(local)
                local.flush()
                bucket.put(Path(local.name), file)
        else:
            write(Path(file), export_to)
    say(f"{location}: {written} exported to {file}", err=True)


def _parquet_writer() -> Callable[..., transfer.Contents]:
    with needing("an export in Parquet", "parquet"):
        from ..history.parquet import write_parquet  # Arrow: a tenth of a second

    return write_parquet


@command.command("import", cls=Command, section="history_import")
@click.argument("file", type=PATH)
@place
@replace_option
@option(
    "--from",
    "tool",
    config_key="",
    metavar="TOOL",
    help="FILE is a directory of results of a tool that micro_bench reads, such as asv.",
)
def import_(file: Path, locate: Locate, replace: bool, tool: str | None) -> None:
    """Keep everything of FILE, an export, in a history. What is there already is not kept twice."""
    location = locate()
    if tool is not None:
        _import_results(file, tool, location, replace)
        return
    imported = _import_table(file, location, replace) if is_export(file) else _import_lines(file, location, replace)
    added, unchanged = imported.alarms_added, imported.alarms_unchanged
    of_alarms = f"; {added} events of alarms added" if added or unchanged else ""
    of_alarms += f", {unchanged} there already" if unchanged else ""
    upload_lts.print_delivered(delivery.Delivered(imported.pushed), str(location), {}, more=of_alarms)


def _import_lines(file: Path, location: Location, replace: bool) -> transfer.Imported:
    total = transfer.contents(file).payloads
    with open_history(location, writable=True) as history, progress_bar("importing") as progress:
        return transfer.read_import(history, file, replace=replace, progress=lambda done: progress(done, total))


def _import_table(file: Path, location: Location, replace: bool) -> transfer.Imported:
    with open_history(ParquetLocation(str(file)), writable=False) as export, progress_bar("importing") as progress:
        total = sum(1 for _ in export.runs())
        with open_history(location, writable=True) as history:
            return transfer.copy(history, export, replace=replace, progress=lambda done: progress(done, total))


def _import_results(directory: Path, tool: str, location: Location, replace: bool) -> None:
    study = start(RunOptions("micro_bench", directory, f"tool={tool}", price=(), workload_option=(), jobs=None))
    good = [entry for entry in study.matrix if not entry.failed]  # what failed long ago is nobody's verdict on today
    past = Matrix(good, unfinished=study.matrix.unfinished)
    upload_lts.upload(lts.GoodRuns(study.workload, past, keep_going=True), location, study, replace=replace)
    if len(good) < len(study.matrix):
        say(f"{len(study.matrix) - len(good)} failed runs left out")


@command.command("prune", cls=Command, section="history_prune")
@place
@option("--before", metavar="TIME", help="Runs before this time: 2026-01-31, an ISO 8601 time, or 90d, 12w ago.")
@option("--keep", type=click.IntRange(min=0), metavar="N", help="All but the newest N runs of each workload.")
@option("--only-workload", metavar="NAME", help="Runs of the workload of this name only.")
@flag("--delete", help="Delete them. Without it nothing is changed.", config_key="")
def prune_(
    locate: Locate,
    before: str | None,
    keep: int | None,
    only_workload: str | None,
    delete: bool,
) -> None:
    """Say which runs would go, and remove them with --delete.

    A run goes if it is too old or beyond the number; one of unknown time is never too old, and goes with its
    upload only. Without either option the months go that lts.opensearch.keep_months lets go.
    """
    location = locate()
    if before is None and keep is None:
        _expire(location, delete=delete)
        return
    before_us = None if before is None else moments.meant_us(before)
    with open_history(location, writable=delete) as history:
        runs = collections.Counter(each.workload for each in history.runs())
        if only_workload is not None and only_workload not in runs:
            raise ConfigError(
                f"{location} has no workload '{only_workload}': {did_you_mean(only_workload, sorted(runs))}"
            )
        chosen = history.prunable(only_workload, before_us=before_us, keep=keep)
        total = runs.total()
        if delete:
            say(f"{location}: {history.delete(chosen)} of {total} runs deleted")
        else:
            say(f"{location}: {len(chosen)} of {total} runs would be deleted (dry run: --delete deletes them)")
        of = {name: count for name, count in runs.items() if only_workload in (None, name)}
        beyond = 0 if keep is None else sum(max(0, count - keep) for count in of.values()) - len(chosen)
        if beyond > 0:
            say(f"  {beyond} more than the number stay: they have no time, and came with others that stay")


def _expire(location: Location, *, delete: bool) -> None:
    if not isinstance(location, OpenSearchLocation) or location.keep_months is None:
        raise ConfigError("nothing says which runs go: use --before TIME, --keep N, or both")
    from ..history.opensearch_indices import expire

    old = expire(location, delete=delete)
    for each in old:
        say(f"{location}: {each.said('was deleted' if delete else 'would be deleted (dry run: --delete deletes it)')}")
    if not old:
        say(f"{location}: no month is older than the {location.keep_months} that are kept")


@command.command("flush", cls=Command, section="history_flush")
@place
@flag("--drop", help="Remove what waits, without delivering it.", config_key="")
def flush(locate: Locate, drop: bool) -> None:
    """Deliver what waits in the outbox.

    Uploads to a history on a server wait there while it is away.
    """
    locations = {str(each): each for each in [locate()]}
    config = configuration()
    if config.lts.opensearch.instance is not None:  # where unattended exports go
        instance = located(config, opensearch_index=click.get_current_context().params["opensearch_index"])
        locations.setdefault(str(instance), instance)
    for name, location in locations.items():
        if drop:
            say(f"{name}: {Outbox(delivery.outboxes(), name).drop()} runs removed from the outbox")
            continue
        with progress_bar("delivering") as progress:
            pushed = delivery.flush(location, delivery.outboxes(), progress)
        if pushed is None:
            say(f"{name}: nothing waits in the outbox")
        else:
            upload_lts.print_delivered(delivery.Delivered(pushed), name, {})


def _alarms(history: History) -> str:
    events = history.alarm_events()
    if not events:
        return ""
    from ..analyze.verdict.lifecycle import known_alarms
    from ..analyze.verdict.model import Status

    counts = collections.Counter(alarm.status for alarm in known_alarms(events).values())
    parts = [f"{counts[each]} {each.value}" for each in (Status.OPEN, Status.ACKNOWLEDGED) if counts[each]]
    return f"Alarms: {', '.join(parts)} ('matbench alarms' lists them)" if parts else ""


_TIMES = [PrintedColumn("First run"), PrintedColumn("Last run")]


def _workloads(summary: Summary) -> PrintedTable:
    numbers = [PrintedColumn(title, is_number=True) for title in ("Runs", "KPIs by labels", "KPI values")]
    return PrintedTable.of(
        [PrintedColumn("Workload", folds_to=LEAST_FOLDED), *numbers, *_TIMES],
        [
            [each.workload, f"{each.runs.count:,}", f"{each.series:,}", f"{each.values:,}", *_span(each.runs)]
            for each in summary.workloads
        ],
    )


def _series(found: Sequence[SeriesSummary]) -> PrintedTable:
    constant: set[str] = set()  # labels that all share, in name, type and value
    if len(found) > 1:
        constant = set.intersection(*(set(map(repr, each.labels.items())) for each in found))
    rows = []
    for each in sorted(found, key=lambda each: (each.workload, each.kpi, repr(each.labels))):
        differing = [item for item in each.labels.items() if repr(item) not in constant]
        labels = [f"{name}={filters.show(value)}" for name, value in differing]
        name = f"{each.kpi} ({each.unit})" if each.unit else each.kpi
        rows.append([name, ", ".join(labels), f"{each.span.count:,}", *_span(each.span)])
    folded = [PrintedColumn(title, folds_to=LEAST_FOLDED) for title in ("KPI", "Labels that differ")]
    return PrintedTable.of([*folded, PrintedColumn("Values", is_number=True), *_TIMES], rows)


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
    from rich.filesize import pick_unit_and_suffix

    unit, name = pick_unit_and_suffix(count, ["bytes", "KiB", "MiB", "GiB"], 1024)
    return f"{count / unit:,.{int(unit > 1)}f} {name}"
