"""All text reports of an analysis as files."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml
from report_support import analyses

from matrix_benchmarking.analyze.report import ci as files
from matrix_benchmarking.analyze.report.metrics import summary_yaml
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


def test_five_thousand_series_take_seconds(tmp_path: Path) -> None:
    made = analyses.many(5_000)
    begin = time.perf_counter()
    files.write_reports(made, tmp_path)
    assert time.perf_counter() - begin < 30  # 3 s where nothing else runs
