"""Whether a series went back to its old level soon after a change for the worse: pure mathematics.

The detector needs a handful of points on a level before it can see it end. A regression that the next version repairs
has fewer than that; then what is asked is simpler, since the level to go back to is known: are the newest points on the
old level, and so far from the worse one that chance is no explanation?
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
from collections.abc import Sequence

from .model import Change

LEFT = 0.25
"""How much of the step may be left."""
CERTAIN = 4.0
"""How many standard errors the newest points have to lie from the worse level."""
FEWEST_POINTS, FEWEST_RUNS = 2, 3
"""One version counts if it was run so often, else it takes two."""
FEWEST_OLD = 5
_MAD = 1.4826


@dataclasses.dataclass(frozen=True, slots=True)
class _Old:
    """The old level: where it is, and the standard deviation of one of its points."""

    level: float
    deviation: float


def early_return(values: Sequence[Sequence[float]], begin: int, last: Change, least: float) -> Change | None:
    """The change back to the old level after *last*, a change for the worse that nothing followed; None for none.

    Args:
        values: the repeats of each point of the series, in the KPI's unit.
        begin: the first point of the old level, which ends before ``last.first``.
        least: what may be left of the step in any case, in the KPI's unit.
    """
    points = [statistics.median(repeats) for repeats in values]
    if last.first - begin < FEWEST_OLD:
        return None
    old = _old(points[begin : last.first])
    for stop in range(last.first + 2, len(points) + 1):
        first = _first_back(points[:stop], [len(repeats) for repeats in values], last, old, least)
        if first is not None and all(_is_back(points[first:after], points[last.first : first], old)
                                     for after in range(stop, len(points) + 1)):  # fmt: skip
            worse = statistics.fmean(points[last.first : first])
            return Change(first, first - 1, stop - 1, worse, statistics.fmean(points[first:]), is_worse=False)
    return None


def _first_back(points: Sequence[float], runs: Sequence[int], last: Change, old: _Old, least: float) -> int | None:
    """The first point of those at the end that are back on the old level; None where that isn't certain."""
    for first in range(last.first + 1, len(points)):
        worse, back = points[last.first : first], points[first:]
        step = statistics.fmean(worse) - old.level
        is_towards = (step > 0) == (last.old_level < last.new_level) or last.new_level == last.old_level
        enough = len(back) >= FEWEST_POINTS or sum(runs[first : len(points)]) >= FEWEST_RUNS
        left = (statistics.fmean(back) - old.level) * math.copysign(1.0, step)
        if not (enough and is_towards and _is_back(back, worse, old) and left <= max(LEFT * abs(step), least)):
            continue
        error = old.deviation * math.sqrt(1.0 / len(worse) + 1.0 / len(back))
        if abs(statistics.fmean(worse) - statistics.fmean(back)) > CERTAIN * error:
            return first
    return None


def _is_back(back: Sequence[float], worse: Sequence[float], old: _Old) -> bool:
    """Whether each of the points lies nearer to the old level than to the worse one, or beyond it."""
    step = statistics.fmean(worse) - old.level
    return all((point - old.level) * math.copysign(1.0, step) < abs(step) / 2.0 for point in back)


def _old(points: Sequence[float]) -> _Old:
    """By median and median deviation, so that a spike doesn't count; at least what the points differ by on average."""
    level = statistics.median(points)
    middle = _MAD * statistics.median(abs(point - level) for point in points)
    steps = [abs(after - before) for before, after in itertools.pairwise(points)]
    return _Old(level, max(middle, statistics.median(steps) / math.sqrt(2.0) * _MAD))
