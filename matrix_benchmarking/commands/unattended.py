"""What happens by itself after a parse: the ``matbench.lts`` block of the configuration."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import download, lts
from ..errors import ConfigError, MatbenchError, VerdictError
from ..history import delivery, horreum, outbox
from . import outcome, regression, run
from .place import Place, locate, outboxes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..analyze.study import Study
    from ..config import Config
    from ..history import Location
    from ..lts import GoodRuns
    from .options import RunOptions


def after_parse(config: Config, study: Study, selection: RunOptions) -> None:
    """Export the payloads of *study* to the history and to Horreum, and judge them, as far as the configuration says.

    Args:
        study: the parse.
        selection: what was parsed. Results that came by download, or as payloads, were not just measured, and are
            exported only where that is wanted.

    A bad verdict of one of these doesn't keep the others from being done.

    Raises:
        VerdictError: payloads are not valid, something was not kept, or something got worse and that is to fail.
        MatbenchError: the history or the Horreum server can't be used.
    """
    block = config.lts
    export, analysis = block.opensearch.export, block.opensearch.regression_analyses
    if not block.generate or not (export.enabled or block.horreum.test_name or analysis.enabled):
        return
    is_replot = _is_replot(selection)
    verdicts: list[str] = []
    if export.enabled and (export.enabled_on_replot or not is_replot):
        with _noting(verdicts), _tolerant("the export", fails=export.fail_test_on_fail):
            _export(config, study)
    if block.horreum.test_name is not None and not is_replot:
        with _noting(verdicts):
            _post(config, study, block.horreum.test_name)
    if analysis.enabled and not is_replot:
        with _noting(verdicts):
            _analyse(config, study, selection, fails=analysis.fail_test_on_regression)
    if verdicts:
        raise VerdictError("\n".join(dict.fromkeys(verdicts)))


@contextmanager
def _noting(verdicts: list[str]) -> Iterator[None]:
    """Put a bad verdict into *verdicts*."""
    try:
        yield
    except VerdictError as error:
        verdicts.append(str(error))


def _is_replot(selection: RunOptions) -> bool:
    return selection.lts_results_dirname is not None or download.is_downloaded(run.require_results(selection))


def _analyse(config: Config, study: Study, selection: RunOptions, *, fails: bool) -> None:
    """Judge the runs of *study* against the history; the reports go where ``analyze_lts.report_dest`` says."""
    from ..analyze.study import Study
    from ..runs import judging
    from . import publishing

    location = _location(config, "regression_analyses")
    with _tolerant("the regression analysis", fails=fails):
        opening = dataclasses.replace(run.opened(config, selection), history=lambda: location)
        past = opening.read_past(study.matrix)
        known = Study.of(study.matrix, study.workload, past=past, given=opening.context)
        analysis = judging.judge(known, keep=publishing.keeping(location))
        dest, summary = config.get("analyze_lts.report_dest"), config.get("analyze_lts.summary_yaml_dest")
        output = regression.Output(dest and Path(dest), summary and Path(summary), exit_zero=not fails)
        publishing.publish(analysis, known, output, err=True)


def _location(config: Config, key: str) -> Location:
    """The history that the block is about."""
    if config.lts.opensearch.instance is None and config.history is None:
        raise ConfigError(
            f"lts.opensearch.{key} is enabled, and nothing says which history is meant: set "
            "matbench.lts.opensearch.instance or matbench.history"
        )
    # The instance comes first here: this block is about it.
    history = config.history if config.lts.opensearch.instance is None else None
    return locate(config, Place(history=history))


def _export(config: Config, study: Study) -> None:
    location, good = _location(config, "export"), _good_runs(config, study)
    with outcome.accounting_for(good, err=True):
        with run.progress_bar("uploading") as progress:
            delivered = delivery.upload(good.write, location, outboxes(), progress=progress)
        outcome.print_delivered(delivered, str(location), _names(study), err=True)


def _post(config: Config, study: Study, test_name: str) -> None:
    to, good = horreum.server(os.environ), _good_runs(config, study)
    with outcome.accounting_for(good, err=True), tempfile.TemporaryFile() as spool:
        good.write(spool)
        spool.seek(0)
        records = outbox.records(spool, "the payloads")
        pushed = horreum.post(records, to, test_name, horreum.ledgers())
        click.echo(run.printable(f"{to.url}, test '{test_name}': {outcome.counts(pushed)}"), err=True)
        outcome.raise_for(pushed.conflicts, pushed.rejected, _names(study), can_replace=False)


def _good_runs(config: Config, study: Study) -> GoodRuns:
    return lts.GoodRuns(study.workload, study.matrix, keep_going=config.lts.keep_going)


def _names(study: Study) -> dict[str, str]:
    return {str(each.test_uuid): each.name for each in study.matrix}


@contextmanager
def _tolerant(what: str, *, fails: bool) -> Iterator[None]:
    """Turn any failure of *what* into a warning, unless it *fails* the test."""
    try:
        yield
    except MatbenchError as error:
        if fails:
            raise
        run.warn([f"{what} failed: {error}"])
