"""What SQL databases that hold a history have in common: two tables of runs, one of events, and their statements."""

from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from ..errors import HistoryError
from .port import Event, Storage, batched
from .records import Row, newest_first

CHUNK = 500
COLUMNS = ", ".join(f"runs.{name}" for name in Row._fields[:9])
TABLES = (
    """
    CREATE TABLE runs (
        id {id} NOT NULL PRIMARY KEY,
        workload TEXT NOT NULL,
        time_us BIGINT,
        digest TEXT NOT NULL,
        measurement TEXT,
        recorded_us BIGINT,
        recorded_place BIGINT,
        shape TEXT,
        head TEXT
    )
    """,
    "CREATE INDEX runs_by_time ON runs (time_us {descending}, id)",
    "CREATE INDEX runs_by_recorded ON runs (recorded_us)",
    "CREATE INDEX runs_by_measurement ON runs (measurement)",
    "CREATE TABLE payloads (id {id} NOT NULL PRIMARY KEY, payload TEXT NOT NULL)",
    """
    CREATE TABLE alarm_events (
        id {id} NOT NULL PRIMARY KEY,
        workload TEXT NOT NULL,
        at_us BIGINT NOT NULL,
        event TEXT NOT NULL
    )
    """,
)
"""What makes the tables. ``{id}`` is the type of ids, which are compared by their bytes; ``{descending}`` has what is
unknown last."""

_row = functools.partial(tuple.__new__, Row)  # a third of what Row(*values) takes
_INSERT_RUN = """
    INSERT INTO runs (id, workload, time_us, digest, measurement, recorded_us, recorded_place, shape, head)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET
        workload = excluded.workload, time_us = excluded.time_us, digest = excluded.digest,
        measurement = excluded.measurement, shape = excluded.shape, head = excluded.head
"""
_INSERT_PAYLOAD = (
    "INSERT INTO payloads (id, payload) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET payload = excluded.payload"
)
_INSERT_EVENT = "INSERT INTO alarm_events (id, workload, at_us, event) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"


Value = str | int | bytes | None


class Cursor(Protocol):
    """What drivers' cursors have in common."""

    @property
    def rowcount(self) -> int: ...

    def __iter__(self) -> Iterator[tuple[Any, ...]]: ...


class SQLReader(Storage):
    """The tables by a connection as sqlite3's is; in a statement ``?`` stands for each parameter."""

    at_once = CHUNK
    _connection: Any

    def execute(self, text: str, parameters: Sequence[Value] = ()) -> Cursor:
        cursor: Cursor = self._connection.execute(text, parameters)
        return cursor

    def execute_many(self, text: str, rows: Sequence[Sequence[Value]]) -> None:
        self._connection.executemany(text, rows)

    def stream(self, text: str, parameters: Sequence[Value]) -> Iterable[tuple[Any, ...]]:
        """As :meth:`execute`, for more rows than should be held at once."""
        return self.execute(text, parameters)

    def select(self, workload: str | None, since_us: int | None, most: int | None = None) -> Iterator[Row]:
        of, given = ("", list[Value]()) if workload is None else ("workload = ? AND ", [workload])
        limit = "" if most is None else f" LIMIT {most:d}"

        def part(where: str, by: str, *others: Value) -> Iterator[Row]:
            text = f"SELECT {COLUMNS}, NULL, NULL FROM runs WHERE {of}{where} ORDER BY {by} DESC NULLS LAST, id{limit}"  # noqa: S608 - our own names
            return map(_row, self.stream(text, [*given, *others]))

        if since_us is not None:
            return part("time_us >= ?", "time_us", since_us)
        # Those with a time are read by their index, which the order of all hasn't.
        timed = part("time_us IS NOT NULL", "time_us")
        untimed = part("time_us IS NULL", "coalesce(recorded_us, recorded_place)")  # a place is less than any moment
        return heapq.merge(timed, untimed, key=newest_first)

    def find(self, ids: Sequence[str], *, payload: bool) -> Iterator[Row]:
        more, join = (", payload", "JOIN payloads ON payloads.id = runs.id") if payload else ("", "")
        text = f"SELECT {COLUMNS}{more} FROM runs {join} WHERE runs.id IN "  # noqa: S608 - our own names
        return itertools.starmap(Row, self.execute(text + _marks(ids), ids))

    def measured(self, measurements: Sequence[str]) -> Iterator[tuple[str, str]]:
        for some in batched(measurements, CHUNK):
            yield from self.execute(f"SELECT measurement, id FROM runs WHERE measurement IN {_marks(some)}", some)  # noqa: S608

    def last_recorded(self) -> int | None:
        ((last,),) = self.execute("SELECT max(recorded_us) FROM runs")
        return None if last is None else int(last)

    def write(self, rows: Sequence[Row]) -> Mapping[str, str | None]:
        self.execute_many(_INSERT_RUN, [row[:9] for row in rows])
        self.execute_many(_INSERT_PAYLOAD, [(row.id, row.payload) for row in rows])
        return {}

    def remove(self, ids: Sequence[str]) -> int:
        self.execute(f"DELETE FROM payloads WHERE id IN {_marks(ids)}", ids)  # noqa: S608 - our own names
        return self.execute(f"DELETE FROM runs WHERE id IN {_marks(ids)}", ids).rowcount  # noqa: S608 - our own names

    def events(self, workload: str | None) -> Iterable[tuple[Any, ...]]:
        where, given = ("", []) if workload is None else ("WHERE workload = ?", [workload])
        return list(self.execute(f"SELECT id, event FROM alarm_events {where} ORDER BY at_us, id", given))  # noqa: S608

    def add_events(self, events: Sequence[Event]) -> int:
        return sum(self.execute(_INSERT_EVENT, event).rowcount for event in events)

    def close(self) -> None:
        self._connection.close()


def _marks(values: Sequence[str]) -> str:
    """``(?, ?, …)``, one for each value; nothing is in ``(NULL)``."""
    return f"({', '.join('?' * len(values)) or 'NULL'})"


def check_version(found: int, known: int, location: str) -> int:
    """The version *found* of the tables at *location*. Raises HistoryError: it is newer than the *known* one."""
    if found > known:
        raise HistoryError(
            f"{location} was written by a newer matbench (schema {found}; this one knows {known}): "
            "update matbench, or use another history"
        )
    return found
