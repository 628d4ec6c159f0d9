"""The load of the device that computes, as bars.

It is that of the GPUs; where no run measured one, that of the cores by the training's process or, where that was not
watched, by whatever ran. Every title and text says which.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from matrix_benchmarking.analyze.words import as_percent
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting import Plot, template
from matrix_benchmarking.plotting.base import Arguments

from .cases import cases_of, having, label_names, left_out, on_cpu, speeds, strategy_order
from .durations import CASE, MEAN, SPEED, bars, bars_frame

if TYPE_CHECKING:
    import pandas


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
    how_to_read: ClassVar[str] = (
        "Each bar is the mean load during the epochs after the warm-up, over the repetitions of a strategy at an I/O "
        "speed, with one standard deviation over the repetitions."
    )

    def draw(self, args: Arguments) -> tuple[Any, Any]:
        runs = [*self.runs(args)]
        cases = cases_of(runs, label_names(self.study.read))
        device = device_of(run for case in cases for run in case.runs)
        frame = bars_frame(cases, self.workload.kpis[device.kpi])
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
