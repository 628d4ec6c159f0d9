"""Alarms that matter: which new levels are far enough from the old one, where all levels lie, and which are a drift."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .evidence import Flags, Floats
from .levels import LONGEST, estimate, spread
from .scan import NewLevel, median_of

_ENOUGH_FOR_FENCES = 4


@dataclasses.dataclass(frozen=True, slots=True)
class Minimum:
    """The smallest effect that counts: a fraction of the old level, and a difference in the values' unit; both hold."""

    relative: Any
    absolute: Any

    def reached(self, old: Any, new: Any) -> Flags:
        """Which of the new levels are that far from the old one: elementwise."""
        return np.asarray(np.abs(new - old) >= np.maximum(self.relative * np.abs(old), self.absolute))


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """A change of level that matters: the old level's points are ``old[0]:old[1]``, the new one's start at *first*.

    *old_level* is where the old one lies.
    """

    first: int
    seen: int
    old: tuple[int, int]
    alarm: NewLevel
    old_level: float


def level(points: Floats) -> float:
    """The mean of at least one point, the newest `LONGEST`, with outliers held back; the median of fewer than four."""
    points = points[-LONGEST:]
    return spread(points)[0] if len(points) >= _ENOUGH_FOR_FENCES else float(np.median(points))


def levels_of(points: Floats) -> Floats:
    """That of each of several series of one length, shape (series, n)."""
    if len(points) == 1:
        return np.array([level(points[0])])
    if points.shape[1] < _ENOUGH_FOR_FENCES:
        return np.median(points, axis=1)
    points = points[:, -LONGEST:]
    return estimate(points, np.array([points.shape[1]])).level


def steps(points: Floats, alarms: list[NewLevel], minimum: Minimum) -> list[Step]:
    """The alarms whose new level was ever, since it was seen, as far from the last level that counted as is asked for.

    Small steps are measured from where the last step that counted led, so that many of them add up. A step counts from
    the point on at which it first reached the minimum effect, and doesn't cease to.
    """
    found: list[Step] = []
    if not alarms:
        return found
    old = (0, alarms[0].start)
    any_size = minimum.relative == 0.0 and minimum.absolute == 0.0
    for place, alarm in enumerate(alarms):
        following = alarms[place + 1] if place + 1 < len(alarms) else None
        until = following.seen if following else len(points)
        if until <= alarm.seen:  # the same points say more clearly that a level begins later
            continue
        old_level = level(points[slice(*old)])
        seen = alarm.seen if any_size else _reached(points, alarm, until, old_level, minimum)
        if seen is not None:
            found.append(Step(alarm.start, seen, old, alarm, old_level))
            old = (alarm.start, following.start if following else len(points))
    return found


def _reached(points: Floats, alarm: NewLevel, until: int, old: float, minimum: Minimum) -> int | None:
    """The first point from the alarm on at which the mean of the new level's points is far enough from the old one."""
    first = points[alarm.start : alarm.seen + 1]
    middle, room = median_of(first), 3.0 * alarm.deviation
    held = np.minimum(np.maximum(points[alarm.start : until], middle - room), middle + room)
    means = np.cumsum(held) / np.arange(1, len(held) + 1)
    new = means[alarm.seen - alarm.start :]
    far = minimum.reached(old, new)
    return alarm.seen + int(far.argmax()) if far.any() else None


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
