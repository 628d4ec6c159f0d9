"""Test directories: begun, finished, set aside, and recognised by their settings."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking.benchmark import run_directory
from matrix_benchmarking.benchmark.run_directory import Outcome, Point
from matrix_benchmarking.errors import MatbenchError, OutputError

POINT = Point("cpu", {"image": "a", "vus": 4}, 1)


def _finished(root, path, point, exit_code=0):
    directory = run_directory.begin(root, Path(path), point)
    run_directory.finish(directory, Outcome(exit_code, throughput=12.5))
    return directory


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "gave None, and no Outcome"),
        (0, "gave 0, and no Outcome"),
        (Outcome("0"), "exit_code is '0', and no whole number"),
        (Outcome(True), "exit_code is True, and no whole number"),
        (Outcome(0, math.nan), "throughput is nan, and no number of at least 0"),
        (Outcome(0, -3.0), "throughput is -3.0, and no number of at least 0"),
        (Outcome(0, "many"), "throughput is 'many', and no number of at least 0"),
        (Outcome(0, error_rate=-0.1), "error_rate is -0.1, and no number of at least 0"),
        (Outcome(0, 1.0, math.inf), "p95_ms is inf, and no number of at least 0"),
    ],
)
def test_what_a_driver_gives_that_can_not_be_is_a_failure_with_a_sentence(given, said):
    assert run_directory.outcome_of_driver(given) == Outcome(
        1, problem=f"the load driver's {said}".replace("'s gave", " gave")
    )
    for good in (Outcome(0), Outcome(3, problem="it fell"), Outcome(0, 0.0, 12)):
        assert run_directory.outcome_of_driver(good) is good


def test_a_finished_run_is_found_by_its_settings_wherever_it_lies(tmp_path):
    _finished(tmp_path, "anywhere/at/all", POINT)
    (found,) = run_directory.scan(tmp_path).values()
    assert (found.done, found.repeat, dict(found.settings)) == (True, 1, {"image": "a", "vus": 4})
    assert found.outcome.throughput == 12.5
    assert POINT.key in run_directory.scan(tmp_path)


def test_the_type_of_a_setting_tells_points_apart(tmp_path):
    _finished(tmp_path, "a", Point("cpu", {"vus": "4"}, 0))
    assert Point("cpu", {"vus": 4}, 0).key not in run_directory.scan(tmp_path)


def test_settings_of_the_directories_above_belong_to_a_run(tmp_path):
    _finished(tmp_path, "a/b", Point("cpu", {"vus": 4}, 0))
    (tmp_path / "a" / "settings.yaml").write_text("image: x\nvus: 5\n")
    assert Point("cpu", {"vus": 4, "image": "x"}, 0).key in run_directory.scan(tmp_path)


def test_of_two_runs_at_the_same_settings_the_one_that_succeeded_counts(tmp_path):
    for path, exit_code in (("a", 1), ("b", 0), ("c", 3)):
        _finished(tmp_path, path, POINT, exit_code)
    assert run_directory.scan(tmp_path)[POINT.key].path.name == "b"


@pytest.mark.parametrize("content", [None, "", "not a number"])
def test_a_run_without_a_whole_exit_code_did_not_finish(tmp_path, content):
    directory = run_directory.begin(tmp_path, Path("a"), POINT)
    if content is not None:
        (directory / "exit_code").write_text(content)
    assert run_directory.scan(tmp_path)[POINT.key].exit_code is None


def test_what_is_run_again_is_set_aside_and_not_found_again(tmp_path):
    directory = run_directory.begin(tmp_path, Path("a/b"), POINT)
    (directory / "evidence").write_text("kept")
    again = run_directory.begin(tmp_path, Path("a/b"), POINT)
    assert not (again / "evidence").exists()
    (aside,) = (tmp_path / run_directory.SET_ASIDE).iterdir()
    assert (aside / "evidence").read_text() == "kept"
    assert len(run_directory.scan(tmp_path)) == 1


def test_settings_that_cannot_be_read_stop_the_plan_with_their_place(tmp_path):
    _finished(tmp_path, "a", POINT)
    (tmp_path / "a" / "settings.yaml").write_text("[broken")
    with pytest.raises(MatbenchError, match=r"a: settings\.yaml is not valid YAML"):
        run_directory.scan(tmp_path)


def test_a_results_directory_that_is_not_there_yet_has_no_runs(tmp_path):
    assert run_directory.scan(tmp_path / "new") == {}


def test_a_file_in_the_place_of_a_directory_is_a_sentence(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(OutputError, match="cannot make"):
        run_directory.begin(tmp_path, Path("a/b"), POINT)


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"version": 2}', '{"version": 1, "speed": 3}', "\x00", "[" * 100_000]
)
def test_a_foreign_outcome_is_no_outcome(tmp_path, content):
    (tmp_path / "outcome.json").write_text(content)
    assert run_directory.read_outcome(tmp_path) is None


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
)


@given(st.dictionaries(st.text(min_size=1, max_size=200).filter(lambda name: name != "repeat"), SCALARS, max_size=5))
def test_any_settings_come_back_with_their_types(tmp_path_factory, settings):
    root = tmp_path_factory.mktemp("root")
    point = Point("cpu", settings, 0)
    directory = run_directory.begin(root, Path("a"), point)
    run_directory.finish(directory, Outcome(0))
    assert yaml.safe_load((directory / "settings.yaml").read_text())["repeat"] == 0
    assert run_directory.scan(root)[point.key].done
