"""Which directories of a results tree are tests, and what is said of the others."""

from __future__ import annotations

import os
import subprocess
import sys
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
        "from matrix_benchmarking.store import NativeLayout\n"
        "from pathlib import Path\n"
        "os.chdir(sys.argv[1])\n"
        "os.seteuid(65534)\n"
        "found = find_tests(Path('.').absolute(), [NativeLayout()], '.cache')\n"
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
