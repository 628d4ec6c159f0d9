"""An analysis is printed, written as reports, kept in the history; its verdict is the exit status.

It needs numpy and what draws pages, so commands import it when they are carried out.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

import click

from ..analyze import check
from ..analyze.report import files
from ..analyze.report.schema import schema
from ..analyze.select.selection import not_judged
from ..analyze.study import Study
from ..analyze.verdict.model import Analysis
from ..analyze.verdict.wording import headline, lead
from ..errors import ConfigError, MatbenchError, VerdictError
from ..history import Location, open_history
from ..history.alarms import AlarmEvent
from ..plotting import beside
from ..plotting.regression_page import write_regression_page
from ..runs import judging
from ..runs.answers import AnalysisAnswer
from ..runs.judging import Keep
from ..workload import Workload
from . import ci, run
from .options import TYPED, strength
from .regression import Output


def check_kpi_filter(patterns: Sequence[str], workload: Workload) -> None:
    """Raise ConfigError where a person typed a name of no KPI; the analysis notes one out of the configuration."""
    if strength(click.get_current_context(), "kpi_filter") < TYPED:
        return
    try:
        judging.check_kpi_filter(patterns, workload)
    except ConfigError as error:
        raise ConfigError(f"--kpi-filter: {error}") from error


def keeping(location: Location) -> Keep:
    """Keeps the alarms that were raised or fixed; a history that can't be written to is a warning."""

    def keep(events: Sequence[AlarmEvent]) -> None:
        try:
            with open_history(location, writable=True) as history:
                history.record_alarms(events)
        except MatbenchError as error:
            run.warn([f"the alarms could not be kept in the history: {error}"])

    return keep


def publish(analysis: Analysis, study: Study, output: Output, *, is_pair: bool = False, err: bool = False) -> None:
    """Print the analysis, write its reports, tell the CI service.

    Args:
        study: the runs that were analysed; what is odd about them is said with the verdict.
        is_pair: one build was compared with another.
        err: the verdict goes to stderr.

    Raises:
        VerdictError: something is worse that nobody dealt with, or a version that was just measured has no good run,
            and that is to be an error.
        ConfigError: nothing could be analysed.
    """
    answer = check.Answer.PAIR if is_pair else check.Answer.HISTORY
    analysis = dataclasses.replace(analysis, check=check.counted(study.findings, answer))
    if err:
        click.echo(run.printable(" ".join([*lead(analysis), check.line(analysis.check)])), err=True)
    else:
        run.show(AnalysisAnswer(analysis))
    write(analysis, study, output, err=err)
    ci.publish(analysis)
    if not analysis.verdicts:
        reasons = "; ".join(dict.fromkeys([one.reason for one in analysis.not_analysed[:3]] or analysis.notes[:3]))
        raise ConfigError(f"nothing could be analysed{f': {reasons}' if reasons else ''}")
    without = [] if is_pair else _just_measured_and_failed(study)
    failed = analysis.failed or (output.fail_on_suspected and bool(analysis.suspected))
    if (failed or without) and not output.exit_zero:
        lines = [headline(analysis)] if failed else []
        raise VerdictError(
            "\n".join([*lines, *(f"{version} has no good run: it was not judged" for version in without)])
        )


def _just_measured_and_failed(study: Study) -> list[str]:
    """The versions of the results at hand, beside a history, that have no good run anywhere."""
    if all(entry.kept_in is None for entry in study.runs):
        return []
    return not_judged(study.runs.entries, study.workload)


def write(analysis: Analysis, study: Study, output: Output, *, err: bool = False) -> None:
    """Write the reports that *output* asks for, and say where they are."""
    if output.reports is not None:
        page = write_regression_page(analysis, study, output.reports)
        written = [page, *files.write_reports(analysis, output.reports)]
        beside.link(output.reports.absolute().parent)
        click.echo(
            f"Reports: {run.printable(str(page))} and {len(written) - 1} files for CI services beside it", err=err
        )
    if output.summary is not None:
        files.write_summary(analysis, output.summary)


def print_schema() -> None:
    """Print the JSON Schema of regression.json."""
    click.echo(json.dumps(schema(), indent=2))
