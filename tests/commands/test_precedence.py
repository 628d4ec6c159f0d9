"""Flag, then environment, then preset, then file, then default: for every command's options."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from matrix_benchmarking import config
from matrix_benchmarking.cli import main
from matrix_benchmarking.commands import leaves, options

FILE = """
matbench:
  workload: tiny.py
  test_directory: results
  parse: {filters: "batch_size=1", output_matrix: "-"}
  presets:
    two: {parse.filters: "batch_size=2"}
"""


@pytest.fixture
def selected(capsys: pytest.CaptureFixture[str]) -> Callable[..., int]:
    """The batch size that ``matbench parse`` selects."""

    def run(*arguments: str) -> int:
        assert main(["parse", *arguments]) == 0
        (entry,) = json.loads(capsys.readouterr().out)
        return int(entry["settings"]["batch_size"])

    return run


def test_the_file_gives_what_nothing_else_gives(selected: Callable[..., int]) -> None:
    Path("config.yaml").write_text(FILE)
    assert selected() == 1


def test_a_preset_wins_over_the_file(selected: Callable[..., int]) -> None:
    Path("config.yaml").write_text(FILE)
    assert selected("--preset=two") == 2


def test_the_environment_names_a_preset_and_a_file(
    selected: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("other.yaml").write_text(FILE)
    monkeypatch.setenv("MATBENCH_CONFIG", "other.yaml")
    monkeypatch.setenv("MATBENCH_PRESET", "two")
    assert selected() == 2


def test_the_environment_wins_over_a_preset(selected: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("config.yaml").write_text(FILE)
    monkeypatch.setenv("MATBENCH_FILTERS", "batch_size=3")
    assert selected("--preset=two") == 3


def test_a_flag_wins_over_the_environment(selected: Callable[..., int], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("config.yaml").write_text(FILE)
    monkeypatch.setenv("MATBENCH_FILTERS", "batch_size=3")
    assert selected("--preset=two", "--filters=batch_size=1") == 1


def test_a_named_file_replaces_the_one_in_the_directory(selected: Callable[..., int]) -> None:
    Path("config.yaml").write_text("matbench: {workload: nowhere}")
    Path("mine.yaml").write_text(FILE)
    assert selected("--config=mine.yaml") == 1


@pytest.mark.parametrize("name", leaves())
def test_every_option_has_its_environment_variable_and_its_key(name: str) -> None:
    command = leaves()[name]
    loaded = config.load(model=options.in_configuration())
    for param in command.params:
        if isinstance(param, click.Argument):
            continue
        assert isinstance(param, options.CommandOption)
        assert param.envvar == f"MATBENCH_{str(param.name).upper()}"
        assert param.help
        if param.key_for(name):
            assert loaded.get(param.key_for(name)) in (None, {}, param.default)


def test_a_misspelt_option_of_any_command_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    Path("config.yaml").write_text("matbench:\n  generate_lts_schema:\n    filex: x\n")
    assert main(["parse"]) == 2
    assert capsys.readouterr().err == (
        "matbench: config.yaml:3: matbench.generate_lts_schema.filex is not a known key: "
        "did you mean 'matbench.generate_lts_schema.file'?\n"
    )
