"""The repeats of two builds as two means, and how sure their difference is.

Positive values are compared as ratios, others as differences, as in `analyze.intervals`. Where a side has few repeats,
its spread is moderated by that of other pairs (Smyth 2004, Statist. Appl. Genet. Molec. Biol. 3(1), 3), which may say
as much as four repeats more.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from scipy import special

from matrix_benchmarking.analyze.intervals import Scale, Spread

_LARGEST_LOGARITHM = 700.0
# Repeats of one pair may spread more than those of others, so others count for no more than this many of its own; and
# where one side was run once and others are all there is, for no more than that many.
_BORROWED_DEGREES = 4.0
_BORROWED_ALONE = 20.0
_FEWEST_WITH_A_SPIKE = 4
_SPIKE_CHANCE = 0.002


@dataclasses.dataclass(frozen=True, slots=True)
class Side:
    """The repeats of one build: how many, their mean, and the variance of one of them on the scale that is compared."""

    runs: int
    mean: float
    variance: float


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """An independent estimate of a variance, and its share in the squared error of the difference."""

    variance: float
    degrees: float
    share: float


def two_sides(before: list[float], after: list[float], scale: Scale) -> tuple[Side, Side]:
    """Both sides, a single spike on a side held back."""
    room = _room([_on(scale, before), _on(scale, after)])
    return _side(_held(before, room, scale), scale), _side(_held(after, room, scale), scale)


def _on(scale: Scale, values: list[float]) -> list[float]:
    return [math.log(value) for value in values] if scale is Scale.RATIO else values


def _side(values: list[float], scale: Scale) -> Side:
    runs = len(values)
    mean = math.fsum(values) / runs
    if runs == 1:
        return Side(1, mean, 0.0)
    size = mean if scale is Scale.RATIO else 1.0
    return Side(runs, mean, math.fsum(((value - mean) / size) ** 2 for value in values) / (runs - 1))


def _room(sides: Sequence[list[float]]) -> float:
    """How far from the others of its side a run may lie; infinite where it can't be told.

    It is the spread of both sides without the farthest run of each, times Student's quantile.
    """
    squares, degrees, runs = 0.0, 0, 0
    for side in sides:
        if len(side) >= _FEWEST_WITH_A_SPIKE:
            others = _without_farthest(side)
            middle = math.fsum(others) / len(others)
            squares += math.fsum((value - middle) ** 2 for value in others)
            degrees += len(others) - 1
            runs += len(side)
    if not degrees or squares == 0.0:  # equal values say nothing of how far is far
        return math.inf
    return float(special.stdtrit(degrees, 1.0 - _SPIKE_CHANCE / runs)) * math.sqrt(squares / degrees)


def _without_farthest(values: list[float]) -> list[float]:
    """All but the value that lies farthest from the others."""
    ordered = sorted(values)
    total, count = math.fsum(ordered), len(ordered)
    lowest = (total - ordered[0]) / (count - 1) - ordered[0]
    highest = ordered[-1] - (total - ordered[-1]) / (count - 1)
    return ordered[1:] if lowest > highest else ordered[:-1]


def _held(values: list[float], room: float, scale: Scale) -> list[float]:
    """The values, of which one that lies far from the others counts as if it lay *room* from them."""
    if len(values) < _FEWEST_WITH_A_SPIKE or room == math.inf:
        return values
    others = _without_farthest(_on(scale, values))
    middle = math.fsum(others) / len(others)
    low, high = middle - room, middle + room
    if scale is Scale.RATIO:
        low, high = math.exp(low), math.exp(min(high, _LARGEST_LOGARITHM))
    return [min(max(value, low), high) for value in values]


def parts(sides: tuple[Side, Side], spread: Spread | None) -> list[Part]:
    """What the squared error of the difference of both means is made of.

    Each side's variance is its own, moderated by what is lent; a side that was run once has the other side's and what
    is lent.
    """
    single = any(side.runs == 1 for side in sides)
    lent = 0.0 if spread is None else min(float(spread.degrees), _BORROWED_ALONE if single else _BORROWED_DEGREES)
    own = [side.runs - 1.0 for side in sides]
    # What one degree of freedom of each side, and of what is lent, contributes.
    weights = [
        1.0 / side.runs / ((sum(own) if single else degrees) + lent) for side, degrees in zip(sides, own, strict=True)
    ]
    shares = [sum(weights)] * 2 if single else weights
    found = [Part(side.variance, d, d * share) for side, d, share in zip(sides, own, shares, strict=True)]
    if spread is not None:
        found.append(Part(spread.deviation * spread.deviation, lent, lent * sum(weights)))
    return found


def error_of(found: list[Part]) -> tuple[float, float]:
    """Standard error, and its degrees of freedom (Satterthwaite 1946, Biometrics Bulletin 2(6), 110–114)."""
    terms = [(part.share * part.variance, part.degrees) for part in found if part.degrees and part.variance]
    squared = math.fsum(term for term, _ in terms)
    if squared == 0.0:
        return 0.0, math.inf
    return math.sqrt(squared), 1.0 / math.fsum((term / squared) ** 2 / degrees for term, degrees in terms)
