"""An analysis as GitLab's code-quality report, whose findings stand in the widget of a merge request.

GitLab compares the fingerprints of two branches to tell new findings from old and repaired ones; a fingerprint is made
of workload, KPI and labels, never of a value. Severities:

=========  ============================================================================
critical   worse by 10 % or more, and new with the newest version
major      worse by less and new; worse by 10 % or more since earlier; of unknown size
minor      worse by less, since earlier
info       acknowledged by a person: else it would seem to be repaired
=========  ============================================================================
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from ..verdict import wording
from ..verdict.model import Analysis, SeriesVerdict, Status
from .one_line import one_line
from .worse import Worse, worse

DEFAULT_PATH = "config.yaml"
CHECK_NAME = "matbench/regression"
LARGE = 0.1
"""A change of this fraction is a large one."""


def code_quality(analysis: Analysis, path: str = DEFAULT_PATH) -> str:
    """The report, as JSON.

    Args:
        path: the file that the findings are shown at, relative to the root of the repository: what configures the
            benchmark. A finding has to be at some line of some file.
    """
    failing = worse(analysis)
    findings = [_finding(one.verdict, one.sentence, _severity(one), path) for one in failing]
    failing_ids = {one.verdict.id for one in failing}
    acknowledged = {
        verdict.id: (verdict, alarm.reason)
        for verdict, alarm in analysis.alarms(Status.ACKNOWLEDGED)
        if verdict.id not in failing_ids
    }
    for verdict, reason in acknowledged.values():
        said = f"{wording.sentence(verdict)} Acknowledged: {reason or 'no reason given'}."
        findings.append(_finding(verdict, said, "info", path))
    return json.dumps(findings, indent=2, ensure_ascii=False) + "\n"


def _finding(verdict: SeriesVerdict, description: str, severity: str, path: str) -> dict[str, Any]:
    identity = f"{CHECK_NAME}\0{verdict.id}".encode("utf-8", "backslashreplace")
    return {
        "description": one_line(description, 1000),
        "check_name": CHECK_NAME,
        "fingerprint": hashlib.sha256(identity).hexdigest(),
        "severity": severity,
        "location": {"path": path.removeprefix("./"), "lines": {"begin": 1}},
    }


def _severity(one: Worse) -> str:
    if one.fraction is None:
        return "major"
    is_large = abs(one.fraction) >= LARGE
    if one.alarm.is_new:
        return "critical" if is_large else "major"
    return "major" if is_large else "minor"
