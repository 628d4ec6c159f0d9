"""A history in one SQLite file: no server, any number of processes at once.

Payloads whole, and a table of KPI values in the order in which series are read. Every push is a transaction of some
hundred runs; after a crash at any moment each run is there with all its KPIs, or not at all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from ..errors import os_reason
from . import alarms, plan
from . import sqlite_rows as rows
from .alarms import AlarmEvent
from .errors import HistoryError
from .plan import Plan, Upload
from .port import (
    EVERYTHING,
    Progress,
    Pushed,
    Query,
    Run,
    Series,
    SeriesValues,
    Summary,
    WorkloadSummary,
)
from .records import KPIRecord, Record, next_moment, record
from .sqlite_lookup import SQLiteLookup
from .sqlite_schema import UNKNOWN_TIME, WITH_ALARMS, migrate, transaction, version

CHUNK = 500
BUSY_TIMEOUT_S = 120.0
_decode = msgspec.json.Decoder().decode


@dataclasses.dataclass(slots=True)
class _Described:
    """A series within one transaction: its number, what its newest value says of it, and if that is to be written."""

    number: int
    description: tuple[Any, ...]
    is_newer: bool = False


class SQLiteHistory:
    """The history in the file *path*.

    Args:
        path: the file. It is made where *writable* and missing, with its directory.
        writable: False opens what is there and changes nothing.

    Raises:
        HistoryError: it is missing, can't be opened, belongs to another program or to a newer matbench.
    """

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        self.location = f"sqlite:///{path}"
        self.path = path
        if not writable and not path.is_file():
            raise HistoryError(f"there is no history '{path}' yet: 'matbench upload_lts' makes it")
        if writable:
            _make_directory(path.parent)
        with self._sentences():
            self._connection = _connect(path, writable=writable)
        self._lookup = SQLiteLookup(self._connection, self.location)
        try:
            with self._sentences():
                self._prepare(writable=writable)
        except BaseException:
            self._connection.close()
            raise

    def push(
        self,
        records: Iterable[Record],
        *,
        replace: bool = False,
        are_copies: bool = False,
        progress: Progress | None = None,
    ) -> Pushed:
        pushed, done, upload = Pushed(), 0, Upload(replace, are_copies)
        for chunk in rows.batched(records, CHUNK):
            with self._transaction():
                outcome = self._carry_out(plan.plan(chunk, upload, self._lookup), upload)
            pushed.add(outcome)
            done += len(chunk)
            if progress is not None:
                progress(done)
        if upload.waiting:
            with self._transaction():
                pushed.add(self._carry_out(plan.plan_waiting(upload, self._lookup), upload))
        return pushed

    def foresee(self, records: Iterable[Record], *, replace: bool = False) -> Pushed:
        with self._sentences():
            return plan.foresee(records, self._lookup, replace=replace)

    def known(self, ids: Sequence[str]) -> Mapping[str, str]:
        with self._sentences():
            return self._lookup.digests(ids)

    def runs(self, query: Query = EVERYTHING) -> Iterator[Run]:
        for _, *columns, _, _ in self._select("id, workload, time_us, digest", query):
            yield Run(*columns)

    def records(self, query: Query = EVERYTHING) -> Iterator[Record]:
        with self._sentences():
            columns = "id, workload, time_us, digest, payload"
            for _, found, workload, time_us, digest, payload, *recorded in self._select(columns, query):
                yield Record(found, workload, time_us, digest, _decode(payload), rows.recorded(*recorded))

    def payloads(self, query: Query = EVERYTHING) -> Iterator[Mapping[str, Any]]:
        return (each.payload for each in self.records(query))

    def last_recorded(self) -> int | None:
        with self._sentences():
            return self._lookup.last_recorded()

    def series(self, workload: str | None = None, kpi: str | None = None) -> list[Series]:
        with self._sentences():
            found = self._connection.execute(
                rows.SERIES, {"workload": workload, "kpi": kpi, "unknown": UNKNOWN_TIME}
            ).fetchall()
        return [rows.series(row) for row in found]

    def values(self, series: Series) -> SeriesValues:
        with self._sentences():
            found = self._connection.execute(rows.VALUES, (series.key,)).fetchall()
        times, values, ids = zip(*found, strict=True) if found else ((), (), ())
        if times and times[0] == UNKNOWN_TIME:
            times = tuple(None if each == UNKNOWN_TIME else each for each in times)
        return SeriesValues(times, values, ids)

    def delete(self, ids: Sequence[str]) -> int:
        deleted = 0
        for chunk in rows.batched(ids, CHUNK):
            with self._transaction():
                existing = self._lookup.kept(chunk)
                for each in existing.values():
                    self._remove(each.handle)
                self._connection.execute(rows.DROP_EMPTY_SERIES)
            deleted += len(existing)
        with self._sentences():
            self._connection.executescript("PRAGMA incremental_vacuum")  # execute() would free one page
        return deleted

    def summary(self) -> Summary:
        with self._sentences():
            found = self._connection.execute(rows.SUMMARY).fetchall()
            size = sum(
                each.stat().st_size
                for each in (self.path, self.path.with_name(f"{self.path.name}-wal"))
                if each.exists()
            )
        return Summary([WorkloadSummary(*row) for row in found], size)

    def alarm_events(self, workload: str | None = None) -> list[AlarmEvent]:
        with self._sentences():
            if version(self._connection, self.location) < WITH_ALARMS:
                return []  # written by an older matbench, and open for reading
            found = self._connection.execute(rows.ALARM_EVENTS, {"workload": workload}).fetchall()
        return [self._event(*row) for row in found]

    def record_alarms(self, events: Iterable[AlarmEvent]) -> int:
        wanted = [rows.alarm_row(event) for event in events]
        with self._transaction():
            return sum(self._connection.execute(rows.INSERT_ALARM_EVENT, row).rowcount for row in wanted)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _prepare(self, *, writable: bool) -> None:
        connection = self._connection
        if not writable:
            if version(connection, self.location) == 0:
                raise HistoryError(f"there is no history in '{self.path}' yet: 'matbench upload_lts' makes it")
            return
        if version(connection, self.location) == 0:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _until_free(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchall())
        connection.execute("PRAGMA synchronous = FULL")
        migrate(connection, self.location)

    def _event(self, event_id: str, text: Any) -> AlarmEvent:
        try:
            return alarms.decode(text)
        except (HistoryError, TypeError) as error:
            where = f"history '{self.path}': the event {event_id} of an alarm in it is damaged"
            raise HistoryError(f"{where}, or of a newer matbench: {error}") from error

    def _carry_out(self, made: Plan[int], upload: Upload) -> Pushed:
        """Do what was planned, within a transaction."""
        described: dict[str, _Described] = {}
        for write in made.writes:
            of = write.record
            if write.over is not None:
                self._remove(write.over.handle)
            elif of.recorded is None:
                # The first transaction that keeps something of an upload makes its moment known to all others.
                if upload.moment_us is None:
                    upload.moment_us = next_moment(self._lookup.last_recorded())
                of = dataclasses.replace(of, recorded=(1, upload.moment_us))
            self._insert(of, write.kpis, described)
        newer = [(*each.description, each.number) for each in described.values() if each.is_newer]
        self._connection.executemany(rows.DESCRIBE_SERIES, newer)
        if any(write.over is not None for write in made.writes):
            self._connection.execute(rows.DROP_EMPTY_SERIES)
        return made.foreseen()

    def _insert(self, record: Record, kpis: Sequence[KPIRecord], described: dict[str, _Described]) -> None:
        execute = self._connection.execute
        number = execute(rows.INSERT_PAYLOAD, rows.payload_row(record)).lastrowid
        assert number is not None
        values = []
        for kpi in kpis:
            series = self._series_number(record, kpi, described)
            values.append((series, rows.stored_time(kpi.time_us), number, rows.stored_value(kpi.value)))
        self._connection.executemany("INSERT INTO kpis VALUES (?, ?, ?, ?)", values)

    def _series_number(self, of: Record, kpi: KPIRecord, described: dict[str, _Described]) -> int:
        """The number of the KPI's series, made where it is new; *described* knows those of this transaction."""
        known, description = described.get(kpi.series), rows.description(of, kpi)
        if known is None:
            found = self._connection.execute(rows.FIND_SERIES, (kpi.series,)).fetchone()
            if found is None:
                number = self._connection.execute(rows.INSERT_SERIES, rows.series_row(of, kpi)).lastrowid
                assert number is not None
                known = _Described(number, description)
            else:
                known = _Described(found[0], found[1:])
            described[kpi.series] = known
        if description[:2] > tuple(known.description[:2]):
            known.description, known.is_newer = description, True
        return known.number

    def _remove(self, number: int) -> None:
        """Remove one payload and its KPIs, which are found by what it says of them: they have no index of their own."""
        execute = self._connection.execute
        test_id, payload = execute("SELECT id, payload FROM payloads WHERE number = ?", (number,)).fetchone()
        try:
            keys = [(kpi.series, rows.stored_time(kpi.time_us)) for kpi in record(_decode(payload)).kpis()]
            for key, time_us in keys:
                execute(rows.DELETE_VALUE, (key, time_us, number))
        except (HistoryError, msgspec.DecodeError):
            execute("DELETE FROM kpis WHERE payload = ?", (number,))  # slow, for a payload that was damaged
        execute("DELETE FROM payloads WHERE number = ?", (number,))
        described = execute("SELECT number, kpi FROM series WHERE described_by = ?", (test_id,)).fetchall()
        for series, name in described:
            self._describe_anew(series, name)

    def _describe_anew(self, series: int, name: str) -> None:
        """Let the newest value that is left describe the series."""
        found = self._connection.execute(rows.NEWEST_OF_SERIES, (series,)).fetchone()
        if found is None:
            return
        newest = record(_decode(found[0]))
        for kpi in newest.kpis():
            if kpi.name == name:
                self._connection.execute(rows.DESCRIBE_SERIES, (*rows.description(newest, kpi), series))

    def _select(self, columns: str, query: Query) -> Iterator[tuple[Any, ...]]:
        """Number, *columns*, moment and place of the runs that *query* selects, in order, as they are at this moment.

        A connection of its own holds that moment, whatever others write meanwhile.
        """
        with self._sentences(), contextlib.closing(_connect(self.path, writable=False)) as reader:
            reader.execute("BEGIN")
            found = reader.execute(rows.SELECTED, {"workload": query.workload, "since_us": query.since_us})
            numbers = [
                number
                for number, settings, repeat in found
                if query.selects(_decode(settings) if query.filters else {}, repeat)
            ][: query.limit]
            columns = f"number, {columns}, {SQLiteLookup(reader, self.location).recorded_columns()}"
            for some in rows.batched(numbers, CHUNK):
                marks = ", ".join("?" * len(some))
                text = f"SELECT {columns} FROM payloads WHERE number IN ({marks})"  # noqa: S608 - our own names
                by_number = {row[0]: row for row in reader.execute(text, some)}
                yield from (by_number[number] for number in some)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._sentences(), transaction(self._connection):
            yield

    @contextlib.contextmanager
    def _sentences(self) -> Iterator[None]:
        """SQLite's errors as sentences."""
        try:
            yield
        except sqlite3.Error as error:
            raise HistoryError(f"history '{self.path}': {rows.reason(error)}") from error
        except msgspec.DecodeError as error:
            raise HistoryError(f"history '{self.path}': a payload in it is damaged: {error}") from error


def _until_free(call: Callable[[], object]) -> None:
    """Make *call* again while another process has the file: a change of the journal's mode doesn't wait by itself."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            call()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(0.02)


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HistoryError(f"cannot make the directory '{directory}' for the history: {os_reason(error)}") from error


def _connect(path: Path, *, writable: bool) -> sqlite3.Connection:
    """A connection without transactions of Python's own.

    A read-only file whose directory can't be written either is opened as one that nobody changes: SQLite couldn't make
    the files that it needs beside it.
    """
    address = path.absolute().as_uri()
    if writable:
        return sqlite3.connect(address, timeout=BUSY_TIMEOUT_S, isolation_level=None, uri=True)
    connection = sqlite3.connect(f"{address}?mode=ro", timeout=BUSY_TIMEOUT_S, isolation_level=None, uri=True)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error as error:
        connection.close()
        if not isinstance(error, sqlite3.OperationalError) or os.access(path.parent, os.W_OK):
            raise
        return sqlite3.connect(f"{address}?immutable=1", timeout=BUSY_TIMEOUT_S, isolation_level=None, uri=True)
    return connection
