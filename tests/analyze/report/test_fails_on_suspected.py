"""Where what may be worse is enough to fail, every report says so of the same series, as the exit status does."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import msgspec
import pytest
from report_support import analyses

from matrix_benchmarking.analyze.detect import Estimate
from matrix_benchmarking.analyze.report.ci import code_quality, error_lines, junit, openmetrics, summary
from matrix_benchmarking.analyze.report.json_report import as_json
from matrix_benchmarking.analyze.report.markdown import markdown
from matrix_benchmarking.analyze.verdict.model import Analysis, Outcome, OverAll

DIFFERENCE = Estimate(-10.0, -12.0, -8.0)


@pytest.fixture
def suspicious() -> Analysis:
    """One series that may be worse, one that may be better, and a KPI that is worse over all its series."""
    worse, better = (
        msgspec.structs.replace(
            analyses.verdict(Outcome.REGRESSION, labels={"batch_size": size}, difference=difference),
            outcome=Outcome.SUSPECTED,
        )
        for size, difference in ((1, DIFFERENCE), (2, Estimate(10.0, 8.0, 12.0)))
    )
    together = OverAll(analyses.LATENCY, 12, Outcome.REGRESSION, None, Estimate(3.0, 2.0, 4.0))
    return analyses.analysis(worse, better, over_all=(together,))


@pytest.mark.parametrize("is_enough", [False, True])
def test_all_reports_say_the_same_of_what_may_be_worse(suspicious: Analysis, *, is_enough: bool) -> None:
    analysis = msgspec.structs.replace(suspicious, fails_on_suspected=is_enough)
    document, suite = as_json(analysis), ET.fromstring(junit(analysis).encode())
    assert (analysis.failed, document["failed"]) == (is_enough, is_enough)
    assert [one["fails"] for one in document["series"]] == [is_enough, False]
    failures = [(case.attrib["name"], case.find("failure")) for case in suite.iter("testcase")]
    failed = {name: failure.attrib["type"] for name, failure in failures if failure is not None}
    expected = {"throughput: batch_size 1": "suspected", "p95_latency: over all series together": "worse"}
    assert failed == (expected if is_enough else {})
    assert (suite.attrib["tests"], suite.attrib["failures"]) == (("3", "2") if is_enough else ("2", "0"))
    assert len(error_lines(analysis)) == len(json.loads(code_quality(analysis))) == 2 * is_enough
    assert summary(analysis)["failures"] == 2 * is_enough
    assert markdown(analysis).startswith("## ❌") is is_enough


def test_all_reports_say_that_a_version_was_not_judged(suspicious: Analysis) -> None:
    analysis = msgspec.structs.replace(suspicious, without_a_good_run=("version 1.6.0",))
    document, suite = as_json(analysis), ET.fromstring(junit(analysis).encode())
    said = "version 1.6.0 has no good run: it was not judged."
    assert (analysis.failed, document["failed"], analysis.failures) == (True, True, 1)
    assert said in document["verdict"]
    assert document["without_a_good_run"] == ["version 1.6.0"]
    assert 'matbench_failed{workload="encoder_bench"} 1.0' in openmetrics(analysis)
    (over_all,) = document["over_all"]
    assert (over_all["kpi"], over_all["verdict"]) == ("p95_latency", "worse")
    (failed,) = [case for case in suite.iter("testcase") if case.find("failure") is not None]
    assert failed.attrib["name"] == "no good run: version 1.6.0"
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("3", "1")
    assert error_lines(analysis) == [f"::error title=encoder_bench%3A a version was not judged::{said}"]
    assert [one["description"] for one in json.loads(code_quality(analysis))] == [said]
    assert summary(analysis)["failures"] == 1
    assert markdown(analysis).startswith("## ❌")


def test_all_reports_say_that_runs_fail_more_often(suspicious: Analysis) -> None:
    said = "Runs fail more often since 1.5.0: 9 of 10, and 0 of 50 before."
    analysis = msgspec.structs.replace(suspicious, fails_more=(said,))
    document, suite = as_json(analysis), ET.fromstring(junit(analysis).encode())
    assert (analysis.failed, document["failed"], document["fails_more"]) == (True, True, [said])
    assert document["verdict"][0] == said
    (failed,) = [case for case in suite.iter("testcase") if case.find("failure") is not None]
    assert failed.attrib["name"] == "runs fail more often"
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("3", "1")
    assert error_lines(analysis) == [f"::error title=encoder_bench%3A runs fail more often::{said}"]
    assert [one["description"] for one in json.loads(code_quality(analysis))] == [said]
    assert said in markdown(analysis)
    assert markdown(analysis).startswith("## ❌")
