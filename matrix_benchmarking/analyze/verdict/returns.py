"""Whether a series went back to its old level soon after a change: pure mathematics.

The detector needs a handful of points on a level before it can see it end. A regression that the next version repairs
has fewer than that; then what is asked is simpler, since the level to go back to is known: are the newest points on the
old level, and so far from the other one that chance is no explanation?
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
from collections.abc import Sequence

from ..detect.series import power_of_two
from .model import Change

LEFT = 0.25
"""How much of the step may be left."""
CERTAIN = 4.0
"""How many standard errors the newest points have to lie from the level that they left."""
FEWEST_POINTS, FEWEST_RUNS = 2, 3
"""One version counts if it was run so often, else it takes two."""
FEWEST_OLD = 5
_MAD = 1.4826


@dataclasses.dataclass(frozen=True, slots=True)
class _Old:
    """The old level: where it is, and the standard deviation of one of its points."""

    level: float
    deviation: float


def early_return(
    values: Sequence[Sequence[float]], begin: int, change: Change, least: float, *, is_up: bool
) -> Change | None:
    """The change back to the old level after *change*; None for none.

    The first points that show it decide: what comes later is about the levels after it.

    Args:
        values: the repeats of each point, in the KPI's unit, up to where the detector saw another change.
        begin: the first point of the old level, which ends before ``change.first``.
        least: what may be left of the step in any case, in the KPI's unit.
        is_up: *change* leads to a higher level.
    """
    if change.first - begin < FEWEST_OLD:
        return None
    unit = power_of_two(max(abs(value) for repeats in values for value in repeats))
    points = [statistics.median(repeats) / unit for repeats in values]
    runs = [len(repeats) for repeats in values]
    old = _old(points[begin : change.first])
    for stop in range(change.seen + 2, len(points) + 1):
        first = _first_back(points[:stop], runs, change.first, old, least / unit, 1.0 if is_up else -1.0)
        if first is not None:
            away, back = points[change.first : first], points[first:]
            levels = statistics.fmean(away) * unit, statistics.fmean(back) * unit
            return Change(first, first - 1, stop - 1, *levels, is_worse=False, takes_back=change.first)
    return None


def _first_back(
    points: Sequence[float], runs: Sequence[int], start: int, old: _Old, least: float, sign: float
) -> int | None:
    """The first point of those at the end that are back on the old level; None where that isn't certain."""
    for first in range(start + 1, len(points)):
        away, back = points[start:first], points[first:]
        step = (statistics.fmean(away) - old.level) * sign
        enough = len(back) >= FEWEST_POINTS or sum(runs[first : len(points)]) >= FEWEST_RUNS
        left = (statistics.fmean(back) - old.level) * sign
        is_back = all((point - old.level) * sign < step / 2.0 for point in back)
        if not (enough and step > 0.0 and is_back and left <= max(LEFT * step, least)):
            continue
        error = old.deviation * math.sqrt(1.0 / len(away) + 1.0 / len(back))
        if step - left > CERTAIN * error:
            return first
    return None


def _old(points: Sequence[float]) -> _Old:
    """By median and median deviation, so that a spike doesn't count; at least what the points differ by on average."""
    level = statistics.median(points)
    middle = _MAD * statistics.median(abs(point - level) for point in points)
    steps = [abs(after - before) for before, after in itertools.pairwise(points)]
    return _Old(level, max(middle, statistics.median(steps) / math.sqrt(2.0) * _MAD))
