"""Which configuration is best under a limit on another KPI, and how sure it is that a point keeps it.

A point keeps a limit by the one-sided 95 % bound of its mean, to which points of about the same headline value lend
what they know (:mod:`.bounds`), and by the mean itself. The bound of a point with one run is unknown: it keeps no limit
for sure, and is named where it might be better than the one that does. Where no point of a group was repeated, the
values themselves are compared with the limit. A point whose value isn't known is within no limit.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ..kpi import KPIDefinition
from ..rows import Rows
from . import intervals
from .best import Best, Group
from .blocks import Block
from .points import Bounded, Excluded, ExclusionCause, Point
from .rank import narrowed


class LimitedGroup(msgspec.Struct, frozen=True):
    """A group under a limit."""

    group: Group
    bounds: Sequence[Bounded]  # in the order of its ranking
    inside: Group | None  # the points that keep the limit, ranked anew; None where none is known to keep it
    unsure: Sequence[Bounded]  # those whose means are within it, and bounds beyond it or unknown; the best first


class Limited(msgspec.Struct, frozen=True):
    """A ranking of the points within a limit."""

    best: Best  # the groups with such points; points with an unknown KPI are among the excluded
    kpi: KPIDefinition
    limit: float  # in the KPI's unit
    groups: Sequence[LimitedGroup]  # all


def bounded(group: Group, kpi: KPIDefinition) -> Sequence[Bounded]:
    """What is known of *kpi* at each point of *group*, in the order of the ranking; computed once."""
    with group.lock:
        if kpi.name not in group.known_bounds:
            if group.whole is None:
                group.known_bounds[kpi.name] = _bounded(group, kpi)
            else:  # a part has them as its whole does
                known = {id(one.point): one for one in bounded(group.whole, kpi)}
                group.known_bounds[kpi.name] = [known[id(one.point)] for one in group.standings]
    return group.known_bounds[kpi.name]


def bounded_best(group: Group, kpi: KPIDefinition) -> Bounded:
    """The same of the best point alone, which is quicker."""
    known = group.known_bounds.get(kpi.name) if group.whole is None else bounded(group, kpi)
    return (known if known is not None else _bounded(group, kpi, first=1))[0]


def _bounded(group: Group, kpi: KPIDefinition, first: int | None = None) -> list[Bounded]:
    """As :func:`bounded`, of the *first* points."""
    values = [[value for value in one.point.values_of(kpi.name) if value is not None] for one in group.standings]
    means = [intervals.mean_of(ones) if ones else None for ones in values[:first]]
    repeated = [at for at, ones in enumerate(values) if len(ones) > 1]
    bounds: list[float | None] = [None] * len(means)
    if repeated:
        from .bounds import bounds_of  # scipy takes a third of a second, which single runs don't need

        blocks = group.blocks()
        points = [group.standings[at].point for at in repeated]
        campaigns = [_campaigns(one, kpi, blocks) for one in points]
        asked = sum(at < len(means) for at in repeated)
        sign = intervals.sign_of(value for at in repeated for value in values[at])
        known = bounds_of(
            [[sign * value for value in values[at]] for at in repeated],
            [one.value for one in points],
            campaigns,
            lower_better=bool(kpi.lower_better) == (sign > 0),
            first=asked,
        )
        for at, bound in zip(repeated, known, strict=False):
            bounds[at] = sign * bound
    beyond_all = math.inf if kpi.lower_better else -math.inf
    limits = [beyond_all if one is None else one for one in (bounds if repeated else means)]
    return [
        Bounded(one.point, len(ones), mean, bound, limit)
        for one, ones, mean, bound, limit in zip(group.standings, values, means, bounds, limits, strict=False)
    ]


def _campaigns(point: Point, kpi: KPIDefinition, blocks: Mapping[int, Block]) -> list[int]:
    """The campaign of each run of *point* that has the KPI's value."""
    runs = zip(Rows.of(point.runs).places, point.values_of(kpi.name), strict=True)
    return [blocks[place].campaign for place, value in runs if value is not None]


def keeps(kpi: KPIDefinition, value: float | None, limit: float) -> bool:
    """True if a known *value* is within *limit*: at most that where lower is better, else at least that."""
    return value is not None and (value <= limit if kpi.lower_better else value >= limit)


def staircase(found: Sequence[Bounded], headline: KPIDefinition, kpi: KPIDefinition) -> list[Bounded]:
    """For which limits on *kpi* the winner by *headline* changes: the point that wins from its own limit on.

    Between its limit and the next one's a point stays the best; tighter than the first no point is left.
    """
    sign, limit_sign = (1 if each.lower_better else -1 for each in (headline, kpi))
    known = [one for one in found if math.isfinite(one.limit)]
    steps: list[Bounded] = []
    for one in sorted(known, key=lambda one: (limit_sign * one.limit, sign * one.point.value)):
        if not steps or sign * one.point.value < sign * steps[-1].point.value:
            steps.append(one)
    return steps


def within(group: Group, found: Sequence[Bounded], kpi: KPIDefinition, limit: float) -> Group | None:
    """The part of *group* within *limit*, compared with its own best; None where nothing is.

    Points that are equal by the group's own KPI come in the order of *kpi*.
    """
    sign, limit_sign = (1 if each.lower_better else -1 for each in (group.kpi, kpi))
    kept = [place for place, one in enumerate(found) if keeps(kpi, one.limit, limit)]
    kept.sort(key=lambda place: (sign * found[place].point.value, limit_sign * found[place].limit))
    return narrowed(group, kept) if kept else None


def unsure(found: Sequence[Bounded], kpi: KPIDefinition, limit: float) -> list[Bounded]:
    """The points whose means are within *limit* and bounds beyond it or unknown, in the order of the ranking."""
    return [one for one in found if keeps(kpi, one.mean, limit) and not keeps(kpi, one.limit, limit)]


def under(best: Best, kpi: KPIDefinition, limit: float) -> Limited:
    """The ranking *best*, of the points whose *kpi* is within *limit* (in its unit)."""
    groups, excluded = [], list(best.excluded)
    for group in best.groups:
        found = bounded(group, kpi)
        groups.append(LimitedGroup(group, found, within(group, found, kpi, limit), unsure(found, kpi, limit)))
        for entry in (entry for one in found if one.mean is None for entry in one.point.runs):
            reason = f"{kpi.name} is unknown: {entry.missing_kpis.get(kpi.name, 'not known for this test')}"
            excluded.append(Excluded(entry, ExclusionCause.UNKNOWN, reason, reason))
    inside = tuple(one.inside for one in groups if one.inside is not None)
    return Limited(dataclasses.replace(best, groups=inside, excluded=tuple(excluded)), kpi, limit, groups)


def better_than(point: Point, others: Iterable[Bounded], group: Group) -> list[Bounded]:
    """Those of *others* that come before *point* in the ranking of *group*."""
    places = {id(one.point): place for place, one in enumerate(group.standings)}
    return [one for one in others if places[id(one.point)] < places[id(point)]]
