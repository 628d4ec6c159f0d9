"""Latency against throughput: what does more throughput cost in waiting?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.words import as_percent
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.plotting import Plot, View, clicks, template
from matrix_benchmarking.plotting.controls import Choice, Control

from .points import FIRST_RUN, VARIANT, answering, not_shown, points_frame, under_limit, variant_names, variants

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

LATENCY = "latency"


def latency_choice() -> Choice:
    """Which latency a plot shows, by the name of its KPI."""
    labels = {"p95_latency": "95th percentile", "avg_latency": "mean"}
    return Choice(LATENCY, "Latency", tuple(labels), default="p95_latency", labels=labels)


class LatencyAgainstThroughput(Plot):
    """One mark a point; colour and shape by variant."""

    name: ClassVar[str] = "Latency against throughput"

    def controls(self) -> Sequence[Control]:
        return [latency_choice()]

    def draw(self, view: View) -> tuple[Any, Any]:
        latency = self.workload.kpis[view.option(LATENCY)]
        throughput = self.workload.kpis["throughput"]
        names = variant_names(self.study.read, self.workload)
        entries = view.runs
        frame = points_frame(entries, [throughput, latency], names)
        frame = frame.dropna(subset=[throughput.name, latency.name])
        if frame.empty:
            return None, "No successful run has both throughput and latency."
        figure = latency_against_throughput(frame, latency, throughput, variants(self.study.read, names))
        said = conclusion(answering(self.study, frame), latency, throughput, under_limit(self.study))
        return figure, [said, *not_shown(entries, frame, [throughput, latency])]


def latency_against_throughput(
    frame: pandas.DataFrame, latency: KPIDefinition, throughput: KPIDefinition, all_variants: list[str]
) -> go.Figure:
    """Throughput to the right, latency (logarithmic) upwards: the best points are at the lower right."""
    import plotly.express as px

    figure = px.scatter(
        frame,
        x=throughput.name,
        y=latency.name,
        color=VARIANT,
        symbol=VARIANT,
        hover_name="hover",
        custom_data=[FIRST_RUN],
        log_y=bool((frame[latency.name] > 0).all()),
        labels={kpi.name: f"{kpi.name} ({kpi.unit})" for kpi in (latency, throughput)},
        category_orders={VARIANT: all_variants},
        color_discrete_map=template.colours_of(all_variants),
        symbol_map=template.symbols_of(all_variants),
    )
    figure.update_traces(hovertemplate="%{hovertext}<extra></extra>", marker_size=9, marker_opacity=0.85)
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(**template.log_axis(list(frame[latency.name])))
    return template.apply(clicks.plain(figure))


def conclusion(frame: pandas.DataFrame, latency: KPIDefinition, throughput: KPIDefinition, condition: str) -> str:
    """The latency at the highest throughput, of the points under a *condition*, and what half of that leaves."""
    if frame.empty:
        return f"No point gave right answers{condition}."
    peak = frame.iloc[int(frame[throughput.name].argmax())]
    sentence = (
        f"At the highest throughput{condition} ({throughput.show(peak[throughput.name])}) {latency.name} is "
        f"{latency.show(peak[latency.name])}"
    )
    quick = frame[frame[latency.name] <= peak[latency.name] / 2]
    if quick.empty or peak[throughput.name] <= 0:
        return f"{sentence}; no point has half of that latency."
    other = quick.iloc[int(quick[throughput.name].argmax())]
    share = other[throughput.name] / peak[throughput.name]
    return (
        f"{sentence}; {as_percent(share)} of that throughput is there at {latency.show(other[latency.name])}, "
        "with half the waiting or less."
    )
