"""What each step changed: its best throughput, and what was gained or lost at which concurrency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from matrix_benchmarking.analyze.best import Best
from matrix_benchmarking.analyze.verdict.model import Outcome
from matrix_benchmarking.analyze.verdict.sides import Compared, RunBlocks
from matrix_benchmarking.analyze.wording.verdicts import interval_label
from matrix_benchmarking.plotting import View, clicks, template
from matrix_benchmarking.plotting.report_best import runs_cell
from matrix_benchmarking.plotting.tables import Cell, Column, Row, table

from ..steps import Change, Step, best_of, changes, compare, group_label, groups
from .shown import NOTHING, THROUGHPUT, StepPlot, at, behind, extremes, rate, repeats_sentence, signed, verdict_label

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from matrix_benchmarking.plotting import Drawn
    from matrix_benchmarking.plotting.tables import Node


WIDTH_OF_A_LABEL = 26


class ThroughputOfEachStep(StepPlot):
    """A bar a step, with its interval where it was repeated; a table says what changed and what it did."""

    name: ClassVar[str] = "Best throughput of each step"
    how_to_read: ClassVar[str] = (
        "The best API throughput of each configuration, in the order of the experiments: the mean of the repeats with "
        "its 95 % interval. In the bar: where it was best, and the change from the bar before, if they may be compared."
    )

    def draw(self, view: View) -> Drawn:
        steps = [step for step in self.steps(view) if step.best is not None]
        if not steps:
            return None, NOTHING
        made = changes(steps, self.study.blocks)
        said = [
            *steps_conclusion(steps, made, self.study.of_all_versions, self.study.blocks),
            *self.left_out(view, steps),
        ]
        return bars(steps, made, self.step_colours()), [*said, self._table(steps, made)]

    def _table(self, steps: Sequence[Step], made: Sequence[Change]) -> Node:
        columns = [
            Column("Step"),
            Column("What changed"),
            Column("Best", "requests/s", numeric=True),
            Column("At", "clients", numeric=True),
            Column("Change", numeric=True, help="of the best throughput, from the step before"),
            Column("95 % interval", help="of the change, from the rounds in which both were measured, else campaigns"),
            Column("Verdict", help="on the change, of those of all steps"),
            Column("Gained most", help="and at which concurrency, where that may be more than chance"),
            Column("Lost most", help="and at which concurrency, where that may be more than chance"),
            Column("Runs"),
        ]
        into = {id(change.new): change for change in made}
        best = {id(best_of(group, self.study.of_all_versions)[0]) for group in groups(steps)}
        rows = [self._row(step, into.get(id(step)), is_best=id(step) in best) for step in steps]
        return table(columns, rows, caption="What each step changed, and what it did to the throughput")

    def _row(self, step: Step, change: Change | None, *, is_best: bool) -> Row:
        assert step.best is not None
        return [
            Cell(step.label, mark=is_best),
            change.what if change else f"the first{f' of {group}' if (group := group_label(step)) else ''}",
            Cell(f"{step.best.value:,.2f}", sort=step.best.value, mark=is_best),
            Cell(" or ".join(map(str, step.best_at)), sort=step.best_at[0]),
            *_change_cells(change),
            runs_cell(step.runs, self.catalogue.href),
        ]


def bars(steps: Sequence[Step], made: Sequence[Change], colours: Mapping[str, str]) -> go.Figure:
    """The best throughput of each of *steps*."""
    import plotly.graph_objects as go

    into = {id(change.new): change.best for change in made}
    known = [step.best for step in steps if step.best is not None]
    labels = [template.text(step.label) for step in steps]
    figure = go.Figure(
        go.Bar(
            x=list(range(len(steps))),
            y=[point.value for point in known],
            error_y={
                "type": "data",
                "array": [point.interval.high - point.value if point.interval else 0 for point in known],
                "arrayminus": [point.value - point.interval.low if point.interval else 0 for point in known],
                "visible": any(point.interval for point in known),
            },
            marker_color=[colours[label] for label in labels],
            text=[_bar_text(step, into.get(id(step))) for step in steps],
            textposition="inside",
            insidetextanchor="middle",
            customdata=clicks.marks([clicks.run_of(step.runs) for step in steps]),
            hovertext=[
                clicks.hover(step.runs, label, f"{rate(one.value)} {at(step)}", behind(step))
                for label, one, step in zip(labels, known, steps, strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    )
    ticks = [template.wrapped(step.label, WIDTH_OF_A_LABEL, 3) for step in steps]
    figure.update_xaxes(tickvals=list(range(len(steps))), ticktext=ticks)
    figure.update_yaxes(title="best throughput (requests/s)", rangemode="tozero")
    return template.apply(figure.update_layout(showlegend=False, bargap=0.25))


def _bar_text(step: Step, compared: Compared | None) -> str:
    assert step.best is not None
    change = f"<br>{signed(compared)}" if compared else ""
    return f"{step.best.value:,.2f}<br>at {' or '.join(map(str, step.best_at))}{change}"


def steps_conclusion(steps: Sequence[Step], made: Sequence[Change], ranking: Best, blocks: RunBlocks) -> list[str]:
    """Which steps are best and what was gained over the first, the largest gain and loss, and how sure that is."""
    sentences = _best_sentences(steps, ranking, blocks)
    known = [(change, change.best.judged.measure.value) for change in made if change.best is not None]
    gained = max(known, key=lambda item: item[1], default=None)
    lost = min(known, key=lambda item: item[1], default=None)
    if gained and gained[1] > 0:
        sentences.append(f"The largest gain of the best throughput: {_step_sentence(gained[0])}.")
    if lost and lost[1] < 0:
        sentences.append(f"The largest loss of it: {_step_sentence(lost[0])}.")
    return [*sentences, repeats_sentence(steps)]


def _best_sentences(steps: Sequence[Step], ranking: Best, blocks: RunBlocks) -> list[str]:
    """The best of the steps that may be compared with each other, what it gained over the first, and what may be as
    good.
    """
    found = [(group[0], *best_of(group, ranking)) for group in groups(steps)]
    gains = iter(compare([(first, best) for first, best, *_ in found if first is not best], blocks))
    sentences = []
    for first, best, *others in found:
        scope = "" if len(found) == 1 else f" for {group_label(best, steps)}"
        said = f"Best{scope}: {best.label}: {_best_value(best)} {at(best)} ({behind(best)})"
        compared = None if first is best else next(gains)
        if compared is None:
            said = f"{said}, the first step."
        else:
            where = f"{first.label} ({_best_value(first)} {at(first)})"
            said = f"{said}, {_change_label(compared)} against {where}."
        told = "; ".join(f"{step.label} ({_best_value(step)})" for step in others)
        sentences.append(f"{said} Can't be told apart from it: {told}." if others else said)
    return sentences


def _best_value(step: Step) -> str:
    assert step.best is not None
    return rate(step.best.value)


def _step_sentence(change: Change) -> str:
    assert change.best is not None
    return f"{change.new.label} ({change.what}): {_change_label(change.best)}"


def _change_label(compared: Compared) -> str:
    return f"{signed(compared)} ({verdict_label(compared)})"


def _change_cells(change: Change | None) -> list[Cell | str]:
    if change is None or change.best is None:
        return ["–", "–", "–", "–", "–"]
    gained, lost = extremes(change)
    return [
        Cell(signed(change.best), sort=change.best.judged.measure.value),
        interval_label(change.best.judged, THROUGHPUT),
        verdict_label(change.best),
        *("nowhere" if place is None else f"{signed(change.at[place])} at {place}" for place in (gained, lost)),
    ]


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

    def draw(self, view: View) -> Drawn:
        steps = self.steps(view)
        made = [change for change in changes(steps, self.study.blocks) if change.at]
        if not made:
            return None, "No two steps of the same model, device and number of requests were measured."
        return change_map(made), [map_conclusion(made), *self.left_out(view, steps)]


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
            y=[template.wrapped(change.new.label, 18, 4) for change in made],
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


def map_conclusion(made: Sequence[Change]) -> str:
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
    return clicks.hover(change.new.runs, *(template.text(line) for line in lines))
