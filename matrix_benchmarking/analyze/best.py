"""Which configuration is best by the workload's headline KPI, and how sure that is.

Gets a matrix and its workload, gives a :class:`Best`: per group of comparable points the ranking, the
best point of each variant, and which others can't be told apart from the best.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from ..kpi import KPIDefinition
from ..matrix import Entry, Matrix
from ..workload import Workload
from . import doubts, intervals
from .intervals import Comparison, Scale, Spread
from .points import Excluded, Point, keys, part, ranks, select, varying


@dataclasses.dataclass(frozen=True, slots=True)
class Standing:
    """A point and how it compares with the best of its group."""

    point: Point
    against_best: Comparison


@dataclasses.dataclass(frozen=True, slots=True)
class VariantBest:
    """The best point of one variant.

    Attributes:
        variant: the values of the workload's variant keys (of all that vary, without such keys).
        standing: its best point.
        points: number of points of this variant in the ranking.
        warnings: what makes the numbers of its best point doubtful.
    """

    variant: Mapping[str, object]
    standing: Standing
    points: int
    warnings: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """The points that may be compared with each other.

    Attributes:
        settings: the values of those of the workload's group keys that differ between groups.
        variant_names: settings that name a variant.
        tuning_names: the other settings that vary in this group.
        standings: all points, the best first; ties in the order of their settings.
        variants: the best point of each variant, the best variant first.
        spread: what repeats differ by; None where nothing was repeated.
    """

    settings: Mapping[str, object]
    variant_names: tuple[str, ...]
    tuning_names: tuple[str, ...]
    standings: tuple[Standing, ...]
    variants: tuple[VariantBest, ...]
    spread: Spread | None

    @property
    def best(self) -> Point:
        return self.standings[0].point

    @property
    def undecided(self) -> list[Standing]:
        """The points that can't be told apart from the best; none where that isn't known."""
        return [one for one in self.standings[1:] if one.against_best.apart is False]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the best point's numbers doubtful."""
        return self.variants[0].warnings


@dataclasses.dataclass(frozen=True, slots=True)
class Best:
    """The outcome of :func:`rank`: no group where nothing could be ranked, ``kpi`` None without KPIs."""

    kpi: KPIDefinition | None
    groups: tuple[Group, ...]
    excluded: tuple[Excluded, ...]


def rank(matrix: Matrix, workload: Workload) -> Best:
    """Rank the points of *matrix* by the workload's headline KPI."""
    kpi = workload.headline
    if kpi is None:
        return Best(None, (), ())
    ranked, excluded = select(matrix, workload, kpi)
    groups: dict[object, list[list[Entry]]] = {}
    for group, runs in zip(keys([runs[0].settings for runs in ranked], workload.group_keys), ranked, strict=True):
        groups.setdefault(group, []).append(runs)
    scope = [
        name for name in varying(points[0][0].settings for points in groups.values()) if name in workload.group_keys
    ]
    return Best(kpi, tuple(_group(points, kpi, workload, scope) for points in groups.values()), tuple(excluded))


def _group(
    points_runs: Sequence[Sequence[Entry]], kpi: KPIDefinition, workload: Workload, scope: Sequence[str]
) -> Group:
    points, scale, spread = _points(points_runs, kpi)
    differing = varying(point.settings for point in points)
    tuning = [name for name in differing if name not in {*workload.variant_keys, *workload.group_keys}]
    present = set[str]().union(*(point.settings for point in points))
    variant_keys = tuple(name for name in workload.variant_keys if name in present)
    variant_names = variant_keys or tuple(tuning)
    names = [*variant_names, *tuning]
    direction = 1 if kpi.lower_better else -1
    places = ranks([point.settings for point in points], names)
    order = sorted(range(len(points)), key=lambda index: (direction * points[index].value, places[index]))
    points = [points[index] for index in order]
    standings = [Standing(point, intervals.compare(point.sample, points[0].sample, scale, spread)) for point in points]
    return Group(
        settings=part(points[0].settings, scope),
        variant_names=variant_names,
        tuning_names=tuple(tuning) if variant_keys else (),
        standings=tuple(standings),
        variants=tuple(_variants(standings, variant_names)),
        spread=spread,
    )


def _points(points_runs: Sequence[Sequence[Entry]], kpi: KPIDefinition) -> tuple[list[Point], Scale, Spread | None]:
    values = [[entry.kpis[kpi.name] for entry in runs] for runs in points_runs]
    scale = intervals.scale_of(value for run_values in values for value in run_values)
    samples = [intervals.summarise(run_values) for run_values in values]
    spread = intervals.pooled(samples, scale)
    points = [
        Point(runs[0].settings, tuple(runs), sample, intervals.interval(sample, scale, spread))
        for runs, sample in zip(points_runs, samples, strict=True)
    ]
    return points, scale, spread


def _variants(standings: Sequence[Standing], names: Sequence[str]) -> list[VariantBest]:
    members: dict[object, list[Standing]] = {}
    for variant, standing in zip(keys([one.point.settings for one in standings], names), standings, strict=True):
        members.setdefault(variant, []).append(standing)
    return [
        VariantBest(
            variant=part(group[0].point.settings, names),
            standing=group[0],
            points=len(group),
            warnings=doubts.of_point(group[0].point.runs),
        )
        for group in members.values()
    ]
