"""How far two levels of a series lie apart, how sure that is, and how small a step would still have been seen."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from scipy import special

from ...errors import MatbenchError
from . import evidence
from .changes import Minimum, level, levels_of
from .evidence import FEWEST_DEGREES, Floats, Prior, Split, Weighed, ratio_of
from .judgement import Estimate
from .levels import LONGEST, Integers, spread
from .logarithms import LESS_ON_LOGARITHMS
from .series import TimeSeries, Values, prepare
from .splits import FEWEST_BLOCKS, Evidence

CONFIDENCE = 0.95


class InvalidThresholdError(MatbenchError):
    """A minimum effect or a confidence that can't be."""


class EmptyLevelError(MatbenchError):
    """A part of a series that has no value."""


def compare_levels(
    values: Values, old: tuple[int, int], new: tuple[int, int], *, confidence: float = CONFIDENCE
) -> tuple[Estimate | None, Estimate]:
    """How far the versions ``new[0]:new[1]`` of a series lie from the versions ``old[0]:old[1]``.

    Args:
        values: one entry a version, as those of `judge`.
        old, new: first index, and the one behind the last.
        confidence: of the intervals.

    Returns:
        New level / old level − 1, None if the old level isn't positive; and new level − old level in the values' unit.
        A bound that can't be known, such as those from one run on each side, is infinite.

    Raises:
        InvalidThresholdError: the confidence isn't between 0 and 1.
        EmptyLevelError: there is no value in one of the ranges.
    """
    check_confidence(confidence)
    series, index, scale = prepare(values)
    (old_from, old_to), (new_from, new_to) = _places(index, old), _places(index, new)
    before, after = series.points[old_from:old_to], series.points[new_from:new_to]
    split = split_of(before, after, series.precision[new_from:new_to], series.runs[new_from:new_to])
    if len(before) + len(after) + series.prior.degrees < 3.0:
        return _without_spread(split, level(before), scale)
    wide = float(reach(_weighed(split, series.prior), confidence))
    return estimates(float(split.shift), level(before), wide, scale)


def _places(index: Integers, part: tuple[int, int]) -> tuple[int, int]:
    """The points of a part of the versions."""
    first, stop = (int(place) for place in np.searchsorted(index, part))
    if first >= stop:
        raise EmptyLevelError(f"None of the versions {part[0]} to {part[1] - 1} of the series has a value.")
    return first, stop


def _weighed(split: Split, prior: Prior) -> Weighed:
    """The error of the shift, told from the side that has more than one point."""
    if split.before > 1.0 or prior.degrees > 0.0:
        return evidence.weigh(split, prior)
    turned = dataclasses.replace(
        split, before=split.after, after=1.0, squares_before=split.squares_after, squares_after=0.0
    )
    return evidence.weigh(turned, prior)


def _without_spread(split: Split, old: float, scale: float) -> tuple[Estimate | None, Estimate]:
    shift = float(split.shift)
    difference = Estimate(shift * scale, -math.inf, math.inf)
    return (
        Estimate(shift / old, -1.0 if old + shift > 0.0 else -math.inf, math.inf) if old > 0.0 else None
    ), difference


def checked(relative: float, absolute: float) -> Minimum:
    """A minimum effect; raises InvalidThresholdError for one that can't be."""
    for value in (relative, absolute):
        if not (value >= 0.0 and math.isfinite(value)):
            raise InvalidThresholdError(f"A minimum effect is zero or a positive number, not {value}.")
    return Minimum(relative, absolute)


def check_confidence(confidence: float) -> None:
    """Raises InvalidThresholdError for a confidence that can't be."""
    if not 0.0 < confidence < 1.0:
        raise InvalidThresholdError(f"The confidence of an interval is between 0 and 1, not {confidence}.")


def split_of(old: Floats, new: Floats, precision: Floats, runs: Floats) -> Split:
    """The newest points of the old and of the new level as one split, with outliers on both sides held back."""
    old, new, precision, runs = (each[-LONGEST:] for each in (old, new, precision, runs))
    before, after = _spread(old), _spread(new)
    return Split(
        before=float(len(old)),
        after=float(len(new)),
        shift=after[0] - before[0],
        squares_before=before[1],
        squares_after=after[1],
        products=before[2] + after[2],
        tail=1.0,
        outliers=0.0,
        far=0.0,
        others=0.0,
        precision=float(precision.mean()),
        blocks=float(len(new)),
        runs=float(runs.sum()),
    )


def _spread(points: Floats) -> tuple[float, float, float]:
    """Level, sum of squared deviations and sum of products of successive ones."""
    if len(points) < 4:  # too few to tell an outlier
        middle = level(points)
        return middle, float(((points - points.mean()) ** 2).sum()), 0.0
    return spread(points)


def reach(weighed: Weighed, confidence: float) -> Any:
    """How far the interval of a shift reaches to both sides: elementwise."""
    return special.stdtrit(np.maximum(weighed.degrees, 1.0), 0.5 + confidence / 2.0) * weighed.error


def estimates(shift: float, old: float, reach: float, scale: float) -> tuple[Estimate | None, Estimate]:
    """The effect relative to the old level, None if that isn't positive, and the difference.

    The interval reaches so far to both sides; that of the ratio is symmetric on the logarithmic scale, by the delta
    method.
    """
    difference = Estimate(shift * scale, (shift - reach) * scale, (shift + reach) * scale)
    new = old + shift
    if old <= 0.0 or new <= 0.0:
        relative = None if old <= 0.0 else Estimate(shift / old, (shift - reach) / old, (shift + reach) / old)
        return relative, difference
    factor = reach / min(old, new)
    ratio = new / old
    high = ratio * math.exp(factor) - 1.0 if factor < 500.0 else math.inf
    return Estimate(ratio - 1.0, ratio * math.exp(-factor) - 1.0, high), difference


VERSIONS = 5
"""A step is asked for that began so many versions ago; longer ago where fewer blocks stand behind these."""
LARGEST = 7.0
"""The logarithm of a step that is beyond reason: a thousandfold."""
FOUR_OF_FIVE = 0.8416
"""So many standard errors more a step has to have, to be seen in four of five cases (quantile of a normal .8)."""


def smallest_steps(series: TimeSeries, begin: int, newest: Evidence, minimum: Minimum) -> tuple[Floats, Integers]:
    """The smallest step that would have been an alarm by now in four of five cases, and the number of versions since.

    That is the shift with which the newest versions would reach the detector's threshold, given how they and those
    before them spread; on the logarithmic scale, too, where values have one.

    Args:
        series: one, or several beside each other.
        begin: of the level on which it ends.
        newest: all splits of that level up to its last point.
        minimum: the smallest effect that counts.

    Returns:
        Of each series, in the unit of its points, NaN where the noise isn't known or no step within reason is enough;
        and 0 versions where only one block speaks for each new level that there could be.
    """
    split, points = newest.split, series.points[begin:].reshape(series.beside, -1)
    chosen, versions = asked_about(series, begin, newest)
    weighed = newest.weighed
    needed = weighed.score[chosen] - newest.excess[chosen]
    degrees = np.maximum(weighed.degrees[chosen], FEWEST_DEGREES)
    error, tail, old = weighed.error[chosen], split.tail[chosen], np.abs(levels_of(points))
    steps = (ratio_of(needed, degrees) * tail + FOUR_OF_FIVE) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = (ratio_of(needed - LESS_ON_LOGARITHMS, degrees) * tail + FOUR_OF_FIVE) * error / old
    has_logarithms = (points.min(axis=1) > 0.0) | (points.max(axis=1) < 0.0)
    factors = np.where(reach < LARGEST, np.expm1(np.minimum(reach, LARGEST)), np.nan)
    steps = np.where(has_logarithms, np.maximum(steps, old * factors), steps)
    steps = np.maximum(steps, np.maximum(minimum.relative * old, minimum.absolute))
    return np.where(error > 0.0, steps, np.nan), versions


def asked_about(series: TimeSeries, begin: int, newest: Evidence) -> tuple[Integers, Integers]:
    """Of each series with which of the splits a step is asked for, and the number of versions: see `smallest_steps`."""
    after = newest.split.after
    first = begin + newest.last + 1 - after.astype(np.int64)
    told = (after > 1.0) & (series.blocks_from(first, begin + newest.last) >= FEWEST_BLOCKS)
    lags, enough = (one.reshape(series.beside, -1) for one in (after, told))
    near = enough & (lags <= VERSIONS)
    most = near.shape[1] - 1 - near[:, ::-1].argmax(axis=1)
    place = np.where(near.any(axis=1), most, enough.argmax(axis=1))
    chosen = place + lags.shape[1] * np.arange(series.beside)
    return chosen, np.where(told[chosen], after[chosen], 0).astype(np.int64)
