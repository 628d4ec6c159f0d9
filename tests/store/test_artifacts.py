"""Artifact globs, important files, and parsers that go on where an artifact is missing or damaged."""

from __future__ import annotations

import glob
import json
import os
import types

import pytest
from builders import speed_files, speed_workload, write_test

from matrix_benchmarking import store
from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.store import (
    TestDirectory,
    config_get,
    ignore_file_not_found,
    parse_test_config,
    parse_test_start_end,
    parse_test_uuid,
    read_json,
    read_tail,
    read_text,
    register_important_file,
)
from matrix_benchmarking.store.artifacts import ArtifactPath, Recorder
from matrix_benchmarking.store.fingerprint import matching


@pytest.fixture
def test_dir(tmp_path):
    write_test(tmp_path, {}, files=speed_files(1.0))
    return TestDirectory(tmp_path, speed_workload().store)


def test_a_glob_resolves_to_the_directory_of_this_test(test_dir):
    assert str(test_dir.artifact_paths.RUN_DIR) == "000__run"
    assert read_json(test_dir.artifact_paths.RUN_DIR / "result.json") == {"speed": 1.0}


def test_a_glob_without_a_match_is_none(tmp_path):
    write_test(tmp_path, {})
    assert TestDirectory(tmp_path, speed_workload().store).artifact_paths.RUN_DIR is None


def test_of_several_matches_the_last_in_numbered_order_is_taken_and_that_is_said(tmp_path):
    for number in (9, 10, 2):
        (tmp_path / f"{number}__run").mkdir()
    test_dir = TestDirectory(tmp_path, speed_workload().store)
    assert str(test_dir.artifact_paths.RUN_DIR) == "10__run"
    assert test_dir.artifact_paths.RUN_DIR is not None
    assert test_dir.recorder.notes == ["3 directories match '*__run'; 10__run is read"]
    assert test_dir.recorder.problems == []


def test_an_unknown_artifact_directory_is_an_attribute_error(test_dir):
    with pytest.raises(AttributeError, match="no artifact directory OTHER_DIR"):
        _ = test_dir.artifact_paths.OTHER_DIR


def test_two_tests_resolve_their_own_directories(tmp_path):
    (tmp_path / "a" / "1__run").mkdir(parents=True)
    (tmp_path / "b" / "2__run").mkdir(parents=True)
    first, second = (TestDirectory(tmp_path / name, speed_workload().store) for name in "ab")
    assert (str(first.artifact_paths.RUN_DIR), str(second.artifact_paths.RUN_DIR)) == ("1__run", "2__run")


def test_everything_opened_or_looked_for_is_recorded(test_dir):
    with open(test_dir.artifact_paths.RUN_DIR / "result.json") as stream:
        json.load(stream)
    os.path.exists(test_dir / "missing")
    register_important_file(test_dir, "also-missing").exists()
    seen = test_dir.recorder.sightings
    assert {name: sighting.exists for name, sighting in seen.items()} == {
        "000__run/result.json": True,
        "missing": False,
        "also-missing": False,
    }


def test_a_file_that_is_not_declared_important_is_noted(tmp_path):
    write_test(tmp_path / "a", {}, files=speed_files(1.0) | {"extra.txt": "x"})

    def parse_once(results, test_dir):
        results.text = read_text(test_dir / "extra.txt")

    for _ in range(2):  # the second time from the cache
        notes = store.parse_tree(speed_workload(parse_once=parse_once), tmp_path).notes
        assert any("'extra.txt', which is not one of the workload's important files" in note for note in notes)


def test_missing_important_files_are_listed(tmp_path):
    write_test(tmp_path / "a", {})
    entry = store.parse_tree(speed_workload(), tmp_path).entries[0]
    assert entry.missing_files == ("*__run/result.json", ".uuid")
    assert entry.missing_kpis == {"speed": "not known for this test"}
    write_test(tmp_path / "other" / "a", {})
    entry = store.parse_tree(speed_workload(parse_once=lambda results, test_dir: None), tmp_path / "other").entries[0]
    assert entry.missing_kpis["speed"].endswith("no 'speed' (not there: *__run/result.json)")


def test_a_missing_artifact_gives_none():
    @ignore_file_not_found
    def parser():
        raise FileNotFoundError

    assert parser() is None


def test_other_errors_of_a_parser_are_not_swallowed():
    @ignore_file_not_found
    def parser():
        return 1 + "a"

    with pytest.raises(TypeError):
        parser()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b'{"speed": 1', "is not valid JSON: Input data was truncated"),
        (b"\xff\xfe", "is not valid JSON"),
        (b"[" * 100_000, "is n"),
    ],
    ids=["empty", "truncated", "binary", "deep"],
)
def test_a_damaged_json_file_is_a_problem_and_the_rest_is_parsed(tmp_path, content, reason):
    write_test(tmp_path / "a", {"vus": 1}, files=speed_files(1.0))
    write_test(tmp_path / "b", {"vus": 2}, files=speed_files(2.0))
    (tmp_path / "a" / "000__run" / "result.json").write_bytes(content)
    matrix = store.parse_tree(speed_workload(), tmp_path)
    damaged, whole = matrix.entries
    assert str(damaged.problems[0]).startswith(f"000__run/result.json: {reason}")
    assert damaged.results.speed is None
    assert whole.kpis == {"speed": 2.0}


def test_a_parser_that_stops_is_the_problem_of_that_test_alone(tmp_path):
    for vus in (1, 2):
        write_test(tmp_path / str(vus), {"vus": vus}, files=speed_files(vus))

    def parse_once(results, test_dir):
        results.before = 1
        if test_dir.path.name == "1":
            raise KeyError("metrics")

    matrix = store.parse_tree(speed_workload(parse_once=parse_once), tmp_path)
    assert "parse_once stopped: there is no 'metrics' (test_artifacts.py, line" in str(matrix.entries[0].problems[0])
    assert [entry.results.before for entry in matrix] == [1, 1]


def test_a_parser_that_stops_names_the_file_that_it_read_last(tmp_path):
    write_test(tmp_path / "a", {}, files=speed_files(1.0))

    def parse_once(results, test_dir):
        content = read_text(test_dir.artifact_paths.RUN_DIR / "result.json")
        assert test_dir.artifact_paths.RUN_DIR is not None
        results.speed = float(content)

    problem = store.parse_tree(speed_workload(parse_once=parse_once), tmp_path).entries[0].problems[0]
    assert str(problem).startswith("parse_once stopped after it read '000__run/result.json': ValueError: could not")


@pytest.mark.parametrize("leniently", [True, False])
@pytest.mark.parametrize("read", [lambda path: path.open(), lambda path: path.read_bytes(), read_text])
def test_a_directory_in_the_place_of_an_artifact_is_a_sentence_about_it(tmp_path, leniently, read):
    write_test(tmp_path / "a", {})
    (tmp_path / "a" / "000__run" / "result.json").mkdir(parents=True)

    def parse_once(results, test_dir):
        parse = ignore_file_not_found(read) if leniently else read
        results.speed = parse(test_dir.artifact_paths.RUN_DIR / "result.json")

    entry = store.parse_tree(speed_workload(parse_once=parse_once), tmp_path).entries[0]
    assert [str(problem) for problem in entry.problems] == ["000__run/result.json: can't be read: Is a directory"]
    assert hasattr(entry.results, "speed") is leniently


def test_text_of_another_encoding_is_a_sentence_about_its_file(tmp_path):
    write_test(tmp_path / "a", {}, files={"000__run/result.json": ""})
    (tmp_path / "a" / "000__run" / "result.json").write_bytes(b"\xff")

    def parse_once(results, test_dir):
        results.speed = (test_dir.artifact_paths.RUN_DIR / "result.json").read_text()

    problem = store.parse_tree(speed_workload(parse_once=parse_once), tmp_path).entries[0].problems[0]
    assert str(problem) == "000__run/result.json: is not UTF-8 text: invalid start byte at byte 0"


def test_a_pipe_is_refused_and_does_not_block(test_dir):
    os.mkfifo(test_dir.path / "pipe")
    with pytest.raises(ArtifactError, match=r"pipe: is not a regular file"):
        read_text(test_dir / "pipe")


def test_the_tail_of_a_huge_log_is_read_quickly_whatever_its_encoding(test_dir):
    path = test_dir.path / "huge.log"
    with open(path, "wb") as stream:
        stream.truncate(200 << 20)
        stream.seek(0, os.SEEK_END)
        stream.write(b"\xff last line\n")
    assert read_tail(test_dir / "huge.log", 100).endswith("� last line\n")


def test_text_that_is_not_utf8_is_refused_with_its_place(test_dir):
    (test_dir.path / "x.txt").write_bytes(b"abc\xff")
    with pytest.raises(ArtifactError, match=r"x\.txt: is not UTF-8 text: invalid start byte at byte 3"):
        read_text(test_dir / "x.txt")


def test_the_test_config_is_parsed_and_searched(test_dir):
    (test_dir.path / "config.yaml").write_text("tests:\n  load: {vus: 8}\n")
    config = parse_test_config(test_dir)
    assert config_get(config, "tests.load.vus") == 8
    assert config_get(config, "tests.load.rate", None) is None
    with pytest.raises(KeyError, match=r"'tests\.other' is not in the test's config\.yaml"):
        config_get(config, "tests.other")
    assert parse_test_config(test_dir / "000__run") is None


def test_the_uuid_is_parsed_and_anything_else_is_a_problem(test_dir):
    assert parse_test_uuid(test_dir) is None
    (test_dir.path / "x").mkdir()
    (test_dir.path / "x" / ".uuid").write_text("not one")
    assert parse_test_uuid(test_dir / "x") is None
    assert "holds 'not one', not a UUID" in str(test_dir.recorder.problems[0])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"start": "2026-01-01T10:00:00Z", "end": "2026-01-01T11:00:00+01:00"}', None),
        ('{"start": "2026-01-01T10:00:00Z"}', "'end' is not an ISO 8601 time: None"),
        ('{"start": "2026-01-01T10:00:00", "end": "x"}', "'start' has no time zone"),
        ("[1]", "is not of the form"),
    ],
)
def test_start_and_end_need_a_time_zone(test_dir, text, problem):
    (test_dir.path / "test_start_end.json").write_text(text)
    times = parse_test_start_end(test_dir)
    if problem is None:
        assert isinstance(times, types.SimpleNamespace)
        assert times.start == times.end
    else:
        assert problem in str(test_dir.recorder.problems[0])


@pytest.mark.parametrize("name", ["settings.yaml", "exit_code", ".matbench_cache"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_in_the_place_of_a_file_does_not_block(tmp_path, name, kind):
    write_test(tmp_path / "a", {"vus": 1}, files=speed_files(1.0))
    write_test(tmp_path / "b", {"vus": 2}, files=speed_files(2.0))
    path = tmp_path / "a" / name
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    matrix = store.parse_tree(speed_workload(), tmp_path)
    assert "b" in [entry.name for entry in matrix]
    if name != ".matbench_cache":
        assert "not a regular file" in str(matrix.unfinished[0].problems[0])


@pytest.mark.parametrize(
    "pattern",
    [
        "*__k6*/summary.json",
        "00[12]__*/*.json",
        "k6/*",
        "*/.hidden",
        "*",
        ".*/summary.json",
        "*/deep/er.json",
        "*/",
        "a*",
    ],
)
def test_a_pattern_of_a_step_and_a_file_finds_what_glob_finds(tmp_path, pattern):
    for name in (
        "001__k6/summary.json",
        "002__k6_more/summary.json",
        "k6/deep/er.json",
        "k6/.hidden",
        ".x/summary.json",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "003__k6").touch()  # no directory
    (tmp_path / "004__k6").symlink_to("nowhere")
    (tmp_path / "005__k6").mkdir()
    (tmp_path / "005__k6" / "summary.json").symlink_to("nowhere")
    wanted = set(glob.glob(pattern, root_dir=tmp_path))
    assert {each for each in matching(str(tmp_path), pattern) if not each.startswith(".") or "/" in each} == wanted


@pytest.mark.parametrize(
    ("text", "read", "note"),
    [
        (
            '{"a": NaN, "b": [1, -Infinity, NaN]}',
            {"a": None, "b": [1, None, None]},
            "NaN and -Infinity for a number (3 times)",
        ),
        ('{"a": Infinity, "NaN": 1}', {"a": None, "NaN": 1}, "Infinity for a number (once)"),
        ('{"a": -1e999, "b": [NaN, 1.5e3]}', {"a": None, "b": [None, 1500.0]}, "-1e999 and NaN for a number (2 times)"),
    ],
)
def test_numbers_that_json_has_not_are_unknown_and_noted(tmp_path, text, read, note):
    (tmp_path / "summary.json").write_text(text)
    recorder = Recorder(str(tmp_path), ["summary.json"])
    assert read_json(ArtifactPath(recorder, "summary.json")) == read
    assert recorder.notes == [f"summary.json has {note}, read as unknown"]


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN',
        '{"a": Nan, "NaN": 1}',
        '{"NaN": 1,}',
        "NaN",
        "1e999",
        "[" * 100_000 + "NaN",
        '["\\ud800"]',
        "\0[\x001\0]",
    ],
)
def test_what_is_broken_besides_is_no_json(tmp_path, text):
    (tmp_path / "summary.json").write_text(text)
    recorder = Recorder(str(tmp_path), ["summary.json"])
    with pytest.raises(ArtifactError, match=r"is not valid JSON|is nested too deeply"):
        read_json(ArtifactPath(recorder, "summary.json"))
    assert recorder.notes == []


def test_what_cannot_be_looked_at_is_a_problem_and_not_missing(tmp_path):
    (tmp_path / "summary.json").symlink_to("summary.json")
    recorder = Recorder(str(tmp_path), ["summary.json"])
    assert ignore_file_not_found(read_json)(ArtifactPath(recorder, "summary.json")) is None
    (problem,) = recorder.problems
    assert problem.reason.startswith("can't be read: Too many levels of symbolic links")
    with pytest.raises(FileNotFoundError, match=r"other\.json"):
        ArtifactPath(recorder, "other.json").read_bytes()
