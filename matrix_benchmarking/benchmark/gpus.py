"""The GPUs of this machine through NVML; where there is no GPU, library or driver there are none: unknown, not idle."""

from __future__ import annotations

from typing import Any

LAG_S = 0.2
"""How old a load is, in its middle, when NVML gives it: a mean over 0.2 s (on an H100, driver 580) that ended up to as
long before."""


class Gpus:
    """All GPUs that NVML shows us.

    Args:
        nvml: the module ``pynvml``, imported where left out.
    """

    def __init__(self, nvml: Any = None) -> None:
        self._nvml = nvml if nvml is not None else _import_nvml()
        self._handles = self._find()

    def loads(self) -> list[float]:
        """The share of NVML's last sampling period in which each GPU computed anything; empty if one can't be read."""
        if not self._handles:
            return []
        try:
            return [self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100 for handle in self._handles]
        except self._nvml.NVMLError:
            return []

    def memory(self) -> list[float]:
        """The share of each GPU's memory that is in use, 0 to 1; empty if one can't be read."""
        if not self._handles:
            return []
        try:
            infos = [self._nvml.nvmlDeviceGetMemoryInfo(handle) for handle in self._handles]
        except self._nvml.NVMLError:
            return []
        return [info.used / info.total for info in infos]

    def processes(self) -> list[set[int]]:
        """The ids of the processes that compute on each GPU; in a container NVML may show none, or the host's ids."""
        try:
            found = [self._nvml.nvmlDeviceGetComputeRunningProcesses(handle) for handle in self._handles]
        except self._nvml.NVMLError:
            return []
        return [{process.pid for process in on_one} for on_one in found]

    def describe(self) -> list[dict[str, Any]]:
        """Model, memory in bytes and driver version of each GPU."""
        nvml = self._nvml
        described = []
        for handle in self._handles:
            try:
                described.append(
                    {
                        "model": _text(nvml.nvmlDeviceGetName(handle)),
                        "memory_total_bytes": int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
                        "driver": _text(nvml.nvmlSystemGetDriverVersion()),
                    }
                )
            except nvml.NVMLError:
                described.append({"model": None})
        return described

    def _find(self) -> list[Any]:
        if self._nvml is None:
            return []
        try:
            self._nvml.nvmlInit()
            return [self._nvml.nvmlDeviceGetHandleByIndex(at) for at in range(self._nvml.nvmlDeviceGetCount())]
        except self._nvml.NVMLError:
            return []


def _import_nvml() -> Any:
    try:
        import pynvml
    except ImportError:
        return None
    return pynvml


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
