"""The load of writers and readers under ``benchmarks``: it puts what it says on a history, and sees what is wrong."""

from __future__ import annotations

from pathlib import Path

from benchmarks.history_drivers import driver_of
from benchmarks.history_load import KPIS, Load, account, accounts, measure
from matrix_benchmarking import history


def test_what_is_lost_doubled_or_never_sent_is_counted() -> None:
    found = account(["a", "b", "c"], ["a", "b", "b", "x"])
    assert (found.kept, found.lost, found.doubled, found.strange) == (3, ["c"], ["b"], ["x"])
    assert str(found) == "3 kept; lost 1, doubled 1, never sent 1"
    assert not found.is_right
    assert account(["a", "b"], ["b", "a"]).is_right


def test_a_small_load_is_carried_out_whole_and_a_run_that_is_taken_away_is_noticed(tmp_path: Path) -> None:
    place = history.SQLiteLocation(tmp_path / "h.db")
    said: list[str] = []
    load = Load(seconds=1.0, writers=2, readers=1, batch=5, values=100 * KPIS)
    assert measure("sqlite", place, load, said.append), said
    lines = [line.split()[0] for line in said]
    assert [line for line in said if "WRONG" in line] == []
    assert {"driver", "at", "analysed", "runs:", "payloads:"} <= set(lines)
    with history.open_history(place, writable=True) as kept:
        (runs,) = [line for line in said if line.lstrip().startswith("runs:")]
        ids = [run.id for run in kept.runs()]
        assert f"{len(ids):,} kept" in runs
        assert len(ids) > 100
        kept.delete(ids[:1])
    assert {what: each.lost for what, each in accounts(driver_of(place), ids).items()} == {
        "runs": ids[:1],
        "payloads": ids[:1],
    }
