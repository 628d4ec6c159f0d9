"""Throughput through the API over concurrency, beside that of the model by itself over batch size and the maximum."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.best import Best
from matrix_benchmarking.plotting import Choice, Control, View, clicks, template

from ..steps import Step
from .base import NOTHING, StepPlot
from .frames import ABOVE, BELOW, HOVER, PLACE, RATE, RUN, STEP, api_frame, baseline_frame
from .wording import best_sentences, maximum_name, maximum_sentences, model_sentences

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

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

    def draw(self, view: View) -> tuple[Any, Any]:
        steps = self.steps(view)
        if not steps:
            return None, NOTHING
        frames = api_frame(steps), baseline_frame(steps)
        is_logarithmic = view.option(AXIS) == "logarithmic"
        looks = self.step_colours(), self.step_symbols()
        said = [*conclusion(steps, self.study.best), *self.left_out(view, steps)]
        return throughput_curves(frames, maxima(steps), looks, is_logarithmic=is_logarithmic), said


def maxima(steps: Iterable[Step]) -> dict[float, Step]:
    """The known theoretical maxima, in requests/s, each with the first step that it is of."""
    found: dict[float, Step] = {}
    for step in steps:
        if step.maximum is not None:
            found.setdefault(step.maximum, step)
    return dict(sorted(found.items()))


def throughput_curves(
    frames: tuple[pandas.DataFrame, pandas.DataFrame],
    maxima: Mapping[float, Step],
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
    figure.update_xaxes(title="concurrency (clients)", row=1, col=1)
    figure.update_xaxes(title="batch size (requests)", row=1, col=2)
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


def _draw_maxima(figure: go.Figure, maxima: Mapping[float, Step], frames: Sequence[pandas.DataFrame]) -> None:
    """A dashed line for each maximum through both panels, with its number in the left one."""
    for (rate, step), column in itertools.product(maxima.items(), (1, 2)):
        places = frames[column - 1][PLACE]
        ends = [places.min(), places.max()] if len(places) else [1, 1]
        name = template.text(maximum_name(step))
        figure.add_scatter(
            x=ends,
            y=[rate, rate],
            mode="lines+text",
            line={"color": template.COLOURS[6], "dash": "dash", "width": 1.5},
            text=[f"{name}: {rate:,.0f}" if column == 1 else "", ""],
            textposition="top right",
            cliponaxis=False,
            showlegend=False,
            hovertext=f"{name}: {rate:,.0f} requests/s<br>{template.text(step.maximum_source)}",
            hovertemplate="%{hovertext}<extra></extra>",
            row=1,
            col=column,
        )


def conclusion(steps: Sequence[Step], ranking: Best) -> list[str]:
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
