"""The load of the device that computes: over an epoch's progress, and as bars.

It is that of the GPUs; where no run measured one, that of the cores by the training's process or, where that was not
watched, by whatever ran. Every title and text says which.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.matrix import Entry, SettingLists, Variables
from matrix_benchmarking.plotting import Plot, clicks, template

from ..store import epochs as of_epochs
from .cases import TrainingCase, cases_of, hover, label_names, speeds, strategy_order
from .durations import CASE, DEVIATION, MEAN, RUN, SPEED, bars

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go

BAND = "rgba({red},{green},{blue},0.16)"
COLUMNS, ROW_HEIGHT = 2, 340


@dataclasses.dataclass(frozen=True, slots=True)
class Device:
    """Whose load is shown: the vector of the system log, its KPI, its name, and what has to be said of it."""

    vector: str
    kpi: str
    name: str
    note: str = ""


_NO_GPU = "No GPU was measured, so GPU load is unknown; this is the load of the CPU, over all cores"
GPU = Device("gpu", "gpu_load", "GPU load")
PROCESS = Device("process", "process_load", "CPU load of the training", f"{_NO_GPU}, by the training's own process.")
CPU = Device("cpu", "cpu_load", "CPU load", f"{_NO_GPU}, by whatever ran on the machine.")


@dataclasses.dataclass(frozen=True, slots=True)
class LoadCurve:
    """The load of a case over an epoch's progress.

    Attributes:
        mean, deviation: at each percent of an epoch, over *epochs* of all *runs*; the deviation is 0 for one epoch.
    """

    case: TrainingCase
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    epochs: int
    runs: int


class LoadOverEpoch(Plot):
    """A line for each strategy with its band, a facet for each I/O speed."""

    name: ClassVar[str] = "Load over an epoch"
    how_to_read: ClassVar[str] = (
        f"Each line is a moving mean over {of_epochs.WINDOW} samples, each epoch brought to one length: the mean "
        "over all epochs after the warm-up of all repetitions, with a band of one standard deviation to both sides. An "
        "epoch whose log doesn't reach from its start to its end is not used."
    )

    def do_plot(
        self,
        ordered_vars: list[str],
        settings: dict[str, Any],
        setting_lists: SettingLists,
        variables: Variables,
        cfg: Mapping[str, Any],
    ) -> tuple[Any, Any]:
        cases = cases_of(self.matrix.all_records(settings, setting_lists), label_names(self.catalogue.whole))
        device = device_of(run for case in cases for run in case.runs)
        found = [curve for case in cases if (curve := load_curve(case, device)) is not None]
        notes = [device.note] if device.note else []
        if not found:
            return None, [*notes, "No run has a log of the load over a whole epoch of five samples or more."]
        figure = load_figure(found, device, strategy_order(cases))
        return figure, [*notes, *curves_conclusion(found, device), *_left_out(cases, device)]


class DeviceLoad(Plot):
    """Bars of the mean load."""

    name: ClassVar[str] = "Load of the computing device"
    how_to_read: ClassVar[str] = (
        "Each bar is the mean load during the epochs after the warm-up, over the repetitions of a strategy at an I/O "
        "speed, with one standard deviation over the repetitions."
    )

    def do_plot(
        self,
        ordered_vars: list[str],
        settings: dict[str, Any],
        setting_lists: SettingLists,
        variables: Variables,
        cfg: Mapping[str, Any],
    ) -> tuple[Any, Any]:
        cases = cases_of(self.matrix.all_records(settings, setting_lists), label_names(self.catalogue.whole))
        device = device_of(run for case in cases for run in case.runs)
        frame = loads_frame(cases, device)
        notes = [device.note] if device.note else []
        if frame.empty:
            return None, [*notes, f"{device.name} is not known for any epoch."]
        figure = bars(frame, device.name, strategy_order(cases), speeds(self.catalogue.whole))
        figure.update_yaxes(tickformat=".0%", range=[0, 1.03])
        return figure, [*notes, *loads_conclusion(frame, device)]


def device_of(runs: Iterable[Entry]) -> Device:
    """The GPU if a run knows its load, else the CPU as the training used it, else the whole CPU."""
    known = {name for run in runs for name in run.kpis}
    return next((device for device in (GPU, PROCESS) if device.kpi in known), CPU)


def load_curve(case: TrainingCase, device: Device) -> LoadCurve | None:
    """The curve of *case*; None where no epoch of it can be used."""
    import numpy

    found: list[list[float]] = []
    runs = 0
    for run in case.runs:
        of_run = run_curves(run.results, device)
        found += of_run
        runs += bool(of_run)
    if not found:
        return None
    every = numpy.asarray(found)
    spread = every.std(axis=0, ddof=1) if len(found) > 1 else numpy.zeros(every.shape[1])
    return LoadCurve(case, tuple(map(float, every.mean(axis=0))), tuple(map(float, spread)), len(found), runs)


def run_curves(results: Any, device: Device) -> list[list[float]]:
    """The curve of each epoch after the warm-up that can be used."""
    log, epochs = getattr(results, "system_log", None), getattr(results, "epochs", None)
    if log is None or not epochs:
        return []
    counted = of_epochs.counted(epochs, getattr(results, "warm_up_epochs", 0))
    values = getattr(log, device.vector)
    inside = (of_epochs.within(epoch, log.time, values) for epoch in counted)
    return [curve for samples in inside if samples and (curve := of_epochs.curve(samples)) is not None]


def load_figure(found: Sequence[LoadCurve], device: Device, order: Sequence[str]) -> go.Figure:
    """Progress to the right, load upwards; all facets share their axes."""
    from plotly.subplots import make_subplots

    shown = list(dict.fromkeys(curve.case.speed for curve in found))
    columns = min(COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    titles = [template.text(speed) for speed in shown]
    figure = make_subplots(
        rows=rows,
        cols=columns,
        subplot_titles=titles,
        shared_yaxes=True,
        horizontal_spacing=0.04,
        vertical_spacing=min(0.14, 0.4 / rows),
    )
    colours, named = template.colours_of(list(order)), set[str]()
    for curve in found:
        at = shown.index(curve.case.speed)
        label = template.text(curve.case.label)
        place = {"row": at // columns + 1, "col": at % columns + 1}
        _draw(figure, curve, device, colours[label], place, with_legend=label not in named)
        named.add(label)
    figure.update_yaxes(tickformat=".0%", range=[0, 1.03])
    figure.update_yaxes(title=device.name, col=1)
    figure.update_xaxes(ticksuffix=" %", range=[0, 100])
    figure.update_xaxes(title="progress of the epoch", row=rows)
    return template.apply(figure, height=130 + ROW_HEIGHT * rows)


def curves_conclusion(found: Sequence[LoadCurve], device: Device) -> list[str]:
    """Where the load begins low: the first batches have to be waited for."""
    sentences = []
    for curve in found:
        start, rest = sum(curve.mean[:10]) / 10, sum(curve.mean[50:]) / len(curve.mean[50:])
        if rest > 0 and start < 0.75 * rest:
            where = f"{curve.case.label} at {curve.case.speed}"
            sentences.append(f"{where} starts at {start:.0%} and goes on at {rest:.0%}")
    epochs, runs = sum(curve.epochs for curve in found), sum(curve.runs for curve in found)
    drawn = f"{epochs} epochs of {runs} {'run' if runs == 1 else 'runs'} are in these lines."
    if not sentences:
        return [f"{device.name} is about level over the epochs: no strategy has to fill its buffers first. {drawn}"]
    more = f"; and {len(sentences) - 4} more" if len(sentences) > 4 else ""
    return [f"The beginning of an epoch is waited for: {'; '.join(sentences[:4])}{more}. {drawn}"]


def loads_frame(cases: Sequence[TrainingCase], device: Device) -> pandas.DataFrame:
    """One row a case with a known load: strategy, I/O speed, mean and deviation, first run, hover."""
    import pandas

    rows = []
    for case in cases:
        values = [run.kpis[device.kpi] for run in case.runs if device.kpi in run.kpis]
        mean, spread = of_epochs.mean(values), of_epochs.deviation(values)
        if mean is None:
            continue
        said = hover(case, f"{device.name} {mean:.1%}" + ("" if spread is None else f" ± {spread:.1%}"))
        names = (template.text(case.label), template.text(case.speed))
        rows.append((*names, mean, math.nan if spread is None else spread, clicks.run_of(case.runs), said))
    return pandas.DataFrame(rows, columns=[CASE, SPEED, MEAN, DEVIATION, RUN, "hover"])


def loads_conclusion(frame: pandas.DataFrame, device: Device) -> list[str]:
    """The highest and the lowest load."""
    most, least = frame.iloc[int(frame[MEAN].argmax())], frame.iloc[int(frame[MEAN].argmin())]
    text = (
        f"{device.name} is highest for {most[CASE]} at {most[SPEED]} ({most[MEAN]:.0%}), lowest for {least[CASE]} at "
        f"{least[SPEED]} ({least[MEAN]:.0%})."
    )
    return [text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")]


def _draw(
    figure: go.Figure, curve: LoadCurve, device: Device, colour: str, place: dict[str, int], *, with_legend: bool
) -> None:
    progress = [100 * at / (len(curve.mean) - 1) for at in range(len(curve.mean))]
    high = [min(1.0, mean + spread) for mean, spread in zip(curve.mean, curve.deviation, strict=True)]
    low = [max(0.0, mean - spread) for mean, spread in zip(curve.mean, curve.deviation, strict=True)]
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    label = template.text(curve.case.label)
    figure.add_scatter(
        x=[*progress, *progress[::-1]],
        y=[*high, *low[::-1]],
        mode="lines",
        fill="toself",
        fillcolor=BAND.format(red=red, green=green, blue=blue),
        line_width=0,
        hoverinfo="skip",
        showlegend=False,
        legendgroup=label,
        **place,
    )
    said = hover(curve.case, f"{device.name} over {curve.epochs} epochs")
    figure.add_scatter(
        x=progress,
        y=list(curve.mean),
        mode="lines",
        line={"color": colour, "width": 2},
        name=label,
        legendgroup=label,
        showlegend=with_legend,
        customdata=clicks.marks([clicks.run_of(curve.case.runs)] * len(progress)),
        hovertemplate=f"%{{y:.0%}} at %{{x:.0f}} %<br>{said}<extra></extra>",
        **place,
    )


def _left_out(cases: Sequence[TrainingCase], device: Device) -> list[str]:
    """How many counted epochs are not in the lines, for which reason ever."""
    counted = used = 0
    for case in cases:
        for run in case.runs:
            results = run.results
            epochs = getattr(results, "epochs", None) or []
            counted += len(of_epochs.counted(epochs, getattr(results, "warm_up_epochs", 0)))
            used += len(run_curves(results, device))
    if used == counted:
        return []
    return [
        f"{counted - used} of {counted} epochs are not used: samples are missing at their start or end, or they have "
        f"fewer than {of_epochs.WINDOW}."
    ]
