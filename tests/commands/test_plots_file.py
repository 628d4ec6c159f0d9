"""The list of reports to write, and what is said where it can't be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix_benchmarking.commands import pages
from matrix_benchmarking.errors import ConfigError

GOOD = """
visualize:
- id: all
  generate: ["report: A", "report: B"]
- id: few
  generate: ["report: B", "report: C"]
"""


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "plots.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_ids_all_are_listed_each_once(tmp_path: Path) -> None:
    assert pages.read_plots_file(write(tmp_path, GOOD), "any") == ["report: A", "report: B", "report: C"]


def test_ids_choose(tmp_path: Path) -> None:
    assert pages.read_plots_file(write(tmp_path, GOOD), "any", ["few"]) == ["report: B", "report: C"]


def test_the_committed_file_lists_reports_of_every_workload_and_those_of_its_own(repository: Path) -> None:
    path = repository / "data" / "plots.yaml"
    names = ("Best configuration", "Check", "Compare", "KPI overview", "Error report", "Regression analysis")
    built_in = [f"report: {name}" for name in (*names, "KPI history", "Explore")]
    assert pages.read_plots_file(path, "any") == built_in
    own = ["report: Cost analysis", "report: Sanity checks", "report: Runs"]
    assert pages.read_plots_file(path, "encoder_bench") == [built_in[0], *own, *built_in[1:]]
    assert pages.read_plots_file(path, "any", ["encoder_bench"]) == own


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("visualize: [{id: a, generate: [1]}]", "visualize[0].generate[0] expected text, not the number 1"),
        ("visualise: []", "visualise is not a known field"),
        (
            "visualize:\n- {id: a, generate: []}\n- {id: a, generate: []}",
            "the id 'a' is under visualize twice",
        ),
        ("visualize: [", "broken YAML"),
        ("- a", "expected a mapping"),
        ("", "visualize is missing"),
    ],
)
def test_a_file_of_another_form_is_explained(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=r"plots\.yaml") as caught:
        pages.read_plots_file(write(tmp_path, text), "any")
    assert said in str(caught.value)


def test_an_unknown_id_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'all'"):
        pages.read_plots_file(write(tmp_path, GOOD), "any", ["alll"])


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        pages.read_plots_file(tmp_path / "plots.yaml", "any")
