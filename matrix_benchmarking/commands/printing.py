"""What commands print: sentences, tables and progress on the console, outputs to files that are whole or untouched."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from ..errors import ConfigError, MatbenchError, OutputError, os_reason
from ..files import atomic_write
from ..runs import text

if TYPE_CHECKING:
    from rich.console import Console

MAX_WARNINGS = 10
WIDTH_WITHOUT_TERMINAL = 160
REFRESH_S = 0.1
SPOOL_BYTES = 16 * 2**20
STDOUT = Path("-")
_NAMED_ALIKE = (
    "filters force format headline in_checkout jobs keep_going max_bytes max_usd mode order replace results_dirname "
    "save_to_artifacts until"
)
_FLAGS = {"ignoring": "ignored_keys", "kpis": "kpi_filter", "others": "against", "prices": "price"}
_FLAGS |= {name: name for name in _NAMED_ALIKE.split()}
"""By the parameter that a sentence of the library names in backquotes: the option that gives it."""


def with_flags(sentence: str) -> str:
    """A *sentence* of the library, as it is on the command line."""

    def flag(match: re.Match[str]) -> str:
        return f"--{_FLAGS[match[1]].replace('_', '-')}" if match[1] in _FLAGS else match[0]

    return re.sub("`([a-z_]+)`", flag, sentence)


def printable(sentence: str) -> str:
    """The same without what a terminal would obey."""
    return text.printable(with_flags(sentence))


def show(answer: text.Printable) -> None:
    console = answer_console()
    for part in answer.said():
        if isinstance(part, str):
            say(part)
        else:
            console.print(part)


def say(sentence: str, *, err: bool = False) -> None:
    click.echo(printable(sentence), err=err)


def warn(sentences: Sequence[str], most: int = MAX_WARNINGS) -> None:
    """Print warnings to stderr: the first ones, and how many more there are."""
    for sentence in first(sentences, most):
        say(f"warning: {sentence}", err=True)


@contextlib.contextmanager
def as_warnings(kind: type[MatbenchError], before: str = "", *, unless: bool) -> Iterator[None]:
    """Turn errors of this *kind* into warnings, *unless* they are to be errors."""
    try:
        yield
    except kind as error:
        if unless:
            raise
        warn([f"{before}{error}"])


def first(sentences: Sequence[str], most: int = MAX_WARNINGS) -> list[str]:
    more = len(sentences) - most
    return [*sentences[:most], *([f"… and {more:,} more"] if more > 0 else [])]


def answer_console() -> Console:
    """The console for the answer. Text from results is never markup, colours need a terminal."""
    from rich.console import Console

    class AnswerConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would exit with 1, which says that the verdict is bad

    width = None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL
    return AnswerConsole(markup=False, emoji=False, highlight=False, width=width)


@contextlib.contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A function ``(done, total)`` that draws a bar on stderr, or nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # Without a thread of its own, so that the parse may fork; drawn at most ten times a second.
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as progress:
        task, drawn = progress.add_task(what, total=None), 0.0

        def draw(done: int, total: int) -> None:
            nonlocal drawn
            now = time.monotonic()
            due = now - drawn >= REFRESH_S or done == total
            drawn = now if due else drawn
            progress.update(task, completed=done, total=total, refresh=due)

        yield draw


def check_outputs(outputs: Iterable[Path | None]) -> None:
    """Raise ConfigError if two outputs would go to the same place."""
    seen: set[Path] = set()
    for path in outputs:
        if path in seen:
            place = "standard output (-)" if path == STDOUT else f"'{path}'"
            raise ConfigError(f"two outputs are to be written to {place}: give each a file of its own")
        if path is not None:
            seen.add(path)


def write(path: Path, writer: Callable[[IO[bytes]], object]) -> None:
    """Let *writer* write to *path*. If it raises, the file is as before and nothing is printed."""
    if path != STDOUT and (path.is_file() or path.is_dir() or not path.exists()):
        with atomic_write(Path(os.path.realpath(path))) as stream:
            writer(stream)
        return
    with tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES) as spool:
        writer(spool)
        spool.seek(0)
        try:
            with click.open_file(str(path), "wb") as stream:  # which takes - for standard output
                shutil.copyfileobj(spool, stream)
                stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            if path == STDOUT:
                silence_stdout()
            place = "standard output" if path == STDOUT else str(path)
            raise OutputError(f"cannot write to {place}: {os_reason(error)}") from error


def silence_stdout() -> None:
    """Send what is still to be flushed nowhere: whoever read it is gone, or its disk is full."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
