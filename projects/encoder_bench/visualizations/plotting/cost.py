"""Cost and throughput over the load, and latency against throughput."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from matrix_benchmarking.analyze.words import as_percent
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.plotting import Plot, View, clicks, template
from matrix_benchmarking.plotting.controls import Choice, Control

from .points import (
    BATCH_SIZE,
    FIRST_RUN,
    VARIANT,
    VUS,
    answering,
    batch_sizes,
    known_batch_sizes,
    listed,
    not_shown,
    place_of,
    points_frame,
    under_limit,
    variant_names,
    variants,
    why_unranked,
)

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

    from matrix_benchmarking.plotting import Drawn


HEIGHT_OF_A_ROW, TITLE_PX = 240, 60
COLUMNS = 2


class _OverVUs(Plot):
    def draw(self, view: View) -> Drawn:
        (kpi,) = view.kpis
        names = variant_names(self.study.read, self.workload)
        frame = points_frame(view.newest, [kpi], names).dropna(subset=[kpi.name])
        if frame.empty:
            return None, f"{kpi.name} is not known for any successful run with a number of virtual users."
        said = [
            load_conclusion(answering(self.study, frame), kpi, under_limit(self.study)),
            *not_shown(view.runs, frame, [kpi], why_unranked(self.study)),
        ]
        return lines_over_vus(frame, kpi, known_batch_sizes(self.study.read)), said


class CostOverVUs(_OverVUs):
    """The cost of 10⁹ inputs over the number of virtual users."""

    name: ClassVar[str] = "Cost over virtual users"
    kpis = ("1B_cost",)


class ThroughputOverVUs(_OverVUs):
    """Answered inputs per second over the number of virtual users."""

    name: ClassVar[str] = "Throughput over virtual users"
    kpis = ("throughput",)


def lines_over_vus(frame: pandas.DataFrame, kpi: KPIDefinition, all_sizes: Sequence[str] | None = None) -> go.Figure:
    """A panel for each variant and a line for each batch size, with bars from least to largest repeat."""
    sizes, shown = batch_sizes(frame), sorted(set(frame[VARIANT]))
    colours, symbols = template.colours_of(all_sizes or sizes), template.symbols_of(all_sizes or sizes)
    facets = template.Facets(shown, COLUMNS, shared_xaxes="all", shared_yaxes="all", horizontal_spacing=0.04)
    groups = dict(iter(frame.groupby([VARIANT, BATCH_SIZE])))
    for panel, variant in enumerate(shown):
        for size in sizes:
            if (points := groups.get((variant, size))) is None:
                continue
            ends = {"array": points[f"{kpi.name} above"].tolist(), "arrayminus": points[f"{kpi.name} below"].tolist()}
            line = {
                "x": points[VUS].tolist(),
                "y": points[kpi.name].tolist(),
                "mode": "lines+markers",
                "line": {"color": colours[size], "width": 1.8},
                "marker": {"symbol": symbols[size], "size": 7},
                "error_y": {"type": "data", **ends},
                "name": size,
                "customdata": clicks.marks(points[FIRST_RUN]),
                "hovertext": points["hover"].tolist(),
                "hovertemplate": "%{hovertext}<extra></extra>",
            }
            facets.add(panel, line)
    facets.axes("x", type="log", **template.log_axis(list(frame[VUS])))
    facets.axes("y", rangemode="tozero")
    facets.label(VUS, f"{kpi.name} ({kpi.unit})" if kpi.unit else kpi.name)
    return facets.figure(HEIGHT_OF_A_ROW * facets.rows + 140, legend={"title": {"text": BATCH_SIZE}})


def load_conclusion(frame: pandas.DataFrame, kpi: KPIDefinition, condition: str) -> str:
    if frame.empty:
        return f"No point gave right answers{condition}."
    ends = frame.groupby(VARIANT)[kpi.name].agg("idxmin" if kpi.lower_better else "idxmax")
    places = listed([place_of(row, kpi) for _, row in frame.loc[ends].iterrows()])
    what = f"{'Lowest' if kpi.lower_better else 'Highest'} mean {kpi.name}{condition} of each variant"
    return f"{what}: {template.plain(places)}."


LATENCY = "latency"
LATENCIES = {"p95_latency": "95th percentile", "avg_latency": "mean"}


class LatencyAgainstThroughput(Plot):
    """One mark a point; colour and shape by variant."""

    name: ClassVar[str] = "Latency against throughput"
    kpis = ("throughput", *LATENCIES)

    def controls(self) -> Sequence[Control]:
        return [Choice(LATENCY, "Latency", tuple(LATENCIES), default="p95_latency", labels=LATENCIES)]

    def draw(self, view: View) -> Drawn:
        throughput, latency = view.kpis[0], view.kpi(view.option(LATENCY))
        names = variant_names(self.study.read, self.workload)
        frame = points_frame(view.newest, [throughput, latency], names)
        frame = frame.dropna(subset=[throughput.name, latency.name])
        if frame.empty:
            return None, "No successful run has both throughput and latency."
        figure = latency_against_throughput(frame, latency, throughput, variants(self.study.read, names))
        said = latency_conclusion(answering(self.study, frame), latency, throughput, under_limit(self.study))
        return figure, [said, *not_shown(view.runs, frame, [throughput, latency], why_unranked(self.study))]


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


def latency_conclusion(
    frame: pandas.DataFrame, latency: KPIDefinition, throughput: KPIDefinition, condition: str
) -> str:
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
