"""What the load generator saw over the time of a run, interval by interval."""

from __future__ import annotations

import types
from typing import Any

SERIES = ("requests", "failed", "answered_inputs", "p50_ms", "p95_ms")


def parse_timeseries(content: Any) -> types.SimpleNamespace:
    """``start`` (seconds since the epoch), ``interval_s``, ``last_interval_s``, and a list for each of :data:`SERIES`.

    Latencies are None in an interval without an answer.

    Raises:
        ValueError: it is not such a time series, or its lists are of unequal length.
    """
    if not isinstance(content, dict):
        raise ValueError("is not a time series: it is no JSON object")
    series = {name: content.get(name) for name in SERIES}
    for name, values in series.items():
        if not isinstance(values, list) or not all(value is None or _is_number(value) for value in values):
            raise ValueError(f"is not a time series: '{name}' is no list of numbers")
    lengths = {len(values or []) for values in series.values()}
    if len(lengths) != 1:
        raise ValueError("has lists of unequal length")
    numbers = {name: content.get(name) for name in ("start", "interval_s", "last_interval_s")}
    if not all(_is_number(value) for value in numbers.values()) or not content["interval_s"] > 0:
        raise ValueError("is not a time series: start, interval_s and last_interval_s have to be numbers")
    return types.SimpleNamespace(**numbers, **series)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
