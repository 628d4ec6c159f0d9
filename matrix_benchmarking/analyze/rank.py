"""The ranking of a matrix: its points in groups that may be compared, the best of each first; and of some of them."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from ..kpi import KPIDefinition
from ..matrix import NOT_SET, TREE, Matrix, typed
from ..rows import Rows
from ..workload import Workload
from . import intervals
from .best import Best, Group, Standing, apart_by, group_key, lower_better_of
from .blocks import Block, blocks_of
from .intervals import WIDEST, Interval, Scale
from .points import Point, SettingsOf, key, keys, part, ranks, select, varying
from .select.selection import of_newest

if TYPE_CHECKING:
    from .best_of import Estimates
    from .select.order import Order


def rank(
    matrix: Matrix,
    workload: Workload,
    order: Order | None = None,
    differing: Collection[str] | None = None,
    whole: Best | None = None,
) -> Best:
    """Rank the points of *matrix* by the workload's headline KPI at their settings.

    Of several versions with an *order* the newest alone takes part. A variant is told by those of its settings that are
    among the *differing*; those that do in *matrix* unless given. Where *matrix* is a part of what was ranked as a
    *whole*, its points keep the intervals that they have there, and what was tried beside them is known.
    """
    kpi = workload.headline
    if kpi is None:
        return Best(None, (), ())
    matrix, newest = of_newest(matrix, workload, order)
    ranked, excluded = select(matrix, workload)
    entries = matrix.entries
    blocks = functools.cache(lambda: _blocks(entries, [runs for runs, _ in ranked]))
    by_group: dict[object, tuple[KPIDefinition, list[Rows]]] = {}
    settings = [runs[0].settings for runs, _ in ranked]
    for of, (runs, its) in zip(keys(settings, workload.group_keys), ranked, strict=True):
        by_group.setdefault((of, its.name), (its, []))[1].append(runs)
    groups = list(by_group.values())
    firsts = [points[0][0].settings for _, points in groups]
    scope = [name for name in varying(firsts) if name in workload.group_keys]
    named = _named([part(settings, scope) for settings in firsts])
    told = {newest.key} if newest is not None and newest.of_runs() is not NOT_SET else set[str]()
    variants = tuple(name for name in workload.variant_keys if name not in told)
    if differing is None:  # of those too that can't be ranked: else nothing would say which one could
        differing = varying(matrix.entries)
    wholes = {} if whole is None else {group_key(one, workload): one for one in whole.groups}
    made = []
    for (its, points), (common, names) in zip(groups, named, strict=True):
        known = wholes.get((key(points[0][0].settings, workload.group_keys), its.name))
        made.append(_group(points, its, workload, common, names, blocks, variants, differing, known))
    trees = [each for each in entries.setting(TREE)[0] if each is not NOT_SET]
    return Best(kpi, tuple(made), tuple(excluded), newest, tuple(trees))


def _named(scopes: Sequence[Mapping[str, object]]) -> list[tuple[Mapping[str, object], tuple[str, ...]]]:
    """Each of *scopes* with the names of its settings that tell it from the others."""
    present = [{name: typed(value) for name, value in scope.items() if value is not NOT_SET} for scope in scopes]
    found = []
    for scope, there in zip(scopes, present, strict=True):
        needed = set(there)
        if len(there) < len(scope):
            needed = needed.union(*(other for other in present if there.items() <= other.items()))
        found.append((scope, tuple(name for name in scope if name in needed)))
    return found


def narrowed(group: Group, places: Sequence[int]) -> Group:
    """The points of *group* that have these *places*, the best first, compared with each other instead of with all."""
    found = None if group.estimates is None else group.estimates.of(places)
    points = [group.standings[place].point for place in places]
    standings = _compared(points, group.kpi, group.scale, found)
    whole = group.whole or group
    return dataclasses.replace(group, standings=standings, estimates=found, whole=whole)


def among(best: Best, is_wanted: Callable[[Point], bool]) -> list[Group]:
    """The groups of *best* that have points that are wanted, each with those alone, compared with each other."""
    found = []
    for group in best.groups:
        places = [place for place, one in enumerate(group.standings) if is_wanted(one.point)]
        if places:
            found.append(group if len(places) == len(group.standings) else narrowed(group, places))
    return found


def _blocks(entries: Rows, ranked: Sequence[Rows]) -> Mapping[int, Block]:
    """The block of each run by its place in the table; empty where no point is repeated."""
    if all(len(runs) == 1 for runs in ranked):
        return {}
    return dict(zip(entries.places, blocks_of(entries), strict=True))


def _group(
    points_runs: Sequence[Rows],
    kpi: KPIDefinition,
    workload: Workload,
    settings: Mapping[str, object],
    named_by: tuple[str, ...],
    blocks: Callable[[], Mapping[int, Block]],
    variant_keys: Sequence[str],
    differing: Collection[str],
    whole: Group | None,
) -> Group:
    known = None if whole is None else whole.places_of(points_runs)
    if whole is None or known is None:
        points, scale, found = _points(points_runs, kpi, blocks())
    else:
        points, scale = [whole.standings[place].point for place in known], whole.scale
        found = None if whole.estimates is None else whole.estimates.of(known)
    tuning = [
        name
        for name in varying(point.settings for point in points)
        if name not in {*workload.variant_keys, *workload.group_keys}
    ]
    present = set[str]().union(*(point.settings for point in points))
    variants = tuple(name for name in variant_keys if name in present)
    variant_names = variants or tuple(tuning)
    if not variant_names and len(points) == 1:  # what tells it from those that can't be ranked
        others = {*workload.group_keys, *workload.regression.comparison_keys}
        variant_names = tuple(name for name in points[0].settings if name in differing and name not in others)
    told = tuple(name for name in variant_names if name in differing)
    names = [*variant_names, *tuning]
    direction = 1 if kpi.lower_better else -1
    places = ranks([point.settings for point in points], sorted(names))  # whatever was read first
    order = sorted(range(len(points)), key=lambda index: (direction * points[index].value, places[index]))
    estimates = None if found is None else found.of(order)
    standings = _compared([points[index] for index in order], kpi, scale, estimates)
    return Group(
        kpi=kpi,
        settings=settings,
        named_by=named_by,
        variant_names=variant_names,
        told_names=told if told or (variants and tuning) else variant_names,
        tuning_names=tuple(tuning) if variants else (),
        tried=whole.tried if whole is not None else SettingsOf(point.settings for point in points),
        standings=standings,
        scale=scale,
        estimates=estimates,
        blocks=blocks,
        whole=whole if known is not None else None,
    )


def _compared(
    points: Sequence[Point], kpi: KPIDefinition, scale: Scale, found: Estimates | None
) -> tuple[Standing, ...]:
    """*points*, the best first, by what was *found* about each."""
    aparts: Sequence[bool | None] = [None] * len(points)
    if found is not None:
        from . import best_of  # numpy and scipy: a third of a second, which single runs don't need

        lower = lower_better_of(kpi, scale, points[0].value)
        told = best_of.is_told(found, lower_better=lower)
        may_be = best_of.may_be_best(found, lower_better=lower)
        # Of a mean without an interval, such as one that a single run makes, nothing is known that sets it apart.
        vague = [point.interval is None or points[0].interval is None for point in points]
        sure = [not may and not is_vague for may, is_vague in zip(may_be, vague, strict=True)]
        aparts = [True if is_sure else False if is_told else None for is_sure, is_told in zip(sure, told, strict=True)]
    best = points[0].value
    return tuple(
        Standing(point, apart_by(point.value, best, scale), apart) for point, apart in zip(points, aparts, strict=True)
    )


def _points(
    points_runs: Sequence[Rows], kpi: KPIDefinition, blocks: Mapping[int, Block]
) -> tuple[list[Point], Scale, Estimates | None]:
    values = cast("list[list[float]]", [runs.kpi(kpi.name) for runs in points_runs])  # those that can be ranked have it
    means = list(map(intervals.mean_of, values))
    sign = intervals.sign_of(itertools.chain.from_iterable(values))
    sizes = [[sign * value for value in of] for of in values] if sign < 0 else values
    scale = intervals.scale_of(itertools.chain.from_iterable(sizes))
    found: Estimates | None = None
    ends: list[Interval | None] = [None] * len(means)
    if any(len(runs) > 1 for runs in points_runs):
        from . import best_of  # as above

        known = [[blocks[place] for place in runs.places] for runs in points_runs]
        rounds, campaigns = ([[getattr(block, of) for block in each] for each in known] for of in ("round", "campaign"))
        found = best_of.estimate(sizes, rounds, campaigns)
        lows, highs = best_of.intervals(found, lower_better=lower_better_of(kpi, scale, sign))
        widest = WIDEST * max(map(abs, means))
        ends = [
            Interval(min(sign * low, sign * high), max(sign * low, sign * high), not found.knows_moods)
            if high <= (WIDEST * low if scale is Scale.RATIO else low + widest)
            else None
            for low, high in zip(lows.tolist(), highs.tolist(), strict=True)
        ]
    points = [
        Point(runs[0].settings, runs, mean, interval)
        for runs, mean, interval in zip(points_runs, means, ends, strict=True)
    ]
    return points, scale, found
