"""A history in a database of its own: what `docs/history.md` calls an engine, whole, on SQLite in memory."""

from __future__ import annotations

import contextlib
import sqlite3

from matrix_benchmarking.history import HistoryError, open_history, record
from matrix_benchmarking.history.sql import TABLES, SQLReader


class DuckStorage(SQLReader):
    location = "duck://memory"

    def __init__(self):
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        for text in TABLES:
            self._connection.execute(text.format(id="TEXT", descending="DESC"))

    @contextlib.contextmanager
    def sentences(self):
        try:
            yield
        except sqlite3.Error as error:
            raise HistoryError(f"{self.location}: {error}") from error

    def writing(self):
        return self._connection

    def size_bytes(self):
        return 0


class DuckLocation:
    is_server = False

    def __str__(self):
        return "duck://memory"

    def open(self, *, writable):
        return DuckStorage()


def locate(text, environment, **others):
    return DuckLocation(), []


if __name__ == "__main__":
    run = "8a1f4f06-52f9-4b0e-9a3c-6f3d0c3c7e11"
    payload = {"metadata": {"workload": "w", "test_uuid": run, "settings": {"vus": 8}}, "kpis": {}}
    with open_history(DuckLocation(), writable=True) as kept:
        print(kept.push([record(payload)]).added, [each.settings for each in kept.runs()])
