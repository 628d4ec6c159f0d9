"""A against B: how far they differ, and whether that is more than chance, from the blocks in which they were measured.

Pure mathematics. Positive values are compared by their logarithms, so that differences are ratios, others as they are.
The unit of evidence is a block: a round in which both sides were measured, else a campaign.
"""

from __future__ import annotations

import enum
import itertools
import math
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np

from ..grouped import grouped
from . import special
from .intervals import MAD, Scale, scale_of, step_of
from .noise import MAY_BE_POOLED, Flags, Floats, Integers, correlation_of
from .weigh import (
    NEW,
    OLD,
    Weighed,
    at_least,
    each_of,
    hold_spikes,
    lend_to,
    sides_without_spikes,
    together_of,
    weigh_apart,
    weigh_shared,
    without_spikes,
)

# From which number on each is another side than both, which tells how sides and campaigns differ anyway.
OTHER = 2
NO_ROUND = -1
SIGNIFICANT = 0.05
FEWEST_STEPS = 6  # between campaigns, from which on what these differ by can be told
# How many degrees of freedom a step between campaigns is worth: the median of steps that share campaigns says less than
# as many independent values do.
_WORTH_OF_A_STEP = 0.5
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


def runs_of(values: Sequence[float], sides: Integers, campaigns: Integers, rounds: Integers) -> Runs:
    """The runs of one series, from their finite *values* in the KPI's unit; some of both sides are among them.

    Others count only where they can be compared on the scale of both sides.
    """
    known = np.array(values, dtype=np.float64)
    compared = known if sides.max() < OTHER else known[sides < OTHER]
    in_order = sorted(compared.tolist())
    step = step_of(values)
    step = max(step, _LEAST_STEP * min(1.0, float(np.abs(known).max()))) if step else step
    if scale_of(in_order[:1]) is Scale.DIFFERENCE:
        exponent = math.frexp(max(-in_order[0], in_order[-1]))[1]
        unit = math.ldexp(1.0, min(exponent, sys.float_info.max_exp - 1))
        return Runs(Scale.DIFFERENCE, unit, known / unit, sides, campaigns, rounds, step / unit)
    if compared is not known and known.min() <= 0.0:
        kept = known > 0.0
        known, (sides, campaigns, rounds) = known[kept], (of[kept] for of in (sides, campaigns, rounds))
    middle = statistics.median([value / 2.0 for value in in_order])
    return Runs(Scale.RATIO, 1.0, np.log(known), sides, campaigns, rounds, (step / 2.0) / middle)


def evidence(series: Sequence[Runs], *, are_rounds_alike: bool = False) -> list[Evidence]:
    """What the runs of each of *series* say by themselves: by rounds, else by campaigns, else by how campaigns differ.

    By rounds not where they are alike within their campaigns. Series of the same blocks are computed at once.
    """
    found = dict[int, Evidence]()
    known: dict[object, object] = {}
    for places in grouped((_pattern(one, known), place) for place, one in enumerate(series)).values():
        alike = _Alike.of([series[place] for place in places], are_rounds_alike=are_rounds_alike)
        found |= zip(places, _evidence(alike), strict=True)
    return [found[place] for place in range(len(series))]


def _pattern(runs: Runs, known: dict[object, object]) -> object:
    """What is the same for runs of the same sides in the same order of blocks, whatever numbers these have."""
    same = tuple(numbers.tobytes() for numbers in (runs.sides, runs.campaigns, runs.rounds))
    if same not in known:
        orders = (np.unique(numbers, return_inverse=True)[1] for numbers in (runs.campaigns, runs.rounds))
        known[same] = same[0], bool((runs.rounds == NO_ROUND).any()), *(places.tobytes() for places in orders)
    return known[same]


class _Alike(msgspec.Struct, frozen=True):
    """Several series of the same pattern: a row each, and the blocks of the first."""

    series: Sequence[Runs]
    values: Floats
    sides: Integers
    campaigns: Integers
    rounds: Integers
    least: Floats  # the smallest variance of a run that can be known

    @classmethod
    def of(cls, series: Sequence[Runs], *, are_rounds_alike: bool) -> _Alike:
        first = series[0]
        rounds = np.full_like(first.rounds, NO_ROUND) if are_rounds_alike else first.rounds
        least = np.array([one.step for one in series]) ** 2 / 12.0
        return cls(series, np.array([one.values for one in series]), first.sides, first.campaigns, rounds, least)

    def means(self, is_in: Flags, numbers: Integers, wanted: Integers) -> Floats:
        """Of each series the mean of those values in each of the *wanted* blocks."""
        places = [np.flatnonzero(is_in & (numbers == one)) for one in wanted]
        means = [np.ascontiguousarray(self.values[:, of]).mean(axis=-1) for of in places]
        return np.stack(means, axis=-1) if means else np.empty((len(self.series), 0))

    def deviations(self, name: str, side: int, wanted: Integers, off: Floats) -> Iterator[dict[tuple[int, int], float]]:
        """How far each series is *off* in each of the *wanted* blocks, by its own number for that."""
        numbers = getattr(self.series[0], name)
        places = [int(np.flatnonzero(numbers == one)[0]) for one in wanted]
        for one, row in zip(self.series, off.tolist(), strict=True):
            yield {
                (side, number): value for number, value in zip(getattr(one, name)[places].tolist(), row, strict=True)
            }


def _evidence(of: _Alike) -> Iterator[Evidence]:
    old, new = of.sides == OLD, of.sides == NEW
    for ground, name, numbers in ((Ground.ROUNDS, "rounds", of.rounds), (Ground.SHARED, "campaigns", of.campaigns)):
        shared = np.intersect1d(numbers[old], numbers[new])
        shared = shared[shared != NO_ROUND]
        if len(shared) > 1:
            before, after = (of.means(side, numbers, shared) for side in (old, new))
            apart = after - before
            weighed = at_least(weigh_shared(apart), 2.0 * of.least)
            far = without_spikes(apart) != apart
            middles = np.where(far, hold_spikes(before), before).mean(axis=-1)
            deviations = of.deviations(name, NEW, shared, apart - weighed.difference[:, None])
            others = _other_sides(of, shared) if ground is Ground.ROUNDS else [()] * len(of.series)
            each = zip(each_of(weighed), middles.tolist(), deviations, others, far.sum(axis=-1).tolist(), strict=True)
            blocks = len(shared), len(shared)
            return (Evidence(ground, one, middle, blocks, off, *rest) for one, middle, off, *rest in each)
    return _by_campaigns(of)


def evidence_of(series: Sequence[Runs]) -> list[Evidence]:
    """What each of several *series* of one KPI says by itself.

    Where differences within rounds are alike within campaigns, and not between them, campaigns are the evidence: what a
    side has for itself in each, such as where its server's memory lies, no round tells.
    """
    found = evidence(series)
    return evidence(series, are_rounds_alike=True) if _are_alike_in_campaigns(series, found) else found


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


def _other_sides(of: _Alike, rounds: Integers) -> list[tuple[tuple[float, float], ...]]:
    """What other sides, two by two, differ by within these *rounds*: variance and degrees of freedom."""
    found: list[list[tuple[float, float]]] = [[] for _ in of.series]
    there = np.isin(of.rounds, rounds)
    others = np.unique(of.sides[there & (of.sides >= OTHER)])
    for one, other in zip(others[::2], others[1::2], strict=False):
        chosen = [there & (of.sides == side) for side in (one, other)]
        shared = np.intersect1d(*(of.rounds[each] for each in chosen))
        if len(shared) > 1:
            first, second = (of.means(each, of.rounds, shared) for each in chosen)
            weighed = at_least(weigh_shared(second - first), 2.0 * of.least)
            for known, each in zip(found, each_of(weighed), strict=True):
                known.append((float(each.variance), float(each.degrees)))
    return [tuple(known) for known in found]


def _by_campaigns(of: _Alike) -> Iterator[Evidence]:
    """The evidence on sides without two common blocks."""
    sides = np.minimum(of.sides, OTHER)
    numbers = {side: np.unique(of.campaigns[sides == side]) for side in (OLD, NEW, OTHER)}
    means = {side: of.means(sides == side, of.campaigns, each) for side, each in numbers.items()}
    counts = len(numbers[OLD]), len(numbers[NEW])
    if sum(counts) <= 2:
        rows = zip(of.series, of.least, *(means[side] for side in (OLD, NEW, OTHER)), strict=True)
        return (_by_history(one, float(least), *each) for one, least, *each in rows)
    held = sides_without_spikes(means[OLD], means[NEW])
    far = sum((held[side] != means[side]).sum(axis=-1) for side in (OLD, NEW))
    weighed = at_least(weigh_apart(means[OLD], means[NEW]), of.least)
    off = [means[side] - means[side].mean(axis=-1, keepdims=True) for side in (OLD, NEW)]
    deviations = (of.deviations("campaigns", side, numbers[side], off[side]) for side in (OLD, NEW))
    each = zip(each_of(weighed), held[OLD].mean(axis=-1).tolist(), *deviations, far.tolist(), strict=True)
    return (
        Evidence(Ground.CAMPAIGNS, one, middle, counts, {**old, **new}, held=count)
        for one, middle, old, new, count in each
    )


def _by_history(runs: Runs, least: float, old: Floats, new: Floats, others: Floats) -> Evidence:
    """The evidence on two campaigns, from the means of the *others*, and the smallest variance that can be known."""
    known = between_campaigns(np.diff(others))
    variance, degrees = (math.nan, 0.0) if known is None else known
    middle = float(old[0])
    difference = float(new[0]) - middle
    if known is not None:
        returns = _returns(others)
        if variance <= least:  # most have the same mean, such as where values are bounds of a histogram
            variance = max(_of_runs(runs), float(returns.mean()))
        variance = max(variance, _as_seldom(returns, difference, degrees))
    weighed = Weighed(*(np.array(each) for each in (difference, max(variance, least), degrees, 2.0)))
    return Evidence(Ground.NONE if known is None else Ground.HISTORY, weighed, middle, (1, 1), {})


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
        together = together_of([one.weighed for one in some])
        more = np.array([each for one in some for each in one.others]).reshape(-1, 2).T
        together = lend_to(together, correlation_of(deviations), (more[0], more[1]))
        for place, weighed in zip(places, each_of(together), strict=True):
            result[place] = msgspec.structs.replace(found[place], weighed=weighed)
    return result
