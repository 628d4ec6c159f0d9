"""What the commands share that say whether something got worse: options, the history's alarms, reports, exit status."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .options import RunOptions, UsedHistory, flag, option
from .place import Place, locate, reads_history

if TYPE_CHECKING:
    from ..config import Config

C = TypeVar("C", bound=Callable[..., Any])

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


def reads_some_history(config: Config, place: Place, selection: RunOptions) -> RunOptions:
    """*selection* with the history that is named, else with the default one where nothing else is named."""
    used = reads_history(config, place, selection)
    if used.history is not None or selection.results_dirname is not None or selection.lts_results_dirname is not None:
        return used
    located = functools.cache(lambda: locate(config, place))
    return dataclasses.replace(selection, history=UsedHistory(located, is_matrix=True, is_required=True))
