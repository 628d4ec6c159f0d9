"""The verdict without a history: the repeats of two builds, one against the other.

The test is Welch's (1947, Biometrika 34, 28–35), on the logarithmic scale where all values are positive.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from scipy import special

from matrix_benchmarking.analyze.detect.effects import CONFIDENCE, check_confidence, checked
from matrix_benchmarking.analyze.detect.judgement import Estimate, Judgement, Kind
from matrix_benchmarking.analyze.detect.repeats import Side, error_of, parts, two_sides
from matrix_benchmarking.analyze.detect.series import finite, power_of_two
from matrix_benchmarking.analyze.intervals import Scale, Spread, scale_of

MINIMUM_EFFECT = 0.01
SIGNIFICANT = 0.05
_DOUBTFUL = 0.25
_MOST_RERUNS = 100
_LARGEST_LOGARITHM = 700.0
_LARGEST_DEVIATION = 1e100  # in units of the values


def judge_pair(
    old: Sequence[float | None],
    new: Sequence[float | None],
    *,
    lower_is_better: bool | None,
    minimum_effect: float = MINIMUM_EFFECT,
    minimum_effect_absolute: float = 0.0,
    confidence: float = CONFIDENCE,
    spread: Spread | None = None,
) -> Judgement:
    """The verdict on a new build against an old one, from the repeats of both.

    Args:
        old, new: one value a run, in any unit; None, NaN and infinite ones don't count.
        lower_is_better: the KPI's direction; None if there is none, so that no change is a regression.
        minimum_effect: smallest difference that counts, as a fraction of the old level.
        minimum_effect_absolute: the same in the values' unit. A difference has to reach both.
        confidence: of the intervals.
        spread: how repeats differ at other settings of the same KPI: as a fraction of the mean where all values here
            are positive, else in the values' unit.

    Returns:
        A change if the difference reaches the minimum effect and has a p-value of at most 5 %, two-sided: that of this
        pair alone, so that over many pairs the q-values decide. `Kind.NOT_ENOUGH_HISTORY` without a run on a side, or
        with one on each and no *spread*. There are no versions to name, so `first_bad` and `last_good` are None.
        `reruns` is how many more runs each side needs: for a verdict at all, or in a case of doubt for a clear one if
        they lie where the others do.

    Raises:
        InvalidThresholdError: a minimum effect is negative or not a number, the confidence isn't between 0 and 1.
    """
    minimum = checked(minimum_effect, minimum_effect_absolute)
    check_confidence(confidence)
    before, after = finite(old), finite(new)
    if spread is not None and spread.degrees <= 0:
        spread = None
    if not before or not after or (len(before) + len(after) == 2 and spread is None):
        return _too_few(before, after)
    unit = power_of_two(max(abs(value) for value in (*before, *after)))
    before, after = [value / unit for value in before], [value / unit for value in after]
    scale = scale_of((*before, *after))
    sides = two_sides(before, after, scale)
    if spread is not None and scale is Scale.DIFFERENCE:
        spread = dataclasses.replace(spread, deviation=min(spread.deviation / unit, _LARGEST_DEVIATION))
    first, second = sides
    distance = _distance(first.mean, second.mean, scale)
    error, degrees = error_of(parts(sides, spread))
    p_value = _two_sided(distance, error, degrees)
    shift = second.mean - first.mean
    needed = max(minimum.relative * abs(first.mean), minimum.absolute / unit)
    counts = abs(shift) >= needed and shift != 0.0
    effect, difference = _estimates(first.mean, second.mean, scale, _reach(error, degrees, confidence), unit)
    doubtful = counts and SIGNIFICANT < p_value <= _DOUBTFUL
    return Judgement(
        _kind(shift, lower_is_better) if counts and p_value <= SIGNIFICANT else Kind.NO_CHANGE,
        effect,
        difference,
        first.mean * unit,
        second.mean * unit,
        None,
        None,
        p_value,
        first.runs,
        second.runs,
        _reruns(sides, spread, distance) if doubtful else None,
        (),
    )


def _too_few(before: list[float], after: list[float]) -> Judgement:
    """Without spread: what is known, and how many runs each side needs for more."""
    old, new = _mean(before), _mean(after)
    effect = difference = None
    if old is not None and new is not None:
        difference = Estimate(new - old, -math.inf, math.inf)
        effect = Estimate(new / old - 1.0, -1.0, math.inf) if min(old, new) > 0.0 else None
    runs = len(before), len(after)
    missing = 1 if all(runs) else 2 - min(1, max(runs))
    return Judgement(Kind.NOT_ENOUGH_HISTORY, effect, difference, old, new, None, None, None, *runs, missing, ())


def _mean(values: list[float]) -> float | None:
    return math.fsum(value / len(values) for value in values) if values else None


def _distance(old: float, new: float, scale: Scale) -> float:
    return math.log(new) - math.log(old) if scale is Scale.RATIO else new - old


def _two_sided(distance: float, error: float, degrees: float) -> float:
    if error == 0.0:
        return 1.0 if distance == 0.0 else 0.0
    return 2.0 * float(special.stdtr(degrees, -abs(distance) / error))


def _reach(error: float, degrees: float, confidence: float) -> float:
    """Half the width of the interval of the distance."""
    return error and float(special.stdtrit(degrees, 0.5 + confidence / 2.0)) * error


def _estimates(old: float, new: float, scale: Scale, reach: float, unit: float) -> tuple[Estimate | None, Estimate]:
    """The effect, None if the old level isn't positive, and the difference: both intervals hold 0 or none does."""
    shift = new - old
    if scale is Scale.DIFFERENCE:
        ends = (shift, shift - reach, shift + reach)
        return (Estimate(*[end / old for end in ends]) if old > 0.0 else None), Estimate(*[end * unit for end in ends])
    distance = math.log(new) - math.log(old)
    low, high = (math.expm1(min(end, _LARGEST_LOGARITHM)) for end in (distance - reach, distance + reach))
    return Estimate(shift / old, low, high), Estimate(shift * unit, old * low * unit, old * high * unit)


def _kind(shift: float, lower_is_better: bool | None) -> Kind:
    if lower_is_better is None:
        return Kind.CHANGE
    return Kind.REGRESSION if (shift > 0.0) == lower_is_better else Kind.IMPROVEMENT


def _reruns(sides: tuple[Side, Side], spread: Spread | None, distance: float) -> int | None:
    """How many more runs on each side make the difference significant if nothing else changes; None if 100 don't."""
    known = math.fsum((side.runs - 1) * side.variance for side in sides) / max(sum(side.runs - 1 for side in sides), 1)
    alone = spread.deviation * spread.deviation if spread is not None and not known else known
    for more in range(1, _MOST_RERUNS + 1):
        first, second = (
            dataclasses.replace(side, runs=side.runs + more, variance=side.variance if side.runs > 1 else alone)
            for side in sides
        )
        if _two_sided(distance, *error_of(parts((first, second), spread))) <= SIGNIFICANT:
            return more
    return None
