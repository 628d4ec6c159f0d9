"""Files that people write: one reader, which no text ends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from matrix_benchmarking import yaml_file
from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.yaml_file import load_yaml

DEEP = {"flow": "[" * 200_000, "block": "- " * 200_000, "mapping": "{a: " * 100_000}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_a_file_that_is_nested_too_deep_is_refused_and_does_not_end_the_process(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(f"matbench:\n  workload: {text}\n" if text[0] != "-" else f"\n{text}")
    with pytest.raises(ConfigError, match=r"config\.yaml:2: broken YAML: nested more than 200 deep$"):
        yaml_file.read(path)


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_a_text_that_is_nested_too_deep_is_refused_and_does_not_end_the_process(text):
    with pytest.raises(ValueError, match="not valid YAML in line 1: nested more than 200 deep"):
        load_yaml(text)


@pytest.mark.parametrize("value", ["!!bool x", '!!int ""', '!!float ""', '!!int "-"', '!!float "_"', "!!timestamp x"])
def test_a_value_that_is_not_of_its_tags_kind_is_a_sentence(value):
    with pytest.raises(ValueError, match="not valid YAML"):
        load_yaml(f"a: {value}")


def test_merges_that_grow_without_end_are_refused():
    levels = ["a0: &a0 {x: 1, y: 2}"]
    levels += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12)]
    with pytest.raises(ValueError, match=r"not valid YAML in line \d: merges \(<<\) make it too large"):
        load_yaml("\n".join(levels))


def test_nothing_else_reads_yaml(repository: Path):
    sources = [path for name in ("matrix_benchmarking", "projects") for path in (repository / name).rglob("*.py")]
    reads = re.compile(r"\byaml\.(?:\w*load\w*|parse|compose\w*|scan)\(")
    readers = {path.name for path in sources if reads.search(path.read_text(encoding="utf-8"))}
    assert readers == {"yaml_file.py"}
