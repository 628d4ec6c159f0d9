"""How strongly the last points of a series speak for a new level, and how strong is enough: elementwise formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from .. import special

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Numbers = float | Floats

# How far the evidence has to go, in standard deviations of a normal distribution, by the number of points on the new
# level; straight lines over the logarithm between them. `benchmarks/detector_thresholds.py` measures what they give: a
# false alarm in about 1 % of series of 100 points.
_LAGS = np.array([1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 18.0, 40.0, 160.0])
_LOG_LAGS = np.log(_LAGS)
_THRESHOLDS = np.array([3.8, 4.6, 3.78, 3.83, 3.67, 3.58, 3.95, 4.2, 4.25])
MORE_OF_TWO = float(_THRESHOLDS[0] - _THRESHOLDS[1])
"""By how much the threshold of one point differs from that of two, which may be two glitches."""
# What is added to that by the number of points on both levels. A level is asked about again with each new point, so the
# longer it lasts, the more a change has to show: such that the chance of ever being wrong grows no faster than the
# logarithm of the length. In a short history Student's ratio with the correlation that is assumed there allows for more
# than even a correlation of 0.6 does.
_LENGTHS = np.array([10.0, 13.0, 16.0, 19.0, 23.0, 28.0, 38.0, 45.0])
_BY_LENGTH = np.array([-1.1, -0.65, -0.3, 0.0, 0.33, 0.42, 0.22, 0.03])
_GROWTH = 0.5
# A correlation between successive points is assumed as long as the history is too short to know better; the new points,
# whose level is in doubt, say less of it than the old ones.
_ASSUMED_CORRELATION = 0.6
_KNOWN_AFTER = 40.0
_LEAST = 8.0
_KNOWN_FROM_NEW = 0.15
_MAX_CORRELATION = 0.9
_COINCIDENCE = 2e-4  # the rate at which single points lie far off bounds how many of them in a row are a coincidence
_FEWEST_FOR_A_RATE = 28.0  # a short history knows no better than that about one point in fifty does
# Two points that lie further off than this, in standard deviations, are as likely two glitches: a third is asked for.
_GLITCH = 6.5
_PRIOR_OF_THE_NEW = 8.0
FEWEST_DEGREES = 3.0
"""With fewer, as a large correlation of few points leaves, no change at all could be an alarm, however large."""
CERTAIN = 99.0


class Prior(msgspec.Struct, frozen=True):
    """What is known of the noise before a level begins, from the levels before it, or from repeats."""

    degrees: Numbers = 0.0  # points that this knowledge is worth; 0 for none
    deviation: Numbers = 0.0  # of a point, in the values' unit
    correlation: Numbers = 0.0  # between successive points


class Split(msgspec.Struct, frozen=True):
    """Candidates, or one: so many points on the old level, then so many on what may be a new one."""

    before: Floats
    after: Floats
    shift: Floats  # new level − old level, in the values' unit
    squares_before: Floats  # sums of squared deviations from each level
    squares_after: Floats
    products: Floats  # sum of the products of successive deviations, both sides together
    tail: Floats  # by how much the old level's outliers and skew towards the shift exceed normal noise's; at least 1
    outliers: Floats  # points of the old level that lie far off
    far: Floats  # blocks of the new level that lie far off the old one, in the direction of the shift
    others: Floats  # how far the other points of the new level lie off together, in standard errors of their mean
    precision: Floats  # variance of a point of the new level, relative to one of the old (repeats lower it)
    blocks: Floats  # behind the points of the new level, counted point by point
    runs: Floats  # behind them


class Weight(msgspec.Struct, frozen=True):
    score: Floats  # in standard deviations of a normal distribution
    deviation: Floats  # of a point, in the values' unit
    error: Floats  # standard error of the shift, likewise
    correlation: Floats  # between successive points
    degrees: Floats  # of freedom


N = TypeVar("N", bound=msgspec.Struct)


def only(numbers: N, which: int | slice | Integers | tuple[Integers | int, int]) -> N:
    """Those of some of the splits, or of the one."""
    fields = (getattr(numbers, name) for name in numbers.__struct_fields__)
    return type(numbers)(*[one[which] if isinstance(one, np.ndarray) else only(one, which) for one in fields])


def behind(parts: Sequence[N], rows: int = 1) -> N:
    """The numbers of several parts one behind the other; of each part those of so many *rows*, row by row."""
    if len(parts) == 1:
        return parts[0]
    made = []
    for name in parts[0].__struct_fields__:
        each = [getattr(part, name) for part in parts]
        if not isinstance(each[0], np.ndarray):
            made.append(behind(each, rows))
        elif rows == 1:
            made.append(np.concatenate(each))
        else:
            made.append(np.hstack([one.reshape(rows, -1) for one in each]).ravel())
    return type(parts[0])(*made)


def variance_of_mean(count: Floats, correlation: Floats) -> Floats:
    """Variance of the mean of *count* points of variance 1, of which successive ones are correlated (AR(1))."""
    rest = 1.0 - correlation
    ends = 2.0 * correlation * (1.0 - correlation**count) / (count * rest**2)
    return ((1.0 + correlation) / rest - ends) / count


def normal_score(ratio: Floats, degrees: Floats) -> Floats:
    """The standard normal deviate as improbable as Student's t = *ratio* ≥ 0 (Wallace 1959, Ann. Math. Stat. 30)."""
    root: Floats = np.sqrt(degrees * np.log1p(ratio * ratio / degrees))
    return root * (8.0 * degrees + 1.0) / (8.0 * degrees + 3.0)


def ratio_of(score: Floats, degrees: Floats) -> Floats:
    """Student's t that is as improbable as *score* standard deviations: what :func:`normal_score` undoes."""
    root = score * (8.0 * degrees + 3.0) / (8.0 * degrees + 1.0)
    ratio: Floats = np.sqrt(degrees * np.expm1(np.minimum(root * root / degrees, 700.0)))
    return ratio


def threshold(after: Floats, length: Numbers) -> Floats:
    """The score that raises an alarm: *after* points on the new level, *length* points on both together."""
    base = np.interp(np.log(after), _LOG_LAGS, _THRESHOLDS)
    growing = _GROWTH * np.maximum(np.log(length / _LENGTHS[-1]), 0.0)
    score: Floats = base + np.interp(length, _LENGTHS, _BY_LENGTH) + growing
    return score


def weigh(split: Split, prior: Prior) -> Weight:
    """Student's ratio of the shift as a normal score, with the spread pooled from both sides; correlation widens it."""
    correlation = _correlation(split, prior)
    of_new = variance_of_mean(split.after, correlation)
    of_old = variance_of_mean(split.before, correlation)
    shared = _covariance(split, correlation)
    known = prior.degrees * prior.deviation**2
    points_before = split.before * (1.0 - of_old) + prior.degrees
    points_after = split.after * (1.0 - of_new)
    squares_after = 1.05 * split.squares_after
    pooled = (split.squares_before + squares_after + known) / (points_before + points_after)
    # A new level that is more restless than the old one is known less well than the pooled spread says.
    before = (split.squares_before + known) / points_before
    new = np.maximum(pooled, (_PRIOR_OF_THE_NEW * before + squares_after) / (_PRIOR_OF_THE_NEW + points_after))
    variance = new * of_new * split.precision + pooled * np.maximum(of_old - 2.0 * shared, 0.0)
    degrees = (split.before + split.after - 2.0) * (1.0 - correlation**2) / (1.0 + correlation**2) + prior.degrees
    ratio = np.abs(split.shift) / np.sqrt(np.where(variance > 0.0, variance, 1.0))
    score = normal_score(ratio / split.tail, np.maximum(degrees, FEWEST_DEGREES))
    # Where nothing spreads, any shift at all is certain.
    score = np.where(variance > 0.0, score, np.where(split.shift != 0.0, CERTAIN, 0.0))
    return Weight(score, np.sqrt(pooled), np.sqrt(variance), correlation, degrees)


def confirmed(split: Split, weight: Weight, prior: Prior) -> Flags:
    """Whether so many far points on the new level, at the old one's rate of outliers, are no coincidence."""
    rate = (split.outliers + 0.5) / np.maximum(split.before + prior.degrees + 1.0, _FEWEST_FOR_A_RATE)
    ways = special.gammaln(split.blocks + 1.0) - special.gammaln(split.far + 1.0)
    ways = ways - special.gammaln(split.blocks - split.far + 1.0)
    chance = ways + split.far * np.log(rate) + special.log_ndtr(-split.others)
    glitch = (split.runs < 3.0) & (np.abs(split.shift) > _GLITCH * weight.deviation)
    enough: Flags = ((split.far == 0.0) | (chance < math.log(_COINCIDENCE))) & ~glitch
    return enough


def _correlation(split: Split, prior: Prior) -> Floats:
    """Lag-1 correlation, corrected for its bias (Marriott and Pope 1954) and, where it seems positive, rounded up."""
    points = split.before + split.after
    squares = split.squares_before + split.squares_after
    raw = split.products / np.where(squares > 0.0, squares, 1.0)
    seen = (points * raw + 2.0) / np.maximum(points - 6.0, _LEAST)  # of fewer it would be all correction
    known = points + prior.degrees
    seen = (points * seen + prior.degrees * prior.correlation) / known
    error = 1.0 / np.sqrt(known)
    cautious = seen + np.minimum(seen - 0.4 * error, error)
    unknown = (_KNOWN_AFTER - split.before - _KNOWN_FROM_NEW * split.after - prior.degrees) / (_KNOWN_AFTER - _LEAST)
    assumed = _ASSUMED_CORRELATION * np.minimum(np.maximum(unknown, 0.0), 1.0)
    return np.minimum(np.maximum(cautious, assumed), _MAX_CORRELATION)


def _covariance(split: Split, correlation: Floats) -> Floats:
    """Covariance of the two means, of points of variance 1: their near ends are neighbours."""
    ends = (1.0 - correlation**split.before) * (1.0 - correlation**split.after)
    return correlation * ends / (split.before * split.after * (1.0 - correlation) ** 2)


RATE = 0.05


def q_values(p_values: Sequence[float | None]) -> list[float | None]:
    """The smallest false discovery rate at which each of the series is still among the discoveries.

    Benjamini and Hochberg 1995 (J. R. Statist. Soc. B 57(1), 289–300), which holds for independent series and for those
    that rise and fall together. A series without a p-value (None, NaN) has no q-value and doesn't count.
    """
    known = sorted(
        (value, place) for place, value in enumerate(p_values) if value is not None and not math.isnan(value)
    )
    result: list[float | None] = [None] * len(p_values)
    smallest = math.inf
    for rank in range(len(known), 0, -1):
        value, place = known[rank - 1]
        smallest = min(smallest, value * len(known) / rank)
        result[place] = smallest
    return result


def discoveries(p_values: Sequence[float | None], rate: float = RATE) -> list[bool]:
    """Which of the series changed, such that on average at most *rate* of those that are named didn't."""
    return [value is not None and value <= rate for value in q_values(p_values)]
