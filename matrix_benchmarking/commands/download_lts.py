"""``matbench download_lts``: a history in; a directory of LTS payloads out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import filters as filtering
from .. import lts, moments
from ..errors import ConfigError
from ..history import Query, open_history, transfer
from .options import Command, flag, is_typed, option
from .printing import say, write
from .run import load_workload
from .shared_options import Locate, place, since_option, workload_option

if TYPE_CHECKING:
    from ..filters import Filters
    from ..history import History

TABLE = "lts.parquet"


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
def command(
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
        made, frame = f", and {table}", lts.read_matrix(chosen, lts_results_dirname).to_dataframe()
        write(table, lambda stream: lts.write_table(frame, stream, table))
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
