"""The report: which way to load the data, by how much, and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from matrix_benchmarking.matrix import SettingLists, Variables
from matrix_benchmarking.plotting import Report
from matrix_benchmarking.plotting.controls import Control

from .durations import EpochDuration, EpochParts
from .limits import WhatLimits
from .loads import DeviceLoad, LoadOverEpoch
from .speed_up import SpeedUp


class DataLoading(Report):
    """All plots of the workload."""

    name: ClassVar[str] = "report: Data loading"
    description: ClassVar[str] = (
        "Is the training waiting for its data? How long an epoch takes with each strategy and I/O speed, how much "
        "faster that is than the reference, how busy the computing device is meanwhile, and what limits each case."
    )

    def controls(self) -> Sequence[Control]:
        return SpeedUp(self.catalogue).controls()

    def do_plot(
        self,
        ordered_vars: list[str],
        settings: dict[str, Any],
        setting_lists: SettingLists,
        variables: Variables,
        cfg: Mapping[str, Any],
    ) -> list[Any]:
        args = (ordered_vars, settings, setting_lists, variables, cfg)
        plots = (SpeedUp, WhatLimits, EpochDuration, EpochParts, LoadOverEpoch, DeviceLoad)
        return [part for plot in plots for part in self.Plot_and_Text(plot.name, args)]
