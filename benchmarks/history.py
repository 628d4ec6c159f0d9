"""How fast a history is: pushed and read beside the plain driver, and one long series out of a large SQLite file.

Everything is a ratio within one run. OpenSearch is the genuine server that ``make opensearch`` collects; without it its
lines are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

from history_support.payloads import payload  # noqa: E402

from matrix_benchmarking import history  # noqa: E402
from matrix_benchmarking.history import sqlite_rows  # noqa: E402
from matrix_benchmarking.history.opensearch import documents, mappings  # noqa: E402
from matrix_benchmarking.history.opensearch.credentials import Credentials  # noqa: E402

SERIES, VALUES = 100, 100_000
KPIS = 10
ROUNDS = 3
SINGLE = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3000, help="runs that are pushed, of ten KPIs each")
    parser.add_argument("--values", type=int, default=SERIES * VALUES, help="KPI values in the large SQLite file")
    options = parser.parse_args()
    payloads = [_payload(number) for number in range(options.runs)]
    with tempfile.TemporaryDirectory() as directory:
        print(f"{options.runs:,} runs of {KPIS} KPIs each; KPI values a second, best of {ROUNDS}")
        _sqlite(payloads, Path(directory))
        _opensearch(payloads, Path(directory))
        print()
        _long_series(options.values, Path(directory))


def _payload(number: int) -> dict[str, Any]:
    values = {f"kpi_{kpi}": number * 0.37 + kpi for kpi in range(KPIS)}
    settings = {"hw_type": f"gpu-{number % 3}", "vus": 2 ** (number % 5), "image": "onnx-fp32", "batch_size": 32}
    return payload(number, values, settings=settings, throughput=[0.1 * each for each in range(20)])


def _sqlite(payloads: list[dict[str, Any]], directory: Path) -> None:
    def ours(number: int) -> float:
        with history.open_history(history.SQLiteLocation(directory / f"ours{number}.db"), writable=True) as kept:
            return _timed(lambda: kept.push(map(history.record, payloads)))

    def plain(number: int) -> float:
        """The same documents as JSON and their KPIs as rows, all in one transaction by executemany."""
        with history.open_history(history.SQLiteLocation(directory / f"plain{number}.db"), writable=True):
            pass
        connection = sqlite3.connect(directory / f"plain{number}.db", isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        rows = _kpi_rows(connection, payloads)
        elapsed = _timed(lambda: _insert(connection, payloads, rows))
        connection.close()
        return elapsed

    with history.open_history(history.SQLiteLocation(directory / "read.db"), writable=True) as kept:
        kept.push(map(history.record, payloads))
        read = min(_timed(lambda: _read_all(kept)) for _ in range(ROUNDS))
    with contextlib.closing(sqlite3.connect(directory / "read.db")) as connection:
        text = "SELECT series, k.time_us, value, p.id FROM kpis k JOIN payloads p ON p.number = k.payload ORDER BY 1, 2"
        bare = min(_timed(lambda: connection.execute(text).fetchall()) for _ in range(ROUNDS))
    _report("SQLite", len(payloads), _best(ours), _best(plain), None, read, bare)


def _kpi_rows(connection: sqlite3.Connection, payloads: Iterable[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The rows of the table of KPIs; the series are made on the way."""
    numbers: dict[str, int] = {}
    rows = []
    for number, each in enumerate(map(history.record, payloads), start=1):
        for kpi in each.kpis():
            if kpi.series not in numbers:
                cursor = connection.execute(sqlite_rows.INSERT_SERIES, sqlite_rows.series_row(each, kpi))
                numbers[kpi.series] = cursor.lastrowid or 0
            rows.append((numbers[kpi.series], kpi.time_us, number, kpi.value))
    return rows


def _insert(connection: sqlite3.Connection, payloads: Iterable[dict[str, Any]], rows: list[tuple[Any, ...]]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(
        sqlite_rows.INSERT_PAYLOAD,
        (
            (
                each["metadata"]["test_uuid"],
                "speed",
                number,
                "",
                json.dumps(each["metadata"]["settings"]),
                0,
                json.dumps(each),
            )
            for number, each in enumerate(payloads)
        ),
    )
    connection.executemany("INSERT INTO kpis VALUES (?, ?, ?, ?)", rows)
    connection.execute("COMMIT")


def _opensearch(payloads: list[dict[str, Any]], directory: Path) -> None:
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
        _with_server(payloads, server.url)
    finally:
        server.stop()


def _with_server(payloads: list[dict[str, Any]], url: str) -> None:
    from opensearchpy import OpenSearch, helpers

    client = OpenSearch([url], timeout=60)

    def location(name: str) -> history.OpenSearchLocation:
        return history.OpenSearchLocation(url, name, f"{name}-prom", Credentials())

    def ours(number: int) -> float:
        with history.open_history(location(f"ours{number}"), writable=True) as kept:
            return _timed(lambda: kept.push(map(history.record, payloads)))

    def plain(number: int) -> float:
        """The same documents by the driver's own bulk helper, into indices with the same mappings."""
        name = f"plain{number}"
        for index, mapping in ((name, mappings.PAYLOADS), (f"{name}-prom", mappings.KPIS)):
            client.indices.create(index=index, body={"mappings": mapping, "settings": mappings.SETTINGS})
        actions = list(_actions(payloads, name))

        def push() -> None:
            helpers.bulk(client, actions, chunk_size=500)
            client.indices.refresh(index=f"{name},{name}-prom")

        return _timed(push)

    def one_by_one() -> float:
        """A request with a refresh for each KPI, for the time of all of them."""
        client.indices.create(index="single", body={"mappings": mappings.KPIS, "settings": mappings.SETTINGS})
        kpis = [action for action in _actions(payloads[:SINGLE], "x") if action["_index"] == "x-prom"][:SINGLE]

        def push() -> None:
            for each in kpis:
                client.index(index="single", id=each["_id"], body=each["_source"], params={"refresh": "true"})

        return _timed(push) * len(payloads) * KPIS / SINGLE

    plain(ROUNDS)  # warms up the server
    pushed, floor = _best(ours), _best(plain)
    with history.open_history(location("ours0"), writable=False) as kept:
        read = min(_timed(lambda: _read_all(kept)) for _ in range(ROUNDS))
    bare = min(_timed(lambda: list(helpers.scan(client, index="ours0-prom", size=1000))) for _ in range(ROUNDS))
    _report("OpenSearch", len(payloads), pushed, floor, one_by_one(), read, bare)
    client.close()


def _actions(payloads: Iterable[dict[str, Any]], name: str) -> Iterable[dict[str, Any]]:
    for each in map(history.record, payloads):
        for kpi in each.kpis():
            source = documents.kpi_document(each, kpi)
            yield {"_index": f"{name}-prom", "_id": documents.kpi_id(each.id, kpi.name), "_source": source}
        yield {"_index": name, "_id": each.id, "_source": documents.payload_document(each)}


def _read_all(kept: history.History) -> None:
    for series in kept.series():
        kept.values(series)


def _long_series(values: int, directory: Path) -> None:
    """One series of a hundred out of a large file, beside fetchall of the same rows."""
    place = history.SQLiteLocation(directory / "large.db")
    each = values // SERIES
    with history.open_history(place, writable=True) as kept:
        kept.push([history.record(_with_series(SERIES))])
    _fill(place.path, each)
    connection = sqlite3.connect(place.path)
    text = sqlite_rows.VALUES
    with history.open_history(place, writable=False) as kept:
        chosen = kept.series()[SERIES // 2]
        bare = min(_timed(lambda: connection.execute(text, (chosen.key,)).fetchall()) for _ in range(ROUNDS + 2))
        ours = min(_timed(lambda: kept.values(chosen)) for _ in range(ROUNDS + 2))
        count = len(kept.values(chosen).values)
        listed = _timed(kept.series)
    connection.close()
    size = place.path.stat().st_size / 2**20
    print(f"SQLite file of {values:,} KPI values, {size:,.0f} MiB")
    print(f"  a series of {count:,} values: {ours:.3f} s; bare fetchall of its rows: {bare:.3f} s; {ours / bare:.2f} ×")
    print(f"  the list of its {SERIES} series with counts and times: {listed:.2f} s")


def _with_series(count: int) -> dict[str, Any]:
    return payload(0, {f"kpi_{number:03d}": 1.0 for number in range(count)})


def _fill(path: Path, each: int) -> None:
    """Runs as a push would write them, run by run; without the time that making payloads takes."""
    connection = sqlite3.connect(path, isolation_level=None)
    template = msgspec.json.encode(_with_series(1)).decode()
    connection.execute("BEGIN")
    (start,) = connection.execute("SELECT max(time_us) FROM kpis").fetchone()
    connection.executemany(
        sqlite_rows.INSERT_PAYLOAD,
        ((f"00000000-0000-4000-8000-{n:012d}", "speed", start + n, str(n), "{}", 0, template) for n in range(1, each)),
    )
    connection.executemany(
        "INSERT INTO kpis VALUES (?, ?, ?, ?)",
        ((series, start + n, n + 1, n * 0.5) for n in range(1, each) for series in range(1, SERIES + 1)),
    )
    connection.execute("COMMIT")
    connection.close()


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _best(call: Callable[[int], float]) -> float:
    return min(call(number) for number in range(ROUNDS))


def _report(name: str, runs: int, pushed: float, floor: float, single: float | None, read: float, bare: float) -> None:
    count = runs * KPIS
    print(f"{name}")
    print(f"  pushed {count / pushed:9,.0f}; plain driver in bulk {count / floor:9,.0f}: {floor / pushed:.2f} ×")
    if single is not None:
        print(f"  pushed one by one, with a refresh each {count / single:9,.0f}: {single / pushed:,.0f} ×")
    print(f"  read   {count / read:9,.0f}; plain driver, all at once {count / bare:9,.0f}: {bare / read:.2f} ×")


if __name__ == "__main__":
    main()
