"""One run of a command on a results tree: the workload, the configuration, the matrix, the console."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

    from ..analyze.check import Finding
    from ..analyze.select.order_sources import Explicit
    from ..config import Config
    from ..filters import Filters
    from ..matrix import Matrix
    from ..workload import Workload
    from .options import Selection

MAX_WARNINGS = 10
WIDTH_WITHOUT_TERMINAL = 160
REFRESH_S = 0.1


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """What a command works on. *console* is for the answer, on standard output.

    *past* are all known runs where there is a history, those of the matrix among them; *whole* are those, or those of
    the matrix, before *filters*. *prices* are those of the configuration and the options, in USD per hour by
    ``vendor/hw_type`` or ``hw_type``.
    """

    workload: Workload
    config: Config
    matrix: Matrix
    console: Console
    whole: Matrix
    filters: Filters
    past: Matrix | None = None
    prices: Mapping[str, float] = dataclasses.field(default_factory=dict)


def start(config: Config, selection: Selection, *, warns: bool = True) -> Run:
    """Load the workload, parse the results tree (or read the history), apply the filters.

    Args:
        warns: what is wrong with single runs goes to stderr.

    Raises:
        MatbenchError: no workload or results directory is given, or they can't be used.
    """
    from .. import filters
    from . import sources

    workload = load_workload(selection.workload)
    wanted = filters.parse(selection.filters)
    with progress_bar("parsing") as progress:
        everything = sources.read_matrix(workload, config, selection, progress)
    whole = sources.read_past(workload, everything, selection)
    sources.check_names(everything if whole is None else whole, wanted, selection)
    matrix = everything.filtered(wanted)
    if warns:
        warn(warnings_of(matrix))
    return Run(
        workload=workload,
        config=config,
        matrix=matrix,
        console=answer_console(),
        whole=everything if whole is None else whole,
        filters=wanted,
        past=None if whole is None else whole.selected(wanted),
        prices={**config.prices, **selection.prices},
    )


def findings(work: Run, explicit: Explicit | None = None) -> list[Finding]:
    """What is odd about the runs of *work*, those of its history among them.

    Args:
        explicit: the order of versions that somebody gave; that of the configuration unless given.
    """
    from ..analyze import check
    from .ordering import read_order

    given = read_order(work.config.order) if explicit is None else explicit
    in_order = check.order_of(work.whole, work.workload, given, work.filters)
    return check.findings(work.matrix if work.past is None else work.past, work.workload, work.prices, in_order)


def load_workload(name: str | None) -> Workload:
    """The workload *name*; an error that says how to name one for None."""
    from .. import workload

    if not name:
        raise ConfigError(not_given("workload", "--workload NAME", "workload"))
    return workload.load(name)


def require_results(selection: Selection) -> Path:
    """The results directory; an error that says how to name one where none is given."""
    if selection.results_dirname is None:
        raise ConfigError(not_given("results directory", "--results-dirname DIR", "test_directory"))
    return selection.results_dirname


def results_of(selection: Selection) -> Path | str:
    """Where the tests come from: a directory of LTS payloads or of results, or a history."""
    if selection.history is not None and selection.history.is_matrix:
        return str(selection.history.locate())
    return directory_of(selection)


def directory_of(selection: Selection) -> Path:
    """The directory of LTS payloads, or of results."""
    return selection.lts_results_dirname or require_results(selection)


def parser_options(workload: Workload, config: Config, selection: Selection) -> Mapping[str, Any]:
    """What the workload's parsers get as ``test_dir.options``: prices and its own options, those of the flags first.

    Raises:
        ConfigError: a flag names an option that the workload doesn't have, or a value is of another kind than the
            option's default.
    """
    given: dict[str, Any] = {name: each for name, each in config.workload_options.items() if name in workload.options}
    given |= selection.workload_options
    told: dict[str, Any] = dict(workload.options)
    for name, value in given.items():
        if name not in told:
            known = did_you_mean(name, workload.options) if workload.options else "it has none"
            raise ConfigError(f"workload '{workload.name}' has no option '{name}': {known}")
        told[name] = _like(told[name], value, name)
    return {"prices": {**config.prices, **selection.prices}, **told}


def _like(default: Any, value: Any, name: str) -> Any:
    """*value*, which may be the text of a flag, as what its *default* is."""
    from ..filters import show

    kind = type(default)
    try:
        if isinstance(value, str) and kind in (int, float):
            return kind(value)
    except ValueError:
        pass
    if isinstance(value, str) and kind is bool and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if type(value) is kind:
        return value
    raise ConfigError(f"the workload's option {name} has to be of the kind of {show(default)}, not {show(value)}")


def answer_console() -> Console:
    """The console for the answer. Text from results is never markup, colours need a terminal."""
    from rich.console import Console

    class AnswerConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1, which says that the verdict is bad

    width = None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL
    return AnswerConsole(markup=False, emoji=False, highlight=False, width=width)


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A function ``(done, total)`` that draws a bar on stderr; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # Without a thread of its own, so that the parse may fork; drawn at most ten times a second.
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as progress:
        task, drawn = progress.add_task(what, total=None), 0.0

        def show(done: int, total: int) -> None:
            nonlocal drawn
            now = time.monotonic()
            due = now - drawn >= REFRESH_S or done == total
            drawn = now if due else drawn
            progress.update(task, completed=done, total=total, refresh=due)

        yield show


def warn(sentences: Sequence[str], most: int = MAX_WARNINGS) -> None:
    """Print warnings to stderr: the first ones, and how many more there are."""
    for sentence in first(sentences, most):
        click.echo(f"warning: {printable(sentence)}", err=True)


def first(sentences: Sequence[str], most: int = MAX_WARNINGS) -> list[str]:
    """The first *most* sentences, and how many more there are."""
    more = len(sentences) - most
    return [*sentences[:most], *([f"… and {more:,} more"] if more > 0 else [])]


def printable(text: str) -> str:
    """*text* without what a terminal would obey: control characters are shown, not sent."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def warnings_of(matrix: Matrix) -> list[str]:
    """Sentences on the runs that failed, and on what could not be read."""
    tests = [*matrix.entries, *matrix.unfinished]
    failed = [f"{e.name}: failed with exit code {e.exit_code}" for e in matrix.entries if e.failed]
    problems = [f"{entry.name}: {problem}" for entry in tests for problem in entry.problems]
    return [*matrix.notes, *failed, *problems]


def not_given(what: str, flag: str, key: str) -> str:
    """The sentence about something that no option, variable or key gives."""
    env = "MATBENCH_" + flag.split()[0].removeprefix("--").replace("-", "_").upper()
    return f"no {what} given: use {flag}, {env} or matbench.{key} in config.yaml"
