"""``matbench parse``: a results tree in; matrix, LTS payloads, metrics or a table out."""

from __future__ import annotations

import dataclasses
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click
import msgspec

from .. import lts as long_term_storage
from .. import store
from ..analyze import check
from ..analyze.words import count_of
from ..download_record import is_downloaded
from ..errors import ConfigError, MatbenchError, VerdictError
from ..history import Location, delivery
from . import run, upload_lts
from .options import DIR, FILE_OR_STDOUT, Command, configuration, flag, option
from .printing import STDOUT, as_warnings, check_outputs, say, show, warn, write
from .shared_options import AnalysisOutput, RunOptions, headline_option, ignored_option, located, lts_results, selection

if TYPE_CHECKING:
    from ..analyze.study import Study


@click.command("parse", cls=Command)
@selection
@lts_results
@headline_option
@ignored_option
@flag("--lts", help="Read LTS payloads instead of artifacts, from --lts-results-dirname, else --results-dirname.")
@option("--output-matrix", **FILE_OR_STDOUT, help="Write all entries as JSON.")
@option("--output-lts", **FILE_OR_STDOUT, help="Write the LTS payloads as a JSON array; strict.")
@option("--output-openmetrics", **FILE_OR_STDOUT, help="Write the KPIs as OpenMetrics text.")
@option("--output-table", **FILE_OR_STDOUT, help="Write all entries as a table: .parquet or .csv.")
@option("--output-report", **DIR, help="Write the runs to this directory in a format that other tools read.")
@flag("--pretty", help="Indent the JSON.")
@flag("--clean", help="Remove the caches of the results directory, and stop.")
def command(
    selection: RunOptions,
    lts: bool,
    output_matrix: Path | None,
    output_lts: Path | None,
    output_openmetrics: Path | None,
    output_table: Path | None,
    output_report: Path | None,
    pretty: bool,
    clean: bool,
) -> None:
    """Parse a results directory.

    Prints the best configuration, unless an output goes to standard output (FILE is "-"). LTS payloads
    are strict: any problem in any test, and nothing at all is written.
    """
    if lts and selection.lts_results_dirname is None:
        selection = msgspec.structs.replace(selection, lts_results_dirname=run.require_results(selection))
    if clean:
        root = run.require_results(selection)
        removed = store.clean(run.load_workload(selection.workload), root)
        click.echo(f"removed {removed} cache {'file' if removed == 1 else 'files'} of {root}", err=True)
        return
    files = [output_matrix, output_lts, output_openmetrics, output_table]
    check_outputs(files)
    if output_table is not None:
        long_term_storage.check_table_file(output_table)

    if output_report is not None and run.load_workload(selection.workload).exchange is None:
        raise ConfigError(f"--output-report: workload '{selection.workload}' has no format that other tools read")
    study = run.start(selection)
    workload, matrix = study.workload, study.matrix
    outputs: list[tuple[Path | None, Callable[[IO[bytes]], object]]] = [
        (output_lts, lambda stream: long_term_storage.write_payloads(workload, matrix, stream, pretty=pretty)),
        (output_matrix, lambda stream: long_term_storage.write_matrix(matrix, stream, pretty=pretty)),
        (output_openmetrics, lambda stream: warn(long_term_storage.write_openmetrics(workload, matrix, stream))),
        (
            output_table,
            lambda stream: long_term_storage.write_table(matrix.to_dataframe(), stream, output_table or STDOUT),
        ),
    ]
    for file, content in outputs:
        if file is not None:
            write(file, content)
    written = [str(file) for file in files if file not in (None, STDOUT)]
    if written and sys.stderr.isatty():
        say(f"Written: {', '.join(written)}.", err=True)
    if output_report is not None:
        reports, left_out = long_term_storage.write_reports(workload, matrix, output_report)
        say(f"{output_report}: {count_of(reports, 'report')}.", err=True)
        warn(left_out)
    if STDOUT not in files:
        from ..runs.runs import Runs

        show(Runs(study).best())
    else:
        say(check.about(study.findings, check.AnswerKind.BEST), err=True)
    _unattended(study, selection)
    if not study.filters and not matrix.entries:
        raise VerdictError("no test is finished and can be read")


def _unattended(study: Study, selection: RunOptions) -> None:
    """Export the payloads of *study*, and judge them, as far as the configuration says."""
    block = configuration().lts
    export, analysis = block.opensearch.export, block.analyses
    if not block.generate or not (export.enabled or block.horreum.test_name or analysis.enabled):
        return
    is_replot = selection.lts_results_dirname is not None or is_downloaded(run.require_results(selection))
    errors: list[MatbenchError] = []
    if export.enabled and (export.enabled_on_replot or not is_replot):
        with _noting(errors), as_warnings(MatbenchError, "the export failed: ", unless=export.fail_test_on_fail):
            upload_lts.upload(_good_runs(study), _location("export"), study, err=True)
    if block.horreum.test_name is not None and not is_replot:
        with _noting(errors):
            _post(study, block.horreum.test_name)
    if analysis.enabled and (analysis.enabled_on_replot or not is_replot):
        with _noting(errors):
            _analyse(study, selection, fails=analysis.fail_test_on_regression)
    if errors:
        kind = VerdictError if all(isinstance(error, VerdictError) for error in errors) else MatbenchError
        raise kind("\n".join(dict.fromkeys(map(str, errors))))


@contextmanager
def _noting(errors: list[MatbenchError]) -> Iterator[None]:
    try:
        yield
    except MatbenchError as error:
        errors.append(error)


def _analyse(study: Study, selection: RunOptions, *, fails: bool) -> None:
    from ..analyze.study import Study
    from ..runs import judging
    from . import publishing

    location = _location("regression_analyses")
    with as_warnings(MatbenchError, "the regression analysis failed: ", unless=fails):
        opening = dataclasses.replace(run.opened(selection), of=study.workload, history=lambda: location)
        past = opening.read_past(study.matrix)
        known = Study.of(study.matrix, study.workload, filters=opening.parsed_filters, past=past, given=opening.given)
        analysis = judging.judge(known, keep_in=location, warn=warn)
        config = configuration()
        dest, summary = config.get("analyze_lts.report_dest"), config.get("analyze_lts.summary_yaml_dest")
        output = AnalysisOutput(dest and Path(dest), summary and Path(summary), exit_zero=not fails)
        publishing.publish(analysis, known, output, err=True)


def _location(key: str) -> Location:
    config = configuration()
    if config.lts.opensearch.instance is None and config.history is None:
        raise ConfigError(
            f"lts.opensearch.{key} is enabled, and nothing says which history is meant: set "
            "matbench.lts.opensearch.instance or matbench.history"
        )
    # The instance comes first here: this block is about it.
    history = config.history if config.lts.opensearch.instance is None else None
    return located(config, history)


def _good_runs(study: Study) -> long_term_storage.GoodRuns:
    return long_term_storage.GoodRuns(study.workload, study.matrix, keep_going=configuration().lts.keep_going)


def _post(study: Study, test_name: str) -> None:
    from ..history import horreum  # urllib3: 20 ms of every parse

    to, good = horreum.server(os.environ), _good_runs(study)
    with upload_lts.accounting_for(good, err=True), tempfile.TemporaryFile() as spool:
        good.write(spool)
        spool.seek(0)
        records = delivery.records(spool, "the payloads")
        pushed = horreum.post(records, to, test_name, horreum.ledgers())
        say(f"{to.url}, test '{test_name}': {upload_lts.counts(pushed)}", err=True)
        upload_lts.raise_for(pushed.conflicts, pushed.rejected, upload_lts.names_of(study), can_replace=False)
