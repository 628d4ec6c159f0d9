"""How long an epoch takes, what its time goes to, and the load of the device that computes: bars for each case."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from matrix_benchmarking.analyze.best import Best
from matrix_benchmarking.analyze.intervals import summarise
from matrix_benchmarking.analyze.rank import among
from matrix_benchmarking.analyze.wording import ranking
from matrix_benchmarking.analyze.words import as_percent
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting import Plot, View, clicks, template

from .cases import (
    DURATION,
    WAIT,
    TrainingCase,
    cases_in,
    having,
    hover,
    left_out,
    not_understood,
    on_cpu,
    speeds,
    strategy_order,
)

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

    from matrix_benchmarking.plotting import Drawn


CASE, SPEED, MEAN, DEVIATION, RUN = "strategy", "I/O speed", "mean", "deviation", "run"
PART, SECONDS = "part", "seconds"
COMPUTING, WAITING = "computing", "waiting for data"


class EpochDuration(Plot):
    """Bars of the mean over the repetitions, with their standard deviation."""

    name: ClassVar[str] = "Epoch duration"
    kpis = (DURATION,)
    how_to_read: ClassVar[str] = (
        "Each bar is the mean over the repetitions of a strategy at an I/O speed, each a mean over its epochs after "
        "the warm-up; the line on it is one standard deviation over the repetitions to both sides. Lower is better."
    )

    def draw(self, view: View) -> Drawn:
        runs = view.runs
        cases = cases_in(self.study, runs)
        if not cases:
            return None, "No successful run has an epoch that counts."
        (kpi,) = view.kpis
        figure = bars(
            bars_frame(cases, kpi), f"{kpi.name} ({kpi.unit})", strategy_order(cases), speeds(self.study.read)
        )
        said = [*durations_conclusion(cases, self.study.best), *not_understood(self.study), *left_out(runs, cases)]
        return figure, said


class EpochParts(Plot):
    """Bars of computing and waiting."""

    name: ClassVar[str] = "What an epoch's time goes to"
    kpis = (WAIT, DURATION)
    how_to_read: ClassVar[str] = (
        "Each bar is a mean epoch, as the loop recorded it: the time in which it computed, and that in which it waited "
        "for the next batch. What is read ahead while it computes is no waiting."
    )

    def draw(self, view: View) -> Drawn:
        runs = view.runs
        cases = cases_in(self.study, runs)
        frame = parts_frame(cases)
        if frame.empty:
            return None, "No loop recorded how long it waited for its data."
        said = [parts_conclusion(frame), *left_out(runs, having(cases, WAIT), WAIT)]
        return parts_figure(frame, strategy_order(cases)), said


def bars_frame(cases: Sequence[TrainingCase], kpi: KPIDefinition) -> pandas.DataFrame:
    """One row a case that has the KPI: strategy, I/O speed, mean, deviation (NaN for one run), first run, hover."""
    import pandas

    rows = []
    for case in cases:
        values = [run.kpis[kpi.name] for run in case.runs if kpi.name in run.kpis]
        if not values:
            continue
        found = summarise(values)
        lines = [f"{kpi.name} {kpi.show(found.mean)}"]
        lines += [] if found.deviation is None else [f"standard deviation {kpi.show(found.deviation)}"]
        names = (template.text(case.label), template.text(case.speed))
        numbers = (found.mean, math.nan if found.deviation is None else found.deviation)
        rows.append((*names, *numbers, clicks.run_of(case.runs), hover(case, *lines)))
    return pandas.DataFrame(rows, columns=[CASE, SPEED, MEAN, DEVIATION, RUN, "hover"])


def bars(frame: pandas.DataFrame, title: str, order: Sequence[str], all_speeds: Sequence[str]) -> go.Figure:
    """A group of bars for each strategy, one for each I/O speed, with error bars."""
    import plotly.express as px

    shown = [template.text(speed) for speed in all_speeds]
    figure = px.bar(
        frame,
        x=CASE,
        y=MEAN,
        color=SPEED,
        pattern_shape=SPEED,
        error_y=DEVIATION,
        barmode="group",
        hover_name="hover",
        custom_data=[RUN],
        labels={MEAN: title, CASE: ""},
        category_orders={CASE: list(order), SPEED: shown},
        color_discrete_map=template.colours_of(shown),
        pattern_shape_map=dict(zip(shown, ("", "/", "x", ".", "\\", "+", "-", "|"), strict=False)),
    )
    figure.update_traces(hovertemplate="%{hovertext}<extra></extra>", marker_pattern_fillmode="overlay")
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(legend_title_text=SPEED)
    return template.apply(clicks.plain(figure))


def durations_conclusion(cases: Sequence[TrainingCase], best: Best) -> list[str]:
    """What the ranking says of these cases: which are the shortest at each I/O speed, and what may be as short."""
    runs = {id(run) for case in cases for run in case.runs}
    groups = among(best, lambda point: id(point.runs[0]) in runs)
    return [str(one) for one in ranking.verdict(dataclasses.replace(best, groups=tuple(groups)))]


def parts_frame(cases: Sequence[TrainingCase]) -> pandas.DataFrame:
    """Two rows a case whose runs recorded their waiting: computing and waiting, in seconds."""
    import pandas

    rows = []
    for case in cases:
        known = [run for run in case.runs if WAIT in run.kpis]
        if not known:
            continue
        whole = sum(run.kpis[DURATION] for run in known) / len(known)
        waited = whole * sum(run.kpis[WAIT] for run in known) / len(known)  # the share is the KPI's mean everywhere
        names = (template.text(case.label), template.text(case.speed))
        for part, seconds in ((COMPUTING, whole - waited), (WAITING, waited)):
            said = hover(case, f"{part} {seconds:.2f} s of {whole:.2f} s ({as_percent(seconds / whole)})")
            rows.append((*names, part, seconds, clicks.run_of(known), said))
    return pandas.DataFrame(rows, columns=[CASE, SPEED, PART, SECONDS, RUN, "hover"])


def parts_figure(frame: pandas.DataFrame, order: Sequence[str]) -> go.Figure:
    """Stacked bars, a facet for each I/O speed."""
    import plotly.express as px

    shown = list(dict.fromkeys(frame[SPEED]))
    figure = px.bar(
        frame,
        x=CASE,
        y=SECONDS,
        color=PART,
        pattern_shape=PART,
        facet_col=SPEED,
        hover_name="hover",
        custom_data=[RUN],
        labels={SECONDS: "seconds of an epoch", CASE: "", PART: ""},
        category_orders={CASE: list(order), PART: [COMPUTING, WAITING], SPEED: shown},
        color_discrete_map={COMPUTING: template.COLOURS[2], WAITING: template.COLOURS[1]},
        pattern_shape_map={COMPUTING: "", WAITING: "/"},
    )
    figure.update_traces(hovertemplate="%{hovertext}<extra></extra>", marker_pattern_fillmode="overlay")
    figure.for_each_annotation(lambda note: note.update(text=note.text.removeprefix(f"{SPEED}=")))
    return template.apply(clicks.plain(figure))


def parts_conclusion(frame: pandas.DataFrame) -> str:
    """Where the largest and the smallest share is spent waiting."""
    wide = frame.pivot_table(index=[CASE, SPEED], columns=PART, values=SECONDS).reset_index()
    share = wide[WAITING] / (wide[WAITING] + wide[COMPUTING])
    most, least = wide.iloc[int(share.argmax())], wide.iloc[int(share.argmin())]
    return template.plain(
        f"{most[CASE]} at {most[SPEED]} waits most: {as_percent(share.max())} of an epoch; "
        f"{least[CASE]} at {least[SPEED]} least: {as_percent(share.min())}."
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Device:
    """Whose load is shown: the vector of the system log, its KPI, its name, and what has to be said of it."""

    vector: str
    kpi: str
    name: str
    note: str = ""


_NO_GPU = "No GPU was measured in use, so its load is unknown; this is the load of the CPU, over all cores"
GPU = Device("gpu", "gpu_load", "GPU load")
PROCESS = Device("process", "process_load", "CPU load of the training", f"{_NO_GPU}, by the training's own process.")
CPU = Device("cpu", "cpu_load", "CPU load", f"{_NO_GPU}, by whatever ran on the machine.")


class DeviceLoad(Plot):
    """Bars of the mean load."""

    name: ClassVar[str] = "Load of the computing device"
    kpis = (GPU.kpi, PROCESS.kpi, CPU.kpi)
    how_to_read: ClassVar[str] = (
        "Each bar is the mean load during the epochs after the warm-up, over the repetitions of a strategy at an I/O "
        "speed, with one standard deviation over the repetitions."
    )

    def draw(self, view: View) -> Drawn:
        runs = view.runs
        cases = cases_in(self.study, runs)
        device = device_of(run for case in cases for run in case.runs)
        frame = bars_frame(cases, view.kpi(device.kpi))
        notes = [device.note] if device.note else []
        if frame.empty:
            return None, [*notes, f"{device.name} is not known for any epoch."]
        figure = bars(frame, device.name, strategy_order(cases), speeds(self.study.read))
        figure.update_yaxes(tickformat=".0%", range=[0, 1.03])
        hidden = left_out(runs, having(cases, device.kpi), device.kpi)
        return figure, [*notes, *loads_conclusion(frame, device), *hidden]


def device_of(runs: Iterable[Entry]) -> Device:
    """The GPU if a run that may have used one knows its load, else the CPU as the training used it, else all of it."""
    runs = list(runs)
    if any(GPU.kpi in run.kpis and not on_cpu(run) for run in runs):
        return GPU
    return PROCESS if any(PROCESS.kpi in run.kpis for run in runs) else CPU


def loads_conclusion(frame: pandas.DataFrame, device: Device) -> list[str]:
    """The highest and the lowest load."""
    most, least = frame.iloc[int(frame[MEAN].argmax())], frame.iloc[int(frame[MEAN].argmin())]
    text = (
        f"{device.name} is highest for {most[CASE]} at {most[SPEED]} ({as_percent(most[MEAN])}), lowest for "
        f"{least[CASE]} at {least[SPEED]} ({as_percent(least[MEAN])})."
    )
    return [template.plain(text)]
