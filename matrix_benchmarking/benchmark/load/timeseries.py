"""A compact time series of a load, from the CSV file in which k6 writes each sample.

Each second has the requests that ended in it, how many failed, the inputs answered right, and quantiles of the latency
of the answered requests; null where there were none.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

INTERVAL_S = 1.0

Row = tuple[str, float, float, bool]
"""A sample: metric, time in seconds since the epoch, value, and whether the request was answered as expected."""


def read_samples(path: Path) -> Iterator[Row]:
    """The samples of k6's CSV output that a time series needs, one at a time; damaged lines are passed over."""
    with path.open(encoding="utf-8", errors="replace", newline="") as stream:
        for row in csv.DictReader(line.replace("\0", "") for line in stream):
            if row["metric_name"] not in ("http_req_duration", "answered_inputs"):
                continue
            try:
                at, value = float(row["timestamp"]) / 1000, float(row["metric_value"])
            except (TypeError, ValueError):
                continue
            yield row["metric_name"], at, value, row.get("expected_response") == "true"


def time_series(samples: Iterable[Row], window: Mapping[str, float]) -> dict[str, Any]:
    """The series over the load's *window*; what k6 still waited for after it counts into its last second.

    Returns:
        ``start`` (seconds since the epoch), ``interval_s``, ``last_interval_s`` (the last one may be shorter), and a
        list with one value an interval for ``requests``, ``failed``, ``answered_inputs``, ``p50_ms`` and ``p95_ms``.
    """
    start, length_s = window["start"], max(window["end"] - window["start"], 0.0)
    count = max(1, math.ceil(length_s / INTERVAL_S - 1e-9))
    requests, failed, answered = [0] * count, [0] * count, [0] * count
    latencies: list[list[float]] = [[] for _ in range(count)]
    for metric, at, value, expected in samples:
        # k6 tells times in whole milliseconds, so the first may seem to lie before the start.
        second = min(max(int((at - start) / INTERVAL_S), 0), count - 1)
        if metric == "answered_inputs":
            answered[second] += int(value)
            continue
        requests[second] += 1
        if expected:
            latencies[second].append(value)
        else:
            failed[second] += 1
    for values in latencies:
        values.sort()
    return {
        "start": round(start, 3),
        "interval_s": INTERVAL_S,
        "last_interval_s": round(length_s - (count - 1) * INTERVAL_S, 3),
        "requests": requests,
        "failed": failed,
        "answered_inputs": answered,
        "p50_ms": [quantile(values, 0.5) for values in latencies],
        "p95_ms": [quantile(values, 0.95) for values in latencies],
    }


def quantile(ordered: list[float], share: float) -> float | None:
    """The quantile of an ascending list, between its neighbours, as k6 takes it; None of nothing."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return round(ordered[below] + (ordered[above] - ordered[below]) * (place - below), 3)
