"""What ten times as many points of one series cost: to analyse, and to keep in each history. CPU time of ours, with the
system's for it.

The shorter series is measured before and after each time of the longer one; the least of each counts, as other work on
the machine only adds to it.

    python benchmarks/growth.py [--points 10000] [--times 10]

OpenSearch is the genuine server that ``make opensearch`` collects; without it its line is left out.
"""

from __future__ import annotations

import argparse
import datetime as dt
import functools
import itertools
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

from history_support.payloads import payload  # noqa: E402
from toy_runs import entry, workload  # noqa: E402

from matrix_benchmarking import history  # noqa: E402
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs  # noqa: E402
from matrix_benchmarking.cli import garbage_is_rare  # noqa: E402
from matrix_benchmarking.history.opensearch.credentials import Credentials  # noqa: E402

MOST = 12.0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--points", type=int, default=10_000, help="of the shorter series")
    parser.add_argument("--times", type=int, default=10, help="how many times as many the longer one has")
    options = parser.parse_args()
    with garbage_is_rare():  # as in a command
        _measure(options.points, options.points * options.times)


def _measure(few: int, many: int) -> None:
    print(f"seconds of CPU time for {few:,} and for {many:,} points of one series; at most {MOST:g} × is asked for")
    for shape in ("quiet", "one step", "a step each 1,000", "an episode each 500"):
        _report(f"analysed, {shape}", few, many, functools.partial(_analysed, shape))
    with tempfile.TemporaryDirectory(prefix="matbench-growth-") as directory:
        number = itertools.count()
        _report(
            "pushed to SQLite",
            few,
            many,
            lambda count: _pushed(count, history.SQLiteLocation(Path(directory) / f"{next(number)}.db")),
        )
        _opensearch(few, many, Path(directory))


def _analysed(shape: str, count: int) -> float:
    values = 100.0 + np.random.default_rng(5).normal(0.0, 1.0, count)
    if shape == "one step":
        values[count // 2 :] += 8.0
    for first in range(500, count, 2000 if shape == "a step each 1,000" else 500):
        length = {"a step each 1,000": 1000, "an episode each 500": 3}.get(shape, 0)
        values[first : first + length] += 8.0
    runs = [
        entry({"version": f"1.{number}.0", "cost": float(value), "day": number}, number)
        for number, value in enumerate(values)
    ]
    now = dt.datetime(2400, 1, 1, tzinfo=dt.UTC)
    return _cpu_s(lambda: analyse_runs(runs, workload(), data="growth", kpi_filter=["cost"], now=now))


def _pushed(count: int, location: history.Location) -> float:
    """Without what making the payloads takes."""
    made = [payload(number, {"cost": 100.0 + number % 7}, settings={"vus": 1}) for number in range(count)]
    with history.open_history(location, writable=True) as kept:
        return _cpu_s(lambda: kept.push(map(history.record, made)))


def _opensearch(few: int, many: int, directory: Path) -> None:
    from history_support.opensearch_server import OpenSearchServer

    try:
        server = OpenSearchServer(directory / "opensearch")
        server.start()
    except BaseException as error:  # pytest's way to say that something is missing is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        print(f"OpenSearch: left out ({error})")
        return
    try:
        number = itertools.count()

        def pushed(count: int) -> float:
            name = f"g{next(number)}"
            return _pushed(count, history.OpenSearchLocation(server.url, name, Credentials()))

        _report("pushed to OpenSearch", few, many, pushed)
    finally:
        server.stop()


def _cpu_s(call: Callable[[], object]) -> float:
    before = time.process_time()
    call()
    return time.process_time() - before


def _report(what: str, few: int, many: int, seconds: Callable[[int], float]) -> None:
    taken = [(count, seconds(count)) for count in (few, many, few, many, few)]
    short, long = (min(each for count, each in taken if count == size) for size in (few, many))
    missed = "" if long <= MOST * short else "  MISSED"
    print(f"  {what:30} {short:7.2f} {long:8.2f}  {long / short:6.1f} ×{missed}", flush=True)


if __name__ == "__main__":
    main()
