"""What an analysis says: a verdict for each series, the worst first, its alarms; what was not analysed, and why."""

from __future__ import annotations

import collections
import datetime as dt
import enum
from collections.abc import Sequence

import msgspec

from ...kpi import KPIDefinition
from ...workload import MinimumEffect
from ..detect import Change, Estimate
from ..detect.evidence import RATE
from ..select.labelled import Labels
from ..select.series import NotAnalysed, Series, SeriesPoint
from ..words import percent

OF_FEW = "few versions don't tell it from a mood of the machine that lasts"
NOW_AND_THEN = "now and then a run is far beyond the usual, more often than before, which medians don't show"
FARTHEST = "no version before moved half as far"
OF_A_MOOD = "a mood of the machine that lasts over versions could have moved it as far"
OF_NEWEST = "by its newest 20 versions alone, as earlier ones move too much"
ALONE = "one or two blocks of runs alone say so"  # why a series of a history is suspected


class Outcome(enum.Enum):
    REGRESSION = "worse"
    IMPROVEMENT = "better"
    SUSPECTED = "suspected"  # it looks worse or better, by a block or two alone, or as one of so many does by chance
    NO_CHANGE = "no difference shown"
    CANT_TELL = "can't be told"  # the history is too short, or a difference may be the machine's mood
    NOT_ANALYSED = "not analysed"


class Status(enum.Enum):
    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"  # somebody said that it is dealt with
    FIXED = "fixed"  # a later version is back on the old level, or better


class Alarm(msgspec.Struct, frozen=True):
    """A change for the worse, and what people said of it; levels are as they were when it was raised, or are today."""

    id: str  # of series and first bad version, the same everywhere; empty for what no history knows, nor will
    kpi: str
    first_bad: str  # versions in words
    last_good: str
    old_level: float
    new_level: float
    status: Status
    is_new: bool  # it could not be told before the newest point
    fixed_by: str | None = None  # the version that repaired it, in words
    author: str | None = None  # who gave it its status, when and why; None where nobody did
    at: dt.datetime | None = None
    reason: str | None = None
    until: str | None = None  # a version or a date up to which it is acknowledged; None for always
    note: str = ""  # more to know, such as an acknowledgement that ran out
    comment: str = ""  # the last that somebody made, with who and when

    @classmethod
    def of(cls, series: Series, change: Change, identity: str, *, is_new: bool) -> Alarm:
        """That of a *change* of which nobody said anything yet."""
        first_bad, last_good = series.versions[change.first], series.versions[change.last_before]
        levels = change.old_level, change.new_level
        return cls(identity, series.kpi.name, first_bad, last_good, *levels, Status.OPEN, is_new)

    @property
    def fails(self) -> bool:
        return self.status is Status.OPEN


class SeriesVerdict(msgspec.Struct, frozen=True):
    """The verdict on the newest version of one series; levels are in the KPI's unit, and what isn't known is None."""

    id: str  # of the series: workload, KPI, labels; never of a value
    kpi: KPIDefinition
    labels: Labels  # what identifies the series besides the KPI
    name: str  # in words, by the labels that tell it from others; ``all runs`` where there is one
    outcome: Outcome  # never NOT_ANALYSED: see `NotAnalysed`
    points: Sequence[SeriesPoint]  # one a version, the oldest first
    versions: Sequence[str]  # each point in words, as ``1.3.0``, or its time where no version orders the series
    effect: Estimate | None = None  # new level / old level − 1
    difference: Estimate | None = None  # new level − old level
    old_level: float | None = None
    new_level: float | None = None
    first_bad: int | None = None  # the first point on the new level, or better one; None without a change
    last_good: int | None = None  # the last on the old one
    p_value: float | None = None  # the chance of evidence such as this without a change
    q_value: float | None = None  # the false discovery rate at which the series is among the discoveries
    runs_before: int = 0  # behind both levels
    runs_after: int = 0
    reruns: int | None = None  # versions that would tell, without a difference yet; or that a history is short of
    is_new: bool = False  # the change could not be told before the newest point
    is_at_known_level: bool = False  # on the worse of two levels between which it went back and forth before: no alarm
    changes: Sequence[Change] = ()  # all that count, the oldest first
    alarms: Sequence[Alarm] = ()  # those that are worse, in the same order
    minimum_effect: float = 0.0  # what a change had to reach, as a fraction and in the KPI's unit
    minimum_effect_absolute: float = 0.0
    drift: float | None = None  # of a series that goes on drifting, by how much of the old level a version
    may_drift: bool = False  # a line fits its points about as well as its change does
    too_small: Change | None = None  # without a change, one that is less than the minimum effect
    rises_all_along: bool = False  # suspected by a line through all its versions, of which none shows it by itself
    notes: Sequence[str] = ()  # what else is to be known, such as a newest version without a value
    stands_on: str = ""  # where two sides were compared, the blocks behind it: ``in 5 common rounds``
    # Without a difference, the smallest one that would have been seen in four of five cases: as a fraction where
    # *effect* is one, else in the KPI's unit; in a history so many versions after it, 0 where two sides were compared.
    would_show: float | None = None
    would_show_in: int = 0
    why: str = ""  # why it can't be told, and what to measure next; or why no more than this is said

    @classmethod
    def of(cls, series: Series, minimum: MinimumEffect) -> SeriesVerdict:
        """Nothing but the series, of which no difference is shown."""
        return cls(
            id=series.id,
            kpi=series.kpi,
            labels=series.labels,
            name=series.name,
            outcome=Outcome.NO_CHANGE,
            points=series.points,
            versions=series.versions,
            minimum_effect=minimum.relative,
            minimum_effect_absolute=minimum.absolute,
            notes=series.notes,
        )

    @property
    def fails(self) -> bool:
        return any(alarm.fails for alarm in self.alarms)

    @property
    def is_small(self) -> bool:
        """Whether it changed, or its sides differ for all that is known, by less than the minimum effect."""
        measure, old, new = self.effect or self.difference, self.old_level, self.new_level
        if self.outcome is not Outcome.NO_CHANGE or not self.stands_on or measure is None or old is None or new is None:
            return self.too_small is not None
        return is_less(measure, old, new, MinimumEffect(self.minimum_effect, self.minimum_effect_absolute))

    @property
    def looks_worse(self) -> bool:
        """The direction of its difference, whether that is more than chance or not."""
        value = 0.0 if self.difference is None else self.difference.value
        return value != 0.0 and (value > 0.0) == self.kpi.lower_better

    @property
    def first_bad_version(self) -> str | None:
        return None if self.first_bad is None else self.versions[self.first_bad]

    @property
    def last_good_version(self) -> str | None:
        return None if self.last_good is None else self.versions[self.last_good]


class Doubt(msgspec.Struct, frozen=True):
    """What makes the numbers of compared runs doubtful, and how many of how many runs of each side have it."""

    said: str
    old: tuple[int, int]
    new: tuple[int, int]

    @property
    def difference(self) -> float:
        """By how much the shares of both sides differ: one that one side alone has may be the difference itself."""
        return abs(self.new[0] / self.new[1] - self.old[0] / self.old[1])


class OverAll(msgspec.Struct, frozen=True):
    """What a KPI does over so many *series* together, between two sides or along a history."""

    kpi: KPIDefinition
    series: int
    outcome: Outcome
    effect: Estimate | None
    difference: Estimate
    since: str | None = None  # of a history the first version of the new level, in words
    of: int = 0  # there are so many series of it, of which the others change or have ended; 0: no others
    is_new: bool = True  # it could not be told before the newest version


class Analysis(msgspec.Struct, frozen=True):
    workload: str
    data: str  # where the runs came from, in words
    question: str  # in words: ``1.3.0 against its history`` or ``b against a``
    newest: str | None  # the newest version in words
    verdicts: Sequence[SeriesVerdict]  # what fails first, then by severity
    not_analysed: Sequence[NotAnalysed]
    notes: Sequence[str]  # sentences on the data, such as labels that changed their set
    runs: int  # successful ones that were looked at
    points: int  # values that were looked at
    kpis: Sequence[str]  # names of those that were looked at
    made_at: dt.datetime  # UTC
    check: str = ""  # how many findings there are on the runs, in words; empty where nobody looked
    odd: Sequence[str] = ()  # those of them that change this answer, in sentences
    doubts: Sequence[Doubt] = ()  # of a comparison of two sides, those that one side has more of first
    order: str = ""  # where the order of the versions is from, as a sentence
    over_all: Sequence[OverAll] = ()  # what KPIs do over all series, and none of these shows by itself
    beside: str = ""  # that machines differ, and of a comparison what the history says of the same series, in sentences
    fails_on_suspected: bool = False  # what may be worse fails it, too
    without_a_good_run: Sequence[str] = ()  # the versions, as ``version 1.4.0``, that fail it as they weren't judged
    fails_more: Sequence[str] = ()  # that runs fail more often than before, or than the other side's, in sentences
    may_fail_more: Sequence[str] = ()  # the same where an outage may be why: suspected
    false_discovery_rate: float = RATE  # the bound on the share of false alarms

    def __repr__(self) -> str:
        """Short: a comparison of many series is long."""
        outcomes = collections.Counter(one.outcome.value for one in self.verdicts)
        counts = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
        return f"<{type(self).__name__} of {self.workload}, {self.question}: {counts or 'no series'}>"

    @property
    def left_out(self) -> tuple[int, int, list[NotAnalysed]]:
        """Of what was not analysed how many series and whole KPIs, and the runs of KPIs of which others were."""
        others = [one for one in self.not_analysed if not one.series]
        there = {one.kpi.name for one in self.verdicts} | {one.kpi for one in self.not_analysed if one.series}
        whole = {one.kpi for one in others} - there
        return len(self.not_analysed) - len(others), len(whole), [one for one in others if one.kpi in there]

    @property
    def failing(self) -> list[SeriesVerdict]:
        return [one for one in self.verdicts if one.fails]

    @property
    def suspected(self) -> list[SeriesVerdict]:
        """The series that may be worse."""
        return [one for one in self.having(Outcome.SUSPECTED) if one.looks_worse]

    @property
    def also_failing(self) -> list[SeriesVerdict]:
        """The other series that may be worse, where that is enough to fail; what all versions say just once.

        What has no value at the newest version was suspected before.
        """
        there = [one for one in self.suspected if one.stands_on or self.newest in (None, one.versions[-1])]
        suspected = [one for one in there if one.is_new or not (one.rises_all_along or one.why)]
        return [one for one in suspected if self.fails_on_suspected and not one.fails]

    @property
    def failing_together(self) -> list[OverAll]:
        """The KPIs that are newly worse over all their series together, where what may be worse is enough to fail.

        Of a history just once: it is no alarm that somebody could acknowledge.
        """
        worse = [one for one in self.over_all if one.outcome is Outcome.REGRESSION and one.is_new]
        return worse if self.fails_on_suspected else []

    @property
    def failures(self) -> int:
        """How many series, KPIs over all their series together, and sentences on runs that failed make it fail."""
        series = len(self.failing) + len(self.also_failing)
        return series + len(self.failing_together) + len(self.without_a_good_run) + len(self.fails_more)

    @property
    def failed(self) -> bool:
        """Whether something got worse that nobody dealt with, may have where that is enough, or wasn't judged.

        Exit status 1.
        """
        return self.failures > 0

    def having(self, outcome: Outcome) -> list[SeriesVerdict]:
        return [one for one in self.verdicts if one.outcome is outcome]

    def alarms(self, status: Status) -> list[tuple[SeriesVerdict, Alarm]]:
        return [(one, alarm) for one in self.verdicts for alarm in one.alarms if alarm.status is status]


SEVERITY = (Outcome.REGRESSION, Outcome.SUSPECTED, Outcome.IMPROVEMENT, Outcome.NO_CHANGE, Outcome.CANT_TELL)


def not_judged(series: Series, reason: str, points: Sequence[SeriesPoint] | None = None) -> NotAnalysed:
    """That *series* takes no part, of which so many runs were asked about: those of all its points unless given."""
    asked = series.points if points is None else points
    return NotAnalysed(series.kpi.name, series.name, series.labels, reason, sum(one.count for one in asked))


def unjudged(series: Series, old: int, new: int = -1) -> NotAnalysed:
    """A series of a KPI of which neither direction is better: its values at the points *old*, if any, and *new*."""
    kpi, point = series.kpi, series.points[new]
    said = kpi.show(point.mean)
    if old >= 0:
        before = series.points[old].mean
        by = f" ({percent(point.mean / before - 1)})" if before > 0 else ""
        said = f"{kpi.show(before)} at {series.versions[old]}, {said} at {series.versions[new]}{by}"
    return not_judged(series, f"neither direction is better, not judged: {said}")


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


def is_less(measure: Estimate, old: float, new: float, minimum: MinimumEffect) -> bool:
    """Whether two levels differ, for sure by their *measure*, and by less than the *minimum*."""
    return abs(new - old) < amount(minimum, old) and (measure.low > 0.0 or measure.high < 0.0)


def amount(minimum: MinimumEffect, level: float) -> float:
    return max(minimum.relative * abs(level), minimum.absolute)
