"""A history in one SQLite file: no server, any number of processes at once.

Every push is a transaction of some thousand runs; after a crash at any moment each run is there, or not at all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ..errors import os_reason
from .errors import HistoryError
from .sql import SQLReader
from .sqlite_schema import migrate, show_as_today, transaction, version

SCHEME = "sqlite:///"
BUSY_TIMEOUT_S = 120.0

_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; what was committed before is kept",
    sqlite3.SQLITE_READONLY: "the file or its directory is read-only",
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

    def is_there(self) -> bool:
        return self.path.exists()

    def open(self, *, writable: bool) -> SQLiteStorage:
        return SQLiteStorage(self.path, writable=writable)


def locate(text: str, environment: Mapping[str, str], **others: Any) -> tuple[SQLiteLocation, list[str]]:
    """The file that *text* means. Raises HistoryError if it means none."""
    name = text.removeprefix(SCHEME)
    if not name or name.endswith("/") or "\0" in name:
        raise HistoryError(f"'{text}' names no file, as in {SCHEME}matbench.db")
    return SQLiteLocation(Path(name)), []


class SQLiteReader(SQLReader):
    """Reads over one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, text: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._connection.execute(text, parameters)


class SQLiteStorage(SQLiteReader):
    """The tables in the file *path*; see :class:`.port.Storage`.

    Args:
        path: the file. It is made where *writable* and missing, with its directory.
        writable: False opens what is there and changes nothing.

    Raises:
        HistoryError: it is missing, can't be opened, belongs to another program or to a newer matbench.
    """

    at_once = 8000  # ids are in no order: 500 rewrite an index of 100,000 nearly as whole as 8,000

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        self.location = str(SQLiteLocation(path))
        self.path = path
        self._is_writable = writable
        if not writable and not path.is_file():
            raise HistoryError(f"there is no history '{path}' yet: 'matbench upload_lts' makes it")
        if writable:
            _make_directory(path.parent)
        with self.sentences():
            super().__init__(_connect(path, writable=writable))
        try:
            with self.sentences():
                (self._prepare if writable else self._check)()
        except BaseException:
            self._connection.close()
            raise

    @contextlib.contextmanager
    def sentences(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise HistoryError(f"history '{self.path}': {_reason(error)}") from error

    @contextlib.contextmanager
    def reading(self) -> Iterator[SQLiteReader]:
        """A connection of its own holds one state, whatever others write meanwhile."""
        with contextlib.closing(_connect(self.path, writable=False)) as connection:
            show_as_today(connection, self.location)
            connection.execute("BEGIN")
            yield SQLiteReader(connection)

    def writing(self) -> contextlib.AbstractContextManager[None]:
        if not self._is_writable:
            raise HistoryError(f"history '{self.path}' was opened for reading: it is read-only")
        return transaction(self._connection)

    def settle(self) -> None:
        if self._is_writable:
            self._connection.executescript("PRAGMA incremental_vacuum")  # execute() would free one page

    def execute_many(self, text: str, rows: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(text, rows)

    def size_bytes(self) -> int:
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return sum(each.stat().st_size for each in files if each.exists())

    def close(self) -> None:
        self._connection.close()

    def _prepare(self) -> None:
        connection = self._connection
        if version(connection, self.location) == 0:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _until_free(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchall())
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -32000")  # KiB: an index of 100,000 ids fits
        migrate(connection, self.location)

    def _check(self) -> None:
        if version(self._connection, self.location) == 0:
            raise HistoryError(f"there is no history in '{self.path}' yet: 'matbench upload_lts' makes it")
        show_as_today(self._connection, self.location)


def _reason(error: sqlite3.Error) -> str:
    """What SQLite's *error* means."""
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_IOERR_SHMSIZE:  # the file beside the database could not grow
        code = sqlite3.SQLITE_FULL
    if code is not None and code & 0xFF in _REASONS:
        return _REASONS[code & 0xFF]
    return str(error)


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
