"""What the newest point of each series is against the one before it, and whether that is more than chance."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from . import intervals
from .intervals import Comparison, Interval, Scale
from .select.series import KPISeries, Series


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """The newest point of a series against the one before it.

    Attributes:
        series: it has two points at least.
        comparison: the newest against the previous point.
        interval: of the comparison's difference; None where nothing was repeated.
        comparison_with_first: the newest against the first point.
        is_better: True if the newest is better by more than chance, False if it is worse by that; None where the two
            can't be told apart, or that isn't known, or neither direction is better.
    """

    series: Series
    comparison: Comparison
    interval: Interval | None
    comparison_with_first: Comparison
    is_better: bool | None


@dataclasses.dataclass(frozen=True, slots=True)
class Counts:
    """How many series are worse or better by more than chance, can't be told apart, or aren't known to be.

    *changed* are those of a KPI of which neither direction is better.
    """

    worse: int
    better: int
    changed: int
    same: int
    unknown: int


def count(moved: Sequence[Change]) -> Counts:
    """What became of the series behind *moved*."""
    return Counts(
        worse=sum(one.is_better is False for one in moved),
        better=sum(one.is_better is True for one in moved),
        changed=sum(one.is_better is None and one.comparison.apart is True for one in moved),
        same=sum(one.comparison.apart is False for one in moved),
        unknown=sum(one.comparison.apart is None for one in moved),
    )


def changes(found: KPISeries) -> list[Change]:
    """The changes of all series with two points, those beyond chance first, the largest first.

    The spread of single runs is that of all points with repeats, as in the ranking of configurations. Each comparison
    is at 95 % by itself, not corrected for making many.
    """
    points = [point for series in found.series for point in series.points]
    scale = intervals.scale_of(value for point in points for value in (point.minimum, point.mean))
    spread = intervals.pooled([point.sample for point in points], scale)
    made, direction = [], found.kpi.lower_better
    for series in found.series:
        previous = series.previous
        if previous is None:
            continue
        comparison = intervals.compare(series.newest.sample, previous.sample, scale, spread)
        is_lower = comparison.difference < 0
        made.append(
            Change(
                series=series,
                comparison=comparison,
                interval=intervals.difference_interval(series.newest.sample, previous.sample, scale, spread),
                comparison_with_first=intervals.compare(series.newest.sample, series.points[0].sample, scale, spread),
                is_better=is_lower == direction if comparison.apart and direction is not None else None,
            )
        )
    return sorted(made, key=lambda one: (one.comparison.apart is not True, -_size(one.comparison)))


def _size(comparison: Comparison) -> float:
    """How far apart: a half is as far as the double."""
    if comparison.scale is Scale.RATIO and comparison.difference > -1:
        return abs(math.log1p(comparison.difference))
    return abs(comparison.difference)
