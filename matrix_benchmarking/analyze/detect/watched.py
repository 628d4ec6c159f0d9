"""A series and what was seen along it, so that parts of it can be judged without going along all of it again."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from matrix_benchmarking.analyze.detect import scan
from matrix_benchmarking.analyze.detect.levels import Integers
from matrix_benchmarking.analyze.detect.series import (
    ARRAYS,
    OF_THE_PRIOR,
    Blocks,
    TimeSeries,
    Values,
    precision,
    prepare,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Watched:
    """A series that was gone along so far.

    Attributes:
        series: up to there.
        index: of each of its points in the values.
        scale: what these were divided by.
        walk: what was seen.
        whole: the series and the index with what follows.
    """

    series: TimeSeries
    index: Integers
    scale: float
    walk: scan.Walk
    whole: tuple[TimeSeries, Integers]

    @property
    def is_whole(self) -> bool:
        return len(self.index) == len(self.whole[1])

    @property
    def stop(self) -> int:
        """The index in the values of what follows."""
        return int(self.index[-1]) + 1 if len(self.index) else 0

    def further(self, points: int) -> Watched:
        """Gone along for so many *points* more."""
        return self._to(len(self.index) + points, self.whole, self.walk)

    def until(self, stop: int) -> Watched:
        """As if the values ended before *stop*."""
        count = self._place(stop)
        series = _first(self.series, count)
        walk = scan.up_to(self.walk, count, series.prior)
        return Watched(series, self.index[:count], self.scale, walk, (series, self.index[:count]))

    def without(self, first: int, stop: int) -> Watched:
        """As if the values from *first* to before *stop* weren't there; what lies before them isn't looked at again.

        The first three versions, which say what is known of the noise before, can't be left out.
        """
        begin, end = self._place(first), self._place(stop)
        series, index = self.whole
        left = _without(series, begin, end)
        known = scan.up_to(self.walk, begin, series.prior)
        whole = left, np.concatenate([index[:begin], index[end:] - (stop - first)])
        return self._to(len(self.index) - (end - begin), whole, known)

    def _to(self, count: int, whole: tuple[TimeSeries, Integers], known: scan.Walk) -> Watched:
        series = _first(whole[0], count)
        return Watched(series, whole[1][:count], self.scale, scan.walk(series, known), whole)

    def _place(self, index: int) -> int:
        place = int(self.index.searchsorted(index))
        assert place >= min(OF_THE_PRIOR, len(self.index))
        return place


def watch(values: Values, points: int | None = None, blocks: Blocks | None = None) -> Watched:
    """Once along the series of *values*, one entry a version as those of `judge`, or along its first *points*."""
    series, index, scale = prepare(values, blocks)
    first = series if points is None else _first(series, points)
    return Watched(first, index[:points], scale, scan.walk(first), (series, index))


def _first(series: TimeSeries, count: int) -> TimeSeries:
    """Its first points: nothing is copied."""
    return dataclasses.replace(series, **{name: getattr(series, name)[:count] for name in ARRAYS})


def _without(series: TimeSeries, begin: int, end: int) -> TimeSeries:
    arrays = {name: getattr(series, name) for name in ARRAYS}
    # Of single runs several are one array.
    made = {id(array): np.concatenate([array[:begin], array[end:]]) for array in arrays.values()}
    left: dict[str, Any] = {name: made[id(array)] for name, array in arrays.items()}
    if "precision" not in series.common:  # else there are neither repeats nor campaigns, and that stays so
        left["precision"] = precision(left["runs"], left["stretches"])
    return dataclasses.replace(series, **left)
