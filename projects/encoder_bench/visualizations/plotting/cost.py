"""Cost, throughput and latency over the load and against each other."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, ClassVar

from matrix_benchmarking.analyze.best import Group
from matrix_benchmarking.analyze.limits import bounded, staircase
from matrix_benchmarking.analyze.points import Bounded
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.analyze.wording import ranking
from matrix_benchmarking.analyze.words import as_percent, count_of, percent
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.plotting import Plot, View, clicks, template
from matrix_benchmarking.plotting.controls import Choice, Control

from .points import (
    BATCH_SIZE,
    FIRST_RUN,
    POINT,
    VARIANT,
    VUS,
    answering,
    batch_sizes,
    known_batch_sizes,
    listed,
    not_shown,
    place_of,
    point_of,
    points_frame,
    rankable,
    under_limit,
    variant_names,
    variants,
    why_unranked,
)

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

    from matrix_benchmarking.plotting import Drawn


HEIGHT_OF_A_ROW = 300
COLUMNS = 2


class _OverVUs(Plot):
    def draw(self, view: View) -> Drawn:
        (kpi,) = view.kpis
        names = variant_names(self.study.read, self.workload)
        runs = view.runs
        frame = points_frame(runs, [kpi], names).dropna(subset=[kpi.name])
        if frame.empty:
            return None, f"{kpi.name} is not known for any successful run with a number of virtual users."
        said = [
            load_conclusion(answering(self.study, frame), kpi, under_limit(self.study)),
            *not_shown(runs, frame, [kpi]),
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
    """A facet for each variant and a line for each batch size, with bars from least to largest repeat."""
    import plotly.express as px

    sizes, facets = batch_sizes(frame), sorted(set(frame[VARIANT]))
    columns = min(COLUMNS, len(facets))
    rows = -(-len(facets) // columns)
    title = f"{kpi.name} ({kpi.unit})" if kpi.unit else kpi.name
    figure = px.line(
        frame,
        x=VUS,
        y=kpi.name,
        color=BATCH_SIZE,
        symbol=BATCH_SIZE,
        facet_col=VARIANT,
        facet_col_wrap=columns,
        facet_row_spacing=min(0.12, 0.4 / rows),
        facet_col_spacing=0.04,
        error_y=f"{kpi.name} above",
        error_y_minus=f"{kpi.name} below",
        hover_name="hover",
        custom_data=[FIRST_RUN],
        markers=True,
        log_x=True,
        labels={kpi.name: title},
        category_orders={BATCH_SIZE: sizes, VARIANT: facets},
        color_discrete_map=template.colours_of(all_sizes or sizes),
        symbol_map=template.symbols_of(all_sizes or sizes),
    )
    figure.update_traces(hovertemplate="%{hovertext}<extra></extra>", marker_size=7, line_width=1.8)
    figure.for_each_annotation(lambda note: note.update(text=note.text.removeprefix(f"{VARIANT}=")))
    figure.update_xaxes(**template.log_axis(list(frame[VUS])))
    figure.update_yaxes(rangemode="tozero")
    return template.apply(clicks.plain(figure), height=HEIGHT_OF_A_ROW * rows + 140)


def load_conclusion(frame: pandas.DataFrame, kpi: KPIDefinition, condition: str) -> str:
    if frame.empty:
        return f"No point gave right answers{condition}."
    ends = frame.groupby(VARIANT)[kpi.name].agg("idxmin" if kpi.lower_better else "idxmax")
    places = listed([place_of(row, kpi) for _, row in frame.loc[ends].iterrows()])
    what = f"{'Lowest' if kpi.lower_better else 'Highest'} mean {kpi.name}{condition} of each variant"
    return f"{what}: {template.plain(places)}."


LATENCY = "latency"
LATENCIES = {"p95_latency": "95th percentile", "avg_latency": "mean"}


def latency_choice() -> Choice:
    return Choice(LATENCY, "Latency", tuple(LATENCIES), default="p95_latency", labels=LATENCIES)


class LatencyAgainstThroughput(Plot):
    """One mark a point; colour and shape by variant."""

    name: ClassVar[str] = "Latency against throughput"
    kpis = ("throughput", *LATENCIES)

    def controls(self) -> Sequence[Control]:
        return [latency_choice()]

    def draw(self, view: View) -> Drawn:
        throughput, latency = view.kpis[0], view.kpi(view.option(LATENCY))
        names = variant_names(self.study.read, self.workload)
        entries = view.runs
        frame = points_frame(entries, [throughput, latency], names)
        frame = frame.dropna(subset=[throughput.name, latency.name])
        if frame.empty:
            return None, "No successful run has both throughput and latency."
        figure = latency_against_throughput(frame, latency, throughput, variants(self.study.read, names))
        said = latency_conclusion(answering(self.study, frame), latency, throughput, under_limit(self.study))
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


SHOWN = 100
LIMITS_SHOWN = 4
STAR = "#e4002b"


class CostAgainstLatency(Plot):
    """Symbols by variant, colours by batch size; cfg ``latency`` is ``p95_latency`` or ``avg_latency``."""

    name: ClassVar[str] = "Cost against latency"
    kpis = ("1B_cost", "throughput", *LATENCIES)
    how_to_read: ClassVar[str] = (
        f"Each mark is a point at its means: the {SHOWN} cheapest, and those in a ring; the lower left is best. "
        "Whatever limit on the latency you set, the best choice is in a ring: a limit is kept by the 95 % bound of the "
        "mean."
    )

    def controls(self) -> Sequence[Control]:
        return [latency_choice()]

    def draw(self, view: View) -> Drawn:
        (cost, throughput, *_), latency = view.kpis, view.kpi(view.option(LATENCY))
        kpis = [cost, latency, throughput]
        whole = self.study.read
        names = variant_names(whole, self.workload)
        runs = view.runs
        frame = points_frame(rankable(self.study, runs), kpis, names).dropna(subset=[cost.name, latency.name])
        if frame.empty:
            return None, f"No run that can be ranked has both {cost.name} and {latency.name}."
        frame = frame.sort_values(cost.name, kind="stable").reset_index(drop=True)
        choices = [_choice(group, self.study, cost, latency) for group in self.study.best.groups]
        known = [one for one in choices if one is not None and point_of(one.cheapest.point.runs) in set(frame[POINT])]
        ringed = {point_of(step.point.runs) for one in known for step in one.steps}
        stars = {point_of(one.cheapest.point.runs) for one in known}
        shown = frame[(frame.index < SHOWN) | frame[POINT].isin(ringed | stars)]
        figure = cost_against_latency(
            shown, ringed, stars, cost, latency, variants(whole, names), known_batch_sizes(whole)
        )
        few = f"{len(shown)} of {len(frame)} points are shown: the {SHOWN} cheapest, and those in a ring."
        said = [choice_conclusion(one, cost, latency, under_limit(self.study)) for one in known] + (
            [few] if len(shown) < len(frame) else []
        )
        return figure, [*said, *not_shown(runs, frame, [cost, latency], why_unranked(self.study))]


@dataclasses.dataclass(frozen=True, slots=True)
class BestUnderLimits:
    """Of a group the cheapest point with a latency, and those that are the best under a limit, the tightest first."""

    group: Group
    cheapest: Bounded
    steps: Sequence[Bounded]


def _choice(group: Group, study: Study, cost: KPIDefinition, latency: KPIDefinition) -> BestUnderLimits | None:
    """None where no point of *group* has the latency; bounds are those of the ranking of all points."""
    there = {id(one.point) for one in group.standings}
    everything = (bounded(each, latency) for each in study.of_all.groups if each.settings == group.settings)
    found = [one for ones in everything for one in ones if id(one.point) in there]
    cheapest = next((one for one in found if one.mean is not None), None)
    return None if cheapest is None else BestUnderLimits(group, cheapest, staircase(found, cost, latency))


def cost_against_latency(
    frame: pandas.DataFrame,
    ringed: Set[int],
    stars: Set[int],
    cost: KPIDefinition,
    latency: KPIDefinition,
    all_variants: list[str],
    all_sizes: Sequence[str] | None = None,
) -> go.Figure:
    """Latency to the right, cost upwards, both logarithmic where positive: the best points are at the lower left.

    *ringed* and *stars* are points, as :func:`.points.point_of` has them: the best under a limit, and the cheapest.
    """
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
    rings = frame[frame[POINT].isin(ringed)]
    figure.add_scatter(
        x=list(rings[latency.name]),
        y=list(rings[cost.name]),
        mode="markers",
        marker={"symbol": "circle-open", "size": 16, "color": template.COLOURS[6], "line": {"width": 1.5}},
        name=f"best under a limit on {latency.name}",
        customdata=clicks.marks(rings[FIRST_RUN]),
        hoverinfo="skip",  # the mark in it says what it is
    )
    best = frame[frame[POINT].isin(stars)]
    figure.add_scatter(
        x=list(best[latency.name]),
        y=list(best[cost.name]),
        mode="markers",
        marker={"symbol": "star", "size": 17, "color": STAR, "line": {"width": 1, "color": "white"}},
        name="cheapest",
        hovertext=list(best["hover"]),
        customdata=clicks.marks(best[FIRST_RUN]),
        hovertemplate="%{hovertext}<extra></extra>",
    )
    figure.update_xaxes(**template.log_axis(list(frame[latency.name])))
    figure.update_yaxes(**template.log_axis(list(frame[cost.name])))
    figure.update_layout(legend={"orientation": "v", "x": 1.02, "xanchor": "left", "y": 1, "yanchor": "top"})
    return template.apply(clicks.plain(figure), height=520)


def choice_conclusion(choice: BestUnderLimits, cost: KPIDefinition, latency: KPIDefinition, condition: str = "") -> str:
    """The cheapest point under a *condition*, and what less waiting costs under limits that are kept."""
    group, point = choice.group, choice.cheapest.point
    start = f"For {ranking.scope(group)}: cheapest" if group.settings else "Cheapest"
    lead = (
        f"{start}{condition} is {ranking.point_label(point.settings, group)}: {cost.show(point.value)} at "
        f"{latency.show(choice.cheapest.mean)} {latency.name}."
    )
    if point is group.best and group.undecided:
        lead += f" {count_of(len(group.undecided), 'point')} can't be told apart from it."
    tighter = [step for step in choice.steps if step.point is not point][::-1]
    if not tighter:
        return f"{lead} No other point is the best under a limit on {latency.name}."
    chosen = tighter if len(tighter) <= LIMITS_SHOWN else [tighter[place] for place in _spread(len(tighter))]
    steps = "; ".join(_step(step, point.value, cost, latency) for step in chosen)
    return f"{lead} Waiting less costs more: {steps}."


def _step(step: Bounded, cheapest: float, cost: KPIDefinition, latency: KPIDefinition) -> str:
    more = percent(step.point.value / cheapest - 1)
    return f"{cost.show(step.point.value)} ({more}) under a limit of {latency.show_bound(step.limit)}"


def _spread(count: int) -> list[int]:
    """LIMITS_SHOWN positions below *count*, the first and the last among them."""
    return sorted({round(step * (count - 1) / (LIMITS_SHOWN - 1)) for step in range(LIMITS_SHOWN)})
