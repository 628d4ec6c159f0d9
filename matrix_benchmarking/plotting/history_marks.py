"""What an analysis found, as marks in the history of a KPI: where the level of a series changed, and which way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..analyze.select.series import Series
from ..analyze.verdict.model import Analysis
from ..analyze.verdict.of_kpi import Judged
from ..matrix import Entry
from .series_frames import changes_frame
from .template import COLOURS, text

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

COLUMNS = ["series", "x", "label", "kind"]
WORSE, DEALT_WITH, BETTER = "change for the worse", "change that was dealt with", "change for the better"
COLOUR = {WORSE: COLOURS[1], DEALT_WITH: COLOURS[6], BETTER: COLOURS[2]}


@dataclasses.dataclass(frozen=True, slots=True)
class Mark:
    """A new level of a series.

    Attributes:
        entry: a run of the first point on it: it says which series, and where.
        label: what changed, in words.
        kind: for the worse, for the worse and acknowledged, resolved or fixed, or for the better.
    """

    entry: Entry
    label: str
    kind: str


def marks_of(analysis: Analysis | None, kpi: str) -> list[Mark]:
    """The changes of all series of *kpi*."""
    found = []
    for verdict in () if analysis is None else analysis.verdicts:
        if verdict.kpi.name != kpi or not verdict.changes:
            continue
        for change, shown in zip(verdict.changes, changes_frame(verdict).itertuples(), strict=True):
            kind = BETTER if not shown.is_worse else WORSE if shown.is_open else DEALT_WITH
            found.append(Mark(verdict.points[change.first].entries[0], str(shown.label), kind))
    return found


def marks_frame(
    shown: Iterable[Judged], marks: Sequence[Mark], places: Callable[[Series], Sequence[Any]]
) -> pandas.DataFrame:
    """A row for each of *marks* that is in one of the *shown* series.

    Columns: ``series`` (its number among the shown ones), ``x`` (as *places* gives it for each point of a series),
    ``label`` and ``kind``.
    """
    import pandas

    wanted = {_key(mark.entry): mark for mark in marks}
    rows = []
    for number, judged in enumerate(shown if wanted else ()):
        for point, place in zip(judged.series.points, places(judged.series), strict=True):
            for entry in point.entries:
                mark = wanted.get(_key(entry))
                if mark is not None:
                    rows.append((number, place, mark.label, mark.kind))
    return pandas.DataFrame(rows, columns=COLUMNS)


def draw_mark(figure: go.Figure, mark: Any, limits: tuple[float, float] | None, **cell: int) -> None:
    """A line across the figure, strong for what got worse and nobody dealt with; a triangle that says what it is."""
    import plotly.graph_objects as go

    is_strong = mark.kind == WORSE
    line = {"color": COLOUR[mark.kind], "width": 1.8 if is_strong else 1, "dash": "dot"}
    figure.add_vline(x=mark.x, line=line, opacity=1 if is_strong else 0.7, layer="below", **cell)
    if limits is not None:
        point = go.Scatter(
            x=[mark.x],
            y=[limits[0]],
            mode="markers",
            marker={"symbol": "triangle-up", "size": 11 if is_strong else 8, "color": COLOUR[mark.kind]},
            hovertext=[text(mark.label)],
            hovertemplate="%{hovertext}<extra></extra>",
            showlegend=False,
            cliponaxis=False,
        )
        figure.add_trace(point, **cell)


def _key(entry: Entry) -> tuple[str | None, str]:
    return entry.test_uuid, entry.name
