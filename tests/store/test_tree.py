"""The parse of whole trees: ids, layouts, executors, and the matrix file."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import io
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from builders import speed_files, speed_workload, write_test

from matrix_benchmarking import lts, plausible, store
from matrix_benchmarking.errors import MatbenchError, SettingsError
from matrix_benchmarking.store import FoundTest, read_key_values
from matrix_benchmarking.workload import load

OWN_ID = "5d9dbd0f-5a63-4b7b-9b0b-0b2f0c7f6b52"


def test_types_are_kept_and_repeats_are_entries(tmp_path):
    for index, value in enumerate([1, "1", 1.0, True]):
        write_test(tmp_path / f"{index}", {"x": value, "repeat": 0})
    write_test(tmp_path / "again", {"x": 1, "repeat": 1})
    matrix = store.parse_tree(speed_workload(), tmp_path)
    assert len(matrix) == 5
    assert matrix.count_records({"x": 1}) == 2
    assert matrix.count_records({"x": "1"}) == matrix.count_records({"x": True}) == 1
    assert list(matrix.variables()) == ["x"]


def test_when_a_test_ran_is_metadata_of_a_default_payload_and_no_result(tmp_path):
    times = '{"start": "2026-01-01T10:00:00Z", "end": "2026-01-01T10:01:00Z"}'
    write_test(tmp_path / "a", {}, files=speed_files(1.0) | {"test_start_end.json": times})
    (entry,) = store.parse_tree(speed_workload(), tmp_path)
    assert vars(entry.lts.results) == {"speed": 1.0}
    assert (entry.lts.metadata.start.minute, entry.lts.metadata.end.minute) == (0, 1)


def test_the_id_is_the_tests_own(tmp_path):
    write_test(tmp_path / "a", {}, files={".uuid": OWN_ID})
    assert store.parse_tree(speed_workload(), tmp_path).entries[0].test_uuid == OWN_ID


def test_without_one_the_id_is_a_digest_that_moves_with_the_test(tmp_path):
    write_test(tmp_path / "x" / "a", {"vus": 1}, files=speed_files(1.0))
    before = store.parse_tree(speed_workload(), tmp_path / "x").entries[0].test_uuid
    shutil.copytree(tmp_path / "x" / "a", tmp_path / "y" / "deep" / "er" / "b")
    assert store.parse_tree(speed_workload(), tmp_path / "y").entries[0].test_uuid == before


@pytest.mark.parametrize(
    "change",
    [
        lambda test: write_test(test, {"vus": 2}),
        lambda test: write_test(test, {"vus": "1"}),
        lambda test: write_test(test, {"vus": 1, "repeat": 1}),
        lambda test: write_test(test, {"vus": 1}, files=speed_files(1.5)),
    ],
    ids=["setting", "type of a setting", "repeat", "content"],
)
def test_the_digest_depends_on_settings_repeat_and_content(tmp_path, change):
    write_test(tmp_path / "a", {"vus": 1}, files=speed_files(1.0))
    before = store.parse_tree(speed_workload(), tmp_path).entries[0].test_uuid
    change(tmp_path / "a")
    assert store.parse_tree(speed_workload(), tmp_path).entries[0].test_uuid != before


def test_identical_copies_have_different_ids_that_stay(tmp_path):
    for name in "ab":
        write_test(tmp_path / name, {"vus": 1}, files=speed_files(1.0))
    ids = [entry.test_uuid for entry in store.parse_tree(speed_workload(), tmp_path)]
    assert len(set(ids)) == 2
    matrix = store.parse_tree(speed_workload(), tmp_path)
    assert [entry.test_uuid for entry in matrix] == ids
    assert matrix.entries[0].lts.metadata.test_uuid == ids[0]


def test_two_tests_with_the_same_own_id_are_named(tmp_path):
    for name in "ab":
        write_test(tmp_path / name, {"vus": 1}, files={".uuid": OWN_ID})
    assert any("same .uuid as b" in note for note in store.parse_tree(speed_workload(), tmp_path).notes)


class KeyValueLayout:
    """Runs hold a file `settings` of key=value lines and a `stdout`, and no exit code."""

    looks_for = "settings beside stdout"

    def find(self, listing):
        return [FoundTest(listing.path)] if {"settings", "stdout"} <= listing.files else []

    def settings_files(self, test, root):
        return [test / "settings"]

    def read_settings(self, test, root):
        return read_key_values((test / "settings").read_text())

    def read_exit_code(self, test):
        return None


def test_a_directory_beside_its_archive_is_said_not_to_be_unpacked(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs.tar.gz").write_bytes(b"")
    with pytest.raises(MatbenchError, match=r"no test found in .*\n  '.*/runs\.tar\.gz' beside it is not unpacked"):
        store.parse_tree(speed_workload(), tmp_path / "runs")


def test_a_hidden_directory_that_holds_tests_is_named_where_there_are_no_others(tmp_path):
    (tmp_path / ".git").mkdir()
    write_test(tmp_path / ".runs" / "a", {"vus": 1})
    with pytest.raises(MatbenchError, match=r"hidden directories .*: --results-dirname=.*/\.runs reads one$"):
        store.parse_tree(speed_workload(), tmp_path)
    shutil.rmtree(tmp_path / ".runs")
    with pytest.raises(MatbenchError, match=r"no test found in [^\n]*$"):
        store.parse_tree(speed_workload(), tmp_path)


def test_a_tree_of_key_value_files_is_read_through_its_own_layout(tmp_path):
    for vus in (1, 2):
        run = tmp_path / f"run_{vus}"
        run.mkdir()
        (run / "settings").write_text(f"vus={vus}\nhost=a b\n")
        (run / "stdout").write_text(f"speed: {vus * 1.5}\n")

    def parse_once(results, test_dir):
        results.speed = float(store.read_text(test_dir / "stdout").split()[1])

    workload = speed_workload(parse_once=parse_once, layouts=(KeyValueLayout(),), important_files=["stdout"])
    for _ in range(2):
        matrix = store.parse_tree(workload, tmp_path)
        assert [(entry.settings, entry.kpis, entry.exit_code) for entry in matrix] == [
            ({"vus": 1, "host": "a b"}, {"speed": 1.5}, None),
            ({"vus": 2, "host": "a b"}, {"speed": 3.0}, None),
        ]
        assert not any(entry.failed for entry in matrix)


class FlatLayout:
    """A flat tree of one JSON file a run, settings and results in it."""

    looks_for = "JSON files"

    def find(self, listing):
        return [FoundTest(listing.path / name) for name in listing.files if name.endswith(".json")]

    def settings_files(self, test, root):
        return [test]

    def read_settings(self, test, root):
        try:
            return json.loads(test.read_text())["settings"]
        except (ValueError, KeyError) as error:
            raise SettingsError(f"not a run: {error}") from error

    def read_exit_code(self, test):
        return None


def flat_workload():
    def parse_once(results, test_file):
        results.speed = store.read_json(test_file)["speed"]

    return speed_workload(parse_once=parse_once, layouts=(FlatLayout(),))


def test_a_flat_tree_of_json_files_is_read_and_nothing_is_written_into_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tree = tmp_path / "flat"
    tree.mkdir()
    for vus in (1, 2):
        (tree / f"{vus}.json").write_text(json.dumps({"settings": {"vus": vus}, "speed": vus}))
    (tree / "broken.json").write_text('{"settings"')
    for _ in range(2):
        matrix = store.parse_tree(flat_workload(), tree)
        assert [entry.kpis["speed"] for entry in matrix] == [1, 2]
        assert [entry.name for entry in matrix.unfinished] == ["broken.json"]
    assert sorted(path.name for path in tree.iterdir()) == ["1.json", "2.json", "broken.json"]
    assert store.clean(flat_workload(), tree) == 2


def test_an_edit_of_a_flat_file_is_seen(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = tmp_path / "flat" / "1.json"
    run.parent.mkdir()
    for speed, vus in ((1, 1), (2, 1), (2, 7)):
        run.write_text(json.dumps({"settings": {"vus": vus}, "speed": speed}))
        entry = store.parse_tree(flat_workload(), run.parent).entries[0]
        assert (entry.kpis["speed"], entry.settings["vus"]) == (speed, vus)


def test_processes_give_the_same_matrix_as_none(sample, tmp_path):
    tree = tmp_path / "sample"
    shutil.copytree(sample, tree)
    workload = load("encoder_bench")
    serial = store.parse_tree(workload, tree, jobs=1)
    store.clean(workload, tree)
    parallel = store.parse_tree(workload, tree, jobs=2)
    assert [(e.name, e.settings, e.kpis, e.test_uuid) for e in parallel] == [
        (e.name, e.settings, e.kpis, e.test_uuid) for e in serial
    ]


def test_two_workloads_are_parsed_in_one_process_side_by_side(tmp_path):
    for name in ("a", "b"):
        write_test(tmp_path / name / "run", {"vus": 1}, files=speed_files(1.0 if name == "a" else 2.0))
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        futures = [executor.submit(store.parse_tree, speed_workload(), tmp_path / name) for name in ("a", "b")]
    assert [future.result().entries[0].kpis["speed"] for future in futures] == [1.0, 2.0]


def test_progress_is_reported_to_the_end(tmp_path):
    for vus in range(5):
        write_test(tmp_path / str(vus), {"vus": vus})
    seen: list[tuple[int, int]] = []
    store.parse_tree(speed_workload(), tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (5, 5)


def test_options_reach_the_parsers(tmp_path):
    write_test(tmp_path / "a", {})

    def parse_always(results, test_dir, import_settings):
        results.speed = test_dir.options["prices"]["x"]

    matrix = store.parse_tree(speed_workload(parse_always=parse_always), tmp_path, options={"prices": {"x": 4.0}})
    assert matrix.entries[0].kpis == {"speed": 4.0}


@pytest.mark.parametrize("pretty", [True, False])
def test_the_matrix_file_lists_all_entries(tmp_path, pretty):
    for vus in (1, 2):
        write_test(tmp_path / str(vus), {"vus": vus}, files=speed_files(vus))
    stream = io.BytesIO()
    lts.write_matrix(store.parse_tree(speed_workload(), tmp_path), stream, pretty=pretty)
    assert json.loads(stream.getvalue()) == [
        {
            "settings": {"vus": vus},
            "repeat": 0,
            "location": str(vus),
            "exit_code": 0,
            "results": {"speed": vus},
        }
        for vus in (1, 2)
    ]


def test_settings_that_cannot_be_read_are_a_problem_of_that_test_alone(tmp_path):
    write_test(tmp_path / "a", {"vus": 1})
    write_test(tmp_path / "b", {"vus": [1, 2]})
    write_test(tmp_path / "c", {"vus": 3}, exit_code=None)
    (tmp_path / "c" / "exit_code").write_text("ok")
    matrix = store.parse_tree(speed_workload(), tmp_path)
    assert [entry.name for entry in matrix] == ["a"]
    assert [(entry.name, str(entry.problems[0])) for entry in matrix.unfinished] == [
        ("b", "settings: 'vus' is a list; a setting is one text, number, true, false or null"),
        ("c", "exit_code holds 'ok', not a number"),
    ]


def test_an_empty_exit_code_is_an_unfinished_test(tmp_path: Path):
    write_test(tmp_path / "a", {"vus": 1})
    (tmp_path / "a" / "exit_code").write_text("")
    matrix = store.parse_tree(speed_workload(), tmp_path)
    assert len(matrix) == 0
    assert "exit_code is empty" in str(matrix.unfinished[0].problems[0])


def test_worker_processes_end_with_a_parse_that_is_killed(sample, tmp_path):
    """kill -9 leaves no chance to tidy up: the workers have to notice by themselves."""
    script = (
        "import os, sys, time\n"
        "from pathlib import Path\n"
        "from matrix_benchmarking import store, workload\n"
        "pids = []\n"
        "def progress(done, total):\n"
        "    children = Path('/proc/self/task', str(os.getpid()), 'children').read_text()\n"
        "    print(children, flush=True)\n"
        "    time.sleep(60)\n"
        "tree = Path(sys.argv[1])\n"
        "store.parse_tree(workload.load('encoder_bench'), tree, jobs=2, progress=progress)\n"
    )
    shutil.copytree(sample, tmp_path / "tree")
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "tree")], stdout=subprocess.PIPE, text=True
    ) as process:
        workers = [int(pid) for pid in process.stdout.readline().split()]
        process.kill()
    assert len(workers) == 2
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < deadline, "workers outlived the parse"
        time.sleep(0.05)


def test_a_script_that_opens_a_tree_is_run_once(sample, tmp_path):
    """Whose processes are spawned, since another thread runs: they'd run a script that guards nothing themselves."""
    shutil.copytree(sample, tmp_path / "tree")
    script = tmp_path / "script.py"
    script.write_text(
        "import threading\n"
        "import matrix_benchmarking as mb\n"
        "print('started', __file__, flush=True)\n"
        "ended = threading.Event()\n"
        "threading.Thread(target=ended.wait, daemon=True).start()\n"
        "runs = mb.open('tree', workload='encoder_bench', jobs=2)\n"
        "print(len(runs.to_dataframe()), __file__)\n"
    )
    ran = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (ran.stderr, ran.returncode) == ("", 0)
    assert ran.stdout.splitlines() == [f"started {script}", f"153 {script}"]


def test_a_name_that_is_not_utf8_can_stand_in_any_output(tmp_path):
    directory = os.fsdecode(os.fsencode(tmp_path) + b"/tree/na\xff")
    write_test(Path(directory), {"vus": 1}, files=speed_files(1.0))
    matrix = store.parse_tree(speed_workload(), tmp_path / "tree")
    assert matrix.entries[0].name == r"na\xff"
    assert matrix.entries[0].results.speed == 1.0
    stream = io.BytesIO()
    lts.write_matrix(matrix, stream)
    assert json.loads(stream.getvalue())[0]["location"] == r"na\xff"


def test_values_that_cannot_be_are_found_in_every_workload_and_kept_in_the_index(tmp_path):
    times = '{"start": "2026-11-21T12:00:00+00:00", "end": "2026-11-21T11:59:00+00:00"}'
    ended = "the run ended before it started: 2026-11-21 11:59:00+00:00 is before 2026-11-21 12:00:00+00:00"
    workload = dataclasses.replace(
        speed_workload(), source=Path(__file__), implausible=lambda lts: plausible.shares(speed=lts.results.speed)
    )
    for speed in (1.0, 2.0):
        write_test(tmp_path / str(speed), {"x": speed}, files=speed_files(speed) | {"test_start_end.json": times})
    matrix = store.parse_tree(workload, tmp_path)
    assert [entry.implausible for entry in matrix] == [(ended,), (ended, "speed is 2, and a share is from 0 to 1")]
    assert [entry.problems for entry in matrix] == [(), ()]
    indexed = store.read_index(workload, tmp_path)
    assert [entry.implausible for entry in indexed] == [entry.implausible for entry in matrix]
