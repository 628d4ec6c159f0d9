"""The text reports of an analysis as files, under the names that continuous integration is configured with."""

from __future__ import annotations

from pathlib import Path

from ...files import atomic_write
from ..verdict.model import Analysis
from .ci import DEFAULT_PATH, code_quality, junit
from .json_report import json_report
from .markdown import markdown
from .metrics import openmetrics, summary_yaml

MARKDOWN = "regression.md"
JUNIT = "regression.xml"
CODE_QUALITY = "gl-code-quality.json"
METRICS = "metrics.txt"
JSON = "regression.json"
SUMMARY = "summary.yaml"


def write_reports(analysis: Analysis, directory: Path, *, code_quality_path: str = DEFAULT_PATH) -> list[Path]:
    """Write all text reports to *directory*, which is made where it is missing.

    Args:
        code_quality_path: the file of the repository that findings of the code-quality report are shown at.

    Returns:
        what was written.

    Raises:
        OutputError: a file can't be written.
    """
    texts = {
        MARKDOWN: markdown(analysis),
        JUNIT: junit(analysis),
        CODE_QUALITY: code_quality(analysis, code_quality_path),
        METRICS: openmetrics(analysis),
        JSON: json_report(analysis),
        SUMMARY: summary_yaml(analysis),
    }
    return [_write(directory / name, text) for name, text in texts.items()]


def write_summary(analysis: Analysis, path: Path) -> None:
    """Write MatrixBenchmarking's summary alone.

    Raises:
        OutputError: the file can't be written.
    """
    _write(path, summary_yaml(analysis))


def _write(path: Path, text: str) -> Path:
    with atomic_write(path, durable=False) as stream:
        stream.write(text.encode("utf-8", "backslashreplace"))
    return path
