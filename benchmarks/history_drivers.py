"""The floor of a history's engines: the same rows by the plain driver, with nothing of ours in between.

Each driver connects anew for what one upload, or one reader, does, as matbench does.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from matrix_benchmarking import history
from matrix_benchmarking.history.records import Row
from matrix_benchmarking.history.sql import COLUMNS

NEWEST, PAYLOADS = 500, 10
"""What a reader asks for: so many runs of the load, the newest first, and the payloads of the first ones."""
LOAD = "load"
_MARKS = ", ".join("?" * 9)
_SELECT = f"SELECT {COLUMNS} FROM runs WHERE workload = '{LOAD}' ORDER BY time_us DESC NULLS LAST, id LIMIT {NEWEST}"
_PAYLOADS = f"SELECT payload FROM payloads WHERE id IN ({', '.join('?' * PAYLOADS)})"


class Driver(Protocol):
    """What is written and read by the driver alone."""

    def settle(self) -> None:
        """Know what was filled in."""

    def insert(self, rows: Sequence[Row]) -> None:
        """Keep new *rows*, all or nothing where the engine can."""

    def read(self) -> int:
        """Read :data:`NEWEST` runs and some payloads; how many runs there were."""

    def ids(self) -> dict[str, list[str]]:
        """All ids that are kept, as often as they are, of runs, payloads and (of OpenSearch) KPIs."""


class SQLiteDriver:
    def __init__(self, path: Path) -> None:
        self._path = path

    def settle(self) -> None:
        """Matbench's indices leave nothing to choose."""

    def insert(self, rows: Sequence[Row]) -> None:
        with self._open() as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(f"INSERT INTO runs VALUES ({_MARKS})", [row[:9] for row in rows])
            connection.executemany("INSERT INTO payloads VALUES (?, ?)", [(row.id, row.payload) for row in rows])
            connection.execute("COMMIT")

    def read(self) -> int:
        with self._open() as connection:
            found = connection.execute(_SELECT).fetchall()
            if len(found) >= PAYLOADS:
                connection.execute(_PAYLOADS, [row[0] for row in found[:PAYLOADS]]).fetchall()
            return len(found)

    def ids(self) -> dict[str, list[str]]:
        with self._open() as connection:
            return {name: [run for (run,) in connection.execute(f"SELECT id FROM {name}")] for name in TABLES}

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self._path, timeout=120, isolation_level=None)) as connection:
            yield connection


TABLES = ("runs", "payloads")


class PostgreSQLDriver:
    def __init__(self, url: str, schema: str) -> None:
        self._url, self._options = url, f"-c search_path={schema}"

    def settle(self) -> None:
        with self._open() as connection:
            connection.execute(b"ANALYZE")  # which a server does by itself, unless it is one of the tests

    def insert(self, rows: Sequence[Row]) -> None:
        with self._open() as connection, connection.transaction(), connection.cursor() as cursor:
            marks = _MARKS.replace("?", "%s")
            cursor.executemany(f"INSERT INTO runs VALUES ({marks})".encode(), [row[:9] for row in rows])
            payloads = [(row.id, row.payload) for row in rows]
            cursor.executemany(b"INSERT INTO payloads VALUES (%s, %s)", payloads)

    def read(self) -> int:
        with self._open() as connection:
            found = connection.execute(_SELECT.encode()).fetchall()
            if len(found) >= PAYLOADS:
                wanted = [row[0] for row in found[:PAYLOADS]]
                connection.execute(_PAYLOADS.replace("?", "%s").encode(), wanted).fetchall()
            return len(found)

    def ids(self) -> dict[str, list[str]]:
        with self._open() as connection:
            return {name: [run for (run,) in connection.execute(f"SELECT id FROM {name}".encode())] for name in TABLES}

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any]:
        import psycopg

        with psycopg.connect(self._url, autocommit=True, options=self._options) as connection:
            yield connection


class OpenSearchDriver:
    """Runs and KPIs are documents as matbench makes them; all of them go into the first index, whatever their month."""

    def __init__(self, location: history.OpenSearchLocation) -> None:
        self._location = location

    def settle(self) -> None:
        """Nothing to do."""

    def insert(self, rows: Sequence[Row]) -> None:
        from opensearchpy import helpers

        from matrix_benchmarking.history.opensearch import _document, _of_kpis

        with self._open() as client:
            shown = (each.lines for row in rows for each in _of_kpis(self._location.kpi_index, row, False))
            client.bulk(body=b"".join(shown), params={"filter_path": "errors"})
            index = self._location.index
            helpers.bulk(client, ({"_index": index, "_id": row.id, "_source": _document(row)} for row in rows))
            client.indices.refresh(index=index)

    def read(self) -> int:
        with self._open() as client:
            body = {
                "size": NEWEST,
                "query": {"bool": {"filter": [{"term": {"matbench.workload": LOAD}}]}},
                "sort": [{"matbench.time_us": {"order": "desc", "missing": "_last"}}, {"matbench.id": "asc"}],
                "_source": ["matbench"],
                "track_total_hits": False,
            }
            found = client.search(index=self._location.index, body=body)["hits"]["hits"]
            if len(found) >= PAYLOADS:
                wanted = [hit["_id"] for hit in found[:PAYLOADS]]
                client.mget(index=self._location.index, body={"ids": wanted})
            return len(found)

    def ids(self) -> dict[str, list[str]]:
        from opensearchpy import helpers

        behind = "-all" if self._location.is_monthly else ""
        names = {"runs": self._location.index + behind, "kpis": self._location.kpi_index + behind}
        found: dict[str, list[str]] = {}
        with self._open() as client:
            for what, name in names.items():
                client.indices.refresh(index=name)
                hits = helpers.scan(client, index=name, size=10_000, query={"_source": False})
                found[what] = [hit["_id"] for hit in hits]
        return found

    def _open(self) -> Any:
        from opensearchpy import OpenSearch

        return OpenSearch([self._location.url], timeout=120)


def driver_of(location: history.Location) -> Driver:
    """The driver of the engine at *location*, in which matbench has made its tables or indices."""
    if isinstance(location, history.SQLiteLocation):
        return SQLiteDriver(location.path)
    if isinstance(location, history.OpenSearchLocation):
        return OpenSearchDriver(location)
    from matrix_benchmarking.history.postgresql import PostgreSQLLocation

    assert isinstance(location, PostgreSQLLocation)
    return PostgreSQLDriver(location.url, location.schema)
