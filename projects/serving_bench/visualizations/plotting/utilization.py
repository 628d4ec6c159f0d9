"""CPU and GPU over concurrency, and the bottleneck that they name."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.words import as_percent, count_of
from matrix_benchmarking.plotting import Control, Number, View, clicks, template
from matrix_benchmarking.plotting.tables import Cell, Column, Row, table

from ..bottleneck import SATURATED, Bottleneck, bottleneck
from ..steps import Step
from .base import NOTHING, StepPlot
from .frames import percent
from .wording import rate

if TYPE_CHECKING:
    import plotly.graph_objects as go

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

    def draw(self, view: View) -> tuple[Any, Any]:
        steps = [step for step in self.steps(view) if step.api]
        if not steps:
            return None, NOTHING
        saturated = view.option(THRESHOLD) / 100
        if not any(step.load(place, device) is not None for step in steps for place in step.api for device in DEVICES):
            return None, "No run says how loaded CPU or GPU were, so what limited the server isn't known."
        said = [*conclusion(steps, saturated), *self.left_out(view, steps)]
        return utilization(steps, saturated), [*said, bottleneck_table(steps, saturated)]


def limits(step: Step, saturated: float) -> dict[int, Bottleneck]:
    """The bottleneck at each concurrency."""
    return {place: bottleneck(step.load(place, "cpu"), step.load(place, "gpu"), saturated) for place in step.api}


def utilization(steps: Sequence[Step], saturated: float) -> go.Figure:
    """A panel for each of *steps*: loads in percent over concurrency."""
    from plotly.subplots import make_subplots

    columns = min(COLUMNS, len(steps))
    rows = -(-len(steps) // columns)
    figure = make_subplots(
        rows=rows,
        cols=columns,
        shared_yaxes=True,
        shared_xaxes=True,
        horizontal_spacing=0.03,
        vertical_spacing=min(0.12, 0.35 / rows),
        subplot_titles=[template.wrapped(step.label, 36) for step in steps],
    )
    for index, step in enumerate(steps):
        cell = {"row": index // columns + 1, "col": index % columns + 1}
        named = limits(step, saturated)
        for device, title in DEVICES.items():
            places = [place for place in step.api if step.load(place, device) is not None]
            figure.add_scatter(
                x=places,
                y=[100 * (step.load(place, device) or 0.0) for place in places],
                mode="lines+markers",
                line={"color": COLOURS[device], "dash": DASHES[device], "width": 1.8},
                marker={"size": 6, "symbol": "circle" if device == "cpu" else "square"},
                name=title,
                legendgroup=title,
                showlegend=index == 0,
                customdata=clicks.marks([clicks.run_of(step.runs)] * len(places)),
                hovertext=[_hover(step, place, named[place]) for place in places],
                hovertemplate="%{hovertext}<extra></extra>",
                **cell,
            )
        figure.add_hline(y=100 * saturated, line={"color": template.COLOURS[6], "dash": "dash", "width": 1}, **cell)
    places = [place for step in steps for place in step.api]
    figure.update_xaxes(type="log", **template.log_axis(places))
    figure.update_yaxes(range=[0, 105])
    for column in range(1, columns + 1):
        last = max(index for index in range(len(steps)) if index % columns + 1 == column) // columns + 1
        figure.update_xaxes(title="concurrency (clients)", showticklabels=True, row=last, col=column)
    for row in range(1, rows + 1):
        figure.update_yaxes(title="load (%)", row=row, col=1)
    height = HEIGHT_OF_A_ROW * rows + 130
    return template.apply(figure.update_layout(legend_y=1 + 60 / height), height=height)


def conclusion(steps: Sequence[Step], saturated: float) -> list[str]:
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


def bottleneck_table(steps: Sequence[Step], saturated: float) -> Any:
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
    return "<br>".join(template.text(line) for line in lines)
