"""k6's end-of-test summary, in each of the shapes in which k6 writes it.

* ``handleSummary``: ``metrics.NAME.values.STATISTIC``, with ``state`` and ``options``;
* ``--summary-export``: ``metrics.NAME.STATISTIC``; a rate's share is called ``value``;
* the machine-readable summary (k6 1.5 and later): ``results.metrics`` is a list.

``http_req_failed`` is a rate of failures: its ``passes`` (machine-readable: ``matches``) are the
requests that failed. Failed requests count in ``http_reqs`` and in the plain ``http_req_duration``.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from typing import Any

from matrix_benchmarking.errors import explained

Values = Mapping[str, Any]

_ANSWERED = "http_req_duration{expected_response:true}"


def parse_summary(content: Any) -> types.SimpleNamespace:
    """What a k6 run did.

    Returns:
        ``requests`` and ``failed_requests`` (counts), ``duration_s``, ``avg_latency_ms`` and
        ``p95_latency_ms`` of the answered requests (None if there were none), ``latency_quantiles_ms`` (by percent,
        those that the summary holds), ``latency_range_ms`` (lowest and highest, None where the
        summary doesn't hold them), ``dropped_iterations``,
        ``schedule_lag_p95_ms`` (how late requests of the open model were sent; None for the closed one),
        and, where the script counts them, ``sent_inputs`` and ``answered_inputs`` (else None).

    Raises:
        ValueError: it is not a k6 summary, or one of a run without HTTP requests.
    """
    try:
        metrics, duration_s = _metrics(content)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"is not a k6 summary: {explained(error)}") from error
    if "http_reqs" not in metrics:
        raise ValueError("is a k6 summary without any HTTP request")
    requests = _count(metrics, "http_reqs")
    failed = _failed_requests(metrics, requests)
    latency = metrics.get(_ANSWERED)
    if latency is None and failed == 0:
        latency = metrics.get("http_req_duration")
    counted = "answered_inputs" in metrics or "sent_inputs" in metrics
    return types.SimpleNamespace(
        requests=requests,
        failed_requests=failed,
        duration_s=duration_s or _duration_from_rate(metrics["http_reqs"], requests),
        avg_latency_ms=_statistic(latency, "avg"),
        p95_latency_ms=_statistic(latency, "p(95)", "p95"),
        latency_quantiles_ms=_quantiles(latency),
        latency_range_ms=(_statistic(latency, "min"), _statistic(latency, "max")),
        dropped_iterations=_count(metrics, "dropped_iterations"),
        schedule_lag_p95_ms=_statistic(metrics.get("schedule_lag"), "p(95)", "p95"),
        sent_inputs=_count(metrics, "sent_inputs") if counted else None,
        answered_inputs=_count(metrics, "answered_inputs") if counted else None,
    )


def _metrics(content: Any) -> tuple[dict[str, Values], float | None]:
    """The statistics of each metric by its name, and the run's duration in seconds where it is told."""
    if not isinstance(content, dict):
        raise ValueError("is not a k6 summary: it is no JSON object")
    if isinstance(content.get("results"), dict):
        listed = content["results"].get("metrics")
        duration = _number(content.get("config", {}).get("duration"))
        if not isinstance(listed, list):
            raise ValueError("is not a k6 summary: its 'results' have no list 'metrics'")
        return {metric["name"]: metric.get("values", {}) for metric in listed}, duration
    metrics = content.get("metrics")
    if not isinstance(metrics, dict) or not all(isinstance(metric, dict) for metric in metrics.values()):
        raise ValueError("is not a k6 summary: it has no 'metrics'")
    duration_ms = _number(content.get("state", {}).get("testRunDurationMs"))
    if duration_ms is not None and duration_ms < 0:
        raise ValueError("is a k6 summary whose duration is below 0")
    values = {name: metric.get("values", metric) for name, metric in metrics.items()}
    return values, None if duration_ms is None else duration_ms / 1000


def _failed_requests(metrics: Mapping[str, Values], requests: int) -> int:
    rate = metrics.get("http_req_failed", {})
    for name in ("passes", "matches"):
        failed = _number(rate.get(name))
        if failed is not None:
            return int(failed)
    share = _statistic(rate, "rate", "value")
    if share is None:
        raise ValueError("is a k6 summary that doesn't tell how many requests failed")
    return round(share * requests)


def _count(metrics: Mapping[str, Values], name: str) -> int:
    """The value of a counter; k6 leaves out counters that were never added to: 0.

    Raises:
        ValueError: it is there and no number of 0 or more: unknown is not zero.
    """
    count = _number((metrics.get(name) or {}).get("count", 0))
    if count is None or count < 0:
        raise ValueError(f"is a k6 summary whose count of '{name}' is no number of 0 or more")
    return int(count)


def _duration_from_rate(requests_metric: Values, requests: int) -> float:
    rate = _statistic(requests_metric, "rate")
    if not rate:
        raise ValueError("is a k6 summary that doesn't tell how long the run was")
    return requests / rate


def _statistic(values: Values | None, *names: str) -> float | None:
    """The first of the statistics that is there and a finite number."""
    for name in names:
        number = _number((values or {}).get(name))
        if number is not None:
            return number
    return None


def _quantiles(latency: Values | None) -> dict[str, float]:
    """The quantiles that the summary holds, by percent: ``50``, ``90``, ``95``, ``99``."""
    names = {"50": ("med", "p(50)", "p50"), "90": ("p(90)", "p90"), "95": ("p(95)", "p95"), "99": ("p(99)", "p99")}
    found = {percent: _statistic(latency, *alternatives) for percent, alternatives in names.items()}
    return {percent: value for percent, value in found.items() if value is not None}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value
