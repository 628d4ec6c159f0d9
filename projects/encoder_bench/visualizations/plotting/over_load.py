"""What happens as the load grows: cost, throughput and latency, and whether it was driven far enough."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from matrix_benchmarking.analyze.wording import ranking
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
LATENCY = "latency"
LATENCIES = {"p95_latency": "95th percentile", "avg_latency": "mean"}
LISTED = 2
"""How many series the sentence above the bars names."""


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


@dataclasses.dataclass(frozen=True, slots=True)
class Peak:
    """Where the mean of a series is highest, and what the last step gained, as a fraction: None for a single point."""

    line: str
    highest_vus: float
    highest: float
    last_vus: float
    rises: bool
    gain: float | None

    @property
    def is_open(self) -> bool:
        """True if more users might have done better: the highest point is the last, and was still rising."""
        return self.highest_vus == self.last_vus and (self.gain is None or self.gain >= ranking.FLAT)


class EnoughVUs(Plot):
    """Highest mean throughput of each series if the load had stopped at N users; a slider chooses N."""

    name: ClassVar[str] = "Did we try enough VUs?"
    kpis = ("throughput",)
    how_to_read: ClassVar[str] = (
        "The bars are the highest mean throughput of each variant and batch size; the percentage is the share of what "
        "was found in the end. Move the slider to see what fewer users would have found, in the bars and in the "
        "sentence above them."
    )

    def draw(self, view: View) -> Drawn:
        (kpi,) = view.kpis
        names = variant_names(self.study.read, self.workload)
        frame = points_frame(view.newest, [kpi], names).dropna(subset=[kpi.name])
        if frame.empty:
            return None, "No successful run has both a throughput and a number of virtual users."
        groups = ranking.verdict(self.study.best)
        said = [
            *(one.edge for one in groups if one.edge and len(groups) == 1),
            *peaks_conclusion(peaks(frame, kpi), kpi),
            *not_shown(view.runs, frame, [kpi], why_unranked(self.study)),
        ]
        return stopped_at(frame, kpi, variants(self.study.read, names)), said


def peaks(frame: pandas.DataFrame, kpi: KPIDefinition) -> list[Peak]:
    found = []
    for (variant, size), series in frame.groupby([VARIANT, BATCH_SIZE], sort=True):
        ordered = series.sort_values(VUS)
        values, users = list(ordered[kpi.name]), list(ordered[VUS])
        at = max(range(len(values)), key=values.__getitem__)
        gain = values[-1] / values[-2] - 1 if len(values) > 1 and values[-2] > 0 else None
        rises = len(values) > 1 and all(later > earlier for earlier, later in itertools.pairwise(values))
        found.append(Peak(f"{variant}, batch size {size}", users[at], values[at], users[-1], rises, gain))
    return found


def stopped_at(frame: pandas.DataFrame, kpi: KPIDefinition, all_variants: Sequence[str] | None = None) -> go.Figure:
    """A bar for each series with its highest mean throughput up to N users, and a slider for N."""
    import plotly.graph_objects as go

    users = sorted(set(frame[VUS]))
    lines = frame[VARIANT] + ", batch size " + frame[BATCH_SIZE]
    sizes = {size: place for place, size in enumerate(batch_sizes(frame))}
    places = {
        line: (variant, sizes[size])
        for line, variant, size in zip(lines, frame[VARIANT], frame[BATCH_SIZE], strict=True)
    }
    order = sorted(places, key=places.__getitem__, reverse=True)
    colours = template.colours_of(all_variants or sorted(set(frame[VARIANT])))
    by_limit = [_highest_of_each(frame[frame[VUS] <= limit], lines, kpi) for limit in users]
    final = by_limit[-1][kpi.name]
    at_each = [missed(found[kpi.name], final, limit, users[-1]) for limit, found in zip(users, by_limit, strict=True)]
    said = ["<br>".join(template.panel_title(line, 1) for line in one.split("<br>")) for one in at_each]
    figure = go.Figure()
    for limit, found in zip(users, by_limit, strict=True):
        highest = found[kpi.name]
        present = [line for line in order if line in highest.index]
        figure.add_bar(
            x=[float(highest[line]) for line in present],
            y=present,
            orientation="h",
            visible=bool(limit == users[-1]),
            marker_color=[colours[places[line][0]] for line in present],
            customdata=clicks.marks(found.loc[present, FIRST_RUN]),
            text=[as_percent(highest[line] / final[line]) if final[line] else "" for line in present],
            textposition="outside",
            cliponaxis=False,
            hovertext=list(found.loc[present, "hover"]),
            hovertemplate=f"highest up to {limit:g} virtual users (%{{text}} of what was found in the end):<br>"
            "%{hovertext}<extra></extra>",
            showlegend=False,
        )
    figure.update_layout(
        sliders=[
            {
                "active": len(users) - 1,
                "currentvalue": {"prefix": "If stopped at ", "suffix": " virtual users"},
                "pad": {"t": 45},
                "steps": [
                    {
                        "label": f"{limit:g}",
                        "method": "update",
                        "args": [
                            {"visible": [number == at for number in range(len(users))]},
                            {"annotations[0].text": said[at]},
                        ],
                    }
                    for at, limit in enumerate(users)
                ],
            }
        ]
    )
    figure.add_annotation(
        text=said[-1],
        x=1,
        y=1,
        xref="paper",
        yref="paper",
        xanchor="right",
        yanchor="bottom",
        align="right",
        showarrow=False,
    )
    figure.update_xaxes(title=f"{kpi.name} ({kpi.unit})", rangemode="tozero", nticks=5, tickangle=0)
    names = [template.wrapped(template.plain(line), 22, 3) for line in order]
    figure.update_yaxes(categoryorder="array", categoryarray=order, tickvals=order, ticktext=names)
    figure.update_layout(margin={"t": 85, "r": 50})
    return template.apply(figure, height=270 + 46 * len(order))


def missed(highest: pandas.Series[float], final: pandas.Series[float], limit: float, last: float) -> str:
    """What stopping at *limit* of *last* users would have missed of each *final* mean, for plotly to write."""
    shares = {line: highest.get(line, 0.0) / final[line] for line in final.index if final[line]}
    short = sorted((share, line) for line, share in shares.items() if share < 1)
    if limit == last:
        return f"Up to {limit:g} virtual users, the most that were tried."
    if not short:
        return f"Up to {limit:g} virtual users: the highest mean of all {len(final)} series was found."
    named = [
        f"{line} ({as_percent(share, digits=1)})" if share else f"{line} (not measured)"
        for share, line in short[:LISTED]
    ]
    more = [f"{len(short) - LISTED} more"] if len(short) > LISTED else []
    count = f"the highest mean of {len(short)} of {len(final)} series was still to come:"
    return f"Up to {limit:g} virtual users: {count}<br>{'; '.join([*named, *more])}."


def _highest_of_each(frame: pandas.DataFrame, lines: pandas.Series[str], kpi: KPIDefinition) -> pandas.DataFrame:
    """The point with the highest throughput of each of the *lines*, by their names."""
    highest = frame.groupby(lines)[kpi.name].idxmax()
    return frame.loc[highest].set_axis(highest.index)


def peaks_conclusion(found: Sequence[Peak], kpi: KPIDefinition) -> list[str]:
    last = [peak for peak in found if peak.highest_vus == peak.last_vus]
    if not last:
        return [f"In the end all {len(found)} series passed their highest mean: enough users were tried."]
    still = [peak for peak in last if peak.is_open]
    if all(peak.gain is None for peak in found):
        return ["One number of users was tried at each point: whether more do better isn't known."]
    flat = f"{len(last)} of {len(found)} series have their highest mean at the most users that were tried"
    if not still:
        return [
            f"{flat}, and the last step gained less than {as_percent(ranking.FLAT)} in each: they have levelled off."
        ]
    rising = sum(peak.rises for peak in still)
    shown = "; ".join(_open(peak, kpi) for peak in sorted(still, key=lambda peak: -(peak.gain or 1))[:5])
    more = f"; and {len(still) - 5} more" if len(still) > 5 else ""
    return [
        f"{flat}. More may do better in {len(still)} of them, {rising} of which rose at every step: {shown}{more}.",
    ]


def _open(peak: Peak, kpi: KPIDefinition) -> str:
    if peak.gain is None:
        return f"{peak.line} (only {peak.last_vus:g} was tried)"
    return f"{peak.line} ({kpi.show(peak.highest)} at {peak.last_vus:g}, the last step gained {as_percent(peak.gain)})"
