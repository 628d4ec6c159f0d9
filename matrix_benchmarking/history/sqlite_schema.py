"""The schema of a SQLite history, its version, and the way from older versions to it.

A database carries the application's id and the schema's version in its header, so another program's file and a newer
matbench's are recognised before anything is read or changed.
"""

from __future__ import annotations

import contextlib
import functools
import sqlite3
from collections.abc import Iterator, Sequence

from . import sql
from .errors import HistoryError
from .rows import shape_and_head

APPLICATION_ID = 0x6D617462  # "matb"

_FIRST = (
    """
    CREATE TABLE payloads (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        workload TEXT NOT NULL,
        time_us INTEGER,
        digest TEXT NOT NULL,
        settings TEXT NOT NULL,
        repeat INTEGER NOT NULL,
        payload TEXT NOT NULL
    )
    """,
    "CREATE INDEX payloads_by_time ON payloads (workload, time_us, id)",
    """
    CREATE TABLE series (
        number INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        workload TEXT NOT NULL,
        kpi TEXT NOT NULL,
        unit TEXT NOT NULL,
        labels TEXT NOT NULL,
        help TEXT NOT NULL,
        lower_better INTEGER NOT NULL,
        ignored_for_regression INTEGER NOT NULL,
        described_us INTEGER NOT NULL,
        described_by TEXT NOT NULL
    )
    """,
    "CREATE INDEX series_by_name ON series (workload, kpi)",
    """
    CREATE TABLE kpis (
        series INTEGER NOT NULL,
        time_us INTEGER NOT NULL,
        payload INTEGER NOT NULL,
        value NOT NULL,
        PRIMARY KEY (series, time_us, payload)
    ) WITHOUT ROWID
    """,
)

_ALARMS = (
    """
    CREATE TABLE alarm_events (
        id TEXT NOT NULL PRIMARY KEY,
        workload TEXT NOT NULL,
        at_us INTEGER NOT NULL,
        alarm TEXT NOT NULL,
        action TEXT NOT NULL,
        author TEXT NOT NULL,
        event TEXT NOT NULL
    )
    """,
    "CREATE INDEX alarm_events_by_time ON alarm_events (at_us, id)",
)

_RECORDED = (
    "ALTER TABLE payloads ADD COLUMN measurement TEXT",
    "ALTER TABLE payloads ADD COLUMN recorded_us INTEGER",
    "ALTER TABLE payloads ADD COLUMN recorded_place INTEGER",
    "UPDATE payloads SET recorded_place = number",
    "CREATE INDEX payloads_by_recorded ON payloads (recorded_us)",
    "CREATE INDEX payloads_by_measurement ON payloads (measurement)",
)

# SQLite can't take NOT NULL from a column: of a KPI that neither direction makes better, lower_better is NULL.
_WITHOUT_DIRECTION = (
    "ALTER TABLE series RENAME TO series_before",
    "DROP INDEX series_by_name",
    """
    CREATE TABLE series (
        number INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        workload TEXT NOT NULL,
        kpi TEXT NOT NULL,
        unit TEXT NOT NULL,
        labels TEXT NOT NULL,
        help TEXT NOT NULL,
        lower_better INTEGER,
        ignored_for_regression INTEGER NOT NULL,
        described_us INTEGER NOT NULL,
        described_by TEXT NOT NULL
    )
    """,
    "INSERT INTO series SELECT * FROM series_before",
    "DROP TABLE series_before",
    "CREATE INDEX series_by_name ON series (workload, kpi)",
)

# What is said of a run without its payload lies by itself, so that reading it for all runs reads nothing else.
_ONE_MODEL = (
    "ALTER TABLE payloads RENAME TO payloads_before",
    "ALTER TABLE alarm_events RENAME TO alarm_events_before",
    "DROP INDEX payloads_by_recorded",
    "DROP INDEX payloads_by_measurement",
    *(statement.format(id="TEXT", descending="DESC") for statement in sql.TABLES),
    """
    INSERT INTO runs SELECT
        id, workload, time_us, digest, measurement, recorded_us, recorded_place, shape_of(payload), head_of(payload)
    FROM payloads_before
    """,
    "INSERT INTO payloads SELECT id, payload FROM payloads_before",
    "INSERT INTO alarm_events SELECT id, workload, at_us, event FROM alarm_events_before",
    *(f"DROP TABLE {name}" for name in ("payloads_before", "alarm_events_before", "kpis", "series")),
)

WITH_ALARMS, WITH_RECORDED, ONE_MODEL = 2, 3, 5
"""The first versions that keep what happened to alarms, when a run was first seen, and what is at hand of it."""

MIGRATIONS: Sequence[Sequence[str]] = (_FIRST, _ALARMS, _RECORDED, _WITHOUT_DIRECTION, _ONE_MODEL)
"""The statements that lead from each version to the next, from an empty database on."""


def version(connection: sqlite3.Connection, location: str, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> int:
    """The schema version of the database, 0 for an empty one.

    Raises:
        HistoryError: it belongs to another program, or to a newer matbench.
    """
    found, application, tables = _header(connection)
    if application != APPLICATION_ID and (tables or found or application):
        raise HistoryError(f"{location} is a database of another program: name another file for the history")
    if found > len(migrations):
        raise HistoryError(
            f"{location} was written by a newer matbench (schema {found}; this one knows {len(migrations)}): "
            "update matbench, or use another history"
        )
    return int(found)


def _header(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Schema version, application and number of tables, all of one moment: others may be making the database."""
    is_mine = not connection.in_transaction
    if is_mine:
        connection.execute("BEGIN")
    try:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        (application,) = connection.execute("PRAGMA application_id").fetchone()
    finally:
        if is_mine:
            _roll_back(connection)
    return found, application, tables


def migrate(connection: sqlite3.Connection, location: str, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Bring the database to the newest version, in one transaction: it has the old one or the new one.

    Raises:
        HistoryError: as :func:`version`.
    """
    if version(connection, location, migrations) == len(migrations):
        return
    with transaction(connection):
        found = version(connection, location, migrations)  # another process may have been faster
        _add_functions(connection)
        for statements in migrations[found:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(migrations)}")


def show_as_today(connection: sqlite3.Connection, location: str) -> None:
    """Let the tables of an older matbench, open for reading, look like today's: what is at hand of a run is then made
    of its payload.

    Raises:
        HistoryError: as :func:`version`.
    """
    found = version(connection, location)
    if not 0 < found < ONE_MODEL:
        return
    _add_functions(connection)
    seen = "measurement, recorded_us, recorded_place"
    if found < WITH_RECORDED:
        seen = "NULL AS measurement, NULL AS recorded_us, number AS recorded_place"
    columns = f"id, workload, time_us, digest, {seen}, shape_of(payload) AS shape, head_of(payload) AS head"
    connection.execute(f"CREATE TEMP VIEW runs AS SELECT {columns} FROM payloads")  # noqa: S608 - our own names
    if found < WITH_ALARMS:
        none = "SELECT '' AS id, '' AS workload, 0 AS at_us, '' AS event WHERE FALSE"
        connection.execute(f"CREATE TEMP VIEW alarm_events AS {none}")


def _add_functions(connection: sqlite3.Connection) -> None:
    for place, name in enumerate(("shape_of", "head_of")):
        connection.create_function(name, 1, functools.partial(_column, place), deterministic=True)


def _column(place: int, payload: str | bytes) -> str | None:
    return shape_and_head(payload)[place]


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All that is written within, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise


def _roll_back(connection: sqlite3.Connection) -> None:
    """End the transaction; SQLite has done that itself where, say, the disk is full."""
    with contextlib.suppress(sqlite3.Error):
        connection.execute("ROLLBACK")
