"""What a run was measured together with comes from its directory into the entry, the index and the payload."""

from __future__ import annotations

import json
from pathlib import Path

import platformdirs
import pytest
from builders import speed_files, speed_workload, write_test

from matrix_benchmarking import lts, store
from matrix_benchmarking.lts.payloads import json_bytes, payload_document, payload_model, validate

BLOCK = json.dumps({"version": 1, "campaign": "night", "round": 2})


@pytest.fixture(autouse=True)
def user_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("user-cache")))
    return Path(platformdirs.user_cache_dir("matbench"))


def block(entry):
    return entry.campaign, entry.round


@pytest.mark.parametrize("own_id", [None, "3f0d6c1e-8a53-4c1b-9a55-0d2a1c7be001"])
def test_it_changes_nothing_of_what_identifies_a_run(tmp_path, own_id):
    files = speed_files(3) | ({".uuid": own_id} if own_id else {})
    write_test(tmp_path / "one" / "a", {"vus": 1}, files=files)
    write_test(tmp_path / "two" / "a", {"vus": 1}, files={**files, "block.json": BLOCK})
    (one,), (two,) = (store.parse_tree(speed_workload(), tmp_path / name) for name in ("one", "two"))
    assert (block(one), block(two)) == ((None, None), ("night", 2))
    assert (one.test_uuid, one.measurement, one.settings) == (two.test_uuid, two.measurement, two.settings)
    documents = [payload_document(speed_workload(), entry) for entry in (one, two)]
    assert (documents[1]["metadata"].pop("campaign"), documents[1]["metadata"].pop("round")) == ("night", 2)
    assert documents[0] == documents[1]


def test_a_run_without_it_has_the_payload_that_it_had_before(tmp_path):
    write_test(tmp_path / "a", {"vus": 1}, files=speed_files(3))
    (entry,) = store.parse_tree(speed_workload(), tmp_path)
    payload, problems = validate(payload_model(speed_workload()), speed_workload(), entry)
    assert problems == []
    assert not {"campaign", "round"} & json.loads(json_bytes(payload))["metadata"].keys()


def test_the_cache_does_not_hide_that_it_changed_and_the_index_keeps_it(tmp_path):
    directory = write_test(tmp_path / "a", {"vus": 1}, files=speed_files(3))
    calls: list[str] = []
    workload = speed_workload(calls)
    later = '{"version": 1, "campaign": "day"}'
    for content, expected in ((None, (None, None)), (BLOCK, ("night", 2)), (later, ("day", None))):
        if content is not None:
            (directory / "block.json").write_text(content)
        (entry,) = store.parse_tree(workload, tmp_path)
        assert block(entry) == expected
        (indexed,) = store.read_index(workload, tmp_path)
        assert block(indexed) == expected
        assert indexed.lts.metadata.__dict__.get("campaign") == expected[0]
    assert calls == ["a"]


def test_a_damaged_record_is_a_problem_of_its_run(tmp_path):
    write_test(tmp_path / "a", {"vus": 1}, files={**speed_files(3), "block.json": "{"})
    (entry,) = store.parse_tree(speed_workload(), tmp_path)
    (indexed,) = store.read_index(speed_workload(), tmp_path)
    assert [str(problem) for problem in entry.problems] == ["block.json: is no record of a campaign and a round"]
    assert indexed.problems == entry.problems


def test_an_entry_and_the_index_know_when_the_run_took_place(tmp_path):
    times = {"start": "1970-01-01T00:00:01Z", "end": "1970-01-01T01:00:03+01:00"}
    write_test(tmp_path / "a", {"vus": 1}, files={**speed_files(3), "test_start_end.json": json.dumps(times)})
    write_test(tmp_path / "b", {"vus": 2}, files=speed_files(4))
    parsed = store.parse_tree(speed_workload(), tmp_path)
    assert [entry.span_us for entry in parsed] == [(1_000_000, 3_000_000), (None, None)]
    indexed = store.read_index(speed_workload(), tmp_path)
    assert [entry.span_us for entry in indexed] == [(1_000_000, 3_000_000), (None, None)]


def test_it_comes_with_a_cache():
    assert "block.json" in store.COMES_WITH_A_CACHE


def test_a_payload_file_gives_it_back(tmp_path):
    write_test(tmp_path / "tree" / "a", {"vus": 1}, files={**speed_files(3), "block.json": BLOCK})
    workload = speed_workload()
    (entry,) = store.parse_tree(workload, tmp_path / "tree")
    payload, _ = validate(payload_model(workload), workload, entry)
    (tmp_path / "a.json").write_bytes(json_bytes(payload))
    (read,) = lts.read_matrix(workload, tmp_path / "a.json")
    assert block(read) == ("night", 2)
    assert read.problems == ()
