"""What is known of the noise of one group of runs from the other groups: variances that lend each other degrees.

Pure mathematics, arrays over groups. Three runs say little of their own spread; many groups of three say much of how
spreads are distributed. The variance of each group is taken as drawn from a scaled inverse chi-squared distribution
whose place and width are estimated from all groups (Smyth 2004, Statistical Applications in Genetics and Molecular
Biology 3(1), article 3, the method of limma), and what is left to its own group is its share of the degrees.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import numpy.typing as npt
from scipy import special

Floats = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True)
class Prior:
    """How the variances of groups are distributed.

    Attributes:
        variance: the typical variance of one run, in squared units.
        degrees: degrees of freedom that this knowledge is worth beside a group's own.
    """

    variance: float
    degrees: float


def moderated(variances: Floats, degrees: Floats, prior: Prior | None) -> tuple[Floats, Floats]:
    """Each group's variance with what the *prior* adds to it, and the degrees of freedom behind that.

    A group without degrees has the prior's. Without a prior both stay as they are.
    """
    if prior is None:
        return variances, degrees
    together = degrees + prior.degrees
    own = np.where(degrees > 0, variances, prior.variance)
    return (own * degrees + prior.variance * prior.degrees) / together, together


def prior_of(variances: Floats, degrees: Floats) -> Prior | None:
    """The prior that the *variances* of groups, with their *degrees* of freedom (n − 1), speak for.

    It is no surer than few groups allow: it has the fewest degrees that the variances don't contradict. Groups without
    degrees, or without spread, say nothing of it; None where none is left.

    A handful of groups often look alike by chance, and a pooled variance would then be too small for the noisy ones.
    The degrees are the fewest whose likelihood is within half a unit of the largest one: a standard error below it.
    The likelihood is that of scaled F distributions; for each number of degrees the variance is the likeliest.
    """
    told = (degrees > 0) & (variances > 0) & np.isfinite(variances)
    squares, freedom = variances[told], degrees[told]
    if not len(squares):
        return None
    logs = np.log(squares)
    places = float(np.median(logs)) + _PLACES
    likelihoods = np.stack([_likelihoods(logs, freedom, places, worth) for worth in _WORTHS])
    best = likelihoods.max(axis=1)
    fewest = int(np.flatnonzero(best >= best.max() - 0.5)[0])
    return Prior(math.exp(float(places[likelihoods[fewest].argmax()])), float(_WORTHS[fewest]))


_WORTHS = np.geomspace(0.7, 200.0, 24)
"""Prior degrees of freedom that are tried."""
_PLACES = np.linspace(-3.0, 3.0, 61)
"""Logarithms of typical variances that are tried, about the median of the groups' own."""


def _likelihoods(logs: Floats, degrees: Floats, places: Floats, worth: float) -> Floats:
    """Log-likelihood of the variances' *logs* for each typical variance of which *places* are the logarithms.

    Less what is the same for all of these and for any *worth*.
    """
    distances = logs - places[:, None]
    constants = special.gammaln((degrees + worth) / 2) - special.gammaln(worth / 2)
    constants += degrees / 2 * np.log(degrees / worth)
    rising, bending = degrees / 2 * distances, np.log1p(degrees / worth * np.exp(distances))
    return np.asarray((constants + rising - (degrees + worth) / 2 * bending).sum(axis=1), dtype=np.float64)
