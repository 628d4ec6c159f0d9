"""Sample the utilisation of cores, memory, GPUs and processes ten times a second, in a thread."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self

import psutil

from .environment import LAG_S, Gpus

INTERVAL_S = 0.1
_OF_MACHINE = ("time", "cpus_load", "main_memory")
_OF_GPUS = {"gpus_load": round(LAG_S / INTERVAL_S), "gpus_memory": 0, "gpus_held_back": 0}  # so many samples late
_SAMPLES_A_LOOK = 10  # in so many samples it is looked once on which GPUs the watched processes compute


class Monitor:
    """Samples between entering and leaving the ``with`` block; each value is the mean since the sample before.

    Of each named group of *processes* (ids) the CPU time is summed. Where a watched process or a descendant of one is
    seen on some of the GPUs, only these are kept.
    """

    def __init__(self, processes: Mapping[str, Sequence[int]], gpus: Gpus | None = None) -> None:
        self._processes = {name: _processes(ids) for name, ids in processes.items()}
        self._gpus = gpus if gpus is not None else Gpus()
        self._samples: dict[str, list[Any]] = {name: [] for name in (*_OF_MACHINE, *_OF_GPUS)}
        self._used_gpus: set[int] = set()
        self._process_load: dict[str, list[float]] = {name: [] for name in processes}
        self._own_cores = 0.0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="monitor", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._stopped.set()
        self._thread.join()

    def utilization(self, window: Mapping[str, float]) -> dict[str, Any]:
        """The content of ``utilization.json``: the samples inside the *window* (seconds since the epoch)."""
        times = self._samples["time"]
        inside = [at for at, moment in enumerate(times) if window["start"] <= moment <= window["end"]]

        def pick(values: Sequence[Any]) -> list[Any]:
            return [values[at] for at in inside]

        most = min(map(len, [*self._samples["gpus_load"], *self._samples["gpus_memory"]]), default=0)
        gpus = sorted(gpu for gpu in self._used_gpus if gpu < most or not most)

        def of_gpus(name: str) -> list[list[float]]:
            samples, later = self._samples[name], _OF_GPUS[name]
            if not all(samples):  # not read once is not known
                return []
            rows = [samples[min(at + later, len(samples) - 1)] for at in inside]
            return [[row[gpu] for gpu in gpus or range(len(row))] for row in rows]

        return {
            **{name: pick(self._samples[name]) for name in _OF_MACHINE},
            **{name: of_gpus(name) for name in _OF_GPUS},
            "gpus": gpus or None,
            "processes": {name: pick(values) for name, values in self._process_load.items() if self._processes[name]},
            "monitor_cores": round(self._own_cores, 4),
            "load_window": dict(window),
        }

    def _run(self) -> None:
        psutil.cpu_percent(percpu=True)  # the first call only sets the reference
        used_before = self._cpu_seconds()
        began = before = due = time.monotonic()
        while True:
            due += INTERVAL_S
            if self._stopped.wait(max(0.0, due - time.monotonic())):
                break
            now, used = time.monotonic(), self._cpu_seconds()
            self._sample(now - before, used_before, used)
            before, used_before = now, used
        self._own_cores = time.thread_time() / max(time.monotonic() - began, INTERVAL_S)

    def _sample(self, elapsed_s: float, used_before: Mapping[str, float], used: Mapping[str, float]) -> None:
        sample = {
            "time": round(time.time(), 4),
            "cpus_load": [round(percent / 100, 4) for percent in psutil.cpu_percent(percpu=True)],
            "main_memory": round(psutil.virtual_memory().percent / 100, 4),
            "gpus_load": [round(load, 4) for load in self._gpus.loads()],
            "gpus_memory": [round(share, 4) for share in self._gpus.memory()],
            "gpus_held_back": [float(one) for one in self._gpus.held_back()],
        }
        for name, value in sample.items():
            self._samples[name].append(value)
        if len(self._samples["time"]) % _SAMPLES_A_LOOK == 1:
            self._look_for_gpus()
        for name, loads in self._process_load.items():
            # A process that ended takes its CPU time with it, which must not be counted as negative work.
            loads.append(round(max(0.0, used[name] - used_before[name]) / elapsed_s, 4))

    def _look_for_gpus(self) -> None:
        watched = {process.pid for group in self._processes.values() for process in group}
        for gpu, ids in enumerate(self._gpus.processes()):
            if any(watched & _with_ancestors(pid) for pid in ids):
                self._used_gpus.add(gpu)

    def _cpu_seconds(self) -> dict[str, float]:
        return {name: sum(_cpu_seconds(process) for process in group) for name, group in self._processes.items()}


def _processes(ids: Sequence[int]) -> list[psutil.Process]:
    found = []
    for pid in ids:
        with contextlib.suppress(psutil.NoSuchProcess):
            found.append(psutil.Process(pid))
    return found


def _with_ancestors(pid: int) -> set[int]:
    with contextlib.suppress(psutil.Error, ValueError):
        return {pid, *(parent.pid for parent in psutil.Process(pid).parents())}
    return {pid}


def _cpu_seconds(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0
