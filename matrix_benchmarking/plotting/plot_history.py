"""Plot: a KPI from version to version, a small figure for each of the series of which the verdict is most severe."""

from __future__ import annotations

import datetime as dt
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import plotly.graph_objects as go

from ..analyze.check import AnswerKind
from ..analyze.select.labelled import LabelledRun
from ..analyze.select.series import KPISeries, Series, series_of, time_text, value_text
from ..analyze.study import Study
from ..analyze.verdict.model import Outcome, SeriesVerdict
from ..analyze.wording.verdicts import WithVerdict, conclusions, judged_series
from ..analyze.words import cut_inside
from ..errors import ConfigError, did_you_mean
from ..matrix import typed
from . import clicks, series_chart
from .base import Plot, View
from .controls import Choice, Control
from .series_chart import BETTER, COLOUR, DOUBTFUL, GOT_WORSE, LOOKS, WORSE, changes_frame, point_values
from .template import COLOURS, Facets, short, text, wrapped

if TYPE_CHECKING:
    import pandas

MOST_DRAWN = 12
COLUMNS_OF_FIGURES = 2
HEIGHT_OF_A_ROW, HEIGHT_AROUND = 190, 150
TICKS, LONG_TICKS, LONGEST_TICK, LONGEST_VERSION = 8, 4, 16, 60
LEAST_RANGE = 0.2
"""The height of an axis is at least this share of its values, so that noise looks like noise."""
COLUMNS = ["series", "x", "label", "kind"]


class KPIHistory(Plot):
    """The series of one KPI from version to version, the most severe verdict first; in time where no version varies."""

    name: ClassVar[str] = "KPI history"
    answers = AnswerKind.HISTORY
    how_to_read: ClassVar[str] = (
        "One small figure for each series: runs whose settings differ in nothing but the version. The line is the mean "
        "over the runs at a version, the band reaches from the least to the largest run; failed runs take no part. "
        "Each has a vertical axis of its own, of at least a fifth of its values, so that noise looks like noise. An "
        "upright line is a change that the regression analysis found in this series; a dotted one is for the better, "
        "or was dealt with."
    )

    def controls(self) -> Sequence[Control]:
        names = list(self.workload.kpis)
        found: list[Control] = [Choice("kpi", "KPI", names, _headline(self.study))]
        keys = self.study.order.keys
        if len(keys) > 1:
            found.append(Choice("axis", "Versions of", keys, keys[0]))
        return found

    def draw(self, view: View) -> tuple[Any, Any]:
        nothing = why_nothing(self.study)
        if nothing:
            return None, nothing
        found = find(self.study, view)
        analysis = self.study.analysis
        judged = judged_series(found, analysis)
        shown = [one for one in judged if len(one[0].points) > 1][:MOST_DRAWN]
        if not shown:
            return None, conclusions(found, judged)
        marks = marks_frame(shown, functools.partial(places_of, found))
        figure = history_figure(points_frame(found, shown), marks, found)
        return figure, [*conclusions(found, judged, drawn=len(shown)), *self.study.order.said(found.axis)]


def why_nothing(study: Study) -> str:
    """Why there is no history to draw, and how to get one; empty where there is one."""
    workload = study.workload
    if not workload.kpis:
        return "This workload defines no KPI."
    if study.past is not None or study.order.axis is not None:
        return study.order_problem
    keys = " and ".join(workload.regression.comparison_keys)
    several = f"These runs have one value of {keys}" if keys else "This workload names no version of what it measures"
    return (
        f"{several}, and no history was read. Keep the runs of each version with 'matbench upload_lts --history "
        "LOCATION …', and compare new ones with them: 'matbench visualize --history LOCATION …'."
    )


def find(study: Study, view: View) -> KPISeries:
    """The series of the chosen KPI; raises ConfigError where the configuration names none of the workload's."""
    workload = study.workload
    name = view.cfg.get("kpi") or _headline(study) or ""
    if name not in workload.kpis:
        raise ConfigError(f"there is no KPI '{name}': {did_you_mean(str(name), workload.kpis)}")
    axis, order = view.cfg.get("axis"), study.order
    return series_of(_selected(study, view), workload, workload.kpis[name], order, axis if axis in order.keys else None)


def _headline(study: Study) -> str | None:
    first = next(iter(study.workload.headlines(run.settings for run in study.matrix)), study.workload.headline)
    return None if first is None else first.name


def _selected(study: Study, view: View) -> Sequence[LabelledRun]:
    """The known runs at the settings that were selected out of the matrix; the version is never selected."""
    asked = {name: [value] for name, value in view.settings.items()}
    asked |= {pairs[0][0]: [value for _, value in pairs] for pairs in view.setting_lists if pairs}
    there = study.matrix.settings
    wanted = {
        name: {typed(value) for value in values}
        for name, values in asked.items()
        if name not in study.workload.regression.comparison_keys and len(values) < len(there.get(name, ()))
    }
    if not wanted:
        return study.known_runs
    return [
        run
        for run in study.known_runs
        if all(typed(run.entry.settings.get(name)) in values for name, values in wanted.items())
    ]


def points_frame(found: KPISeries, shown: Iterable[WithVerdict]) -> pandas.DataFrame:
    """A row for each point of the *shown* series: its number, ``name``, ``x``, its values, ``hover``, ``verdict``."""
    import pandas

    rows = []
    for number, (series, verdict) in enumerate(shown):
        for index, (point, place) in enumerate(zip(series.points, places_of(found, series), strict=True)):
            is_newest = index == len(series.points) - 1
            row = {"series": number, "name": series.name, "x": place, **point_values(point, found.kpi)}
            looks = _looks(verdict) if verdict is not None and is_newest else ""
            rows.append({**row, "hover": _hover(found, series, index), "verdict": looks})
    return pandas.DataFrame(rows)


def _looks(verdict: SeriesVerdict) -> str:
    """The kind of mark of the newest point; none where nothing changed."""
    known = {Outcome.REGRESSION: WORSE, Outcome.IMPROVEMENT: BETTER, Outcome.SUSPECTED: DOUBTFUL}
    return DOUBTFUL if verdict.is_at_known_level else known.get(verdict.outcome, "")


def history_figure(points: pandas.DataFrame, marks: pandas.DataFrame, found: KPISeries) -> go.Figure:
    groups = [group for _, group in points.groupby("series", sort=True)]
    rows = -(-len(groups) // COLUMNS_OF_FIGURES)
    height = HEIGHT_OF_A_ROW * rows + HEIGHT_AROUND
    spacing = {"horizontal_spacing": 0.11, "vertical_spacing": min(0.3, 62 / height) if rows > 1 else 0.0}
    titles = [text(group["name"].iloc[0]) for group in groups]
    facets = Facets(titles, COLUMNS_OF_FIGURES, **spacing)
    for number, group in enumerate(groups):
        _draw(facets, number, group, marks[marks["series"] == group["series"].iloc[0]])
    _explain(facets, points, marks)
    _label_axes(facets, found)
    return facets.figure(height, legend={"traceorder": "normal"})


def _draw(facets: Facets, panel: int, group: pandas.DataFrame, marks: pandas.DataFrame) -> None:
    x = group["x"].tolist()
    quiet: dict[str, Any] = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    if (group["runs"] > 1).any():
        filled = {"fill": "tonexty", "fillcolor": "rgba(0,114,178,0.2)"}
        facets.add(panel, {"x": x, "y": group["maximum"].tolist(), **quiet})
        facets.add(panel, {"x": x, "y": group["minimum"].tolist(), **filled, **quiet})
    verdicts = group["verdict"].tolist()
    means = series_chart.marks(
        group,
        y=group["mean"].tolist(),
        mode="lines+markers",
        line={"color": COLOURS[0], "width": 1.8},
        marker={
            "opacity": 1,
            "color": [LOOKS[verdict][0] for verdict in verdicts],
            "symbol": [LOOKS[verdict][1] for verdict in verdicts],
            "size": [12 if verdict else 6 for verdict in verdicts],
        },
        showlegend=False,
    )
    facets.add(panel, means)
    limits = _limits(group)
    if limits is not None:
        facets.axis("y", panel)["range"] = limits
    for mark in marks.itertuples():  # strong is what got worse and nobody dealt with
        is_strong = mark.kind == GOT_WORSE
        width, dash = (1.8, "solid") if is_strong else (1, "dot")
        line = {"color": COLOUR[str(mark.kind)], "width": width, "dash": dash}
        facets.rule(panel, "x", mark.x, line=line, opacity=1 if is_strong else 0.7, layer="below")
        if limits is not None:
            triangle = series_chart.triangle(mark.x, limits[0], mark, 11 if is_strong else 8)
            facets.add(panel, {**triangle, "showlegend": False})


def _explain(facets: Facets, points: pandas.DataFrame, marks: pandas.DataFrame) -> None:

    alone = {"legendgroup": None, "showlegend": True}

    def entry(name: str, **look: Any) -> None:
        facets.add(0, {"x": [None], "y": [None], "name": name, "hoverinfo": "skip", "mode": "markers", **alone, **look})

    line = {"color": COLOURS[0]}
    entry("mean of the runs", mode="lines+markers", line=line, marker={"symbol": "circle"})
    if (points["runs"] > 1).any():
        entry("least to largest run", marker={"symbol": "square", "size": 12, "color": "rgba(0,114,178,0.3)"})
    for verdict, (colour, symbol) in LOOKS.items():
        if verdict and (points["verdict"] == verdict).any():
            entry(f"newest level: {verdict}", marker={"symbol": symbol, "size": 11, "color": colour})
    for kind, colour in COLOUR.items():
        if (marks["kind"] == kind).any():
            entry(kind, marker={"symbol": "triangle-up", "size": 11, "color": colour})


def _label_axes(facets: Facets, found: KPISeries) -> None:
    kpi, texts = found.kpi, list(found.steps.values())
    unit = f" ({kpi.display_unit})" if kpi.display_unit else ""
    if texts:
        last = len(texts) - 1
        margin = max(0.4, 0.03 * last)
        most = LONG_TICKS if any(len(shown) > 3 * LONGEST_TICK // 4 for shown in texts) else TICKS
        ticks = sorted({last - step for step in range(0, last + 1, max(1, math.ceil(len(texts) / most)))})
        shown = [text(cut_inside(texts[place], LONGEST_TICK)) for place in ticks]
        is_long = max(map(len, shown), default=0) * len(shown) > 18
        turned = -35 if is_long else 0
        facets.axes("x", tickvals=ticks, ticktext=shown, range=[-margin, last + margin], tickangle=turned)
    title = "end of the run (UTC)" if found.axis is None and _is_in_time(found) else found.axis or "run"
    facets.axes("x", showticklabels=False)
    for panel in range(facets.panels - facets.columns, facets.panels):
        facets.axis("x", panel).update(showticklabels=True, title={"text": text(short(title, 40))})
    facets.axes("y", nticks=5)
    for panel in range(0, facets.panels, facets.columns):
        facets.axis("y", panel)["title"] = {"text": wrapped(f"{kpi.name}{unit}", 28), "font": {"size": 11}}


def _limits(group: pandas.DataFrame) -> tuple[float, float] | None:
    low, high = float(group["minimum"].min()), float(group["maximum"].max())
    middle = low / 2 + high / 2
    span = max(high - low, LEAST_RANGE * abs(middle)) or 1.0
    if not math.isfinite(span) or span > 1e300:
        return None
    bottom = middle - 0.6 * span
    return (max(bottom, 0.0) if low >= 0 else bottom), middle + 0.6 * span


def _is_in_time(found: KPISeries) -> bool:
    return all(point.time_us is not None for series in found.series for point in series.points)


def places_of(found: KPISeries, series: Series) -> list[int] | list[dt.datetime]:
    """Where the points are on the horizontal axis: at their versions, else at their times, else one after the other."""
    if found.axis is not None:
        places = {key: place for place, key in enumerate(found.steps)}
        return [places[key] for key in series.keys]
    if _is_in_time(found):
        return [dt.datetime.fromtimestamp((point.time_us or 0) / 1e6, dt.UTC) for point in series.points]
    return list(range(1, len(series.points) + 1))


def _hover(found: KPISeries, series: Series, index: int) -> str:
    point, version = series.points[index], cut_inside(series.versions[index], LONGEST_VERSION)
    return clicks.hover(
        point.entries,
        wrapped(series.name, 60, lines=3),
        text(version if found.axis is None else f"{found.axis} {version}"),
        *([text(time_text(point))] if found.axis is not None and point.time_us is not None else []),
        f"<b>{text(value_text(found.kpi, point))}</b>",
    )


def marks_frame(shown: Iterable[WithVerdict], places: Callable[[Series], Sequence[Any]]) -> pandas.DataFrame:
    """A row for each change of the *shown* series: its number, ``x`` as *places* gives it, ``label`` and ``kind``."""
    import pandas

    rows = []
    for number, (series, verdict) in enumerate(shown):
        if verdict is None or not verdict.changes:
            continue
        drawn = zip(series.points, places(series), strict=True)
        x_of = {(entry.test_uuid, entry.name): x for point, x in drawn for entry in point.entries}
        for change, told in zip(verdict.changes, changes_frame(verdict).itertuples(), strict=True):
            first = verdict.points[change.first].entries[0]
            if (first.test_uuid, first.name) in x_of:  # else the filters leave no run of its version
                rows.append((number, x_of[first.test_uuid, first.name], told.label, told.kind))
    return pandas.DataFrame(rows, columns=COLUMNS)
