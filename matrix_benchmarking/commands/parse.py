"""``matbench parse``: a results tree in; matrix, LTS payloads, metrics or a table out."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from .. import lts as long_term_storage
from .. import store
from ..analyze import check
from . import outputs, run
from .options import Command, Invocation, RunOptions, common, flag, lts_results, option, selection
from .unattended import after_parse

if TYPE_CHECKING:
    from ..analyze.study import Study


@click.command("parse", cls=Command)
@selection
@lts_results
@flag("--lts", help="Read LTS payloads instead of artifacts, from --lts-results-dirname, else --results-dirname.")
@option("--output-matrix", type=outputs.FILE, metavar="FILE", help="Write all entries as JSON.")
@option("--output-lts", type=outputs.FILE, metavar="FILE", help="Write the LTS payloads as a JSON array; strict.")
@option("--output-openmetrics", type=outputs.FILE, metavar="FILE", help="Write the KPIs as OpenMetrics text.")
@option("--output-table", type=outputs.FILE, metavar="FILE", help="Write all entries as a table: .parquet or .csv.")
@flag("--pretty", help="Indent the JSON.")
@flag("--clean", help="Remove the caches of the results directory, and stop.")
@common
@click.pass_obj
def command(
    invocation: Invocation,
    selection: RunOptions,
    lts: bool,
    output_matrix: Path | None,
    output_lts: Path | None,
    output_openmetrics: Path | None,
    output_table: Path | None,
    pretty: bool,
    clean: bool,
) -> None:
    """Parse a results directory.

    Prints the best configuration, unless an output goes to standard output (FILE is "-"). LTS payloads
    are strict: any problem in any test, and nothing at all is written.
    """
    assert invocation.config is not None
    if lts and selection.lts_results_dirname is None:
        selection = dataclasses.replace(selection, lts_results_dirname=run.require_results(selection))
    if clean:
        _clean(selection)
        return
    files = [output_matrix, output_lts, output_openmetrics, output_table]
    outputs.check(files)
    if output_table is not None:
        long_term_storage.check_table_file(output_table)

    study = run.start(invocation.config, selection)
    workload, matrix = study.workload, study.matrix
    if output_lts is not None:
        outputs.write(
            output_lts, lambda stream: long_term_storage.write_payloads(workload, matrix, stream, pretty=pretty)
        )
    if output_matrix is not None:
        outputs.write(output_matrix, lambda stream: store.write_matrix(matrix, stream, pretty=pretty))
    if output_openmetrics is not None:
        outputs.write(output_openmetrics, lambda stream: _openmetrics(study, stream))
    if output_table is not None:
        table = output_table
        outputs.write(table, lambda stream: long_term_storage.write_table(matrix, stream, table))
    if outputs.STDOUT not in files:
        from ..runs.runs import Runs

        run.show(Runs(study).best())
    else:
        click.echo(run.printable(check.about(study.findings, check.Answer.BEST)), err=True)
    after_parse(invocation.config, study, selection)


def _openmetrics(study: Study, stream: IO[bytes]) -> None:
    run.warn(long_term_storage.write_openmetrics(study.workload, study.matrix, stream))


def _clean(selection: RunOptions) -> None:
    root = run.require_results(selection)
    removed = store.clean(run.load_workload(selection.workload), root)
    click.echo(f"removed {removed} cache {'file' if removed == 1 else 'files'} of {root}", err=True)
