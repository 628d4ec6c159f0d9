"""MatrixBenchmarking's summary: its names, whole numbers and one message."""

from __future__ import annotations

import msgspec
import yaml
from report_support import analyses

from matrix_benchmarking.analyze.report.ci import summary, summary_yaml
from matrix_benchmarking.analyze.verdict.model import Analysis, Status

NAMES = {
    "total_points",
    "entries_count",
    "kpis_count",
    "failures",
    "no_history",
    "not_analyzed",
    "significant_performance_increase",
    "significant_performance_decrease",
    "message",
}


def test_it_is_yaml_of_counts_and_one_message(any_analysis: Analysis) -> None:
    read = yaml.safe_load(summary_yaml(any_analysis))
    assert set(read) == NAMES
    assert read == summary(any_analysis)
    assert isinstance(read.pop("message"), str)
    assert all(type(value) is int and value >= 0 for value in read.values())


def test_each_point_is_counted_once() -> None:
    counts = summary(analyses.mixed())
    assert counts == {
        "total_points": 11,
        "entries_count": 9,
        "kpis_count": 3,
        "failures": 2,
        "no_history": 1,
        "not_analyzed": 1,
        "significant_performance_increase": 2,
        "significant_performance_decrease": 4,
        "message": counts["message"],
    }
    assert str(counts["message"]).startswith("Performed 11 KPI regression analyses over 9 entries x 3 KPIs. 2 KPIs ")
    unchanged = 3
    assert counts["total_points"] == 2 + 4 + 1 + 1 + unchanged


def test_the_message_begins_as_that_of_matrix_benchmarking_and_gives_the_verdict() -> None:
    message = summary(analyses.fine())["message"]
    assert message == (
        "Performed 2 KPI regression analyses over 1 entry x 2 KPIs. 0 KPIs didn't pass. "
        "Nothing is worse in 2 series of 2 KPIs: 1.3.2 against its history."
    )


def test_one_of_each_is_singular_in_the_message() -> None:
    made = analyses.regression(Status.OPEN, {"id": ""}, name="größe 1")
    message = str(summary(analyses.analysis(made))["message"])
    assert message.startswith("Performed 1 KPI regression analysis over 1 entry x 1 KPI. 1 KPI didn't pass. 1 of 1 ")
    two = analyses.analysis(made, analyses.regression(labels={"batch_size": 1}))
    assert str(summary(two)["message"]).startswith(
        "Performed 2 KPI regression analyses over 2 entries x 1 KPI. 2 KPIs didn't pass. 2 of 2 "
    )


def test_it_is_sorted_yaml_that_people_can_read() -> None:
    lines = summary_yaml(analyses.analysis(analyses.verdict(), newest="größer", question="größer?")).splitlines()
    names = [line.split(":")[0] for line in lines if not line.startswith(" ")]
    assert names == sorted(NAMES)
    assert "größer?" in " ".join(lines)


def test_labels_of_different_types_are_different_entries() -> None:
    labels = [{"a": 1}, {"a": "1"}, {"a": 1.0}, {"a": True}, {"a": [1]}, {"a": None}, {}]
    made = analyses.analysis(*(analyses.verdict(labels=each) for each in labels))
    assert summary(made)["entries_count"] == 7
    left_out = analyses.NotAnalysed("cost", "", {"a": 2}, "why", 1)
    whole = msgspec.structs.replace(left_out, labels={})
    assert summary(msgspec.structs.replace(made, not_analysed=(left_out, whole, left_out)))["entries_count"] == 8
