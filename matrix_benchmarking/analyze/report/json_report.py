"""An analysis as JSON, whole: every point, level, probability and alarm; and the JSON Schema (2020-12) of it.

The fields are declared once, below. What is unknown is null, and so is what JSON can't hold: NaN, and a bound of an
interval that is infinite.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from typing import Annotated, Literal

import pydantic
from pydantic import Field
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from ...history.records import moment
from ...jsonable import Document, to_jsonable
from ...matrix import NOT_SET
from ..detect import Estimate
from ..select.labelled import Labels
from ..select.series import SeriesPoint
from ..verdict.alarms import causes
from ..verdict.model import Analysis, Outcome, OverAll, SeriesVerdict, Status
from ..wording import analyses, verdicts

FORMAT = "matbench-regression"
VERSION = 2  # rises when something is taken away or changes its meaning; what is added doesn't raise it

_Count = Annotated[int, Field(ge=0)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Labels = Annotated[Document, Field(description="Values by name; types count.")]
_Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
_Bound = Annotated[float | None, Field(description="Null where it isn't known.")]
_Index = Annotated[int, Field(ge=0, description="Index of a point.")]


class _Fields(pydantic.BaseModel):
    """All fields are there, and no others."""

    model_config = pydantic.ConfigDict(extra="forbid", use_attribute_docstrings=True, defer_build=True)

    @classmethod
    def of(cls, source: object, **others: object) -> dict[str, object]:
        """By field what *others* say, else the attribute of *source*."""
        return {name: others[name] if name in others else getattr(source, name) for name in cls.model_fields}


class EstimateFields(_Fields):
    value: float
    low: _Bound
    high: _Bound


class KPIFields(_Fields):
    name: str
    help: str
    unit: str
    lower_better: bool


class PointFields(_Fields):
    version: str
    """In words."""
    versions: _Labels
    """Values of the comparison keys that are set."""
    time: _Time | None
    """Of the newest run."""
    runs: _Count
    mean: float | None
    minimum: float | None
    maximum: float | None
    tests: list[str]
    """Ids of the runs."""


class ChangeFields(_Fields):
    first: _Index
    last_before: _Index
    seen: _Index
    old_level: float | None
    new_level: float | None
    is_worse: bool


class AlarmFields(_Fields):
    id: str
    """Empty where no history keeps it."""
    status: Status
    fails: bool
    is_new: bool
    first_bad: str
    last_good: str
    old_level: float | None
    new_level: float | None
    fixed_by: str | None
    author: str | None
    at: _Time | None
    reason: str | None
    until: str | None
    """The version or date up to which it is acknowledged."""
    note: str


class CauseFields(_Fields):
    id: str
    first_bad: str
    alarms: list[str]
    """Their ids."""


class NotAnalysedFields(_Fields):
    kpi: str
    series: str
    """Empty where it is about all of the KPI."""
    labels: _Labels
    reason: str
    runs: _Count


class SeriesFields(_Fields):
    id: str
    """Of workload, KPI, unit and labels: the same on each machine."""
    kpi: KPIFields
    labels: _Labels
    name: str
    """In words, by the labels that tell it from the others."""
    verdict: Annotated[
        Outcome,
        Field(json_schema_extra={"enum": [each.value for each in Outcome if each is not Outcome.NOT_ANALYSED]}),
    ]
    fails: bool
    sentence: str
    effect: EstimateFields | None
    """New level / old level - 1."""
    difference: EstimateFields | None
    """New level - old level, in the KPI's unit."""
    old_level: float | None
    new_level: float | None
    first_bad: _Count | None
    """Index of the first point on the new level."""
    first_bad_version: str | None
    last_good: _Count | None
    """Index of the last point on the old level."""
    last_good_version: str | None
    is_new: bool
    """It could not be told before the newest point."""
    drift: float | None
    """Of a drift, its slope: a fraction of the old level a version."""
    may_drift: bool
    """A line fits its points about as well as its change does."""
    rises_all_along: bool
    """Suspected by a line through all its points, of which none shows it by itself."""
    p_value: _Share | None
    q_value: _Share | None
    runs_before: _Count
    runs_after: _Count
    reruns: _Count | None
    """Versions that would tell, without a difference yet, or that a verdict is short of."""
    minimum_effect: float
    minimum_effect_absolute: float
    points: list[PointFields]
    changes: list[ChangeFields]
    alarms: list[AlarmFields]
    notes: list[str]
    stands_on: str
    """Where two sides were compared, the blocks behind it; else empty."""
    would_show: float | None
    """Without a difference, the smallest one that would have been seen in four of five cases: relative where effect is
    known, else in the KPI's unit."""
    would_show_in: _Count
    """Of a history, the number of versions after which it would have; 0 for two sides."""
    too_small: ChangeFields | None
    """Without a difference, a change that is less than the minimum effect."""
    why: str
    """Why it can't be told, and what to measure next, or why no more than this is said; else empty."""


class OverAllFields(_Fields):
    kpi: str
    series: _Count
    """That are taken together."""
    all_series: _Count
    """That the KPI has."""
    verdict: Outcome
    effect: EstimateFields | None
    """New level / old level - 1."""
    difference: EstimateFields | None
    """New level - old level, in the KPI's unit."""
    since: str | None
    """The first version on the new level, in words; null where two sides were compared."""
    is_new: bool
    """It could not be told before the newest point."""


class ReportFields(_Fields):
    format: Literal["matbench-regression"]
    version: Literal[2]
    workload: str
    data: str
    """Where the runs came from, in words."""
    question: str
    newest: str | None
    """The newest version; null where there is none."""
    order: str
    """Where the order of the versions is from; empty where none was asked for."""
    made_at: _Time
    failed: bool
    """Something got worse that nobody dealt with, or may have with --fail-on=suspected: exit status 1."""
    causes: list[CauseFields]
    """Alarms that begin with the same version, together."""
    verdict: list[str]
    """In sentences, the headline first."""
    runs: _Count
    values: _Count
    """Values that were looked at."""
    kpis: list[str]
    false_discovery_rate: _Share
    notes: list[str]
    check: str
    """How many findings there are on the runs, in words; empty where nobody looked."""
    odd: list[str]
    """Those of them that change this answer, in sentences."""
    without_a_good_run: list[str]
    """The versions, in words, that fail it as they have none."""
    fails_more: list[str]
    """That runs fail more often than before, or than the other side's, in sentences: they fail it."""
    may_fail_more: list[str]
    """The same where an outage may be why: suspected."""
    over_all: list[OverAllFields]
    """KPIs that change over all their series, and in none of them by itself."""
    series: list[SeriesFields]
    not_analysed: list[NotAnalysedFields]


class _Untitled(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def schema() -> JsonSchemaValue:
    """The schema of one report."""
    found = ReportFields.model_json_schema(schema_generator=_Untitled)
    return {"$schema": _Untitled.schema_dialect, **found, "title": "A regression analysis of matbench"}


def json_report(analysis: Analysis) -> str:
    """The report as JSON text."""
    return json.dumps(as_json(analysis), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_json(analysis: Analysis) -> Document:
    """The report as values that JSON can hold."""
    suspected = {one.id for one in analysis.also_failing}
    report = ReportFields.of(
        analysis,
        format=FORMAT,
        version=VERSION,
        made_at=_time(analysis.made_at),
        causes=[CauseFields.of(one, alarms=[alarm.id for alarm in one.alarms]) for one in causes(analysis)],
        verdict=analyses.lead(analysis),
        values=analysis.points,
        over_all=[_over_all(one) for one in analysis.over_all],
        series=[_series(one, is_enough=one.id in suspected) for one in analysis.verdicts],
        not_analysed=[NotAnalysedFields.of(one, labels=_labels(one.labels)) for one in analysis.not_analysed],
    )
    document: Document = to_jsonable(report)
    return document


def _series(one: SeriesVerdict, *, is_enough: bool) -> dict[str, object]:
    return SeriesFields.of(
        one,
        kpi=KPIFields.of(one.kpi),
        labels=_labels(one.labels),
        verdict=one.outcome,
        fails=one.fails or is_enough,
        sentence=verdicts.sentence(one),
        effect=_known(one.effect),
        difference=_known(one.difference),
        points=[_point(version, point) for version, point in zip(one.versions, one.points, strict=True)],
        changes=[ChangeFields.of(change) for change in one.changes],
        alarms=[AlarmFields.of(alarm, at=None if alarm.at is None else _time(alarm.at)) for alarm in one.alarms],
        too_small=None if one.too_small is None else ChangeFields.of(one.too_small),
    )


def _over_all(one: OverAll) -> dict[str, object]:
    return OverAllFields.of(
        one,
        kpi=one.kpi.name,
        all_series=max(one.of, one.series),
        verdict=one.outcome,
        effect=_known(one.effect),
        difference=_known(one.difference),
    )


def _point(version: str, point: SeriesPoint) -> dict[str, object]:
    return PointFields.of(
        point,
        version=version,
        versions=_labels(point.versions),
        time=None if point.time_us is None else _time(moment(point.time_us)),
        runs=point.count,
        tests=[entry.test_uuid or entry.name for entry in point.entries],
    )


def _known(estimate: Estimate | None) -> Estimate | None:
    return estimate if estimate is not None and math.isfinite(estimate.value) else None


def _labels(labels: Labels) -> dict[str, object]:
    """Labels that are set; one of a type without a JSON form as text."""
    return {to_jsonable(name): _plain(value) for name, value in labels.items() if value is not NOT_SET}


def _plain(value: object) -> object:
    try:
        return to_jsonable(value)
    except TypeError:
        return repr(value)


def _time(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
