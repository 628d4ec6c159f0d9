"""The experiments as steps: the best throughput of each, what it changed, and which was the best."""

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
from .wording import at, behind, ends, extremes, rate, repeats_sentence, signed

if TYPE_CHECKING:
    import plotly.graph_objects as go

WIDTH_OF_A_LABEL = 26


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
            Column("Gained most", help="and at which concurrency, if that is more than chance"),
            Column("Lost most", help="and at which concurrency, if that is more than chance"),
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


def _change_cells(change: Change | None) -> list[Cell | str]:
    if change is None or change.best is None:
        return ["–", "–", "–", "–", "–"]
    gained, lost = extremes(change)
    return [
        Cell(signed(change.best), sort=change.best.difference),
        ends(change.interval, change.best.scale),
        apart_label(change.best),
        *("nowhere" if place is None else f"{signed(change.at[place])} at {place}" for place in (gained, lost)),
    ]
