"""What groups say of the noise of each other: limma's moderation of variances, each left out of its own prior.

Pure mathematics, arrays whose last axis is the groups, such as the series of a KPI. A group that took part in its own
prior would lend itself its own spread: a small variance that is luck would be believed twice. Where few groups are
known, that they look alike may be chance, so they count for fewer degrees of freedom the fewer they are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

Floats = npt.NDArray[np.float64]

# Groups are taken to differ by so many standard errors more than they seem to.
_DOUBT = 0.1
# A variance that lies further from the middle of all, in standard deviations, is that of an odd run: it is held there.
_FAR = 3.0
_MAD = 1.4826


def lent(variances: Floats, degrees: Floats, correlation: Floats) -> tuple[Floats, Floats]:
    """Each group's variance with what the others lend it, and the degrees of freedom behind that.

    Smyth 2004 (Statist. Appl. Genet. Molec. Biol. 3(1), 3); held against outliers, as Phipson and others do (2016, Ann.
    Appl. Statist. 10(2), 946–963). A group without degrees has what is lent alone; with nobody to lend, both stay.

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
    together = degrees + worth
    own = np.where(degrees > 0, variances, 0.0) * degrees
    return (own + variance * worth) / np.where(together > 0, together, 1.0), together


def _held(logs: Floats, told: npt.NDArray[np.bool_], own_noise: Floats) -> Floats:
    """The logarithms of variances, those far from the middle of all held back."""
    known = np.where(told, logs, np.nan)
    some = told.any(axis=-1, keepdims=True)
    known = np.where(some, known, 0.0)
    middle = np.nanmedian(known, axis=-1, keepdims=True)
    spread = _MAD * np.nanmedian(np.abs(known - middle), axis=-1, keepdims=True)
    room = _FAR * np.maximum(spread, np.sqrt(own_noise))
    return np.asarray(np.clip(logs, middle - room, middle + room))


def _sum_of_others(values: Floats, told: npt.NDArray[np.bool_]) -> Floats:
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
    return np.asarray(products.sum(axis=-1) / np.maximum(pairs, 1))
