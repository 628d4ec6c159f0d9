"""What limits a server at one load, named from the loads of CPU and GPU: pure arithmetic."""

from __future__ import annotations

import enum

SATURATED = 0.9
"""A load from which a device counts as saturated: a mean over a measurement whose first and last moments are idle."""


class Bottleneck(enum.Enum):
    """What was saturated."""

    CPU = "CPU saturated"
    GPU = "GPU saturated"
    BOTH = "CPU and GPU saturated"
    WAITING = "neither: waiting"
    NOT_CPU = "CPU not saturated, GPU unknown"
    NOT_GPU = "GPU not saturated, CPU unknown"
    UNKNOWN = "unknown"

    @property
    def short(self) -> str:
        """In a word or two, for a cell of a table."""
        return self.value.removesuffix(" saturated").removeprefix("neither: ").partition(",")[0]


def bottleneck(cpu: float | None, gpu: float | None, saturated: float = SATURATED) -> Bottleneck:
    """Name the bottleneck.

    Args:
        cpu, gpu: loads from 0 to 1, None where unknown: then nothing is said of that device.
        saturated: the load from which a device counts as saturated.
    """
    full_cpu = cpu is not None and cpu >= saturated
    full_gpu = gpu is not None and gpu >= saturated
    if full_cpu or full_gpu:
        return Bottleneck.BOTH if full_cpu and full_gpu else Bottleneck.CPU if full_cpu else Bottleneck.GPU
    if cpu is None:
        return Bottleneck.UNKNOWN if gpu is None else Bottleneck.NOT_GPU
    return Bottleneck.NOT_CPU if gpu is None else Bottleneck.WAITING
