"""The digest of what was measured: of the recorded artifacts, whatever describes them and wherever they are."""

from __future__ import annotations

import dataclasses
import json
import shutil
import uuid

import pydantic
import pytest
from builders import speed_files, speed_workload, write_test

from matrix_benchmarking import models, store
from matrix_benchmarking.lts.payloads import payload_document, payload_model, validate
from matrix_benchmarking.workload import RegressionKeys


@pytest.fixture
def workload():
    return speed_workload()


def measurements(workload, root, **options):
    return {entry.name: entry.measurement for entry in store.parse_tree(workload, root, **options)}


def test_neither_settings_nor_places_nor_names_take_part_in_it(tmp_path, workload):
    write_test(tmp_path / "one" / "a", {"vus": 1}, files=speed_files(3))
    write_test(tmp_path / "two" / "b", {"vus": 2, "repeat": 4}, exit_code=1, files=speed_files(3))
    (tmp_path / "two" / "b" / "test_start_end.json").write_text(
        json.dumps({"start": "2026-03-01T12:00:00Z", "end": "2026-03-01T12:01:00Z"})
    )
    (one,) = measurements(workload, tmp_path / "one").values()
    (two,) = measurements(workload, tmp_path / "two").values()
    assert one == two is not None


def test_other_bytes_are_another_measurement(tmp_path, workload):
    write_test(tmp_path / "a", {"vus": 1}, files=speed_files(3))
    write_test(tmp_path / "b", {"vus": 1, "repeat": 1}, files=speed_files(4))
    found = measurements(workload, tmp_path)
    assert found["a"] != found["b"]


def test_tests_that_carry_different_ids_are_different_measurements(tmp_path, workload):
    for name in "ab":
        write_test(tmp_path / name, {"vus": 1}, files={**speed_files(3), ".uuid": str(uuid.uuid4())})
    found = measurements(workload, tmp_path)
    assert found["a"] != found["b"]
    shutil.copytree(tmp_path / "a", tmp_path / "other" / "a")
    assert measurements(workload, tmp_path / "other")["a"] == found["a"]


def test_versions_are_measured_anew_unless_tests_carry_their_ids(tmp_path):
    keys = RegressionKeys(comparison_keys=["version"])
    workload = dataclasses.replace(speed_workload(), regression=keys)
    own = str(uuid.uuid4())
    found = []
    for number, (version, batch_size, extra) in enumerate(
        [("1.0", 1, {}), ("1.1", 1, {}), ("1.0", 2, {}), ("1.0", 1, {".uuid": own}), ("1.1", 1, {".uuid": own})]
    ):
        root = tmp_path / str(number)
        write_test(root / "a", {"version": version, "batch_size": batch_size}, files={**speed_files(3), **extra})
        found += measurements(workload, root).values()
    assert found[0] == found[2]
    assert found[3] == found[4]
    assert len(set(found)) == 3


def test_without_bytes_there_is_none(tmp_path, workload):
    write_test(tmp_path / "a", {"vus": 1}, files={".uuid": str(uuid.uuid4())})
    assert measurements(workload, tmp_path) == {"a": None}


def test_one_that_several_tests_of_a_tree_have_is_marked(tmp_path, workload):
    for number, name in enumerate("abc"):
        write_test(tmp_path / name, {"vus": number}, files=speed_files(3 if number < 2 else 5))
    found = measurements(workload, tmp_path)
    assert [found[name].endswith("*") for name in "abc"] == [True, True, False]


def test_it_is_the_same_from_the_cache_and_from_the_index_and_in_the_payload(tmp_path, workload, monkeypatch):
    write_test(tmp_path / "a", {"vus": 1}, files=speed_files(3))
    for name in "bc":
        write_test(tmp_path / name, {"vus": name}, files=speed_files(4))
    monkeypatch.setenv("MATBENCH_STORE_IGNORE_CACHE", "true")
    fresh = measurements(workload, tmp_path)
    monkeypatch.delenv("MATBENCH_STORE_IGNORE_CACHE")
    assert measurements(workload, tmp_path) == fresh
    index = store.read_index(workload, tmp_path)
    assert {entry.name: entry.measurement for entry in index} == fresh
    documents = [payload_document(workload, entry) for entry in index]
    assert [each["metadata"]["measurement"] for each in documents] == list(fresh.values())


def test_a_model_of_the_metadata_that_does_not_know_it_goes_on_working(tmp_path, workload):
    class Metadata(models.ExclusiveModel):
        lts_schema_version: str
        workload: str
        test_uuid: uuid.UUID
        settings: dict[str, models.Scalar]
        repeat: int
        start: pydantic.AwareDatetime | None
        end: pydantic.AwareDatetime | None
        exit_code: int | None
        presets: list[str]
        config: str | None
        missing_kpis: dict[str, str]

    write_test(tmp_path / "a", {"vus": 1}, files=speed_files(3))
    (entry,) = store.parse_tree(workload, tmp_path)
    own = pydantic.create_model("Own", __base__=payload_model(workload), metadata=(Metadata, ...))
    payload, problems = validate(own, workload, entry)
    assert problems == []
    assert payload.metadata.repeat == 0
