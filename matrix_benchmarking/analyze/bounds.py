"""Which limit the mean of each of some points keeps, with 95 %: pure mathematics, arrays over points.

A mean that is within a limit says little: of several points near it, the one that is chosen since it is cheap is
likely one that was lucky. So a point keeps a limit by a one-sided bound of its mean, and the points that do are named
together: the risks that they don't are added up, as what is cheap is often what is near the limit. And the risk of the
last of them counts as often as others might as well have been in its place.

All points together say something of the mean of each (Fay and Herriot 1979, Journal of the American Statistical
Association 74(366), 269–277). Of two configurations that were measured at 80 ms, the one among neighbours of 110 ms was
lucky rather than the one among neighbours of 70 ms: what it costs tells something of its latency. So each mean is drawn
towards a parabola through all of them, the more the noisier it is and the closer the points lie to that curve.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from . import special
from .best_of import Estimates, estimate
from .intervals import CONFIDENCE, Scale, scale_of
from .noise import Floats, Places

RISK = 1 - CONFIDENCE
MOST_STEPS = 60
CLOSE = 1e-3  # in the least width: after so short a step of Newton's the next would be of its square
STRIDE = 16  # of so many rows one is solved first
FEW = 12
"""Of so many points, or fewer, the risk of the last counts twice: its luck hides what might be in its place."""
MOST_ADDED = 64  # of the points before one, the risks of so many are added; so many after it might be in its place


def bounds_of(
    values: Sequence[Sequence[float]],
    headline: Sequence[float],
    campaigns: Sequence[Sequence[int]] | None = None,
    *,
    lower_better: bool,
    first: int | None = None,
) -> list[float]:
    """The tightest limit that each point keeps, from the *values* of its runs, at least two each.

    Points of about the same *headline* value, their mean of another KPI, say what is likely for a point
    (`drawn_together`). But no point keeps a limit that its own mean is beyond, or would be in worse *campaigns*
    (`_moods`). Of the *first* points alone it is the same, and quicker.
    """
    found = estimate(values, campaigns=campaigns)
    if not found.variances.any():  # all runs agree
        return [value for value, *_ in values][:first]
    likely = bounds(drawn_together(found, np.array(headline)), lower_better=lower_better, first=first)
    moods = _moods(found)
    means = found.values + (moods if lower_better else -moods)
    means = (np.exp(np.minimum(means, 700.0)) if found.scale is Scale.RATIO else means)[:first]
    return [float(one) for one in (np.maximum(likely, means) if lower_better else np.minimum(likely, means))]


def _moods(found: Estimates) -> Floats:
    """By how much the moods of its campaigns may make a point's mean look too good, with 95 %, as far as that is known.

    A mood is one risk for all points of the same campaigns; those of others have their own, and these are added up.
    """
    campaigns = found.campaigns
    if campaigns is None or not campaigns.is_known:
        return np.zeros_like(found.values)
    quantile = special.stdtrit(campaigns.degrees, 1 - RISK / campaigns.apart)
    return np.asarray(quantile * np.sqrt(campaigns.variance * campaigns.squares(len(found.values))), dtype=np.float64)


def bounds(found: Estimates, *, lower_better: bool, first: int | None = None) -> Floats:
    """The tightest limit that each of the *first* points keeps, as the limited value itself and not its logarithm.

    It is where the point's own risk is at most 5 %, and so is the sum of that and of the risks of all the points that
    keep the limit more easily. There its own counts half, since of the last risk that has room half is used on average
    (as in Lancaster's mid-p, 1961, JASA 56, 223–234), and once more for each point that might as well be in its place
    (as Bonferroni has it of points that are alike), all that twice of few points. Points that keep a limit keep every
    wider one.
    """
    values = found.values if lower_better else -found.values
    errors = np.sqrt(found.variances)
    alone = values + special.stdtrit(found.degrees, CONFIDENCE) * errors
    order = np.argsort(alone, kind="stable")
    wanted, steps = np.flatnonzero(order < (len(order) if first is None else first)), min(MOST_ADDED, len(order) - 1)
    asked = np.unique(np.maximum(wanted[:, None] - np.arange(steps + 1), 0))
    before = asked[:, None] - np.arange(steps, -1, -1)
    taking = order[np.maximum(before, 0)]
    shares = np.where(before < 0, 0.0, np.where(errors[taking] > 0, 1.0, 0.0))  # what has no error is no risk
    more = 1 + min(1.0, FEW / max(int(np.count_nonzero(errors)), 1)) ** 2
    shares[:, -1] *= more * (0.5 + _by_chance(values, found.variances, order, asked))
    limits = np.full(len(order), -np.inf)
    limits[asked] = _where_risks_fit(alone[order[asked]], shares, values[taking], errors[taking], found.degrees[taking])
    # What is known worse may count for more here: none keeps a tighter limit than one that keeps it more easily.
    ends = np.empty(len(wanted))
    ends[order[wanted]] = limits[np.maximum(wanted[:, None] - np.arange(steps + 1), 0)].max(axis=1)
    ends = ends if lower_better else -ends
    return np.asarray(np.exp(np.minimum(ends, 700.0)) if found.scale is Scale.RATIO else ends, dtype=np.float64)


def _by_chance(values: Floats, variances: Floats, order: Places, asked: Places) -> Floats:
    """How many of the next points in *order* would, measured again, be before the one at each *asked* place of it."""
    after = asked[:, None] + np.arange(1, min(MOST_ADDED, len(order) - 1) + 1)
    own, others = order[asked, None], order[np.minimum(after, len(order) - 1)]
    with np.errstate(divide="ignore", invalid="ignore"):
        ahead = np.nan_to_num((values[own] - values[others]) / np.sqrt(variances[own] + variances[others]))
    return np.asarray(np.sum(np.where(after < len(order), special.ndtr(ahead), 0.0), axis=1), dtype=np.float64)


def _where_risks_fit(low: Floats, shares: Floats, centres: Floats, widths: Floats, degrees: Floats) -> Floats:
    """The tightest limit of each row, from *low* on, at which its *shares* of risks are RISK.

    Newton's method. All centres are below *low*, where the sum of Student's tails is convex: from the left no step goes
    too far, and one from the right leads to the left. The first step is on the logarithm, which is nearly straight.
    """
    starts, degrees = low, np.minimum(degrees, 1e9)
    if len(low) > 2 * STRIDE:  # where these of some rows lie, those between them begin
        some = np.arange(0, len(low), STRIDE)
        known = _where_risks_fit(low[some], shares[some], centres[some], widths[some], degrees[some])
        starts = low + np.interp(np.arange(len(low)), some, known - low[some])
    limits, rows = starts.copy(), np.arange(len(low))
    closest = CLOSE * np.min(np.where(shares > 0, widths, widths[:, -1:]), axis=1)
    heights = -special.betaln(degrees / 2, 0.5) - np.log(degrees) / 2  # of Student's density, as logarithms
    for number in range(MOST_STEPS):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            distances = np.nan_to_num((limits[rows, None] - centres[rows]) / widths[rows])
            risks = np.sum(shares[rows] * special.stdtr(degrees[rows], -distances), axis=1)
            fall = heights[rows] - (degrees[rows] + 1) / 2 * np.log1p(distances**2 / degrees[rows])
            slopes = np.sum(np.where(shares[rows] > 0, shares[rows] * np.exp(fall) / widths[rows], 0.0), axis=1)
            steps = (np.log(risks / RISK) * risks if number == 0 else risks - RISK) / slopes
        taken = np.where(slopes > 0, np.maximum(limits[rows] + steps, low[rows]), low[rows])
        moved = np.abs(taken - limits[rows]) > closest[rows]
        limits[rows] = taken
        rows = rows[moved]
        if not len(rows):
            break
    return limits


COEFFICIENTS = 3  # of a parabola
FEWEST_POINTS = 2 * COEFFICIENTS
DOUBT = 0.16
"""Points are taken to lie so far from the curve that only so few samples would show them nearer: a standard error."""

NOTHING = 1e-9  # a share of a matrix that is rounding, as where points have only one or two different costs


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
    return msgspec.structs.replace(
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

    low, high = 0.0, float(np.sum((found.values - found.values.mean()) ** 2)) / least  # a flat line has larger squares
    if _fitted(found, powers, low)[2] <= least:
        return low
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if _fitted(found, powers, middle)[2] > least else (low, middle)
    return high
