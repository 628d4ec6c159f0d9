"""``matbench upload_lts``, ``download_lts``, ``generate_lts_schema``: LTS payloads go to a history and come back."""

from __future__ import annotations

import json
from pathlib import Path

import click

from .. import filters as filtering
from .. import lts, moments
from ..analyze import check
from ..errors import ConfigError
from ..filters import Filters
from ..history import History, Query, delivery, open_history, transfer
from . import outcome, run
from .options import FILE_OR_STDOUT, Command, flag, is_typed, option
from .printing import say, write
from .run import load_workload
from .shared_options import (
    Locate,
    RunOptions,
    lts_results,
    place,
    replace_option,
    selection,
    since_option,
    workload_option,
)

TABLE = "lts.parquet"


@click.command("upload_lts", cls=Command)
@selection
@lts_results
@place
@flag("--dry-run", help="Say what would be kept; change nothing.")
@replace_option
@flag(
    "--keep-going",
    config_key="lts.keep_going",
    help="Keep the other runs where one that claims success has no valid payload; the exit status is 1 all the same.",
)
@flag("--upload-by-kpi", help="Taken for MatrixBenchmarking's sake: each KPI becomes a record of its own in any case.")
@flag(
    "--fail-test-on-fail",
    config_key="lts.opensearch.export.fail_test_on_fail",
    help="Fail if the server is away; else the payloads wait in the outbox, with a warning.",
    default=True,
)
def upload_lts(
    selection: RunOptions,
    locate: Locate,
    dry_run: bool,
    replace: bool,
    keep_going: bool,
    upload_by_kpi: bool,
    fail_test_on_fail: bool,
) -> None:
    """Keep the LTS payloads of a results directory in a history.

    A run that says itself that it failed, or that did not finish, is left out and named. Payloads are strict: any
    problem in a run that claims success, and nothing is kept, unless --keep-going. A payload that is there already is
    not kept twice, and a newer computation takes the place of an older one. If the server is away, payloads wait in
    the outbox for the next upload or 'matbench history flush'.
    """
    location = locate()
    study = run.start(selection)
    good = lts.GoodRuns(study.workload, study.matrix, keep_going=keep_going)
    try:
        if dry_run:
            with outcome.accounting_for(good):
                foreseen = delivery.dry_run(good.write, location, replace=replace)
                outcome.print_dry_run(foreseen, str(location), outcome.names_of(study))
        else:
            outcome.upload(good, location, study, replace=replace, fails=fail_test_on_fail)
    finally:
        say(check.about(study.findings))


@click.command("download_lts", cls=Command)
@option(
    "--lts-results-dirname",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The directory that the payloads are written to.",
)
@workload_option
@place
@option("--filters", metavar="FILTERS", help="Only runs with these settings: hw_type=cpu-1:cpu-2,batch_size=32.")
@since_option
@option("--max-records", type=click.IntRange(min=1), metavar="N", help="At most so many, the newest ones.")
@flag("--parquet", help=f"Write {TABLE} as well: a table of the settings and KPIs of all payloads in the directory.")
@flag("--force", help="Write into a directory that holds other things.")
@flag("--clean", help="Remove the files of earlier downloads that are not among these runs.")
def download_lts(
    lts_results_dirname: Path | None,
    workload: str | None,
    locate: Locate,
    filters: str | None,
    since: str | None,
    max_records: int | None,
    parquet: bool,
    force: bool,
    clean: bool,
) -> None:
    """Write the LTS payloads of a history to files.

    'parse --lts', 'visualize' and 'analyze_lts' read them with --lts-results-dirname.
    """
    if lts_results_dirname is None:
        raise ConfigError("no directory given: use --lts-results-dirname DIR or MATBENCH_LTS_RESULTS_DIRNAME")
    parquet = parquet or (lts_results_dirname / TABLE).exists()  # one of an earlier download would be stale
    if parquet:
        lts.check_table_file(lts_results_dirname / TABLE)
    chosen = load_workload(workload)
    since_us = None if since is None else moments.meant_us(since)
    query = Query(chosen.name, filtering.parse(filters or ""), since_us, max_records)
    location = locate()
    with open_history(location, writable=False) as history:
        if is_typed("filters"):
            _check_values(history, chosen.name, query.filters)
        written = transfer.write_payloads(history.records(query), lts_results_dirname, force=force, clean=clean)
    total = written.written + written.unchanged
    if total == 0:
        raise ConfigError(f"no run of workload '{chosen.name}' in {location} is selected")
    made = ""
    if parquet:
        table = lts_results_dirname / TABLE
        made, matrix = f", and {table}", lts.read_matrix(chosen, lts_results_dirname)
        write(table, lambda stream: lts.write_table(matrix, stream, table))
    say(
        f"{lts_results_dirname}: {total} payloads ({written.written} written, {written.unchanged} there already"
        f"{f', {written.removed} removed' if written.removed else ''}){made}"
    )


def _check_values(history: History, workload: str, filters: Filters) -> None:
    """Raise ConfigError for a value of a filter that no run of the workload has, be it beside others that some have."""
    for name, values in filters.items():
        for value in values if len(values) > 1 else ():
            if next(history.runs(Query(workload, {name: (value,)}, None, 1)), None) is None:
                raise ConfigError(f"no run of workload '{workload}' in {history.location} has {name}={value.text}")


@click.command("generate_lts_schema", cls=Command)
@workload_option
@option("--file", **FILE_OR_STDOUT, default="-", help="Where the schema is written; - is standard output.")
def generate_lts_schema(workload: str | None, file: Path) -> None:
    """Write the JSON Schema (2020-12) of a workload's LTS payloads.

    It describes one payload, and accepts an array of payloads, as --output-lts writes it, too.
    """
    schema = lts.payload_schema(load_workload(workload))
    text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    write(file, lambda stream: stream.write(text.encode()))
