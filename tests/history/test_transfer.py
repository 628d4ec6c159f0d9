"""Export, import and prune, between both histories."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest
from history_support.alarms import event, subject
from history_support.payloads import payload, test_id

from matrix_benchmarking import history
from matrix_benchmarking.history import HistoryError, record, transfer


def filled(place):
    kept = history.open_history(place, writable=True)
    strange = {"1": 1, "text": "1", "float": 1.0, "no": None, "yes": True, "ünï": "☃ 漢字 \U0001f600", "a.b": "c"}
    payloads = [
        payload(1, {"speed": 3, "height": 0.1 + 0.2, "none": None}, settings=strange),
        payload(2, {}, time=None),
        payload(3, {"speed": -0.0}, workload="other", time="2026-03-01T14:00:00.123456+05:30"),
        *(payload(number) for number in range(10, 800)),
    ]
    kept.push(record(each) for each in payloads)
    kept.record_alarms([*map(event, range(20)), event(7, about=subject(labels=strange, workload="other"))])
    return kept


def exported(kept):
    stream = io.BytesIO()
    transfer.write_export(kept, stream)
    return stream.getvalue()


@pytest.mark.parametrize("first", [pytest.param("sqlite"), pytest.param("opensearch")])
@pytest.mark.xdist_group("opensearch")
def test_there_and_back_again_changes_nothing(new_place, tmp_path, first):
    second = {"sqlite": "opensearch", "opensearch": "sqlite"}[first]
    path = tmp_path / "export.jsonl"
    with filled(new_place(first)) as kept:
        path.write_bytes(exported(kept))
        runs = list(kept.runs())
        events = kept.alarm_events()
    with history.open_history(new_place(second), writable=True) as other:
        assert transfer.read_import(other, path).pushed.added == 793
        assert exported(other) == path.read_bytes()
        assert list(other.runs()) == runs
        assert other.alarm_events() == events
        back = tmp_path / "back.jsonl"
        back.write_bytes(exported(other))
    with history.open_history(new_place(first), writable=True) as again:
        assert transfer.read_import(again, back).pushed.added == 793
        assert exported(again) == path.read_bytes()
        third = transfer.read_import(again, back)
        assert (third.pushed.unchanged, third.alarms_added, third.alarms_unchanged) == (793, 0, 21)


@pytest.fixture
def export(tmp_path):
    path = tmp_path / "export.jsonl"
    with history.open_history(history.SQLiteLocation(tmp_path / "h.db"), writable=True) as kept:
        kept.push(record(payload(number)) for number in range(10))
        path.write_bytes(exported(kept))
    return path


@pytest.fixture
def empty(tmp_path):
    with history.open_history(history.SQLiteLocation(tmp_path / "empty.db"), writable=True) as kept:
        yield kept


def test_a_compressed_export_is_understood(export, empty):
    export.write_bytes(gzip.compress(export.read_bytes()))
    assert transfer.contents(export) == transfer.Contents(10, 0)
    assert transfer.read_import(empty, export).pushed.added == 10


def test_an_export_that_was_cut_off_anywhere_imports_nothing(export, empty):
    content = export.read_bytes()
    for length in [0, 1, 20, len(content) // 2, len(content) - 40, len(content) - 2]:
        export.write_bytes(content[:length])
        with pytest.raises(HistoryError, match=r"cut off|no export"):
            transfer.read_import(empty, export)
    export.write_bytes(gzip.compress(content)[:-10])
    with pytest.raises(HistoryError, match="damaged"):
        transfer.read_import(empty, export)
    assert list(empty.runs()) == []


def test_an_export_that_was_changed_imports_nothing(export, empty):
    content = export.read_bytes()
    export.write_bytes(content.replace(b'"value":12.0', b'"value":99.0'))
    with pytest.raises(HistoryError, match="changed"):
        transfer.read_import(empty, export)
    lines = content.splitlines(keepends=True)
    export.write_bytes(b"".join([*lines[:3], *lines[4:]]))
    with pytest.raises(HistoryError, match="cut off or changed"):
        transfer.read_import(empty, export)
    assert list(empty.runs()) == []


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "no export"),
        (b"{}\n{}\n", "no export"),
        (b"[1]\n", "no export"),
        (b"\xff\xfe", "no export"),
        (json.dumps({"matbench_history": 4}).encode() + b"\n", "newer matbench"),
    ],
)
def test_what_is_no_export_is_a_sentence(tmp_path, empty, content, sentence):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(HistoryError, match=sentence):
        transfer.read_import(empty, path)


def test_a_missing_export_is_a_sentence(tmp_path, empty):
    with pytest.raises(HistoryError, match="No such file"):
        transfer.read_import(empty, tmp_path / "none")
    with pytest.raises(HistoryError, match="Is a directory"):
        transfer.read_import(empty, tmp_path)
    with pytest.raises(HistoryError, match="not a regular file"):
        transfer.read_import(empty, Path("/dev/zero"))


def test_an_empty_history_makes_an_export_that_imports_nothing(tmp_path, empty):
    path = tmp_path / "file"
    path.write_bytes(exported(empty))
    assert transfer.read_import(empty, path) == transfer.Imported(history.Pushed(), 0, 0)


def test_alarms_are_exported_after_the_runs_and_imported_once(export, empty, tmp_path):
    transfer.read_import(empty, export)
    assert empty.record_alarms([event(2), event(1)]) == 2
    lines = exported(empty).splitlines()
    assert json.loads(lines[0]) == {"matbench_history": 3}
    assert [json.loads(line)["alarm_event"]["at_us"] for line in lines[11:13]] == [event(1).at_us, event(2).at_us]
    assert json.loads(lines[13])["alarm_events"] == 2
    path = tmp_path / "alarms.jsonl.gz"
    path.write_bytes(gzip.compress(exported(empty)))
    assert transfer.contents(path) == transfer.Contents(10, 2)
    with history.open_history(history.SQLiteLocation(tmp_path / "other.db"), writable=True) as other:
        other.record_alarms([event(1)])
        imported = transfer.read_import(other, path)
        assert (imported.pushed.added, imported.alarms_added, imported.alarms_unchanged) == (10, 1, 1)
        assert other.alarm_events() == [event(1), event(2)]


def test_an_export_with_alarms_that_was_cut_off_or_changed_imports_nothing(export, empty):
    with history.open_history(history.SQLiteLocation(export.with_name("a.db")), writable=True) as kept:
        transfer.read_import(kept, export)
        kept.record_alarms(map(event, range(3)))
        content = exported(kept)
    lines = content.splitlines(keepends=True)
    changed = [lines[:-1], lines[:-2], [*lines[:-2], lines[-1]], [*lines[:-4], lines[-1]], [*lines[:5], *lines[6:]]]
    for each in [*map(b"".join, changed), content.replace(b'"first_bad":"1.3.0"', b'"first_bad":"1.4.0"', 1)]:
        export.write_bytes(each)
        with pytest.raises(HistoryError, match="cut off or changed"):
            transfer.read_import(empty, export)
    assert (list(empty.runs()), empty.alarm_events()) == ([], [])


def test_an_event_that_this_matbench_does_not_know_imports_nothing(export, empty, monkeypatch):
    with history.open_history(history.SQLiteLocation(export.with_name("a.db")), writable=True) as kept:
        transfer.read_import(kept, export)
        kept.record_alarms([event(1)])
        genuine = transfer.alarms.encode
        monkeypatch.setattr(transfer.alarms, "encode", lambda each: genuine(each).replace('"raised"', '"blessed"'))
        export.write_bytes(exported(kept))
    with pytest.raises(HistoryError, match="an event of an alarm: this is no event of an alarm that this matbench"):
        transfer.read_import(empty, export)
    assert list(empty.runs()) == []


def chosen(kept, **choice):
    return kept.prunable(choice.pop("workload", None), **choice)


def test_prune_by_age_leaves_what_is_young_or_of_unknown_time(kept):
    kept.push(record(payload(number)) for number in range(5))
    kept.push([record(payload(9, time=None))])
    limit = record(payload(3)).time_us
    assert chosen(kept, before_us=limit) == [test_id(2), test_id(1), test_id(0)]


def test_prune_by_number_keeps_the_newest_of_each_workload(kept):
    kept.push(record(payload(number)) for number in range(5))
    kept.push(record(payload(number, workload="b")) for number in range(10, 12))
    assert chosen(kept, keep=3) == [test_id(1), test_id(0)]
    assert sorted(chosen(kept, keep=1)) == sorted([test_id(10), *map(test_id, range(4))])
    assert chosen(kept, keep=1, workload="b") == [test_id(10)]
    assert len(chosen(kept, keep=0)) == 7
    assert chosen(kept, keep=7) == []


def test_prune_by_both_takes_what_either_takes(kept):
    kept.push(record(payload(number)) for number in range(5))
    assert chosen(kept, keep=3, before_us=record(payload(1)).time_us) == [test_id(1), test_id(0)]
    assert chosen(kept, keep=4, before_us=record(payload(3)).time_us) == [test_id(2), test_id(1), test_id(0)]


def test_what_was_pruned_is_gone_and_the_rest_is_not(kept):
    kept.push(record(payload(number)) for number in range(50))
    assert kept.delete(chosen(kept, keep=10)) == 40
    assert [run.id for run in kept.runs()] == [test_id(number) for number in range(49, 39, -1)]
    assert kept.summary().series[0].span.count == 10
