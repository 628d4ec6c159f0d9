"""Cost against latency: the cheapest points, those that nothing beats in both, and the cheapest of all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.matrix import SettingLists, Variables
from matrix_benchmarking.plotting import Plot, clicks, template
from matrix_benchmarking.plotting.controls import Control

from .latency import LATENCY, latency_choice
from .points import (
    BATCH_SIZE,
    FIRST_RUN,
    VARIANT,
    batch_sizes,
    known_batch_sizes,
    points_frame,
    rankable,
    variant_names,
    variants,
)

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

SHOWN = 100
FRONT_SHOWN = 4
STAR = "#e4002b"


class CostAgainstLatency(Plot):
    """Symbols by variant, colours by batch size; cfg ``latency`` is ``p95_latency`` or ``avg_latency``."""

    name: ClassVar[str] = "Cost against latency"
    how_to_read: ClassVar[str] = (
        f"Each mark is a point: the {SHOWN} cheapest, and those on the dotted line; the lower left is best. No other "
        "point beats those on the line in both cost and latency: whatever latency you allow, the best choice is on it."
    )

    def controls(self) -> Sequence[Control]:
        return [latency_choice()]

    def do_plot(
        self,
        ordered_vars: list[str],
        settings: dict[str, Any],
        setting_lists: SettingLists,
        variables: Variables,
        cfg: Mapping[str, Any],
    ) -> tuple[Any, Any]:
        cost, latency = self.workload.kpis["1B_cost"], self.workload.kpis[self.option(cfg, LATENCY)]
        kpis = [cost, latency, self.workload.kpis["throughput"]]
        whole = self.catalogue.whole
        names = variant_names(whole, self.workload)
        entries = rankable(self.catalogue, self.matrix.all_records(settings, setting_lists))
        frame = points_frame(entries, kpis, names).dropna(subset=[cost.name, latency.name])
        if frame.empty:
            return None, f"No run that can be ranked has both {cost.name} and {latency.name}."
        frame = frame.sort_values(cost.name, kind="stable").reset_index(drop=True)
        front = pareto(frame, cost.name, latency.name)
        shown = frame[(frame.index < SHOWN) | frame.index.isin(front.index)]
        figure = cost_against_latency(shown, front, cost, latency, variants(whole, names), known_batch_sizes(whole))
        return figure, conclusion(frame, front, cost, latency, len(shown))


def pareto(frame: pandas.DataFrame, cost: str, latency: str) -> pandas.DataFrame:
    """The rows that no other beats in both columns (lower is better in both), the cheapest first."""
    best, keep = math.inf, []
    for index, row in frame.sort_values([cost, latency], kind="stable").iterrows():
        if row[latency] < best:
            keep.append(index)
            best = row[latency]
    return frame.loc[keep]


def cost_against_latency(
    frame: pandas.DataFrame,
    front: pandas.DataFrame,
    cost: KPIDefinition,
    latency: KPIDefinition,
    all_variants: list[str],
    all_sizes: Sequence[str] | None = None,
) -> go.Figure:
    """Latency to the right, cost upwards, both logarithmic where positive: the best points are at the lower left."""
    import plotly.express as px

    sizes = batch_sizes(frame)
    figure = px.scatter(
        frame,
        x=latency.name,
        y=cost.name,
        color=BATCH_SIZE,
        symbol=VARIANT,
        hover_name="hover",
        custom_data=[FIRST_RUN],
        log_x=bool((frame[latency.name] > 0).all()),
        log_y=bool((frame[cost.name] > 0).all()),
        labels={kpi.name: f"{kpi.name} ({kpi.unit})" for kpi in (cost, latency)},
        category_orders={BATCH_SIZE: sizes, VARIANT: all_variants},
        color_discrete_map=template.colours_of(all_sizes or sizes),
        symbol_map=template.symbols_of(all_variants),
    )
    figure.update_traces(hovertemplate="%{hovertext}<extra></extra>", marker_size=9, marker_opacity=0.85)
    figure.add_scatter(
        x=list(front[latency.name]),
        y=list(front[cost.name]),
        mode="lines",
        line={"dash": "dot", "color": template.COLOURS[6], "shape": "hv"},
        name="nothing is both cheaper and faster",
        hoverinfo="skip",
    )
    best = front.iloc[0]
    figure.add_scatter(
        x=[best[latency.name]],
        y=[best[cost.name]],
        mode="markers",
        marker={"symbol": "star", "size": 17, "color": STAR, "line": {"width": 1, "color": "white"}},
        name="cheapest",
        hovertext=[best["hover"]],
        customdata=clicks.marks([best[FIRST_RUN]]),
        hovertemplate="%{hovertext}<extra></extra>",
    )
    for axis, kpi in (("x", latency), ("y", cost)):
        ticks = template.log_ticks(list(frame[kpi.name]))
        text = [f"{tick:,g}" for tick in ticks]
        (figure.update_xaxes if axis == "x" else figure.update_yaxes)(tickvals=ticks, ticktext=text)
    figure.update_layout(legend={"orientation": "v", "x": 1.02, "xanchor": "left", "y": 1, "yanchor": "top"})
    return template.apply(clicks.plain(figure), height=520)


def conclusion(
    frame: pandas.DataFrame, front: pandas.DataFrame, cost: KPIDefinition, latency: KPIDefinition, shown: int
) -> list[str]:
    """The cheapest point, what less waiting costs along the front, and how many points are *shown*."""
    best = front.iloc[0]
    lead = (
        f"Cheapest is {best[VARIANT]} at batch size {best[BATCH_SIZE]}, {best['virtual users']:g} virtual users: "
        f"{cost.show(best[cost.name])} at {latency.show(best[latency.name])} {latency.name}."
    )
    rest = ""
    if shown < len(frame):
        rest = f" {shown} of {len(frame)} points are shown: the {SHOWN} cheapest, and those on the dotted line."
    if len(front) == 1:
        return [f"{lead} It is also the fastest of the {len(frame)} points.{rest}"]
    chosen = front.iloc[1:] if len(front) <= FRONT_SHOWN + 1 else front.iloc[_spread(len(front), FRONT_SHOWN)]
    steps = "; ".join(_step(row, best[cost.name], cost, latency) for _, row in chosen.iterrows())
    return [f"{lead} Waiting less costs more: {steps}.{rest}"]


def _step(row: Any, cheapest: float, cost: KPIDefinition, latency: KPIDefinition) -> str:
    price = row[cost.name]
    return f"{latency.show(row[latency.name])} for {cost.show(price)} (+{price / cheapest - 1:.0%})"


def _spread(count: int, wanted: int) -> list[int]:
    """*wanted* positions from 1 to *count* - 1, the last among them."""
    return sorted({round(1 + step * (count - 2) / (wanted - 1)) for step in range(wanted)})
