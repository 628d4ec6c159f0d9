"""What limits a training, and the keys of its regression analysis."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Callable, Sequence

from matrix_benchmarking.analyze.words import as_percent, count_of
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plausible import is_number
from matrix_benchmarking.workload import MinimumEffect, RegressionKeys

SATURATED = 0.85
WAITING = 0.10
MOVES = 0.05
EXPLAINS = 1 / 4
"""Storage is the limit where a faster one would end at least this share of the time in which the GPU is idle."""


class Limit(enum.Enum):
    """What a case waits for, in words."""

    IO = "I/O"
    DECODING = "CPU decoding"
    GPU = "GPU"
    COMPUTE = "compute (CPU)"
    DATA = "I/O or CPU decoding"
    UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """One strategy at one I/O speed; everything else about it is the same as in the cases it is compared with.

    Attributes:
        io_speed_mb_s: infinite where unlimited.
        epoch_s: the epoch's mean duration over the runs.
        gpu_load, cpu_load: fractions; None where unknown.
        data_wait: the share of an epoch that it waited for data, as the KPI has it.
        read_s, decode_s: parts of an epoch; all three None where the loop did not record them.
        on_gpu: True where a GPU computed, as far as is known.
    """

    io_speed_mb_s: float
    epoch_s: float
    gpu_load: float | None = None
    cpu_load: float | None = None
    read_s: float | None = None
    decode_s: float | None = None
    data_wait: float | None = None
    on_gpu: bool = False


Longer = Callable[[Case, Case], float]
"""By which fraction an epoch of the first case is longer than of the second; 0 where no difference is shown."""


@dataclasses.dataclass(frozen=True, slots=True)
class Conclusion:
    """What limits a case, and from which numbers that was concluded."""

    limit: Limit
    reason: str


def conclude(case: Case, others: Sequence[Case], longer: Longer) -> Conclusion:
    """What limits *case*; *others* are the same strategy at other I/O speeds."""
    computing = Limit.GPU if case.on_gpu or case.gpu_load is not None else Limit.COMPUTE
    if case.gpu_load is not None and case.gpu_load >= SATURATED:
        return Conclusion(Limit.GPU, f"the GPU was busy {as_percent(case.gpu_load)} of the time")
    share = case.data_wait
    if share is not None:
        if share < WAITING:
            return Conclusion(computing, f"it waited for its data only {as_percent(share)} of an epoch")
        return _of_data(case, f"it waited {as_percent(share)} of an epoch")
    faster = [other for other in others if other.io_speed_mb_s > case.io_speed_mb_s]
    if faster:
        return _by_storage(case, max(faster, key=lambda other: other.io_speed_mb_s), longer)
    if case.gpu_load is not None:
        idle = f"the GPU was busy only {as_percent(case.gpu_load)} of the time"
        if case.cpu_load is not None and case.cpu_load >= SATURATED:
            return Conclusion(Limit.DECODING, f"{idle}, and the cores {as_percent(case.cpu_load)}")
        return Conclusion(Limit.DATA, f"{idle}{_sensitive(case, others, longer)}")
    return Conclusion(Limit.UNKNOWN, "no GPU load, no record of waiting, and no faster storage to compare with")


def speed_of(io_speed: object) -> float | None:
    """A setting ``io_speed`` in MB/s, infinite for ``unlimited``; None for anything else."""
    if io_speed == "unlimited":
        return math.inf
    if is_number(io_speed) and io_speed > 0:
        return float(io_speed)
    return None


def _of_data(case: Case, waited: str) -> Conclusion:
    if case.read_s is None or case.decode_s is None:
        return Conclusion(Limit.DATA, f"{waited}; how long it read and decoded was not recorded")
    parts = f"{waited}; reading took {case.read_s:.2f} s, decoding {case.decode_s:.2f} s"
    return Conclusion(Limit.IO if case.read_s >= case.decode_s else Limit.DECODING, parts)


def _by_storage(case: Case, fastest: Case, longer: Longer) -> Conclusion:
    share = longer(case, fastest)
    where = "unlimited" if math.isinf(fastest.io_speed_mb_s) else f"{fastest.io_speed_mb_s:g} MB/s"
    saved = share / (1 + share)
    if share > MOVES and (case.gpu_load is None or saved >= (1 - case.gpu_load) * EXPLAINS):
        return Conclusion(Limit.IO, f"an epoch takes {as_percent(share)} longer than with storage at {where}")
    if case.gpu_load is not None:
        idle = f"the GPU was busy only {as_percent(case.gpu_load)} of the time"
        little = f"shorten an epoch by only {as_percent(saved)}" if share > MOVES else "not help"
        return Conclusion(Limit.DECODING, f"{idle}, and storage at {where} would {little}")
    return Conclusion(Limit.UNKNOWN, f"storage at {where} would not help, and no GPU load or waiting was recorded")


def _sensitive(case: Case, others: Sequence[Case], longer: Longer) -> str:
    """Whether slower storage made it slower: a hint, but no proof that this storage is the limit."""
    slower = [other for other in others if other.io_speed_mb_s < case.io_speed_mb_s]
    if not slower:
        return ""
    share = longer(max(slower, key=lambda other: other.io_speed_mb_s), case)
    if share > MOVES:
        return f"; slower storage costs {as_percent(share)}"
    return "; slower storage costs next to nothing, so decoding is the more likely"


GROUPS = ("name", "model", "dataset", "io_speed")
"""Epochs of other models, data and storage are not compared."""
ALIKE = 1.01
"""How many times as many samples an epoch may have as another one, until it is said."""


def differences(entries: Sequence[Entry]) -> list[str]:
    """Which runs of one group, of which the epochs are compared, have epochs of other numbers of samples."""
    groups: dict[tuple[str, ...], list[float]] = {}
    for entry in entries:
        rate, duration = entry.kpis.get("sample_rate"), entry.kpis.get("epoch_duration")
        if not entry.failed and rate and duration:
            groups.setdefault(tuple(repr(entry.settings.get(name)) for name in GROUPS), []).append(rate * duration)
    return [
        f"{count_of(len(samples), 'run')} are compared, and their epochs have {min(samples):,.0f} to "
        f"{max(samples):,.0f} samples: a shorter epoch may only have fewer; sample_rate tells them apart."
        for samples in groups.values()
        if max(samples) > ALIKE * min(samples)
    ]


KEYS = RegressionKeys(
    comparison_keys=["version"],
    ignored_keys=["urls"],
    sorting_keys=["name", "model", "dataset", "hw_type", "strategy", "io_speed"],
    # Shares can be near zero, where a relative change means nothing: two points of a hundred are worth a look.
    minimum_effects={
        "gpu_load": MinimumEffect(relative=0.0, absolute=0.02),
        "data_wait": MinimumEffect(relative=0.0, absolute=0.02),
        "peak_memory": MinimumEffect(relative=0.02, absolute=0.01),
    },
)
