"""An analysis as continuous integration reads it: GitHub's annotations, JUnit, GitLab's code quality and metrics, sums.

GitHub shows ten lines a step (https://docs.github.com/actions/reference/workflow-commands-for-github-actions). GitLab
and Jenkins show the text of a JUnit failure, no properties, and drop a second case of the same name. GitLab tells new
findings by their fingerprints, so these are made of workload, KPI and labels, never of a value. What is acknowledged
stays, as information: else it would seem to be repaired.

In MatrixBenchmarking's summary a *point* is one KPI of one entry, and an *entry* what a series is without its KPI: one
set of labels. The metrics have few families, whose names and labels are the same in each analysis, so that what a merge
request changes stands in GitLab's widget.
"""

from __future__ import annotations

import collections
import hashlib
import io
import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import yaml

from ...files import atomic_write
from ...filters import exact
from ...lts.exports import escape, label_name
from ..verdict.model import Analysis, Outcome, SeriesVerdict, Status
from ..wording import analyses, verdicts
from ..wording.analyses import broken, without_a_good_run
from ..words import count_of, probability
from .json_report import json_report
from .markdown import Worse, markdown, one_line, worse

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


AT_MOST = 10


class _Failure(msgspec.Struct, frozen=True):
    """Something that makes an analysis fail."""

    title: str
    sentence: str
    identity: str  # which no value changes
    severity: str
    accept: str = ""  # how to, if it is meant


def _failures(analysis: Analysis) -> Iterator[_Failure]:
    workload, suspected = analysis.workload, "{} is suspected to be worse"
    for one in worse(analysis):
        of = one.verdict.id, _severity(one), one_line(one.accept, 100)
        yield _Failure(f"{one_line(one.alarm.kpi, 60)} is worse", one.sentence, *of)
    for each in analysis.also_failing:
        yield _Failure(suspected.format(one_line(each.kpi.name, 60)), verdicts.sentence(each), each.id, "minor")
    for together in analysis.failing_together:
        kpi, sentence = together.kpi.name, verdicts.over_all(together)
        yield _Failure(suspected.format(one_line(kpi, 60)), sentence, f"{workload}\0{kpi}\0{OVER_ALL}", "minor")
    for version in analysis.without_a_good_run:
        yield _Failure(NOT_JUDGED, without_a_good_run(version), f"{workload}\0{version}", "major")
    for sentence in analysis.fails_more:
        yield _Failure(FAILS_MORE, sentence, f"{workload}\0{FAILS_MORE}", "major")


def error_lines(analysis: Analysis) -> list[str]:
    """At most :data:`AT_MOST` lines; none for an analysis that doesn't fail."""
    name, found = one_line(analysis.workload, 60), list(_failures(analysis))
    shown = found if len(found) <= AT_MOST else found[: AT_MOST - 1]
    lines = [error(f"{name}: {one.title}", f"{one_line(one.sentence, 1000)}\n{one.accept}".rstrip()) for one in shown]
    are = "are worse, or may be" if analysis.fails_on_suspected else "are worse"
    rest = len(found) - len(shown)
    return [*lines, *([error(f"{name}: {rest} more series", f"… and {rest} more series {are}.")] if rest else [])]


def error(title: str, message: str) -> str:
    """One ``::error`` line; line breaks of *message* are shown as such."""
    title, message = (text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A") for text in (title, message))
    return f"::error title={title.replace(':', '%3A').replace(',', '%2C')}::{message}"


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAME = 250
OVER_ALL = "over all series together"
NOT_JUDGED, FAILS_MORE = "a version was not judged", "runs fail more often"


def junit(analysis: Analysis) -> str:
    """The report: one ``testsuite``."""
    failures = {one.verdict.id: one for one in worse(analysis)}
    suspected = {one.id for one in analysis.also_failing}
    left_out, more_failing = analysis.not_analysed, [*analysis.failing_together, *broken(analysis)]
    # A series that can't be told today may still have an alarm: it fails.
    untold = sum(one.outcome is Outcome.CANT_TELL and not one.fails for one in analysis.verdicts)
    counts = {
        "name": _attribute(f"matbench: {analysis.workload}"),
        "tests": str(len(analysis.verdicts) + len(more_failing) + len(left_out)),
        "failures": str(analysis.failures),
        "errors": "0",
        "skipped": str(untold + len(left_out)),
        "time": "0",
    }
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", counts | {"timestamp": f"{analysis.made_at:%Y-%m-%dT%H:%M:%S}"})
    taken = collections.Counter[tuple[str, str]]()

    def case(kpi: str, series: str, identity: str = "") -> ET.Element:
        """A case whose name no other one of its KPI has, by the id of its series, which doesn't depend on others."""
        name = _attribute(f"{kpi}: {series}" if series else kpi, _NAME)
        if taken[kpi, name] and identity:
            name = f"{name} [{_attribute(identity, 12)}]"
        taken[kpi, name] += 1
        name = name if taken[kpi, name] == 1 else f"{name} ({taken[kpi, name]})"
        classname = _attribute(f"{analysis.workload}.{kpi}", _NAME)
        return ET.SubElement(suite, "testcase", {"classname": classname, "name": name, "time": "0"})

    for verdict in analysis.verdicts:
        of_series = case(verdict.kpi.name, verdict.name, verdict.id)
        if verdict.id in suspected:
            _fails(of_series, Outcome.SUSPECTED, verdicts.size(verdict), _lines(verdict, None))
        else:
            _outcome(of_series, verdict, failures.get(verdict.id))
    for together in analysis.failing_together:
        sentence = _attribute(verdicts.over_all(together), 2000)
        _fails(case(together.kpi.name, OVER_ALL), Outcome.REGRESSION, OVER_ALL, [sentence])
    no_series = [("no good run", version, without_a_good_run(version)) for version in analysis.without_a_good_run]
    no_series += [(FAILS_MORE, "", sentence) for sentence in analysis.fails_more]
    for kind, which, sentence in no_series:
        ET.SubElement(case(kind, which), "failure", {"message": _attribute(sentence), "type": kind})
    for one in left_out:
        reason = {"message": _attribute(f"not analysed: {one.reason}")}
        ET.SubElement(case(one.kpi, one.series), "skipped", reason)
    ET.indent(suites)
    stream = io.BytesIO()
    ET.ElementTree(suites).write(stream, encoding="utf-8", xml_declaration=True)
    return stream.getvalue().decode() + "\n"


def _fails(case: ET.Element, outcome: Outcome, size: str, lines: Sequence[str]) -> None:
    attributes = {"message": _attribute(f"{outcome.value}: {size}"), "type": outcome.value}
    ET.SubElement(case, "failure", attributes).text = "\n".join(lines)


def _outcome(case: ET.Element, verdict: SeriesVerdict, failure: Worse | None) -> None:
    if failure is not None:
        _fails(case, Outcome.REGRESSION, f"{failure.size}, {failure.levels}", _lines(verdict, failure))
    elif verdict.outcome is Outcome.CANT_TELL:
        ET.SubElement(case, "skipped", {"message": _attribute(f"can't be told: {verdicts.untold(verdict)}")})
    elif verdict.outcome is not Outcome.NO_CHANGE or verdict.reruns or verdict.alarms:
        ET.SubElement(case, "system-out").text = "\n".join(_lines(verdict, None))


def _lines(verdict: SeriesVerdict, failure: Worse | None) -> list[str]:
    """The verdict, what people said of its alarms, and what else is to be known."""
    lines = [verdicts.sentence(verdict)]
    if failure is not None:
        known = {"p": probability(verdict.p_value), "q": probability(verdict.q_value)}
        chance = ", ".join(
            f"{name} {value if value.startswith('<') else f'= {value}'}" for name, value in known.items()
        )
        lines = [failure.sentence, chance, *filter(None, [failure.accept])]
    for alarm in verdict.alarms:
        if alarm.status is not Status.OPEN:
            reason = f": {alarm.reason}" if alarm.reason else ""
            name = " ".join(filter(None, ("Alarm", alarm.id)))
            lines.append(f"{name} (since {alarm.first_bad}) is {alarm.status.value}{reason}")
    lines += verdict.notes
    return [_attribute(line, 2000) for line in lines]


def _attribute(text: str, limit: int = 500) -> str:
    """*text* in one line, with nothing in it that XML can't hold."""
    return _NOT_XML.sub("", one_line(text, limit)) or "(empty)"


PATH = "config.yaml"  # a finding has to be at some line of some file: at what configures the benchmark
CHECK_NAME = "matbench/regression"
LARGE = 0.1  # a change of this fraction is a large one


def code_quality(analysis: Analysis) -> str:
    """The report, as JSON."""
    failures = list(_failures(analysis))
    findings = [_finding(one.identity, one.sentence, one.severity) for one in failures]
    failing = {one.identity for one in failures}
    acknowledged = {
        verdict.id: (verdict, alarm.reason)
        for verdict, alarm in analysis.alarms(Status.ACKNOWLEDGED)
        if verdict.id not in failing
    }
    for verdict, reason in acknowledged.values():
        said = f"{verdicts.sentence(verdict)} Acknowledged: {reason or 'no reason given'}."
        findings.append(_finding(verdict.id, said, "info"))
    return json.dumps(findings, indent=2, ensure_ascii=False) + "\n"


def _finding(of: str, description: str, severity: str) -> dict[str, object]:
    identity = f"{CHECK_NAME}\0{of}".encode("utf-8", "backslashreplace")
    return {
        "description": one_line(description, 1000),
        "check_name": CHECK_NAME,
        "fingerprint": hashlib.sha256(identity).hexdigest(),
        "severity": severity,
        "location": {"path": PATH, "lines": {"begin": 1}},
    }


def _severity(one: Worse) -> str:
    if one.fraction is None:
        return "major"
    is_large = abs(one.fraction) >= LARGE
    if one.alarm.is_new:
        return "critical" if is_large else "major"
    return "major" if is_large else "minor"


def summary(analysis: Analysis) -> dict[str, int | str]:
    """The summary, whose ``message`` is the verdict in sentences, and all else counts.

    * ``total_points``: series that were looked at, those not analysed among them;
    * ``entries_count``, ``kpis_count``: sets of labels and KPIs behind them;
    * ``failures``: series with an alarm that nobody dealt with, and with --fail-on=suspected what may be worse;
    * ``no_history``, ``not_analyzed``: series of too little history, and those not analysed, of which a KPI that
      no run has is one;
    * ``significant_performance_increase``, ``…_decrease``: series that are better or worse than before their last
      change, acknowledged ones among them.
    """
    series, whole, _ = analysis.left_out
    labels = [one.labels for one in analysis.verdicts]
    labels += [one.labels for one in analysis.not_analysed if one.labels]  # else they are of several series
    sets = {frozenset((name, repr(value)) for name, value in one.items()) for one in labels}
    points, entries, kpis = len(analysis.verdicts) + series + whole, len(sets), len(analysis.kpis)
    begin = f"Performed {points} KPI regression {'analysis' if points == 1 else 'analyses'}"
    over = f"over {entries} {'entry' if entries == 1 else 'entries'} x {count_of(kpis, 'KPI')}"
    did = f"{count_of(analysis.failures, 'KPI')} didn't pass."
    return {
        "total_points": points,
        "entries_count": entries,
        "kpis_count": kpis,
        "failures": analysis.failures,
        "no_history": sum(bool(one.reruns) for one in analysis.having(Outcome.CANT_TELL)),
        "not_analyzed": series + whole,
        "significant_performance_increase": len(analysis.having(Outcome.IMPROVEMENT)),
        "significant_performance_decrease": len(analysis.having(Outcome.REGRESSION)),
        # As MatrixBenchmarking begins it, then in our words.
        "message": f"{begin} {over}. {did} {one_line(' '.join(analyses.lead(analysis)), 1500)}",
    }


def summary_yaml(analysis: Analysis) -> str:
    """The summary as YAML."""
    text: str = yaml.safe_dump(summary(analysis), allow_unicode=True, sort_keys=True)
    return text


_LONGEST = 200

Labels = Mapping[str, str]


def openmetrics(analysis: Analysis) -> str:
    """The report, which ends in ``# EOF``."""
    own = {"workload": one_line(analysis.workload, _LONGEST)}
    counts = collections.Counter(one.outcome for one in analysis.verdicts)
    counts[Outcome.NOT_ANALYSED] = analysis.left_out[0]
    better = sum(one.is_new for one in analysis.having(Outcome.IMPROVEMENT))
    labels = _metric_labels(analysis)
    levels = [(labels[one.id], level(one)) for one in analysis.verdicts]
    changed = [one for one in analysis.verdicts if one.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT)]
    changes = [(labels[one.id], None if one.effect is None else one.effect.value) for one in changed]
    outcomes = [({**own, "outcome": outcome.value}, float(counts[outcome])) for outcome in Outcome]
    lines = [
        *_family("matbench_failed", "1 where the analysis fails, else 0", [(own, float(analysis.failed))]),
        *_family("matbench_regressions", "Series that are worse and not acknowledged", [(own, len(analysis.failing))]),
        *_family("matbench_improvements", "Series that are newly better", [(own, better)]),
        *_family("matbench_series", "Series by verdict", outcomes),
        *_family("matbench_kpi", "Level of a series, in the unit of the KPI", levels),
        *_family("matbench_kpi_change_ratio", "New level / old level - 1 of a series that changed", changes),
        "# EOF",
    ]
    return "\n".join(lines) + "\n"


def level(verdict: SeriesVerdict) -> float | None:
    """The level since a change, suspected or not, or of the new side; else the mean of the newest version, if any."""
    if (verdict.first_bad is not None or verdict.stands_on) and verdict.new_level is not None:
        return verdict.new_level
    return verdict.points[-1].mean if verdict.points else None


def _metric_labels(analysis: Analysis) -> dict[str, Labels]:
    """The labels of each series, by its id; series that would have the same ones (``1``, ``"1"``) say who they are."""
    found = {one.id: _of_series(analysis, one) for one in analysis.verdicts}
    same = collections.Counter(tuple(sorted(labels.items())) for labels in found.values())
    return {
        id: {**labels, "series": id} if same[tuple(sorted(labels.items()))] > 1 else labels
        for id, labels in found.items()
    }


def _of_series(analysis: Analysis, verdict: SeriesVerdict) -> dict[str, str]:
    labels = {"workload": analysis.workload, "kpi": verdict.kpi.name, "unit": verdict.kpi.unit}
    for name, value in verdict.labels.items():
        if isinstance(value, (str, int, float, bool)):
            mapped = label_name(name)
            while mapped in labels or mapped in ("series", "outcome"):
                mapped = f"label_{mapped}"
            labels[mapped] = exact(value)
    return {name: one_line(value, _LONGEST) for name, value in labels.items()}


def _family(name: str, help_text: str, samples: Iterable[tuple[Labels, float | None]]) -> list[str]:
    lines = [f"# TYPE {name} gauge", f"# HELP {name} {help_text}"]
    for labels, value in samples:
        if value is not None and math.isfinite(value):
            text = ",".join(f'{label}="{escape(of)}"' for label, of in labels.items())
            lines.append(f"{name}{{{text}}} {value!r}")
    return lines
