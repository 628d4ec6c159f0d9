"""What the commands share that say whether something got worse: options, the history's alarms, reports, exit status."""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import ConfigError, MatbenchError, VerdictError, did_you_mean
from . import run
from .options import TYPED, Selection, UsedHistory, flag, option, strength

if TYPE_CHECKING:
    import datetime as dt

    from ..analyze.select.order import Order
    from ..analyze.select.selection import Selection as Selected
    from ..analyze.verdict.lifecycle import Known
    from ..analyze.verdict.model import Analysis
    from ..config import Config
    from ..history import Location
    from ..matrix import Matrix
    from ..workload import MinimumEffect, Workload

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


def default_history(selection: Selection, locate: Callable[[], Location]) -> Selection:
    """*selection* with the history that is used where nothing else is named."""
    return dataclasses.replace(selection, history=UsedHistory(functools.cache(locate), True, True))


def where(selection: Selection) -> str:
    """Where the runs come from, in words."""
    history = selection.history
    if history is None:
        directory = selection.lts_results_dirname or selection.results_dirname
        both = selection.lts_results_dirname is not None and selection.results_dirname is not None
        return f"{directory} and {selection.results_dirname}" if both else str(directory)
    if history.is_matrix:
        return str(history.locate())
    return f"{history.locate()} and {run.directory_of(selection)}"


def check_kpi_filter(patterns: Sequence[str], workload: Workload) -> None:
    """Raise ConfigError where a person typed a name of no KPI; the analysis notes one out of the configuration."""
    if strength(click.get_current_context(), "kpi_filter") < TYPED:
        return
    for pattern in patterns:
        if not fnmatch.filter(workload.kpis, pattern):
            raise ConfigError(f"--kpi-filter: no KPI '{pattern}': {did_you_mean(pattern, workload.kpis)}")


def minimum_effects(config: Config, workload: Workload) -> dict[str, MinimumEffect]:
    """By KPI: those of the configuration before those of the workload; a KPI that is none is a warning."""
    from ..workload import MinimumEffect

    effects = dict(workload.regression.minimum_effects)
    for name, value in config.minimum_effects.items():
        if name not in workload.kpis:
            meant = did_you_mean(name, workload.kpis)
            run.warn([f"minimum_effects: workload '{workload.name}' has no KPI '{name}': {meant}"])
            continue
        before = effects.get(name, MinimumEffect())
        if isinstance(value, (int, float)):
            effects[name] = dataclasses.replace(before, relative=float(value))
            continue
        effects[name] = MinimumEffect(
            relative=before.relative if value.relative is None else value.relative,
            absolute=before.absolute if value.absolute is None else value.absolute,
        )
    return effects


def judge_history(
    workload: Workload,
    matrix: Matrix,
    location: Location | None,
    *,
    data: str,
    order: Order,
    minimum_effects: Mapping[str, MinimumEffect],
    kpi_filter: Sequence[str] = (),
    since_us: int | None = None,
    now: dt.datetime,
    record: bool,
) -> Analysis:
    """The analysis of *matrix*, in the *order* of all runs, with what the history at *location* knows of its alarms.

    Where *record*, alarms that were raised or fixed are kept there; a history that can't be written to is a warning.
    """
    from ..analyze.verdict.alarm_wording import about_unjudged, about_unseen
    from ..analyze.verdict.analyse import analyse_runs
    from ..analyze.verdict.events import new_events, retirements
    from ..analyze.verdict.lifecycle import known_alarms, unjudged, unseen
    from ..history import open_history

    events = []
    if location is not None:
        with open_history(location, writable=False) as history:
            events = history.alarm_events(workload.name)
    analysis = analyse_runs(
        matrix,
        workload,
        data=data,
        order=order,
        minimum_effects=minimum_effects,
        events=events,
        kpi_filter=kpi_filter,
        since_us=since_us,
        now=now,
    )
    known = known_alarms(events)
    closed = unjudged(known.values(), workload.kpis, now)
    added = [*new_events(analysis, known), *retirements(closed, now)]
    hidden = unseen(analysis, known) if since_us is None else []
    notes = [
        *([about_unjudged(closed, workload.kpis)] if closed else []),
        *([about_unseen(hidden, workload.kpis)] if hidden else []),
    ]
    analysis = dataclasses.replace(analysis, notes=(*analysis.notes, *notes))
    if record and location is not None and added:
        try:
            with open_history(location, writable=True) as history:
                history.record_alarms(added)
        except MatbenchError as error:
            run.warn([f"the alarms could not be kept in the history: {error}"])
    return analysis


def alarms_known_to(workload: Workload, selection: Selection) -> dict[str, Known]:
    """The alarms of the history that *selection* reads, by id; none without a history."""
    from ..analyze.verdict.lifecycle import known_alarms
    from ..history import open_history

    if selection.history is None:
        return {}
    with open_history(selection.history.locate(), writable=False) as history:
        return known_alarms(history.alarm_events(workload.name))


def require_version(selected: Selected, version: str) -> None:
    """Raise ConfigError if no series has a point of this version."""
    known = list(dict.fromkeys(text for series in selected.series for text in series.versions))
    if version not in known:
        raise ConfigError(f"no run of version '{version}': {did_you_mean(version, known)}")


def publish(
    analysis: Analysis,
    matrix: Matrix,
    workload: Workload,
    output: Output,
    *,
    prices: Mapping[str, float],
    order: Order | None = None,
    is_pair: bool = False,
    err: bool = False,
) -> None:
    """Print the analysis, write its reports, tell the CI service.

    Args:
        matrix: the runs that were analysed; what is odd about them is said with the verdict.
        prices: those of the configuration and the options, as :class:`.run.Run` has them.
        order: that of the versions; None where two directories were compared.
        is_pair: one build was compared with another.
        err: the verdict goes to stderr.

    Raises:
        VerdictError: something is worse that nobody dealt with, or a version that was just measured has no good run,
            and that is to be an error.
        ConfigError: nothing could be analysed.
    """
    from ..analyze import check
    from ..analyze.verdict.wording import lead
    from . import ci
    from .regression_table import print_analysis

    answer = check.Answer.PAIR if is_pair else check.Answer.HISTORY
    found = check.findings(matrix, workload, prices, order)
    analysis = dataclasses.replace(analysis, check=check.counted(found, answer))
    if err:
        click.echo(run.printable(" ".join([*lead(analysis), check.line(analysis.check)])), err=True)
    else:
        print_analysis(analysis)
    write(analysis, matrix, workload, output, err=err)
    ci.publish(analysis)
    if not analysis.verdicts:
        reasons = "; ".join(dict.fromkeys([one.reason for one in analysis.not_analysed[:3]] or analysis.notes[:3]))
        raise ConfigError(f"nothing could be analysed{f': {reasons}' if reasons else ''}")
    without = [] if is_pair else _just_measured_and_failed(matrix, workload)
    failed = analysis.failed or (output.fail_on_suspected and bool(analysis.suspected))
    if (failed or without) and not output.exit_zero:
        lines = [headline_of(analysis)] if failed else []
        raise VerdictError(
            "\n".join([*lines, *(f"{version} has no good run: it was not judged" for version in without)])
        )


def _just_measured_and_failed(matrix: Matrix, workload: Workload) -> list[str]:
    """The versions of the results at hand, beside a history, that have no good run anywhere."""
    from ..analyze.select.selection import not_judged

    if all(entry.kept_in is None for entry in matrix):
        return []
    return not_judged(matrix.entries, workload)


def write(analysis: Analysis, matrix: Matrix, workload: Workload, output: Output, *, err: bool = False) -> None:
    """Write the reports that *output* asks for, and say where they are."""
    from ..analyze.report import files

    if output.reports is not None:
        from ..plotting import beside
        from ..plotting.regression_page import write_regression_page

        page = write_regression_page(analysis, matrix, workload, output.reports)
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
