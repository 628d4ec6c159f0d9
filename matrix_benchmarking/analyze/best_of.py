"""Which of some points may be the best, and how far the value of the one that was chosen can be believed.

Pure mathematics, arrays over points. The set that may hold the best is Gupta's (1965, Technometrics 7(2), 225–245) in
the form of Hsu's multiple comparisons with the best (1984, Annals of Statistics 12(3), 1136–1144): a point is left out
if another is better than it by more than the largest of all differences from equally good points would be, with 95 %.
Points that are clearly worse than it don't count as its rivals (Andrews and Soares 2010, Econometrica 78(1), 119–157).
Variances are moderated over the points (:mod:`.noise`). Runs of one campaign share a mood of the machine: between
points of different ones the means of campaigns are compared, as far as these are known to scatter. Values that are all
positive are compared as ratios: their means on the logarithm, with the deviations as fractions of the mean (the delta
method).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import msgspec
import numpy as np

from . import special
from .campaigns import Campaigns, campaigns_of, spread_in
from .intervals import CONFIDENCE, Scale, scale_of, step_of
from .noise import Flags, Floats, Places, moderated, prior_of

MOST_RIVALS = 64  # with which each point is compared, the strongest; with fewer rivals none is left out wrongly
CLEARLY = 1.5  # two points that are apart by more than so many standard errors of each are clearly apart
RISK = 0.035  # of leaving out the best, were noise normal and its spread known as well as it seems; in truth up to .05


class Estimates(msgspec.Struct, frozen=True):
    """The means of points and how far each can be off."""

    scale: Scale
    values: Floats  # the means: their logarithms for ratios
    variances: Floats  # of the error of each mean; of points in complete rounds without what those share
    degrees: Floats  # of freedom behind each variance
    rounds: int = 0  # how many complete rounds were taken out
    shared_variance: float = 0.0  # of the error that all means share since they were measured in the same rounds
    campaigns: Campaigns | None = None  # None where there is one
    # False where a run belongs to no round and no two campaigns have all points, which may have been measured one after
    # the other.
    is_in_turn: bool = True

    @property
    def knows_moods(self) -> bool:
        """False where the intervals are those within the campaigns, of which too little is known.

        One difference between two campaigns is next to nothing.
        """
        return self.campaigns is None or self.campaigns.degrees >= 2

    def of(self, points: Sequence[int]) -> Estimates:
        at = list(points)
        campaigns = None if self.campaigns is None else self.campaigns.of(at)
        return msgspec.structs.replace(
            self, values=self.values[at], variances=self.variances[at], degrees=self.degrees[at], campaigns=campaigns
        )


def estimate(
    values: Sequence[Sequence[float]],
    rounds: Sequence[Sequence[int | None]] | None = None,
    campaigns: Sequence[Sequence[int]] | None = None,
) -> Estimates:
    """What the *values* of each point's runs say, with their *rounds* and *campaigns*; some point was repeated.

    If all points have one run in each of the same rounds, what a round adds to all of them is taken out. If runs belong
    to no round, and all points have some in each of the same campaigns, their means there take the place of runs: what
    is measured one after another shares a mood with its neighbours. The spread of
    repeats that are equal, or closer than the numbers are rounded, is unknown: such a point has that of the others, and
    no mean is known better than to what one rounding error makes of it.
    """
    counts = np.array([len(runs) for runs in values], dtype=np.float64)
    scale = scale_of(itertools.chain.from_iterable(values))
    means = np.array([math.fsum(value / len(runs) for value in runs) for runs in values])
    units = means if scale is Scale.RATIO else np.ones_like(means)
    in_turn = rounds is None or all(one is not None for runs in rounds for one in runs)
    blocks = None if campaigns is None else campaigns_of(values, campaigns, units)
    table = _table(values, rounds if in_turn else campaigns)
    taken_out, shared, spread = 0, 0.0, None
    of_runs, everything = np.repeat(np.arange(len(values)), counts.astype(int)), [*itertools.chain(*values)]
    spreads = (np.array(everything, dtype=np.float64) - means[of_runs]) / units[of_runs]
    if campaigns is not None and blocks is not None and (in_turn or table is None):
        spread = spread_in(blocks, spreads, of_runs, campaigns, rounds if in_turn else None)
        table = table if spread is None else _table(values, campaigns)
    if table is None and spread is not None:
        variances, degrees, counts = spread
    elif table is None:
        with np.errstate(over="ignore"):  # of values whose squares are beyond all numbers next to nothing is known
            squares = np.minimum(np.bincount(of_runs, spreads**2, len(values)), 1e300)
        variances, degrees = squares / np.maximum(counts - 1, 1), counts - 1
    else:
        taken_out = table.shape[1]
        counts = np.full(len(values), float(taken_out))
        variances, degrees, shared = _without_rounds(table / units[:, None])
    rounding = (step_of(itertools.chain.from_iterable(values)) / units) ** 2 / 12
    variances, degrees = _moderated(variances, degrees, rounding)
    centres = np.log(means) if scale is Scale.RATIO else means
    errors = _errors(variances, counts, rounding)
    return Estimates(scale, centres, errors, degrees, taken_out, shared, blocks, in_turn or taken_out > 0)


def may_be_best(found: Estimates, *, lower_better: bool) -> Flags:
    """Which points form the set that contains the best with 95 %; the one with the best mean is always in it.

    The largest difference of a point from its rivals, in standard errors, is referred to Student's t distribution with
    the fewer degrees of the two, and then to the largest of as many normal values as there are rivals that could have
    been better: those that are clearly worse than the point make no false alarm (:data:`CLEARLY`). Of two equal points
    either may seem the better one, so a point has to differ from its strongest rival by a two-sided test, too. Points
    that have runs in unlike campaigns, or unlike many in one, are compared in those that both have, if there are any.
    """
    values = found.values if lower_better else -found.values
    errors = np.sqrt(found.variances)
    rivals = np.argsort(values + 2 * errors, kind="stable")[:MOST_RIVALS]
    differences = values[:, None] - values[rivals]
    own = both = found.variances[:, None] + found.variances[rivals]
    if found.campaigns is not None:
        moods = _moods(found.campaigns, len(values), rivals)
        shared, apart, error = found.campaigns.in_common(found.values, found.variances, rivals)
        is_near, apart = shared & (moods > 0.0), apart if lower_better else -apart
        differences, own = np.where(is_near, apart, differences), np.where(is_near, error, own)
        both = np.where(is_near, own, np.maximum(own, moods))
    distances = _ratio(differences, np.sqrt(both))
    strongest = distances.argmax(axis=1)
    degrees = np.minimum(found.degrees, found.degrees[rivals[strongest]])
    if found.campaigns is not None:
        is_mood = np.take_along_axis(both > own, strongest[:, None], axis=1)[:, 0]
        degrees = np.where(is_mood, max(found.campaigns.degrees, 1.0), degrees)
    seen = -special.ndtri(special.stdtr(degrees, -distances.max(axis=1)))
    in_play = np.searchsorted(np.sort(values - CLEARLY * errors), values + CLEARLY * errors, side="right") - 1
    shares = np.sqrt(_ratio(found.variances[:, None], both)).mean(axis=1)
    chances = _chances(seen, np.maximum(in_play, 1), shares**2)
    inside = np.asarray(np.maximum(chances, 2 * special.ndtr(-seen)) > RISK, dtype=np.bool_)
    inside[values.argmin()] = True  # also where it was the best in its own campaigns alone
    return inside


def is_told(found: Estimates, *, lower_better: bool) -> Flags:
    """Whether a point can be compared with the one of the best mean: not where only a mood may lie between them."""
    if found.campaigns is None or found.campaigns.is_known:
        return np.ones(len(found.values), dtype=np.bool_)
    best = np.array([found.values.argmin() if lower_better else found.values.argmax()])
    shared, _, _ = found.campaigns.in_common(found.values, found.variances, best)
    return np.asarray(shared[:, 0] | (found.campaigns.between(len(found.values), best)[:, 0] == 0.0), dtype=np.bool_)


def _moods(campaigns: Campaigns, count: int, rivals: Places) -> Floats:
    """The variance that moods give the difference of each point from each rival; infinite where it isn't known."""
    between = campaigns.between(count, rivals)
    return np.where(between > 0.0, between * campaigns.variance if campaigns.is_known else np.inf, 0.0)


def intervals(found: Estimates, *, lower_better: bool) -> tuple[Floats, Floats]:
    """For each point both ends of the 95 % interval of its mean, as the mean itself and not its logarithm.

    A point that was chosen for its value is better by chance rather than worse, so the end on the worse side is that of
    the largest of as many errors as there are points, and holds whichever is chosen; the other end is Student's. What
    rounds share can be wrong by as much again: both are added in squares (Zou and Donner 2008, Statistics in Medicine
    27(10), 1693–1702). Where campaigns say more of a mean's error than its runs do, theirs is it.
    """
    share = (1 + CONFIDENCE) / 2
    common = 0.0
    if found.shared_variance:
        common = float(special.stdtrit(found.rounds - 1, share)) ** 2 * found.shared_variance
    levels = (share, share ** (1 / len(found.values)))
    plain, allowing = (
        np.sqrt(special.stdtrit(found.degrees, level) ** 2 * found.variances + common) for level in levels
    )
    blocks = found.campaigns
    if blocks is not None and found.knows_moods:
        moods = blocks.variance * blocks.squares(len(found.values))
        plain, allowing = (
            np.maximum(reach, special.stdtrit(blocks.degrees, level) * np.sqrt(moods))
            for reach, level in zip((plain, allowing), levels, strict=True)
        )
    below, above = (plain, allowing) if lower_better else (allowing, plain)
    low, high = found.values - below, found.values + above
    return (_exp(low), _exp(high)) if found.scale is Scale.RATIO else (low, high)


def optimism(found: Estimates, *, lower_better: bool) -> float:
    """By how much the best mean is better than the truth, on average, because the best of several was chosen.

    As a fraction on the ratio scale, else in the values' unit; never negative. The true means are taken as the
    measured ones, drawn together as far as noise spread them, and the errors as normal.
    """
    values = found.values if lower_better else -found.values
    if len(values) == 1 or not found.variances.any():
        return 0.0
    noise = float(np.mean(found.variances))
    with np.errstate(over="ignore"):  # of values whose squares are beyond all numbers
        seen = float(np.var(values, ddof=1))
    share = 1.0 if math.isinf(seen) else max(0.0, seen - noise) / max(seen, noise)
    near = np.argsort(values - 2 * np.sqrt(found.variances), kind="stable")[:MOST_RIVALS]
    truths, errors = share * values[near], np.sqrt(found.variances[near])
    at = np.linspace(-5.0, 5.0, 33)
    weights = np.exp(-(at**2) / 2)
    measured = truths[:, None] + errors[:, None] * at  # of each point, with each error
    beyond = special.ndtr(_ratio(truths - measured[:, :, None], errors))  # that the others are measured higher
    for one in range(len(near)):
        beyond[one, :, one] = 1.0
    wins = beyond.prod(axis=2)
    amount = -float(np.sum(wins * weights * errors[:, None] * at) / np.sum(wins * weights))
    return max(0.0, math.expm1(amount) if found.scale is Scale.RATIO else amount)


def _table(values: Sequence[Sequence[float]], blocks: Sequence[Sequence[int | None]] | None) -> Floats | None:
    """The mean of each point's runs (rows) in each of the *blocks* (columns); None unless all have two, and the same.

    Of rounds, which are blocks with one run of each point, those are its runs.
    """
    if blocks is None or len(blocks) < 2:
        return None
    known = set(blocks[0])
    if len(known) < 2 or None in known or any(set(each) != known for each in blocks):
        return None
    places = {block: place for place, block in enumerate(sorted(block for block in known if block is not None))}
    found = np.zeros((len(values), len(known)))
    for row, (runs, of_runs) in enumerate(zip(values, blocks, strict=True)):
        at = [places[block] for block in of_runs if block is not None]
        found[row] = np.bincount(at, runs) / np.bincount(at)
    return found


def _without_rounds(relative: Floats) -> tuple[Floats, Floats, float]:
    """Variances and degrees of points (rows), without what their rounds (columns) add; and what that is of a mean."""
    points, rounds = relative.shape
    effects = relative.mean(axis=0)
    rest = relative - effects
    share = (points - 1) / points
    variances = np.sum((rest - rest.mean(axis=1, keepdims=True)) ** 2, axis=1) / ((rounds - 1) * share)
    of_rounds = float(np.var(effects, ddof=1) - np.mean(variances) / points)
    return variances, np.full(points, (rounds - 1) * share), max(0.0, of_rounds) / rounds


def _moderated(variances: Floats, degrees: Floats, rounding: Floats) -> tuple[Floats, Floats]:
    """The variance of one run at each point and the degrees behind it, from all points together."""
    everything = float(degrees.sum())
    told = np.where(variances > rounding, degrees, 0.0)
    prior = prior_of(variances, told)
    if prior is None:
        return rounding, np.full_like(degrees, everything)
    found, behind = moderated(variances, told, prior)
    return found, np.minimum(behind, everything)


def _errors(variances: Floats, counts: Floats, rounding: Floats) -> Floats:
    """The variance of each mean; *rounding* at least where runs differ by less than one step of the numbers."""
    plain = variances / counts
    return np.asarray(np.where(variances < 12 * rounding, np.maximum(plain, rounding), plain))


_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(64)


def _chances(largest: Floats, counts: Places, correlations: Floats) -> Floats:
    """The chance that the largest of so many normal values, with a correlation between each two, is above *largest*."""
    shared = np.sqrt(np.minimum(correlations, 0.98))
    own = np.sqrt(1 - shared**2)
    below = special.ndtr((largest[:, None] + shared[:, None] * _NODES) / own[:, None]) ** counts[:, None]
    return np.asarray(1 - below @ _WEIGHTS / np.sum(_WEIGHTS))


def _ratio(above: Floats, below: Floats) -> Floats:
    """The quotient; zero by zero is zero, and what is not zero by zero infinite, with its sign."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(above == 0, 0.0, above / below)


def _exp(values: Floats) -> Floats:
    return np.asarray(np.exp(np.minimum(values, 700.0)), dtype=np.float64)
