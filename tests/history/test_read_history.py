"""A matrix out of either history: the same entries as from files of its payloads."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from builders import speed_files, speed_workload, write_test
from history_support.payloads import payload, test_id

from matrix_benchmarking import history, lts, store
from matrix_benchmarking.analyze.select.labelled import labelled
from matrix_benchmarking.analyze.select.order import Order
from matrix_benchmarking.analyze.select.series import series_of
from matrix_benchmarking.history import read, record
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.store import TableReader, reader_store
from matrix_benchmarking.workload import Workload


@pytest.fixture
def speed() -> Workload:
    return speed_workload()


def push(place: history.Location, *payloads: dict[str, Any]) -> None:
    with history.open_history(place, writable=True) as kept:
        kept.push(map(record, payloads))


def shown(entry: Entry) -> tuple[Any, ...]:
    return (
        entry.test_uuid,
        entry.campaign,
        entry.round,
        entry.settings,
        entry.repeat,
        dict(entry.kpis),
        entry.exit_code,
        entry.span_us,
        entry.host,
        entry.facts,
        entry.problems,
    )


def test_entries_are_those_of_the_payloads_files_oldest_first(
    place: history.Location, speed: Workload, tmp_path: Path
) -> None:
    in_block = payload(3)
    in_block["metadata"] |= {"campaign": "night", "round": 2}
    payloads = [payload(2), payload(0, time=None), in_block, payload(1, settings={"vus": 1.0, "note": "é <b>"})]
    push(place, *payloads, payload(9, workload="other"))
    matrix = read.read_matrix(speed, place)
    assert [entry.test_uuid for entry in matrix] == [test_id(number) for number in (1, 2, 3, 0)]
    (tmp_path / "all.json").write_text(json.dumps(payloads))
    assert [(entry.campaign, entry.round) for entry in matrix][2] == ("night", 2)
    of_files = {entry.test_uuid: shown(entry) for entry in lts.read_matrix(speed, tmp_path / "all.json")}
    assert {entry.test_uuid: shown(entry) for entry in matrix} == of_files
    assert all(type(entry.settings["vus"]) is float for entry in matrix if "note" in entry.settings)


def test_results_are_there_after_the_history_is_closed_and_artifacts_are_not(
    place: history.Location, speed: Workload
) -> None:
    push(place, payload(7, speed=3.5))
    (entry,) = read.read_matrix(speed, place)
    assert entry.results.speed == 3.5
    assert entry.lts.metadata.repeat == 7
    assert entry.environment.command is None
    assert not entry.location.exists()
    with history.open_history(place, writable=False) as kept:
        assert entry.kept_in == kept.location


def test_a_history_without_runs_of_the_workload_is_a_sentence(place: history.Location, speed: Workload) -> None:
    push(place, payload(1, workload="other"))
    assert len(read.read_matrix(speed, place)) == 0
    with pytest.raises(history.HistoryError, match="there is no run of workload 'speed' in "):
        read.require_matrix(speed, place)


def test_a_place_without_a_history_is_a_sentence(place: history.Location, speed: Workload) -> None:
    with pytest.raises(history.HistoryError, match="'matbench upload_lts' makes it"):
        read.read_matrix(speed, place)


def test_a_run_in_both_is_there_once_with_its_directory_and_new_ones_are_the_newest(
    place: history.Location, speed: Workload, tmp_path: Path
) -> None:
    for number in (1, 2):
        write_test(tmp_path / "tree" / f"run{number}", {"size": number}, files=speed_files(number * 1.5))
    current = store.parse_tree(speed, tmp_path / "tree")
    lines = tmp_path / "lines"
    with lines.open("wb") as stream:
        lts.GoodRuns(speed, Matrix(current.entries[:1]), keep_going=False).write(stream)
    push(place, json.loads(lines.read_text()), payload(1, settings={"size": 1}))
    past = read.with_past(current, read.read_matrix(speed, place))
    assert [entry.kept_in is None for entry in past] == [False, True, True]
    runs = labelled(past, speed)
    found = series_of(runs, speed, speed.kpis["speed"], Order(runs, speed))
    assert [(one.labels, [point.mean for point in one.points]) for one in found.series] == [
        ({"size": 1}, [11.0, 1.5]),
        ({"size": 2}, [3.0]),
    ]


def test_a_row_of_a_table_with_a_new_column_is_there_once(place: history.Location, tmp_path: Path) -> None:
    models_kpis = speed_workload().store.models_kpis
    reader = TableReader(name="t.csv", settings=["size"], kpis=["speed"])
    workload = Workload(name="t", store=reader_store([reader], models_kpis=models_kpis))
    (tmp_path / "t.csv").write_text("size,speed\n1,5\n1,5\n2,7\n")
    lts.GoodRuns(workload, store.parse_tree(workload, tmp_path), keep_going=False).write(lines := io.BytesIO())
    push(place, *map(json.loads, lines.getvalue().splitlines()))
    (tmp_path / "t.csv").write_text("size,speed,note\n1,5,\n1,5,warm\n2,7,\n3,9,\n")
    past = read.with_past(store.parse_tree(workload, tmp_path), read.read_matrix(workload, place))
    assert [(entry.settings["size"], entry.recorded is None) for entry in past] == [
        (1, False), (1, False), (2, False), (3, True)
    ]  # fmt: skip


def files_of(directory: Path, *contents: object) -> Path:
    for number, content in enumerate(contents):
        (directory / f"p{number}.json").write_text(json.dumps(content))
    return directory


def test_what_is_no_payload_is_noted_and_left_out(speed: Workload, tmp_path: Path) -> None:
    none: list[Any] = [{"metadata": {"workload": "speed"}, "kpis": {}}, {}]
    matrix = lts.read_matrix(speed, files_of(tmp_path, payload(1), *none, payload(2, {"speed": None})))
    assert [entry.name for entry in matrix] == ["p0.json", "p3.json"]
    assert matrix.notes == [
        "p1.json: no LTS payload: it has no 'settings'",
        "p2.json: no LTS payload: it has no 'metadata'",
    ]


def test_the_facts_of_a_payload_are_its_time_and_its_labels(speed: Workload, tmp_path: Path) -> None:
    made = payload(1, labels={"a": 1}, time="1970-01-01T01:00:00.000001+01:00")
    (entry,) = lts.read_matrix(speed, files_of(tmp_path, made))
    assert entry.facts is not None
    assert (entry.time_us, entry.facts.labels, entry.facts.other_units) == (1, {"a": 1}, {})


def test_a_value_in_another_unit_than_the_workloads_is_unknown(
    place: history.Location, speed: Workload, tmp_path: Path
) -> None:
    payloads = [payload(1, unit="km/h"), payload(2), payload(3, unit="")]
    push(place, *payloads)
    for matrix in (read.read_matrix(speed, place), lts.read_matrix(speed, files_of(tmp_path, *payloads))):
        assert [dict(entry.kpis) for entry in matrix] == [{}, {"speed": 12.0}, {}]
        assert [dict(entry.missing_kpis) for entry in matrix] == [
            {"speed": "in km/h, and the workload says m/s"},
            {},
            {"speed": "in no unit, and the workload says m/s"},
        ]


def test_the_facts_of_a_payload_are_when_it_started_and_where_too(speed: Workload, tmp_path: Path) -> None:
    made = payload(1)
    made["metadata"] |= {"start": "1970-01-01T00:00:00.000002Z", "environment": {"cpu_model": "Xeon", "gpus": [{}]}}
    (entry,) = lts.read_matrix(speed, files_of(tmp_path, made))
    assert (entry.span_us[0], entry.host) == (2, "Xeon")
    (bare,) = lts.read_matrix(speed, files_of(tmp_path, payload(1)))
    assert (bare.span_us[0], bare.host) == (None, None)


@pytest.mark.parametrize("time", ["yesterday", "2026-01-01T00:00:00", 5, None])
def test_a_time_that_is_none_is_unknown(time: Any) -> None:
    from matrix_benchmarking.moments import time_us

    assert time_us(time) is None


def test_a_workload_without_rules_reads_only_the_payloads_whose_times_can_not_be(
    place: history.Location, speed: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    payloads = [payload(0), payload(1, time=None), payload(2), payload(3, time="2200-01-01T00:00:00+00:00"), payload(4)]
    for late, early in ((2, 4), (4, 2)):  # the run 2 began when the run 4 ended, and the other way round
        payloads[late]["metadata"]["start"] = payloads[early]["metadata"]["end"]
    push(place, *payloads)
    asked, record_of = set(), read._Payloads.record

    def record_asked(kept: Any, run: str) -> Any:
        asked.add(run)
        return record_of(kept, run)

    monkeypatch.setattr(read._Payloads, "record", record_asked)
    matrix = read.read_matrix(speed, place)
    found = {entry.test_uuid: (*entry.implausible, *entry.harmless) for entry in matrix}
    assert asked == {test_id(2), test_id(3)}
    assert [found[test_id(number)] for number in (0, 1, 4)] == [(), (), ()]
    assert "ended before it started" in found[test_id(2)][0]
    assert "ended in the future" in found[test_id(3)][0]
