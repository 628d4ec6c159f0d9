"""What groups of runs say of the noise of each other: variances that lend each other degrees.

Pure mathematics, arrays whose last axis is the groups. Three runs say little of their own spread; many groups of three
say much of how spreads are distributed. The variance of each group is taken as drawn from a scaled inverse chi-squared
distribution whose place and width are estimated from the groups (Smyth 2004, Statistical Applications in Genetics and
Molecular Biology 3(1), article 3, the method of limma): from all of them by `prior_of`, from the others by `lent`.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt

from . import special
from .intervals import MAD

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]


MAY_BE_POOLED = 0.25
"""Blocks within a campaign count one by one where that they are alike has at least this chance, an F test says."""


class Spreads(msgspec.Struct, frozen=True):
    """How the variances of groups are distributed."""

    variance: float  # the typical one of one run, in squared units
    degrees: float  # of freedom that this knowledge is worth beside a group's own


def moderated(variances: Floats, degrees: Floats, prior: Spreads) -> tuple[Floats, Floats]:
    """Each group's variance with what the *prior* adds to it, and the degrees of freedom behind that.

    A group without degrees has the prior's; to one that is noisier than the prior explains it adds as much less
    (Phipson and others 2016, Ann. Appl. Statist. 10(2), 946–963).
    """
    told = degrees > 0
    own, worth = np.where(told, variances, prior.variance), np.full_like(degrees, prior.degrees)
    worth = worth * _like_the_others(own / prior.variance, degrees, worth, told)
    together = degrees + worth
    return (own * degrees + prior.variance * worth) / together, together


def prior_of(variances: Floats, degrees: Floats) -> Spreads | None:
    """The prior that the *variances* of groups, with their *degrees* of freedom (n − 1), speak for.

    It is no surer than few groups allow: it has the fewest degrees that the variances don't contradict. Groups without
    degrees, or without spread, say nothing of it; None where none is left.

    A handful of groups often look alike by chance, and a pooled variance would then be too small for the noisy ones.
    The degrees are the fewest whose likelihood is within half a unit of the largest one: a standard error below it.
    The likelihood is that of scaled F distributions; for each number of degrees the variance is the likeliest.
    """
    told = (degrees > 0) & (variances > 0) & np.isfinite(variances)
    logs, freedom = np.log(variances[told]), degrees[told]
    if not len(logs):
        return None
    places = float(np.median(logs)) + _PLACES
    first, last = np.zeros(len(_WORTHS), dtype=int), np.full(len(_WORTHS), len(places) - 1)
    while (first < last).any():  # the likelihood is concave in the place
        middle = (first + last) // 2
        after = np.minimum(middle + 1, last)
        rises = _likelihoods(logs, freedom, places[middle]) < _likelihoods(logs, freedom, places[after])
        first, last = np.where(rises, after, first), np.where(rises, last, middle)
    best = _likelihoods(logs, freedom, places[first]) + _of_any_place(freedom)
    fewest = int(np.flatnonzero(best >= best.max() - 0.5)[0])
    return Spreads(math.exp(float(places[first[fewest]])), float(_WORTHS[fewest]))


_WORTHS = np.geomspace(0.7, 200.0, 24)  # prior degrees of freedom that are tried
_PLACES = np.linspace(-3.0, 3.0, 61)
"""Logarithms of typical variances that are tried, about the median of the groups' own."""


def _likelihoods(logs: Floats, degrees: Floats, places: Floats) -> Floats:
    """For each number of prior degrees the log-likelihood of the variances' *logs*, but for what has no place in it.

    Args:
        places: for each of these numbers the logarithm of the typical variance.
    """
    distances, worths = logs - places[:, None], _WORTHS[:, None]
    bending = np.log(1 + degrees / worths * np.exp(distances))
    return np.asarray((degrees / 2 * distances - (degrees + worths) / 2 * bending).sum(axis=1), dtype=np.float64)


def _of_any_place(degrees: Floats) -> Floats:
    """The rest of it."""
    each, counts = np.unique(degrees, return_counts=True)
    worths = _WORTHS[:, None]
    constants = special.gammaln((each + worths) / 2) - special.gammaln(worths / 2) + each / 2 * np.log(each / worths)
    return np.asarray(constants @ counts, dtype=np.float64)


# Groups are taken to differ by so many standard errors more than they seem to.
_DOUBT = 0.1
# A variance that lies further from the middle of all, in standard deviations, is that of an odd run: it is held there.
_FAR = 3.0
# A variance is odd where so large a one would come by chance in fewer groups than this.
_ODD = 0.05


def lent(variances: Floats, degrees: Floats, correlation: Floats) -> tuple[Floats, Floats]:
    """Each group's variance with what the others lend it, and the degrees of freedom behind that.

    A group that took part in its own prior would lend itself its own spread: a small variance that is luck would be
    believed twice. Where few groups are known, that they look alike may be chance, so they count for fewer degrees.
    Smyth 2004 (Statist. Appl. Genet. Molec. Biol. 3(1), 3); held against outliers, as Phipson and others do (2016, Ann.
    Appl. Statist. 10(2), 946–963): one that is noisier than the others explain is lent as much less as it is odd. A
    group without degrees has what is lent alone; with nobody to lend, both stay.

    Args:
        variances: in squared units; those of groups without degrees don't count.
        degrees: of freedom, of the same shape.
        correlation: between the noise of two groups, without the last axis. Groups that share a mood of the machine say
            the same thing again: their variances agree by its square, and count for as much less.
    """
    told = (degrees > 0) & (variances > 0) & np.isfinite(variances)
    half = np.where(told, degrees, 1.0) / 2.0
    logs = np.log(np.where(told, variances, 1.0)) - special.digamma(half) + np.log(half)
    own_noise = special.polygamma(1, half)
    logs = _held(logs, told, own_noise)
    others = told.sum(axis=-1, keepdims=True) - told
    count = np.maximum(others, 1)
    centre = _sum_of_others(logs, told) / count
    squares = _sum_of_others(logs * logs, told) - count * centre * centre
    noise = _sum_of_others(own_noise, told) / count
    spare = np.maximum(others - 1.0, 0.5)
    excess = squares / spare - noise  # below nothing where there is one other group
    # The variance of a logarithm is known as well as its own skew lets it be: badly where a group has one degree.
    skewed = _sum_of_others(special.polygamma(3, half), told) / count
    differ = np.maximum(excess, 0.0) + _DOUBT * np.sqrt((2.0 * noise * noise + skewed) / spare)
    worth = 2.0 * inverse_trigamma(differ)
    variance = np.exp(centre + special.digamma(worth / 2.0) - np.log(worth / 2.0))
    again = np.clip(correlation, 0.0, 1.0)[..., None] ** 2
    news = (1.0 - again) / (1.0 + np.maximum(others - 1.0, 0.0) * again)
    worth = np.minimum(worth, news * _sum_of_others(degrees, told))
    worth = worth * _like_the_others(np.where(told, variances / variance, 0.0), degrees, worth, told)
    together = degrees + worth
    own = np.where(degrees > 0, variances, 0.0) * degrees
    return (own + variance * worth) / np.where(together > 0, together, 1.0), together


def _held(logs: Floats, told: Flags, own_noise: Floats) -> Floats:
    """The logarithms of variances, those far from the middle of all held back."""
    known = np.where(told, logs, np.nan)
    some = told.any(axis=-1, keepdims=True)
    known = np.where(some, known, 0.0)
    middle = np.nanmedian(known, axis=-1, keepdims=True)
    spread = MAD * np.nanmedian(np.abs(known - middle), axis=-1, keepdims=True)
    room = _FAR * np.maximum(spread, np.sqrt(own_noise))
    return np.asarray(np.clip(logs, middle - room, middle + room))


def _like_the_others(ratios: Floats, degrees: Floats, worth: Floats, told: Flags) -> Floats:
    """How far a group may be one of the others, by the *ratios* of its variance to what these lend it.

    As far as the chance of so large a ratio comes up to 5 %, or among fewer than five groups to half of what the
    largest lets expect: to take a noisy one for one of the others costs more than to let a usual one speak for itself.
    """
    known = told & (worth > 0.0) & (ratios > 0.0)
    tails = special.fdtrc(np.where(known, degrees, 1.0), np.where(known, worth, 1.0), ratios)
    odd = np.maximum(_ODD, 0.25 / np.maximum(known.sum(axis=-1, keepdims=True), 1))
    return np.where(known, np.minimum(tails / odd, 1.0), 1.0)


def _sum_of_others(values: Floats, told: Flags) -> Floats:
    """For each group, the sum over the others that are told."""
    counted = np.where(told, values, 0.0)
    return np.asarray(counted.sum(axis=-1, keepdims=True) - counted)


def inverse_trigamma(values: Floats) -> Floats:
    """The arguments at which the trigamma function has these *values*, by Newton's method on its reciprocal."""
    known = np.maximum(values, 1e-6)
    found = 0.5 + 1.0 / known
    for _ in range(10):
        trigamma = special.polygamma(1, found)
        found = found + trigamma * (1.0 - trigamma / known) / special.polygamma(2, found)
    return np.asarray(found)


def correlation_of(deviations: Floats) -> Floats:
    """The mean correlation between groups, from the *deviations* of their blocks from their middle.

    The root of its mean square, as far as that is clearly beyond chance, where it is larger: some move against others.

    Args:
        deviations: the last axes are groups and blocks; NaN where a group has no such block.
    """
    there = np.isfinite(deviations)
    known = np.where(there, deviations, 0.0)
    blocks = np.maximum(there.sum(axis=-1, keepdims=True), 1)
    spread = np.sqrt((known * known).sum(axis=-1, keepdims=True) / blocks)
    standard = known / np.where(spread > 0.0, spread, 1.0)
    products = standard.sum(axis=-2) ** 2 - (standard * standard).sum(axis=-2)
    count = there.sum(axis=-2)
    pairs = (count * (count - 1)).sum(axis=-1)
    signed = products.sum(axis=-1) / np.maximum(pairs, 1)
    squares, of_equal = _squares_of_pairs(standard), _squares_of_pairs(there.astype(np.float64))
    freedom = np.maximum(of_equal / np.maximum(pairs, 1) - 1.0, 1.0)  # of blocks about their middle
    by_chance = of_equal / freedom
    beyond = (squares - by_chance) / np.where(of_equal > by_chance, of_equal - by_chance, np.inf)
    groups = deviations.shape[-2]
    error = 2.0 / np.sqrt(np.maximum(freedom - 1.0, 1e-9) * (freedom + 2.0) * max(groups * (groups - 1), 1))
    clearly = np.clip(beyond - error, 0.0, 1.0)
    return np.asarray(np.where(clearly > 0.0, np.maximum(signed, np.sqrt(clearly)), signed))


def _squares_of_pairs(values: Floats) -> Floats:
    """The sum over all pairs of two groups, both ways round, of the square of their product over the blocks."""
    turned = np.swapaxes(values, -1, -2)
    both = (values @ turned if values.shape[-2] < values.shape[-1] else turned @ values) ** 2  # the smaller one
    return np.asarray(both.sum(axis=(-2, -1)) - ((values * values).sum(axis=-1) ** 2).sum(axis=-1))
