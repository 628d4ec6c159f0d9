"""Settings given on the command line take the place of the file's, and keep its types; a workload may lie beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix_benchmarking.benchmark import file
from matrix_benchmarking.errors import ConfigError

COMMON = {"version": "1.0.0", "users": 4, "rate": 0.5, "cached": True, "note": None, "sizes": [1, 2]}


def _file(**common):
    content = {"common_settings": common, "expe": {"night": {"size": [1, 2]}}, "script_tpl": "echo"}
    return file.BenchmarkFile.model_validate(content)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("version", "1.10", "1.10"),
        ("version", "", ""),
        ("users", "16", 16),
        ("rate", "2", 2.0),
        ("cached", "False", False),
        ("note", "7", "7"),
        ("sizes", "8", 8),
    ],
)
def test_a_given_value_has_the_type_of_the_one_in_the_file(name, text, value) -> None:
    changed = file.with_settings(_file(**COMMON), [(name, text)]).common_settings
    assert changed == {**COMMON, name: value}
    assert type(changed[name]) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("versionx", "1", "no 'versionx' in common_settings: did you mean 'version'?"),
        ("size", "1", "no 'size' in common_settings"),
        ("users", "many", "users=many: the benchmark file has a whole number there"),
        ("rate", "fast", "rate=fast: the benchmark file has a number there"),
        ("cached", "1", "cached=1: the benchmark file has true or false there"),
    ],
)
def test_what_cannot_be_given_is_a_sentence(name, text, sentence) -> None:
    with pytest.raises(ConfigError) as caught:
        file.with_settings(_file(**COMMON), [(name, text)])
    assert sentence in str(caught.value)


def test_a_setting_that_an_experiment_has_of_its_own_is_not_replaced_in_silence() -> None:
    with pytest.raises(ConfigError, match=r"expe\.night sets size itself: use `filters`=size=1"):
        file.with_settings(_file(size=3), [("size", "1")])


def test_a_workload_file_is_looked_for_beside_the_benchmark_file_then_from_here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    Path("mine/benchmark.yaml").write_text("workload: workload.py\nexpe: {a: {x: 1}}\nscript_tpl: echo\n")
    assert file.read(Path("mine/benchmark.yaml")).workload == "workload.py"
    Path("mine/workload.py").touch()
    assert file.read(Path("mine/benchmark.yaml")).workload == "mine/workload.py"
