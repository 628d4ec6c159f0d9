"""The best configuration under a limit on another KPI: the cheapest below 100 ms, and where the choice changes.

Gets what :func:`matrix_benchmarking.analyze.best.rank` gives. A point keeps a limit by the one-sided 95 % bound of its
mean, to which points of about the same headline value lend what they know (:mod:`.bounds`), and by the mean itself. The
bound of a point with one run is unknown: it keeps no limit for sure, and is named where it might be better than the one
that does. Where no point of a group was repeated, the values themselves are compared with the limit, and that is said.
A point whose value isn't known is within no limit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from ..kpi import KPIDefinition
from ..matrix import Entry
from . import intervals
from .best import Best, Group, narrowed
from .points import Excluded, ExclusionCause, Point


@dataclasses.dataclass(frozen=True, slots=True)
class Bounded:
    """What is known of a limited KPI at a point, in that KPI's unit.

    Attributes:
        runs: how many have the value.
        mean: over these runs; None where none has it.
        bound: what the mean is within, with 95 %; None where that isn't known.
    """

    point: Point
    runs: int
    mean: float | None
    bound: float | None


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """From which limit on a point is the best.

    Attributes:
        limit: the tightest limit that the point keeps, in the limited KPI's unit: its bound, or its value where no
            point of the group was repeated.
        point: the best point within this limit, and within wider ones up to the next step.
    """

    limit: float
    point: Point


@dataclasses.dataclass(frozen=True, slots=True)
class Missed:
    """A group without any point that is known to keep the limit.

    Attributes:
        nearest: the point that comes closest; None where the KPI isn't known for any.
        unsure: the points whose values are within the limit, and bounds beyond it or unknown; the best first.
    """

    group: Group
    nearest: Bounded | None
    unsure: tuple[Bounded, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Limited:
    """A ranking of the points within a limit.

    Attributes:
        best: the groups with such points, each ranked anew; points with an unknown KPI are among the excluded.
        kpi, limit: what is limited, and to what, in the KPI's unit.
        missed: the groups without such a point.
        kept, open, beyond, unknown: how many points of all groups keep the limit, have their mean within it and their
            bound not, are beyond it, and have no known value: together all points.
        unsure: for each group of *best*, the points better than its best one whose values are within the limit, and
            bounds beyond it or unknown; the best first.
    """

    best: Best
    kpi: KPIDefinition
    limit: float
    missed: tuple[Missed, ...]
    kept: int
    open: int
    beyond: int
    unknown: int
    unsure: tuple[tuple[Bounded, ...], ...]


def bounded(group: Group, kpi: KPIDefinition) -> list[Bounded]:
    """What is known of *kpi* at each point of *group*, in the order of the ranking."""
    values = [[entry.kpis[kpi.name] for entry in one.point.runs if kpi.name in entry.kpis] for one in group.standings]
    means = [intervals.summarise(ones).mean if ones else None for ones in values]
    repeated = [at for at, ones in enumerate(values) if len(ones) > 1]
    bounds: list[float | None] = [None] * len(values)
    if repeated:
        from .bounds import bounds_of  # scipy takes a third of a second, which single runs don't need

        headline = [group.standings[at].point.value for at in repeated]
        known = bounds_of([values[at] for at in repeated], headline, lower_better=bool(kpi.lower_better))
        for at, bound in zip(repeated, known, strict=True):
            bounds[at] = bound
    return [
        Bounded(one.point, len(ones), mean, bound)
        for one, ones, mean, bound in zip(group.standings, values, means, bounds, strict=True)
    ]


def keeps(kpi: KPIDefinition, value: float | None, limit: float) -> bool:
    """True if a known *value* is within *limit*: at most that where lower is better, else at least that."""
    return value is not None and (value <= limit if kpi.lower_better else value >= limit)


def staircase(found: Sequence[Bounded], headline: KPIDefinition, kpi: KPIDefinition) -> list[Step]:
    """For which limits on *kpi* the winner changes, the tightest first: each step wins by *headline*.

    Between a step's limit and the next its point stays the best; tighter than the first no point is left.
    """
    sign, limit_sign = (1 if each.lower_better else -1 for each in (headline, kpi))
    known = [(limit, one.point) for one, limit in _own_limits(found) if limit is not None]
    known.sort(key=lambda pair: (limit_sign * pair[0], sign * pair[1].value))
    steps: list[Step] = []
    for value, point in known:
        if not steps or sign * point.value < sign * steps[-1].point.value:
            steps.append(Step(value, point))
    return steps


def winner(steps: Sequence[Step], kpi: KPIDefinition, limit: float) -> Step | None:
    """The step that holds at *limit*; None where that is tighter than all."""
    return next((step for step in reversed(steps) if keeps(kpi, step.limit, limit)), None)


def within(group: Group, found: Sequence[Bounded], kpi: KPIDefinition, limit: float) -> Group | None:
    """The part of *group* within *limit*, compared with its own best; None where nothing is.

    Points that are equal by the group's own KPI come in the order of *kpi*.
    """
    sign, limit_sign = (1 if each.lower_better else -1 for each in (group.kpi, kpi))
    kept = [(its, one.point) for one, its in _own_limits(found) if its is not None and keeps(kpi, its, limit)]
    kept.sort(key=lambda pair: (sign * pair[1].value, limit_sign * pair[0]))
    return narrowed(group, [point for _, point in kept]) if kept else None


def unsure(found: Sequence[Bounded], kpi: KPIDefinition, limit: float) -> list[Bounded]:
    """The points whose means are within *limit* and bounds beyond it or unknown, in the order of the ranking."""
    return [one for one, its in _own_limits(found) if keeps(kpi, one.mean, limit) and not keeps(kpi, its, limit)]


def under(best: Best, kpi: KPIDefinition, limit: float) -> Limited:
    """The ranking *best*, of the points whose *kpi* is within *limit* (in its unit)."""
    groups, missed, excluded, better = [], [], list(best.excluded), []
    kept = in_doubt = beyond = unknown = 0
    for group in best.groups:
        found = bounded(group, kpi)
        excluded += [_unknown(entry, kpi) for one in found if one.mean is None for entry in one.point.runs]
        inside = within(group, found, kpi, limit)
        open_ones = unsure(found, kpi, limit)
        in_doubt += len(open_ones)
        unknown += sum(one.mean is None for one in found)
        beyond += sum(one.mean is not None and not keeps(kpi, one.mean, limit) for one in found)
        if inside is None:
            known = [(its, one) for one, its in _own_limits(found) if its is not None]
            nearest = min(known, key=lambda pair: pair[0] if kpi.lower_better else -pair[0])[1] if known else None
            missed.append(Missed(group, nearest, tuple(open_ones)))
            continue
        groups.append(inside)
        kept += len(inside.standings)
        better.append(tuple(better_than(inside.best, open_ones, group)))
    narrow = Best(best.kpi, tuple(groups), tuple(excluded))
    return Limited(narrow, kpi, limit, tuple(missed), kept, in_doubt, beyond, unknown, tuple(better))


def better_than(point: Point, others: Iterable[Bounded], group: Group) -> list[Bounded]:
    """Those of *others* that come before *point* in the ranking of *group*."""
    places = {id(one.point): place for place, one in enumerate(group.standings)}
    return [one for one in others if places[id(one.point)] < places[id(point)]]


def _own_limits(found: Sequence[Bounded]) -> list[tuple[Bounded, float | None]]:
    """The tightest limit that each point keeps: its bound; its value where no point has a bound."""
    is_known = any(one.bound is not None for one in found)
    return [(one, one.bound if is_known else one.mean) for one in found]


def _unknown(entry: Entry, kpi: KPIDefinition) -> Excluded:
    reason = f"{kpi.name} is unknown: {entry.missing_kpis.get(kpi.name, 'not known for this test')}"
    return Excluded(entry, ExclusionCause.UNKNOWN, reason, reason)
