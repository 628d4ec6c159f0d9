"""Uploads for tests: what writes payloads, what is kept then, and a process that is killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import msgspec

from matrix_benchmarking import history

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
        return (workloads[0].runs, workloads[0].values) if workloads else (0, 0)


def kpis_agree(location: history.Location) -> bool:
    """True if the values in the series are those in the payloads, run by run."""
    with history.open_history(location, writable=False) as kept:
        of_payloads = {
            (each["metadata"]["test_uuid"], name, kpi["value"])
            for each in kept.payloads()
            for name, kpi in each["kpis"].items()
        }
        of_series = set()
        for series in kept.series():
            values = kept.values(series)
            of_series |= {(run, series.kpi, value) for run, value in zip(values.ids, values.values, strict=True)}
    return of_series == of_payloads


def kill_after(script: str, line: str) -> None:
    """Run the Python *script*, and kill it when it has printed *line*."""
    tests = Path(__file__).resolve().parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{tests.parent}"}
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == f"{line}\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
