"""Pareto fronts: which points nobody beats in two measures at once, and what a front says between its points.

Pure mathematics on pairs; x is what a user feels, y what the hardware yields.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class Measured(Generic[T]):
    """A point: what it is, and where."""

    what: T
    x: float
    y: float


@dataclasses.dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """The front's height at an x: *below* and *above* are the measured points beside it, the same if one is there."""

    x: float
    below: Measured[T]
    above: Measured[T]

    @property
    def is_measured(self) -> bool:
        return self.below is self.above

    @property
    def y(self) -> float:
        return self._on_the_line(self.below.y, self.above.y)

    def between(self, value_of: Callable[[T], float | None]) -> float | None:
        """Another value, on the straight line between the points; None where one has none."""
        low, high = value_of(self.below.what), value_of(self.above.what)
        return None if low is None or high is None else self._on_the_line(low, high)

    def _on_the_line(self, low: float, high: float) -> float:
        return low if self.is_measured else low + (self.x - self.below.x) / (self.above.x - self.below.x) * (high - low)


def front(points: Sequence[Measured[T]], *, lower_x: bool, lower_y: bool = False) -> list[Measured[T]]:
    """The points than which no other is better in one measure and as good in the other, by ascending x.

    Args:
        lower_x, lower_y: whether a lower value is the better one.
    """
    x_sign, y_sign = (1 if lower else -1 for lower in (lower_x, lower_y))
    kept: list[Measured[T]] = []
    for point in sorted(points, key=lambda each: (x_sign * each.x, y_sign * each.y)):
        if not kept or y_sign * point.y < y_sign * kept[-1].y:
            kept.append(point)
    return kept if lower_x else kept[::-1]


def reading(points: Sequence[Measured[T]], x: float) -> Reading[T] | None:
    """What a front says at *x*, on the straight line between the points beside it; None beyond its ends."""
    for point in points:
        if point.x == x:
            return Reading(x, point, point)
    for below, above in itertools.pairwise(points):
        if below.x < x < above.x:
            return Reading(x, below, above)
    return None


def within(points: Sequence[Measured[T]], limit: float, *, lower_x: bool) -> list[Measured[T]]:
    """The points whose x is at most *limit* where lower is better, else at least that."""
    return [point for point in points if (point.x <= limit if lower_x else point.x >= limit)]


def round_values(low: float, high: float, most: int = 12) -> list[float]:
    """Up to *most* round numbers from *low* to *high*.

    In even steps up to a factor of ten between them, else 1, 2 and 5 times powers of ten and the like; *low* itself
    where none lies between.
    """
    if not 0 < low <= high:
        return []
    if high <= 1.001 * low:
        return [low]
    found: list[float] = []
    if high <= 10 * low:
        least = math.floor(math.log10((high - low) / most)) - 1
        for step in (part * 10.0**power for power in range(least, least + 4) for part in (1, 2, 5)):
            first, last = math.ceil(low / step), math.floor(high / step)
            if last - first + 1 <= most:
                found = [float(f"{place * step:.6g}") for place in range(first, last + 1)]
                break
        return [number for number in found if low <= number <= high] or [low]
    for between in ((1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
        every = [float(f"{part * 10.0**power:.6g}") for power in powers for part in between]
        found = [number for number in every if low <= number <= high]
        if len(found) <= most:
            break
    return found[:most] or [low]
