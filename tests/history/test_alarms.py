"""What happened to alarms, in every history: the same tests on SQLite and on the genuine OpenSearch."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from history_support.alarms import AT_US, event, subject
from history_support.before import make_old_file
from history_support.payloads import payload, test_id
from opensearchpy import OpenSearch

from matrix_benchmarking import history
from matrix_benchmarking.history import HistoryError, SQLiteLocation, record, sqlite
from matrix_benchmarking.history import opensearch_indices as indices
from matrix_benchmarking.history.alarms import Action, AlarmEvent, decode, encode

RECORDER = """
import sys
from history_support.alarms import event
from matrix_benchmarking import history
from matrix_benchmarking.history import location
from matrix_benchmarking.history.alarms import Action

place, _ = location.parse(sys.argv[1], {})
with history.open_history(place, writable=True) as kept:
    print("ready", flush=True)
    sys.stdin.readline()
    print(kept.record_alarms(event(number) for number in range(int(sys.argv[2]))), flush=True)
    for number in range(10**6 if len(sys.argv) > 3 else 0):
        kept.record_alarms([event(number), event(number, Action.COMMENTED, reason="second")])
        print(number, flush=True)
"""


def record_in_a_process(place: history.Location, count: int, *more: str) -> subprocess.Popen[str]:
    tests = Path(__file__).resolve().parent.parent
    environment = {**os.environ, "PYTHONPATH": f"{tests}{os.pathsep}{tests.parent}"}
    command = [sys.executable, "-c", RECORDER, str(place), str(count), *more]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def test_a_history_without_alarms_has_no_events(kept, place):
    assert kept.alarm_events() == []
    assert kept.record_alarms([]) == 0
    with history.open_history(place, writable=False) as reader:
        assert reader.alarm_events("speed") == []


def test_events_come_back_as_they_were_recorded(kept, place):
    recorded = [
        event(1),
        event(2, Action.ACKNOWLEDGED, alarm=event(1).alarm, author="Ann Ünï ☃", reason="known\n\x1b[31m", until="1.4"),
        event(3, Action.FIXED, alarm=event(1).alarm, version="1.3.2"),
        event(4, Action.RESOLVED, reason="x" * 40_000),
        event(5, Action.REOPENED),
    ]
    assert kept.record_alarms(recorded) == 5
    assert kept.alarm_events() == recorded
    with history.open_history(place, writable=False) as reader:
        assert reader.alarm_events() == recorded


def test_events_come_oldest_first_and_those_of_one_moment_in_the_order_of_their_ids(kept):
    recorded = [event(number // 3, Action.COMMENTED, reason=str(number)) for number in range(30)]
    shuffled = list(recorded)
    random.Random(1).shuffle(shuffled)
    for start in range(0, 30, 10):
        assert kept.record_alarms(shuffled[start : start + 10]) == 10
    assert kept.alarm_events() == sorted(recorded, key=lambda one: (one.at_us, one.id))


def test_an_event_that_is_there_is_kept_once(kept):
    assert kept.record_alarms([event(1), event(2), event(1)]) == 2
    assert kept.record_alarms([event(2), event(3)]) == 1
    assert len(kept.alarm_events()) == 3
    other_order = subject(labels={"batch_size": 8, "image": "onnx-fp32"}, old_level=20)
    assert kept.record_alarms([event(1, about=other_order)]) == 0


def test_an_alarm_is_raised_once_whoever_says_it_again(kept):
    assert kept.record_alarms([event(1)]) == 1
    later = msgspec.structs.replace(event(1), at_us=event(1).at_us + 7)
    assert kept.record_alarms([later, event(2), msgspec.structs.replace(later, action=Action.REOPENED)]) == 2
    assert [one.action for one in kept.alarm_events() if one.alarm == later.alarm] == [Action.RAISED, Action.REOPENED]


def test_only_events_of_one_workload(kept):
    other = event(2, about=subject(workload='Écran :\\"'))
    kept.record_alarms([event(1), other])
    assert kept.alarm_events('Écran :\\"') == [other]
    assert kept.alarm_events("spee") == []


def test_the_labels_of_a_subject_keep_their_types(kept):
    values = [1, "1", 1.0, True, None, "", "é", [1, "2"], {"a.b": {"": None}}, 2**53 + 1]
    recorded = [event(7, about=subject(labels={"x": value, "a.b": 1, "": 2})) for value in values]
    assert len({one.id for one in recorded}) == len(values)
    assert kept.record_alarms(recorded) == len(values)
    found = [one.subject.labels["x"] for one in kept.alarm_events()]
    assert sorted(map(repr, found)) == sorted(map(repr, values))
    assert all(list(one.subject.labels) == ["x", "a.b", ""] for one in kept.alarm_events())


def test_an_event_that_can_not_be_kept_is_a_sentence_and_none_is(kept):
    bad = [
        event(2, about=subject(new_level=float("nan"))),
        event(2, at_us=2**62),
        event(2, alarm="x" * 501),
        event(2, about=subject(workload="")),
        event(2, author="\ud800"),
        event(2, about=subject(labels={"x": object()})),
        event(2, about=subject(kpi=None)),
    ]
    for each in bad:
        with pytest.raises(HistoryError, match=r"an event of alarm '.*' can't be kept: "):
            kept.record_alarms([event(1), each])
    assert kept.alarm_events() == []


def test_many_events_come_back_complete_and_in_order(kept):
    count = 2345
    assert kept.record_alarms(event(number) for number in range(count)) == count
    assert [one.at_us for one in kept.alarm_events()] == [AT_US + number * 1_000_000 for number in range(count)]


def test_events_outlive_the_runs_that_they_are_about(kept):
    kept.push([record(payload(1))])
    kept.record_alarms([event(1)])
    assert kept.delete([test_id(1)]) == 1
    assert kept.alarm_events() == [event(1)]
    assert kept.summary().workloads == []


def test_two_processes_that_record_the_same_at_once_keep_it_once(place):
    recorders = [record_in_a_process(place, 50) for _ in range(2)]
    for recorder in recorders:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == "ready\n"
    for recorder in recorders:
        assert recorder.stdin is not None
        recorder.stdin.write("\n")
        recorder.stdin.flush()
    counted = [int(recorder.communicate(timeout=120)[0]) for recorder in recorders]
    assert sum(counted) == 50
    with history.open_history(place, writable=False) as kept:
        assert kept.alarm_events() == [event(number) for number in range(50)]


def test_a_field_that_is_not_said_is_no_part_of_an_event() -> None:
    assert set(msgspec.json.decode(encode(event(1)))) == {"alarm", "action", "at_us", "author", "subject"}
    assert decode(encode(event(1))).id == event(1).id
    assert event(1).id != event(1, reason="").id


def test_what_a_newer_matbench_did_to_an_alarm_is_a_sentence() -> None:
    text = encode(event(1)).replace('"raised"', '"blessed"')
    with pytest.raises(HistoryError, match="no event of an alarm that this matbench knows"):
        decode(text)


def sqlite_history(path: Path, *, writable: bool = True) -> history.History:
    return history.open_history(SQLiteLocation(path), writable=writable)


class TestSQLite:
    """What is SQLite's own."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "h.db"

    @pytest.fixture
    def old(self, path: Path) -> Path:
        """A history of schema 1, with five runs."""
        return make_old_file(path, 1)

    def test_a_history_of_before_has_no_events_and_is_not_changed_by_a_look(self, old: Path) -> None:
        before = old.read_bytes()
        with sqlite_history(old, writable=False) as kept:
            assert kept.alarm_events() == []
            assert len(list(kept.runs())) == 5
            with pytest.raises(HistoryError):
                kept.record_alarms([event(1)])
        assert old.read_bytes() == before

    def test_a_history_of_before_is_migrated_when_it_is_opened_for_writing(self, old: Path) -> None:
        with sqlite_history(old) as kept:
            assert kept.record_alarms([event(1)]) == 1
            assert kept.alarm_events() == [event(1)]
            with history.open_history(SQLiteLocation(old), writable=False) as later:
                assert later.alarm_events() == [event(1)]
            assert kept.push([record(payload(5))]).unchanged == 1

    def test_a_matbench_of_before_refuses_it_clearly(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with sqlite_history(path) as kept:
            kept.record_alarms([event(1)])
        monkeypatch.setattr(sqlite, "VERSION", 1)
        with pytest.raises(HistoryError, match=r"newer matbench \(schema 5; this one knows 1\): update matbench"):
            sqlite_history(path)

    @pytest.mark.parametrize("damage", ["'garbage'", "'{}'", "5", "x'ff00'", "cast(x'22ff22' AS TEXT)"])
    def test_a_damaged_event_is_a_sentence(self, path: Path, damage: str) -> None:
        with sqlite_history(path) as kept:
            kept.record_alarms([event(1), event(2)])
        connection = sqlite3.connect(path)
        connection.execute(f"UPDATE alarm_events SET event = {damage} WHERE id = ?", (event(1).id,))
        connection.commit()
        connection.close()
        with sqlite_history(path) as kept:
            with pytest.raises(HistoryError, match=r"h\.db'?: (the event \w{32} of an alarm|Could not decode)"):
                kept.alarm_events()
            assert kept.record_alarms([event(3)]) == 1

    def test_a_read_only_history_takes_no_event(self, path: Path) -> None:
        sqlite_history(path).close()
        with sqlite_history(path, writable=False) as kept, pytest.raises(HistoryError, match="read-only"):
            kept.record_alarms([event(1)])

    def test_people_can_read_events_with_sqlite_alone(self, path: Path) -> None:
        with sqlite_history(path) as kept:
            kept.record_alarms([event(1, Action.RESOLVED, alarm="ab", reason="done")])
        connection = sqlite3.connect(path)
        rows = connection.execute(
            "SELECT workload, at_us, event ->> 'action', event ->> 'author', event ->> 'reason' FROM alarm_events"
        ).fetchall()
        connection.close()
        assert rows == [("speed", AT_US + 1_000_000, "resolved", "ann", "done")]

    def test_a_kill_at_any_moment_leaves_whole_records_only(self, path: Path) -> None:
        recorder = record_in_a_process(SQLiteLocation(path), 0, "on and on")
        assert recorder.stdin is not None
        assert recorder.stdout is not None
        recorder.stdin.write("\n")
        recorder.stdin.flush()
        told = -1
        with recorder:
            while told < 20:
                line = recorder.stdout.readline()
                told = int(line) if line.strip().isdecimal() else told
            recorder.send_signal(signal.SIGKILL)
            rest = recorder.stdout.read().split()
        told = max([told, *(int(number) for number in rest if number.isdecimal())])
        with sqlite_history(path) as kept:
            found = kept.alarm_events()
            assert len(found) % 2 == 0
            assert len(found) // 2 in (told + 1, told + 2)  # the last may have been just made
            assert kept.record_alarms(found) == 0


@pytest.mark.xdist_group("opensearch")
class TestOpenSearch:
    """What is OpenSearch's own."""

    @pytest.fixture
    def admin(self, opensearch):
        with OpenSearch([opensearch.url]) as client:
            yield client

    @pytest.fixture
    def there(self, at, opensearch):
        return at(opensearch.url)

    def test_the_index_is_made_with_the_first_event(self, admin, there):
        with history.open_history(there, writable=True) as kept:
            assert not admin.indices.exists(index=there.alarm_index)
            kept.record_alarms([event(1, Action.ACKNOWLEDGED, reason="known", until="2026-12-31")])
        (template,) = admin.indices.get_index_template(name=f"matbench-{there.alarm_index}")["index_templates"]
        assert template["index_template"]["version"] == indices.SINGLE
        found = admin.indices.get_mapping(index=there.alarm_index)[there.alarm_index]["mappings"]
        assert (found["_meta"], found["dynamic"]) == (indices.ALARMS["_meta"], "strict")
        (hit,) = admin.search(index=there.alarm_index)["hits"]["hits"]
        shown = {name: hit["_source"][name] for name in ("@timestamp", "workload")}
        assert shown == {"@timestamp": "2026-03-01T12:00:01+00:00", "workload": "speed"}

    def test_another_index_in_its_place_is_refused(self, admin, there):
        admin.indices.create(index=there.alarm_index)
        with history.open_history(there, writable=True) as kept:
            for use in (kept.alarm_events, lambda: kept.record_alarms([event(1)])):
                with pytest.raises(HistoryError, match=f"'{there.alarm_index}' was not made for the alarms of a hist"):
                    use()
            assert kept.push([record(payload(1))]).added == 1

    def test_an_index_of_a_newer_matbench_is_refused(self, admin, there):
        with history.open_history(there, writable=True) as kept:
            kept.record_alarms([event(1)])
            body = {"_meta": {"matbench": {"mapping_version": 99, "kind": "alarms"}}}
            admin.indices.put_mapping(index=there.alarm_index, body=body)
            with pytest.raises(HistoryError, match=r"newer matbench \(mapping 99"):
                kept.alarm_events()

    def test_a_damaged_event_is_a_sentence(self, admin, there):
        with history.open_history(there, writable=True) as kept:
            kept.record_alarms([event(1)])
            for document in ({"matbench": {"at_us": 1, "id": "a", "event": "garbage"}}, {"workload": "speed"}):
                admin.index(index=there.alarm_index, id="a", body=document, refresh=True)
                with pytest.raises(HistoryError, match=r"the event a of an alarm in it is damaged"):
                    kept.alarm_events()


def test_events_are_told_apart_by_everything_that_is_said_in_them() -> None:
    one = event(1)
    changed: list[AlarmEvent] = [
        msgspec.structs.replace(one, alarm="other"),
        msgspec.structs.replace(one, action=Action.REOPENED),
        msgspec.structs.replace(one, at_us=one.at_us + 1),
        msgspec.structs.replace(one, author="ann"),
        msgspec.structs.replace(one, subject=subject(new_level=22.6)),
        msgspec.structs.replace(one, reason="r"),
        msgspec.structs.replace(one, until="r"),
        msgspec.structs.replace(one, version="r"),
    ]
    assert len({each.id for each in [one, *changed]}) == 9
