"""The text reports of an analysis as files, under the names that continuous integration is configured with."""

from __future__ import annotations

from pathlib import Path

from ...files import atomic_write
from ..verdict.model import Analysis
from .ci import code_quality, junit
from .json_report import json_report
from .markdown import markdown
from .metrics import openmetrics, summary_yaml

MARKDOWN = "regression.md"
JUNIT = "regression.xml"
CODE_QUALITY = "gl-code-quality.json"
METRICS = "metrics.txt"
JSON = "regression.json"
SUMMARY = "summary.yaml"


def write_reports(analysis: Analysis, directory: Path) -> list[Path]:
    """Write all text reports to *directory*, which is made where it is missing, and give their paths.

    Raises:
        OutputError: a file can't be written.
    """
    texts = {
        MARKDOWN: markdown(analysis),
        JUNIT: junit(analysis),
        CODE_QUALITY: code_quality(analysis),
        METRICS: openmetrics(analysis),
        JSON: json_report(analysis),
        SUMMARY: summary_yaml(analysis),
    }
    for name, text in texts.items():
        write(directory / name, text)
    return [directory / name for name in texts]


def write(path: Path, text: str) -> None:
    """Write one report; raises OutputError as above."""
    with atomic_write(path, durable=False) as stream:
        stream.write(text.encode("utf-8", "backslashreplace"))
