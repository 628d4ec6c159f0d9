"""The figure of *Explore*: a KPI of each point over a setting or another KPI, in colours and panels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import plotly.graph_objects as go

from ..analyze import intervals, special
from ..filters import show
from ..kpi import KPIDefinition
from ..matrix import NOT_SET, Entry, Matrix, order, typed
from ..plausible import is_number
from . import clicks, template

COLUMNS, PANEL_PX, FIGURE_PX = 3, 300, 460
MOST_COUNTED = 12
"""An axis of whole numbers that reaches no further has a tick at each: a number of an experiment has no halves."""
CONFIDENCE = 0.975
"""Of one end of a 95 % interval."""


class Chosen(msgspec.Struct, frozen=True):
    """What is drawn: a KPI of each point over a setting or another KPI."""

    x: str
    y: KPIDefinition
    x_kpi: KPIDefinition | None
    colour: str | None
    panels: str | None
    has_dots: bool
    logarithmic: str

    @property
    def shown(self) -> set[str | None]:
        return {self.x, self.colour, self.panels}

    def is_log(self, axis: str) -> bool:
        return axis in self.logarithmic.split(" and ")


class Mark(msgspec.Struct, frozen=True):
    """A point: its runs with the KPI, where it stands, and the 95 % interval of its mean where it was repeated."""

    runs: Sequence[Entry]
    x: object
    y: float
    low: float | None
    high: float | None
    refused: str = ""  # why it can't be the best, and is drawn hollow; empty where it can

    def symbol(self, of_its_colour: str) -> str:
        return f"{of_its_colour}-open" if self.refused else of_its_colour


def mean_of(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """The mean of the repeats of a point and Student's 95 % interval, of values of one sign on the ratio scale.

    Its ends are None for one value, and where one is so many times the other that it says nothing.
    """
    sample = intervals.summarise(values)
    if sample.deviation is None:
        return sample.mean, None, None
    reach = float(special.stdtrit(sample.runs - 1, CONFIDENCE)) * sample.deviation / math.sqrt(sample.runs)
    if intervals.scale_of(intervals.sign_of(values) * value for value in values) is not intervals.Scale.RATIO:
        return sample.mean, sample.mean - reach, sample.mean + reach
    ratio = math.exp(min(reach / abs(sample.mean), intervals.WIDEST))
    if ratio**2 > intervals.WIDEST:
        return sample.mean, None, None
    low, high = sorted((sample.mean / ratio, sample.mean * ratio))
    return sample.mean, low, high


def explore_figure(
    panels: Sequence[tuple[str, Sequence[Mark]]], chosen: Chosen, everything: Matrix, places: Mapping[Any, int]
) -> go.Figure:
    """A panel for each of *panels*; colours are those that a value has on all pages."""
    facets = template.Facets([title for title, _ in panels], COLUMNS, shared_xaxes=False, shared_yaxes="all")
    colours = template.colour_map(everything, chosen.colour) if chosen.colour else {}
    symbols = template.symbols_of(list(colours))
    values = {typed(mark.x): mark.x for _, marks in panels for mark in marks}
    is_numeric = all(is_number(value) for value in values.values())
    in_order = sorted(values.values(), key=lambda value: (places.get(typed(value), -1), order(value)))
    at: dict[object, Any] = {typed(value): value if is_numeric else place for place, value in enumerate(in_order)}
    for panel, (_, marks) in enumerate(panels):
        of_colour: dict[str, list[Mark]] = {}
        for mark in marks:
            name = template.text(mark.runs[0].settings.get(chosen.colour, NOT_SET)) if chosen.colour else ""
            of_colour.setdefault(name, []).append(mark)
        for name in sorted(of_colour, key=lambda name: list(colours).index(name) if name in colours else 0):
            some = sorted(of_colour[name], key=lambda mark: at[typed(mark.x)])
            is_line = (is_numeric or bool(places)) and len({typed(mark.x) for mark in some}) == len(some)
            looks = colours.get(name, template.COLOURS[0]), symbols.get(name, "circle")
            trace = _trace(some, chosen, at, *looks, is_line=is_line and chosen.x_kpi is None)
            facets.add(panel, {"showlegend": False, **trace} if not name else {**trace, "name": name})
    kpi = chosen.y
    facets.label(template.text(chosen.x_kpi.title if chosen.x_kpi else chosen.x), template.text(kpi.title))
    if is_numeric and chosen.is_log("x") and min(at.values()) > 0:
        facets.axes("x", type="log", **template.log_axis(list(at.values())))
    elif is_numeric and chosen.x_kpi is None and at:  # panels beside each other have one axis
        low, high = min(at.values()), max(at.values())
        pad = 0.06 * (high - low) or 1
        is_counted = high - low <= MOST_COUNTED and all(float(value).is_integer() for value in at.values())
        facets.axes("x", range=[low - pad, high + pad], **({"dtick": 1} if is_counted else {}))
    if not is_numeric:
        texts = [template.wrapped(show(value), 18) for value in in_order]
        step = max(1, len(texts) // template.TICKS)
        ends = [-0.5, len(texts) - 0.5]
        facets.axes("x", tickvals=list(range(len(texts)))[::step], ticktext=texts[::step], range=ends)
    heights = [run.kpis[kpi.name] / kpi.divisor for _, marks in panels for mark in marks for run in mark.runs]
    if chosen.is_log("y") and min(heights) > 0:
        facets.axes("y", type="log", **template.log_axis(heights))
    for panel in range(1, facets.panels if chosen.x_kpi else 0):  # others have one range
        facets.axis("x", panel)["matches"] = "x"
    legend = {"legend": {"title": {"text": template.text(chosen.colour)}}} if chosen.colour else {}
    return facets.figure(FIGURE_PX if facets.rows == 1 else PANEL_PX * facets.rows + 80, **legend)


def _trace(
    marks: Sequence[Mark], chosen: Chosen, at: Mapping[object, Any], colour: str, symbol: str, *, is_line: bool
) -> dict[str, Any]:
    kpi = chosen.y
    drawn: list[tuple[Mark, Sequence[Entry], Any, float]] = [(one, one.runs, at[typed(one.x)], one.y) for one in marks]
    if chosen.has_dots:
        drawn = [(mark, [run], x, run.kpis[kpi.name]) for mark, runs, x, _ in drawn for run in runs]
    if chosen.has_dots and chosen.x_kpi is not None:
        drawn = [(mark, runs, runs[0].kpis[chosen.x] / chosen.x_kpi.divisor, y) for mark, runs, _, y in drawn]
    x, y = [x for _, _, x, _ in drawn], [y / kpi.divisor for *_, y in drawn]
    hover = [clicks.hover(runs, template.text(f"{kpi.name} {kpi.show(y)}")) for _, runs, _, y in drawn]
    ids = [clicks.run_of(runs) for _, runs, *_ in drawn]
    look = {"color": colour, "symbol": [mark.symbol(symbol) for mark, *_ in drawn]}
    if chosen.has_dots:
        return clicks.dots(x, y, hover, ids, marker={**look, "size": 7, "opacity": 0.75})
    ends = [(one.y if one.low is None else one.low, one.y if one.high is None else one.high) for one in marks]
    error = template.whiskers([one.y for one in marks], ends, kpi.divisor, thickness=1.2, width=3)
    mode, line = "lines+markers" if is_line else "markers", {"color": colour, "width": 1.5}
    return clicks.dots(x, y, hover, ids, mode=mode, line=line, marker={**look, "size": 8}, error_y=error)
