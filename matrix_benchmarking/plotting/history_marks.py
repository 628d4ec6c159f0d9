"""What an analysis found, as marks in the history of a KPI: where the level of a series changed, and which way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..analyze.select.series import Series
from ..analyze.verdict.of_kpi import Judged
from .series_frames import changes_frame
from .template import COLOURS, text

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

COLUMNS = ["series", "x", "label", "kind"]
WORSE, DEALT_WITH, BETTER = "change for the worse", "change that was dealt with", "change for the better"
COLOUR = {WORSE: COLOURS[1], DEALT_WITH: COLOURS[6], BETTER: COLOURS[2]}


def marks_frame(shown: Iterable[Judged], places: Callable[[Series], Sequence[Any]]) -> pandas.DataFrame:
    """A row for each change of the *shown* series.

    Columns: ``series`` (its number among the shown ones), ``x`` (as *places* gives it for each point of a series),
    ``label`` and ``kind``.
    """
    import pandas

    rows = []
    for number, judged in enumerate(shown):
        verdict = judged.verdict
        if verdict is None or not verdict.changes:
            continue
        drawn = zip(judged.series.points, places(judged.series), strict=True)
        x_of = {(entry.test_uuid, entry.name): x for point, x in drawn for entry in point.entries}
        for change, told in zip(verdict.changes, changes_frame(verdict).itertuples(), strict=True):
            first = verdict.points[change.first].entries[0]
            kind = BETTER if not told.is_worse else WORSE if told.is_open else DEALT_WITH
            if (first.test_uuid, first.name) in x_of:  # else the filters leave no run of its version
                rows.append((number, x_of[first.test_uuid, first.name], str(told.label), kind))
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
