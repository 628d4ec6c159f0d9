"""LTS payloads read back from files: the same answers as from the artifacts, and sentences about what is none."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from builders import speed_files, speed_workload, write_test

from matrix_benchmarking import lts, store, workload
from matrix_benchmarking.analyze.rank import rank
from matrix_benchmarking.analyze.wording import ranking
from matrix_benchmarking.lts.read import PayloadFileError


@pytest.fixture
def speed():
    return speed_workload()


@pytest.fixture
def written(tmp_path, speed):
    """Payloads of three runs in one file, as ``--output-lts`` writes them."""
    for number in (1, 2, 3):
        write_test(tmp_path / "tree" / f"run{number}", {"size": number}, files=speed_files(number * 1.5))
    path = tmp_path / "lts" / "all.json"
    path.parent.mkdir()
    with path.open("wb") as stream:
        lts.write_payloads(speed, store.parse_tree(speed, tmp_path / "tree"), stream, pretty=False)
    return path


def test_an_array_and_single_files_give_the_same_entries(written, speed, tmp_path):
    single = tmp_path / "single"
    single.mkdir()
    for number, each in enumerate(json.loads(written.read_text())):
        (single / f"{number}.json").write_text(json.dumps(each))
    of_array, of_files = lts.read_matrix(speed, written.parent), lts.read_matrix(speed, single)
    for matrix in (of_array, of_files, lts.read_matrix(speed, written), lts.read_matrix(speed, str(written))):
        assert [(e.settings, e.repeat, dict(e.kpis), e.exit_code) for e in matrix] == [
            ({"size": number}, 0, {"speed": number * 1.5}, 0) for number in (1, 2, 3)
        ]
    assert [entry.name for entry in of_array] == ["all.json[0]", "all.json[1]", "all.json[2]"]
    assert [entry.name for entry in of_files] == ["0.json", "1.json", "2.json"]


def test_results_and_payload_are_loaded_on_demand(written, speed):
    entry = next(iter(lts.read_matrix(speed, written.parent)))
    assert entry.results.speed == 1.5
    assert entry.lts.metadata.settings == {"size": 1}


def test_without_a_payload_model_the_rules_of_a_workload_see_results_as_in_its_tree(written, speed):
    def too_fast(payload):
        speed_of = getattr(payload.results, "speed", 0.0)
        return [f"{1.5 / (speed_of - 1.5):.1f} is fast"] if speed_of > 1.0 else []

    def impossible(payload):
        return ["faster than light"] if getattr(payload.results, "speed", 0.0) > 4.0 else []

    strict = dataclasses.replace(speed, warnings=too_fast, implausible=impossible)
    of_tree = store.parse_tree(strict, written.parent.parent / "tree")
    for matrix in (of_tree, lts.read_matrix(strict, written)):
        first, *others = [entry.warnings for entry in matrix]
        assert others == [("1.0 is fast",), ("0.5 is fast",)]
        assert first == () or "ZeroDivisionError" in first[0]
        assert [entry.implausible for entry in matrix] == [(), (), ("faster than light",)]


@pytest.mark.parametrize("name", ["encoder_bench", "encoder_digits"])
def test_the_sample_gives_the_same_verdict_from_its_payloads(repository, tmp_path, name):
    encoder = workload.load("encoder_bench")
    matrix = store.parse_tree(encoder, repository / "data" / "samples" / name)
    with (tmp_path / "all.json").open("wb") as stream:
        lts.write_payloads(encoder, matrix, stream, pretty=True)
    again = lts.read_matrix(encoder, tmp_path)
    assert [entry.warnings for entry in again] == [entry.warnings for entry in matrix]
    assert [entry.implausible for entry in again] == [entry.implausible for entry in matrix]
    assert not any(entry.problems for entry in again)
    said = [[str(each) for each in ranking.verdict(rank(each, encoder))] for each in (matrix, again)]
    assert said[0] == said[1]


def test_what_is_no_payload_is_noted_and_left_out(written, speed):
    good = json.loads(written.read_text())[0]
    files = {
        "text.json": "no JSON",
        "number.json": "5",
        "list.json": "[1, 2]",
        "empty.json": "",
        "code.json": json.dumps({**good, "metadata": {**good["metadata"], "exit_code": "0"}}),
        "other.json": json.dumps({"metadata": {"workload": "other", "settings": {}}, "kpis": {}}),
        "nothing.json": "{}",
        "nan.json": json.dumps(good).replace("1.5", "NaN"),
        "settings.json": json.dumps({**good, "metadata": {**good["metadata"], "settings": {"a": [1]}}}),
        ".hidden.json": "no JSON",
        "notes.txt": "no JSON",
    }
    for name, content in files.items():
        (written.parent / name).write_text(content)
    (written.parent / "binary.json").write_bytes(b"\xff\xfe\x00")
    matrix = lts.read_matrix(speed, written.parent)
    assert len(matrix) == 3
    assert len(matrix.notes) == 11
    assert any("code.json: no LTS payload: its exit_code is '0', and no whole number" in note for note in matrix.notes)
    assert "1 payloads of workload 'other' were left out" in matrix.notes


def test_a_payload_of_an_older_model_is_read_and_says_so(written, speed):
    payloads = json.loads(written.read_text())
    payloads[0]["metadata"]["was_there_once"] = 1
    written.write_text(json.dumps(payloads))
    first, second, _ = lts.read_matrix(speed, written.parent)
    assert dict(first.kpis) == {"speed": 1.5}
    assert "was_there_once" in str(first.problems[0])
    assert first.lts.results.speed == 1.5
    assert second.problems == ()


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()])
def test_a_place_without_payloads_is_a_sentence(tmp_path, speed, make):
    place = tmp_path / "place"
    make(place)
    with pytest.raises(PayloadFileError, match=r"does not exist|no LTS payload of workload 'speed' found"):
        lts.read_matrix(speed, place)


def test_a_pipe_in_the_place_of_a_file_does_not_block(written, speed):
    import os

    os.mkfifo(written.parent / "pipe.json")
    assert len(lts.read_matrix(speed, written.parent)) == 3


def test_a_link_that_leads_out_is_not_followed_into_directories(written, speed, tmp_path):
    (written.parent / "link").symlink_to(tmp_path, target_is_directory=True)
    assert len(lts.read_matrix(speed, Path(written.parent))) == 3


def test_a_run_counts_once_however_often_it_is_there(written, speed):
    payloads = json.loads(written.read_text())
    same, other = payloads[0], json.loads(json.dumps(payloads[1]))
    same["metadata"]["test_uuid"] = same["metadata"]["test_uuid"].upper()
    other["kpis"]["speed"]["value"] = 99.0
    (written.parent / "again.json").write_text(json.dumps(payloads[0]))
    (written.parent / "same.json").write_text(json.dumps(same))
    (written.parent / "zz-other.json").write_text(json.dumps(other))
    matrix = lts.read_matrix(speed, written.parent)
    assert sorted(entry.kpis["speed"] for entry in matrix) == [1.5, 3.0, 4.5]
    assert any("the same payload as again.json" in note for note in matrix.notes)
    assert "zz-other.json: left out: another content under the id of all.json[1]" in matrix.notes


@pytest.mark.parametrize("content", ["[" * 200_000, '{"a":' * 5000 + "1" + "}" * 5000])
def test_a_file_that_is_nested_too_deep_is_noted(written, speed, content):
    (written.parent / "deep.json").write_text(content)
    matrix = lts.read_matrix(speed, written.parent)
    assert len(matrix) == 3
    assert any("deep.json" in note for note in matrix.notes)


@pytest.mark.parametrize("value", ["9", None, True, 10**400])
def test_a_kpi_that_is_no_number_is_noted(written, speed, value):
    payloads = json.loads(written.read_text())
    payloads[0]["kpis"]["speed"]["value"] = value
    written.write_text(json.dumps(payloads))
    matrix = lts.read_matrix(speed, written.parent)
    assert len(matrix) == 2
    assert any("should be a number" in note for note in matrix.notes)


def test_what_a_payload_says_of_its_kpis_is_kept_whatever_the_workload_says_today(written, speed, tmp_path):
    payloads = json.loads(written.read_text())
    for each in payloads:
        each["kpis"]["speed"] |= {"unit": "km/h", "help": "How fast", "lower_better": True, "labels": {"size": "old"}}
    written.write_text(json.dumps(payloads))
    again = tmp_path / "again.json"
    with again.open("wb") as stream:
        lts.write_payloads(speed, lts.read_matrix(speed, written), stream, pretty=False)
    assert [each["kpis"] for each in json.loads(again.read_text())] == [each["kpis"] for each in payloads]


def test_a_kpi_that_its_results_do_not_make_is_doubted(written, speed):
    payloads = json.loads(written.read_text())
    payloads[0]["kpis"]["speed"]["value"] = 9.0
    payloads[1]["kpis"]["speed"] |= {"value": 0.0045, "unit": "km/s"}  # which is said elsewhere
    written.write_text(json.dumps(payloads))
    doubted, *others = lts.read_matrix(speed, written)
    (said,) = doubted.warnings
    assert said.startswith("speed is 9") and said.endswith("it was changed by hand, or computed otherwise")
    assert not any(one.warnings for one in others)
