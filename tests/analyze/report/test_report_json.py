"""The JSON report: its schema accepts it, and all of the analysis is in it."""

from __future__ import annotations

import functools
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_support import analyses

from matrix_benchmarking.analyze.report.json_report import json_report, schema
from matrix_benchmarking.analyze.verdict.model import Analysis


@functools.cache
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema(), format_checker=jsonschema.FormatChecker())


def read(analysis: Analysis) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    document: dict[str, Any] = json.loads(json_report(analysis), parse_constant=refuse)
    return document


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_schema_accepts_any_analysis(any_analysis: Analysis) -> None:
    document = read(any_analysis)
    validator().validate(document)
    assert document["failed"] is any_analysis.failed
    assert len(document["series"]) == len(any_analysis.verdicts)


@pytest.mark.parametrize("change", [{"false_discovery_rate": 0}, {"false_discovery_rate": 1}, {"runs": 0}])
def test_the_schema_accepts_limits(change: dict[str, Any]) -> None:
    validator().validate(read(analyses.fine()) | change)


@pytest.mark.parametrize(
    "change",
    [
        *({"more": 1}, {"version": 1}, {"runs": -1}, {"made_at": None}, {"series": [{}]}),
        *({"false_discovery_rate": -0.01}, {"false_discovery_rate": 1.01}),
    ],
)
def test_the_schema_refuses_something_else(change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        validator().validate(read(analyses.fine()) | change)


def test_every_point_level_and_probability_is_in_it() -> None:
    worse, *_ = read(analyses.mixed())["series"]
    assert worse["kpi"] == {
        "name": "throughput",
        "help": "Answers per second",
        "unit": "1/s",
        "lower_better": False,
    }
    assert worse["labels"] == {"batch_size": 8, "image": "onnx-int8"}
    assert (worse["verdict"], worse["fails"], worse["is_new"]) == ("worse", True, True)
    assert worse["effect"] == pytest.approx({"value": -0.103, "low": -0.123, "high": -0.083})
    assert (worse["first_bad"], worse["first_bad_version"], worse["last_good_version"]) == (4, "1.3.1", "1.3.0")
    assert (worse["p_value"], worse["q_value"]) == (0.0001, 0.002)
    assert len(worse["points"]) == 6
    assert worse["points"][1] == {
        "version": "1.2.10",
        "versions": {"version": "1.2.10"},
        "time": "2026-10-02T00:00:00Z",
        "runs": 2,
        "mean": 101.5,
        "minimum": 101.0,
        "maximum": 102.0,
        "tests": ["1.2.10/0", "1.2.10/1"],
    }
    assert worse["changes"][0]["is_worse"] is True


@pytest.mark.parametrize(("p_value", "is_accepted"), [(-0.01, False), (0, True), (1, True), (1.01, False)])
def test_a_probability_is_from_0_to_1(p_value: float, is_accepted: bool) -> None:
    document = read(analyses.fine())
    document["series"][0]["p_value"] = p_value
    assert validator().is_valid(document) is is_accepted


def test_no_verdict_of_a_series_is_that_it_was_not_analysed() -> None:
    document = read(analyses.fine())
    for outcome in analyses.Outcome:
        document["series"][0]["verdict"] = outcome.value
        assert validator().is_valid(document) is (outcome is not analyses.Outcome.NOT_ANALYSED)


def test_it_begins_with_its_format_and_is_text_that_people_can_read() -> None:
    text = json_report(analyses.analysis(analyses.regression()))
    assert text.startswith('{\n "format": "matbench-regression",\n "version": 2,\n "workload": "encoder_bench",')
    assert "−10.3 %" in text
    assert text.endswith("\n}\n")


def test_what_people_said_of_alarms_is_in_it() -> None:
    (alarm,) = read(analyses.mixed())["series"][2]["alarms"]
    assert (alarm["status"], alarm["fails"], alarm["author"], alarm["until"]) == ("acknowledged", False, "Ada", "1.4.0")
    assert (alarm["at"], alarm["reason"]) == ("2026-11-21T12:30:00Z", "more exact answers")


def test_what_is_no_number_is_null() -> None:
    first, second, *_, last = read(analyses.infinite())["series"]
    assert first["effect"] == {"value": 0.1, "low": None, "high": None}
    assert first["p_value"] is None
    assert second["effect"] is None
    assert [point["mean"] for point in last["points"]] == [None, None]


def test_the_types_of_labels_are_kept() -> None:
    labels = {"a": 1, "b": "1", "c": 1.0, "d": True, "e": None, "f": object}
    (series,) = read(analyses.analysis(analyses.verdict(labels=labels)))["series"]
    assert series["labels"] == {**labels, "f": "<class 'object'>"}
    assert [type(value) for value in series["labels"].values()][:5] == [int, str, float, bool, type(None)]


@given(st.text(st.characters(codec=None), min_size=1, max_size=20))
def test_any_text_gives_json_that_the_schema_accepts(text: str) -> None:
    document = read(analyses.hostile(text))
    validator().validate(document)
    json.dumps(document, ensure_ascii=False).encode()
