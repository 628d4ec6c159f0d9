"""How fast a history is: runs pushed, read and judged, beside the plain driver, in each engine.

Everything is a ratio within one run, of CPU seconds of our own process, which other work on the machine moves least.
The servers are the genuine ones of the tests; lines of those that are missing are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime as dt
import itertools
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

from builders import speed_workload  # noqa: E402
from history_support.payloads import payload  # noqa: E402

from matrix_benchmarking import history  # noqa: E402
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs  # noqa: E402
from matrix_benchmarking.cli import garbage_is_rare  # noqa: E402
from matrix_benchmarking.history import location, read, records  # noqa: E402
from matrix_benchmarking.history.opensearch_location import Credentials  # noqa: E402
from matrix_benchmarking.workload import RegressionKeys  # noqa: E402

KPIS, ROUNDS, MOST = 10, 5, 3.0
NOW = dt.datetime(2400, 1, 1, tzinfo=dt.UTC)
WORKLOAD = dataclasses.replace(speed_workload(), regression=RegressionKeys(comparison_keys=["version"]))

Place = tuple[history.Location, Callable[[], object], Callable[[list[dict[str, Any]]], object], Callable[[], int]]
"""A location, what reads its rows and what writes documents by the driver alone, and how many bytes it takes."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000, help=f"of {KPIS} KPIs each")
    parser.add_argument("--series", type=int, default=1000, help="among which they are shared out")
    parser.add_argument("--engines", default="sqlite,postgresql,opensearch", help="those to measure")
    options = parser.parse_args()
    print(f"{options.runs:,} runs of {KPIS} KPIs in {options.series:,} series; best of {ROUNDS}, pushed once")
    with garbage_is_rare():  # as in a command
        for name in options.engines.split(","):
            try:
                with ENGINES[name]() as place:
                    _measure(name, place, options.runs, options.series)
            except BaseException as error:  # pytest's way to say that something is missing is no Exception
                if isinstance(error, KeyboardInterrupt) or type(error).__name__ not in ("Skipped", "Failed"):
                    raise
                print(f"{name}: left out ({error})")


def _measure(name: str, place: Place, runs: int, series: int) -> None:
    at, bare_read, bare_write, size = place
    with history.open_history(at, writable=True) as kept:
        pushed = _timed(lambda: kept.push(map(history.record, _payloads(runs, series))))
        made = _timed(lambda: [history.record(each) for each in _payloads(runs, series)])
    kept_bytes = size() / runs
    few = list(_payloads(min(runs, 5000), series))
    written = _timed(lambda: bare_write(few)) * runs / len(few)

    def ours() -> None:
        with history.open_history(at, writable=False) as opened:
            for _ in opened.runs():
                pass

    reads = (bare_read, ours, lambda: read.read_matrix(WORKLOAD, at))  # in turns: so a busy machine slows all of them
    bare, own, as_matrix = map(min, zip(*([_timed(each) for each in reads] for _ in range(ROUNDS)), strict=True))
    before = _memory()
    matrix = read.read_matrix(WORKLOAD, at)
    as_entries = (_memory() - before) / runs
    judged = _timed(lambda: analyse_runs(matrix, WORKLOAD, data="speed", now=NOW))
    missed = "" if max(own, as_matrix) <= MOST * bare else "  MISSED"
    print(name)
    print(f"  pushed      {pushed:7.2f} s, {runs / pushed:9,.0f} runs a second ({made:.2f} s of it ids and digests)")
    print(f"  the driver  {written:7.2f} s for documents that were made beforehand: {pushed / written:.2f} ×")
    print(f"  read        {own:7.2f} s; the driver's own read of the same rows {bare:.2f} s: {own / bare:.2f} ×")
    print(f"  as a matrix {as_matrix:7.2f} s: {as_matrix / bare:.2f} ×{missed}")
    print(f"  judged      {judged:7.2f} s")
    print(f"  a run takes {kept_bytes:7,.0f} bytes there, {as_entries:,.0f} of memory as an entry", flush=True)


def _memory() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _payloads(runs: int, series: int) -> Iterator[dict[str, Any]]:
    names = ["speed", *(f"kpi_{number}" for number in range(1, KPIS))]
    for number in range(runs):
        build, configuration = divmod(number, series)
        settings = {"hw_type": f"gpu-{configuration % 4}", "vus": configuration // 4, "version": f"1.{build}.0"}
        values: dict[str, float | None] = dict.fromkeys(names, 100.0 + number * 7919 % 97 / 97)
        yield payload(number, values, settings=settings, throughput=[0.1 * each for each in range(20)])


@contextlib.contextmanager
def _sqlite() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "h.db"
        text = "SELECT id, workload, time_us, digest, measurement, recorded_us, recorded_place, shape, head FROM runs"
        with contextlib.closing(sqlite3.connect(Path(directory) / "bare.db", isolation_level=None)) as bare:
            bare.execute("PRAGMA journal_mode = WAL")
            bare.execute("PRAGMA synchronous = FULL")
            bare.execute(f"CREATE TABLE both ({', '.join(history_columns())})")

            def write(payloads: list[dict[str, Any]]) -> None:
                _in_chunks(payloads, bare, "?")

            def fetch() -> list[Any]:
                with contextlib.closing(sqlite3.connect(path)) as connection:
                    return connection.execute(f"{text} ORDER BY time_us DESC NULLS LAST, id").fetchall()

            yield history.SQLiteLocation(path), fetch, write, lambda: path.stat().st_size


@contextlib.contextmanager
def _postgresql() -> Iterator[Place]:
    import psycopg
    from history_support.postgresql_server import PostgreSQLServer

    server = PostgreSQLServer()
    try:
        server.start()
        at, _ = location.parse(server.url, {})
        text = "SELECT id, workload, time_us, digest, measurement, recorded_us, recorded_place, shape, head "
        with psycopg.connect(server.url, autocommit=True) as bare:
            bare.execute(f"CREATE TABLE both_ ({', '.join(f'{name} TEXT' for name in history_columns())})".encode())

            def write(payloads: list[dict[str, Any]]) -> None:
                _in_chunks(payloads, bare.cursor(), "%s", "both_")

            def fetch() -> list[Any]:
                with psycopg.connect(server.url) as connection:
                    order = "FROM matbench.runs ORDER BY time_us DESC NULLS LAST, id"
                    return connection.execute((text + order).encode()).fetchall()

            def size() -> int:
                whole = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = "
                with psycopg.connect(server.url) as connection:
                    found = connection.execute(f"{whole}'matbench'::regnamespace".encode()).fetchone()
                return int(found[0]) if found else 0

            yield at, fetch, write, size
    finally:
        server.stop()


@contextlib.contextmanager
def _opensearch() -> Iterator[Place]:
    from history_support.opensearch_server import OpenSearchServer
    from opensearchpy import OpenSearch, helpers

    from matrix_benchmarking.history import opensearch_indices as indices
    from matrix_benchmarking.history.opensearch import _document

    with tempfile.TemporaryDirectory() as directory:
        server = OpenSearchServer(Path(directory))
        try:
            server.start()
            with OpenSearch([server.url], timeout=60) as client:
                client.indices.create(index="bare", body={"mappings": indices.PAYLOADS, "settings": indices.SETTINGS})

                def write(payloads: list[dict[str, Any]]) -> None:
                    made = (records.row_of(history.record(each, (1, 1))) for each in payloads)
                    actions = ({"_index": "bare", "_id": row.id, "_source": _document(row)} for row in made)
                    helpers.bulk(client, actions, chunk_size=500)
                    client.indices.refresh(index="bare")

                def fetch() -> list[Any]:
                    return list(helpers.scan(client, index="runs", size=5000, query={"_source": ["matbench"]}))

                at = history.OpenSearchLocation(server.url, "runs", Credentials())

                def size() -> int:
                    found = client.indices.stats(index=f"{at.index},{at.kpi_index}", metric="store")
                    return int(found["_all"]["primaries"]["store"]["size_in_bytes"])

                yield at, fetch, write, size
        finally:
            server.stop()


def history_columns() -> tuple[str, ...]:
    return (*records.Row._fields[:9], "payload")


def _in_chunks(payloads: list[dict[str, Any]], cursor: Any, mark: str, table: str = "both") -> None:
    made = [records.row_of(history.record(each, (1, 1)))[:10] for each in payloads]
    for start in itertools.count(0, 500):
        if not (some := made[start : start + 500]):
            return
        cursor.execute("BEGIN")
        cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join([mark] * 10)})", some)
        cursor.execute("COMMIT")


ENGINES = {"sqlite": _sqlite, "postgresql": _postgresql, "opensearch": _opensearch}


def _timed(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == "__main__":
    main()
