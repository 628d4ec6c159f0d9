"""What ``mb.open`` refuses, and what it says about the line that called it."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
from builders import speed_files, speed_workload, write_test

import matrix_benchmarking as mb
from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.runs import versions
from matrix_benchmarking.workload import Workload


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for number, bench in enumerate(("x", "y", "z", "z")):
        settings = {"bench": bench, "image": "i", "n": number}
        write_test(tmp_path / "tree" / f"{number}", settings, files=speed_files(1.0 + number))
    write_test(tmp_path / "tree" / "failed", {"bench": "z", "image": "i", "n": 9}, exit_code=1)
    write_test(tmp_path / "tree" / "unfinished", {"bench": "z", "image": "i", "n": 8}, exit_code=None)
    return tmp_path / "tree"


@pytest.fixture
def workload() -> Workload:
    return dataclasses.replace(speed_workload(), group_keys=("bench",), variant_keys=("image",))


@pytest.mark.parametrize(
    ("opened", "sentence"),
    [
        (lambda tree, it: mb.open("sqlite:///x.db", tree, workload=it), "sqlite:///x.db is a history"),
        (lambda tree, it: mb.open("sqlite:///x.db", workload=it, history="sqlite:///y.db"), "is a history"),
        (
            lambda tree, it: mb.open(tree, workload=it, minimum_effects={"spee": 0.1}),
            "no KPI 'spee': did you mean 'speed'",
        ),
        (lambda tree, it: mb.open(tree, workload=it, jobs=-3), "`jobs`: -3 is no number of processes from 1 on"),
        (lambda tree, it: mb.open(tree, workload=it, jobs=0), "`jobs`: 0 is no number of processes from 1 on"),
        (lambda tree, it: mb.open(tree, tree / ".." / "tree", workload=it), "a directory is there twice"),
        (lambda tree, it: mb.open(tree, tree.parent / "link", workload=it), "a directory is there twice"),
    ],
)
def test_what_would_be_left_aside_is_refused(
    opened: Callable[[Path, Workload], object], sentence: str, tree: Path, workload: Workload
) -> None:
    (tree.parent / "link").symlink_to(tree)
    with pytest.raises(ConfigError, match=sentence):
        opened(tree, workload)


def test_runs_are_counted_in_one_way(tree: Path, workload: Workload) -> None:
    first, second, *_ = str(mb.open(tree, workload=workload)).splitlines()
    assert first == f"5 runs of speed ({tree})"
    assert second == "1 of them failed; 1 more did not finish"
    assert str(mb.open(tree, workload=workload).where(n=1)).startswith("1 run of speed (")


def test_values_of_numpy_select_as_pythons_do(tree: Path, workload: Workload) -> None:
    runs = mb.open(tree, workload=workload)
    assert len(runs.where(n=numpy.int64(1))) == 1  # type: ignore[arg-type]
    assert len(runs.where(n=numpy.array([1, 2]))) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (lambda runs: runs.where(n=[]), "no value of n is given"),
        (lambda runs: runs.where(n=22), "no test has n=22: known: 0, 1, 2, 3, 8, 9"),
        (lambda runs: runs.to_dataframe("curve"), "no payload has a list of records 'curve': none is known"),
        (lambda runs: runs.compare("1", "2", kpis="spee"), "no KPI 'spee': did you mean 'speed'"),
        (lambda runs: runs.compare(1.4, "1.5"), "a version is named by a text, such as '1.4.0', and not by 1.4"),
        (lambda runs: runs.compare("1.4", None), "a version is named by a text, such as '1.4.0', and not by None"),
    ],
)
def test_what_matches_nothing_is_a_mistake(
    asked: Callable[[mb.Runs], object], sentence: str, tree: Path, workload: Workload
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        asked(mb.open(tree, workload=workload))


def test_one_name_is_as_good_as_a_list_of_one(tree: Path, workload: Workload) -> None:
    assert mb.open(tree, workload=workload, ignoring="n").study.workload.regression.ignored_keys[-1] == "n"


def test_a_group_of_one_point_says_which_it_is(tree: Path, workload: Workload) -> None:
    assert "bench" in str(mb.open(tree, workload=workload).best()).split("One point each")[1]


def test_a_warning_is_about_the_line_that_called(tree: Path, workload: Workload, tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mb.open(tree, workload=workload).upload(f"sqlite:///{tmp_path / 'h.db'}")
    assert {os.path.basename(each.filename) for each in caught} == {os.path.basename(__file__)}


def test_settings_that_look_the_same_are_told_apart_by_their_types(tmp_path: Path, workload: Workload) -> None:
    for number, setting in enumerate((1, "1", 1.0, True, "true", None)):
        settings = {"setting": setting, "version": f"1.{number}", "size": number}
        write_test(tmp_path / str(number), settings, files=speed_files(1.0))
    runs = mb.open(tmp_path, workload=workload)
    for number, setting in enumerate((1, "1", 1.0, True, "true", None)):
        assert [run.settings["size"] for run in runs.where(setting=setting)] == [number]
    assert len(runs.where(setting=[1, True])) == 2
    for wanted, sentence in (
        ({"version": 1.10}, "no test has version=1.1: there it is text, such as '1.0', and types count"),
        ({"size": "2"}, "no test has size=2: there it is no text, such as 0, and types count"),
        ({"version": "1.9"}, "no test has version=1.9: did you mean '1.5'?"),
        ({"setting": 2}, 'no test has setting=2: known: 1, 1, 1.0, "true", null, true'),
    ):
        with pytest.raises(ConfigError) as error:
            runs.where(**wanted)
        assert str(error.value) == sentence


def test_a_dirty_build_of_a_tag_is_where_the_tag_is() -> None:
    find = versions._finder(["a" * 40, "b" * 40], {"v1.2": 1})
    assert [find(name) for name in ("v1.2", "1.2-dirty", "v1.2-dirty", "1.3-dirty")] == [1, 1, 1, None]


def test_a_price_for_payloads_is_said_to_change_nothing(tree: Path, workload: Workload, tmp_path: Path) -> None:
    history = f"sqlite:///{tmp_path / 'h.db'}"
    with pytest.warns(UserWarning, match="left out, failed or unfinished"):
        mb.open(tree, workload=workload).upload(history)
    with pytest.warns(UserWarning, match="`prices` changes nothing here: payloads keep the price"):
        mb.open(history, workload=workload, prices={"cpu-1": 99.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mb.open(tree, workload=workload, prices={"cpu-1": 99.0}, history=history)
        mb.open(history, workload=workload)
