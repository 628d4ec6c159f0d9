"""Uploads for tests: what writes payloads, what is kept then, and a process that is killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

from matrix_benchmarking import history
from matrix_benchmarking.lts.read import head_of

from .payloads import payload


def writer(*numbers: int, **options: Any) -> Callable[[IO[bytes]], None]:
    """What writes the payloads of these numbers, one a line."""

    def write(stream: IO[bytes]) -> None:
        for number in numbers:
            stream.write(msgspec.json.encode(payload(number, **options)) + b"\n")

    return write


def kept_at(location: history.Location) -> tuple[int, int]:
    """How many runs and KPI values there are."""
    with history.open_history(location, writable=False) as kept:
        workloads = kept.summary().workloads
        return (workloads[0].runs.count, workloads[0].values) if workloads else (0, 0)


def kpis_agree(location: history.Location) -> bool:
    """True if the values at hand of each run are those in its payload."""
    with history.open_history(location, writable=False) as kept:
        return all(run.head == head_of(of.payload) for run, of in zip(kept.runs(), kept.records(), strict=True))


def payloads(kept: history.History, query: history.Query = history.EVERYTHING) -> list[Mapping[str, Any]]:
    """The payloads, newest first."""
    return [each.payload for each in kept.records(query)]


def values(kept: history.History, kpi: str = "speed") -> list[float]:
    """The values of *kpis*, oldest first."""
    found = [dict(zip((one.name for one in run.kpis), run.head.values, strict=True)) for run in kept.runs()]
    found.reverse()
    return [each[kpi] for each in found if kpi in each]


def series(kept: history.History) -> dict[str, int]:
    """How many values each KPI has; of one with several series, the sum."""
    found: dict[str, int] = {}
    for each in kept.summary().series:
        found[each.kpi] = found.get(each.kpi, 0) + each.span.count
    return found


def kill_after(script: str, line: str, then: float = 0.0) -> None:
    """Run the Python *script*, and kill it when it has printed *line*, *then* seconds later."""
    tests = Path(__file__).resolve().parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{tests.parent}"}
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == f"{line}\n"
    time.sleep(then)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
