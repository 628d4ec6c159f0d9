"""The series that got worse as lines that GitHub Actions shows on the page of a run.

A step shows ten, and an analysis has no more: where there are more series, the last line says how many.
See https://docs.github.com/actions/reference/workflow-commands-for-github-actions.
"""

from __future__ import annotations

from ..verdict.model import Analysis
from .one_line import one_line
from .worse import Worse, worse

AT_MOST = 10


def error_lines(analysis: Analysis) -> list[str]:
    """At most :data:`AT_MOST` lines; none for an analysis that doesn't fail."""
    found = worse(analysis)
    if len(found) <= AT_MOST:
        return [_line(analysis, one) for one in found]
    rest = len(found) - AT_MOST + 1
    last = error(f"{one_line(analysis.workload, 100)}: {rest} more series", f"… and {rest} more series are worse.")
    return [*(_line(analysis, one) for one in found[: AT_MOST - 1]), last]


def error(title: str, message: str) -> str:
    """One ``::error`` line; line breaks of *message* are shown as such."""
    return f"::error title={_escape_property(title)}::{_escape(message)}"


def _line(analysis: Analysis, one: Worse) -> str:
    title = f"{one_line(analysis.workload, 60)}: {one_line(one.alarm.kpi, 60)} is worse"
    accept = one_line(one.accept, 100)
    return error(title, "\n".join(filter(None, [one_line(one.sentence, 1000), accept])))


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
