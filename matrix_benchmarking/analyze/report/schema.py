"""The JSON Schema (2020-12) of the JSON report."""

from __future__ import annotations

from typing import Any

from ..verdict.model import Outcome, Status
from .json_report import FORMAT, VERSION

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_NUMBER: Schema = {"type": "number"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_LABELS: Schema = {"type": "object", "description": "Values by name; types count."}
_TIME: Schema = {"type": "string", "format": "date-time"}


def schema() -> Schema:
    """The schema of one report."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A regression analysis of matbench",
        **_object(
            {
                "format": {"const": FORMAT},
                "version": {"const": VERSION},
                "workload": _TEXT,
                "data": _said(_TEXT, "Where the runs came from, in words."),
                "question": _TEXT,
                "newest": _said(_or_null(_TEXT), "The newest version; null where there is none."),
                "order": _said(_TEXT, "Where the order of the versions is from; empty where none was asked for."),
                "made_at": _TIME,
                "failed": _said(_FLAG, "Something got worse that nobody dealt with: exit status 1."),
                "causes": _said(_list("cause"), "Alarms that begin with the same version, together."),
                "verdict": _said(_TEXTS, "In sentences, the headline first."),
                "runs": _COUNT,
                "values": _said(_COUNT, "Values that were looked at."),
                "kpis": _TEXTS,
                "false_discovery_rate": {"type": "number", "minimum": 0, "maximum": 1},
                "notes": _TEXTS,
                "check": _said(_TEXT, "How many findings there are on the runs, in words; empty where nobody looked."),
                "series": _list("series"),
                "not_analysed": _list("not_analysed"),
            }
        ),
        "$defs": {
            "series": _series(),
            "kpi": _object({"name": _TEXT, "help": _TEXT, "unit": _TEXT, "lower_better": _FLAG}),
            "estimate": _estimate(),
            "point": _point(),
            "change": _change(),
            "alarm": _alarm(),
            "cause": _object({"id": _TEXT, "first_bad": _TEXT, "alarms": _said(_TEXTS, "Their ids.")}),
            "not_analysed": _object(
                {
                    "kpi": _TEXT,
                    "series": _said(_TEXT, "Empty where it is about all of the KPI."),
                    "labels": _LABELS,
                    "reason": _TEXT,
                    "runs": _COUNT,
                }
            ),
        },
    }


def _series() -> Schema:
    outcomes = [outcome.value for outcome in Outcome if outcome is not Outcome.NOT_ANALYSED]
    estimate = _or_null({"$ref": "#/$defs/estimate"})
    probability = _or_null({"type": "number", "minimum": 0, "maximum": 1})
    return _object(
        {
            "id": _said(_TEXT, "Of workload, KPI, unit and labels: the same on each machine."),
            "kpi": {"$ref": "#/$defs/kpi"},
            "labels": _LABELS,
            "name": _said(_TEXT, "In words, by the labels that tell it from the others."),
            "verdict": {"enum": outcomes},
            "fails": _FLAG,
            "sentence": _TEXT,
            "effect": _said(estimate, "New level / old level - 1."),
            "difference": _said(estimate, "New level - old level, in the KPI's unit."),
            "old_level": _or_null(_NUMBER),
            "new_level": _or_null(_NUMBER),
            "first_bad": _said(_or_null(_COUNT), "Index of the first point on the new level."),
            "first_bad_version": _or_null(_TEXT),
            "last_good": _said(_or_null(_COUNT), "Index of the last point on the old level."),
            "last_good_version": _or_null(_TEXT),
            "is_new": _said(_FLAG, "It could not be told before the newest point."),
            "drift": _said(_or_null(_NUMBER), "Of a drift, its slope: a fraction of the old level a version."),
            "p_value": probability,
            "q_value": probability,
            "runs_before": _COUNT,
            "runs_after": _COUNT,
            "reruns": _said(
                _or_null(_COUNT), "Runs that would tell, without a difference yet; versions that a verdict is short of."
            ),
            "minimum_effect": _NUMBER,
            "minimum_effect_absolute": _NUMBER,
            "points": _list("point"),
            "changes": _list("change"),
            "alarms": _list("alarm"),
            "notes": _TEXTS,
            "stands_on": _said(_TEXT, "Where two sides were compared, the blocks behind it; else empty."),
            "would_show": _said(
                _or_null(_NUMBER),
                "Without a difference, the smallest one that would have been seen in four of five cases: relative "
                "where effect is known, else in the KPI's unit.",
            ),
            "would_show_in": _said(
                _COUNT, "Of a history, the number of versions after which it would have; 0 for two sides."
            ),
            "why": _said(_TEXT, "Why it can't be told, and what to measure next; empty where it can."),
        }
    )


def _estimate() -> Schema:
    bound = _said(_or_null(_NUMBER), "Null where it isn't known.")
    return _object({"value": _NUMBER, "low": bound, "high": bound})


def _point() -> Schema:
    return _object(
        {
            "version": _said(_TEXT, "In words."),
            "versions": _said(_LABELS, "Values of the comparison keys that are set."),
            "time": _said(_or_null(_TIME), "Of the newest run."),
            "runs": _COUNT,
            "mean": _or_null(_NUMBER),
            "minimum": _or_null(_NUMBER),
            "maximum": _or_null(_NUMBER),
            "tests": _said(_TEXTS, "Ids of the runs."),
        }
    )


def _change() -> Schema:
    level = _or_null(_NUMBER)
    index = _said(_COUNT, "Index of a point.")
    return _object(
        {
            "first": index,
            "last_before": index,
            "seen": index,
            "old_level": level,
            "new_level": level,
            "is_worse": _FLAG,
        }
    )


def _alarm() -> Schema:
    return _object(
        {
            "id": _said(_TEXT, "Empty where no history keeps it."),
            "status": {"enum": [status.value for status in Status]},
            "fails": _FLAG,
            "is_new": _FLAG,
            "first_bad": _TEXT,
            "last_good": _TEXT,
            "old_level": _or_null(_NUMBER),
            "new_level": _or_null(_NUMBER),
            "fixed_by": _or_null(_TEXT),
            "author": _or_null(_TEXT),
            "at": _or_null(_TIME),
            "reason": _or_null(_TEXT),
            "until": _said(_or_null(_TEXT), "The version or date up to which it is acknowledged."),
            "note": _TEXT,
        }
    )


def _object(properties: dict[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(of: str) -> Schema:
    return {"type": "array", "items": {"$ref": f"#/$defs/{of}"}}


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _said(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}
