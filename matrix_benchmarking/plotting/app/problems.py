"""What goes wrong while a page is made: a box with a sentence in its place, and the application goes on."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import Any

from ...errors import MatbenchError
from .tags import html

_log = logging.getLogger(__name__)


def box(*sentences: str) -> Any:
    """A box that says what is wrong, for people and for screen readers."""

    return html.Div([html.P(sentence) for sentence in sentences], className="problem", role="alert")


def guarded(make: Callable[[], Any], what: str) -> Any:
    """What *make* gives, or a box that says why *what* can't be shown."""
    try:
        return make()
    except MatbenchError as error:
        return box(*str(error).splitlines())
    except Exception as error:  # noqa: BLE001  a report may fail in any way; the others must stay usable
        return failed(what, error)


def failed(what: str, error: Exception) -> Any:
    """A box for an *error* that isn't the data's fault; its stack trace goes to the log."""
    _log.error("%s can't be shown\n%s", what, "".join(traceback.format_exception(error)))
    return box(f"{what} can't be shown ({type(error).__name__}: {str(error)[:300]}).")
