"""Over the load: throughput beside that of the model by itself and the maximum, and the CPU and GPU that limit it."""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from matrix_benchmarking.analyze.best import Best
from matrix_benchmarking.analyze.words import as_percent, count_of
from matrix_benchmarking.plotting import Choice, Control, Number, View, clicks, template
from matrix_benchmarking.plotting.tables import Cell, Column, Row, table

from ..analyze import SATURATED, Bottleneck, bottleneck
from ..steps import Step, best_of, groups
from .shown import (
    ABOVE,
    BELOW,
    HOVER,
    NOTHING,
    PLACE,
    RATE,
    RUN,
    STEP,
    StepPlot,
    api_frame,
    baseline_frame,
    best_sentences,
    maximum_name,
    maximum_sentences,
    model_sentences,
    percent,
    practical_maximum,
    rate,
)

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

    from matrix_benchmarking.plotting import Drawn
    from matrix_benchmarking.plotting.tables import Node


AXIS = "throughput_axis"
PANELS = ("through the API", "the model by itself")


class ThroughputCurves(StepPlot):
    """One line a step in each of two panels with one throughput axis; the theoretical maxima across both."""

    name: ClassVar[str] = "Throughput over concurrency and batch size"
    how_to_read: ClassVar[str] = (
        "Left: requests answered per second by the server, over the number of clients that each wait for their answer. "
        "Right: what the same model does without a server, over the batch size. Points are means of the repeats, bars "
        "reach from the smallest to the largest of them. Dashed: what the device could compute at most."
    )

    def controls(self) -> Sequence[Control]:
        return [Choice(AXIS, "Throughput axis", ("logarithmic", "linear"), default="logarithmic")]

    def draw(self, view: View) -> Drawn:
        steps = self.steps(view)
        if not steps:
            return None, NOTHING
        frames = api_frame(steps), baseline_frame(steps)
        is_logarithmic = view.option(AXIS) == "logarithmic"
        looks = self.step_colours(), self.step_symbols()
        said = [*throughput_conclusion(steps, self.study.of_all_versions), *self.left_out(view, steps)]
        return throughput_curves(
            frames, maxima(steps, self.study.of_all_versions), looks, is_logarithmic=is_logarithmic
        ), said


def maxima(steps: Sequence[Step], ranking: Best) -> dict[float, tuple[str, str]]:
    """The known theoretical maxima and the practical ones of the best steps, in requests/s: names and sources."""
    found: dict[float, tuple[str, str]] = {}
    for step in (one for group in groups(steps) for one in best_of(group, ranking)[:1]):
        practical = practical_maximum(step)
        if practical is not None:
            peak, how = practical
            found[peak] = (f"practical maximum of {step.label}", how)
    for step in steps:
        if step.maximum is not None:
            found.setdefault(step.maximum, (maximum_name(step), step.maximum_source or ""))
    return dict(sorted(found.items()))


def throughput_curves(
    frames: tuple[pandas.DataFrame, pandas.DataFrame],
    maxima: Mapping[float, tuple[str, str]],
    looks: tuple[Mapping[str, str], Mapping[str, str]],
    *,
    is_logarithmic: bool = True,
) -> go.Figure:
    """The frames of API and baseline side by side; *looks* are colours and symbols by step."""
    from plotly.subplots import make_subplots

    figure = make_subplots(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.03, subplot_titles=PANELS)
    colours, symbols = looks
    shown: set[str] = set()
    for column, frame in enumerate(frames, start=1):
        for label in dict.fromkeys(str(step) for step in frame[STEP]):
            line = frame[frame[STEP] == label]
            figure.add_scatter(
                x=line[PLACE],
                y=line[RATE],
                error_y={"type": "data", "array": line[ABOVE], "arrayminus": line[BELOW], "thickness": 1},
                mode="lines+markers",
                line={"color": colours[label], "width": 1.8},
                marker={"symbol": symbols[label], "size": 7},
                name=label,
                legendgroup=label,
                showlegend=label not in shown,
                customdata=clicks.marks(line[RUN]),
                hovertext=line[HOVER],
                hovertemplate="%{hovertext}<extra></extra>",
                row=1,
                col=column,
            )
            shown.add(label)
        figure.update_xaxes(type="log", **template.log_axis(list(frame[PLACE])), row=1, col=column)
    _draw_maxima(figure, maxima, frames)
    rates = [rate for frame in frames for rate in frame[RATE]]
    figure.update_annotations(font_size=template.TITLE_PX)
    for column, title in enumerate(("concurrency (clients)", "batch size (requests)"), start=1):
        figure.update_xaxes(title=template.panel_title(title, 3), row=1, col=column)
    figure.update_yaxes(title="throughput (requests/s)", row=1, col=1)
    if is_logarithmic and all(rate > 0 for rate in rates):
        ticks = one_two_five([*rates, *maxima])
        figure.update_yaxes(type="log", tickvals=ticks, ticktext=[f"{tick:,g}" for tick in ticks])
    else:
        figure.update_yaxes(rangemode="tozero")
    rows = -(-len(shown) // 3)
    template.apply(figure, height=440 + 24 * rows)
    return figure.update_layout(legend_y=1.09)


def one_two_five(values: Sequence[float]) -> list[float]:
    """Round numbers for the ticks of a logarithmic axis over some powers of ten: 10, 20, 50, 100 …"""
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [digit * 10.0**power for power in range(first, last + 1) for digit in (1, 2, 5)]


def _draw_maxima(
    figure: go.Figure, maxima: Mapping[float, tuple[str, str]], frames: Sequence[pandas.DataFrame]
) -> None:
    """A dashed line for each maximum through both panels, with its number in the left one."""
    for (peak, (what, source)), column in itertools.product(maxima.items(), (1, 2)):
        places = frames[column - 1][PLACE]
        ends = [places.min(), places.max()] if len(places) else [1, 1]
        name = template.text(what)
        figure.add_scatter(
            x=ends,
            y=[peak, peak],
            mode="lines",
            line={"color": template.COLOURS[6], "dash": "dash", "width": 1.5},
            name=f"{name}: {peak:,.0f}",
            legendgroup=name,
            showlegend=column == 1,
            hovertext=f"{name}: {peak:,.0f} requests/s<br>{template.text(source)}",
            hovertemplate="%{hovertext}<extra></extra>",
            row=1,
            col=column,
        )


def throughput_conclusion(steps: Sequence[Step], ranking: Best) -> list[str]:
    """The best throughput, what of the model and of the maximum it is, and how far the curves were followed."""
    best = best_sentences(steps, ranking)
    if not best:
        return ["No run measured its throughput through the API.", *maximum_sentences(steps)]
    rising = [step for step in steps if step.api and step.throughput(max(step.api)).mean == _peak(step)]
    sentences = [*best, *model_sentences(steps), *maximum_sentences(steps)]
    if rising:
        several = f"{len(rising)} of {len(steps)} curves" if len(steps) > 1 else "The curve"
        verb = "have their" if len(rising) > 1 else "has its"
        sentences.append(f"{several} {verb} highest point at the most clients that were tried: more may do better.")
    return sentences


def _peak(step: Step) -> float:
    return max(step.throughput(concurrency).mean for concurrency in step.api)


THRESHOLD = "saturated"
DEVICES = {"cpu": "CPU", "gpu": "GPU"}
COLOURS = dict(zip(DEVICES, template.COLOURS, strict=False))
DASHES = {"cpu": "solid", "gpu": "dot"}
COLUMNS, HEIGHT_OF_A_ROW = 3, 210


class Utilization(StepPlot):
    """A panel a step, with the loads of CPU and GPU; a table names the bottleneck at each concurrency."""

    name: ClassVar[str] = "CPU and GPU over concurrency"
    how_to_read: ClassVar[str] = (
        "Mean load of the CPU cores and of the GPU while the server answered so many clients; the mean of the repeats. "
        "From the dashed line on a device counts as saturated. A load below it doesn't say that the device is free: "
        "one full core of four is a load of 25 %, and a GPU's load is the share of time in which it computes anything."
    )

    def controls(self) -> Sequence[Control]:
        steps = (50, 60, 70, 80, 85, 90, 95, 99)
        return [Number(THRESHOLD, "Saturated from", 100 * SATURATED, minimum=1, maximum=100, steps=steps, unit="%")]

    def draw(self, view: View) -> Drawn:
        steps = [step for step in self.steps(view) if step.api]
        if not steps:
            return None, NOTHING
        saturated = view.option(THRESHOLD) / 100
        if not any(step.load(place, device) is not None for step in steps for place in step.api for device in DEVICES):
            return None, "No run says how loaded CPU or GPU were, so what limited the server isn't known."
        said = [*bottleneck_conclusion(steps, saturated), *self.left_out(view, steps)]
        return utilization(steps, saturated), [*said, bottleneck_table(steps, saturated)]


def limits(step: Step, saturated: float) -> dict[int, Bottleneck]:
    """The bottleneck at each concurrency."""
    return {place: bottleneck(step.load(place, "cpu"), step.load(place, "gpu"), saturated) for place in step.api}


def utilization(steps: Sequence[Step], saturated: float) -> go.Figure:
    """A panel for each of *steps*: loads in percent over concurrency."""
    titles = [template.text(step.label) for step in steps]
    facets = template.Facets(titles, COLUMNS, shared_yaxes=True, shared_xaxes=True, horizontal_spacing=0.03)
    for index, step in enumerate(steps):
        named = limits(step, saturated)
        for device, title in DEVICES.items():
            places = [place for place in step.api if step.load(place, device) is not None]
            trace = {
                "x": places,
                "y": [100 * (step.load(place, device) or 0.0) for place in places],
                "mode": "lines+markers",
                "line": {"color": COLOURS[device], "dash": DASHES[device], "width": 1.8},
                "marker": {"size": 6, "symbol": "circle" if device == "cpu" else "square"},
                "name": title,
                "customdata": clicks.marks([clicks.run_of(step.runs)] * len(places)),
                "hovertext": [_hover(step, place, named[place]) for place in places],
                "hovertemplate": "%{hovertext}<extra></extra>",
            }
            facets.add(index, trace)
        facets.rule(index, "y", 100 * saturated, line={"color": template.COLOURS[6], "dash": "dash", "width": 1})
    facets.axes("x", type="log", **template.log_axis([place for step in steps for place in step.api]))
    facets.axes("y", range=[0, 105])
    facets.label("concurrency (clients)", "load (%)")
    height = HEIGHT_OF_A_ROW * facets.rows + 130
    return facets.figure(height, legend={"y": 1 + 60 / height})


def bottleneck_conclusion(steps: Sequence[Step], saturated: float) -> list[str]:
    """How often each bottleneck was met, and which steps it limited where they were best."""
    found = collections.Counter(limit for step in steps for limit in limits(step, saturated).values())
    total = found.total()
    counts = ", ".join(f"{limit.value} at {count}" for limit, count in found.most_common())
    at_best: dict[Bottleneck, list[str]] = {}
    for step in steps:
        if step.best is not None:
            place = step.best_at[0]
            shown = f"{step.label} (concurrency {place}: {_loads(step, place)})"
            at_best.setdefault(limits(step, saturated)[place], []).append(shown)
    return [
        f"Of {count_of(total, 'point')} of all curves: {counts}.",
        *(f"{_capital(limit.value)} at the best throughput of {'; '.join(shown)}." for limit, shown in at_best.items()),
    ]


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _loads(step: Step, place: int) -> str:
    return ", ".join(f"{title} {percent(step.load(place, device))}" for device, title in DEVICES.items())


def bottleneck_table(steps: Sequence[Step], saturated: float) -> Node:
    """A row a step, a column a concurrency."""
    places = sorted({place for step in steps for place in step.api})
    columns = [Column("Step"), *(Column(count_of(place, "client")) for place in places)]
    rows: list[Row] = [
        [step.label, *(_cell(step, place, named.get(place)) for place in places)]
        for step in steps
        for named in (limits(step, saturated),)
    ]
    return table(
        columns, rows, caption=f"What was saturated, from {as_percent(saturated)} on; green: where throughput was best"
    )


def _cell(step: Step, place: int, limit: Bottleneck | None) -> Cell:
    if limit is None:
        return Cell("not measured")
    return Cell(limit.short, mark=place in step.best_at)


def _hover(step: Step, place: int, limit: Bottleneck) -> str:
    throughput = rate(step.throughput(place).mean)
    lines = [step.label, f"concurrency {place}: {throughput}", _loads(step, place), limit.value]
    return clicks.hover(step.runs, *(template.text(line) for line in lines))
