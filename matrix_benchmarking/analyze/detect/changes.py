"""Changes that matter: which new levels are far enough from the old one, how far they are, and which are a drift."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from ...errors import MatbenchError
from .. import special
from . import evidence
from .evidence import FEWEST_DEGREES, Flags, Floats, Integers, Numbers, Split, Weight, only, ratio_of
from .levels import LONGEST, estimate, spread
from .scan import NewLevel, median_of
from .series import TimeSeries, Values, prepare
from .splits import FEWEST_BLOCKS, LESS_ON_LOGARITHMS, Candidates

CONFIDENCE = 0.95
_ENOUGH_FOR_FENCES = 4


class InvalidThresholdError(MatbenchError):
    """A minimum effect that can't be."""


class Minimum(msgspec.Struct, frozen=True):
    """The smallest effect that counts: a fraction of the old level, and a difference in the values' unit; both hold."""

    relative: Numbers = 0.01
    absolute: Numbers = 0.0

    def __post_init__(self) -> None:
        for value in (self.relative, self.absolute):  # those of an array were checked one by one
            if not isinstance(value, np.ndarray) and not (value >= 0.0 and math.isfinite(value)):
                raise InvalidThresholdError(f"A minimum effect is zero or a positive number, not {value}.")

    def at(self, level: Numbers) -> Numbers:
        return np.maximum(self.relative * np.abs(level), self.absolute)

    def reached(self, old: Numbers, new: Numbers) -> Flags:
        return np.asarray(np.abs(new - old) >= self.at(old))


class Estimate(msgspec.Struct, frozen=True):
    """A value with its 95 % confidence interval; a bound that isn't known is infinite."""

    value: float
    low: float
    high: float

    @property
    def exact(self) -> Estimate:
        return Estimate(self.value, self.value, self.value)

    def to(self, unit: Callable[[float], float]) -> Estimate:
        """This one in another *unit*."""
        return Estimate(unit(self.value), unit(self.low), unit(self.high))

    def off_by(self, amount: float) -> Estimate:
        """This one, where its ends may be off by *amount* each; its sign stays known if it is."""
        low, high = self.low - amount, self.high + amount
        return Estimate(
            self.value, max(low, 0.0) if self.low > 0.0 else low, min(high, 0.0) if self.high < 0.0 else high
        )


class Move(msgspec.Struct, frozen=True):
    """A change of level that matters: the old level's points are ``old[0]:old[1]``, the new one's start at *first*."""

    first: int
    seen: int
    old: tuple[int, int]
    alarm: NewLevel
    old_level: float


def level(points: Floats) -> float:
    """The mean of at least one point, the newest `LONGEST`, with outliers held back; the median of fewer than four."""
    return _spread(points[-LONGEST:])[0]


def levels_of(points: Floats) -> Floats:
    """That of each of several series of one length, shape (series, n)."""
    if len(points) == 1:
        return np.array([level(points[0])])
    if points.shape[1] < _ENOUGH_FOR_FENCES:
        return np.median(points, axis=1)
    points = points[:, -LONGEST:]
    return estimate(points, np.array([points.shape[1]])).level


def moves(points: Floats, alarms: list[NewLevel], minimum: Minimum, first: int = 0) -> list[Move]:
    """The alarms whose new level was ever far enough from the last one that counted, so that small ones add up.

    The *first* level begins with that point.
    """
    found: list[Move] = []
    old = (first, alarms[0].start if alarms else first)
    for place, alarm in enumerate(alarms):
        following = alarms[place + 1] if place + 1 < len(alarms) else None
        until = following.seen if following else len(points)
        if until <= alarm.seen:  # the same points say more clearly that a level begins later
            continue
        old_level = level(points[slice(*old)])
        seen = _reached(points, alarm, until, old_level, minimum)
        if seen is not None:
            found.append(Move(alarm.start, seen, old, alarm, old_level))
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
ADVANTAGE = 8.0  # by how many times the variance a level that is put where it fits best lowers the sum of squares
_SPIKE = 8.0  # in units of the median step from one point to the next, which is about the standard deviation of a point
_LASTING = 16  # so many points on its last level, or twice as many again and again, are asked whether a drift is over


def goes_on(points: Floats, starts: Sequence[int]) -> bool:
    """Whether the level that begins at the last of *starts* goes on what began at 0: a drift, whose slope may vary."""
    points = _without_spikes(points)
    newest = [0, *starts][-2]
    return is_drift(points, starts) or is_drift(points[newest:], [starts[-1] - newest])


def is_drift(points: Floats, starts: Sequence[int]) -> bool:
    """Whether a line fits *points* about as well as levels do that begin at 0 and at *starts*, in order."""
    edges = [0, *starts, len(points)]
    if len(points) < FEWEST or any(end <= start for start, end in itertools.pairwise(edges)):
        return False
    of_levels = math.fsum(_squares(points[start:end]) for start, end in itertools.pairwise(edges))
    degrees = max(len(points) - len(edges) + 1, 1)
    about_line = _squares(points - slope(points) * np.arange(len(points)))
    return about_line < of_levels * (1.0 + ADVANTAGE * len(starts) / degrees)


def slope(points: Floats) -> float:
    """By how much *points*, at least two, rise from one to the next: that of the line of least squares."""
    places = np.arange(len(points)) - (len(points) - 1) / 2.0
    return float((places * (points - points.mean())).sum() / (places * places).sum())


def _without_spikes(points: Floats) -> Floats:
    """*points*, of which each that lies far off both its neighbours is as the middle one of the three."""
    if len(points) < FEWEST:
        return points
    middles = points.copy()
    middles[1:-1] = np.median(np.lib.stride_tricks.sliding_window_view(points, 3), axis=1)
    usual = float(np.median(np.abs(np.diff(points))))
    return np.where(np.abs(points - middles) > _SPIKE * usual, middles, points)


def _squares(points: Floats) -> float:
    return float(((points - points.mean()) ** 2).sum())


def is_over(points: Floats, starts: list[int]) -> bool:
    """Whether the drift from the first of *points* ended with the last of its levels, which has lasted since."""
    lasted = (starts[-1] + (_LASTING << times) for times in range(len(points).bit_length()))
    return any(not goes_on(points[:stop], starts) for stop in lasted if stop <= len(points))


def compare_levels(values: Values, old: tuple[int, int], new: tuple[int, int]) -> tuple[Estimate | None, Estimate]:
    """How far the versions ``new[0]:new[1]`` of a series, as those of `judge`, lie from the versions ``old[0]:old[1]``.

    Returns:
        New level / old level − 1, None if the old level isn't positive; and new level − old level in the values' unit.
        A bound that can't be known, such as those from one run on each side, is infinite.
    """
    series, index, scale = prepare(values)
    (old_from, old_to), (new_from, new_to) = index.searchsorted([old, new]).tolist()
    before, after = series.points[old_from:old_to], series.points[new_from:new_to]
    split = split_of(before, after, series.precision[new_from:new_to], series.runs[new_from:new_to])
    start, shift = level(before), float(split.shift)
    if len(before) + len(after) + series.prior.degrees < 3.0:  # no spread is known
        low = -1.0 if start + shift > 0.0 else -math.inf
        effect = Estimate(shift / start, low, math.inf) if start > 0.0 else None
        return effect, Estimate(shift * scale, -math.inf, math.inf)
    if split.before == 1.0 and series.prior.degrees == 0.0:  # the side with more than one point tells the error
        split = msgspec.structs.replace(
            split,
            before=split.after,
            after=split.before,
            squares_before=split.squares_after,
            squares_after=split.squares_before,
        )
    return estimates(shift, start, float(reach(evidence.weigh(split, series.prior))), scale)


def split_of(old: Floats, new: Floats, precision: Floats, runs: Floats) -> Split:
    """The newest points of the old and of the new level as one split, with outliers on both sides held back."""
    old, new, precision, runs = (each[-LONGEST:] for each in (old, new, precision, runs))
    before, after = _spread(old), _spread(new)
    numbers: dict[str, Any] = {  # plain numbers, where others have arrays
        "before": float(len(old)),
        "after": float(len(new)),
        "shift": after[0] - before[0],
        "squares_before": before[1],
        "squares_after": after[1],
        "products": before[2] + after[2],
        "tail": 1.0,
        "outliers": 0.0,
        "far": 0.0,
        "others": 0.0,
        "precision": float(precision.mean()),
        "blocks": float(len(new)),
        "runs": float(runs.sum()),
    }
    return Split(**numbers)


def _spread(points: Floats) -> tuple[float, float, float]:
    """Level, sum of squared deviations and sum of products of successive ones."""
    if len(points) < _ENOUGH_FOR_FENCES:
        return float(np.median(points)), _squares(points), 0.0
    return spread(points)


def reach(weight: Weight) -> Floats:
    """How far the interval of a shift reaches to both sides: elementwise."""
    return np.asarray(special.stdtrit(np.maximum(weight.degrees, 1.0), 0.5 + CONFIDENCE / 2.0) * weight.error)


ROUGH = math.log(2.0)


def estimates(
    shift: float, old: float, reach: float, scale: float, *, is_found: bool = False
) -> tuple[Estimate | None, Estimate]:
    """The effect relative to the old level, None if that isn't positive, and the difference, each within its *reach*.

    The interval of a ratio is symmetric on the logarithmic scale, by the delta method. That is too rough where it
    reaches to twice as much, or to no change at all, of a step that *is_found* or clear: it is the difference's then,
    and reaches to twice as much at its farther end.
    """
    difference = Estimate(shift * scale, (shift - reach) * scale, (shift + reach) * scale)
    new = old + shift
    if old <= 0.0:
        return None, difference
    least = -1.0 if new >= 0.0 else -math.inf  # nothing is less than nothing, unless levels are below zero
    linear = Estimate(shift / old, max((shift - reach) / old, least), (shift + reach) / old)
    if new <= 0.0:
        return linear, difference
    step, factor = math.log(new) - math.log(old), reach / min(old, new)
    is_clear = (1.0 if is_found else 2.0) * reach < abs(shift)
    if is_clear and factor >= min(abs(step), ROUGH):
        farther = math.expm1(step + math.copysign(min(factor, ROUGH), step))
        return msgspec.structs.replace(linear, low=min(linear.low, farther), high=max(linear.high, farther)), difference
    low, high = step - factor, step + factor
    return Estimate(new / old - 1.0, math.expm1(low), math.expm1(high) if high < 500.0 else math.inf), difference


VERSIONS = 5  # so many ago the step began that is asked for; longer ago where fewer blocks are behind these
LARGEST = 7.0  # the logarithm of a step that is beyond reason: a thousandfold
FOUR_OF_FIVE = 0.8416  # so many standard errors more show a step in four of five cases (quantile of a normal .8)


def smallest_steps(series: TimeSeries, begin: int, newest: Candidates, minimum: Minimum) -> tuple[Floats, Integers]:
    """The smallest step that would have been an alarm by now in four of five cases, and the number of versions since.

    That is the shift with which the newest versions would reach the detector's threshold, given how they and those
    before them spread: of all splits of a level up to its *newest* point. Of each of the series beside each other, NaN
    where no step within reason is enough, and 0 versions where only one block speaks for each new level.
    """
    points = series.points[begin:].reshape(series.beside, -1)
    chosen, versions = asked_about(series, begin, newest)
    weight, excess, tail = only(newest.weight, chosen), newest.excess[chosen], newest.split.tail[chosen]
    needed, degrees = weight.score - excess, np.maximum(weight.degrees, FEWEST_DEGREES)
    old = np.abs(levels_of(points))
    steps = _seen_in_four_of_five(ratio_of(needed, degrees) * tail, degrees) * weight.error
    with np.errstate(divide="ignore", invalid="ignore"):
        on_logarithms = ratio_of(needed - LESS_ON_LOGARITHMS, degrees) * tail
        reach = _seen_in_four_of_five(on_logarithms, degrees) * weight.error / old
    has_logarithms = (points.min(axis=1) > 0.0) | (points.max(axis=1) < 0.0)
    factors = np.where(reach < LARGEST, np.expm1(np.minimum(reach, LARGEST)), np.nan)
    steps = np.where(has_logarithms, np.maximum(steps, old * factors), steps)
    # What counts has to be seen as that large, too, and is measured with an error.
    counts = minimum.at(old) + FOUR_OF_FIVE * weight.error
    return np.where(weight.error > 0.0, np.maximum(steps, counts), np.nan), versions


def _seen_in_four_of_five(ratio: Floats, degrees: Floats) -> Floats:
    """How many standard errors off a shift has to be, to come to this *ratio* in four of five histories like this one.

    The standard error is known with so many *degrees* of freedom, in this history and in each other one.
    """
    return np.asarray(ratio + FOUR_OF_FIVE * np.sqrt(1.0 + ratio * ratio / degrees))


def asked_about(series: TimeSeries, begin: int, newest: Candidates) -> tuple[Integers, Integers]:
    """Of each series with which of the splits a step is asked for, and the number of versions: see `smallest_steps`."""
    after = newest.split.after
    first = begin + newest.last + 1 - after.astype(np.int64)
    told = (after > 1.0) & (series.blocks_from(first, begin + newest.last) >= FEWEST_BLOCKS)
    lags, enough = after.reshape(series.beside, -1), told.reshape(series.beside, -1)
    near = enough & (lags <= VERSIONS)
    most = near.shape[1] - 1 - near[:, ::-1].argmax(axis=1)
    place = np.where(near.any(axis=1), most, enough.argmax(axis=1))
    chosen = place + lags.shape[1] * np.arange(series.beside)
    return chosen, np.where(told[chosen], after[chosen], 0).astype(np.int64)
