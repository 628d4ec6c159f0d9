"""What an analysis tells the continuous-integration service that it runs under."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import click

from ..analyze.report.annotations import error_lines
from ..analyze.report.markdown import capped, markdown
from ..analyze.verdict.model import Analysis
from ..errors import os_reason
from . import run

SUMMARY_LIMIT_BYTES = 2**20
"""GitHub refuses the summary of a step that is larger."""

_CUT = "The summary of this step is full: the rest of the analysis is in regression.md.\n"


def publish(analysis: Analysis, environment: Mapping[str, str] = os.environ) -> None:
    """Append the analysis to the summary of a GitHub job, and print its ``::error`` lines.

    A summary that can't be written is a warning: it never decides what becomes of the command.
    """
    summary = environment.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            _append(Path(summary), markdown(analysis))
        except (OSError, ValueError) as error:  # ValueError: a null byte in the name
            reason = os_reason(error) if isinstance(error, OSError) else str(error)
            run.warn([f"the summary of this step can't be written to {summary}: {reason}"])
    if environment.get("GITHUB_ACTIONS") == "true":
        for line in error_lines(analysis):
            click.echo(line)


def _append(path: Path, text: str) -> None:
    """Append as much of *text* as the summary may still hold; an earlier step's part stays."""
    with path.open("ab") as stream:
        size = stream.tell()
        content = f"\n{text}" if size else text
        fitting = capped(content, max(SUMMARY_LIMIT_BYTES - size, 0), _CUT)
        stream.write(fitting.encode())
