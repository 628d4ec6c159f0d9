"""The monitor: cores, processes and GPUs, and unknown where there is nothing to see."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import types

import psutil
import pytest

from matrix_benchmarking.benchmark.environment import Gpus
from matrix_benchmarking.benchmark.monitor import Monitor

BUSY = "import time\nend = time.time() + 30\nwhile time.time() < end: pass"


class TwoGpus:
    """Stands for GPUs, which this machine may not have."""

    def loads(self):
        return [0.25, 1.0]

    def memory(self):
        return [0.5, 0.125]

    def held_back(self):
        return [False, True]

    def processes(self):
        return [set(), set()]


class GpusInUse(TwoGpus):
    """The second GPU works for one process, and answers as late as NVML does."""

    def __init__(self, pid):
        self.pid, self.began = pid, time.time()

    def loads(self):
        return [0.25, 1.0 if time.time() - self.began > 0.7 else 0.0]

    def processes(self):
        return [{1}, {1, self.pid}]


@pytest.mark.xdist_group("load")
def test_a_busy_process_is_seen_and_only_the_load_window_counts():
    with subprocess.Popen([sys.executable, "-c", BUSY]) as busy:
        with Monitor({"busy": [busy.pid], "ourselves": [os.getpid()]}, TwoGpus()) as monitor:
            time.sleep(0.5)
            window = {"start": time.time(), "end": time.time() + 1.0}
            before = sum(psutil.Process(busy.pid).cpu_times()[:2])
            time.sleep(1.0)
            used_s = sum(psutil.Process(busy.pid).cpu_times()[:2]) - before
            time.sleep(0.3)
        busy.kill()
    seen = monitor.utilization(window)
    count = len(seen["time"])
    assert 7 <= count <= 11
    assert all(window["start"] <= moment <= window["end"] for moment in seen["time"])
    assert sum(seen["processes"]["busy"]) / count == pytest.approx(used_s, abs=0.25)  # beside others it gets less
    assert max(seen["processes"]["busy"]) > 0
    assert max(seen["processes"]["ourselves"]) < 0.3
    assert [len(values) for values in (seen["cpus_load"], seen["main_memory"], seen["gpus_load"])] == [count] * 3
    assert seen["gpus_load"][0] == [0.25, 1.0]
    assert seen["gpus_memory"][0] == [0.5, 0.125]
    assert 0 < seen["monitor_cores"] < 0.2


def test_without_a_gpu_its_load_is_unknown_and_not_zero():
    class NoGpu:
        def loads(self):
            return []

        memory = held_back = processes = loads

    began = time.time()
    with Monitor({}, NoGpu()) as monitor:
        time.sleep(0.35)
    seen = monitor.utilization({"start": began, "end": time.time()})
    assert seen["time"]
    assert (seen["gpus_load"], seen["gpus_memory"]) == ([], [])


SPAWN = f"""import subprocess, sys
child = subprocess.Popen([sys.executable, '-c', {BUSY!r}])
print(child.pid, flush=True)
child.wait()"""


def test_only_gpus_that_the_watched_processes_use_are_kept():
    with subprocess.Popen([sys.executable, "-c", SPAWN], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        with Monitor({"server": [parent.pid]}, GpusInUse(child)) as monitor:
            time.sleep(0.35)
        psutil.Process(child).kill()
    seen = monitor.utilization({"start": 0, "end": time.time()})
    assert seen["gpus"] == [1]
    assert {len(row) for row in seen["gpus_load"]} == {1}
    assert seen["gpus_memory"][0] == [0.125]


@pytest.mark.parametrize("pid", [1, 2**22 + 1])
def test_all_gpus_are_kept_where_nvml_shows_none_of_the_watched_processes(pid):
    with Monitor({"server": [os.getpid()]}, GpusInUse(pid)) as monitor:
        time.sleep(0.25)
    seen = monitor.utilization({"start": 0, "end": time.time()})
    assert seen["gpus"] is None
    assert seen["gpus_memory"][0] == [0.5, 0.125]


def test_a_gpu_that_comes_while_it_is_watched_is_not_among_those_of_all_samples():
    class Grows(TwoGpus):
        def loads(self):
            return [0.25]

        memory = loads

        def processes(self):
            return [set(), {os.getpid(), -1}]

    with Monitor({"server": [os.getpid()]}, Grows()) as monitor:
        time.sleep(0.25)
    seen = monitor.utilization({"start": 0, "end": time.time()})
    assert (seen["gpus"], seen["gpus_load"][0]) == (None, [0.25])


def test_a_load_counts_when_it_was_and_not_when_nvml_gives_it():
    began = time.time()
    with Monitor({}, GpusInUse(0)) as monitor:
        time.sleep(1.3)
    seen = monitor.utilization({"start": began, "end": time.time()})
    first = next(moment for moment, row in zip(seen["time"], seen["gpus_load"], strict=True) if row[1])
    later = [moment - began for moment in seen["time"] if moment - began > 0.7]
    assert first - began < later[0] - 0.05
    assert seen["gpus_load"][-1] == [0.25, 1.0]


def test_a_gpu_that_could_not_be_read_once_is_unknown():
    class Lost(TwoGpus):
        counts = iter(range(100))

        def loads(self):
            return [] if next(self.counts) == 1 else [0.25, 1.0]

    with Monitor({}, Lost()) as monitor:
        time.sleep(0.45)
    seen = monitor.utilization({"start": 0, "end": time.time()})
    assert seen["gpus_load"] == []
    assert seen["gpus_memory"][0] == [0.5, 0.125]


def test_a_process_that_ends_does_not_count_as_negative_work():
    short = subprocess.Popen([sys.executable, "-c", "sum(range(10**6))"])
    with short, Monitor({"short": [short.pid]}, TwoGpus()) as monitor:
        time.sleep(0.6)
    seen = monitor.utilization({"start": 0, "end": time.time()})
    assert min(seen["processes"]["short"]) >= 0


def _nvml(**changes):
    """A stand-in for the module pynvml."""

    class NVMLError(Exception):
        pass

    functions = {
        "NVMLError": NVMLError,
        "nvmlInit": lambda: None,
        "nvmlDeviceGetCount": lambda: 2,
        "nvmlDeviceGetHandleByIndex": lambda at: at,
        "nvmlDeviceGetUtilizationRates": lambda handle: types.SimpleNamespace(gpu=[37, 100][handle]),
        "nvmlDeviceGetMemoryInfo": lambda handle: types.SimpleNamespace(used=4, total=16),
        "nvmlDeviceGetComputeRunningProcesses": lambda handle: [types.SimpleNamespace(pid=7 + handle)],
        "nvmlDeviceGetName": lambda handle: "NVIDIA L4",
        "nvmlSystemGetDriverVersion": lambda: "570.1",
        "nvmlDeviceGetEnforcedPowerLimit": lambda handle: 72_000,
        # of the first its power is limited and it idles, the second is too hot as well
        "nvmlDeviceGetCurrentClocksThrottleReasons": lambda handle: [0x4 | 0x1, 0x4 | 0x20][handle],
    }
    return types.SimpleNamespace(**functions | {name: make(NVMLError) for name, make in changes.items()})


def _failing(error):
    def fail(*arguments):
        raise error

    return fail


def test_gpus_are_read_through_nvml():
    gpus = Gpus(_nvml())
    assert gpus.loads() == [0.37, 1.0]
    assert gpus.memory() == [0.25, 0.25]
    assert gpus.processes() == [{7}, {8}]
    assert gpus.held_back() == [False, True]
    known = {"model": "NVIDIA L4", "memory_total_bytes": 16, "driver": "570.1"}
    assert gpus.describe()[0] == {**known, "power_limit_watts": 72.0}
    assert Gpus(_nvml(nvmlDeviceGetEnforcedPowerLimit=_failing)).describe()[0] == known


@pytest.mark.parametrize("function", ["nvmlInit", "nvmlDeviceGetCount"])
def test_a_machine_without_a_driver_has_no_gpu(function):
    gpus = Gpus(_nvml(**{function: _failing}))
    assert (gpus.loads(), gpus.memory(), gpus.describe()) == ([], [], [])


def test_a_gpu_that_does_not_tell_its_processes_has_none_that_are_known():
    assert Gpus(_nvml(nvmlDeviceGetComputeRunningProcesses=_failing)).processes() == []


def test_a_gpu_that_does_not_tell_its_load_is_unknown():
    gpus = Gpus(_nvml(nvmlDeviceGetUtilizationRates=_failing))
    assert gpus.loads() == []
    assert gpus.memory() == [0.25, 0.25]
