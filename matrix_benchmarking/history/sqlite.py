"""A history in one SQLite file: no server, any number of processes at once."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from ..errors import HistoryError, MissingHistoryError, failing
from .records import shape_and_head
from .sql import TABLES, SQLReader, check_version

SCHEME = "sqlite:///"
BUSY_TIMEOUT_S = 120.0

APPLICATION_ID = 0x6D617462  # "matb"
VERSION = 5
"""Of the tables. Both are in a database's header, so another program's file and a newer matbench's are known before
anything is read or changed. Before 5 a payload had a number; 2 keeps what happened to alarms, 3 when a run was first
seen."""

_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; what was committed before is kept",
    sqlite3.SQLITE_READONLY: "the file or its directory is read-only",
    sqlite3.SQLITE_CANTOPEN: "it can't be opened, or made: its directory may be read-only",
    sqlite3.SQLITE_PERM: "permission denied",
    sqlite3.SQLITE_NOTADB: "the file is no SQLite database",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from an export ('matbench history import')",
    sqlite3.SQLITE_BUSY: "another process has kept it locked for two minutes; try again when that has ended",
}


@dataclasses.dataclass(frozen=True, slots=True)
class SQLiteLocation:
    """A SQLite file; see :class:`.location.Location`."""

    is_server: ClassVar = False

    path: Path

    def __str__(self) -> str:
        return f"{SCHEME}{self.path}"

    def open(self, *, writable: bool) -> SQLiteStorage:
        return SQLiteStorage(self.path, writable=writable)


def locate(text: str, environment: Mapping[str, str], **others: object) -> tuple[SQLiteLocation, list[str]]:
    """The file that *text* means."""
    name = text.removeprefix(SCHEME)
    if not name or name.endswith("/") or "\0" in name:
        raise HistoryError(f"'{text}' names no file, as in {SCHEME}matbench.db")
    return SQLiteLocation(Path(name)), []


class SQLiteStorage(SQLReader):
    """The tables in the file *path*; see :class:`.port.Storage`, and :meth:`.location.Location.open`."""

    _connection: sqlite3.Connection
    at_once = 8000  # ids are in no order: 500 rewrite an index of 100,000 nearly as whole as 8,000

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        self.location = str(SQLiteLocation(path))
        self.path = path
        self._is_writable = writable
        if path.is_dir():
            raise HistoryError(f"the history '{path}' is a directory, and should be a file")
        if not writable and not path.is_file():
            raise MissingHistoryError(f"'{path}'")
        if writable:
            with failing(f"cannot make the directory '{path.parent}' for the history", HistoryError):
                path.parent.mkdir(parents=True, exist_ok=True)
        with self.sentences():
            self._connection = _connect(path, writable=writable)
        with self.opening():
            if writable:
                self._prepare()
            else:
                _show_as_today(self._connection, self.location)

    @contextlib.contextmanager
    def sentences(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise HistoryError(f"history '{self.path}': {_reason(error)}") from error

    @contextlib.contextmanager
    def reading(self) -> Iterator[SQLiteStorage]:
        """A connection of its own holds one state, whatever others write meanwhile."""
        with contextlib.closing(_connect(self.path, writable=False)) as connection:
            _show_as_today(connection, self.location)
            connection.execute("BEGIN")
            reader = copy.copy(self)
            reader._connection = connection
            yield reader

    def writing(self) -> contextlib.AbstractContextManager[None]:
        if not self._is_writable:
            raise HistoryError(f"history '{self.path}' was opened for reading: it is read-only")
        return _transaction(self._connection)

    def settle(self) -> None:
        if self._is_writable:
            ((free,),) = self._connection.execute("PRAGMA freelist_count")
            if free:  # else it would wait for those that write, for nothing
                self._connection.executescript("PRAGMA incremental_vacuum")  # execute() would free one page

    def size_bytes(self) -> int:
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(each.stat().st_size for each in files if each.exists())

    def _prepare(self) -> None:
        connection = self._connection
        if _version(connection, self.location) == 0:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _until_free(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchall())
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -32000")  # KiB: an index of 100,000 ids fits
        _migrate(connection, self.location)


def _reason(error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_IOERR_SHMSIZE:  # the file beside the database could not grow
        code = sqlite3.SQLITE_FULL
    return _REASONS.get(code & 0xFF, str(error))


def _until_free(call: Callable[[], object]) -> None:
    """Make *call* again while another process has the file, at a steady pace, so that all have the same chance.

    A change of the journal's mode doesn't wait by itself, and SQLite's own waiting asks ever more rarely: among many
    that write, who waits longest would be the last.
    """
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            call()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(random.uniform(0.005, 0.015))  # noqa: S311


def _connect(path: Path, *, writable: bool) -> sqlite3.Connection:
    """A connection without transactions of Python's own.

    A read-only file whose directory can't be written either is opened as one that nobody changes: SQLite couldn't make
    the files that it needs beside it.
    """
    connect = functools.partial(sqlite3.connect, timeout=BUSY_TIMEOUT_S, isolation_level=None, uri=True)
    address = path.absolute().as_uri()
    connection = connect(address if writable else f"{address}?mode=ro")
    try:
        if not writable:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.Error as error:
        connection.close()
        if not isinstance(error, sqlite3.OperationalError) or os.access(path.parent, os.W_OK):
            raise
        return connect(f"{address}?immutable=1")
    return connection


def _version(connection: sqlite3.Connection, location: str) -> int:
    """The version of the tables, 0 for an empty database."""
    ((tables, found, application),) = connection.execute(  # in one statement: others may be making the database
        "SELECT (SELECT count(*) FROM sqlite_schema), user_version, application_id "
        "FROM pragma_user_version, pragma_application_id"
    )
    if application != APPLICATION_ID and (tables or found or application):
        raise HistoryError(f"{location} is a database of another program: name another file for the history")
    return check_version(found, VERSION, location)


def _migrate(connection: sqlite3.Connection, location: str) -> None:
    """Bring the database to today's version, in one transaction: it has the old one or the new one."""
    if _version(connection, location) == VERSION:
        return
    with _transaction(connection):
        found = _version(connection, location)  # another process may have been faster
        if found == VERSION:
            return
        _add_functions(connection)
        if found:
            connection.execute("ALTER TABLE payloads RENAME TO payloads_before")
        if found >= 2:
            connection.execute("ALTER TABLE alarm_events RENAME TO alarm_events_before")
        for text in TABLES:
            connection.execute(text.format(id="TEXT", descending="DESC"))
        if found:
            connection.execute(f"INSERT INTO runs SELECT {_columns(found)} FROM payloads_before")  # noqa: S608 - our own names
            connection.execute("INSERT INTO payloads SELECT id, payload FROM payloads_before")
        if found >= 2:
            connection.execute("INSERT INTO alarm_events SELECT id, workload, at_us, event FROM alarm_events_before")
        for name in ("payloads_before", "alarm_events_before", "kpis", "series"):
            connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _show_as_today(connection: sqlite3.Connection, location: str) -> None:
    """Let the tables of an older matbench, open for reading, look like today's."""
    found = _version(connection, location)
    if found == 0:
        raise MissingHistoryError(f"in '{location}'")
    if found == VERSION:
        return
    _add_functions(connection)
    connection.execute(f"CREATE TEMP VIEW runs AS SELECT {_columns(found)} FROM payloads")  # noqa: S608 - our own names
    if found < 2:
        none = "SELECT '' AS id, '' AS workload, 0 AS at_us, '' AS event WHERE FALSE"
        connection.execute(f"CREATE TEMP VIEW alarm_events AS {none}")


def _columns(found: int) -> str:
    """Today's columns of the runs in the payloads of the version *found*; the last two are made of each payload."""
    seen = "measurement, recorded_us, recorded_place"
    if found < 3:
        seen = "NULL AS measurement, NULL AS recorded_us, number AS recorded_place"
    return f"id, workload, time_us, digest, {seen}, shape_of(payload) AS shape, head_of(payload) AS head"


def _add_functions(connection: sqlite3.Connection) -> None:
    connection.create_function("shape_of", 1, lambda payload: shape_and_head(payload)[0], deterministic=True)
    connection.create_function("head_of", 1, lambda payload: shape_and_head(payload)[1], deterministic=True)


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is written within, or nothing of it."""
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        _until_free(lambda: connection.execute("BEGIN IMMEDIATE"))
    finally:
        connection.execute(f"PRAGMA busy_timeout = {round(BUSY_TIMEOUT_S * 1000)}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # SQLite has done that itself where, say, the disk is full
            connection.execute("ROLLBACK")
        raise
