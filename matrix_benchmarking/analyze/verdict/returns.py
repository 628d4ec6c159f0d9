"""Whether a series went back to its old level soon after a change: pure mathematics.

The detector needs a handful of points on a level before it can see it end. A regression that the next version repairs
has fewer than that; then what is asked is simpler, since the level to go back to is known: are the newest points on the
old level, and so far from the other one that chance is no explanation?
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ..detect import Change
from ..detect.changes import level
from ..detect.evidence import Floats
from ..detect.series import median, power_of_two

LEFT = 0.25
"""How much of the step may be left."""
CERTAIN = 4.0
"""How many standard errors the newest points have to lie from the level that they left."""
FEWEST_POINTS, FEWEST_RUNS = 2, 3
"""One version counts if it was run so often, else it takes two."""
FEWEST_OLD = 5
FURTHEST = 2_000
"""How many points are looked at, of the old level and after a change was seen: a later end the detector sees itself."""
_MAD = 1.4826
LIKELIER = 4.0
"""The logarithm of how much likelier points have to be on the one level than on the other."""
TOGETHER, LIKELIER_EACH, MOST_OF_ONE = 12.0, 1.5, 6.0
"""Stays that are so much likelier together count where each is by so little; one adds so much at most, so that a long
one doesn't make a level of a single point."""
_LEAST_NOISE = 1e-3
_BEYOND = 1.5
"""In units of the gap between two levels: a point that lies farther from the middle is near none of them."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Old:
    """The old level: where it is, and the standard deviation of one of its points."""

    level: float
    deviation: float


def early_return(
    values: Sequence[Sequence[float]], begin: int, change: Change, end: int, least: float, *, is_up: bool
) -> Change | None:
    """The change back to the old level after *change*; None for none.

    The first points that show it decide: what comes later is about the levels after it.

    Args:
        values: the repeats of each point, in the KPI's unit.
        begin: the first point of the old level, which ends before ``change.first``.
        end: where the detector saw another change.
        least: what may be left of the step in any case, in the KPI's unit.
        is_up: *change* leads to a higher level.
    """
    if change.first - begin < FEWEST_OLD:
        return None
    begin = max(begin, change.first - FURTHEST)
    values = values[begin : min(end, change.seen + FURTHEST)]
    unit = power_of_two(max(abs(value) for repeats in values for value in repeats))
    start, least = change.first - begin, least / unit
    unit = unit if is_up else -unit  # so that the step is one upwards
    old = _old([median(list(repeats)) / unit for repeats in values[:start]])
    points = [median(list(repeats)) / unit for repeats in values[start : change.seen - begin + 1]]
    sums = [Fraction()]

    def mean(first: int, stop: int) -> float:
        for point in points[len(sums) - 1 :]:
            sums.append(sums[-1] + Fraction(point))
        return float(sums[stop - start] - sums[first - start]) / (stop - first)

    # A disturbed point isn't the step: it is at most what most of the points were off that were seen away.
    away = list[float]()
    farthest = _clearly_off(points, old)
    # Points that may be the first one back, and their steps: all that came after each lies on the old level's side.
    waiting: list[tuple[int, float]] = []
    for stop, repeats in enumerate(values[start:], start + 1):
        if stop - start > len(points):
            points.append(median(list(repeats)) / unit)
        off = points[stop - start - 1] - old.level
        if stop < start + 2:
            away.append(off)
            continue
        step = min(_middle(away), farthest)
        bisect.insort(away, off)
        waiting = [one for one in (*waiting, (stop - 1, step)) if off < one[1] / 2.0 and one[1] > 0.0]
        if stop < change.seen - begin + 2:
            continue
        for first, step in waiting:
            count = stop - first
            left = mean(first, stop) - old.level
            # One version as far beyond the old level as the step led away from it is a disturbed one as likely.
            enough = count >= FEWEST_POINTS or (len(values[first]) >= FEWEST_RUNS and left >= -step)
            error = old.deviation * math.sqrt(1.0 / (first - start) + 1.0 / count)
            if enough and left <= max(LEFT * step, least) and step - left > CERTAIN * error:
                parts = points[: first - start], points[first - start :]
                levels = [level(np.array(part)) * unit for part in parts]
                seen = begin + stop - 1
                back = begin + first
                return Change(back, back - 1, seen, levels[0], levels[1], is_worse=False, takes_back=change.first)
    return None


def _middle(ordered: Sequence[float]) -> float:
    """The middle one, of two the nearer to the old level."""
    return ordered[(len(ordered) - 1) // 2]


def _clearly_off(points: Sequence[float], old: _Old) -> float:
    """How far most of *points* lie off the *old* level; infinite where that may be chance, as after a return."""
    off = _middle(sorted(points)) - old.level
    return off if off > CERTAIN * old.deviation / math.sqrt(len(points)) else math.inf


def returns(points: Floats, old: float, new: float) -> int:
    """How often *points* left the level *old* for one near *new*, or further, and came back.

    A stay on either is told by how much likelier its points are there (a sequential test of two normal means, Wald
    1945, Ann. Math. Statist. 16, 117–186), of which one alone can be enough; less is asked of each stay where all of
    them together are very likely. Single points are disturbed ones as likely: none of it counts unless the series
    stayed away for two at least once.
    """
    points = points[-FURTHEST:]
    gap = new - old
    if len(points) < 2 * FEWEST_OLD or gap == 0.0:
        return 0
    noise = _MAD * float(np.median(np.abs(np.diff(points)))) / math.sqrt(2.0)
    nearer = (points - (old + new) / 2.0) * gap
    far = np.abs(points - (old + new) / 2.0) > _BEYOND * abs(gap)
    beside = np.pad(far, 1)
    disturbed = far & ~beside[:-2] & ~beside[2:]
    nearer[disturbed] = 0.0  # it is on neither
    likelier = (nearer / max(noise, _LEAST_NOISE * abs(gap)) ** 2).tolist()
    stays = _stays(likelier, LIKELIER_EACH)
    if math.fsum(min(math.fsum(likelier[start:stop]), MOST_OF_ONE) for start, stop in stays) < TOGETHER:
        stays = _stays(likelier, LIKELIER)
    if all(stop - start < FEWEST_POINTS for start, stop in stays):
        return 0
    there = np.concatenate([points[start:stop][~disturbed[start:stop]] for start, stop in stays])
    return len(stays) if (there.mean() - old) / gap >= 1.0 - LEFT else 0


def _stays(likelier: Sequence[float], enough: float) -> list[tuple[int, int]]:
    """The stays away that have ended, of points each of which is by so much *likelier* away, as a logarithm.

    It is away, or back, once the points since some place make it *enough* so: at the place that they do most.
    """
    stays, is_away, sure = list[tuple[int, int]](), False, 0.0
    start = turn = 0
    for place, one in enumerate(likelier):
        sure += -one if is_away else one
        if sure <= 0.0:
            sure, turn = 0.0, place + 1
        elif sure >= enough:
            if is_away:
                stays.append((start, turn))
            is_away, sure, start, turn = not is_away, 0.0, turn, place + 1
    return stays


def _old(points: list[float]) -> _Old:
    """By median and median deviation, so that a spike doesn't count; at least what the points differ by on average."""
    level = median(points)
    middle = _MAD * median([abs(point - level) for point in points])
    steps = [abs(after - before) for before, after in itertools.pairwise(points)]
    return _Old(level, max(middle, median(steps) / math.sqrt(2.0) * _MAD))
