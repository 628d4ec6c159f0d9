"""The system log: samples of cores, memory and GPUs over the training, as fractions.

``time[]`` (seconds since 1970), ``main_memory[]``, ``cpus_load[][]``, ``gpus_load[][]`` and ``gpus_memory[][]``: one
entry a sample, with one number a device in the nested ones. matbench's own ``utilization.json`` has this form too. An
empty vector says that the device is not there or was not measured: unknown, not zero. matbench's monitor adds
``processes.script[]``: how many cores the training itself took.
"""

from __future__ import annotations

import itertools
import math
import types
from collections.abc import Sequence
from typing import Any

Samples = Sequence[float | None]
ROUNDING = 1e-6
"""By how much a fraction may be beyond 0 to 1."""


def parse_system_log(content: Any) -> types.SimpleNamespace:
    """The log with the devices of each sample in one number; None in a sample that has no device.

    Returns:
        ``time``; ``gpu`` and ``cpu`` (means over the devices), ``process`` (the training's part of ``cpu``),
        ``gpu_memory`` (the maximum) and ``main_memory``: for each sample, but not longer than the log's own vector;
        ``cores``, how many there are, None where unknown; ``doubts``, sentences on what did not fit.

    Raises:
        ValueError: it is no system log.
    """
    if not isinstance(content, dict):
        raise ValueError("is not a system log: it is no JSON object")
    time = _numbers(content, "time")
    if any(later < earlier for earlier, later in itertools.pairwise(time)):
        raise ValueError("is not a system log: its times go backwards")
    gpus, cpus = _rows(content, "gpus_load"), _rows(content, "cpus_load")
    gpu_memory = _rows(content, "gpus_memory")
    main_memory = _fractions(_numbers(content, "main_memory"), "main_memory")
    cores = max(map(len, cpus), default=0) or None
    used = _of_process(content)
    log = types.SimpleNamespace(
        time=time,
        gpu=[_mean(row) for row in gpus],
        cpu=[_mean(row) for row in cpus],
        process=[min(1.0, cores_used / cores) for cores_used in used] if cores else [],
        gpu_memory=[max(row, default=None) for row in gpu_memory],
        main_memory=main_memory,
        cores=cores,
        doubts=[],
    )
    rows: dict[str, Sequence[Any]] = {"gpus_load": gpus, "gpus_memory": gpu_memory, "cpus_load": cpus}
    for name, values in {**rows, "main_memory": main_memory, "processes.script": used}.items():
        log.doubts += _doubts(name, values, len(time))
    for name in ("gpu", "cpu", "process", "gpu_memory", "main_memory"):
        setattr(log, name, _known(getattr(log, name)[: len(time)]))
    return log


def highest(values: Samples) -> float | None:
    """The largest known sample; None of nothing."""
    return max((value for value in values if value is not None), default=None)


def _doubts(name: str, values: Sequence[Any], samples: int) -> list[str]:
    """Sentences on a vector of another length than ``time``, and on samples without a device beside some with one."""
    sentences = []
    if values and len(values) != samples:
        what = "what is beyond its end is unknown" if len(values) < samples else "the rest is left out"
        sentences.append(f"the log's '{name}' has {len(values)} samples where 'time' has {samples}: {what}")
    lengths = {len(row) for row in values if isinstance(row, list)}
    if 0 in lengths and len(lengths) > 1:
        empty = sum(not row for row in values)
        sentences.append(f"{empty} of {len(values)} samples of the log's '{name}' are empty, and left out")
    if len(lengths - {0}) > 1:
        counts = " or ".join(str(length) for length in sorted(lengths - {0}))
        sentences.append(f"the log's '{name}' is sometimes of {counts} devices: means are over those that are there")
    return sentences


def _known(values: list[float | None]) -> list[float | None]:
    """The samples; none at all where the device was never there."""
    return values if any(value is not None for value in values) else []


def _mean(row: Sequence[float]) -> float | None:
    return math.fsum(row) / len(row) if row else None


def _of_process(content: dict[str, Any]) -> list[float]:
    """How many cores the training took, sample by sample; empty where it was not watched."""
    processes = content.get("processes")
    if not isinstance(processes, dict) or "script" not in processes:
        return []
    values = _numbers(processes, "script")
    if any(value < 0 for value in values):
        raise ValueError("is not a system log: 'processes.script' holds something else than numbers of cores")
    return values


def _rows(content: dict[str, Any], name: str) -> list[list[float]]:
    rows = content.get(name) or []
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise ValueError(f"is not a system log: '{name}' is no list of lists")
    return [_fractions(row, name) for row in rows]


def _fractions(values: list[Any], name: str) -> list[float]:
    if not all(_is_number(value) and -ROUNDING <= value <= 1 + ROUNDING for value in values):
        raise ValueError(f"is not a system log: '{name}' holds something else than fractions from 0 to 1")
    return [min(1.0, max(0.0, value)) for value in values]


def _numbers(content: dict[str, Any], name: str) -> list[float]:
    values = content.get(name)
    if values is None and name != "time":
        return []
    if not isinstance(values, list) or not all(map(_is_number, values)):
        raise ValueError(f"is not a system log: '{name}' is no list of numbers")
    return values


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
