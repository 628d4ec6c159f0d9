"""Sample the utilisation of cores, memory and processes ten times a second, in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

import psutil

INTERVAL_S = 0.1


class Monitor:
    """Samples between entering and leaving the `with` block; each value is the mean since the sample before.

    Args:
        processes: named groups of processes, whose CPU time is summed.

    Attributes:
        time: when each sample was taken, in seconds since the epoch.
        cpus_load: for each sample, the load of each core, 0 to 1.
        main_memory: for each sample, the share of the machine's memory in use, 0 to 1.
        process_load: for each group and sample, the CPU time used, in cores.
    """

    def __init__(self, processes: Mapping[str, Sequence[psutil.Process]]) -> None:
        self._processes = processes
        self.time: list[float] = []
        self.cpus_load: list[list[float]] = []
        self.main_memory: list[float] = []
        self.process_load: dict[str, list[float]] = {name: [] for name in processes}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="monitor", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        psutil.cpu_percent(percpu=True)  # the first call only sets the reference
        used_before = self._cpu_seconds()
        before = due = time.monotonic()
        while True:
            due += INTERVAL_S
            if self._stopped.wait(max(0.0, due - time.monotonic())):
                return
            now, used = time.monotonic(), self._cpu_seconds()
            self._sample(now - before, used_before, used)
            before, used_before = now, used

    def _sample(self, elapsed_s: float, used_before: Mapping[str, float], used: Mapping[str, float]) -> None:
        self.time.append(round(time.time(), 4))
        self.cpus_load.append([round(percent / 100, 4) for percent in psutil.cpu_percent(percpu=True)])
        self.main_memory.append(round(psutil.virtual_memory().percent / 100, 4))
        for name, loads in self.process_load.items():
            # A process that ended takes its CPU time with it, which must not be counted as negative work.
            loads.append(round(max(0.0, used[name] - used_before[name]) / elapsed_s, 4))

    def _cpu_seconds(self) -> dict[str, float]:
        return {name: sum(_cpu_seconds(process) for process in group) for name, group in self._processes.items()}


def _cpu_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)
