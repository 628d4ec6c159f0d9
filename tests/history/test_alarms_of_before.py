"""Alarms that code of before raised and people answered are the same to the judge of now.

In SQLite files of each schema that keeps alarms, in exports, and in documents on OpenSearch. Those in
``before/releases`` were made by matbench of the days of each schema, from the recorded releases in which two values
were changed: 1B_cost at batch size 1 of 1.2.5, which was raised and then fixed, and avg_latency at batch size 1 of
1.3.4. Their runs are left out; here the recorded releases as they are take their place.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from history_support.before import HERE, old_mapping
from opensearchpy import OpenSearch

from matrix_benchmarking import history
from matrix_benchmarking.analyze.verdict.lifecycle import known_alarms
from matrix_benchmarking.cli import main
from matrix_benchmarking.history import opensearch_indices as indices
from matrix_benchmarking.history import transfer

RELEASES = HERE / "releases"
FIXED, ACKNOWLEDGED, RESOLVED = "3a4a0e6c7115", "8c72b9957480", "b61e3972bb08"
REOPENED, OPEN, UNSEEN = "23bd54779b02", "c3bb03deb9e8", "7df01de8dc21"
STATES = {
    FIXED: "fixed",
    ACKNOWLEDGED: "acknowledged",
    RESOLVED: "resolved",
    REOPENED: "open",
    OPEN: "open",
    UNSEEN: "open",
}
Capture = pytest.CaptureFixture[str]


def states(place: history.Location) -> dict[str, str]:
    with history.open_history(place, writable=False) as kept:
        return {alarm.id: alarm.status.value for alarm in known_alarms(kept.alarm_events("encoder_bench")).values()}


def analysed(place: history.Location, repository: Path, capsys: Capture) -> str:
    """What an analysis of the recorded releases says, beside what *place* knows of alarms."""
    with history.open_history(place, writable=True) as kept:
        transfer.read_import(kept, repository / "data/samples/encoder_history/history.jsonl.gz")
    capsys.readouterr()
    assert main(["analyze_lts", "--workload=encoder_bench", f"--history={place}"]) == 1
    return " ".join(capsys.readouterr().out.split())


def check(place: history.Location, repository: Path, capsys: Capture) -> None:
    assert states(place) == STATES
    said = analysed(place, repository, capsys)
    assert states(place) == STATES  # and no alarm beside them
    assert "2 of 10 series of 5 KPIs are worse: 1.3.4 against its history." in said
    for alarm, words in ((REOPENED, "worse"), (OPEN, "worse"), (ACKNOWLEDGED, "acknowledged"), (RESOLVED, "resolved")):
        assert alarm in said
        assert words in said
    assert FIXED not in said
    assert "1 alarm of the history is open, and not to be seen in these runs" in said
    assert f"{UNSEEN} avg_latency of batch_size 1 since 1.3.4" in said
    assert "(no change at 1.3.4 is shown)" in said


@pytest.mark.parametrize("schema", [2, 3, 4])
def test_a_file_of_each_schema(schema: int, tmp_path: Path, repository: Path, capsys: Capture) -> None:
    path = tmp_path / "before.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript((RELEASES / f"schema_{schema}.sql").read_text(encoding="utf-8"))
        assert connection.execute("PRAGMA user_version").fetchone() == (schema,)
    check(history.SQLiteLocation(path), repository, capsys)


@pytest.mark.parametrize("version", [2, 3])
def test_an_export_of_each_version(version: int, tmp_path: Path, repository: Path, capsys: Capture) -> None:
    place = history.SQLiteLocation(tmp_path / "new.db")
    with history.open_history(place, writable=True) as kept:
        imported = transfer.read_import(kept, RELEASES / f"export_{version}.jsonl")
        assert imported.alarms_added == 11
    check(place, repository, capsys)


@pytest.mark.xdist_group("opensearch")
def test_documents_on_a_server(
    new_place: Callable[[str], history.OpenSearchLocation], repository: Path, capsys: Capture
) -> None:
    place = new_place("opensearch")
    with OpenSearch([place.url]) as admin:
        body = {"mappings": old_mapping("alarms", 1), "settings": dict(indices.SETTINGS)}
        admin.indices.create(index=place.alarm_index, body=body)
        for text in (RELEASES / "documents.jsonl").read_text(encoding="utf-8").splitlines():
            document = json.loads(text)
            admin.index(
                index=place.alarm_index, id=document["matbench"]["id"], body=document, params={"refresh": "true"}
            )
    with history.open_history(place, writable=True) as kept:
        transfer.read_import(kept, repository / "data/samples/encoder_history/history.jsonl.gz")
    check(place, repository, capsys)
