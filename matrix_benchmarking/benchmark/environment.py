"""Where a run took place: processor, GPUs, kernel, versions; and texts without this machine's names."""

from __future__ import annotations

import contextlib
import getpass
import os
import platform
import re
import socket
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..version import __version__

# How old a load is, in its middle, when NVML gives it: a mean over 0.2 s (on an H100, driver 580) that ended up to as
# long before.
LAG_S = 0.2
# NVML's reasons for a slower clock: HwSlowdown, SwThermalSlowdown, HwThermalSlowdown and HwPowerBrakeSlowdown.
_HELD_BACK = 0x8 | 0x20 | 0x40 | 0x80


class Gpus:
    """All GPUs that *nvml* (the module ``pynvml``) shows us; without one, a library or a driver none: not idle ones."""

    def __init__(self, nvml: Any = None) -> None:
        if nvml is None:
            with contextlib.suppress(ImportError):
                import pynvml

                nvml = pynvml
        self._nvml = nvml
        self._handles = self._find()

    def loads(self) -> list[float]:
        """The share of NVML's last sampling period in which each GPU computed anything; empty if one can't be read."""
        return [rates.gpu / 100 for rates in self._each("nvmlDeviceGetUtilizationRates")]

    def memory(self) -> list[float]:
        """The share of each GPU's memory that is in use, 0 to 1; empty if one can't be read."""
        return [info.used / info.total for info in self._each("nvmlDeviceGetMemoryInfo")]

    def held_back(self) -> list[bool]:
        """Whether heat, or a power supply that gives too little, slows each GPU's clock; empty if one can't be read.

        A limit of its power doesn't count: that is how a GPU was bought and set up, and `describe` tells it.
        """
        return [bool(reasons & _HELD_BACK) for reasons in self._each("nvmlDeviceGetCurrentClocksThrottleReasons")]

    def processes(self) -> list[set[int]]:
        """The ids of the processes that compute on each GPU; in a container NVML may show none, or the host's ids."""
        found = self._each("nvmlDeviceGetComputeRunningProcesses")
        return [{process.pid for process in on_one} for on_one in found]

    def _each(self, question: str) -> list[Any]:
        try:
            return [getattr(self._nvml, question)(handle) for handle in self._handles]
        except self._nvml.NVMLError:
            return []

    def describe(self) -> list[dict[str, Any]]:
        """Model, memory in bytes, driver version and limit of the power in W of each GPU, as far as they are told."""
        described: list[dict[str, Any]] = []
        for handle in self._handles:
            known: dict[str, Any] = {"model": None}
            with contextlib.suppress(self._nvml.NVMLError):
                memory_bytes = int(self._nvml.nvmlDeviceGetMemoryInfo(handle).total)
                known = {"model": self._nvml.nvmlDeviceGetName(handle), "memory_total_bytes": memory_bytes}
                known["driver"] = self._nvml.nvmlSystemGetDriverVersion()
                known["power_limit_watts"] = self._nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000
            described.append(known)
        return described

    def _find(self) -> list[Any]:
        if self._nvml is None:
            return []
        try:
            self._nvml.nvmlInit()
            return [self._nvml.nvmlDeviceGetHandleByIndex(at) for at in range(self._nvml.nvmlDeviceGetCount())]
        except self._nvml.NVMLError:
            return []


def describe() -> dict[str, Any]:
    """The machine, as it is recorded in ``environment.json``."""
    return {
        "cpu_model": cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "memory_total_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": kernel(),
        "gpus": Gpus().describe(),
        "versions": {"matbench": __version__, "python": platform.python_version()},
    }


def kernel() -> str:
    # Vendors add suffixes of their own to the release; what is before them identifies it.
    release = re.match(r"[\d.]*\d", platform.release())
    return f"{platform.system()} {release.group() if release else platform.release()}"


def cpu_model() -> str | None:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(("model name", "Model")):
                return line.partition(":")[2].strip()
    return platform.processor() or None


def anonymous(text: str, secrets: Iterable[str] = ()) -> str:
    """*text* without this machine's paths, host name and user name, and without *secrets*."""
    for secret in secrets:
        text = text.replace(secret, "***")
    names = {sys.prefix: "venv", sys.base_prefix: "python", os.getcwd(): ".", str(Path.home()): "~"}
    for path in sorted(names, key=len, reverse=True):
        if path != "/":
            text = text.replace(path, names[path])
    for name, stand_in in ((socket.gethostname(), "host"), (_user(), "user")):
        if len(name) > 1:
            text = re.sub(rf"\b{re.escape(name)}\b", stand_in, text)
    return text


def without_path(word: str) -> str:
    """A *word*, of absolute paths only the last names: one place has another path on another day.

    They may be shortened already, as :func:`anonymous` does; addresses and fractions are no paths.
    """
    return re.sub(r"(?<![^\s'\"=:,@])(?:file://|-[A-Za-z]|\.|~|venv|python)?/(?!/)[^\s'\"=]*/", "", word)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
