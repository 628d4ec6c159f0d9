"""Series that get worse all along, so slowly that no version shows it: whether the later campaigns lie higher."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from ...kpi import KPIDefinition
from ...workload import MinimumEffect
from ..detect.changes import slope
from ..detect.evidence import Floats, Integers, normal_score
from ..detect.series import Blocks, held, scale_of
from ..select.series import Series
from .levels import middle_of_each
from .model import amount

FEWEST = 21
"""Campaigns that say whether there is a trend."""
LEAST = 3.0
"""Standard deviations of a normal distribution that a trend has to be worth."""
_MOST_ALIKE = 0.95
_WIDTH = 1.96
_LARGEST = 709.0  # a logarithm


@dataclasses.dataclass(frozen=True, slots=True)
class Trend:
    """A line through all of a series, in the KPI's unit; of its logarithms where all values are above 0."""

    first: float  # its ends
    last: float
    score: float  # how surely it is no chance, in standard deviations of a normal distribution; negative where it falls
    low: float  # between which its last end lies, with 95 %, as seen from the first
    high: float
    before: Trend | None = None  # that without the newest campaign

    def worse(self, kpi: KPIDefinition) -> float:
        """The score of a line for the worse."""
        return self.score if kpi.lower_better else -self.score

    def counts(self, kpi: KPIDefinition, minimum: MinimumEffect) -> bool:
        """Whether it is for the worse, as surely as is asked, and reaches the *minimum*."""
        return self.worse(kpi) >= LEAST and abs(self.last - self.first) >= amount(minimum, self.first)


def trends(series: Sequence[Series], blocks: Sequence[Blocks]) -> list[Trend | None]:
    """Of each of *series* its line; None where it is of fewer than :data:`FEWEST` campaigns.

    The ranks of the campaigns' means are asked, so that no single one decides, and the variance of their slope is
    widened by as much as neighbours are alike beside it.
    """
    points = [_of_campaigns(*each) for each in zip(series, blocks, strict=True)]
    found: list[Trend | None] = [None] * len(series)
    by_length: dict[int, list[int]] = {}
    for place, one in enumerate(points):
        if len(one) >= FEWEST:
            by_length.setdefault(len(one), []).append(place)
    for places in by_length.values():
        together = np.array([points[place] for place in places])
        for place, now, before in zip(places, _scores(together), _scores(together[:, :-1]), strict=True):
            line = _line(points[place], float(now))
            if abs(now) >= LEAST:
                line = dataclasses.replace(line, before=_line(points[place][:-1], float(before)))
            found[place] = line
    return found


def _of_campaigns(series: Series, blocks: Blocks) -> Floats:
    """The mean of each campaign's versions: those that it measured in turn share its mood."""
    middles = middle_of_each(series)
    campaigns = [of[0][0] if of else -1 for of in blocks]
    if len(set(campaigns)) == len(campaigns):
        return np.array(middles)
    together = itertools.groupby(zip(campaigns, middles, strict=True), key=lambda each: each[0])
    return np.array([float(np.mean([middle for _, middle in of])) for _, of in together])


def _scores(points: Floats) -> Iterator[float]:
    """How surely each of the series, one a row, rises: Student's ratio of the slope of its ranks, as a normal score."""
    count = points.shape[1]
    ranks = (_ranks(points) + _ranks(points[:, ::-1])[:, ::-1] - (count - 1)) / 2.0  # of equal ones the mean
    places = np.arange(count) - (count - 1) / 2.0
    steps = ranks @ places / (places @ places)
    beside = ranks - steps[:, None] * places
    squares = np.maximum((beside * beside).sum(axis=1), 1e-9)
    # Neighbours beside a line seem less alike than they are; rounded up by a standard error.
    alike = (count * (beside[:, 1:] * beside[:, :-1]).sum(axis=1) / squares + 2.0) / (count - 4.0) + count**-0.5
    alike = np.clip(alike, 0.0, _MOST_ALIKE)
    widened = (1.0 + alike) / (1.0 - alike)
    ratio = steps / np.sqrt(squares / (count - 2.0) * widened / (places @ places))
    degrees = np.maximum(count / widened - 2.0, 1.0)
    yield from np.sign(ratio) * normal_score(np.abs(ratio), degrees)


def _ranks(points: Floats) -> Integers:
    """Of equal ones the first has the lowest."""
    return points.argsort(axis=1, kind="stable").argsort(axis=1)


def _line(points: Floats, score: float) -> Trend:
    if points.min() > 0.0:
        first, last, low, high = (_power(one) for one in _ends(np.log(points), score))
    else:
        unit = scale_of(points)
        first, last, low, high = (one * unit for one in _ends(held(points, unit), score))
    return Trend(first, last, score, low, high)


def _power(logarithm: float) -> float:
    return math.exp(min(logarithm, _LARGEST))


def _ends(points: Floats, score: float) -> tuple[float, float, float, float]:
    """The ends of a line through *points*, and between which the last one lies as seen from the first."""
    far, middle = slope(points) * (len(points) - 1) / 2.0, float(points.mean())
    wide = _WIDTH * abs(2.0 * far / score) if score else math.inf
    return middle - far, middle + far, middle + far - wide, middle + far + wide
