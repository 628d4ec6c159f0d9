"""Cost and throughput over the number of virtual users: did the load reach the peak, and where is it?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.plotting import Plot, View, clicks, template

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
)

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

HEIGHT_OF_A_ROW = 300
COLUMNS = 2


class _OverVUs(Plot):
    kpi_name: ClassVar[str]

    def draw(self, view: View) -> tuple[Any, Any]:
        kpi = self.workload.kpis[self.kpi_name]
        names = variant_names(self.study.read, self.workload)
        runs = view.runs
        frame = points_frame(runs, [kpi], names).dropna(subset=[kpi.name])
        if frame.empty:
            return None, f"{kpi.name} is not known for any successful run with a number of virtual users."
        said = [
            conclusion(answering(self.study, frame), kpi, under_limit(self.study)),
            *not_shown(runs, frame, [kpi]),
        ]
        return lines_over_vus(frame, kpi, known_batch_sizes(self.study.read)), said


class CostOverVUs(_OverVUs):
    """The cost of 10⁹ inputs over the number of virtual users."""

    name: ClassVar[str] = "Cost over virtual users"
    kpi_name: ClassVar[str] = "1B_cost"


class ThroughputOverVUs(_OverVUs):
    """Answered inputs per second over the number of virtual users."""

    name: ClassVar[str] = "Throughput over virtual users"
    kpi_name: ClassVar[str] = "throughput"


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


def conclusion(frame: pandas.DataFrame, kpi: KPIDefinition, condition: str) -> str:
    """Where the mean of each variant is lowest, or highest, of those under a *condition*: it says nothing of chance."""
    if frame.empty:
        return f"No point gave right answers{condition}."
    ends = frame.groupby(VARIANT)[kpi.name].agg("idxmin" if kpi.lower_better else "idxmax")
    places = listed([place_of(row, kpi) for _, row in frame.loc[ends].iterrows()])
    what = f"{'Lowest' if kpi.lower_better else 'Highest'} mean {kpi.name}{condition} of each variant"
    return f"{what}: {template.plain(places)}."
