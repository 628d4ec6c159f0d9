"""Latency quantiles over virtual users: how much longer do the unlucky wait as the load grows?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.points import by_point
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting import Plot, View, clicks, template

from .points import (
    BATCH_SIZE,
    FIRST_RUN,
    POINT,
    VARIANT,
    VUS,
    batch_sizes,
    label_of,
    not_shown,
    point_of,
    variant_names,
)

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

QUANTILES = ("50", "90", "95", "99")
COLUMNS, ROW_HEIGHT = 2, 290
BAND = 0.18


class LatencyQuantiles(Plot):
    """A line for each quantile with the band of the repeats, a facet for each variant and batch size."""

    name: ClassVar[str] = "Latency quantiles over virtual users"
    how_to_read: ClassVar[str] = (
        "Each line is a quantile of the latency of the answered requests: the mean over the repeats, with a band from "
        "the smallest to the largest of them. Where the lines spread, some users wait much longer than most."
    )

    def draw(self, view: View) -> tuple[Any, Any]:
        names = variant_names(self.study.read, self.workload)
        runs = view.runs
        frame = quantiles_frame(runs, names)
        if frame.empty:
            return None, "No successful run tells the quantiles of its latency."
        hidden = not_shown(
            runs, frame, [], lambda run: "without quantiles of its latency", lambda run: bool(_quantiles(run))
        )
        return latency_quantiles(frame), [conclusion(frame), *hidden]


def quantiles_frame(entries: Iterable[Entry], names: Sequence[str]) -> pandas.DataFrame:
    """One row for each point and quantile, over its repeats.

    Columns: variant, batch size, virtual users, ``quantile`` (percent), ``mean``, ``low``, ``high``, ``runs``,
    ``first run`` (its id), ``point``.
    """
    import pandas

    rows = []
    for runs in by_point(entry for entry in entries if not entry.failed):
        users = runs[0].settings.get("vus")
        if isinstance(users, bool) or not isinstance(users, (int, float)) or users <= 0:
            continue
        first = clicks.run_of(runs)
        known = [quantiles for entry in runs if (quantiles := _quantiles(entry))]
        for percent in QUANTILES:
            values = [quantiles[percent] for quantiles in known if percent in quantiles]
            if values:
                mean = sum(values) / len(values)
                place = (label_of(runs[0], names), template.text(runs[0].settings.get("batch_size")), users)
                rows.append((*place, percent, mean, min(values), max(values), len(values), first, point_of(runs)))
    columns = [VARIANT, BATCH_SIZE, VUS, "quantile", "mean", "low", "high", "runs", FIRST_RUN, POINT]
    return pandas.DataFrame(rows, columns=columns).sort_values([VARIANT, BATCH_SIZE, VUS], ignore_index=True)


def latency_quantiles(frame: pandas.DataFrame) -> go.Figure:
    """Users to the right, latency upwards, both logarithmic."""
    from plotly.subplots import make_subplots

    sizes = {size: place for place, size in enumerate(batch_sizes(frame))}
    facets = sorted(set(zip(frame[VARIANT], frame[BATCH_SIZE], strict=True)), key=lambda one: (one[0], sizes[one[1]]))
    columns = min(COLUMNS, len(facets))
    rows = -(-len(facets) // columns)
    titles = [f"{variant}, batch size {size}" for variant, size in facets]
    figure = make_subplots(
        rows=rows, cols=columns, subplot_titles=titles, shared_yaxes=True, vertical_spacing=min(0.12, 0.3 / rows)
    )
    for number, (variant, size) in enumerate(facets):
        part = frame[(frame[VARIANT] == variant) & (frame[BATCH_SIZE] == size)]
        place = {"row": number // columns + 1, "col": number % columns + 1}
        for at, percent in enumerate(QUANTILES):
            _draw(figure, part[part["quantile"] == percent], percent, template.COLOURS[at], place, number == 0)
    figure.update_xaxes(type="log", **template.log_axis(list(frame[VUS])))
    figure.update_yaxes(type="log", **template.log_axis([*frame["low"], *frame["high"]]))
    figure.update_yaxes(title="latency (ms)", col=1)
    for column in range(1, columns + 1):
        figure.update_xaxes(title=VUS, row=-(-(len(facets) - column + 1) // columns), col=column)
    return template.apply(figure, height=130 + ROW_HEIGHT * rows)


def conclusion(frame: pandas.DataFrame) -> str:
    """Where the slowest percent waits longest in comparison with the median."""
    wide = frame.pivot_table(index=[VARIANT, BATCH_SIZE, VUS], columns="quantile", values="mean").reset_index()
    slow = next((percent for percent in reversed(QUANTILES) if percent in wide and percent != "50"), None)
    if slow is None or "50" not in wide:
        return "The median and a higher quantile are not known together for any point."
    ratio = wide[slow] / wide["50"]
    if not ratio.notna().any():
        return "The median and a higher quantile are not known together for any point."
    row = wide.iloc[int(ratio.fillna(0).argmax())]
    return (
        f"In the median over the points the {slow}th percentile is {ratio.median():.1f} times the median latency; at "
        "most "
        f"{ratio.max():.1f} times, for {row[VARIANT]} at batch size {row[BATCH_SIZE]} and {row[VUS]:g} {VUS} "
        f"({row['50']:,.1f} and {row[slow]:,.1f} ms)."
    )


def _draw(
    figure: go.Figure, part: pandas.DataFrame, percent: str, colour: str, place: dict[str, int], with_legend: bool
) -> None:
    if part.empty:
        return
    users = list(part[VUS])
    figure.add_scatter(
        x=[*users, *users[::-1]],
        y=[*part["high"], *list(part["low"])[::-1]],
        mode="lines",
        fill="toself",
        fillcolor=template.translucent(colour, BAND),
        line_width=0,
        hoverinfo="skip",
        showlegend=False,
        **place,
    )
    figure.add_scatter(
        x=users,
        y=list(part["mean"]),
        mode="lines+markers",
        line={"color": colour, "width": 1.8},
        marker_size=5,
        name=f"{percent} %",
        legendgroup=percent,
        showlegend=with_legend,
        customdata=clicks.marks(part[FIRST_RUN], part["low"], part["high"], part["runs"]),
        hovertemplate=f"{percent} % within %{{y:,.1f}} ms<br>%{{customdata[1]:,.1f}} to %{{customdata[2]:,.1f}} ms "
        "over %{customdata[3]} runs<br>%{x} virtual users<extra></extra>",
        **place,
    )


def _quantiles(entry: Entry) -> dict[str, float]:
    return dict(getattr(getattr(entry.results, "k6", None), "latency_quantiles_ms", None) or {})
