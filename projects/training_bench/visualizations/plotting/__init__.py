"""The plots and the report of training_bench: which way to load the data, by how much, and what it waits for."""

from __future__ import annotations

from typing import ClassVar

from matrix_benchmarking.plotting import PlotsReport

from .bars import DeviceLoad, EpochDuration, EpochParts
from .curves import LoadOverEpoch
from .verdicts import REFERENCE, SpeedUp, WhatLimits, speed_ups_conclusion


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
        return " ".join(speed_ups_conclusion(plot.against(reference, self.matrix), reference)[:2])
