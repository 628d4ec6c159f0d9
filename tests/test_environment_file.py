"""Where a run took place: read leniently, since it may come from a stranger."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking.plotting.environments import circumstances, recorded
from matrix_benchmarking.recorded import Environment, parse_environment, read_environment

RECORDED = {
    "cpu_model": "Xeon",
    "kernel": "Linux 6.18",
    "gpus": [{"model": "NVIDIA L4", "memory_total_bytes": 1, "driver": "570.1", "power_limit_watts": 72.0}],
    "versions": {"k6": "1.1.0", "cuda": 12.4},
    "command": "matbench benchmark x.yaml",
}


def test_what_is_recorded_is_read(tmp_path):
    (tmp_path / "environment.json").write_text(json.dumps(RECORDED))
    found = read_environment(tmp_path)
    versions = {"k6": "1.1.0", "cuda": "12.4", "GPU driver": "570.1"}
    assert found == Environment("matbench benchmark x.yaml", "Xeon", "Linux 6.18", ("NVIDIA L4",), versions, (72.0,))
    assert recorded(found)["Power limit of the GPUs"] == "72 W"


def test_machines_are_told_apart_by_what_is_recorded_of_them():
    assert parse_environment(RECORDED).host == "Xeon, NVIDIA L4, Linux 6.18"
    assert Environment(command="x", versions={"k6": "1"}).host is None


@pytest.mark.parametrize("content", [None, "", "{", "[]", "3", '"text"', "[" * 100_000])
def test_without_a_readable_record_nothing_is_known(tmp_path, content):
    if content is not None:
        (tmp_path / "environment.json").write_text(content)
    assert read_environment(tmp_path) == Environment()


def test_a_test_that_is_a_file_has_the_environment_of_the_directory_that_it_was_written_into(tmp_path):
    file = tmp_path / "tool" / "run.json"
    file.parent.mkdir()
    file.write_text("{}")
    assert read_environment(file) == Environment()
    (tmp_path / "environment.json").write_text(json.dumps(RECORDED))
    assert read_environment(file) == read_environment(tmp_path) != Environment()


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=9), values, max_size=3),
    max_leaves=8,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(RECORDED, JSON)))
def test_parts_of_another_form_are_left_out(content):
    found = parse_environment(content)
    assert all(isinstance(value, str) for value in (*found.gpus, *found.versions.values()))
    assert found.command is None or isinstance(found.command, str)


def test_what_differs_between_runs_is_said():
    one, other = Environment(cpu_model="A", versions={"k6": "1"}), Environment(cpu_model="B", versions={"k6": "2"})
    assert circumstances([one, one]) == "A, with k6 1"
    assert circumstances([one, other]) == "A or B, with k6 1 or 2"
    assert circumstances([Environment()]) == "an unknown machine"
