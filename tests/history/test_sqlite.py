"""What is SQLite's own: many processes, kill -9, versions, full disks, files that are none of ours."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from history_support.payloads import payload, test_id
from history_support.uploads import payloads, series
from requirements import missing

from matrix_benchmarking import history
from matrix_benchmarking.history import History, HistoryError, SQLiteLocation, record, sqlite

PUSHER = """
import sys
from pathlib import Path
from history_support.payloads import payload
from matrix_benchmarking.history import record
from matrix_benchmarking.history import SQLiteLocation, open_history

path, first, count, size = Path(sys.argv[1]), *map(int, sys.argv[2:])
with open_history(SQLiteLocation(path), writable=True) as kept:
    print("ready", flush=True)
    for start in range(first, first + count, size):
        kept.push(record(payload(n, {"speed": float(n), "height": 1.0})) for n in range(start, start + size))
        print(start + size, flush=True)
"""


def sqlite_history(path: Path, *, writable: bool = True) -> History:
    return history.open_history(SQLiteLocation(path), writable=writable)


def push_in_a_process(path: Path, first: int, count: int, size: int) -> subprocess.Popen[str]:
    return run_in_a_process(PUSHER, path, first, count, size)


def run_in_a_process(script: str, *arguments: object) -> subprocess.Popen[str]:
    tests = Path(__file__).resolve().parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{tests.parent}"}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def integrity(path: Path) -> str:
    connection = sqlite3.connect(path)
    try:
        (answer,) = connection.execute("PRAGMA integrity_check").fetchone()
    finally:
        connection.close()
    return str(answer)


def test_four_processes_at_once_lose_nothing(tmp_path):
    path = tmp_path / "h.db"
    pushers = [push_in_a_process(path, 1000 * number, 200, 20) for number in range(4)]
    for pusher in pushers:
        pusher.communicate(timeout=120)
        assert pusher.returncode == 0
    with sqlite_history(path) as kept:
        (summary,) = kept.summary().workloads
        assert (summary.runs.count, summary.values) == (800, 1600)
        assert series(kept) == {"speed": 800, "height": 800}
    assert integrity(path) == "ok"


def test_four_processes_that_push_the_same_add_it_once(tmp_path):
    path = tmp_path / "h.db"
    pushers = [push_in_a_process(path, 0, 200, 20) for _ in range(4)]
    for pusher in pushers:
        pusher.communicate(timeout=120)
        assert pusher.returncode == 0
    with sqlite_history(path) as kept:
        (summary,) = kept.summary().workloads
        assert (summary.runs.count, summary.values) == (200, 400)


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_at_any_moment_leaves_whole_runs_only(tmp_path, seed):
    path = tmp_path / "h.db"
    pusher = push_in_a_process(path, 0, 10**6, 50)
    assert pusher.stdout is not None
    assert pusher.stdout.readline() == "ready\n"
    time.sleep(random.Random(seed).uniform(0.0, 0.4))
    pusher.send_signal(signal.SIGKILL)
    told = [0, *(int(line) for line in pusher.stdout.read().split() if line.isdecimal())]
    pusher.wait()
    pusher.stdout.close()
    with sqlite_history(path) as kept:
        count = sum(1 for _ in kept.runs())
        assert count in (max(told), max(told) + 50)  # what was told is there; the last push may have been just made
        assert set(series(kept).values()) <= {count}
        assert kept.push([record(payload(10**7))]).added == 1
    assert integrity(path) == "ok"


RECOMPUTER = """
import sys
from pathlib import Path
from history_support.payloads import payload
from matrix_benchmarking.history import record
from matrix_benchmarking.history import SQLiteLocation, open_history

def measured(n, values):
    made = payload(n, values)
    made["metadata"]["measurement"] = f"m{n}"
    return record(made)

with open_history(SQLiteLocation(Path(sys.argv[1])), writable=True) as kept:
    kept.push(measured(n, {"speed": float(n)}) for n in range(2000))
    print("ready", flush=True)
    pushed = kept.push(measured(n, {"speed": float(n), "height": 1.0}) for n in range(2000))
    print(pushed.recomputed, flush=True)
"""


@pytest.mark.parametrize("seed", range(2))
def test_a_kill_while_runs_are_recomputed_leaves_each_as_it_was_or_as_it_is(tmp_path, seed):
    path = tmp_path / "h.db"
    process = run_in_a_process(RECOMPUTER, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(random.Random(seed).uniform(0.05, 0.4))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with sqlite_history(path) as kept:
        done = sum("height" in each["kpis"] for each in payloads(kept))
        assert series(kept) == {"speed": 2000, **({"height": done} if done else {})}
        assert len({each.recorded for each in kept.records()}) == 1
    again = run_in_a_process(RECOMPUTER.replace('kept.push(measured(n, {"speed": float(n)})', "list(n", 1), path)
    said, _ = again.communicate(timeout=120)
    assert said == f"ready\n{2000 - done}\n"
    assert integrity(path) == "ok"


@pytest.mark.parametrize(
    "content",
    [b"no database", b"SQLite format 3\0" + b"x" * 5000, random.Random(1).randbytes(9000)],
    ids=["text", "only the magic", "noise"],
)
def test_a_file_that_is_no_database_is_refused_and_untouched(tmp_path, content):
    path = tmp_path / "h.db"
    path.write_bytes(content)
    for writable in (True, False):
        with pytest.raises(HistoryError, match=r"no SQLite database|damaged"):
            sqlite_history(path, writable=writable)
    assert path.read_bytes() == content


def test_a_damaged_database_is_a_sentence(tmp_path):
    path = tmp_path / "h.db"
    with sqlite_history(path) as kept:
        kept.push(record(payload(number)) for number in range(2000))
    content = bytearray(path.read_bytes())
    content[8192:-4096] = random.Random(1).randbytes(len(content) - 12288)
    path.write_bytes(content)
    with pytest.raises(HistoryError, match="damaged"), sqlite_history(path) as kept:
        payloads(kept)
        kept.summary()


def test_a_directory_in_its_place_is_a_sentence(tmp_path):
    for writable in (True, False):
        with pytest.raises(HistoryError, match="is a directory, and should be a file"):
            sqlite_history(tmp_path, writable=writable)
    (tmp_path / "file").write_text("")
    with pytest.raises(HistoryError, match="cannot make the directory"):
        sqlite_history(tmp_path / "file" / "below" / "h.db")


def test_missing_directories_are_made(tmp_path):
    with sqlite_history(tmp_path / "a" / "b" / "h.db") as kept:
        assert kept.push([record(payload(1))]).added == 1


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one MiB."""
    mount = tmp_path / "disk"
    mount.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        yield None
        return
    yield mount
    subprocess.run(["umount", str(mount)], check=True)


def test_a_full_disk_is_a_sentence_and_keeps_what_was_there(tmp_path, small_disk):
    # Where nothing may be mounted, SQLite's own limit on pages has the same effect.
    path = (small_disk or tmp_path) / "h.db"
    with sqlite_history(path) as kept:
        assert kept.push(record(payload(number)) for number in range(100)).added == 100
        if small_disk is None:
            connection = kept._storage._connection
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages + 5}")
        with pytest.raises(HistoryError, match="the disk is full; what was committed before is kept"):
            kept.push(record(payload(number, note="x" * 1000)) for number in range(100, 3000))
    if small_disk is not None:
        with sqlite_history(path, writable=False) as kept:
            assert sum(1 for _ in kept.runs()) >= 100
        for name in (path.name, f"{path.name}-wal"):
            if (small_disk / name).exists():
                shutil.copy(small_disk / name, tmp_path / name)
        path = tmp_path / path.name
    with sqlite_history(path) as kept:
        count = sum(1 for _ in kept.runs())
        assert count >= 100
        assert series(kept) == {"speed": count}
    assert integrity(path) == "ok"


def test_a_disk_that_is_full_while_a_history_is_made_is_a_sentence(small_disk):
    if small_disk is None:
        missing("a small file system, which only root may mount")
    path, filler, block, outcomes = small_disk / "h.db", small_disk / "filler", b"x" * 8192, []
    filler.write_bytes(block * (shutil.disk_usage(small_disk).free // len(block)))
    while not outcomes or outcomes[-1] != "made":
        for name in ("h.db", "h.db-wal", "h.db-shm"):
            (small_disk / name).unlink(missing_ok=True)
        try:
            with sqlite_history(path):
                outcomes.append("made")
        except HistoryError as error:
            outcomes.append(str(error))
        os.truncate(filler, filler.stat().st_size - len(block))
    assert set(outcomes[:-1]) == {f"history '{path}': the disk is full; what was committed before is kept"}


def test_a_read_only_file_is_a_sentence_for_writers_and_fine_for_readers(tmp_path):
    path = tmp_path / "h.db"
    with sqlite_history(path) as kept:
        kept.push([record(payload(1))])
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.close()
    with sqlite_history(path, writable=False) as kept:
        assert [run.id for run in kept.runs()] == [test_id(1)]
        with pytest.raises(HistoryError, match="read-only"):
            kept.push([record(payload(2))])


def test_a_file_in_a_directory_without_permission_to_write_can_be_read(tmp_path, monkeypatch):
    path = tmp_path / "h.db"
    with sqlite_history(path) as kept:
        kept.push([record(payload(1))])
    # Root may write everywhere; so this is what SQLite and the system say to everybody else.
    genuine = sqlite3.connect

    def without_permission(address, **options):
        connection = genuine(address, **options)
        if "mode=ro" not in address:
            return connection

        class Refusing:
            def execute(self, statement):
                raise sqlite3.OperationalError("unable to open database file")

            def close(self):
                connection.close()

        return Refusing()

    monkeypatch.setattr("matrix_benchmarking.history.sqlite.sqlite3.connect", without_permission)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with sqlite_history(path, writable=False) as kept:
        assert [run.id for run in kept.runs()] == [test_id(1)]


def test_what_is_read_while_others_write_is_one_state(tmp_path):
    path = tmp_path / "h.db"
    with sqlite_history(path) as writer, sqlite_history(path, writable=False) as reader:
        writer.push(record(payload(number)) for number in range(1500))
        reading = (each.payload for each in reader.records())
        first = next(reading)
        assert writer.delete([test_id(number) for number in range(100)]) == 100
        writer.push(record(payload(number)) for number in range(2000, 2100))
        rest = [each["results"]["number"] for each in reading]
        assert [first["results"]["number"], *rest] == list(range(1499, -1, -1))


def test_people_can_read_it_with_sqlite_alone(tmp_path):
    path = tmp_path / "h.db"
    with sqlite_history(path) as kept:
        kept.push([record(payload(1, {"speed": 3, "height": 2.5}))])
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "SELECT payloads.id, kpi.key, kpi.value ->> 'value' FROM payloads, json_each(payload, '$.kpis') kpi"
    ).fetchall()
    (text,) = connection.execute("SELECT payload FROM payloads").fetchone()
    connection.close()
    assert rows == [(test_id(1), "speed", 3), (test_id(1), "height", 2.5)]
    assert json.loads(text) == payload(1, {"speed": 3, "height": 2.5})


def test_space_is_given_back_after_a_delete(tmp_path):
    path = tmp_path / "h.db"
    with sqlite_history(path) as kept:
        kept.push(record(payload(number, note="x" * 2000)) for number in range(1000))
        kept.delete([test_id(number) for number in range(1000)])
    assert path.stat().st_size < 200_000


def test_the_location_of_an_open_history_is_its_name(tmp_path):
    place = SQLiteLocation(tmp_path / "h.db")
    with history.open_history(place, writable=True) as kept:
        assert kept.location == str(place) == f"sqlite:///{tmp_path}/h.db"


def test_many_that_make_a_new_history_at_once_all_get_it(tmp_path):
    errors: list[Exception] = []

    def make(path, barrier):
        barrier.wait()
        try:
            sqlite_history(path).close()
        except HistoryError as error:
            errors.append(error)

    for number in range(40):
        barrier = threading.Barrier(6)
        arguments = (tmp_path / f"{number}.db", barrier)
        threads = [threading.Thread(target=make, args=arguments) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []


def test_an_export_while_somebody_replaces_has_every_run(tmp_path):
    path = tmp_path / "h.db"
    with sqlite_history(path) as kept:
        kept.push(record(payload(number)) for number in range(3000))
    stop = threading.Event()

    def replace():
        with sqlite_history(path) as writer:
            for value in range(1000):
                if stop.is_set():
                    return
                writer.push((record(payload(n, {"speed": float(value)})) for n in range(3000)), replace=True)

    replacing = threading.Thread(target=replace)
    replacing.start()
    try:
        with sqlite_history(path, writable=False) as kept:
            for _ in range(10):
                numbers = [each["results"]["number"] for each in payloads(kept)]
                assert numbers == list(range(2999, -1, -1))
    finally:
        stop.set()
        replacing.join()


def test_a_payload_that_was_damaged_is_a_sentence_and_can_be_deleted(tmp_path):
    path = tmp_path / "h.db"
    with sqlite_history(path) as kept:
        kept.push(record(payload(number)) for number in range(3))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE payloads SET payload = 'garbage' WHERE id = ?", (test_id(1),))
    connection.commit()
    connection.close()
    with sqlite_history(path) as kept:
        with pytest.raises(HistoryError, match="a payload in the history is damaged"):
            payloads(kept)
        assert kept.delete([test_id(1)]) == 1
        assert [each["results"]["number"] for each in payloads(kept)] == [2, 0]
        assert series(kept) == {"speed": 2}


def test_what_writes_nothing_does_not_wait_for_those_that_write(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_S", 0.0)
    place = history.SQLiteLocation(tmp_path / "h.db")
    with history.open_history(place, writable=True) as kept:
        kept.push([record(payload(1))])
        with contextlib.closing(sqlite3.connect(place.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert kept.last_recorded() is not None
