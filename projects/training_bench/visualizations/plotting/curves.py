"""The load of the device that computes over an epoch's progress: is there a part of it in which it waits?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.words import as_percent, count_of, is_or_are
from matrix_benchmarking.plotting import Plot, View, clicks, template
from matrix_benchmarking.plotting.controls import Control, Number

from ..store import logs
from .bars import Device, device_of
from .cases import TrainingCase, cases_in, colours, hover, left_out, not_understood

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from matrix_benchmarking.plotting import Drawn

WINDOW, LARGEST_WINDOW = "window", 100
COLUMNS, ROW_HEIGHT = 2, 340
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


@dataclasses.dataclass(frozen=True, slots=True)
class LoadCurve:
    """The load of a case at each percent of an epoch, over *epochs* of all *runs*; the deviation of one epoch is 0."""

    case: TrainingCase
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    epochs: int
    runs: int


class LoadOverEpoch(Plot):
    """A line for each strategy with its band, a facet for each I/O speed."""

    name: ClassVar[str] = "Load over an epoch"
    how_to_read: ClassVar[str] = (
        "Each line is a moving mean over some samples, each epoch brought to one length: the mean over all epochs "
        "after the warm-up of all repetitions, with a band of one standard deviation to both sides. An epoch whose "
        "log doesn't reach from its start to its end is not used."
    )

    def controls(self) -> Sequence[Control]:
        """Over how many samples the lines are smoothed."""
        return [Number(WINDOW, "Samples of a moving mean", logs.WINDOW, minimum=1, maximum=LARGEST_WINDOW)]

    def draw(self, view: View) -> Drawn:
        runs, window = view.runs, int(view.option(WINDOW))
        cases = cases_in(self.study, runs)
        device = device_of(run for case in cases for run in case.runs)
        found = [curve for case in cases if (curve := load_curve(case, device, window)) is not None]
        notes = [device.note] if device.note else []
        if not found:
            return None, [
                *notes,
                f"No run has a log of the load over a whole epoch of {count_of(window, 'sample')} or more.",
            ]
        figure = load_figure(found, device, colours(self.study))
        hidden = [*not_understood(self.study), *left_out(runs, cases)]
        return figure, [*notes, *curves_conclusion(found, device), *_epochs_left_out(cases, found, window), *hidden]


def load_curve(case: TrainingCase, device: Device, window: int = logs.WINDOW) -> LoadCurve | None:
    """The curve of *case*; None where no epoch of it can be used."""
    import numpy

    found: list[list[float]] = []
    runs = 0
    for run in case.runs:
        of_run = run_curves(run.results, device, window)
        found += of_run
        runs += bool(of_run)
    if not found:
        return None
    every = numpy.asarray(found)
    spread = every.std(axis=0, ddof=1) if len(found) > 1 else numpy.zeros(every.shape[1])
    return LoadCurve(case, tuple(map(float, every.mean(axis=0))), tuple(map(float, spread)), len(found), runs)


def run_curves(results: object, device: Device, window: int) -> list[list[float]]:
    """The curve of each epoch after the warm-up that can be used."""
    log, epochs = getattr(results, "system_log", None), getattr(results, "epochs", None)
    if log is None or not epochs:
        return []
    counted = logs.counted(epochs, getattr(results, "warm_up_epochs", 0))
    values = getattr(log, device.vector)
    inside = (logs.within(epoch, log.time, values) for epoch in counted)
    return [curve for samples in inside if samples and (curve := logs.curve(samples, window)) is not None]


def load_figure(found: Sequence[LoadCurve], device: Device, colours: Mapping[str, str]) -> go.Figure:
    """Progress to the right, load upwards; all facets share their axes. *colours* are those of all labels, in order."""
    shown = list(dict.fromkeys(curve.case.speed for curve in found))
    facets = template.Facets([template.text(speed) for speed in shown], COLUMNS, shared_yaxes=True)
    dashes = {label: DASHES[at % len(DASHES)] for at, label in enumerate(colours)}
    for curve in found:
        label = template.text(curve.case.label)
        panel = shown.index(curve.case.speed)
        line = {"color": colours[label], "dash": dashes[label], "width": 2}
        _draw(facets, panel, curve, device, line)
    facets.axes("y", tickformat=".0%", range=[0, 1.03])
    facets.axes("x", ticksuffix=" %", range=[0, 100])
    facets.label("progress of the epoch", device.name)
    return facets.figure(130 + ROW_HEIGHT * facets.rows)


def curves_conclusion(found: Sequence[LoadCurve], device: Device) -> list[str]:
    """Where the load begins low: the first batches have to be waited for."""
    sentences = []
    for curve in found:
        start, rest = sum(curve.mean[:10]) / 10, sum(curve.mean[50:]) / len(curve.mean[50:])
        if rest > 0 and start < 0.75 * rest:
            where = f"{curve.case.label} at {curve.case.speed}"
            sentences.append(f"{where} starts at {as_percent(start)} and goes on at {as_percent(rest)}")
    epochs, runs = sum(curve.epochs for curve in found), sum(curve.runs for curve in found)
    drawn = f"{count_of(epochs, 'epoch')} of {count_of(runs, 'run')} {is_or_are(epochs)} in these lines."
    if not sentences:
        return [f"{device.name} is about level over the epochs: no strategy has to fill its buffers first. {drawn}"]
    more = f"; and {len(sentences) - 4} more" if len(sentences) > 4 else ""
    return [f"The beginning of an epoch is waited for: {'; '.join(sentences[:4])}{more}. {drawn}"]


def _draw(facets: template.Facets, panel: int, curve: LoadCurve, device: Device, line: Mapping[str, Any]) -> None:
    progress = [100 * at / (len(curve.mean) - 1) for at in range(len(curve.mean))]
    high = [min(1.0, mean + spread) for mean, spread in zip(curve.mean, curve.deviation, strict=True)]
    low = [max(0.0, mean - spread) for mean, spread in zip(curve.mean, curve.deviation, strict=True)]
    label = template.text(curve.case.label)
    facets.add(panel, {**template.band(progress, low, high, line["color"]), "legendgroup": label})
    said = hover(curve.case, f"{device.name} over {curve.epochs} epochs")
    mean_line = {
        "x": progress,
        "y": list(curve.mean),
        "mode": "lines",
        "line": dict(line),
        "name": label,
        "customdata": clicks.marks([clicks.run_of(curve.case.runs)] * len(progress)),
        "hovertemplate": f"%{{y:.0%}} at %{{x:.0f}} %<br>{said}<extra></extra>",
    }
    facets.add(panel, mean_line)


def _epochs_left_out(cases: Sequence[TrainingCase], found: Sequence[LoadCurve], window: int) -> list[str]:
    """How many counted epochs are not in the lines that were *found*, for which reason ever."""
    runs = [run.results for case in cases for run in case.runs]
    epochs = [(getattr(one, "epochs", None) or [], getattr(one, "warm_up_epochs", 0)) for one in runs]
    counted, used = sum(len(logs.counted(*one)) for one in epochs), sum(curve.epochs for curve in found)
    if used == counted:
        return []
    return [
        f"{counted - used} of {counted} epochs are not used: samples are missing at their start or end, or they have "
        f"fewer than {window}."
    ]
