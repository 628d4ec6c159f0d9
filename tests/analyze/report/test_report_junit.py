"""The JUnit report: valid XML of the structure that CI services read, unique names, no properties."""

from __future__ import annotations

import collections
import xml.etree.ElementTree as ET

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from report_support import analyses

from matrix_benchmarking.analyze.report.ci import junit
from matrix_benchmarking.analyze.verdict.model import Analysis, Outcome, Status

# After https://github.com/jenkinsci/xunit-plugin/blob/master/src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd/junit-10.xsd
SUITE = {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"}
CASE = {"classname", "name", "time"}
CHILDREN = {"failure": {"message", "type"}, "skipped": {"message"}, "system-out": set()}


def cases(analysis: Analysis) -> list[ET.Element]:
    return list(ET.fromstring(junit(analysis).encode()).iter("testcase"))


def named(analysis: Analysis, name: str) -> ET.Element:
    (found,) = [case for case in cases(analysis) if case.get("name") == name]
    return found


def test_a_series_that_is_worse_is_a_failure_with_the_verdict() -> None:
    case = named(analyses.mixed(), "throughput: batch_size 8, image onnx-int8")
    assert case.get("classname") == "encoder_bench.throughput"
    (failure,) = case
    assert failure.tag == "failure"
    assert failure.get("type") == "worse"
    assert failure.get("message") == "worse: −10.3 % (−12.3 to −8.3 %), 100.0 → 89.7 1/s"
    assert failure.text is not None
    lines = failure.text.splitlines()
    assert lines[0].startswith("throughput of batch_size 8, image onnx-int8 is worse since 1.3.1 (last good 1.3.0)")
    assert lines[1] == "p < 0.001, q = 0.002"
    assert lines[2].startswith("If it is meant: matbench alarms ack ")


def test_what_was_acknowledged_passes_and_says_why() -> None:
    (output,) = named(analyses.mixed(), "throughput: batch_size 2")
    assert output.tag == "system-out"
    assert "is acknowledged: more exact answers" in str(output.text)


def test_no_verdict_is_skipped_with_the_reason() -> None:
    (short,) = named(analyses.mixed(), "throughput: batch_size 128")
    assert (short.tag, short.get("message")) == ("skipped", f"can't be told: {analyses.TOO_SHORT}")
    (unknown,) = named(analyses.mixed(), "error_rate")
    assert unknown.get("message") == "not analysed: error_rate is unknown at all 5 runs"


def test_it_has_the_structure_of_junit(any_analysis: Analysis) -> None:
    root = ET.fromstring(junit(any_analysis).encode())
    assert root.tag == "testsuites"
    (suite,) = root
    assert suite.tag == "testsuite"
    assert set(suite.attrib) == SUITE
    for case in suite:
        assert case.tag == "testcase"
        assert set(case.attrib) == CASE
        assert all(case.attrib.values())
        assert len(case) <= 1
        for child in case:
            assert set(child.attrib) == CHILDREN[child.tag]
    for count, tag in (("tests", "testcase"), ("failures", "failure"), ("skipped", "skipped")):
        assert int(suite.attrib[count]) == len(list(root.iter(tag)))
    assert int(suite.attrib["failures"]) == len(any_analysis.failing)


def test_names_are_unique_even_where_the_series_are_called_the_same(any_analysis: Analysis) -> None:
    counts = collections.Counter((case.get("classname"), case.get("name")) for case in cases(any_analysis))
    assert not [name for name, count in counts.items() if count > 1]
    assert len(counts) == len(any_analysis.verdicts) + len(any_analysis.not_analysed)


def test_a_name_that_is_taken_is_told_apart_by_the_id_of_the_series() -> None:
    one = analyses.verdict(id="0123456789abcdef", name="all runs")
    other = analyses.verdict(id="fedcba9876543210", name="all runs")
    names = [case.get("name") for case in cases(analyses.analysis(one, other))]
    assert names == ["throughput: all runs", "throughput: all runs [fedcba98765…]"]
    left_out = analyses.NotAnalysed("cost", "", {}, "why", 1)
    again = [case.get("name") for case in cases(analyses.analysis(one, one, one, one, not_analysed=(left_out,) * 4))]
    assert again == [
        *("throughput: all runs", "throughput: all runs [0123456789a…]"),
        *("throughput: all runs [0123456789a…] (2)", "throughput: all runs [0123456789a…] (3)"),
        *("cost", "cost (2)", "cost (3)", "cost (4)"),
    ]


def test_it_is_one_indented_document_with_its_counts() -> None:
    lines = junit(analyses.mixed()).splitlines()
    counts = 'tests="12" failures="2" errors="0" skipped="3" time="0"'
    assert lines[:3] == [
        "<?xml version='1.0' encoding='utf-8'?>",
        f'<testsuites name="matbench: encoder_bench" {counts}>',
        f'  <testsuite name="matbench: encoder_bench" {counts} timestamp="2026-11-21T12:30:00">',
    ]


def test_a_series_has_an_output_where_there_is_something_to_say() -> None:
    said = analyses.verdict(Outcome.NO_CHANGE, labels={"n": 1}, reruns=2)
    alarmed = msgspec.structs.replace(analyses.regression(Status.FIXED, labels={"n": 2}), outcome=Outcome.NO_CHANGE)
    better = analyses.verdict(Outcome.IMPROVEMENT, labels={"n": 3})
    untold = analyses.verdict(Outcome.CANT_TELL, labels={"n": 4}, why="it is one block")
    noted = analyses.verdict(Outcome.NO_CHANGE, labels={"n": 5}, notes=("a note",))
    unraised = msgspec.structs.replace(
        analyses.regression(Status.FIXED, {"id": ""}, labels={"n": 6}), outcome=alarmed.outcome
    )
    (other,) = cases(analyses.analysis(unraised))
    assert str(other[0].text).splitlines()[1:] == ["Alarm (since 1.3.1) is fixed"]
    found = cases(analyses.analysis(said, alarmed, better, untold, noted))
    assert [[child.tag for child in case] for case in found] == [
        *(["system-out"], ["system-out"], ["system-out"], ["skipped"], []),
    ]
    assert found[3][0].get("message") == "can't be told: it is one block"
    assert str(found[1][0].text).splitlines()[1:] == [f"Alarm {alarmed.alarms[0].id} (since 1.3.1) is fixed"]


def test_a_series_of_too_little_history_whose_alarm_is_open_fails() -> None:
    short = msgspec.structs.replace(analyses.regression(), outcome=analyses.Outcome.CANT_TELL)
    root = ET.fromstring(junit(analyses.analysis(short)).encode())
    assert (root.get("failures"), root.get("skipped")) == ("1", "0")


@given(st.text(st.characters(codec=None), min_size=1))
def test_any_text_gives_valid_xml(text: str) -> None:
    for case in cases(analyses.hostile(text)):
        assert case.get("name")
