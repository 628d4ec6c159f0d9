"""The configuration file: cases in config_cases.yaml, and what isn't a case of one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from matrix_benchmarking import config
from matrix_benchmarking.errors import ConfigError

CASES = yaml.safe_load((Path(__file__).parent / "config_cases.yaml").read_text(encoding="utf-8"))
DEMO = {"pretty": bool, "jobs": int, "filters": str, "generate": list[str] | str}
MODEL = config.with_options({"demo": DEMO}, {"results_dirname": "test_directory"})


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any], directory: Path) -> None:
    (directory / "config.yaml").write_text(case["file"], encoding="utf-8")
    if "error" in case:
        with pytest.raises(ConfigError) as raised:
            config.load(preset=case.get("preset"), model=MODEL)
        assert str(raised.value).splitlines() == case["error"]
    else:
        loaded = config.load(preset=case.get("preset"), model=MODEL)
        assert {key: loaded.get(key) for key in case["values"]} == case["values"]


def test_without_any_file_there_are_defaults() -> None:
    assert config.load().model_dump() == config.Config().model_dump()


def test_a_preset_without_any_file_is_an_error() -> None:
    with pytest.raises(ConfigError, match="no preset 'ci': none is known"):
        config.load(preset="ci")


def test_a_file_without_the_block_is_ignored_where_it_is_only_found(directory: Path) -> None:
    (directory / "config.yaml").write_text("other: 1", encoding="utf-8")
    assert config.load().model_dump() == config.Config().model_dump()


def test_a_file_without_the_block_is_an_error_where_it_is_named(directory: Path) -> None:
    (directory / "mine.yaml").write_text("other: 1", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"mine\.yaml has no 'matbench:' block"):
        config.load(Path("mine.yaml"))


def test_a_named_file_that_is_missing_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"cannot read nowhere\.yaml: No such file or directory"):
        config.load(Path("nowhere.yaml"))


def test_a_file_that_is_not_utf8_is_an_error(directory: Path) -> None:
    (directory / "config.yaml").write_bytes(b"matbench: \xff")
    with pytest.raises(ConfigError, match=r"config\.yaml is not UTF-8 text"):
        config.load()


@pytest.mark.parametrize("text", ["matbench: &a [*a]", "&a {matbench: *a}", "a: &a {b: *a}\nmatbench: *a"])
def test_a_file_that_contains_itself_is_refused(directory: Path, text: str) -> None:
    (directory / "config.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError):
        config.load()


def test_the_annotated_file_of_the_repository_is_valid_and_has_every_key(repository: Path) -> None:
    from matrix_benchmarking.commands.options import in_configuration

    path = repository / "config.yaml"
    config.load(path, model=in_configuration())
    text = path.read_text(encoding="utf-8")
    for key in config.keys(config.Config):
        assert f"{key.rpartition('.')[2]}:" in text, f"{key} is not in config.yaml"


def test_the_documentation_names_every_key(repository: Path) -> None:
    text = (repository / "docs" / "configuration.md").read_text(encoding="utf-8")
    for key in config.keys(config.Config):
        assert f"`{key}`" in text, f"{key} is not in docs/configuration.md"
