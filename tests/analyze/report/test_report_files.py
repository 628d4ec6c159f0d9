"""All text reports of an analysis as files."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from counted import calls_of
from report_support import analyses

from matrix_benchmarking.analyze.report import ci as files
from matrix_benchmarking.analyze.report.ci import summary_yaml
from matrix_benchmarking.analyze.verdict.model import Analysis
from matrix_benchmarking.errors import OutputError

NAMES = {
    "regression.md",
    "regression.xml",
    "gl-code-quality.json",
    "metrics.txt",
    "regression.json",
    "summary.yaml",
}


def test_every_report_is_written_beside_the_others(any_analysis: Analysis, tmp_path: Path) -> None:
    written = files.write_reports(any_analysis, tmp_path / "new" / "regression")
    assert {path.name for path in written} == NAMES
    assert {path.name for path in (tmp_path / "new" / "regression").iterdir()} == NAMES
    for path in written:
        path.read_bytes().decode("utf-8")


def test_the_summary_alone_can_be_written_anywhere(tmp_path: Path) -> None:
    files.write(tmp_path / "elsewhere.yaml", summary_yaml(analyses.mixed()))
    assert yaml.safe_load((tmp_path / "elsewhere.yaml").read_text())["failures"] == 2


def test_a_directory_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="is not a directory"):
        files.write_reports(analyses.fine(), tmp_path / "file")


def test_reports_take_steps_in_proportion_to_the_series(tmp_path: Path) -> None:
    def calls(count: int) -> int:
        made = analyses.many(count)
        return calls_of(lambda: files.write_reports(made, tmp_path))

    calls(50)  # what is imported late
    assert calls(400) < 5 * calls(100)
