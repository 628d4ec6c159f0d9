"""What commands share: from options to the runs that are meant, and the console."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import filters, workload
from ..errors import ConfigError, did_you_mean
from ..runs import text
from ..runs.versions import read_order
from ..workload import MinimumEffect

if TYPE_CHECKING:
    from rich.console import Console

    from ..analyze.study import Study
    from ..config import Config
    from ..matrix import Matrix
    from ..runs.opening import Opening
    from ..runs.text import Answer
    from ..workload import MinimumEffect, Workload
    from .options import RunOptions

MAX_WARNINGS = 10
WIDTH_WITHOUT_TERMINAL = 160
REFRESH_S = 0.1
printable = text.printable


def opened(config: Config, selection: RunOptions, order: str | None = None) -> Opening:
    """What the options and the configuration say of where the runs are, and of how they are read.

    Args:
        order: of versions, as ``--order`` gives it; that of the configuration unless given.

    Raises:
        MatbenchError: no workload or results directory is given, or an option can't be read.
    """
    from ..analyze.study import Given
    from ..runs.opening import Opening

    workload = load_workload(selection.workload)
    use = selection.history
    is_from_history = use is not None and use.is_matrix
    is_both = selection.lts_results_dirname is not None and selection.is_newest_build
    if is_from_history and selection.against:
        raise ConfigError("--against takes directories, and the tests come from a history")
    if selection.prices and (is_from_history or (selection.lts_results_dirname is not None and not is_both)):
        warn(["--price changes nothing here: payloads keep the price with which they were made"])
    directory = require_results(selection) if is_both else None if is_from_history else directory_of(selection)
    return Opening(
        workload,
        () if directory is None else (directory, *selection.against),
        is_payloads=selection.lts_results_dirname is not None and not is_both,
        history=None if use is None else use.locate,
        is_required=use is None or use.is_required,
        past=selection.lts_results_dirname if is_both else None,
        filters=filters.parse(selection.filters),
        given=Given(
            minimum_effects=minimum_effects(config, workload),
            prices={**config.prices, **selection.prices},
            order=read_order(order if order is not None else config.order),
        ),
        options=parser_options(workload, config, selection),
        jobs=selection.jobs,
        is_strict="filters" in selection.typed,
        priced=tuple(selection.prices) if "price" in selection.typed else (),
        warn=warn,
    )


def start(config: Config, selection: RunOptions, order: str | None = None, *, warns: bool = True) -> Study:
    """Parse the results tree, or read the history, and apply the filters.

    Args:
        order: as :func:`opened` has it.
        warns: what is wrong with single runs goes to stderr.

    Raises:
        MatbenchError: no workload or results directory is given, or they can't be used.
    """
    with progress_bar("parsing") as progress:
        study = opened(config, selection, order).study(progress)
    if warns:
        warn(warnings_of(study.matrix))
    return study


def show(answer: Answer) -> None:
    """Print an answer: sentences as they are, tables as wide as the terminal."""
    console = answer_console()
    for part in answer.said():
        if isinstance(part, str):
            click.echo(printable(part))
        else:
            console.print(part)


def load_workload(name: str | None) -> Workload:
    """The workload *name*; an error that says how to name one for None."""
    if not name:
        raise ConfigError(not_given("workload", "--workload NAME", "workload"))
    return workload.load(name)


def require_results(selection: RunOptions) -> Path:
    """The results directory; an error that says how to name one where none is given."""
    if selection.results_dirname is None:
        raise ConfigError(not_given("results directory", "--results-dirname DIR", "test_directory"))
    return selection.results_dirname


def directory_of(selection: RunOptions) -> Path:
    """The directory of LTS payloads, or of results."""
    return selection.lts_results_dirname or require_results(selection)


def minimum_effects(config: Config, workload: Workload) -> dict[str, MinimumEffect]:
    """By KPI: those of the configuration before those of the workload; a KPI that is none is a warning."""
    effects = dict(workload.regression.minimum_effects)
    for name, value in config.minimum_effects.items():
        if name not in workload.kpis:
            meant = did_you_mean(name, workload.kpis)
            warn([f"minimum_effects: workload '{workload.name}' has no KPI '{name}': {meant}"])
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


def parser_options(workload: Workload, config: Config, selection: RunOptions) -> Mapping[str, Any]:
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
    expected, got = filters.show(default), filters.show(value)
    raise ConfigError(f"the workload's option {name} has to be of the kind of {expected}, not {got}")


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
