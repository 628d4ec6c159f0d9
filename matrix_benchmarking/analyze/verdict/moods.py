"""Moods that last: versions beside each other are alike beyond what changed, so that a change may be a mood."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Sequence

import msgspec
import numpy as np

from ...grouped import grouped
from .levels import JudgedSeries
from .model import OF_A_MOOD, Outcome, SeriesVerdict, Status

FEWEST_VERSIONS, SHORTEST = 20, 4
"""Of fewer versions that follow each other, and of shorter levels, nothing is known."""
MOST_SERIES = 50
"""So many series, spread over all, tell the mood that they share; more would take longer than their analysis."""
LEAST, SURE = 0.3, 2.25
"""The correlation of neighbours that is said, and how many of its standard errors it has to be."""
FARTHEST = 3.0
"""So many of its standard deviations a mood may move a series."""


class Mood(msgspec.Struct, frozen=True):
    """A mood that lasts over versions.

    Attributes:
        correlation: that of neighbouring versions.
        farthest: how far it may move a series, in standard deviations of what levels and drifts leave of that.
    """

    correlation: float
    farthest: float

    @property
    def said(self) -> str:
        return (
            f"Neighbouring versions are alike beyond what changed (correlation {self.correlation:.1f}): a mood of the "
            "machine that lasts over versions may be taken for a change, so what it could have moved is suspected at "
            "most; measure the old version again beside the new one."
        )


def that_lasts(series: Sequence[JudgedSeries]) -> Mood | None:
    """The mood by which neighbours are alike; None where they aren't.

    What is left of the values beyond levels and drifts is averaged over the series, which a mood moves alike; without
    moods its correlation from one version to the next is below 0, by 1 / √n either way (Bartlett, 1946). Weekends are
    no such mood: what is two versions apart is unlike there.
    """
    some = series[:: math.ceil(len(series) / MOST_SERIES) or 1]
    rest = grouped(each for one in some for each in _rest(one)[0])
    longest = max((one.series.versions for one in some), key=len, default=())
    mood = np.array([np.mean(rest[version]) for version in longest if version in rest])
    pairs = len(mood) - 1
    if pairs < FEWEST_VERSIONS or not mood.any():
        return None
    correlation, further = (float((mood[:-lag] * mood[lag:]).sum() / (mood * mood).sum()) for lag in (1, 2))
    if correlation < max(LEAST, SURE / math.sqrt(pairs)) or further < 0.0:
        return None
    return Mood(correlation, FARTHEST * float(mood.std()))


def with_mood(
    told: Sequence[SeriesVerdict], series: Sequence[JudgedSeries], mood: Mood | None, known: Collection[str]
) -> list[SeriesVerdict]:
    """The verdicts, in which what the *mood* may have moved is suspected at most; alarms that are *known* stay."""
    if mood is None:
        return list(told)
    return [
        _suspected(verdict, one, mood, known) if verdict.outcome is Outcome.REGRESSION else verdict
        for verdict, one in zip(told, series, strict=True)
    ]


def _suspected(verdict: SeriesVerdict, one: JudgedSeries, mood: Mood, known: Collection[str]) -> SeriesVerdict:
    held = [alarm for alarm in verdict.alarms if alarm.status is not Status.FIXED]
    farthest, scaled = mood.farthest * _rest(one)[1], _scale_of(one)
    if any(alarm.id in known or abs(scaled(alarm.new_level) - scaled(alarm.old_level)) >= farthest for alarm in held):
        return verdict
    fixed = [alarm for alarm in verdict.alarms if alarm not in held]
    return msgspec.structs.replace(verdict, outcome=Outcome.SUSPECTED, alarms=fixed, why=OF_A_MOOD)


def _rest(one: JudgedSeries) -> tuple[list[tuple[str, float]], float]:
    """What levels and drifts leave of each version, worse above 0, in standard deviations, and what one of these is."""
    points, scaled = one.series.points, _scale_of(one)
    values = np.array([scaled(point.mean) for point in points])
    starts = sorted({0, one.begin, *(change.first for change in one.changes), len(points)})
    found = list[tuple[int, float]]()
    for start, stop in itertools.pairwise(starts):
        if stop - start >= SHORTEST:
            places = np.arange(start, stop)
            line = np.polynomial.Polynomial.fit(places, values[start:stop], 1)
            found += zip(range(start, stop), (values[start:stop] - line(places)).tolist(), strict=True)
    scatter = math.sqrt(sum(value * value for _, value in found) / len(found)) if found else 0.0
    sign = 1.0 if one.series.kpi.lower_better else -1.0
    return [(one.series.versions[at], sign * value / scatter) for at, value in found if scatter], scatter


def _scale_of(one: JudgedSeries) -> Callable[[float], float]:
    """The logarithm, or nothing for values that aren't all above 0."""
    return math.log if all(point.mean > 0.0 for point in one.series.points) else float
