"""The report: which way to load the data, by how much, and what it waits for."""

from __future__ import annotations

from typing import ClassVar

from matrix_benchmarking.plotting import PlotsReport

from .curves import LoadOverEpoch
from .durations import EpochDuration, EpochParts
from .limits import WhatLimits
from .loads import DeviceLoad
from .speed_up import REFERENCE, SpeedUp, conclusion


class DataLoading(PlotsReport):
    """All plots of the workload."""

    name: ClassVar[str] = "report: Data loading"
    description: ClassVar[str] = (
        "Is the training waiting for its data? How long an epoch takes with each strategy and I/O speed, how much "
        "faster that is than the reference, how busy the computing device is meanwhile, and what limits each case."
    )
    plots = (SpeedUp, WhatLimits, EpochDuration, EpochParts, LoadOverEpoch, DeviceLoad)

    def summary(self) -> str:
        plot = SpeedUp(self.catalogue)
        if not plot.controls():
            return ""
        reference = plot.option({}, REFERENCE)
        return " ".join(conclusion(plot.against(reference, self.matrix), reference)[:2])
