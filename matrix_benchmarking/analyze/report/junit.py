"""An analysis as JUnit XML: one test case a series, which fails where the series got worse.

GitLab and Jenkins show the text of a failure, no properties, and drop a second case of the same name: names are
unique. A series that can't be told, and one that was not analysed, is skipped.
"""

from __future__ import annotations

import collections
import io
import re
import xml.etree.ElementTree as ET

from ..select.selection import NotAnalysed
from ..verdict import wording
from ..verdict.model import Analysis, Outcome, SeriesVerdict, Status
from .one_line import one_line
from .worse import Worse, worse

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
        ET.SubElement(case, "skipped", {"message": _attribute(f"can't be told: {wording.untold(verdict)}")})
    elif verdict.outcome is not Outcome.NO_CHANGE or verdict.reruns or verdict.alarms:
        ET.SubElement(case, "system-out").text = "\n".join(_lines(verdict, None))


def _lines(verdict: SeriesVerdict, failure: Worse | None) -> list[str]:
    """The verdict, what people said of its alarms, and what else is to be known."""
    lines = [wording.sentence(verdict) if failure is None else failure.sentence]
    if failure is not None:
        lines += [
            f"p = {wording.probability(verdict.p_value)}, q = {wording.probability(verdict.q_value)}",
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
