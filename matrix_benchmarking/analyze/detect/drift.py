"""Whether levels that follow each other are steps, or what a drift looks like to a detector of steps: pure formulas."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from matrix_benchmarking.analyze.detect.evidence import Floats

FEWEST = 6
ADVANTAGE = 8.0
"""By how many times the variance a level that is put where it fits best lowers the sum of squares."""
_SPIKE = 8.0
"""In units of the median step from one point to the next, which is about the standard deviation of a point."""
_LASTING = 16
"""So many points on its last level, or twice as many again and again, are asked whether a drift is over."""


def goes_on(points: Floats, starts: Sequence[int]) -> bool:
    """Whether the level that begins at the last of *starts* goes on what began at 0: a drift, whose slope may change.

    A straight line fits all *points*, or those of the newest two levels, about as well as levels do.
    """
    points = _without_spikes(points)
    newest = [0, *starts][-2]
    return is_drift(points, starts) or is_drift(points[newest:], [starts[-1] - newest])


def is_drift(points: Floats, starts: Sequence[int]) -> bool:
    """Whether a straight line fits *points* about as well as levels do that begin at 0 and at *starts*, in order.

    The levels begin where they fit best, so they have that much of an advantage.
    """
    edges = [0, *starts, len(points)]
    if len(points) < FEWEST or any(end <= start for start, end in itertools.pairwise(edges)):
        return False
    of_levels = math.fsum(_squares(points[start:end]) for start, end in itertools.pairwise(edges))
    degrees = max(len(points) - len(edges) + 1, 1)
    return _squares_about_line(points) < of_levels * (1.0 + ADVANTAGE * len(starts) / degrees)


def slope(points: Floats) -> float:
    """By how much *points*, at least two, rise from one to the next: that of the line of least squares."""
    places = np.arange(len(points)) - (len(points) - 1) / 2.0
    return float((places * (points - points.mean())).sum() / (places * places).sum())


def _without_spikes(points: Floats) -> Floats:
    """*points*, of which each that lies far off both its neighbours is as the middle one of the three.

    What neither a line nor levels fit would make both fit alike.
    """
    if len(points) < FEWEST:
        return points
    middles = points.copy()
    middles[1:-1] = np.median(np.lib.stride_tricks.sliding_window_view(points, 3), axis=1)
    usual = float(np.median(np.abs(np.diff(points))))
    return np.where(np.abs(points - middles) > _SPIKE * usual, middles, points)


def _squares(points: Floats) -> float:
    return float(((points - points.mean()) ** 2).sum())


def _squares_about_line(points: Floats) -> float:
    return _squares(points - slope(points) * np.arange(len(points)))


def is_over(points: Floats, starts: list[int]) -> bool:
    """Whether the drift from the first of *points* ended with the last of its levels, which has lasted since."""
    lasted = (starts[-1] + (_LASTING << times) for times in range(len(points).bit_length()))
    return any(not goes_on(points[:stop], starts) for stop in lasted if stop <= len(points))
