"""What the commands share that say whether something got worse: options, the history's alarms, reports, exit status."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import ConfigError, MatbenchError, VerdictError
from . import run
from .options import TYPED, Selection, UsedHistory, flag, option, strength
from .place import Place, locate, reads_history

if TYPE_CHECKING:
    from ..analyze.study import Study
    from ..analyze.verdict.model import Analysis
    from ..config import Config
    from ..history import Location
    from ..history.alarms import AlarmEvent
    from ..runs.judging import Keep
    from ..workload import Workload

C = TypeVar("C", bound=Callable[..., Any])

strength_of = strength
WORSE, SUSPECTED = "worse", "suspected"


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    """Where an analysis is written to, and whether a regression is an error.

    Attributes:
        reports: directory of the reports; None for none.
        summary: file of the summary YAML; None for none.
        exit_zero: a regression is reported and is no error.
        fail_on_suspected: what is suspected is an error, too.
    """

    reports: Path | None
    summary: Path | None
    exit_zero: bool
    fail_on_suspected: bool = False


class Names(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4 only
    """Names separated by commas."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        texts = value if isinstance(value, list) else str(value).split(",")
        names = tuple(name for text in texts if (name := str(text).strip()))
        if texts and not names:
            self.fail(f"{value!r} holds no name; leave the option out for all", param, ctx)
        return names


def kpi_filter(function: C) -> C:
    """``--kpi-filter``; the command gets a tuple of patterns."""
    help = "Only these KPIs, separated by commas; * stands for any characters: throughput,*_latency."
    return option("--kpi-filter", type=Names(), default=(), metavar="NAMES", help=help)(function)


def reports(function: C) -> C:
    """The options that say where the analysis goes; the command gets them as one argument ``output``."""

    @functools.wraps(function)
    def with_output(
        *args: Any,
        report_dest: Path | None,
        summary_yaml_dest: Path | None,
        exit_zero: bool,
        fail_on: str,
        **others: Any,
    ) -> Any:
        output = Output(report_dest, summary_yaml_dest, exit_zero, fail_on == SUSPECTED)
        return function(*args, output=output, **others)

    path = click.Path(path_type=Path)
    decorators: list[Callable[[Any], Any]] = [
        option(
            "--report-dest",
            type=path,
            metavar="DIR",
            help="Write the reports to this directory: index.html, and what CI services read.",
        ),
        option(
            "--summary-yaml-dest", type=path, metavar="FILE", help="Write MatrixBenchmarking's summary to this file."
        ),
        option(
            "--fail-on",
            type=click.Choice([WORSE, SUSPECTED]),
            default=WORSE,
            metavar="WORD",
            help="worse, or suspected: end with exit status 1 for what one block of runs alone supports, too.",
        ),
        flag("--exit-zero", help="Report a regression, and end with exit status 0 all the same."),
    ]
    decorated: Any = with_output
    for decorator in reversed(decorators):
        decorated = decorator(decorated)
    result: C = decorated
    return result


def reads_some_history(config: Config, place: Place, selection: Selection) -> Selection:
    """*selection* with the history that is named, else with the default one where nothing else is named."""
    used = reads_history(config, place, selection)
    if used.history is not None or selection.results_dirname is not None or selection.lts_results_dirname is not None:
        return used
    located = functools.cache(lambda: locate(config, place))
    return dataclasses.replace(selection, history=UsedHistory(located, is_matrix=True, is_required=True))


def check_kpi_filter(patterns: Sequence[str], workload: Workload) -> None:
    """Raise ConfigError where a person typed a name of no KPI; the analysis notes one out of the configuration."""
    from ..runs import judging

    if strength(click.get_current_context(), "kpi_filter") < TYPED:
        return
    try:
        judging.check_kpi_filter(patterns, workload)
    except ConfigError as error:
        raise ConfigError(f"--kpi-filter: {error}") from error


def keeping(location: Location) -> Keep:
    """Keeps the alarms that were raised or fixed; a history that can't be written to is a warning."""

    def keep(events: Sequence[AlarmEvent]) -> None:
        from ..history import open_history

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
    from ..analyze import check
    from ..analyze.verdict.wording import lead
    from ..runs.answers import AnalysisAnswer
    from . import ci

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
        lines = [headline_of(analysis)] if failed else []
        raise VerdictError(
            "\n".join([*lines, *(f"{version} has no good run: it was not judged" for version in without)])
        )


def _just_measured_and_failed(study: Study) -> list[str]:
    """The versions of the results at hand, beside a history, that have no good run anywhere."""
    from ..analyze.select.selection import not_judged

    if all(entry.kept_in is None for entry in study.runs):
        return []
    return not_judged(study.runs.entries, study.workload)


def write(analysis: Analysis, study: Study, output: Output, *, err: bool = False) -> None:
    """Write the reports that *output* asks for, and say where they are."""
    from ..analyze.report import files

    if output.reports is not None:
        from ..plotting import beside
        from ..plotting.regression_page import write_regression_page

        page = write_regression_page(analysis, study, output.reports)
        written = [page, *files.write_reports(analysis, output.reports)]
        beside.link(output.reports.absolute().parent)
        click.echo(
            f"Reports: {run.printable(str(page))} and {len(written) - 1} files for CI services beside it", err=err
        )
    if output.summary is not None:
        files.write_summary(analysis, output.summary)


def headline_of(analysis: Analysis) -> str:
    """The verdict in a sentence, for the last line on stderr."""
    from ..analyze.verdict.wording import headline

    return headline(analysis)


def print_schema() -> None:
    """Print the JSON Schema of regression.json."""
    from ..analyze.report.schema import schema

    click.echo(json.dumps(schema(), indent=2))
