"""Rows of a SQLite history: the statements, what goes into them and what comes out, and errors in words."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from . import alarms
from .alarms import AlarmEvent
from .port import Series
from .records import KPIRecord, Record, Recorded
from .sqlite_schema import UNKNOWN_TIME

T = TypeVar("T")

INSERT_PAYLOAD = """
    INSERT INTO payloads
        (id, workload, time_us, digest, settings, repeat, payload, measurement, recorded_us, recorded_place)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
FIND_SERIES = """
    SELECT number, described_us, described_by, help, lower_better, ignored_for_regression FROM series WHERE key = ?
"""
INSERT_SERIES = """
    INSERT INTO series
        (key, workload, kpi, unit, labels, described_us, described_by, help, lower_better, ignored_for_regression)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
DESCRIBE_SERIES = """
    UPDATE series SET described_us = ?, described_by = ?, help = ?, lower_better = ?, ignored_for_regression = ?
    WHERE number = ?
"""
NEWEST_OF_SERIES = """
    SELECT payloads.payload FROM kpis JOIN payloads ON payloads.number = kpis.payload
    WHERE kpis.series = ? ORDER BY kpis.time_us DESC, payloads.id DESC LIMIT 1
"""
DELETE_VALUE = """
    DELETE FROM kpis WHERE series = (SELECT number FROM series WHERE key = ?) AND time_us = ? AND payload = ?
"""
DROP_EMPTY_SERIES = "DELETE FROM series WHERE NOT EXISTS (SELECT 1 FROM kpis WHERE kpis.series = series.number)"
SELECTED = """
    SELECT number, settings, repeat FROM payloads
    WHERE (:workload IS NULL OR workload = :workload) AND (:since_us IS NULL OR time_us >= :since_us)
    ORDER BY time_us DESC NULLS LAST, id
"""
SERIES = """
    SELECT key, workload, kpi, unit, help, lower_better, ignored_for_regression, labels,
        (SELECT count(*) FROM kpis WHERE series = number),
        (SELECT min(time_us) FROM kpis WHERE series = number AND time_us > :unknown),
        (SELECT max(time_us) FROM kpis WHERE series = number AND time_us > :unknown)
    FROM series WHERE (:workload IS NULL OR workload = :workload) AND (:kpi IS NULL OR kpi = :kpi)
    ORDER BY workload, kpi, key
"""
VALUES = """
    SELECT kpis.time_us, kpis.value, payloads.id FROM kpis JOIN payloads ON payloads.number = kpis.payload
    WHERE kpis.series = (SELECT number FROM series WHERE key = ?)
    ORDER BY kpis.time_us, payloads.id
"""
SUMMARY = """
    SELECT workload, count(*),
        (SELECT count(*) FROM series WHERE series.workload = payloads.workload),
        (SELECT count(*) FROM kpis JOIN series ON series.number = kpis.series
            WHERE series.workload = payloads.workload),
        min(time_us), max(time_us)
    FROM payloads GROUP BY workload ORDER BY workload
"""
INSERT_ALARM_EVENT = """
    INSERT OR IGNORE INTO alarm_events (id, workload, at_us, alarm, action, author, event) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
ALARM_EVENTS = """
    SELECT id, event FROM alarm_events WHERE :workload IS NULL OR workload = :workload ORDER BY at_us, id
"""

_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; what was committed before is kept",
    sqlite3.SQLITE_READONLY: "the file or its directory is read-only",
    sqlite3.SQLITE_PERM: "permission denied",
    sqlite3.SQLITE_NOTADB: "the file is no SQLite database",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from an export ('matbench history import')",
    sqlite3.SQLITE_BUSY: "another process has kept it locked for two minutes; try again when that has ended",
}


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """*items* in lists of at most *size*."""
    iterator = iter(items)
    while chunk := list(itertools.islice(iterator, size)):
        yield chunk


def payload_row(of: Record) -> tuple[Any, ...]:
    """The parameters of :data:`INSERT_PAYLOAD`; *of* says when it was first seen."""
    assert of.recorded is not None
    settings = msgspec.json.encode(of.settings).decode()
    payload = msgspec.json.encode(of.payload).decode()
    is_moment, value = of.recorded
    moments = (value, None) if is_moment else (None, value)
    return of.id, of.workload, of.time_us, of.digest, settings, of.repeat, payload, of.measurement, *moments


def recorded(moment_us: int | None, place: int) -> Recorded:
    """When a run was first seen, from its columns; what is no moment, as somebody edited it, is not known."""
    return (1, moment_us) if isinstance(moment_us, int) else (0, place)


def series_row(of: Record, kpi: KPIRecord) -> tuple[Any, ...]:
    """The parameters of :data:`INSERT_SERIES`."""
    labels = msgspec.json.encode(kpi.labels).decode()
    return kpi.series, of.workload, kpi.name, kpi.unit, labels, *description(of, kpi)


def description(of: Record, kpi: KPIRecord) -> tuple[int, str, str, bool | None, bool]:
    """When, by which run and how *kpi* describes its series. The newest does; of several, that of the largest id."""
    return stored_time(kpi.time_us), of.id, kpi.help, kpi.lower_better, kpi.ignored_for_regression


def series(row: tuple[Any, ...]) -> Series:
    """A series from a row of :data:`SERIES`."""
    key, workload, kpi, unit, help_text, lower_better, ignored, labels, count, first_us, last_us = row
    return Series(
        key,
        workload,
        kpi,
        unit,
        help_text,
        None if lower_better is None else bool(lower_better),
        bool(ignored),
        msgspec.json.decode(labels),
        count,
        first_us,
        last_us,
    )


def alarm_row(event: AlarmEvent) -> tuple[Any, ...]:
    """The parameters of :data:`INSERT_ALARM_EVENT`."""
    text = alarms.encode(event)
    return event.id, event.subject.workload, event.at_us, event.alarm, event.action.value, event.author, text


def stored_time(time_us: int | None) -> int:
    return UNKNOWN_TIME if time_us is None else time_us


def stored_value(value: float) -> float:
    """*value* as SQLite can hold it: an integer beyond 64 bits becomes the nearest float."""
    return value if isinstance(value, float) or -(2**63) <= value < 2**63 else float(value)


def reason(error: sqlite3.Error) -> str:
    """What SQLite's *error* means."""
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_IOERR_SHMSIZE:  # the file beside the database could not grow
        code = sqlite3.SQLITE_FULL
    if code is not None and code & 0xFF in _REASONS:
        return _REASONS[code & 0xFF]
    return str(error)
