"""What ten times as many points of one series cost: to analyse, and to keep in each history. CPU time of ours, with the
system's for it.

The shorter series is measured as many times as it is shorter, then the longer one once, and so again: both take as
long, so a machine whose pace changes changes both. Each is a process by itself, as a command is: memory is not there
yet.

    python benchmarks/growth.py [--points 10000] [--times 10]

The servers are genuine: PostgreSQL as Debian has it, OpenSearch as ``make opensearch`` collects it; the line of one
that is missing is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import functools
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

from history_support.payloads import payload  # noqa: E402
from toy_runs import entry, workload  # noqa: E402

from matrix_benchmarking import history  # noqa: E402
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs  # noqa: E402
from matrix_benchmarking.cli import garbage_is_rare  # noqa: E402
from matrix_benchmarking.history import location  # noqa: E402
from matrix_benchmarking.history.opensearch_location import Credentials  # noqa: E402

MOST = 12.0
ROUNDS = 2
Taken = tuple[float, float]
"""Seconds of CPU time, and of the clock."""


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
    for engine, places in {"SQLite": _sqlite, "PostgreSQL": _postgresql, "OpenSearch": _opensearch}.items():
        with contextlib.ExitStack() as stack:
            try:
                place = stack.enter_context(places())
            except BaseException as error:  # pytest's way to say that something is missing is no Exception
                if isinstance(error, KeyboardInterrupt):
                    raise
                print(f"{engine}: left out ({error})")
                continue
            _report(f"pushed to {engine}", few, many, functools.partial(_pushed, place))


def _analysed(shape: str, count: int) -> Taken:
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
    return _taken(lambda: analyse_runs(runs, workload(), data="growth", kpi_filter=["cost"], now=now))


def _pushed(place: Callable[[str], history.Location], count: int) -> Taken:
    """Without what making the payloads takes."""
    made = [payload(number, {"cost": 100.0 + number % 7}, settings={"vus": 1}) for number in range(count)]
    with history.open_history(place(f"g{os.getpid()}"), writable=True) as kept:
        return _taken(lambda: kept.push(map(history.record, made)))


@contextlib.contextmanager
def _sqlite() -> Iterator[Callable[[str], history.Location]]:
    with tempfile.TemporaryDirectory(prefix="matbench-growth-") as directory:
        yield lambda name: history.SQLiteLocation(Path(directory) / f"{name}.db")


@contextlib.contextmanager
def _postgresql() -> Iterator[Callable[[str], history.Location]]:
    import psycopg
    from history_support.postgresql_server import PostgreSQLServer

    server = PostgreSQLServer()
    try:
        server.start()

        def place(name: str) -> history.Location:
            with psycopg.connect(server.url, autocommit=True) as bare:
                bare.execute(f"CREATE DATABASE {name}".encode())
            return location.parse(server.url.replace("/postgres", f"/{name}"), {})[0]

        yield place
    finally:
        server.stop()


@contextlib.contextmanager
def _opensearch() -> Iterator[Callable[[str], history.Location]]:
    from history_support.opensearch_server import OpenSearchServer

    with tempfile.TemporaryDirectory(prefix="matbench-growth-") as directory:
        server = OpenSearchServer(Path(directory))
        try:
            server.start()
            yield lambda name: history.OpenSearchLocation(server.url, name, Credentials())
        finally:
            server.stop()


def _taken(call: Callable[[], object]) -> Taken:
    before = time.process_time(), time.perf_counter()
    call()
    return time.process_time() - before[0], time.perf_counter() - before[1]


def _in_a_process(taken: Callable[[int], Taken], count: int) -> Taken:
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)
    process = fork.Process(target=lambda: theirs.send(taken(count)))
    process.start()
    theirs.close()
    found: Taken = ours.recv()
    process.join()
    return found


def _report(what: str, few: int, many: int, taken: Callable[[int], Taken]) -> None:
    taken(few // 10)  # what is imported when it is needed
    short, long = np.zeros(2), np.zeros(2)
    for _ in range(ROUNDS):
        short += sum(np.array(_in_a_process(taken, few)) for _ in range(many // few)) / (many // few)
        long += _in_a_process(taken, many)
    short, long = short / ROUNDS, long / ROUNDS
    missed = "" if long[0] <= MOST * short[0] else "  MISSED"
    wall = f"wall {short[1]:6.2f} {long[1]:6.2f} {long[1] / short[1]:6.1f} ×"
    print(f"  {what:30} {short[0]:7.2f} {long[0]:8.2f}  {long[0] / short[0]:6.1f} ×   {wall}{missed}", flush=True)


if __name__ == "__main__":
    main()
