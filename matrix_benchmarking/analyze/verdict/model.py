"""What an analysis says: a verdict for each series, the worst first, its alarms; what was not analysed, and why."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from collections.abc import Mapping, Sequence
from typing import Any

from ...kpi import KPIDefinition
from ...workload import MinimumEffect
from ..detect import Change, Estimate
from ..select.selection import NotAnalysed, SelectedSeries
from ..select.series import SeriesPoint
from ..words import percent


class Outcome(enum.Enum):
    """The verdict on a series."""

    REGRESSION = "worse"
    IMPROVEMENT = "better"
    SUSPECTED = "suspected"
    """It looks worse or better, by one block alone, or as one of so many series does by chance."""
    NO_CHANGE = "no difference shown"
    CANT_TELL = "can't be told"
    """The history is too short, or what was measured can't tell a difference from the machine's mood."""
    NOT_ANALYSED = "not analysed"


class Status(enum.Enum):
    """What became of an alarm."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    """Somebody said that it is dealt with."""
    FIXED = "fixed"
    """A later version is back on the old level, or better."""


@dataclasses.dataclass(frozen=True, slots=True)
class Alarm:
    """A change for the worse, and what people said of it.

    Attributes:
        id: of series and first bad version; the same in each analysis and on each machine. Empty where two sides were
            compared and the history knows no alarm of it.
        workload, kpi, labels: the series.
        series: the series in words, by the labels that tell it from others.
        first_bad, last_good: versions in words.
        old_level, new_level: in the KPI's unit, when the alarm was raised, or as they are known today.
        status: what became of it.
        is_new: it could not be told before the newest point.
        fixed_by: the version that repaired it, in words; None for one that isn't fixed.
        author, at, reason: who gave it its status, when and why; None where nobody did.
        until: a version or a date up to which it is acknowledged; None for always.
        note: more to know, such as an acknowledgement that ran out; empty for nothing.
    """

    id: str
    workload: str
    kpi: str
    labels: Mapping[str, Any]
    series: str
    first_bad: str
    last_good: str
    old_level: float
    new_level: float
    status: Status
    is_new: bool
    fixed_by: str | None = None
    author: str | None = None
    at: dt.datetime | None = None
    reason: str | None = None
    until: str | None = None
    note: str = ""

    @property
    def fails(self) -> bool:
        """Whether it makes an analysis fail."""
        return self.status is Status.OPEN


@dataclasses.dataclass(frozen=True, slots=True)
class SeriesVerdict:
    """The verdict on the newest version of one series.

    Attributes:
        id: of the series: workload, KPI, labels; never of a value.
        kpi: what is measured, with its unit, direction and format.
        labels: what identifies the series besides the KPI.
        name: the series in words, by the labels that tell it from others; ``all runs`` where there is one.
        outcome: the verdict. Never NOT_ANALYSED: see :class:`.selection.NotAnalysed`.
        points: one a version, the oldest first.
        versions: each point in words, as ``1.3.0``, or its time where no version orders the series.
        effect: new level / old level − 1, with its interval; None where unknown.
        difference: new level − old level in the KPI's unit, with its interval; None where unknown.
        old_level, new_level: in the KPI's unit; None where unknown.
        first_bad, last_good: the first point on the new level and the last on the old one; None without a change.
            Of an improvement, the first better one and the last before.
        p_value: the chance of evidence such as this without a change; None where unknown.
        q_value: the false discovery rate at which the series is among the discoveries; None likewise.
        runs_before, runs_after: number of runs behind both levels.
        reruns: without a difference shown yet, how many more runs would tell; of too short a history, how many versions
            are missing.
        is_new: the change could not be told before the newest point.
        changes: all changes of the series that count, the oldest first.
        alarms: those that are worse, with what became of each, in the same order.
        minimum_effect, minimum_effect_absolute: what a change had to reach, as a fraction and in the KPI's unit.
        drift: of a series that goes on drifting, by how much of the old level from version to version; else None.
        notes: what else is to be known, such as a newest version without a value.
        stands_on: where two sides were compared, the blocks behind it: ``in 5 common rounds``; else empty.
        would_show: without a difference, the smallest one that would have been seen in four of five cases: as a
            fraction where *effect* is one, else in the KPI's unit; None where unknown.
        would_show_in: of a history, so many versions after it; 0 where two sides were compared.
        why: why it can't be told, and what to measure next; empty where it can.
    """

    id: str
    kpi: KPIDefinition
    labels: Mapping[str, Any]
    name: str
    outcome: Outcome
    points: Sequence[SeriesPoint]
    versions: Sequence[str]
    effect: Estimate | None = None
    difference: Estimate | None = None
    old_level: float | None = None
    new_level: float | None = None
    first_bad: int | None = None
    last_good: int | None = None
    p_value: float | None = None
    q_value: float | None = None
    runs_before: int = 0
    runs_after: int = 0
    reruns: int | None = None
    is_new: bool = False
    changes: Sequence[Change] = ()
    alarms: Sequence[Alarm] = ()
    minimum_effect: float = 0.0
    minimum_effect_absolute: float = 0.0
    drift: float | None = None
    notes: Sequence[str] = ()
    stands_on: str = ""
    would_show: float | None = None
    would_show_in: int = 0
    why: str = ""

    @property
    def fails(self) -> bool:
        """Whether it makes the analysis fail: it has an alarm that nobody dealt with."""
        return any(alarm.fails for alarm in self.alarms)

    @property
    def looks_worse(self) -> bool:
        """The direction of its difference, whether that is more than chance or not."""
        value = 0.0 if self.difference is None else self.difference.value
        return value != 0.0 and (value > 0.0) == self.kpi.lower_better

    @property
    def first_bad_version(self) -> str | None:
        """In words; None without a change."""
        return None if self.first_bad is None else self.versions[self.first_bad]

    @property
    def last_good_version(self) -> str | None:
        """In words; None without a change."""
        return None if self.last_good is None else self.versions[self.last_good]


@dataclasses.dataclass(frozen=True, slots=True)
class Analysis:
    """The outcome of one analysis.

    Attributes:
        workload: its name.
        data: where the runs came from, in words.
        question: what was asked, in words: ``1.3.0 against its history`` or ``b against a``.
        newest: the newest version in words; None where there is none.
        verdicts: of each series: what fails first, then by severity.
        not_analysed: the rest.
        notes: sentences on the data, such as labels that changed their set.
        runs: successful runs that were looked at.
        points: values that were looked at.
        kpis: the names of the KPIs that were looked at.
        false_discovery_rate: the bound on the share of false alarms.
        made_at: when, UTC.
        check: how many findings there are on the runs, in words; empty where nobody looked.
        order: where the order of the versions is from, as a sentence; empty where none was asked for.
        beside: of a comparison, what the history says of the same series, as a sentence; empty for nothing.
    """

    workload: str
    data: str
    question: str
    newest: str | None
    verdicts: Sequence[SeriesVerdict]
    not_analysed: Sequence[NotAnalysed]
    notes: Sequence[str]
    runs: int
    points: int
    kpis: Sequence[str]
    false_discovery_rate: float
    made_at: dt.datetime
    check: str = ""
    order: str = ""
    beside: str = ""

    @property
    def left_out(self) -> tuple[int, int, list[NotAnalysed]]:
        """Of what was not analysed how many series and whole KPIs, and the runs of KPIs of which others were."""
        others = [one for one in self.not_analysed if not one.series]
        there = {one.kpi.name for one in self.verdicts} | {one.kpi for one in self.not_analysed if one.series}
        whole = {one.kpi for one in others} - there
        return len(self.not_analysed) - len(others), len(whole), [one for one in others if one.kpi in there]

    @property
    def failing(self) -> list[SeriesVerdict]:
        """The series that make the analysis fail."""
        return [one for one in self.verdicts if one.fails]

    @property
    def suspected(self) -> list[SeriesVerdict]:
        """The series that may be worse: one block of runs alone says so."""
        return [one for one in self.having(Outcome.SUSPECTED) if one.looks_worse]

    @property
    def failed(self) -> bool:
        """Whether something got worse that nobody dealt with: exit status 1."""
        return any(one.fails for one in self.verdicts)

    def having(self, outcome: Outcome) -> list[SeriesVerdict]:
        """The series of this outcome, in order."""
        return [one for one in self.verdicts if one.outcome is outcome]

    def alarms(self, status: Status) -> list[tuple[SeriesVerdict, Alarm]]:
        """The alarms of this status with their series, in order."""
        return [(one, alarm) for one in self.verdicts for alarm in one.alarms if alarm.status is status]


SEVERITY = (
    Outcome.REGRESSION,
    Outcome.SUSPECTED,
    Outcome.IMPROVEMENT,
    Outcome.NO_CHANGE,
    Outcome.CANT_TELL,
)


def unjudged(series: SelectedSeries, old: int, new: int) -> NotAnalysed:
    """A series of a KPI of which neither direction is better: its values at the points *old*, if any, and *new*."""
    kpi, point = series.kpi, series.points[new]
    said = kpi.show(point.mean)
    if old >= 0:
        before = series.points[old].mean
        by = f" ({percent(point.mean / before - 1)})" if before > 0 else ""
        said = f"{kpi.show(before)} at {series.versions[old]}, {said} at {series.versions[new]}{by}"
    runs = sum(one.count for one in series.points)
    return NotAnalysed(kpi.name, series.name, series.labels, f"neither direction is better, not judged: {said}", runs)


def severity(verdict: SeriesVerdict) -> tuple[bool, int, bool, float]:
    """A sorting key: what fails, then by outcome, new, large and doubtful ones first; the rest stays in its order."""
    is_change = verdict.outcome in (Outcome.REGRESSION, Outcome.SUSPECTED, Outcome.IMPROVEMENT)
    size = -size_of(verdict) if is_change else float(not verdict.reruns)
    return not verdict.fails, SEVERITY.index(verdict.outcome), not verdict.is_new, size


def size_of(verdict: SeriesVerdict) -> float:
    """How large a change is, for the order of a report: its ratio, else how often it reaches its minimum."""
    if verdict.effect is not None:
        return abs(verdict.effect.value)
    least = amount(MinimumEffect(verdict.minimum_effect, verdict.minimum_effect_absolute), verdict.old_level or 0.0)
    return 0.0 if verdict.difference is None else abs(verdict.difference.value) / (least or 1.0)


def amount(minimum: MinimumEffect, level: float) -> float:
    """The smallest difference from *level* that counts, in the KPI's unit."""
    return max(minimum.relative * abs(level), minimum.absolute)
