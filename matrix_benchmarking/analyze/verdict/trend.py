"""Series that are worse in a way that the detector doesn't tell: all along, since one of few versions, or by a jump.

A jump is a version far beyond those just before it, as no other was: where levels move, the spread of all hides it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from ...grouped import grouped
from ...kpi import KPIDefinition
from ...workload import MinimumEffect
from .. import special
from ..detect.changes import level, slope
from ..detect.evidence import Flags, Floats, normal_score
from ..detect.series import held, scale_of
from ..intervals import MAD
from ..select.series import Series
from .alarms import NEARBY
from .levels import middle_of_each
from .model import FARTHEST, OF_FEW, amount

FEWEST = 21
"""Campaigns that say whether there is a trend."""
LEAST = 3.0
"""Standard deviations of a normal distribution that a trend has to be worth."""
FEWEST_OF_A_STEP, MOST_OF_A_STEP = 8, 60
"""Campaigns that are asked for a step: among more, neighbours show whether they are alike, and a change is seen."""
LEAST_OF_A_STEP = 3.2
# So many campaigns show whether neighbours are alike, as the detector takes them from there on; of more, more is asked.
_KNOWN, _MORE_BY_EACH = 40, 0.02
LEAST_WITHOUT_ONE = 2.5
"""The same without any one of the campaigns: no single one makes a step."""
FEWEST_ON_A_SIDE = 3
_LEAST_SHARE = 1e-9  # of all squares, what rounding leaves
_MOST_ALIKE = 0.95
WIDTH = 1.96
_LARGEST = 709.0  # a logarithm
BESIDE = 5  # points just before one, from the middle of which it is seen
AMONG, FEWEST_BEFORE = 20, 15  # points before it that are seen so, too, at most and at least
SINCE = 20  # so many of the newest points are asked
NOISES = 8.0
RATIO = 2.0  # times as far as any of those before
TAIL = 3.0  # the chance of a value so many times as far falls by this power, as that of Student's t of 3 degrees does


class Shape(msgspec.Struct, frozen=True):
    """How a series moves, how surely it has to be so, and why it is suspected, no more, of what moves so."""

    least: float  # standard deviations of a normal distribution
    ways: float  # by so much chance is likelier beyond a score than one normal deviate, as the best of several is taken
    why: str


LINE = Shape(LEAST, 1.0, "")
STEP = Shape(LEAST_OF_A_STEP, 4.0, OF_FEW)
JUMP = Shape(2.4, 1.0, FARTHEST)


class Trend(msgspec.Struct, frozen=True):
    """A line, a step, a jump, or spikes of a series, in the KPI's unit; of logarithms where all values are above 0."""

    shape: Shape
    first: float  # its ends
    last: float
    score: float  # how surely it is no chance, in standard deviations of a normal distribution; negative where it falls
    low: float  # between which its last end lies, with 95 %, as seen from the first
    high: float
    since: int | None = None  # the point with which a step or jump begins, or spikes do
    before: Trend | None = None  # that without the newest campaign
    note: str = ""  # what else is to be said of it

    def worse(self, kpi: KPIDefinition) -> float:
        """The score of one for the worse."""
        return self.score if kpi.lower_better else -self.score

    def p_value(self, kpi: KPIDefinition) -> float:
        return min(1.0, self.shape.ways * float(special.ndtr(-self.worse(kpi))))

    def counts(self, kpi: KPIDefinition, minimum: MinimumEffect) -> bool:
        """Whether it is for the worse, as surely as is asked, and reaches the *minimum*."""
        far = (self.last - self.first) * (1.0 if kpi.lower_better else -1.0)  # else ranks rise, and the ends don't
        return self.worse(kpi) >= self.shape.least and far > 0.0 and far >= amount(minimum, self.first)


def trends(series: Sequence[Series]) -> list[Trend | None]:
    """Of each of *series* its line or step, whichever is surer, or else its jump; None of too few campaigns for any.

    Of lines and steps the variance is widened by as much as neighbours are alike beside them. No single campaign
    decides: lines are those of ranks, and a step is there without any one of its campaigns, too.
    """
    campaigns = list(map(of_campaigns, series))
    found: list[Trend | None] = [None] * len(series)
    by_length = grouped((len(points), place) for place, (points, _) in enumerate(campaigns))
    for length, places in by_length.items():
        if length < FEWEST_OF_A_STEP:
            continue
        together = np.array([campaigns[place][0] for place in places])
        now, before = _shapes(together), _shapes(together[:, :-1])
        jumps = may_jump(_even(together))
        for row, place in enumerate(places):
            points, starts = campaigns[place]
            worse = (1.0 if series[place].kpi.lower_better else -1.0) if jumps[row] else None
            one = _trend(points, starts, *now[row], jumps_to=worse)
            if one is not None:
                one = msgspec.structs.replace(one, before=_trend(points[:-1], starts, *before[row], jumps_to=worse))
            found[place] = one
    return found


def _shapes(points: Floats) -> list[tuple[float, int | None]]:
    """Of each of the series, one a row, the score of a line, or of a step and the place of it, whichever is surer."""
    count, none, ranks = points.shape[1], np.zeros(len(points)), _ranks(points)
    lines = _lines(ranks) if count >= FEWEST else none
    steps = places = none
    if FEWEST_OF_A_STEP <= count <= MOST_OF_A_STEP:  # of few, ranks say little; of more, they mind no odd value
        (steps, places), (by_rank, of_ranks) = _steps(_even(points)), _steps(ranks)
        is_surer = np.abs(by_rank) > np.abs(steps)
        steps, places = np.where(is_surer, by_rank, steps), np.where(is_surer, of_ranks, places)
        steps = np.sign(steps) * np.maximum(np.abs(steps) - _MORE_BY_EACH * max(count - _KNOWN, 0), 0.0)
        for row in np.flatnonzero(np.abs(steps) >= LEAST_OF_A_STEP).tolist():
            if _without_one(points[row], float(np.sign(steps[row])), int(places[row])) < LEAST_WITHOUT_ONE:
                steps[row] = 0.0
    is_step = np.abs(steps) - LEAST_OF_A_STEP > np.abs(lines) - LEAST
    each = zip(is_step.tolist(), lines.tolist(), steps.tolist(), places.tolist(), strict=True)
    return [(step, int(place)) if is_one else (line, None) for is_one, line, step, place in each]


def of_campaigns(series: Series) -> tuple[Floats, list[int]]:
    """The mean of each campaign's versions, which share its mood if it measured them in turn, and its first version."""
    middles = middle_of_each(series)
    campaigns = [of[0][0] for of in series.blocks]
    starts = [at for at, one in enumerate(campaigns) if not at or one != campaigns[at - 1]]
    if len(set(campaigns)) == len(campaigns):
        return np.array(middles), starts
    ends = [*starts[1:], len(campaigns)]
    return np.array([float(np.mean(middles[start:end])) for start, end in zip(starts, ends, strict=True)]), starts


def _lines(ranks: Floats) -> Floats:
    """How surely series rise, of which each row is the *ranks*: Student's ratio of their slope, as a normal score."""
    count = ranks.shape[1]
    places = np.arange(count) - (count - 1) / 2.0
    steps = ranks @ places / (places @ places)
    beside = ranks - steps[:, None] * places
    squares, widened = _beside(beside, np.ones(len(ranks)), 2.0)
    ratio = steps / np.sqrt(squares / (count - 2.0) * widened / (places @ places))
    degrees = np.maximum(count / widened - 2.0, 1.0)
    return np.asarray(np.sign(ratio) * normal_score(np.abs(ratio), degrees))


def _steps(points: Floats) -> tuple[Floats, Floats]:
    """How surely each of the series, one a row about 0, is higher from some place on, and that place: as `_lines`.

    That of the best fit: the cumulative sum (of ranks: Pettitt 1979, Appl. Statist. 28, 126–135), over its own error.
    """
    count = points.shape[1]
    old = np.arange(FEWEST_ON_A_SIDE, count - FEWEST_ON_A_SIDE + 1)
    sums = points.cumsum(axis=1)[:, old - 1]
    place = (sums * sums / (old * (count - old))).argmax(axis=1)
    rows, before = np.arange(len(points)), old[place]
    after, sums = count - before, sums[rows, place]
    levels = np.where(np.arange(count) < before[:, None], (sums / before)[:, None], (-sums / after)[:, None])
    beside = points - levels
    squares, widened = _beside(beside, (points * points).sum(axis=1), 3.0)
    step = -sums * (1.0 / before + 1.0 / after)
    ratio = step / np.sqrt(squares / (count - 2.0) * widened * (1.0 / before + 1.0 / after))
    degrees = np.maximum((count - 2.0) / np.sqrt(widened), 1.0)
    return np.asarray(np.sign(ratio) * normal_score(np.abs(ratio), degrees)), before.astype(np.float64)


def _without_one(points: Floats, way: float, place: int) -> float:
    """How surely a series is higher (1) or lower (-1) from about *place* on without its point that says most of it."""
    others = np.array([np.delete(points, at) for at in range(len(points))])
    best = np.zeros(len(points))
    for scores, places in (_steps(each) for each in (_even(others), _ranks(others))):
        best = np.maximum(best, np.where(np.abs(places - place) <= NEARBY, way * scores, 0.0))
    return float(best.min())


def _beside(beside: Floats, whole: Floats, fitted: float) -> tuple[Floats, Floats]:
    """The squares of what lies *beside* a line or a step, and by how much neighbours that are alike widen their mean's.

    They seem less alike than they are, by as many numbers as were *fitted*; rounded up by a standard error.
    """
    count = beside.shape[1]
    squares = np.maximum((beside * beside).sum(axis=1), _LEAST_SHARE * whole + 1e-300)
    alike = (count * (beside[:, 1:] * beside[:, :-1]).sum(axis=1) / squares + fitted) / (count - 4.0) + count**-0.5
    alike = np.clip(alike, 0.0, _MOST_ALIKE)
    return squares, (1.0 + alike) / (1.0 - alike)


def _on_scale(points: Floats) -> tuple[Floats, float | None]:
    """The logarithms of *points* and None; where some aren't above 0, *points* in a unit of their own, and that."""
    if points.min() > 0.0:
        return np.log(points), None
    unit = scale_of(points)
    return held(points, unit), unit


def _even(points: Floats) -> Floats:
    """Each row on its scale, about 0."""
    rows = np.array([_on_scale(row)[0] for row in points])
    return np.asarray(rows - rows.mean(axis=1, keepdims=True))


def _ranks(points: Floats) -> Floats:
    """The ranks of each row about their middle; of equal ones the mean."""
    first, last = (one.argsort(axis=1, kind="stable").argsort(axis=1) for one in (points, points[:, ::-1]))
    return np.asarray((first + last[:, ::-1] - (points.shape[1] - 1)) / 2.0)


def _trend(
    points: Floats, starts: Sequence[int], score: float, place: int | None, *, jumps_to: float | None
) -> Trend | None:
    """A line, or the step at *place*, or else a jump up (1) or down (-1) where there may be one; None without any."""
    shape = LINE if place is None else STEP
    is_sure = abs(score) >= shape.least
    if not is_sure and jumps_to is None:  # of what says little nothing but that is asked
        return Trend(shape, math.nan, math.nan, score, math.nan, math.nan) if score else None
    values, unit = _on_scale(points)
    jumped = None if is_sure or jumps_to is None else jump(values, jumps_to)
    if jumped is not None:
        shape, (place, score, ends) = JUMP, jumped
    elif score:
        ends = _ends(values, score, place)
    else:
        return None
    first, last, low, high = (math.exp(min(one, _LARGEST)) if unit is None else one * unit for one in ends)
    return Trend(shape, first, last, score, low, high, None if place is None else starts[place])


def may_jump(points: Floats) -> Flags:
    """In which series, one a row, one of the newest points lies twice as far from those just before it as any did."""
    off = _off(points)
    if off.shape[1] <= FEWEST_BEFORE:
        return np.zeros(len(points), dtype=bool)
    found = np.zeros(len(points), dtype=bool)
    for each in (off, -off):
        before = np.pad(np.maximum(each, 0.0), ((0, 0), (AMONG, 0)))
        highest = np.lib.stride_tricks.sliding_window_view(before, AMONG, axis=1)[:, -1 - SINCE : -1].max(axis=2)
        found |= (each[:, -highest.shape[1] :] > RATIO * highest)[:, -(off.shape[1] - FEWEST_BEFORE) :].any(axis=1)
    return found


def jump(points: Floats, way: float) -> tuple[int, float, list[float]] | None:
    """The place of the surest jump up (1) or down (-1), in whose level the newest *points* stayed, the last too.

    And its score, and both its ends with what the last lies between; None for none. Of a point how far it lies beyond
    the middle of the five before it is held against the same of the 20 before it.
    """
    points = way * points
    (off,) = _off(points[None])
    found: list[tuple[float, int, list[float]]] = []
    for at in range(max(FEWEST_BEFORE, len(off) - SINCE), len(off)):
        others, far = off[max(0, at - AMONG) : at], float(off[at])
        highest = max(float(others.max()), 0.0)
        if far <= RATIO * highest:
            continue
        noise = MAD * float(np.median(np.abs(others)))
        old, new = float(points[at + BESIDE] - far), float(np.median(points[at + BESIDE :]))
        usual = max(highest, noise)  # 0 where all before are equal: the first other one says nothing
        stays = min(new, float(points[-1])) - old >= far / 2.0
        if stays and usual > 0.0 and far >= NOISES * noise:
            wide = WIDTH * noise * math.sqrt(1.0 / BESIDE + 1.0 / (len(off) - at))
            ends = [way * old, way * new, way * new - wide, way * new + wide]
            found.append(((far / usual) ** -TAIL / len(others), at + BESIDE, ends))
    if not found:
        return None
    chance, place, ends = min(found)
    return place, -way * float(special.ndtri(max(chance, 1e-300))), ends


def _off(points: Floats) -> Floats:
    """How far each point of series, one a row, lies from the middle of those just before it; of the first ones not."""
    if points.shape[1] <= BESIDE:
        return points[:, :0]
    before = np.lib.stride_tricks.sliding_window_view(points, BESIDE, axis=1)[:, :-1]
    return np.asarray(points[:, BESIDE:] - np.median(before, axis=2))


def _ends(points: Floats, score: float, place: int | None) -> list[float]:
    """The ends of a line or step through *points*, and between which the last one lies as seen from the first."""
    far, middle = slope(points) * (len(points) - 1) / 2.0, float(points.mean())
    first, last = middle - far, middle + far
    if place is not None:
        first, last = level(points[:place]), level(points[place:])
    wide = WIDTH * abs((last - first) / score)
    return [first, last, last - wide, last + wide]
