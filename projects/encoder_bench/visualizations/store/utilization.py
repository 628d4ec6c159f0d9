"""The utilisation monitor's samples, and their means over the load window.

``cpus_load``, ``gpus_load`` and ``gpus_memory`` have one list a sample with one fraction a device;
``main_memory`` and ``time`` (seconds since the epoch) have one number a sample. An empty list says
that the device is not there or was not measured: unknown, not zero. ``gpus`` has the numbers of the GPUs where only
those of the server were kept.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Sequence
from typing import Any

Samples = Sequence[Sequence[float]]


def parse_utilization(content: Any, server_cpus: Sequence[int] | None = None) -> types.SimpleNamespace:
    """The samples, and what they say of the load window.

    Args:
        content: the decoded ``utilization.json``.
        server_cpus: numbers of the cores that the server may use; None means all.

    Raises:
        ValueError: it is not a utilisation log, or its vectors are of unequal length.
    """
    if not isinstance(content, dict) or not isinstance(content.get("time"), list):
        raise ValueError("is not a utilisation log: it has no list 'time'")
    series = {name: content.get(name) or [] for name in ("cpus_load", "main_memory", "gpus_load", "gpus_memory")}
    processes = content.get("processes") or {}
    if not isinstance(processes, dict):
        raise ValueError("'processes' is not a mapping")
    _check_lengths(content["time"], series | {f"processes.{name}": values for name, values in processes.items()})
    log = types.SimpleNamespace(time=content["time"], **series, processes=processes)
    log.load_window, gpus = content.get("load_window"), content.get("gpus")
    log.gpus = gpus if isinstance(gpus, list) and all(type(gpu) is int and 0 <= gpu < 1000 for gpu in gpus) else None
    own = content.get("monitor_cores")
    log.monitor_cores = own if isinstance(own, (int, float)) and not isinstance(own, bool) else None
    try:
        inside = _window(content["time"], content.get("load_window"))
        log.samples = len(inside)
        log.cpu_util = mean_of_devices(_pick(series["cpus_load"], inside), server_cpus)
        log.gpu_util = mean_of_devices(_pick(series["gpus_load"], inside))
        log.gpu_memory_max = max((max(row) for row in _pick(series["gpus_memory"], inside) if row), default=None)
        log.main_memory_max = max(_pick(series["main_memory"], inside), default=None)
        log.process_cores = {name: mean(_pick(values, inside)) for name, values in processes.items()}
        log.other_cores = _other_cores(_pick(series["cpus_load"], inside), log.process_cores)
    except (TypeError, IndexError, OverflowError) as error:
        parts = series | {f"processes.{name}": values for name, values in processes.items()} | {"time": content["time"]}
        odd = next((name for name, values in parts.items() if not _holds_numbers(values)), "load_window")
        raise ValueError(f"holds something else than numbers: '{odd}'") from error
    return log


def _holds_numbers(values: Any) -> bool:
    if isinstance(values, list):
        return all(map(_holds_numbers, values))
    return isinstance(values, (int, float)) and not isinstance(values, bool)


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return sum(values) / len(values) if values else None


def mean_of_devices(samples: Samples, devices: Sequence[int] | None = None) -> float | None:
    """Mean over samples and *devices* (all where None); None without a sample.

    Raises:
        ValueError: the samples are of different numbers of devices.
    """
    if not samples or not samples[0]:
        return None
    count, flat = len(samples[0]), list(itertools.chain.from_iterable(samples))
    if len(flat) != count * len(samples):
        raise ValueError("has samples of different numbers of devices")
    if devices is None:
        return sum(flat) / len(flat)
    if max(devices, default=0) >= count:
        raise ValueError(f"has {count} cores, and the server used core {max(devices)}")
    chosen = [sum(flat[device::count]) for device in devices]
    return sum(chosen) / (len(chosen) * len(samples)) if chosen else None


def _other_cores(cpus_load: Samples, process_cores: dict[str, float | None]) -> float | None:
    """Load by processes that are not watched, in cores; None unless some are watched."""
    known = [cores for cores in process_cores.values() if cores is not None]
    load = mean_of_devices(cpus_load)
    return None if load is None or not known else max(0.0, load * len(cpus_load[0]) - sum(known))


def _window(times: Sequence[float], window: dict[str, float] | None) -> Sequence[int]:
    if not window:
        return range(len(times))
    try:
        start, end = window["start"], window["end"]
    except (KeyError, TypeError):
        raise ValueError("'load_window' needs a start and an end") from None
    if times and start <= min(times) and max(times) <= end:
        return range(len(times))
    return [index for index, moment in enumerate(times) if start <= moment <= end]


def _pick(values: Sequence[Any], inside: Sequence[int]) -> Sequence[Any]:
    """The values inside the window, without copying where that is all of them."""
    return values if not values or len(inside) == len(values) else [values[index] for index in inside]


def _check_lengths(times: Sequence[float], series: dict[str, Any]) -> None:
    for name, values in series.items():
        if not isinstance(values, list):
            raise ValueError(f"'{name}' is not a list")
        if values and len(values) != len(times):
            raise ValueError(f"'{name}' has {len(values)} samples where 'time' has {len(times)}")
