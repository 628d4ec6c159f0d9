"""What limits a server at one load, what is read off a curve, and the keys of the regression analysis."""

from __future__ import annotations

import collections
import enum
import types
from collections.abc import Sequence
from typing import Protocol, TypeVar

from matrix_benchmarking.analyze.words import count_of
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.workload import MinimumEffect, RegressionKeys

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
    """Name the bottleneck by loads from 0 to 1; of a device whose load is None nothing is said."""
    full_cpu = cpu is not None and cpu >= saturated
    full_gpu = gpu is not None and gpu >= saturated
    if full_cpu or full_gpu:
        return Bottleneck.BOTH if full_cpu and full_gpu else Bottleneck.CPU if full_cpu else Bottleneck.GPU
    if cpu is None:
        return Bottleneck.UNKNOWN if gpu is None else Bottleneck.NOT_GPU
    return Bottleneck.NOT_CPU if gpu is None else Bottleneck.WAITING


class APIPoint(Protocol):
    """What is known at a concurrency: requests/s, and loads from 0 to 1."""

    concurrency: int
    throughput: float
    cpu: float | None
    gpu: float | None


class BaselinePoint(Protocol):
    """What is known at a batch size: requests/s."""

    batch_size: int
    throughput: float


P = TypeVar("P", APIPoint, BaselinePoint)


def points(results: object, name: str) -> list[types.SimpleNamespace]:
    """The points of the curve *name*, leniently: a payload of another form than today's may hold them as mappings."""
    found = getattr(results, name, None) or []
    return [
        types.SimpleNamespace(**{"cpu": None, "gpu": None, **one}) if isinstance(one, dict) else one for one in found
    ]


def best(points: Sequence[P] | None) -> P | None:
    """The point with the highest throughput, the first of several; None of nothing."""
    return max(points or (), key=lambda point: point.throughput, default=None)


def at_concurrency(points: Sequence[APIPoint] | None, concurrency: int) -> APIPoint | None:
    """The point at this concurrency; None where it wasn't measured."""
    return next((point for point in points or () if point.concurrency == concurrency), None)


GROUPS = ("model", "device", "gpu", "hw_type", "instance", "num_requests")
"""Neither another model or device nor another number of requests a point is a better configuration of this one."""


def differences(entries: Sequence[Entry]) -> list[str]:
    """Which runs of one group, of which the best points are compared, tried another number of clients."""
    groups: dict[tuple[str, ...], collections.Counter[int]] = {}
    for entry in entries:
        if not entry.failed and "most_clients" in entry.kpis:
            key = tuple(repr(entry.settings.get(name)) for name in GROUPS)
            groups.setdefault(key, collections.Counter())[int(entry.kpis["most_clients"])] += 1
    unlike = (
        " | ".join(f"{clients} clients: {count_of(tried[clients], 'run')}" for clients in sorted(tried))
        for tried in groups.values()
        if len(tried) > 1
    )
    return [
        f"Runs are compared by their best, and tried up to {counts}: the best of fewer points is lower by chance, and "
        "where more clients do better."
        for counts in unlike
    ]


KEYS = RegressionKeys(
    comparison_keys=["version"],
    sorting_keys=["model", "hw_type", "experiment", "server"],
    # Shares are small numbers: a percent of one is less than its noise.
    minimum_effects={
        "serving_efficiency": MinimumEffect(relative=0.01, absolute=0.005),
        "share_of_maximum": MinimumEffect(relative=0.01, absolute=0.001),
    },
)
