"""What goes wrong while a page is made: a box with a sentence in its place, and the rest of the page is there."""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..errors import MatbenchError, WorkloadError

if TYPE_CHECKING:
    from dash.development.base_component import Component

T = TypeVar("T")
_log = logging.getLogger(__name__)


class BrokenPlotError(WorkloadError):
    """A plot or report that raises."""


def box(*sentences: str) -> Component:
    from dash import html

    lines = [html.P(line) for sentence in sentences for line in sentence.splitlines()]
    return html.Div(lines, className="problem", role="alert")


def guarded(make: Callable[[], T], what: str) -> T | Component:
    """What *make* gives, or a box that says why *what* can't be shown."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001  a report may fail in any way; the others must stay usable
        return failed(what, error)


def failed(what: str, error: Exception) -> Component:
    """A box for an *error*; the stack trace of one that isn't the data's fault goes to the log."""
    if isinstance(error, BrokenPlotError) or not isinstance(error, MatbenchError):
        _log.error("%s can't be shown\n%s", what, "".join(traceback.format_exception(error)))
    return box(sentence(what, error))


def sentence(what: str, error: Exception) -> str:
    if isinstance(error, MatbenchError):
        is_named = isinstance(error, BrokenPlotError) or not isinstance(error, WorkloadError)
        return str(error) if is_named else f"{what}: {error}"
    return f"{what} can't be shown ({type(error).__name__}: {str(error)[:300]})."


def called(name: str, source: Path | None, call: Callable[[], T]) -> T:
    """What *call* gives, a function of the plot or report *name* of the workload whose code is in *source*."""
    try:
        return call()
    except (MatbenchError, KeyboardInterrupt):
        raise
    except BaseException as error:  # sys.exit() in a plot ends the plot
        reason = f"{type(error).__name__}: {str(error)[:300]}{_place(error, source)}"
        raise BrokenPlotError(f"'{name}' can't be shown ({reason}).") from error


def _place(error: BaseException, source: Path | None) -> str:
    """The last line of the workload's own code that *error* went through; nothing where it went through none."""
    own = Path(__file__).parents[1]
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        path = Path(frame.filename)
        if path.is_relative_to(source) if source is not None else not path.is_relative_to(own):
            return f" in {os.path.relpath(path) if path.is_relative_to(Path.cwd()) else path}, line {frame.lineno}"
    return ""
