"""The plots and reports of serving_bench: how much is served, what limits it, and what each change did."""

from __future__ import annotations

from typing import ClassVar

from matrix_benchmarking.plotting import PlotsReport

from ..analyze import SATURATED
from .changes import ThroughputOfEachStep, WhatEachStepChanged, steps_conclusion
from .curves import ThroughputCurves, Utilization, bottleneck_conclusion
from .shown import best_sentences, steps_of


class ThroughputReport(PlotsReport):
    """What a server makes of its hardware."""

    name: ClassVar[str] = "report: Serving throughput"
    description: ClassVar[str] = (
        "What the server passes on of its model and its hardware: throughput through the API over concurrency, that of "
        "the model by itself over batch size, and the theoretical maximum. A run is a whole curve."
    )
    plots = (ThroughputCurves,)

    def summary(self) -> str:
        return " ".join(best_sentences(steps_of(self), self.study.of_all_versions))


class BottleneckReport(PlotsReport):
    """What stands in the way of more."""

    name: ClassVar[str] = "report: Bottleneck"
    description: ClassVar[str] = (
        "What limits the server at each load: CPU and GPU over concurrency, and the bottleneck that they name. Neither "
        "saturated means waiting: for the network, a lock, one thread, or clients."
    )
    plots = (Utilization,)

    def summary(self) -> str:
        steps = [step for step in steps_of(self) if step.api]
        return bottleneck_conclusion(steps, SATURATED)[0] if steps else ""


class StepsReport(PlotsReport):
    """The experiments side by side."""

    name: ClassVar[str] = "report: Steps"
    description: ClassVar[str] = (
        "The experiments one after the other: what each change of the configuration gained or lost, at which "
        "concurrency, and which was the best."
    )
    plots = (ThroughputOfEachStep, WhatEachStepChanged)

    def summary(self) -> str:
        steps = [step for step in steps_of(self) if step.best is not None]
        return steps_conclusion(steps, [], self.study.of_all_versions, self.study.blocks)[0] if steps else ""
