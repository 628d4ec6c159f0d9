"""Which directories of a results tree are tests, and what is said of the others."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from builders import speed_files, speed_workload, write_test

from matrix_benchmarking import store
from matrix_benchmarking.errors import MatbenchError


def parse(root: Path):
    return store.parse_tree(speed_workload(), root)


def names(entries) -> list[str]:
    return [entry.name for entry in entries]


def test_a_directory_with_settings_and_exit_code_is_a_test(tmp_path):
    write_test(tmp_path / "a", {"vus": 1}, files=speed_files(2.0))
    matrix = parse(tmp_path)
    assert names(matrix) == ["a"]
    assert matrix.entries[0].settings == {"vus": 1}
    assert matrix.entries[0].kpis == {"speed": 2.0}


def test_the_results_directory_itself_may_be_the_test(tmp_path):
    write_test(tmp_path / "run", {"vus": 1})
    assert names(parse(tmp_path / "run")) == ["run"]


def test_settings_without_an_exit_code_are_an_unfinished_test_and_no_result(tmp_path):
    write_test(tmp_path / "a", {"vus": 1})
    write_test(tmp_path / "b", {"vus": 2}, exit_code=None, files=speed_files(9.0))
    matrix = parse(tmp_path)
    assert names(matrix) == ["a"]
    assert names(matrix.unfinished) == ["b"]
    assert matrix.unfinished[0].settings == {"vus": 2}
    assert "no exit code" in str(matrix.unfinished[0].problems[0])


def reasons(matrix) -> list[str]:
    return [f"{entry.name}: {problem}" for entry in matrix.unfinished for problem in entry.problems]


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda test: (test / "settings.yaml").unlink(), "has exit_code and no settings.yaml"),
        (
            lambda test: (test / "settings.yaml").rename(test / "settings.yml"),
            "has exit_code and no settings.yaml, but settings.yml",
        ),
        (
            lambda test: ((test / "settings.yaml").unlink(), (test / "settings.yaml").mkdir()),
            "has exit_code, and its settings.yaml is a directory",
        ),
        (
            lambda test: ((test / "settings.yaml").unlink(), (test / "settings.yaml").symlink_to(test.parent)),
            "has exit_code, and its settings.yaml is a directory",
        ),
        (
            lambda test: ((test / "settings.yaml").unlink(), (test / "settings.yaml").symlink_to("nowhere")),
            "settings.yaml is a link that leads nowhere",
        ),
        (
            lambda test: ((test / "settings.yaml").unlink(), (test / "exit_code").unlink()),
            "has 000__run and no settings.yaml",
        ),
    ],
    ids=["deleted", "renamed", "a directory", "a link to a directory", "a link to nothing", "exit code too"],
)
@pytest.mark.parametrize("cached", [True, False])
def test_a_run_that_lost_its_settings_is_reported_and_no_result(tmp_path, damage, reason, cached):
    write_test(tmp_path, {"hw": "l4"}, exit_code=None)
    for vus in (1, 2):
        write_test(tmp_path / f"vus_{vus}", {"vus": vus}, files=speed_files(2.0))
    if cached:
        parse(tmp_path)
    damage(tmp_path / "vus_2")
    matrix = parse(tmp_path)
    assert names(matrix) == ["vus_1"]
    (said,) = reasons(matrix)
    assert said.startswith(f"vus_2: {reason}")
    assert matrix.unfinished[0].settings == ({} if "directory" in reason or "link" in reason else {"hw": "l4"})


def test_a_file_that_the_workload_reads_shows_a_run_that_lost_its_settings(tmp_path):
    workload = speed_workload(important_files=["speed.txt", "*.log", ".uuid"])
    write_test(tmp_path / "a", {"vus": 1}, files={"speed.txt": "1"})
    for name in ("b/speed.txt", "notes/night.log", "notes/.uuid"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
    assert names(store.parse_tree(workload, tmp_path).unfinished) == ["b"]


@pytest.mark.parametrize("name", ["exit_code", "000__run/result.json", "group/exit_code", "group/000__run/result.json"])
def test_a_directory_above_tests_and_the_results_directory_may_hold_anything(tmp_path, name):
    write_test(tmp_path / "group" / "a", {"vus": 1})
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("0")
    matrix = parse(tmp_path)
    assert (names(matrix), matrix.unfinished, matrix.notes) == (["group/a"], [], [])


def test_an_exit_code_of_a_step_is_no_run_of_its_own(tmp_path):
    write_test(tmp_path / "a", {"vus": 1}, exit_code=None, files={"000__run/exit_code": "1", "001__x/y/exit_code": "0"})
    assert reasons(parse(tmp_path)) == ["a: did not finish: there is no exit code"]


def test_neither_is_an_artifact_directory_of_the_workload(tmp_path):
    workload = speed_workload(artifact_dirnames=types.SimpleNamespace(FOLD="fold"), important_files=["speed.txt"])
    write_test(tmp_path / "a", {"vus": 1}, exit_code=None, files={"fold/speed.txt": "1"})
    assert reasons(store.parse_tree(workload, tmp_path)) == ["a: did not finish: there is no exit code"]


def test_a_run_beside_others_below_inherited_settings_is_no_step_whatever_its_name(tmp_path):
    write_test(tmp_path, {"hw": "l4"}, exit_code=None)
    for name in ("000__night", "001__night"):
        write_test(tmp_path / name, {"vus": 1})
    (tmp_path / "000__night" / "settings.yaml").unlink()
    assert names(parse(tmp_path).unfinished) == ["000__night"]


def test_what_is_in_a_run_that_lost_its_settings_is_not_reported_again(tmp_path):
    write_test(tmp_path / "a", {"vus": 1}, files={"000__run/exit_code": "1"})
    (tmp_path / "a" / "settings.yaml").unlink()
    assert names(parse(tmp_path).unfinished) == ["a"]


def test_a_file_skip_silences_a_run_that_lost_its_settings(tmp_path):
    write_test(tmp_path / "a", {"vus": 1})
    write_test(tmp_path / "b", {"vus": 1}, files={"skip": ""})
    (tmp_path / "b" / "settings.yaml").unlink()
    assert parse(tmp_path).unfinished == []


def test_an_exit_code_that_is_a_link_to_nothing_is_no_success(tmp_path):
    write_test(tmp_path / "a", {"vus": 1}, exit_code=None)
    (tmp_path / "a" / "exit_code").symlink_to("nowhere")
    assert reasons(parse(tmp_path)) == ["a: exit_code is a link that leads nowhere, or was removed just now"]


def test_inherited_settings_that_are_a_link_to_nothing_are_said(tmp_path):
    write_test(tmp_path / "a", {"vus": 1})
    (tmp_path / "settings.yaml").symlink_to("nowhere")
    assert reasons(parse(tmp_path)) == ["a: settings.yaml is a link that leads nowhere"]


def test_a_run_without_any_setting_among_others_is_a_problem(tmp_path):
    for name in ("a", "b"):
        write_test(tmp_path / name, {"vus": 1}, files=speed_files(1.0))
    (tmp_path / "b" / "settings.yaml").write_text("")
    good, empty = parse(tmp_path)
    assert good.problems == ()
    assert [str(problem) for problem in empty.problems] == [
        "settings.yaml: gives no settings, and no file above it does; the other tests have some"
    ]
    (tmp_path / "settings.yaml").write_text("hw: l4\n")
    assert not any(entry.problems for entry in parse(tmp_path))


def test_a_workload_without_settings_may_have_none(tmp_path):
    for name in ("a", "b"):
        write_test(tmp_path / name, {})
    assert not any(entry.problems for entry in parse(tmp_path))


def test_settings_above_tests_are_inherited_and_are_no_unfinished_test(tmp_path):
    write_test(tmp_path, {"model": "m", "vus": 0}, exit_code=None)
    write_test(tmp_path / "gpu", {"hw": "l4"}, exit_code=None)
    write_test(tmp_path / "gpu" / "run", {"vus": 1})
    matrix = parse(tmp_path)
    assert matrix.unfinished == []
    assert matrix.entries[0].settings == {"model": "m", "hw": "l4", "vus": 1}


def test_settings_above_unfinished_tests_are_no_unfinished_test_themselves(tmp_path):
    write_test(tmp_path / "gpu", {"hw": "l4"}, exit_code=None)
    write_test(tmp_path / "gpu" / "run", {"vus": 1}, exit_code=None)
    assert names(parse(tmp_path).unfinished) == ["gpu/run"]


def test_tests_inside_a_test_are_not_tests_of_their_own(tmp_path):
    write_test(tmp_path / "a", {"vus": 1})
    write_test(tmp_path / "a" / "000__inner", {"vus": 2})
    assert names(parse(tmp_path)) == ["a"]


def test_a_file_skip_excludes_its_subtree(tmp_path):
    write_test(tmp_path / "a", {"vus": 1})
    write_test(tmp_path / "old" / "b", {"vus": 2})
    (tmp_path / "old" / "skip").touch()
    assert names(parse(tmp_path)) == ["a"]


def test_hidden_directories_are_passed_over(tmp_path):
    write_test(tmp_path / "a", {"vus": 1})
    write_test(tmp_path / ".backup" / "a", {"vus": 1})
    assert names(parse(tmp_path)) == ["a"]


def test_numbers_in_names_are_ordered_by_their_size(tmp_path):
    for vus in (1, 2, 10, 9):
        write_test(tmp_path / f"vus_{vus}", {"vus": vus})
    assert names(parse(tmp_path)) == ["vus_1", "vus_2", "vus_9", "vus_10"]


def test_a_loop_of_links_ends_and_doubles_nothing(tmp_path):
    write_test(tmp_path / "hw" / "a", {"vus": 1})
    (tmp_path / "hw" / "again").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "latest").symlink_to(tmp_path / "hw" / "a")
    assert names(parse(tmp_path)) == ["hw/a"]


def test_a_link_into_a_test_directory_leads_to_no_test(tmp_path):
    write_test(tmp_path / "a", {"vus": 1})
    write_test(tmp_path / "a" / "inner", {"vus": 2})
    (tmp_path / "z").symlink_to(tmp_path / "a" / "inner")
    assert names(parse(tmp_path)) == ["a"]


def test_a_link_out_of_the_tree_is_left_out_and_named(tmp_path):
    write_test(tmp_path / "results" / "a", {"vus": 1})
    write_test(tmp_path / "elsewhere" / "b", {"vus": 2})
    (tmp_path / "results" / "link").symlink_to(tmp_path / "elsewhere")
    matrix = parse(tmp_path / "results")
    assert names(matrix) == ["a"]
    assert any("link: left out" in note and "outside" in note for note in matrix.notes)


def test_a_dangling_link_is_survived(tmp_path):
    write_test(tmp_path / "a", {"vus": 1})
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert names(parse(tmp_path)) == ["a"]


def test_an_unreadable_directory_is_left_out_and_named(tmp_path):
    """Root reads everything, so the parse runs as another user."""
    write_test(tmp_path / "a", {"vus": 1})
    write_test(tmp_path / "secret" / "b", {"vus": 2})
    (tmp_path / "secret").chmod(0)
    if os.geteuid() != 0:
        matrix = parse(tmp_path)
        assert names(matrix) == ["a"]
        assert any(note.startswith("secret: left out") for note in matrix.notes)
        return
    script = (
        "import os, sys\n"
        "from builders import speed_workload\n"
        "from matrix_benchmarking.store.find import find_tests\n"
        "from pathlib import Path\n"
        "os.chdir(sys.argv[1])\n"
        "os.seteuid(65534)\n"
        "found = find_tests(Path('.').absolute(), speed_workload())\n"
        "print([test.path.name for test in found.tests], found.notes)\n"
    )
    for directory in tmp_path.parents:
        if not directory.stat().st_mode & 0o001:
            directory.chmod(0o755)
    tmp_path.chmod(0o755)
    paths = os.pathsep.join([str(Path(__file__).parent.parent), *sys.path])
    result = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
        check=True,
    )
    assert "['a']" in result.stdout
    assert "secret: left out, Permission denied" in result.stdout


def test_a_deep_tree_is_walked_without_recursion(tmp_path):
    write_test(tmp_path / "a", {"vus": 1})
    subprocess.run(["mkdir", "-p", "/".join("d" * 1200)], cwd=tmp_path, check=True)
    try:
        assert names(parse(tmp_path)) == ["a"]
    finally:
        subprocess.run(["rm", "-rf", "d"], cwd=tmp_path, check=True)  # pytest's own removal recurses


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.write_text("x"), "is a file"),
        (lambda path: path.mkdir(), "no test found"),
    ],
)
def test_a_results_directory_that_cannot_be_used_gets_one_clear_sentence(tmp_path, make, sentence):
    make(tmp_path / "results")
    with pytest.raises(MatbenchError, match=sentence):
        parse(tmp_path / "results")
