"""How far two sides are apart, and how sure that is, from the means of their blocks.

Pure mathematics on arrays; of several series each result has an axis for these.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from . import special
from .intervals import CONFIDENCE
from .noise import Flags, Floats, lent

OLD, NEW = 0, 1  # the sides
POWER = 0.8
# A block that lies farther from the others of its side than chance alone has it once in so many is held back.
_FEWEST_WITH_A_SPIKE = 4
# Of sides with unequal numbers of blocks, the variance of the side with fewer is drawn towards the other's as if that
# had so many degrees; and a skew beyond so much makes its mean lie farther off, by so much.
_LENT_DEGREES = 4.0
_SKEW_ROOM, _PER_SKEW = 0.3, 0.3
_SPIKE_CHANCE = 0.002


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


class Told(msgspec.Struct, frozen=True):
    """The chance of differences, floats or arrays of one shape."""

    p_value: Floats  # two-sided
    reach: Floats  # half the width of the 95 % interval of the difference
    seen: Floats  # how large a difference would have been seen in four of five cases


def weigh_shared(differences: Floats) -> Weighed:
    """Of the *differences* within blocks that both sides share, at least two along the last axis."""
    held = without_spikes(differences)
    blocks = held.shape[-1]
    size = np.full(held.shape[:-1], 1.0 / blocks)
    degrees = np.full(held.shape[:-1], blocks - 1.0)
    return Weighed(held.mean(axis=-1), held.var(axis=-1, ddof=1), degrees, size)


def weigh_apart(old: Floats, new: Floats) -> Weighed:
    """Of the blocks of two sides, three together at least, along the last axes; both sides spread alike.

    Nothing cancels where one side has fewer blocks: their skew, and that they spread more, both widen its error.
    """
    sides = sides_without_spikes(old, new)
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


def without_spikes(differences: Floats) -> Floats:
    """Those within blocks that both sides share, without spikes; to their middle each of the sides may have spiked."""
    return hold_spikes(differences, 2.0 * np.abs(_but_for_farthest(differences).middle[..., 0]))


def sides_without_spikes(old: Floats, new: Floats) -> tuple[Floats, Floats]:
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


def at_least(weighed: Weighed, variance: Floats) -> Weighed:
    return msgspec.structs.replace(weighed, variance=np.maximum(weighed.variance, variance))


def each_of(weighed: Weighed) -> Iterator[Weighed]:
    """What was computed of several series as that of each."""
    columns = (getattr(weighed, name) for name in Weighed.__struct_fields__)
    return itertools.starmap(Weighed, zip(*np.broadcast_arrays(*columns), strict=True))


def tell_each(found: Sequence[Weighed]) -> list[Told]:
    """The chance of the difference of each of several series."""
    told = tell(together_of(found))
    return [Told(*each) for each in zip(told.p_value, told.reach, told.seen, strict=True)]


def together_of(found: Sequence[Weighed]) -> Weighed:
    """What was computed of each of several series as one."""
    return Weighed(*(np.array([getattr(one, name) for one in found]) for name in Weighed.__struct_fields__))


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
