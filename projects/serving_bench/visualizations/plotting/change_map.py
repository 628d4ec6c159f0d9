"""What each step gained or lost at which concurrency: a map of changes against the step before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.verdict.model import Outcome
from matrix_benchmarking.analyze.verdict.sides import Compared
from matrix_benchmarking.plotting import View, clicks, template

from ..steps import Change, changes
from .base import StepPlot
from .wording import extremes, signed, verdict_label

if TYPE_CHECKING:
    import plotly.graph_objects as go

LOST_TO_GAINED = ((0.0, "#d55e00"), (0.5, "#f2f2f2"), (1.0, "#0072b2"))
"""Vermilion and blue, which people who are colour-blind can tell apart; grey is no change."""
CLEAREST = 0.1
"""Share of the largest changes that the colours needn't tell apart."""


class WhatEachStepChanged(StepPlot):
    """A map of the change of throughput: a row a step, a column a concurrency."""

    name: ClassVar[str] = "What each step changed, at which concurrency"
    how_to_read: ClassVar[str] = (
        "The change of the throughput at each concurrency against the step before: blue gained, vermilion lost. "
        "Where no difference is shown, the change is in brackets."
    )

    def draw(self, view: View) -> tuple[Any, Any]:
        steps = self.steps(view)
        made = [change for change in changes(steps, self.study.blocks) if change.at]
        if not made:
            return None, "No two steps of the same model, device and number of requests were measured."
        return change_map(made), [conclusion(made), *self.left_out(view, steps)]


def change_map(made: Sequence[Change]) -> go.Figure:
    """Changes in percent, with the numbers in the cells."""
    import plotly.graph_objects as go

    places = sorted({place for change in made for place in change.at})
    shown = [[change.at.get(place) for place in places] for change in made]
    values = [[None if one is None else 100 * one.judged.measure.value for one in row] for row in shown]
    sizes = sorted(abs(value) for row in values for value in row if value is not None)
    largest = sizes[int(len(sizes) * (1 - CLEAREST)) - 1] if len(sizes) > 1 else sizes[0]
    figure = go.Figure(
        go.Heatmap(
            x=[str(place) for place in places],
            y=[template.wrapped(change.new.label, 34, 2) for change in made],
            z=values,
            text=[["" if one is None else _cell_text(one) for one in row] for row in shown],
            texttemplate="%{text}",
            hovertext=[[_hover(change, place) for place in places] for change in made],
            hovertemplate="%{hovertext}<extra></extra>",
            customdata=[[clicks.run_of(change.new.runs)] * len(places) for change in made],
            colorscale=LOST_TO_GAINED,
            zmid=0,
            zmin=-(largest or 1),
            zmax=largest or 1,
            xgap=2,
            ygap=2,
            colorbar={"title": {"text": "change (%)"}, "thickness": 12},
        )
    )
    figure.update_xaxes(title="concurrency (clients)", type="category")
    figure.update_yaxes(autorange="reversed", type="category")
    return template.apply(figure, height=130 + 46 * len(made))


def conclusion(made: Sequence[Change]) -> str:
    """Which step gained most, and which lost most, at which concurrency."""
    cells = [(change, place) for change in made for place in extremes(change) if place is not None]
    if not cells:
        return "Nowhere was more gained or lost than chance explains."
    by_size = sorted(cells, key=lambda cell: cell[0].at[cell[1]].judged.measure.value)
    parts = [
        f"the most was {what} by {change.new.label} at concurrency {place} ({signed(change.at[place])})"
        for what, (change, place), is_wanted in (("gained", by_size[-1], 1), ("lost", by_size[0], -1))
        if change.at[place].judged.measure.value * is_wanted > 0
    ]
    sentence = f"{', '.join(parts)}."
    return sentence[0].upper() + sentence[1:]


def _cell_text(compared: Compared) -> str:
    text = signed(compared)
    return f"({text})" if compared.outcome is Outcome.NO_CHANGE else text


def _hover(change: Change, place: int) -> str:
    compared = change.at.get(place)
    if compared is None:
        return "not measured in both"
    before, after = change.old.throughput(place), change.new.throughput(place)
    lines = [
        f"{change.old.label} → {change.new.label}",
        change.what,
        f"concurrency {place}: {before.mean:,.2f} → {after.mean:,.2f} requests/s ({signed(compared)})",
        verdict_label(compared),
    ]
    return "<br>".join(template.text(line) for line in lines)
