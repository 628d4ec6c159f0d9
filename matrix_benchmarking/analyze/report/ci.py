"""An analysis as systems of continuous integration read it.

* Lines that GitHub Actions shows on the page of a run. A step shows ten, and an analysis has no more; see
  https://docs.github.com/actions/reference/workflow-commands-for-github-actions.
* JUnit XML, one test case a series. GitLab and Jenkins show the text of a failure, no properties, and drop a second
  case of the same name: names are unique. A series that can't be told, and one that was not analysed, is skipped.
* GitLab's code-quality report, whose findings stand in the widget of a merge request. GitLab compares the fingerprints
  of two branches to tell new findings from old and repaired ones; a fingerprint is made of workload, KPI and labels,
  never of a value. Severities:

  =========  ============================================================================
  critical   worse by 10 % or more, and new with the newest version
  major      worse by less and new; worse by 10 % or more since earlier; of unknown size
  minor      worse by less, since earlier
  info       acknowledged by a person: else it would seem to be repaired
  =========  ============================================================================
"""

from __future__ import annotations

import collections
import hashlib
import io
import json
import re
import xml.etree.ElementTree as ET
from typing import Any

from ..select.series import NotAnalysed
from ..verdict.model import Analysis, Outcome, SeriesVerdict, Status
from ..wording import verdicts
from ..words import probability
from .markdown import one_line
from .worse import Worse, worse

AT_MOST = 10


def error_lines(analysis: Analysis) -> list[str]:
    """At most :data:`AT_MOST` lines; none for an analysis that doesn't fail."""
    found = worse(analysis)
    if len(found) <= AT_MOST:
        return [_error_line(analysis, one) for one in found]
    rest = len(found) - AT_MOST + 1
    last = error(f"{one_line(analysis.workload, 100)}: {rest} more series", f"… and {rest} more series are worse.")
    return [*(_error_line(analysis, one) for one in found[: AT_MOST - 1]), last]


def error(title: str, message: str) -> str:
    """One ``::error`` line; line breaks of *message* are shown as such."""
    return f"::error title={_escape_property(title)}::{_escape(message)}"


def _error_line(analysis: Analysis, one: Worse) -> str:
    title = f"{one_line(analysis.workload, 60)}: {one_line(one.alarm.kpi, 60)} is worse"
    accept = one_line(one.accept, 100)
    return error(title, "\n".join(filter(None, [one_line(one.sentence, 1000), accept])))


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAME = 250


def junit(analysis: Analysis) -> str:
    """The report: one ``testsuite``."""
    failures = {one.verdict.id: one for one in worse(analysis)}
    # A series that can't be told today may still have an alarm: it fails.
    skipped = sum(one.outcome is Outcome.CANT_TELL and not one.fails for one in analysis.verdicts) + len(
        analysis.not_analysed
    )
    counts = {
        "name": _attribute(f"matbench: {analysis.workload}"),
        "tests": str(len(analysis.verdicts) + len(analysis.not_analysed)),
        "failures": str(len(failures)),
        "errors": "0",
        "skipped": str(skipped),
        "time": "0",
    }
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", counts | {"timestamp": f"{analysis.made_at:%Y-%m-%dT%H:%M:%S}"})
    names = _Names()
    for verdict in analysis.verdicts:
        name = names.unique(verdict.kpi.name, f"{verdict.kpi.name}: {verdict.name}", verdict.id)
        case = _case(suite, analysis, verdict.kpi.name, name)
        _outcome(case, verdict, failures.get(verdict.id))
    for left_out in analysis.not_analysed:
        name = names.unique(left_out.kpi, _left_out_name(left_out), "")
        case = _case(suite, analysis, left_out.kpi, name)
        ET.SubElement(case, "skipped", {"message": _attribute(f"not analysed: {left_out.reason}")})
    ET.indent(suites)
    stream = io.BytesIO()
    ET.ElementTree(suites).write(stream, encoding="utf-8", xml_declaration=True)
    return stream.getvalue().decode() + "\n"


class _Names:
    """Gives each case a name of its own within its class."""

    def __init__(self) -> None:
        self._taken: set[tuple[str, str]] = set()
        self._counts: collections.Counter[tuple[str, str]] = collections.Counter()

    def unique(self, of_class: str, name: str, identifier: str) -> str:
        """*name*; where it is taken, with the start of *identifier*, which doesn't depend on the other series."""
        wanted = _attribute(name, _NAME)
        found = wanted
        if (of_class, found) in self._taken and identifier:
            found = f"{wanted} [{_attribute(identifier, 12)}]"
        while (of_class, found) in self._taken:
            self._counts[of_class, wanted] += 1
            found = f"{wanted} ({self._counts[of_class, wanted] + 1})"
        self._taken.add((of_class, found))
        return found


def _case(suite: ET.Element, analysis: Analysis, kpi: str, name: str) -> ET.Element:
    classname = _attribute(f"{analysis.workload}.{kpi}", _NAME)
    return ET.SubElement(suite, "testcase", {"classname": classname, "name": name, "time": "0"})


def _outcome(case: ET.Element, verdict: SeriesVerdict, failure: Worse | None) -> None:
    if failure is not None:
        attributes = {"message": _attribute(f"worse: {failure.size}, {failure.levels}"), "type": "worse"}
        ET.SubElement(case, "failure", attributes).text = "\n".join(_lines(verdict, failure))
    elif verdict.outcome is Outcome.CANT_TELL:
        ET.SubElement(case, "skipped", {"message": _attribute(f"can't be told: {verdicts.untold(verdict)}")})
    elif verdict.outcome is not Outcome.NO_CHANGE or verdict.reruns or verdict.alarms:
        ET.SubElement(case, "system-out").text = "\n".join(_lines(verdict, None))


def _lines(verdict: SeriesVerdict, failure: Worse | None) -> list[str]:
    """The verdict, what people said of its alarms, and what else is to be known."""
    lines = [verdicts.sentence(verdict) if failure is None else failure.sentence]
    if failure is not None:
        lines += [
            f"p = {probability(verdict.p_value)}, q = {probability(verdict.q_value)}",
            *filter(None, [failure.accept]),
        ]
    for alarm in verdict.alarms:
        if alarm.status is not Status.OPEN:
            reason = f": {alarm.reason}" if alarm.reason else ""
            lines.append(f"Alarm {alarm.id} (since {alarm.first_bad}) is {alarm.status.value}{reason}")
    lines += verdict.notes
    return [_attribute(line, 2000) for line in lines]


def _left_out_name(left_out: NotAnalysed) -> str:
    return f"{left_out.kpi}: {left_out.series}" if left_out.series else left_out.kpi


def _attribute(text: str, limit: int = 500) -> str:
    """*text* in one line, with nothing in it that XML can't hold."""
    return _NOT_XML.sub("", one_line(text, limit)) or "(empty)"


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
        said = f"{verdicts.sentence(verdict)} Acknowledged: {reason or 'no reason given'}."
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
