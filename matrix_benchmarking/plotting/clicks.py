"""The runs behind a figure: which one a mark stands for, in a form that a click brings back, and which aren't shown.

A mark's ``customdata`` is a list that begins with the ``test_uuid`` of its first run. Plain lists only: plotly writes
arrays of numbers in base64, and a click on such a mark brings nothing back.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..analyze.select.series import time_text
from ..analyze.words import count_of, cut_inside, plural
from ..filters import show
from ..matrix import NOT_SET, Entry, typed
from .template import wrapped

if TYPE_CHECKING:
    import plotly.graph_objects as go


def run_of(runs: Sequence[Entry]) -> str | None:
    """The id of the first of *runs*."""
    return runs[0].test_uuid


def hover(runs: Sequence[Entry], *lines: str) -> str:
    """What a mark says under the mouse: *lines*, which are escaped, the settings that its *runs* share, their names."""
    others = [run.settings for run in runs[1:]]  # few, and asked for each mark: to make columns of them takes longer
    shared = (
        (name, value)
        for name, value in runs[0].settings.items()
        if all(typed(other.get(name, NOT_SET)) == typed(value) for other in others)
    )
    settings = [f"{name} {show(value)}" for name, value in shared]
    names = (
        run.name if run.kept_in is None else f"{time_text(run)} {(run.test_uuid or '')[:8]}" for run in runs[:NAMED]
    )
    named = " · ".join(cut_inside(name, LONGEST_NAME) for name in names)
    more = f" and {len(runs) - NAMED} more" if len(runs) > NAMED else ""
    said = [wrapped(" · ".join(settings), WIDTH, 6), wrapped(f"{count_of(len(runs), 'run')}: {named}{more}", WIDTH, 4)]
    return "<br>".join([*lines, *filter(None, said)])


def marks(ids: Iterable[str | None], *others: Iterable[Any]) -> list[list[Any]]:
    """``customdata``: for each mark the id of its run, then its values of *others*."""
    return [list(values) for values in zip(ids, *others, strict=True)]


def told(hover: Iterable[str], *of: Iterable[Any]) -> dict[str, Any]:
    """What the marks of a trace say under the mouse; and what :func:`marks` makes *of* their runs' ids, if given."""
    ids = {"customdata": marks(*of)} if of else {}
    return {**ids, "hovertext": [*hover], "hovertemplate": "%{hovertext}<extra></extra>"}


def dots(
    x: Sequence[object], y: Sequence[object], hover: Iterable[str], ids: Iterable[str | None], **look: object
) -> dict[str, Any]:
    """A trace of marks with what each says under the mouse; a click on one opens the run with its id."""
    return {"type": "scatter", "mode": "markers", "x": x, "y": y, **look, **told(hover, ids)}


def plain(figure: go.Figure) -> go.Figure:
    """*figure* with the ``customdata`` that plotly express made as plain lists."""
    for trace in figure.data:
        if trace.customdata is not None:
            trace.customdata = [
                [value.item() if hasattr(value, "item") else value for value in row] for row in trace.customdata
            ]
    return figure


FAILED = "failed"
NAMED, LONGEST_NAME, WIDTH = 5, 60, 70


def not_shown(runs: Sequence[Entry], shown: Iterable[Entry], why: Callable[[Entry], str]) -> list[str]:
    """``3 of 40 runs are not shown: 2 failed, 1 without throughput.`` Nothing where all *runs* are *shown*.

    *why* gives the end of ``1 …`` for a run that didn't fail.
    """
    there = {id(run) for run in shown}
    missing = collections.Counter(FAILED if run.failed else why(run) for run in runs if id(run) not in there)
    count = missing.total()
    if not count:
        return []
    reasons = ", ".join(f"{number} {reason}" for reason, number in missing.most_common())
    return [f"{count} of {len(runs)} {plural(len(runs), 'run')} {'is' if count == 1 else 'are'} not shown: {reasons}."]
