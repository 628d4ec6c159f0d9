"""What all points together say of the mean of each: Fay and Herriot's estimates of small areas, arrays over points.

What a configuration costs tells something of its latency. Of two that were measured at 80 ms, the one among neighbours
of 110 ms was lucky rather than the one among neighbours of 70 ms. So each mean is drawn towards a parabola through all
of them, the more the noisier it is and the closer the points lie to that curve (Fay and Herriot 1979, Journal of the
American Statistical Association 74(366), 269–277).
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import optimize, special

from .best_of import Estimates
from .intervals import Scale, scale_of
from .noise import Floats

COEFFICIENTS = 3
"""Of a parabola."""
FEWEST_POINTS = 2 * COEFFICIENTS
DOUBT = 0.16
"""Points are taken to lie so far from the curve that only so few samples would show them nearer: a standard error."""

NOTHING = 1e-9
"""A share of a matrix that is rounding, as where points have only one or two different costs."""


def drawn_together(found: Estimates, beside: Floats) -> Estimates:
    """The estimates with what the points near in the other KPI say of each; those of fewer than six as they are.

    Args:
        beside: the mean of that KPI for each point, such as the cost.
    """
    if len(beside) < FEWEST_POINTS:
        return found
    powers = _powers(beside)
    apart = _apart(found, powers)
    curve, covariance, _ = _fitted(found, powers, apart)
    share = found.variances / (found.variances + apart)  # of the curve in each mean
    of_curve = np.einsum("ij,jk,ik->i", powers, covariance, powers)
    variances = (1 - share) * found.variances + share**2 * of_curve
    return dataclasses.replace(
        found, values=curve + (1 - share) * (found.values - curve), variances=np.minimum(variances, found.variances)
    )


def _powers(beside: Floats) -> Floats:
    """1, u and u², where u is *beside* about its mean; on logarithms where all are positive."""
    along = np.log(beside) if scale_of(beside.tolist()) is Scale.RATIO else beside
    along = along - along.mean()
    return np.asarray((along / (np.abs(along).max() or 1.0))[:, None] ** np.arange(COEFFICIENTS))


def _fitted(found: Estimates, powers: Floats, apart: float) -> tuple[Floats, Floats, float]:
    """The curve at each point, the covariance of its coefficients, and the weighted squares of what is left."""
    weights = 1 / (found.variances + apart)
    covariance = np.linalg.pinv((powers * weights[:, None]).T @ powers, rcond=NOTHING)
    curve = powers @ (covariance @ (powers.T @ (weights * found.values)))
    return curve, np.asarray(covariance, dtype=np.float64), float(np.sum(weights * (found.values - curve) ** 2))


def _apart(found: Estimates, powers: Floats) -> float:
    """The variance of the true means about the curve: the largest one that what was measured doesn't contradict."""
    least = 2 * float(special.gammaincinv((len(powers) - COEFFICIENTS) / 2, DOUBT))  # chi-squared's lower quantile

    def excess(apart: float) -> float:
        return _fitted(found, powers, apart)[2] - least

    if excess(0.0) <= 0:
        return 0.0
    enough = float(np.sum((found.values - found.values.mean()) ** 2)) / least  # of a flat line the squares are larger
    return float(optimize.brentq(excess, 0.0, enough))
