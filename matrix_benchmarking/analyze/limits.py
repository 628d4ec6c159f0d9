"""The best configuration under a limit on another KPI: the cheapest below 100 ms, and where the choice changes.

Gets what :func:`matrix_benchmarking.analyze.best.rank` gives. A point's mean over its repeats is what is compared with
the limit; a point whose mean isn't known is within no limit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..kpi import KPIDefinition
from ..matrix import Entry
from . import doubts, intervals
from .best import Best, Group, Standing, VariantBest
from .points import Cause, Excluded, Key, Point, key, part


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """From which limit on a point is the best.

    Attributes:
        limit: the tightest limit that the point satisfies: its own mean of the limited KPI, in that KPI's unit.
        point: the best point within this limit, and within wider ones up to the next step.
    """

    limit: float
    point: Point


@dataclasses.dataclass(frozen=True, slots=True)
class Missed:
    """A group without any point within the limit.

    Attributes:
        nearest: the point that comes closest; None where the KPI isn't known for any.
    """

    group: Group
    nearest: Point | None


@dataclasses.dataclass(frozen=True, slots=True)
class Limited:
    """A ranking of the points within a limit.

    Attributes:
        best: the groups with such points, each ranked anew; points with an unknown KPI are among the excluded.
        kpi, limit: what is limited, and to what, in the KPI's unit.
        missed: the groups without such a point.
        beyond: how many points are beyond the limit, in the groups that have one within.
    """

    best: Best
    kpi: KPIDefinition
    limit: float
    missed: tuple[Missed, ...]
    beyond: int


def mean_of(point: Point, kpi: KPIDefinition) -> float | None:
    """The mean of *kpi* over the point's runs that have it, in its unit; None where none has."""
    values = [entry.kpis[kpi.name] for entry in point.runs if kpi.name in entry.kpis]
    return intervals.summarise(values).mean if values else None


def keeps(kpi: KPIDefinition, value: float | None, limit: float) -> bool:
    """True if a known *value* is within *limit*: at most that where lower is better, else at least that."""
    if value is None:
        return False
    return value <= limit if kpi.lower_better else value >= limit


def staircase(group: Group, headline: KPIDefinition, kpi: KPIDefinition) -> list[Step]:
    """For which limits on *kpi* the winner changes, the tightest first: each step wins by *headline*.

    Between a step's limit and the next its point stays the best; tighter than the first no point is left.
    """
    sign, limit_sign = (1 if each.lower_better else -1 for each in (headline, kpi))
    known = [(value, one.point) for one in group.standings if (value := mean_of(one.point, kpi)) is not None]
    known.sort(key=lambda pair: (limit_sign * pair[0], sign * pair[1].value))
    steps: list[Step] = []
    for value, point in known:
        if not steps or sign * point.value < sign * steps[-1].point.value:
            steps.append(Step(value, point))
    return steps


def winner(steps: Sequence[Step], kpi: KPIDefinition, limit: float) -> Step | None:
    """The step that holds at *limit*; None where that is tighter than all."""
    return next((step for step in reversed(steps) if keeps(kpi, step.limit, limit)), None)


def within(group: Group, headline: KPIDefinition, kpi: KPIDefinition, limit: float) -> Group | None:
    """The part of *group* within *limit*, compared with its own best; None where nothing is.

    Points that are equal by *headline* come in the order of *kpi*.
    """
    sign, limit_sign = (1 if each.lower_better else -1 for each in (headline, kpi))
    known = [(value, one.point) for one in group.standings if (value := mean_of(one.point, kpi)) is not None]
    kept = [pair for pair in known if keeps(kpi, pair[0], limit)]
    if not kept:
        return None
    kept.sort(key=lambda pair: (sign * pair[1].value, limit_sign * pair[0]))
    first, scale = kept[0][1], group.standings[0].against_best.scale
    standings = tuple(
        Standing(point, intervals.compare(point.sample, first.sample, scale, group.spread)) for _, point in kept
    )
    return dataclasses.replace(group, standings=standings, variants=_variants(standings, group.variant_names))


def under(best: Best, kpi: KPIDefinition, limit: float) -> Limited:
    """The ranking *best*, of the points whose *kpi* is within *limit* (in its unit)."""
    assert best.kpi is not None
    groups, missed, excluded, beyond = [], [], list(best.excluded), 0
    for group in best.groups:
        part_within = within(group, best.kpi, kpi, limit)
        values = [(mean_of(one.point, kpi), one.point) for one in group.standings]
        excluded += [_unknown(entry, kpi) for value, point in values if value is None for entry in point.runs]
        if part_within is None:
            steps = staircase(group, best.kpi, kpi)
            missed.append(Missed(group, steps[0].point if steps else None))
            continue
        groups.append(part_within)
        beyond += sum(value is not None and not keeps(kpi, value, limit) for value, _ in values)
    return Limited(Best(best.kpi, tuple(groups), tuple(excluded)), kpi, limit, tuple(missed), beyond)


def _unknown(entry: Entry, kpi: KPIDefinition) -> Excluded:
    reason = f"{kpi.name} is unknown: {entry.missing_kpis.get(kpi.name, 'not known for this test')}"
    return Excluded(entry, Cause.UNKNOWN, reason, reason)


def _variants(standings: Sequence[Standing], names: Sequence[str]) -> tuple[VariantBest, ...]:
    """The best point of each variant among *standings*, which come the best first."""
    members: dict[Key, list[Standing]] = {}
    for one in standings:
        members.setdefault(key(one.point.settings, names), []).append(one)
    return tuple(
        VariantBest(
            variant=part(ones[0].point.settings, names),
            standing=ones[0],
            points=len(ones),
            warnings=doubts.of_point(ones[0].point.runs),
        )
        for ones in members.values()
    )
