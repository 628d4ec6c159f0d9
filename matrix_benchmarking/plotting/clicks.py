"""Which run a mark of a figure stands for, in a form that a click on it brings back.

A mark's ``customdata`` is a list that begins with the ``test_uuid`` of its first run. Plain lists only: plotly writes
arrays of numbers in base64, and a click on such a mark brings nothing back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from ..matrix import Entry


def run_of(runs: Sequence[Entry]) -> str | None:
    """The id of the first of *runs*."""
    return runs[0].test_uuid


def marks(ids: Iterable[str | None], *others: Iterable[Any]) -> list[list[Any]]:
    """``customdata``: for each mark the id of its run, then its values of *others*."""
    return [list(values) for values in zip(ids, *others, strict=True)]


def plain(figure: go.Figure) -> go.Figure:
    """*figure* with the ``customdata`` that plotly express made as plain lists."""
    for trace in figure.data:
        if trace.customdata is not None:
            trace.customdata = [[_plain(value) for value in row] for row in trace.customdata]
    return figure


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
