"""An analysis as JSON, whole: every point, level, probability and alarm. ``schema.py`` describes it.

What is unknown is null, and so is what JSON can't hold: NaN, and a bound of an interval that is infinite.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from typing import Any

from ...history.records import moment
from ...jsonable import to_jsonable
from ...kpi import KPIDefinition
from ...matrix import NOT_SET
from ..detect import Estimate
from ..select.series import SeriesPoint
from ..verdict.alarms import causes
from ..verdict.model import Alarm, Analysis, Change, SeriesVerdict
from ..wording import verdicts

FORMAT = "matbench-regression"
VERSION = 2
"""Rises when something is taken away or changes its meaning; what is added doesn't raise it."""


def json_report(analysis: Analysis) -> str:
    """The report as JSON text."""
    return json.dumps(as_json(analysis), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_json(analysis: Analysis) -> dict[str, Any]:
    """The report as values that JSON can hold."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "workload": analysis.workload,
        "data": analysis.data,
        "question": analysis.question,
        "newest": analysis.newest,
        "order": analysis.order,
        "made_at": _time(analysis.made_at),
        "failed": analysis.failed,
        "causes": [
            {"id": one.id, "first_bad": one.first_bad, "alarms": [alarm.id for alarm in one.alarms]}
            for one in causes(analysis)
        ],
        "verdict": verdicts.lead(analysis),
        "runs": analysis.runs,
        "values": analysis.points,
        "kpis": analysis.kpis,
        "false_discovery_rate": analysis.false_discovery_rate,
        "notes": analysis.notes,
        "check": analysis.check,
        "series": [_series(one) for one in analysis.verdicts],
        "not_analysed": [
            {"kpi": o.kpi, "series": o.series, "labels": _labels(o.labels), "reason": o.reason, "runs": o.runs}
            for o in analysis.not_analysed
        ],
    }
    plain: dict[str, Any] = to_jsonable(document)
    return plain


def _series(one: SeriesVerdict) -> dict[str, Any]:
    return {
        "id": one.id,
        "kpi": _kpi(one.kpi),
        "labels": _labels(one.labels),
        "name": one.name,
        "verdict": one.outcome.value,
        "fails": one.fails,
        "sentence": verdicts.sentence(one),
        "effect": _estimate(one.effect),
        "difference": _estimate(one.difference),
        "old_level": one.old_level,
        "new_level": one.new_level,
        "first_bad": one.first_bad,
        "first_bad_version": one.first_bad_version,
        "last_good": one.last_good,
        "last_good_version": one.last_good_version,
        "is_new": one.is_new,
        "drift": one.drift,
        "p_value": one.p_value,
        "q_value": one.q_value,
        "runs_before": one.runs_before,
        "runs_after": one.runs_after,
        "reruns": one.reruns,
        "minimum_effect": one.minimum_effect,
        "minimum_effect_absolute": one.minimum_effect_absolute,
        "points": [_point(version, point) for version, point in zip(one.versions, one.points, strict=True)],
        "changes": [_change(change) for change in one.changes],
        "alarms": [_alarm(alarm) for alarm in one.alarms],
        "notes": one.notes,
        "stands_on": one.stands_on,
        "would_show": one.would_show,
        "would_show_in": one.would_show_in,
        "why": one.why,
    }


def _kpi(kpi: KPIDefinition) -> dict[str, Any]:
    return {"name": kpi.name, "help": kpi.help, "unit": kpi.unit, "lower_better": kpi.lower_better}


def _point(version: str, point: SeriesPoint) -> dict[str, Any]:
    return {
        "version": version,
        "versions": _labels(point.versions),
        "time": None if point.time_us is None else _time(moment(point.time_us)),
        "runs": point.count,
        "mean": point.mean,
        "minimum": point.minimum,
        "maximum": point.maximum,
        "tests": [entry.test_uuid or entry.name for entry in point.entries],
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "first": change.first,
        "last_before": change.last_before,
        "seen": change.seen,
        "old_level": change.old_level,
        "new_level": change.new_level,
        "is_worse": change.is_worse,
    }


def _alarm(alarm: Alarm) -> dict[str, Any]:
    return {
        "id": alarm.id,
        "status": alarm.status.value,
        "fails": alarm.fails,
        "is_new": alarm.is_new,
        "first_bad": alarm.first_bad,
        "last_good": alarm.last_good,
        "old_level": alarm.old_level,
        "new_level": alarm.new_level,
        "fixed_by": alarm.fixed_by,
        "author": alarm.author,
        "at": None if alarm.at is None else _time(alarm.at),
        "reason": alarm.reason,
        "until": alarm.until,
        "note": alarm.note,
    }


def _estimate(estimate: Estimate | None) -> dict[str, Any] | None:
    """None for an unknown value; a bound that isn't known is null."""
    if estimate is None or not math.isfinite(estimate.value):
        return None
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high}


def _labels(labels: Mapping[str, Any]) -> dict[str, Any]:
    """Labels that are set; one of a type without a JSON form as text."""
    return {to_jsonable(name): _plain(value) for name, value in labels.items() if value is not NOT_SET}


def _plain(value: Any) -> Any:
    try:
        return to_jsonable(value)
    except TypeError:
        return repr(value)


def _time(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
