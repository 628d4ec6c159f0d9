"""The roofline of a server: how many requests per second its device could compute at most.

It is the device's peak arithmetic at the run's precision, from the dated table of data sheets beside this file or from
the settings, over the operations of one request. Where one of the two is unknown, so is the maximum.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path

from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.plausible import is_number
from matrix_benchmarking.store import load_yaml

_TABLE = Path(__file__).with_name("devices.yaml")
DEVICE_SETTINGS = ("device", "gpu", "hw_type")
"""The settings that may name the device; the first that a run has does."""
_SYNONYMS = {"fp32": "float32", "fp16": "float16", "half": "float16", "bf16": "bfloat16"}


@dataclasses.dataclass(frozen=True, slots=True)
class Device:
    """Peak operations per second by precision, without sparsity, and who says so."""

    title: str
    flops: Mapping[str, float]
    source: str


@dataclasses.dataclass(frozen=True, slots=True)
class Roofline:
    """A theoretical maximum, with the source of the device's operations, or the reason why it is unknown."""

    requests_per_s: float | None
    source: str | None = None
    reason: str | None = None


@functools.cache
def devices() -> Mapping[str, Device]:
    """The table of devices, by each of their names."""
    rows = load_yaml(_TABLE.read_bytes())
    return {name: Device(row["title"], row["flops"], row["source"]) for row in rows for name in row["names"]}


def roofline(settings: Mapping[str, Scalar]) -> Roofline:
    """The theoretical maximum of a run with these *settings*.

    ``model_flops`` are the operations of one request, ``precision`` is what they are computed in, and ``device``,
    ``gpu`` or ``hw_type`` names a device of the table; ``device_flops``, its operations per second, goes before that.
    """
    per_request = _positive(settings.get("model_flops"))
    if per_request is None:
        return Roofline(None, reason="the operations of a request (setting 'model_flops') are not known")
    given = _positive(settings.get("device_flops"))
    if given is not None:
        return Roofline(given / per_request, source="setting 'device_flops'")
    name = next((settings[key] for key in DEVICE_SETTINGS if settings.get(key) is not None), None)
    if name is None:
        return Roofline(None, reason=f"no setting names the device ({', '.join(DEVICE_SETTINGS)})")
    device = devices().get(str(name).lower())
    if device is None:
        return Roofline(
            None, reason=f"the peak arithmetic of {name} is not known; the setting 'device_flops' can say it"
        )
    precision = settings.get("precision")
    if precision is None:
        return Roofline(None, reason="no setting 'precision' says what the device computed in")
    flops = device.flops.get(_SYNONYMS.get(str(precision).lower(), str(precision).lower()))
    if flops is None:
        return Roofline(None, reason=f"the data sheet of {device.title} says nothing of precision {precision}")
    return Roofline(flops / per_request, source=device.source)


def _positive(value: object) -> float | None:
    return float(value) if is_number(value) and value > 0 else None
