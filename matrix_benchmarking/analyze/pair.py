"""A against B: how far they differ, and whether that is more than chance, from the blocks in which they were measured.

Pure mathematics. Positive values are compared by their logarithms, so that differences are ratios, others as they are.
The unit of evidence is a block: a round in which both sides were measured, else a campaign.
"""

from __future__ import annotations

import enum
import itertools
import math
import sys
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from . import special
from .intervals import CONFIDENCE, MAD, Scale, scale_of, step_of
from .noise import MAY_BE_POOLED, Flags, Floats, Integers, correlation_of, lent

# The sides of runs; from OTHER on, each number is another side, which tells how sides and campaigns differ anyway.
OLD, NEW, OTHER = 0, 1, 2
NO_ROUND = -1
SIGNIFICANT = 0.05
POWER = 0.8
FEWEST_STEPS = 6  # between campaigns, from which on what these differ by can be told
# How many degrees of freedom a step between campaigns is worth: the median of steps that share campaigns says less than
# as many independent values do.
_WORTH_OF_A_STEP = 0.5
# A block that lies farther from the others of its side than chance alone has it once in so many is held back.
_FEWEST_WITH_A_SPIKE = 4
# Of sides with unequal numbers of blocks, the variance of the side with fewer is drawn towards the other's as if that
# had so many degrees; and a skew beyond so much makes its mean lie farther off, by so much.
_LENT_DEGREES = 4.0
_SKEW_ROOM, _PER_SKEW = 0.3, 0.3
_SPIKE_CHANCE = 0.002
LARGEST_LOGARITHM = 700.0
_LEAST_STEP = 1e-15  # of the largest value, where that is below 1


class Ground(enum.Enum):
    ROUNDS = "rounds that both sides share"
    SHARED = "campaigns that both sides share"
    CAMPAIGNS = "campaigns of each side"
    HISTORY = "how campaigns differ anyway"
    NONE = "nothing"


class Runs(msgspec.Struct, frozen=True):
    """The runs of one series, one entry a run in each array; those without a value are left out."""

    scale: Scale  # on which *values* are compared
    unit: float  # what a value of 1 is in the KPI's unit, where values aren't logarithms
    values: Floats  # on that scale
    sides: Integers  # OLD, NEW, or OTHER and more
    campaigns: Integers  # numbers, older ones first
    rounds: Integers  # numbers, unique over campaigns; NO_ROUND where a run belongs to none
    step: float  # to which the values are rounded, on that scale: no spread is known to be smaller

    def as_differences(self) -> Runs:
        if self.scale is Scale.DIFFERENCE:
            return self
        values = np.exp(np.minimum(self.values, LARGEST_LOGARITHM))
        return msgspec.structs.replace(
            self, scale=Scale.DIFFERENCE, values=values, step=self.step * float(values.min())
        )

    def back(self, value: float) -> float:
        return math.exp(min(value, LARGEST_LOGARITHM)) if self.scale is Scale.RATIO else value * self.unit


class Weighed(msgspec.Struct, frozen=True):
    """How far apart two sides are, and what their blocks say of the chance of it; floats, or arrays of one shape."""

    difference: Floats  # new − old, on the scale that is compared
    variance: Floats  # of one block, in squared units; not known where there are no degrees
    degrees: Floats  # of freedom behind it
    size: Floats  # squared standard error of the difference / variance of one block
    few: Floats | float = 0.0  # degrees of freedom of the side with fewer blocks; 0 where both have as many
    squares: Floats | float = 0.0  # of that side's blocks about their mean
    other: Floats | float = 0.0  # variance of the other side's blocks
    share: Floats | float = 0.0  # of the size, what the side with fewer has in it while it spreads like the other


class Evidence(msgspec.Struct, frozen=True):
    ground: Ground
    weighed: Weighed  # of `Ground.NONE` without degrees
    old: float  # middle of the old side, on the scale that is compared, a block that is far from the others held back
    blocks: tuple[int, int]  # how many each side has; the same ones where they share them
    deviations: Mapping[tuple[int, int], float]  # how far each block lies from the middle, by side and number
    others: tuple[tuple[float, float], ...] = ()  # variance and degrees of other sides' differences in the same rounds
    held: int = 0  # how many blocks count as if they lay nearer to the others

    @property
    def is_confirmed(self) -> bool:
        """Whether more than one block speaks on each side."""
        return self.ground is not Ground.HISTORY and min(self.blocks) > 1


class Told(msgspec.Struct, frozen=True):
    """The chance of differences, floats or arrays of one shape."""

    p_value: Floats  # two-sided
    reach: Floats  # half the width of the 95 % interval of the difference
    seen: Floats  # how large a difference would have been seen in four of five cases


def weigh_shared(differences: Floats) -> Weighed:
    """Of the *differences* within blocks that both sides share, at least two along the last axis."""
    held = _held(differences)
    blocks = held.shape[-1]
    size = np.full(held.shape[:-1], 1.0 / blocks)
    degrees = np.full(held.shape[:-1], blocks - 1.0)
    return Weighed(held.mean(axis=-1), held.var(axis=-1, ddof=1), degrees, size)


def weigh_apart(old: Floats, new: Floats) -> Weighed:
    """Of the blocks of two sides, three together at least, along the last axes; both sides spread alike.

    Nothing cancels where one side has fewer blocks: their skew, and that they spread more, both widen its error.
    """
    sides = _sides_held(old, new)
    counts = [side.shape[-1] for side in sides]
    shape = old.shape[:-1]
    squares = sum(side.var(axis=-1) * count for side, count in zip(sides, counts, strict=True))
    degrees = sum(counts) - 2.0
    difference = sides[NEW].mean(axis=-1) - sides[OLD].mean(axis=-1)
    size = np.full(shape, sum(1.0 / count for count in counts))
    weighed = Weighed(difference, np.asarray(squares / degrees), np.full(shape, degrees), size)
    if counts[OLD] == counts[NEW]:
        return weighed
    few, many = (OLD, NEW) if counts[OLD] < counts[NEW] else (NEW, OLD)
    side = np.sign(difference) * (1.0 if few == NEW else -1.0)
    return _with_fewer(weighed, sides[few], sides[many], side)


def _with_fewer(weighed: Weighed, few: Floats, many: Floats, side: Floats) -> Weighed:
    """*weighed*, to whose size *few* blocks on this *side* of the others add their spread, and the skew of *many*."""
    count, off = few.shape[-1], many - many.mean(axis=-1, keepdims=True)
    variance = (off * off).mean(axis=-1)
    skew = side * (off**3).mean(axis=-1) / np.where(variance > 0.0, variance, np.inf) ** 1.5
    tail = 1.0 + _PER_SKEW * np.maximum(skew - _SKEW_ROOM, 0.0) * (1.0 - count / many.shape[-1])
    degrees, squares, other = np.full(variance.shape, count - 1.0), few.var(axis=-1) * count, many.var(axis=-1, ddof=1)
    share = np.asarray(tail * tail / count)
    size = weighed.size - 1.0 / count + share * _restless(squares, degrees, other)
    return msgspec.structs.replace(weighed, size=size, few=degrees, squares=squares, other=other, share=share)


def _restless(squares: Floats, degrees: Floats, other: Floats, expected: Floats | float = 1.0) -> Floats:
    """How many times the *other* variance a side with *squares* is taken to have, at least once; *expected* so many."""
    ratio = np.where(other > 0.0, squares / np.where(other > 0.0, other, 1.0), 0.0)
    return np.asarray(np.maximum((ratio + _LENT_DEGREES * expected) / (degrees + _LENT_DEGREES), 1.0))


def lend_to(weighed: Weighed, correlation: Floats, more: tuple[Floats, Floats] | None = None) -> Weighed:
    """Several series of one KPI, along the last axis, with what they lend each other of their spread.

    So do the sides with fewer blocks of how much more they spread than the others.

    Args:
        correlation: between the noise of two series, without the last axis.
        more: variances and degrees of other series, which lend and don't borrow.
    """
    count = weighed.variance.shape[-1]
    variance, degrees = weighed.variance, weighed.degrees
    if more is not None:
        variance, degrees = (np.concatenate(each, axis=-1) for each in zip((variance, degrees), more, strict=True))
    variance, degrees = (each[..., :count] for each in lent(variance, degrees, correlation))
    few, squares, other, share = (
        np.zeros(variance.shape) + each for each in (weighed.few, weighed.squares, weighed.other, weighed.share)
    )
    unit = np.where(variance > 0.0, variance, np.inf)
    spread, expected, freedom = (
        each.sum(axis=-1, keepdims=True) - each for each in (squares / unit, few * other / unit, few)
    )
    known = freedom / (1.0 + (count - 1.0) * np.clip(correlation, 0.0, 1.0)[..., None] ** 2)
    of_others = _restless(known * spread, known, expected)
    size = weighed.size + share * (_restless(squares, few, other, of_others) - _restless(squares, few, other))
    return msgspec.structs.replace(weighed, variance=variance, degrees=degrees, size=size)


def _held(differences: Floats) -> Floats:
    """Those within blocks that both sides share, without spikes; to their middle each of the sides may have spiked."""
    return hold_spikes(differences, 2.0 * np.abs(_but_for_farthest(differences).middle[..., 0]))


def _sides_held(old: Floats, new: Floats) -> tuple[Floats, Floats]:
    before, after = (_but_for_farthest(side).middle[..., 0] for side in (old, new))
    between = np.abs(after - before)
    return hold_spikes(old, between), hold_spikes(new, between)


def hold_spikes(values: Floats, between: Floats | float = 0.0) -> Floats:
    """The blocks along the last axis, of which one that lies far from all others counts as if it lay nearer.

    As far as Student's quantile of the others' spread has it; four are needed to tell, and equal ones don't. One that
    is off by no more than what is *between* both sides stays as it is: by chance it may be so with all of a side.
    """
    rest = _but_for_farthest(values)
    is_spike = rest.is_left_out & (np.abs(values - rest.middle) > np.expand_dims(between, -1) + rest.room)
    return np.asarray(np.where(is_spike, np.clip(values, rest.middle - rest.room, rest.middle + rest.room), values))


class _Rest(msgspec.Struct, frozen=True):
    middle: Floats  # of the blocks but for the farthest, with a last axis of one
    room: Floats  # how far from it one may lie, likewise; infinite where that can't be told
    is_left_out: Flags  # a block that lies farther off than all others


def _but_for_farthest(values: Floats) -> _Rest:
    count = values.shape[-1]
    if count < _FEWEST_WITH_A_SPIKE:
        middle = values.mean(axis=-1, keepdims=True)
        return _Rest(middle, np.full(middle.shape, np.inf), np.zeros(values.shape, dtype=bool))
    rest = (values.sum(axis=-1, keepdims=True) - values) / (count - 1)
    farthest = np.abs(values - rest).argmax(axis=-1)[..., None]
    is_left_out = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(is_left_out, farthest, True, axis=-1)
    middle = np.take_along_axis(rest, farthest, axis=-1)
    squares = np.where(is_left_out, 0.0, (values - middle) ** 2).sum(axis=-1, keepdims=True) / (count - 2)
    quantile = float(special.stdtrit(count - 2, 1.0 - _SPIKE_CHANCE / count))
    return _Rest(middle, np.where(squares > 0.0, quantile * np.sqrt(squares), np.inf), is_left_out)


def runs_of(values: Sequence[float], sides: Integers, campaigns: Integers, rounds: Integers) -> Runs:
    """The runs of one series, from their finite *values* in the KPI's unit; some of both sides are among them.

    Others count only where they can be compared on the scale of both sides.
    """
    known = np.array(values, dtype=np.float64)
    compared = known[sides < OTHER]
    step = step_of(values)
    step = max(step, _LEAST_STEP * min(1.0, float(np.abs(known).max()))) if step else step
    if scale_of(compared) is Scale.DIFFERENCE:
        exponent = math.frexp(float(np.abs(compared).max()))[1]
        unit = math.ldexp(1.0, min(exponent, sys.float_info.max_exp - 1))
        return Runs(Scale.DIFFERENCE, unit, known / unit, sides, campaigns, rounds, step / unit)
    kept = known > 0.0
    logarithms = np.log(known[kept])
    return Runs(
        Scale.RATIO,
        1.0,
        logarithms,
        sides[kept],
        campaigns[kept],
        rounds[kept],
        (step / 2.0) / float(np.median(compared / 2.0)),
    )


def evidence(runs: Runs, *, are_rounds_alike: bool = False) -> Evidence:
    """What the runs of one series say by themselves: by rounds, else by campaigns, else by how campaigns differ.

    By rounds not where they are alike within their campaigns.
    """
    old, new, least = runs.sides == OLD, runs.sides == NEW, runs.step * runs.step / 12.0
    rounds = np.full_like(runs.rounds, NO_ROUND) if are_rounds_alike else runs.rounds
    for ground, numbers in ((Ground.ROUNDS, rounds), (Ground.SHARED, runs.campaigns)):
        shared = np.intersect1d(numbers[old], numbers[new])
        shared = shared[shared != NO_ROUND]
        if len(shared) > 1:
            before, after = (_means(runs.values[side], numbers[side], shared) for side in (old, new))
            weighed = _at_least(weigh_shared(after - before), 2.0 * least)
            deviations = dict(
                zip([(NEW, int(one)) for one in shared], after - before - weighed.difference, strict=True)
            )
            far = _held(after - before) != after - before
            middle = float(np.where(far, hold_spikes(before), before).mean())
            others = tuple(_other_sides(runs, shared, 2.0 * least)) if ground is Ground.ROUNDS else ()
            return Evidence(ground, weighed, middle, (len(shared), len(shared)), deviations, others, int(far.sum()))
    return _by_campaigns(runs, least)


def evidence_of(series: Sequence[Runs]) -> list[Evidence]:
    """What each of several *series* of one KPI says by itself.

    Where differences within rounds are alike within campaigns, and not between them, campaigns are the evidence: what a
    side has for itself in each, such as where its server's memory lies, no round tells.
    """
    found = [evidence(one) for one in series]
    if not _are_alike_in_campaigns(series, found):
        return found
    return [evidence(one, are_rounds_alike=True) for one in series]


def _are_alike_in_campaigns(series: Sequence[Runs], found: Sequence[Evidence]) -> bool:
    """Whether the differences of rounds vary more between campaigns than within, by an analysis of variance over all.

    At a level at which it may be pooled (Bancroft 1964, Biometrics 20(3), 427–442); series that move together count as
    one.
    """
    parts = np.zeros(4)  # sums of squares between campaigns and within, as shares of all, and their degrees of freedom
    deviations, told = [], 0
    for runs, one in zip(series, found, strict=True):
        off = np.array(list(one.deviations.values()))
        if one.ground is not Ground.ROUNDS or not off.any():
            continue
        of_round = dict(zip(runs.rounds.tolist(), runs.campaigns.tolist(), strict=True))
        _, at, counts = np.unique(
            [of_round[number] for _, number in one.deviations], return_inverse=True, return_counts=True
        )
        between, everything = float((np.bincount(at, off) ** 2 / counts).sum()), float(off @ off)
        freedom = len(counts) - 1.0, float(len(off) - len(counts))
        if min(freedom) > 0.0:
            parts += between / everything, 1.0 - between / everything, *freedom
            told += 1
            deviations.append(one.deviations)
    if not told:
        return False
    again = np.clip(correlation_of(_beside(deviations)), 0.0, 1.0) ** 2
    worth = 1.0 / (1.0 + (told - 1.0) * again)
    ratio = (parts[0] / parts[2]) / max(parts[1] / parts[3], 1e-12)
    return bool(special.fdtrc(parts[2] * worth, parts[3] * worth, ratio) < MAY_BE_POOLED)


def _beside(found: Sequence[Mapping[tuple[int, int], float]]) -> Floats:
    """Deviations of several series: a row each, a column a block, NaN where it has none."""
    columns = {key: column for column, key in enumerate(dict.fromkeys(itertools.chain(*found)))}
    table = np.full((len(found), len(columns)), np.nan)
    for row, one in enumerate(found):
        table[row, [columns[key] for key in one]] = list(one.values())
    return table


def _other_sides(runs: Runs, rounds: Integers, least: float) -> Iterator[tuple[float, float]]:
    """What other sides, two by two, differ by within these *rounds*: variance and degrees of freedom."""
    there = np.isin(runs.rounds, rounds)
    others = np.unique(runs.sides[there & (runs.sides >= OTHER)])
    for one, other in zip(others[::2], others[1::2], strict=False):
        chosen = [there & (runs.sides == side) for side in (one, other)]
        shared = np.intersect1d(*(runs.rounds[each] for each in chosen))
        if len(shared) > 1:
            first, second = (_means(runs.values[each], runs.rounds[each], shared) for each in chosen)
            weighed = weigh_shared(second - first)
            yield max(float(weighed.variance), least), float(weighed.degrees)


def _by_campaigns(runs: Runs, least: float) -> Evidence:
    """The evidence on sides without two common blocks; *least* is the smallest variance that can be known."""
    sides = np.minimum(runs.sides, OTHER)
    numbers = {side: np.unique(runs.campaigns[sides == side]) for side in (OLD, NEW, OTHER)}
    means = {
        side: _means(runs.values[sides == side], runs.campaigns[sides == side], each) for side, each in numbers.items()
    }
    counts = len(means[OLD]), len(means[NEW])
    middle = float(means[OLD].mean())
    if sum(counts) > 2:
        held = _sides_held(means[OLD], means[NEW])
        middle, far = float(held[OLD].mean()), [held[side] != means[side] for side in (OLD, NEW)]
        weighed = _at_least(weigh_apart(means[OLD], means[NEW]), least)
        deviations = {
            (side, int(number)): float(mean - means[side].mean())
            for side in (OLD, NEW)
            for number, mean in zip(numbers[side], means[side], strict=True)
        }
        return Evidence(Ground.CAMPAIGNS, weighed, middle, counts, deviations, held=int(np.concatenate(far).sum()))
    known = between_campaigns(np.diff(means[OTHER]))
    variance, degrees = (math.nan, 0.0) if known is None else known
    difference = float(means[NEW].mean()) - middle
    if known is not None:
        returns = _returns(means[OTHER])
        if variance <= least:  # most have the same mean, such as where values are bounds of a histogram
            variance = max(_of_runs(runs), float(returns.mean()))
        variance = max(variance, _as_seldom(returns, difference, degrees))
    weighed = _at_least(Weighed(*(np.array(one) for one in (difference, variance, degrees, 2.0))), least)
    return Evidence(Ground.NONE if known is None else Ground.HISTORY, weighed, middle, counts, {})


def _means(values: Floats, numbers: Integers, wanted: Integers) -> Floats:
    return np.array([values[numbers == one].mean() for one in wanted])


def between_campaigns(steps: Floats) -> tuple[float, float] | None:
    """The variance of one campaign, and the degrees behind it, from the *steps* from each campaign to the next.

    By their median, so that a change among them doesn't count; None where there are too few.
    """
    if len(steps) < FEWEST_STEPS:
        return None
    deviation = MAD * float(np.median(np.abs(steps))) / math.sqrt(2.0)
    return deviation * deviation, _WORTH_OF_A_STEP * len(steps)


def _as_seldom(returns: Floats, difference: float, degrees: float) -> float:
    """The variance with which a *difference* is as seldom as *returns* that are as large; 0 where there were none."""
    chance = np.count_nonzero(returns >= difference * difference) / len(returns)
    return float((difference / special.stdtrit(degrees, 1.0 - chance / 2.0)) ** 2 / 2.0) if 0.0 < chance < 1.0 else 0.0


def _of_runs(runs: Runs) -> float:
    """The variance of one campaign of each side by what the runs of all scatter."""
    _, of_run, counts = np.unique(runs.campaigns, return_inverse=True, return_counts=True)
    off = runs.values - (np.bincount(of_run, runs.values) / counts)[of_run]
    repeated = len(off) - len(counts)
    of_sides = sum(1.0 / np.count_nonzero(runs.sides == side) for side in (OLD, NEW)) / 2.0
    return float(off @ off) / repeated * of_sides if repeated else 0.0


def _returns(campaigns: Floats) -> Floats:
    """The squares of how far each campaign is from the middle of it and both beside it.

    A change stays, and makes none: what is large is of a campaign after which all is as before.
    """
    three = np.lib.stride_tricks.sliding_window_view(campaigns, 3)
    return np.asarray((three[:, 1] - np.median(three, axis=1)) ** 2)


def _at_least(weighed: Weighed, variance: float) -> Weighed:
    return msgspec.structs.replace(weighed, variance=np.maximum(weighed.variance, variance))


def lend(found: Sequence[Evidence]) -> list[Evidence]:
    """The evidence on several series of one KPI, whose blocks lend each other what they know of their spread.

    What the history says of campaigns is not lent: the moods of a machine are the same for all series.
    """
    result = list(found)
    for ground in (Ground.ROUNDS, Ground.SHARED, Ground.CAMPAIGNS):
        places = [place for place, one in enumerate(found) if one.ground is ground]
        if not places:
            continue
        some = [found[place] for place in places]
        deviations = _beside([one.deviations for one in some])
        names = Weighed.__struct_fields__
        together = Weighed(*(np.array([getattr(one.weighed, name) for one in some]) for name in names))
        more = np.array([each for one in some for each in one.others]).reshape(-1, 2).T
        together = lend_to(together, correlation_of(deviations), (more[0], more[1]))
        for row, place in enumerate(places):
            weighed = Weighed(*(getattr(together, name)[row] for name in names))
            result[place] = msgspec.structs.replace(found[place], weighed=weighed)
    return result


def tell(weighed: Weighed) -> Told:
    """The chance of the differences; all must have degrees. Equal blocks say that their difference is certain."""
    error = np.sqrt(weighed.variance * weighed.size)
    distance = np.abs(weighed.difference)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(error > 0.0, distance / error, np.where(distance > 0.0, np.inf, 0.0))
    p_value = 2.0 * special.stdtr(weighed.degrees, -ratio)
    quantile = special.stdtrit(weighed.degrees, 0.5 + CONFIDENCE / 2.0)
    return Told(p_value, quantile * error, _seen(quantile, weighed.degrees) * error)


def _seen(quantile: Floats, degrees: Floats) -> Floats:
    """How many standard errors, as one measurement has them, another like it would show in four of five cases.

    Both estimate the error, with these *degrees*, and are off: a difference of Z + c S₁ − t S₂ > 0 is asked for, where
    Z is normal, S² is χ² by its degrees, and their sum is taken for normal, too. The larger root of a square is c.
    """
    mean = np.sqrt(2.0 / degrees) * np.exp(special.gammaln((degrees + 1.0) / 2.0) - special.gammaln(degrees / 2.0))
    power = special.ndtri(POWER) / mean
    rest = 1.0 - power**2 * np.maximum(1.0 - mean**2, 0.0)
    return np.asarray((quantile + np.sqrt(quantile**2 - rest * (quantile**2 * rest - power**2))) / rest)
