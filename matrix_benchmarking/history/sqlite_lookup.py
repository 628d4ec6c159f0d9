"""What is in a SQLite history of the runs of an upload, in the schema that the file has."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from . import sqlite_rows as rows
from .plan import Kept
from .records import Record
from .sqlite_schema import WITH_RECORDED, version

IDS_PER_QUERY = 500
_DAMAGED: Mapping[str, Any] = {"metadata": {}, "kpis": {}}


class SQLiteLookup:
    """What :class:`.plan.Lookup` asks for, with the number of a run's row as its handle; :mod:`sqlite3`'s errors."""

    def __init__(self, connection: sqlite3.Connection, location: str) -> None:
        self._connection = connection
        self._location = location

    def digests(self, ids: Sequence[str]) -> Mapping[str, str]:
        return dict(self._rows("id, digest", "id", ids))

    def kept(self, ids: Sequence[str]) -> Mapping[str, Kept[int]]:
        columns = f"number, id, workload, time_us, digest, payload, {self.recorded_columns()}"
        found = {}
        for number, run, workload, time_us, digest, payload, *recorded in self._rows(columns, "id", ids):
            record = Record(run, workload, time_us, digest, _decoded(payload), rows.recorded(*recorded))
            found[run] = Kept(record, number)
        return found

    def measured(self, measurements: Sequence[str]) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        if self._is_current():
            for measurement, run in self._rows("measurement, id", "measurement", measurements):
                found.setdefault(measurement, []).append(run)
        return found

    def recorded_columns(self) -> str:
        """The columns of moment and place; in a file of an older matbench, open for reading, what stands for them."""
        return "recorded_us, recorded_place" if self._is_current() else "NULL, number"

    def last_recorded(self) -> int | None:
        """See :meth:`.port.History.last_recorded`."""
        if not self._is_current():
            return None
        (last,) = self._connection.execute("SELECT max(recorded_us) FROM payloads").fetchone()
        return None if last is None else int(last)

    def _is_current(self) -> bool:
        return version(self._connection, self._location) >= WITH_RECORDED

    def _rows(self, columns: str, by: str, values: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for some in rows.batched(values, IDS_PER_QUERY):
            marks = ", ".join("?" * len(some))
            text = f"SELECT {columns} FROM payloads WHERE {by} IN ({marks})"  # noqa: S608 - our own names
            yield from self._connection.execute(text, some).fetchall()


def _decoded(payload: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = msgspec.json.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        return _DAMAGED
    return found
