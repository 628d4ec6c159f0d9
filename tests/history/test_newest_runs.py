"""The newest runs of a large history are found by an index: what engines plan for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix_benchmarking import history


def test_sqlite_looks_the_newest_runs_up_and_does_not_sort_all(tmp_path: Path) -> None:
    asked: list[str] = []
    with history.open_history(history.SQLiteLocation(tmp_path / "matbench.db"), writable=True) as kept:
        connection = kept._storage._connection
        connection.set_trace_callback(asked.append)
        assert list(kept._storage.select("speed", None, 5)) == []
        connection.set_trace_callback(None)
        timed, untimed = ([step for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {text}")] for text in asked)
    assert timed == ["SEARCH runs USING INDEX runs_by_time (time_us>?)"]
    assert untimed == ["SEARCH runs USING INDEX runs_by_time (time_us=?)", "USE TEMP B-TREE FOR ORDER BY"]


@pytest.mark.xdist_group("postgresql")
def test_postgresql_looks_the_newest_runs_up_and_does_not_sort_all(new_place, monkeypatch):
    asked = []
    with history.open_history(new_place("postgresql"), writable=True) as kept:
        storage = kept._storage
        monkeypatch.setattr(storage, "stream", lambda *statement: asked.append(statement) or ())
        assert list(storage.select("speed", None, 5)) == []
        storage.execute("SET enable_sort = off")  # as the plan is of a table with many rows
        timed, untimed = (
            "\n".join(step for (step,) in storage.execute(f"EXPLAIN {text}", parameters)) for text, parameters in asked
        )
    assert "Index Scan using runs_by_time" in timed
    assert "Sort" not in timed
    assert "Sort" in untimed
