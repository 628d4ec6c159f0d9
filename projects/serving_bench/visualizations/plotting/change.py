"""The experiments as steps: the best throughput of each, and what each change gained or lost at which concurrency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.intervals import interval, scale_of
from matrix_benchmarking.analyze.wording import apart_label
from matrix_benchmarking.matrix import SettingLists, Variables
from matrix_benchmarking.plotting import clicks, template
from matrix_benchmarking.plotting.point_cells import runs_cell
from matrix_benchmarking.plotting.tables import Cell, Column, Row, table

from ..steps import Change, Step, best_of, changes, compare, group_label, groups
from .base import NOTHING, StepPlot
from .wording import at, behind, ends, rate, repeats_sentence, signed

if TYPE_CHECKING:
    import plotly.graph_objects as go

WIDTH_OF_A_LABEL = 26
LOST_TO_GAINED = ((0.0, "#d55e00"), (0.5, "#f2f2f2"), (1.0, "#0072b2"))
"""Vermilion and blue, which people who are colour-blind can tell apart; grey is no change."""
CLEAREST = 0.1
"""Share of the largest changes that the colours needn't tell apart."""


class ThroughputOfEachStep(StepPlot):
    """A bar a step, with its interval where it was repeated; a table says what changed and what it did."""

    name: ClassVar[str] = "Best throughput of each step"
    how_to_read: ClassVar[str] = (
        "The best API throughput of each configuration, in the order of the experiments: the mean of the repeats with "
        "its 95 % interval. In the bar: where it was best, and the change from the bar before, if they may be compared."
    )

    def do_plot(
        self,
        ordered_vars: list[str],
        settings: dict[str, Any],
        setting_lists: SettingLists,
        variables: Variables,
        cfg: Mapping[str, Any],
    ) -> tuple[Any, Any]:
        steps = [step for step in self.steps(settings, setting_lists) if step.best is not None]
        if not steps:
            return None, NOTHING
        made = changes(steps)
        text = [*conclusion(steps, made), self._table(steps, made)]
        return bars(steps, made, self.step_colours()), text

    def _table(self, steps: Sequence[Step], made: Sequence[Change]) -> Any:
        columns = [
            Column("Step"),
            Column("What changed"),
            Column("Best", "requests/s", numeric=True),
            Column("At", "clients", numeric=True),
            Column("Change", numeric=True, help="of the best throughput, from the step before"),
            Column("95 % interval", help="of the change, from the repeats"),
            Column("More than chance", help="Welch's t-test, or a t-test with the pooled spread of the repeats"),
            Column("Gained most"),
            Column("Lost most"),
            Column("Runs"),
        ]
        into = {id(change.new): change for change in made}
        best = [best_of(group) for group in groups(steps)]
        rows = [self._row(step, into.get(id(step)), is_best=any(step is one for one in best)) for step in steps]
        return table(columns, rows, caption="What each step changed, and what it did to the throughput")

    def _row(self, step: Step, change: Change | None, *, is_best: bool) -> Row:
        assert step.best is not None
        return [
            Cell(step.label, mark=is_best),
            change.what if change else f"the first{f' of {group}' if (group := group_label(step)) else ''}",
            Cell(f"{step.best.mean:,.2f}", sort=step.best.mean, mark=is_best),
            Cell(" or ".join(map(str, step.best_at)), sort=step.best_at[0]),
            *_change_cells(change),
            runs_cell(step.runs, self.catalogue),
        ]


class WhatEachStepChanged(StepPlot):
    """A map of the change of throughput: a row a step, a column a concurrency."""

    name: ClassVar[str] = "What each step changed, at which concurrency"
    how_to_read: ClassVar[str] = (
        "The change of the throughput at each concurrency against the step before: blue gained, vermilion lost. With "
        "repeats, a change that isn't more than chance is in brackets."
    )

    def do_plot(
        self,
        ordered_vars: list[str],
        settings: dict[str, Any],
        setting_lists: SettingLists,
        variables: Variables,
        cfg: Mapping[str, Any],
    ) -> tuple[Any, Any]:
        made = [change for change in changes(self.steps(settings, setting_lists)) if change.at]
        if not made:
            return None, "No two steps of the same model, device and number of requests were measured."
        return change_map(made), [_gain_sentence(change) for change in made]


def bars(steps: Sequence[Step], made: Sequence[Change], colours: Mapping[str, str]) -> go.Figure:
    """The best throughput of each of *steps*."""
    import plotly.graph_objects as go

    into = {id(change.new): change.best for change in made}
    known = [step.best for step in steps if step.best is not None]
    intervals = [interval(sample, scale_of([sample.mean])) for sample in known]
    labels = [template.text(step.label) for step in steps]
    figure = go.Figure(
        go.Bar(
            x=list(range(len(steps))),
            y=[sample.mean for sample in known],
            error_y={
                "type": "data",
                "array": [found.high - one.mean if found else 0 for found, one in zip(intervals, known, strict=True)],
                "arrayminus": [
                    one.mean - found.low if found else 0 for found, one in zip(intervals, known, strict=True)
                ],
                "visible": any(intervals),
            },
            marker_color=[colours[label] for label in labels],
            text=[_bar_text(step, into.get(id(step))) for step in steps],
            textposition="inside",
            insidetextanchor="middle",
            customdata=clicks.marks([clicks.run_of(step.runs) for step in steps]),
            hovertext=[
                f"{label}<br>{rate(one.mean)} {at(step)}<br>{behind(one)}"
                for label, one, step in zip(labels, known, steps, strict=True)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    )
    ticks = [template.wrapped(step.label, WIDTH_OF_A_LABEL, 3) for step in steps]
    figure.update_xaxes(tickvals=list(range(len(steps))), ticktext=ticks)
    figure.update_yaxes(title="best throughput (requests/s)", rangemode="tozero")
    return template.apply(figure.update_layout(showlegend=False, bargap=0.25))


def _bar_text(step: Step, comparison: Any) -> str:
    assert step.best is not None
    change = f"<br>{signed(comparison)}" if comparison else ""
    return f"{step.best.mean:,.2f}<br>at {' or '.join(map(str, step.best_at))}{change}"


def change_map(made: Sequence[Change]) -> go.Figure:
    """Changes in percent, with the numbers in the cells."""
    import plotly.graph_objects as go

    places = sorted({place for change in made for place in change.at})
    shown = [[change.at.get(place) for place in places] for change in made]
    values = [[None if one is None else 100 * one.difference for one in row] for row in shown]
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


def conclusion(steps: Sequence[Step], made: Sequence[Change]) -> list[str]:
    """Which steps are best and what was gained over the first, the largest gain and loss, and how sure that is."""
    sentences = [_best_sentence(group, steps) for group in groups(steps)]
    known = [(change, change.best.difference) for change in made if change.best is not None]
    gained = max(known, key=lambda item: item[1], default=None)
    lost = min(known, key=lambda item: item[1], default=None)
    if gained and gained[1] > 0:
        sentences.append(f"The largest gain: {_step_sentence(gained[0])}.")
    if lost and lost[1] < 0:
        sentences.append(f"The largest loss: {_step_sentence(lost[0])}.")
    return [*sentences, repeats_sentence(steps)]


def _best_sentence(group: Sequence[Step], steps: Sequence[Step]) -> str:
    """The best of the steps that may be compared with each other."""
    best = best_of(group)
    assert best is not None
    assert best.best is not None
    scope = "" if len(group) == len(steps) else f" for {group_label(best, steps)}"
    value = f"{rate(best.best.mean)} {at(best)} ({behind(best.best)})"
    return f"Best{scope}: {best.label}: {value}{_over_first(best, group, steps)}."


def _over_first(best: Step, group: Sequence[Step], steps: Sequence[Step]) -> str:
    first = group[0]
    if first is best:
        return ", the first step" if len(group) > 1 else ", the only step"
    comparison = compare(best, first, steps)
    assert comparison is not None
    assert first.best is not None
    return f", {signed(comparison)} against {first.label} ({first.best.mean:,.2f} {at(first)})"


def _step_sentence(change: Change) -> str:
    assert change.best is not None
    chance = {True: ", more than chance", False: ", which may be chance", None: ""}[change.best.apart]
    return f"{change.new.label} ({change.what}): {signed(change.best)}{chance}"


def _gain_sentence(change: Change) -> str:
    gained, lost = _extremes(change)
    parts = [f"gained most at concurrency {gained[0]} ({gained[1]})"] if gained else ["gained nowhere"]
    parts.append(f"lost most at {lost[0]} ({lost[1]})" if lost else "lost nowhere")
    return f"{change.new.label} ({change.what}): {', '.join(parts)}."


def _extremes(change: Change) -> tuple[tuple[int, str] | None, tuple[int, str] | None]:
    """Where most was gained and where most was lost, and how much; None where nothing was."""
    by_size = sorted(change.at.items(), key=lambda item: item[1].difference)
    (low, lost), (high, gained) = by_size[0], by_size[-1]
    return (
        (high, signed(gained)) if gained.difference > 0 else None,
        (low, signed(lost)) if lost.difference < 0 else None,
    )


def _change_cells(change: Change | None) -> list[Cell | str]:
    if change is None or change.best is None:
        return ["–", "–", "–", "–", "–"]
    gained, lost = _extremes(change) if change.at else (None, None)
    return [
        Cell(signed(change.best), sort=change.best.difference),
        ends(change.interval, change.best.scale),
        apart_label(change.best),
        f"{gained[1]} at {gained[0]}" if gained else "nowhere",
        f"{lost[1]} at {lost[0]}" if lost else "nowhere",
    ]


def _cell_text(comparison: Any) -> str:
    text = signed(comparison)
    return f"({text})" if comparison.apart is False else text


def _hover(change: Change, place: int) -> str:
    comparison = change.at.get(place)
    if comparison is None:
        return "not measured in both"
    before, after = change.old.throughput(place), change.new.throughput(place)
    lines = [
        f"{change.old.label} → {change.new.label}",
        change.what,
        f"concurrency {place}: {before.mean:,.2f} → {after.mean:,.2f} requests/s ({signed(comparison)})",
        f"more than chance: {apart_label(comparison)}",
    ]
    return "<br>".join(template.text(line) for line in lines)
