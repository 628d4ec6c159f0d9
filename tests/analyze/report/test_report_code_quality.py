"""The code-quality report: GitLab's fields, and fingerprints that don't follow the values."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import msgspec
import pytest
from report_support import analyses

from matrix_benchmarking.analyze.detect import Estimate
from matrix_benchmarking.analyze.report.ci import code_quality
from matrix_benchmarking.analyze.verdict.model import Analysis, Status

# The fields of https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
FINDINGS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^[^/.]"},
                    "lines": {"type": "object", "required": ["begin"], "properties": {"begin": {"const": 1}}},
                },
            },
        },
    },
}


def findings(analysis: Analysis) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(code_quality(analysis))
    return found


def test_it_has_the_fields_that_gitlab_reads(any_analysis: Analysis) -> None:
    found = findings(any_analysis)
    jsonschema.validate(found, FINDINGS)
    assert len([one for one in found if one["severity"] != "info"]) == len(any_analysis.failing)


def test_fingerprints_are_those_of_series(any_analysis: Analysis) -> None:
    found = [one["fingerprint"] for one in findings(any_analysis)]
    assert len(set(found)) == len(found)


def test_the_fingerprint_does_not_follow_the_value_nor_the_version() -> None:
    other = {"effect": Estimate(-0.5, -0.6, -0.4), "new_level": 50.0, "first_bad": 5, "is_new": True}
    before, after = (findings(analyses.analysis(one)) for one in (analyses.regression(), analyses.regression(**other)))
    assert before[0]["fingerprint"] == after[0]["fingerprint"]
    assert before[0]["description"] != after[0]["description"]
    labelled = findings(analyses.analysis(analyses.regression(labels={"batch_size": "8"})))
    assert labelled[0]["fingerprint"] != before[0]["fingerprint"]


@pytest.mark.parametrize(
    ("size", "is_new", "severity"),
    [
        (-0.3, True, "critical"),
        (-0.1, True, "critical"),
        (-0.099, True, "major"),
        (0.1, False, "major"),
        (0.099, False, "minor"),
        (-0.05, True, "major"),
        (-0.3, False, "major"),
        (-0.05, False, "minor"),
        (None, True, "major"),
    ],
)
def test_severity_goes_by_size_and_by_what_is_new(size: float | None, is_new: bool, severity: str) -> None:
    effect = None if size is None else Estimate(size, size, size)
    (found,) = findings(analyses.analysis(analyses.regression(effect=effect, is_new=is_new)))
    assert found["severity"] == severity


def test_a_series_that_fails_is_no_information_as_well() -> None:
    (found,) = findings(analyses.half_acknowledged())
    assert found["severity"] == "major"


def test_it_is_json_that_people_can_read() -> None:
    text = code_quality(analyses.analysis(analyses.regression()))
    assert text.startswith('[\n  {\n    "description": "throughput of batch_size 8, image onnx-int8 is worse')
    assert "−10.3 %" in text
    assert text.endswith("\n]\n")


def test_what_was_acknowledged_stays_as_information() -> None:
    accepted = analyses.regression(Status.ACKNOWLEDGED, {"reason": "more exact"})
    (found,) = findings(analyses.analysis(accepted))
    assert found["severity"] == "info"
    assert found["description"].endswith("Acknowledged: more exact.")
    (open_one,) = findings(analyses.analysis(msgspec.structs.replace(accepted, alarms=analyses.regression().alarms)))
    assert open_one["fingerprint"] == found["fingerprint"]
