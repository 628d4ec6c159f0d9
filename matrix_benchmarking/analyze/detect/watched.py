"""A series and what was seen along it, so that parts of it can be judged without going along all of it again."""

from __future__ import annotations

import dataclasses

import numpy as np

from matrix_benchmarking.analyze.detect import scan
from matrix_benchmarking.analyze.detect.levels import Integers
from matrix_benchmarking.analyze.detect.series import Values, precision, prepare
from matrix_benchmarking.analyze.detect.splits import Series

OF_THE_PRIOR = 5
"""So many first versions say what is known of the noise before; they can't be left out."""


@dataclasses.dataclass(frozen=True, slots=True)
class Watched:
    """A series, the index of each of its points in the values, what these are divided by, and what was seen."""

    series: Series
    index: Integers
    scale: float
    walk: scan.Walk

    def until(self, stop: int) -> Watched:
        """As if the values ended before *stop*."""
        count = self._place(stop)
        series = _chosen(self.series, np.arange(count))
        return Watched(series, self.index[:count], self.scale, scan.up_to(self.walk, count, series.prior))

    def without(self, first: int, stop: int) -> Watched:
        """As if the values from *first* to before *stop* weren't there; what lies before them isn't looked at again."""
        begin, end = self._place(first), self._place(stop)
        series = _chosen(self.series, np.r_[:begin, end : len(self.index)])
        index = np.concatenate([self.index[:begin], self.index[end:] - (stop - first)])
        known = scan.up_to(self.walk, begin, series.prior)
        return Watched(series, index, self.scale, scan.walk(series, known))

    def _place(self, index: int) -> int:
        place = int(self.index.searchsorted(index))
        assert place >= min(OF_THE_PRIOR, len(self.index))
        return place


def watch(values: Values) -> Watched:
    """Once along the series of *values*, one entry a version as those of `judge`."""
    series, index, scale = prepare(values)
    return Watched(series, index, scale, scan.walk(series))


def _chosen(series: Series, places: Integers) -> Series:
    runs = series.runs[places]
    return Series(series.points[places], runs, precision(runs), series.prior, bool((runs > 1.0).any()))
