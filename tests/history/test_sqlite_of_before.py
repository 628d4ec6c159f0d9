"""SQLite files of an older matbench, of a newer one, of other programs, and those that somebody edited by hand."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from history_support.before import HERE
from history_support.payloads import payload, test_id
from history_support.uploads import payloads

from matrix_benchmarking import history
from matrix_benchmarking.cli import main
from matrix_benchmarking.history import History, HistoryError, SQLiteLocation, record


def sqlite_history(path: Path, *, writable: bool = True) -> History:
    return history.open_history(SQLiteLocation(path), writable=writable)


def test_a_newer_database_is_refused_and_untouched(tmp_path):
    path = tmp_path / "h.db"
    with sqlite_history(path) as kept:
        kept.push([record(payload(1))])
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    for writable in (True, False):
        with pytest.raises(HistoryError, match=r"newer matbench \(schema 99; this one knows 5\): update matbench"):
            sqlite_history(path, writable=writable)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused_and_untouched(tmp_path):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE photos (name TEXT)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(HistoryError, match="another program"):
        sqlite_history(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("schema", [1, 2, 3, 4])
def test_files_of_each_schema_are_brought_on_and_say_the_same(tmp_path, schema):
    path = tmp_path / "h.db"
    made = [payload(number, {"speed": 1.5 * number, "load": None}, note="x" * number) for number in range(5)]
    _make_file_of(schema, path, made)
    before = path.read_bytes()
    with sqlite_history(path, writable=False) as kept:
        read = list(kept.runs()), list(kept.records())
        with pytest.raises(HistoryError, match="read-only"):
            kept.push([record(payload(9))])
    assert path.read_bytes() == before
    with sqlite_history(path) as kept:
        assert (list(kept.runs()), list(kept.records())) == read
        assert [run.recorded for run in kept.runs()] == [(0, number) for number in (5, 4, 3, 2, 1)]
        assert payloads(kept) == made[::-1]
        assert kept.push(map(record, made)).unchanged == 5
    new = tmp_path / "new.db"
    with sqlite_history(new) as kept:
        kept.push(map(record, made))
        assert [(run.head, run.kpis) for run in kept.runs()] == [(run.head, run.kpis) for run in read[0]]
    assert _tables(path) == _tables(new)


def test_a_payload_that_was_damaged_before_is_named_and_can_be_replaced(tmp_path):
    path = tmp_path / "h.db"
    _make_file_of(4, path, [payload(1), payload(2)])
    connection = sqlite3.connect(path)
    connection.execute("UPDATE payloads SET payload = 'garbage' WHERE id = ?", (test_id(1),))
    connection.commit()
    connection.close()
    with sqlite_history(path) as kept:
        with pytest.raises(HistoryError, match=f"damaged, that of run {test_id(1)}"):
            list(kept.runs())
        assert kept.push([record(payload(1, {"speed": 2.0}))], replace=True).replaced == 1
        assert len(payloads(kept)) == 2


@pytest.mark.parametrize("column", ["workload = x'7370'", "digest = x'00'", "head = x'ff'"])
def test_a_run_that_was_edited_by_hand_is_named(tmp_path, column, capsys):
    path = tmp_path / "h.db"
    with sqlite_history(path) as kept:
        kept.push([record(payload(1)), record(payload(2))])
    connection = sqlite3.connect(path)
    connection.execute(f"UPDATE runs SET {column} WHERE id = ?", (test_id(2),))
    connection.commit()
    connection.close()
    with sqlite_history(path, writable=False) as kept:
        for read in (kept.summary, lambda: list(kept.runs()), lambda: list(kept.records())):
            with pytest.raises(HistoryError, match=f"damaged, that of run {test_id(2)}: "):
                read()
    assert main(["history", f"--history=sqlite:///{path}"]) == 2
    assert f"damaged, that of run {test_id(2)}: " in capsys.readouterr().err


def _make_file_of(schema: int, path: Path, made: list[dict[str, Any]]) -> None:
    """A file of an old *schema* with the payloads *made*, in their order, without their KPIs one by one."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript((HERE / f"tables_{schema}.sql").read_text(encoding="utf-8"))
    for each in map(record, made):
        texts = json.dumps(each.settings), each.payload["metadata"].get("repeat") or 0, json.dumps(each.payload)
        columns = "id, workload, time_us, digest, settings, repeat, payload"
        row = (each.id, each.workload, each.time_us, each.digest, *texts)
        connection.execute(f"INSERT INTO payloads ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    if schema >= 3:
        connection.execute("UPDATE payloads SET recorded_place = number")
    connection.close()


def _tables(path: Path) -> set[str]:
    connection = sqlite3.connect(path)
    found = {text for (text,) in connection.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")}
    connection.close()
    return found


@pytest.mark.parametrize("schema", [1, 4])
def test_a_migration_that_fails_leaves_the_old_version(tmp_path, schema):
    path = tmp_path / "h.db"
    _make_file_of(schema, path, [payload(1)])
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE alarm_events_by_hand (id TEXT)")
    connection.execute("CREATE INDEX runs_by_measurement ON alarm_events_by_hand (id)")
    connection.commit()
    before = _tables(path)
    with pytest.raises(HistoryError, match="index runs_by_measurement already exists"):
        sqlite_history(path)
    assert _tables(path) == before
    with sqlite_history(path, writable=False) as kept:
        assert payloads(kept) == [payload(1)]
    connection.execute("DROP TABLE alarm_events_by_hand")
    connection.commit()
    connection.close()
    with sqlite_history(path) as kept:
        assert kept.push([record(payload(1))]).unchanged == 1
