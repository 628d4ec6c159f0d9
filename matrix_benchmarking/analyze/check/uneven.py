"""Runs far from the other repeats of their point while most agree, as where now and then one meets a pause."""

from __future__ import annotations

import array
import collections
import math
import statistics
from collections.abc import Iterator, Sequence

from ...kpi import KPIDefinition
from ...rows import Rows
from ..words import as_percent, percent
from .finding import NONE, AnswerKind, Finding, Points

LARGEST_VALUE = 1e300
FEWEST = 3  # runs of a point, of which one is far from the others
FEWEST_POINTS, FEWEST_ROBUST = 5, 5
FAR, TIMES, NEAR, ALONE = 0.15, 8, 4, 12
"""A run is far off by so much of its point's middle, and by so many times what repeats usually scatter; up to so many
times it is near. Few of those are said from so many times on.
"""
OFTEN, SEVERAL = 0.03, 3
"""From so many runs on it is of the benchmark, and the best of few repeats is one that was spared."""
LARGEST, MOST = 0.25, 0.9
"""Of more runs nobody knows which are the usual ones; of more points nobody was spared."""
_NORMAL = 1.8  # times the middle distance from the middle: the standard deviation of five normal values and more


def uneven_findings(
    good: Rows, points: Points, values: Sequence[float | None], kpi: KPIDefinition
) -> Iterator[Finding]:
    """The runs whose value of *kpi* is far from the middle of their point's, with hardly any between.

    Where repeats scatter more at some points than at others, or have long tails, there are many between.
    """
    usual, every, runs, ats = list[float](), array.array("d"), array.array("Q"), array.array("Q")
    for at, places in enumerate(points):
        known = sorted((value, place) for place in places if (value := values[place]) and 0 < value < LARGEST_VALUE)
        if len(known) >= FEWEST:
            middle = (known[(len(known) - 1) // 2][0] + known[len(known) // 2][0]) / 2
            distances = [_distance(value, middle) for value, _ in known]
            every.extend(distances)
            runs.extend([place for _, place in known])
            ats.extend([at] * len(known))
            usual.append(_scatter(sorted(map(abs, distances))))
    if len(usual) < FEWEST_POINTS:
        return
    scatter, count = statistics.median(usual), len(every)
    if not scatter:  # most repeats are alike, and steps tell nothing
        return
    least = max(FAR, TIMES * scatter)
    far = [(every[one], runs[one], ats[one]) for one in range(count) if abs(every[one]) > least]
    between = sum(abs(distance) > NEAR * scatter for distance in every) - len(far)
    if not 0 < len(far) <= LARGEST * count or between > len(far):
        return
    of_points = collections.Counter(at for *_, at in far)
    crowded = sum(times > LARGEST * len(points[at]) + 0.5 for at, times in of_points.items())
    # A slow round is shared by all points, and some points may scatter more than others.
    if len(of_points) > MOST * len(usual) or 2 * crowded > len(of_points):
        return
    sizes = dict.fromkeys(
        percent(distance if distance > 0 else distance / (1 - distance)) for distance, *_ in (min(far), max(far))
    )
    what = f"{kpi.name} is {' to '.join(sizes)} off the middle of a point's repeats in {len(far)} of {count} runs"
    is_often = len(far) >= max(SEVERAL, OFTEN * count)
    if not is_often and max(abs(distance) for distance, *_ in far) < ALONE * scatter:
        return
    rest = ": where repeats are few the best may be one that was spared" if is_often else ""
    said = f"{what}, and else they scatter by {as_percent(scatter, digits=1)}{rest}."
    changes = frozenset({AnswerKind.BEST}) if is_often else NONE
    yield Finding.of("uneven", said, good.at(place for _, place, _ in far), changes)


def _distance(value: float, middle: float) -> float:
    """By how much of the smaller one the larger one is larger; below 0 for a value that is smaller."""
    return value / middle - 1 if value >= middle else 1 - middle / value


def _scatter(distances: Sequence[float]) -> float:
    """About the standard deviation of repeats with these *distances* from their middle, in order; some may be far."""
    if len(distances) >= FEWEST_ROBUST:
        return _NORMAL * distances[len(distances) // 2]
    return math.hypot(*distances) / math.sqrt(len(distances) - 1)
