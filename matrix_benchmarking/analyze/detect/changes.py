"""Alarms that matter: which of the new levels are far enough from the old one, and where all levels lie."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from matrix_benchmarking.analyze.detect.evidence import Flags, Floats
from matrix_benchmarking.analyze.detect.levels import LONGEST, estimate, spread
from matrix_benchmarking.analyze.detect.scan import NewLevel, median_of

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
