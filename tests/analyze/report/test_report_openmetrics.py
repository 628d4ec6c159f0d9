"""The OpenMetrics report goes through prometheus_client's parser: few families of stable names."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from report_support import analyses

from matrix_benchmarking.analyze.report.ci import openmetrics
from matrix_benchmarking.analyze.verdict.model import Analysis

FAMILIES = {
    "matbench_failed",
    "matbench_regressions",
    "matbench_improvements",
    "matbench_series",
    "matbench_kpi",
    "matbench_kpi_change_ratio",
}


def samples(analysis: Analysis) -> dict[str, list[Any]]:
    return {family.name: family.samples for family in text_string_to_metric_families(openmetrics(analysis))}


def test_it_is_openmetrics_of_the_same_families_each_time(any_analysis: Analysis) -> None:
    text = openmetrics(any_analysis)
    assert text.endswith("\n# EOF\n")
    found = samples(any_analysis)
    assert set(found) == FAMILIES
    assert found["matbench_regressions"][0].value == len(any_analysis.failing)
    assert found["matbench_failed"][0].value == any_analysis.failed
    for family in found.values():
        assert len({tuple(sorted(sample.labels.items())) for sample in family}) == len(family)


def test_series_are_counted_by_verdict() -> None:
    found = samples(analyses.mixed())
    counts = {sample.labels["outcome"]: sample.value for sample in found["matbench_series"]}
    assert counts == {
        "worse": 4,
        "suspected": 0,
        "better": 2,
        "no difference shown": 3,
        "can't be told": 1,
        "not analysed": 1,
    }
    assert found["matbench_improvements"][0].value == 1


def test_the_level_of_two_sides_is_the_new_one_whatever_the_verdict() -> None:
    same = msgspec.structs.replace(
        analyses.verdict(of=analyses.LATENCY), stands_on="in 3 common rounds", new_level=17.25
    )
    (sample,) = samples(analyses.analysis(same))["matbench_kpi"]
    assert (same.first_bad, sample.value) == (None, 17.25)


def test_the_level_is_that_since_the_change_else_that_of_the_newest_version() -> None:
    found = samples(analyses.analysis(analyses.regression(), analyses.verdict(of=analyses.LATENCY)))
    worse, same = found["matbench_kpi"]
    assert worse.labels == {
        "workload": "encoder_bench",
        "kpi": "throughput",
        "unit": "1/s",
        "batch_size": "8",
        "image": "onnx-int8",
    }
    assert worse.value == pytest.approx(89.7)
    assert same.value == pytest.approx(105.5)
    (change,) = found["matbench_kpi_change_ratio"]
    assert change.labels == worse.labels
    assert change.value == pytest.approx(-0.103)


def test_a_change_has_its_ratio_and_a_suspected_one_its_level() -> None:
    Outcome, made = analyses.Outcome, analyses.verdict
    suspected = made(Outcome.SUSPECTED, labels={"n": 1}, first_bad=4, new_level=90.0, effect=analyses.Estimate(1, 1, 1))
    better = made(Outcome.IMPROVEMENT, labels={"n": 2}, is_new=True)
    unknown = made(Outcome.REGRESSION, labels={"n": 3}, effect=None, new_level=None)
    bare = made(labels={"n": 4}, points=(), versions=())
    unchanged = made(labels={"n": 5}, new_level=50.0)
    found = samples(analyses.analysis(suspected, better, unknown, bare, unchanged, analyses.regression()))
    assert [(one.labels.get("n"), one.value) for one in found["matbench_kpi"]] == [
        *(("1", 90.0), ("2", pytest.approx(110.3)), ("3", 105.5), ("5", 105.5), (None, pytest.approx(89.7))),
    ]
    assert [one.labels.get("n") for one in found["matbench_kpi_change_ratio"]] == ["2", None]
    assert (found["matbench_regressions"][0].value, found["matbench_improvements"][0].value) == (1, 1)


def test_levels_that_are_no_numbers_are_left_out() -> None:
    found = samples(analyses.infinite())
    assert all(abs(sample.value) < 1e9 for sample in (*found["matbench_kpi"], *found["matbench_kpi_change_ratio"]))


def test_a_label_that_is_called_as_one_of_ours_keeps_both() -> None:
    made = analyses.verdict(labels={"kpi": "x", "unit": "y", "a b": 1, "a_b": 2, "none": None, "list": [1]})
    (sample,) = samples(analyses.analysis(made))["matbench_kpi"]
    assert sample.labels == {
        "workload": "encoder_bench",
        "kpi": "throughput",
        "unit": "1/s",
        "label_kpi": "x",
        "label_unit": "y",
        "a_b": "1",
        "label_a_b": "2",
    }


def test_series_that_differ_only_in_the_type_of_a_label_are_told_apart() -> None:
    one, other = (analyses.verdict(labels={"batch_size": value}) for value in (1, "1"))
    found = samples(analyses.analysis(one, other))["matbench_kpi"]
    assert [sample.labels["series"] for sample in found] == [one.id, other.id]
