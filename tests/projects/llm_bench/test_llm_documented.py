"""The table of formats is what the readers say, and the examples for language models can be planned."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from matrix_benchmarking.cli import main


def test_the_table_of_formats_is_that_of_the_readers(repository: Path) -> None:
    spec = importlib.util.spec_from_file_location("llm_tables", repository / "docs" / "llm_tables.py")
    assert spec is not None
    assert spec.loader is not None
    tables = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tables)
    page = (repository / "docs" / "llm_bench.md").read_text(encoding="utf-8")
    assert tables.rendered(page) == page, "run python docs/llm_tables.py"
    assert page.count("|●|") > 20


@pytest.mark.parametrize(("name", "points"), [("llm_aiperf", 24), ("llm_vllm", 12), ("llm_guidellm", 12)])
def test_each_example_is_a_plan(
    repository: Path, name: str, points: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["benchmark", str(repository / "examples" / f"{name}.yaml"), f"--results-dirname={tmp_path}"]) == 0
    assert f"{points} of {points} points to run" in capsys.readouterr().out
