"""Moods that last: versions beside each other are alike beyond what changed, so that a change may be a mood."""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from .levels import JudgedSeries

FEWEST_VERSIONS, SHORTEST = 20, 4
"""Of fewer versions that follow each other, and of shorter levels, nothing is known."""
MOST_SERIES = 50
"""So many series, spread over all, tell the mood that they share; more would take longer than their analysis."""
LEAST, SURE = 0.3, 2.25
"""The correlation of neighbours that is said, and how many of its standard errors it has to be."""


def that_last(series: Sequence[JudgedSeries]) -> str:
    """That neighbours are alike, as a sentence; empty where they aren't.

    What is left of the values beyond levels and drifts is averaged over the series, which a mood moves alike; without
    moods its correlation from one version to the next is below 0, by 1 / √n either way (Bartlett, 1946). Weekends are
    no such mood: what is two versions apart is unlike there.
    """
    rest, some = collections.defaultdict[str, list[float]](list), series[:: math.ceil(len(series) / MOST_SERIES) or 1]
    for one in some:
        for version, value in _rest(one):
            rest[version].append(value)
    longest = max((one.series.versions for one in some), key=len, default=())
    mood = np.array([np.mean(rest[version]) for version in longest if version in rest])
    pairs = len(mood) - 1
    if pairs < FEWEST_VERSIONS or not mood.any():
        return ""
    correlation, further = (float((mood[:-lag] * mood[lag:]).sum() / (mood * mood).sum()) for lag in (1, 2))
    if correlation < max(LEAST, SURE / math.sqrt(pairs)) or further < 0.0:
        return ""
    return (
        f"Neighbouring versions are alike beyond what changed (correlation {correlation:.1f}): a mood of the machine "
        "that lasts over versions may be taken for a change; measure the old version again beside the new one."
    )


def _rest(one: JudgedSeries) -> Iterator[tuple[str, float]]:
    """What levels and drifts leave of each version's value, worse above 0, in standard deviations."""
    points = one.series.points
    means = np.array([point.mean for point in points])
    values = np.log(means) if (means > 0.0).all() else means
    starts = sorted({0, *(change.first for change in one.changes), len(points)})
    found = list[tuple[int, float]]()
    for start, stop in itertools.pairwise(starts):
        if stop - start >= SHORTEST:
            places = np.arange(start, stop)
            line = np.polynomial.Polynomial.fit(places, values[start:stop], 1)
            found += zip(range(start, stop), (values[start:stop] - line(places)).tolist(), strict=True)
    scatter = math.sqrt(sum(value * value for _, value in found) / len(found)) if found else 0.0
    sign = 1.0 if one.series.kpi.lower_better else -1.0
    yield from ((one.series.versions[at], sign * value / scatter) for at, value in found if scatter)
