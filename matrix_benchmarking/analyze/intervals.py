"""Repeats and how sure their mean is: what the answers of this package share."""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

CONFIDENCE = 0.95
MAD = 1.4826  # times the median distance from the median: the standard deviation of normal values


class Scale(enum.Enum):
    """Whether values are compared by their ratio or by their difference."""

    RATIO = "ratio"
    DIFFERENCE = "difference"


WIDEST = 100.0
"""An interval of which one end is more than so many times the other says nothing; of differences, one that is wider
than so many times the largest value."""

CLEAR = 4  # so many standard errors above zero a level is no matter of chance: what is measured about zero is none


class Sample(msgspec.Struct, frozen=True):
    """The repeats of one point: how many, their mean, and their standard deviation (None for one run)."""

    runs: int
    mean: float
    deviation: float | None


class Interval(msgspec.Struct, frozen=True):
    """A confidence interval of a mean.

    That of a single run has its width from other points' repeats.

    Attributes:
        is_within: whether it says nothing of how its campaigns differ, of which too little is known.
    """

    low: float
    high: float
    is_within: bool = False


def mean_of(values: Sequence[float]) -> float:
    """The mean of at least one value."""
    try:
        return math.fsum(values) / len(values)
    except OverflowError:  # of the sum; the mean is no larger than the largest value
        largest = max(map(abs, values))
        return largest * (math.fsum([value / largest for value in values]) / len(values))


def summarise(values: Sequence[float]) -> Sample:
    """Mean and standard deviation (n − 1) of at least one value."""
    runs, mean = len(values), mean_of(values)
    if runs == 1:
        return Sample(1, mean, None)
    return Sample(runs, mean, math.hypot(*[value - mean for value in values]) / math.sqrt(runs - 1))


def is_clear_of_zero(level: float, values: Sequence[float]) -> bool:
    """Whether it says something how many per cent another level is off: the *values* are positive, or their *level*."""
    of = summarise(values)
    return min(values) > 0 or level > CLEAR * (of.deviation or 0.0) / math.sqrt(of.runs)


def scale_of(values: Iterable[float]) -> Scale:
    """The ratio scale if all values are positive."""
    return Scale.RATIO if min(values, default=1.0) > 0 else Scale.DIFFERENCE


def sign_of(values: Iterable[float]) -> float:
    """−1.0 if all values are negative: their sizes can be compared on the ratio scale."""
    return -1.0 if max(values, default=0.0) < 0 else 1.0


def step_of(values: Iterable[float]) -> float:
    """The step to which *values* are rounded, by the decimals that they are written with: 0.01 for 27.5 and 26.98.

    At most 1; 0 where all are the same, as of a share that is 1 everywhere, since then nobody sees the rounding.
    """
    known = set(map(float, values))
    return 0.0 if len(known) == 1 else float(10.0 ** -max(0, *map(_decimals, known)))


def _decimals(value: float) -> int:
    """With how many decimals a number is written: 2 for 27.25, 7 for 1e-07."""
    digits, _, exponent = repr(value).partition("e")
    return len(digits.partition(".")[2].rstrip("0")) - int(exponent or 0)


def steps_in(values: Sequence[float]) -> list[float] | None:
    """The steps that *values* fall on, such as bounds of a histogram: those that occur more than once, ascending.

    None where most values differ.
    """
    counts = Counter(values)
    return sorted(value for value, count in counts.items() if count > 1) if 2 * len(counts) <= len(values) else None


def hidden_in(values: Sequence[float], scale: Scale) -> float | None:
    """How far a level may move before *values* show it, since they fall on few steps, on the *scale*.

    As far as from their median to the steps beside it; 0 where most values differ, and None where there is one step
    alone, since others may be anywhere.
    """
    steps = steps_in(values)
    return 0.0 if steps is None else _beside_the_middle(values, steps, scale)


def _beside_the_middle(values: Sequence[float], steps: Sequence[float], scale: Scale) -> float | None:
    middle = sorted(values)[len(values) // 2]
    place = min(range(len(steps)), key=lambda number: abs(steps[number] - middle))
    beside = pairwise(steps[max(place - 1, 0) : place + 2])
    far = (math.log(after / before) if scale is Scale.RATIO else after - before for before, after in beside)
    return max(far, default=None)


def hidden_between(old: Sequence[float], new: Sequence[float], scale: Scale) -> float | None:
    """How far the difference of two sides may be off since their values fall on few steps, on the *scale*.

    Half a step of each side that has no more than two of them; 0 where most values differ. None where each side has
    one value alone: their difference is exact, or a step.
    """
    known = steps_in([*old, *new])
    if known is None:
        return 0.0
    if len(set(old)) == len(set(new)) == 1:
        return None
    own = [sorted({*known} & {*side}) for side in (old, new)]
    if max(map(len, own)) < 2:  # the step is that from one side to the other
        own = [known, known]
    gaps = (_beside_the_middle(side, steps, scale) for side, steps in zip((old, new), own, strict=True) if steps)
    return max((gap for gap in gaps if gap is not None), default=0.0) / 2.0 * sum(len(steps) <= 2 for steps in own)
