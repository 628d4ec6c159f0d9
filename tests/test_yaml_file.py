"""Files that people write: one reader, which no text ends."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from matrix_benchmarking import yaml_file
from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.yaml_file import load_yaml

TOO_DEEP = "(?:nested more than 200 deep|exceeded maximum nesting depth)"  # ours, or that of PyYAML 6.0.4
DEEP = {"flow": "[" * 200_000, "block": "- " * 200_000, "mapping": "{a: " * 100_000}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_a_file_that_is_nested_too_deep_is_refused_and_does_not_end_the_process(tmp_path, text):
    path = tmp_path / "config.yaml"
    path.write_text(f"matbench:\n  workload: {text}\n" if text[0] != "-" else f"\n{text}")
    with pytest.raises(ConfigError, match=rf"config\.yaml:2: broken YAML: {TOO_DEEP}$"):
        yaml_file.read(path)


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_a_text_that_is_nested_too_deep_is_refused_and_does_not_end_the_process(text):
    with pytest.raises(ValueError, match=f"not valid YAML in line 1: {TOO_DEEP}"):
        load_yaml(text)


@pytest.mark.parametrize("value", ["!!bool x", '!!int ""', '!!float ""', '!!int "-"', '!!float "_"', "!!timestamp x"])
def test_a_value_that_is_not_of_its_tags_kind_is_a_sentence(value):
    with pytest.raises(ValueError, match="not valid YAML"):
        load_yaml(f"a: {value}")


def test_merges_that_grow_without_end_are_refused_or_do_not_grow():
    levels = ["a0: &a0 {x: 1, y: 2}"]
    levels += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 12)]
    try:
        read = load_yaml("\n".join(levels))
    except ValueError as error:
        assert re.fullmatch(r".*line \d: merges \(<<\) make it too large", str(error))
    else:  # from PyYAML 6.0.4 on each key is merged once
        assert read["a11"] == {"x": 1, "y": 2}


def test_nothing_else_reads_yaml(repository: Path):
    sources = [path for name in ("matrix_benchmarking", "projects") for path in (repository / name).rglob("*.py")]
    reads = re.compile(r"\byaml\.(?:\w*load\w*|parse|compose\w*|scan)\(")
    readers = {path.name for path in sources if reads.search(path.read_text(encoding="utf-8"))}
    assert readers == {"yaml_file.py"}
