"""``matbench visualize --cfg``: the controls of pages that are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix_benchmarking.cli import main

BEST = "report: Best configuration"


def written(sample: Path, to: Path, *cfg: str, page: str = "report: Cost analysis") -> int:
    results = [f"--results-dirname={sample}", "--workload=encoder_bench", f"--report-dest={to}"]
    return main(["visualize", *results, f"--generate={page}", *(f"--cfg={one}" for one in cfg)])


def test_pages_show_what_is_chosen_of_their_plots(sample: Path, tmp_path: Path) -> None:
    assert written(sample, tmp_path, "latency=avg_latency", page=BEST) == 0
    page = (tmp_path / "best-configuration.html").read_text()
    assert "inputs/s) avg_latency is " in page and "inputs/s) p95_latency is " not in page
    assert written(sample, tmp_path, "minimum_vus=8") == 0
    assert "points below 8 virtual users are left out" in (tmp_path / "cost-analysis.html").read_text()
    assert written(sample, tmp_path) == 0
    assert "are left out" not in (tmp_path / "cost-analysis.html").read_text()


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("minimum_vus=many", "minimum_vus: 'many' is not a number"),
        ("minimum_vus=99999", "minimum_vus: 99999 is above 32"),
        ("minimum_vu=8", "cfg: nothing to choose is called 'minimum_vu': did you mean 'minimum_vus'?"),
        ("limit=50", "cfg: nothing to choose is called 'limit': known: minimum_vus"),
        ("minimum_vus", "'minimum_vus' is not KEY=VALUE"),
    ],
)
def test_a_wrong_choice_is_one_sentence_and_nothing_is_written(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], choice: str, said: str
) -> None:
    assert written(sample, tmp_path / "report", choice) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "report").exists()


def test_an_option_that_is_none_is_said_with_those_that_there_are(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert written(sample, tmp_path / "report", "latency=p95", page=BEST) == 2
    assert "latency: there is no 'p95': known: avg_latency, p95_latency" in capsys.readouterr().err


def test_the_application_has_its_choices_in_its_address(sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = [f"--results-dirname={sample}", "--workload=encoder_bench"]
    assert main(["visualize", *results, "--cfg=latency=avg_latency"]) == 2
    assert "--cfg is for pages that are written" in capsys.readouterr().err
