"""Exports of a history in Parquet: what they hold, how they are read, and what is refused."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pyarrow
import pytest
from history_support.alarms import event, subject
from history_support.payloads import payload, test_id
from history_support.uploads import payloads
from pyarrow import parquet

from matrix_benchmarking import history
from matrix_benchmarking.history import HistoryError, Query, SQLiteLocation, location, record, transfer
from matrix_benchmarking.history.location import MARK, is_export
from matrix_benchmarking.history.parquet import RUNS_A_GROUP, write_parquet

STRANGE = {
    "text": "ünï ☃",
    "whole": 1,
    "part": 1.5,
    "no": None,
    "yes": True,
    "huge": 2**70,
    "time": "noon",
    "speed": "2",
}
PAYLOADS = [
    payload(1, {"speed": 3, "height": 0.1 + 0.2, "none": None}, settings=STRANGE),
    payload(2, {}, time=None),
    payload(3, {"speed": -0.0}, workload="other", unit="km/h", time="2026-03-01T14:00:00.123456+05:30"),
    payload(4, settings={"whole": "auto", "text": "8"}),
    *(payload(number) for number in range(10, 10 + 2 * RUNS_A_GROUP)),
]


def keep(place, documents, events=()):
    with history.open_history(place, writable=True) as kept:
        kept.push(map(record, documents))
        kept.record_alarms(events)
    return place


def export(place, path):
    with history.open_history(place, writable=False) as kept, open(path, "wb") as stream:
        write_parquet(kept, stream)
    return path


def part_of(place, path):
    """A history with the runs of one workload only."""
    part = SQLiteLocation(path)
    with history.open_history(place, writable=False) as kept, history.open_history(part, writable=True) as other:
        other.push(kept.records(Query("other")))
    return part


def opened(path):
    return history.open_history(location.parse(str(path), {})[0], writable=False)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    place = SQLiteLocation(tmp_path_factory.mktemp("original") / "h.db")
    return keep(place, PAYLOADS, [*map(event, range(20)), event(7, about=subject(workload="other"))])


@pytest.fixture(scope="module")
def exported(original, tmp_path_factory):
    return export(original, tmp_path_factory.mktemp("exported") / "runs.parquet")


def rewritten(exported, path, change=lambda table: table, **metadata):
    """A file with the same content, but what *change* makes of it and the *metadata* of the mark."""
    table = change(parquet.read_table(exported))
    said = json.loads(table.schema.metadata[MARK]) | metadata
    parquet.write_table(table.replace_schema_metadata({MARK: json.dumps(said)}), path)
    return path


def test_an_export_holds_all_that_the_history_holds(original, exported):
    with history.open_history(original, writable=False) as kept, opened(exported) as found:
        assert list(found.runs()) == list(kept.runs())
        assert list(found.records()) == list(kept.records())
        some = [test_id(number) for number in (1005, 2, 12, 99999)]
        assert list(found.records_of(some)) == list(kept.records_of(some))
        assert found.alarm_events() == kept.alarm_events()
        assert found.alarm_events("other") == kept.alarm_events("other")
        assert found.summary().series == kept.summary().series
        assert found.last_recorded() == kept.last_recorded()
        for query in (Query("other"), Query(limit=3), Query(since_us=kept.alarm_events()[0].at_us)):
            assert list(found.runs(query)) == list(kept.runs(query))


def test_an_export_is_imported_as_one_in_json_is(exported, tmp_path, original):
    with history.open_history(SQLiteLocation(tmp_path / "other.db"), writable=True) as other, opened(exported) as found:
        imported = transfer.copy(other, found)
        assert (imported.pushed.added, imported.alarms_added) == (len(PAYLOADS), 21)
        assert transfer.copy(other, found).pushed.unchanged == len(PAYLOADS)
        with history.open_history(original, writable=False) as kept:
            assert list(other.runs()) == list(kept.runs())


def test_other_tools_see_settings_and_kpis_as_columns_of_their_types(exported):
    table = parquet.read_table(exported)
    types = {name: str(table.schema.field(name).type) for name in table.schema.names if name != "matbench"}
    first = ["workload", "test_uuid", "time", "repeat", "exit_code"]
    assert list(types)[:5] == first
    assert [types[name] for name in first] == ["string", "string", "timestamp[us, tz=UTC]", "int64", "int64"]
    assert {name: types[name] for name in list(types)[5:]} == {
        **dict.fromkeys(("text", "whole", "no", "huge", "hw_type", "setting_time", "setting_speed"), "string"),
        **dict.fromkeys(("part", "speed (m/s)", "speed (km/h)", "height"), "double"),
        "yes": "bool",
        "vus": "int64",
    }
    (row,) = [each for each in table.to_pylist() if each["test_uuid"] == test_id(1)]
    assert (row["whole"], row["huge"], row["speed (m/s)"], row["speed (km/h)"]) == ("1", str(2**70), 3.0, None)
    assert (row["setting_time"], row["setting_speed"], row["yes"], row["vus"]) == ("noon", "2", True, None)
    assert table.schema.field("height").metadata == {b"unit": b"m/s", b"help": b"How fast it is"}


def test_duckdb_and_pandas_read_it(exported):
    import duckdb
    import pandas

    question = f"SELECT count(*), max(\"speed (m/s)\"), min(matbench.id) FROM '{exported}' WHERE hw_type = 'cpu-1'"
    (answer,) = duckdb.connect().sql(question).fetchall()
    frame = pandas.read_parquet(exported)
    some = frame[frame["hw_type"] == "cpu-1"]
    # Runs without labels of their own have the settings that all payloads have.
    assert answer == (len(some), some["speed (m/s)"].max(), some["test_uuid"].min())
    assert len(some) == len(PAYLOADS) - 2


def test_files_of_a_directory_are_one_history_and_a_run_in_two_of_them_is_one(original, exported, tmp_path):
    export(part_of(original, tmp_path / "part.db"), tmp_path / "2026-02.parquet")
    export(original, tmp_path / "2026-03.parquet")
    (tmp_path / "README.txt").write_text("no export")
    with opened(tmp_path) as found, opened(exported) as alone:
        assert list(found.runs()) == list(alone.runs())
        assert list(found.records()) == list(alone.records())
        assert found.alarm_events() == alone.alarm_events()


def test_a_run_with_different_contents_in_two_exports_is_a_sentence(tmp_path):
    for number in range(2):
        place = keep(SQLiteLocation(tmp_path / f"{number}.db"), [payload(1, {"speed": float(number)})])
        export(place, tmp_path / f"{number}.parquet")
    sentence = rf"{tmp_path} has run {test_id(1)} with different contents: take the older export away"
    with opened(tmp_path) as found, pytest.raises(HistoryError, match=sentence):
        list(found.runs())


def test_a_location_reads_an_export_that_took_the_place_of_another(original, exported, tmp_path):
    path = tmp_path / "runs.parquet"
    path.write_bytes(exported.read_bytes())
    place = location.parse(str(path), {})[0]
    for expected in (len(PAYLOADS), 1):
        with history.open_history(place, writable=False) as found:
            assert len(payloads(found)) == expected
        os.replace(export(part_of(original, tmp_path / "part.db"), tmp_path / "new"), path)


def test_an_export_is_never_written_to(exported):
    before = exported.read_bytes()
    with pytest.raises(HistoryError, match="an export in Parquet, which is only read: name a history to write to"):
        history.open_history(location.parse(str(exported), {})[0], writable=True)
    with opened(exported) as found, pytest.raises(HistoryError, match="is only read"):
        found.delete([test_id(1)])
    assert exported.read_bytes() == before


def test_an_empty_history_is_exported_and_read(tmp_path):
    with opened(export(keep(SQLiteLocation(tmp_path / "h.db"), []), tmp_path / "runs.parquet")) as found:
        assert (list(found.runs()), found.alarm_events(), found.last_recorded()) == ([], [], None)


def test_a_run_that_changes_while_it_is_exported_is_a_sentence(original):
    class Changing(history.History):
        def records_of(self, ids):
            return (each for each in super().records_of(ids) if each.id != test_id(12))

    sentence = f"run {test_id(12)} of .* changed while it was exported: try again"
    with Changing(original.open(writable=False)) as kept, pytest.raises(HistoryError, match=sentence):
        write_parquet(kept, io.BytesIO())


def test_an_export_of_a_newer_matbench_is_refused(exported, tmp_path):
    newer = rewritten(exported, tmp_path / "newer.parquet", version=2, alarm_events="otherwise", more=[])
    with pytest.raises(HistoryError, match=r"newer\.parquet' was exported by a newer matbench: update this one"):
        opened(newer)


@pytest.mark.parametrize(
    ("change", "metadata", "sentence"),
    [
        (lambda table: table.drop_columns(["matbench"]), {}, "its column 'matbench' is not as matbench writes it"),
        (lambda table: as_texts(table), {}, "its column 'matbench' is not as matbench writes it"),
        (lambda table: table, {"version": "1"}, "its metadata is not as matbench writes it"),
        (lambda table: table, {"alarm_events": [{"alarm": 1}]}, "its metadata is not as matbench writes it"),
        (lambda table: with_null(table), {}, "no Parquet file, or damaged: a run has no id"),
    ],
)
def test_a_changed_file_is_one_sentence(exported, tmp_path, change, metadata, sentence):
    with pytest.raises(HistoryError, match=sentence) as caught:
        opened(rewritten(exported, tmp_path / "changed.parquet", change, **metadata))
    assert "\n" not in str(caught.value)


def as_texts(table):
    texts = pyarrow.array(["{}"] * len(table))
    return pyarrow.table({"matbench": texts}, metadata=table.schema.metadata)


def with_null(table):
    column = table.column("matbench").combine_chunks()
    nulls = pyarrow.array([None] * len(column), column.type.field("id").type)
    fields = [nulls if field.name == "id" else column.field(field.name) for field in column.type]
    made = pyarrow.StructArray.from_arrays(fields, fields=list(column.type))
    return pyarrow.table({"matbench": made}, metadata=table.schema.metadata)


def test_a_damaged_file_is_one_sentence_wherever_the_damage_is(exported, tmp_path):
    content = exported.read_bytes()
    path = tmp_path / "damaged.parquet"
    step = len(content) // 40
    for place in (*range(4, len(content) - 8, step), len(content) - 3):
        path.write_bytes(
            content[:place] + bytes(255 - byte for byte in content[place : place + 8]) + content[place + 8 :]
        )
        try:
            with opened(path) as found:
                assert [each.payload for each in found.records()] == payloads_of(exported)
        except HistoryError as error:  # else it hit what only other tools read
            assert "\n" not in str(error), str(error)
    for cut in (0, 3, 11, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(HistoryError, match=r"damaged\.parquet' is no Parquet file, or damaged: "):
            opened(path)


def payloads_of(path):
    with opened(path) as found:
        return payloads(found)


def test_what_is_no_export_is_one_sentence(tmp_path):
    foreign = tmp_path / "foreign.parquet"
    parquet.write_table(pyarrow.table({"a": [1]}), foreign)
    with pytest.raises(HistoryError, match="is a Parquet file, but no export of a history"):
        opened(foreign)
    with pytest.raises(HistoryError, match=r"cannot read .*missing\.parquet: "):
        opened(tmp_path / "missing.parquet")
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(HistoryError, match=r"pipe\.parquet: it is no regular file"):
        opened(tmp_path / "pipe.parquet")


def test_a_directory_is_an_export_if_one_of_its_files_is(exported, tmp_path):
    parquet.write_table(pyarrow.table({"a": [1]}), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    os.mkfifo(tmp_path / "c.parquet")
    assert not is_export(tmp_path)
    os.remove(tmp_path / "c.parquet")
    (tmp_path / "d.parquet").write_bytes(exported.read_bytes())
    assert is_export(tmp_path)
    with pytest.raises(HistoryError, match=r"a\.parquet' is a Parquet file, but no export of a history"):
        opened(tmp_path)
    assert not is_export(Path("results"))
