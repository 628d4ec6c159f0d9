"""Campaigns of points that are ranked: what their moods add to means, and what points have for themselves in each.

Pure mathematics, arrays over points.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import msgspec
import numpy as np

from ..grouped import grouped
from . import special
from .noise import MAY_BE_POOLED, Flags, Floats, Places

_SAME = 1e-9  # a difference of shares that is one of rounding
_NO_ERROR = 1e-300
_MOST_STEPS = 200


class Campaigns(msgspec.Struct, frozen=True):
    """Which part of each point's runs was measured in which campaign, and what one campaign's mood may be.

    The first four are of one length: a point and a campaign that have runs in common, the share of the point's, and how
    far their mean is from the point's: a fraction of it on the ratio scale.
    """

    points: Places
    numbers: Places
    shares: Floats
    deviations: Floats
    variance: float  # of the mean of a point's runs in one campaign; NaN where no point was measured in two
    degrees: float  # of freedom behind it
    apart: int  # how many sets of campaigns have no point in common

    @property
    def is_known(self) -> bool:
        return self.degrees > 0

    def of(self, points: Sequence[int]) -> Campaigns:
        """Those of *points*, which have their places there from now on."""
        places = {point: place for place, point in enumerate(points)}
        kept = np.array([place in places for place in self.points.tolist()], dtype=np.bool_)
        renamed = np.array([places[place] for place in self.points[kept].tolist()], dtype=np.intp)
        parts = {name: getattr(self, name)[kept] for name in ("numbers", "shares", "deviations")}
        return msgspec.structs.replace(self, points=renamed, **parts)

    def squares(self, count: int) -> Floats:
        """By how much the variance of one campaign's mood is in the mean of each of *count* points."""
        return np.asarray(np.bincount(self.points, self.shares**2, count), dtype=np.float64)

    def between(self, count: int, others: Places) -> Floats:
        """The same of the difference of each point from each of the *others*: 0 for points of the same campaigns."""
        column, there = self._columns(count, others)
        of_others = np.zeros((int(self.numbers.max()) + 1, len(others)))
        of_others[self.numbers[there], column[self.points[there]]] = self.shares[there]
        together = np.zeros((count, len(others)))
        np.add.at(together, self.points, self.shares[:, None] * of_others[self.numbers])
        squares = self.squares(count)
        found = squares[:, None] + squares[others] - 2.0 * together
        return np.where(found > _SAME, found, 0.0)

    def in_common(self, values: Floats, variances: Floats, others: Places) -> tuple[Flags, Floats, Floats]:
        """Which points share a campaign with each of the *others*, how far they are apart there, and its variance.

        There no mood is between them. Of several campaigns that they share each counts by what is known of it.
        """
        column, there = self._columns(len(values), others)
        weights = np.zeros((len(values), len(others)))
        apart = np.zeros_like(weights)
        means, errors = values[self.points] + self.deviations, variances[self.points] / self.shares
        for number in np.unique(self.numbers[there]):
            own = np.flatnonzero(self.numbers == number)
            other = own[there[own]]
            at = np.ix_(self.points[own], column[self.points[other]])
            known = 1.0 / np.maximum(errors[own, None] + errors[other], _NO_ERROR)
            weights[at] += known
            apart[at] += known * (means[own, None] - means[other])
        shared = weights > 0.0
        sums = np.where(shared, weights, 1.0)
        return shared, apart / sums, 1.0 / sums

    def _columns(self, count: int, others: Places) -> tuple[Places, Flags]:
        """The place of each point among the *others*, and which entries are of one of them."""
        column = np.full(count, -1)
        column[others] = np.arange(len(others))
        return column, column[self.points] >= 0


def campaigns_of(
    values: Sequence[Sequence[float]], campaigns: Sequence[Sequence[int]], units: Floats
) -> Campaigns | None:
    """The campaigns of the points; None where all were measured in one.

    A campaign's variance is that of its means about those of their points; each campaign beyond the first that tells
    points apart is a degree of freedom, however many points it has.
    """
    known = {number: place for place, number in enumerate(dict.fromkeys(itertools.chain(*campaigns)))}
    if len(known) < 2:
        return None
    points, numbers, shares, deviations = list[int](), list[int](), list[float](), list[float]()
    squares, spare = 0.0, 0
    parents = list(range(len(known)))
    degrees = 0
    for point, (ones, of_runs) in enumerate(zip(values, campaigns, strict=True)):
        by_campaign = grouped((known[number], value) for value, number in zip(ones, of_runs, strict=True))
        points += [point] * len(by_campaign)
        numbers += by_campaign
        shares += [len(each) / len(ones) for each in by_campaign.values()]
        means = np.array([math.fsum(each) / len(each) for each in by_campaign.values()]) / units[point]
        deviations += (means - math.fsum(ones) / len(ones) / units[point]).tolist()
        if len(by_campaign) > 1:
            squares += float(np.sum((means - means.mean()) ** 2))
            spare += len(means) - 1
            first, *others = by_campaign
            degrees += sum(_join(parents, first, other) for other in others)
    variance = squares / spare if spare else math.nan
    apart = len(known) - degrees
    parts = np.array(points), np.array(numbers), np.array(shares), np.array(deviations)
    return Campaigns(*parts, variance, float(degrees), apart)


def _join(parents: list[int], one: int, other: int) -> bool:
    """Puts two campaigns together; False if they were."""
    roots = []
    for place in (one, other):
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        roots.append(place)
    parents[roots[1]] = roots[0]
    return roots[0] != roots[1]


def spread_in(
    blocks: Campaigns,
    spreads: Floats,
    of_runs: Places,
    campaigns: Sequence[Sequence[int]],
    rounds: Sequence[Sequence[int | None]] | None,
) -> tuple[Floats, Floats, Floats] | None:
    """The variance of what each point has for itself in a campaign, the degrees behind it, and in how many it was; None
    where that is no more than its runs scatter, at the level at which rounds are pooled.

    Args:
        spreads: how far each run is from its point's mean, with the point's number *of_runs*.
        rounds: what they have in common is no scatter of theirs.
    """
    count = len(campaigns)
    rest, kept, freedom = _for_themselves(blocks, count)
    if freedom < 2.0:  # one difference of two campaigns is next to nothing
        return None
    numbers = _numbered(campaigns)
    cells, sizes = _numbered_pairs(of_runs, numbers)
    own = spreads
    spare = float(len(own) - len(sizes))
    if rounds is not None:
        of_round = _numbered(rounds)
        own = own - (np.bincount(of_round, own) / np.bincount(of_round))[of_round]
        spare -= float(of_round.max() - numbers.max())
    if spare <= 0.0:
        return None
    within = own - (np.bincount(cells, own) / sizes)[cells]
    runs_of_cell = 1.0 / float(np.mean(1.0 / sizes))
    between, scatter = runs_of_cell * float(rest @ rest) / freedom, float(within @ within) / spare
    ratio = between / scatter if scatter else math.inf if between else 0.0
    if special.fdtrc(freedom, spare, ratio) >= MAY_BE_POOLED:
        return None
    each = np.maximum(np.bincount(blocks.points[kept], minlength=count) - 1.0, 0.0)
    degrees = each * freedom / each.sum()
    squares = np.bincount(blocks.points[kept], rest**2, count)
    counts = np.bincount(blocks.points, minlength=count).astype(np.float64)
    return np.asarray(squares / np.where(degrees > 0.0, degrees, 1.0)), np.asarray(degrees), counts


def _for_themselves(blocks: Campaigns, count: int) -> tuple[Floats, Flags, float]:
    """What points have in campaigns beyond what both add, which of the *blocks* tell it, and its degrees of freedom."""
    kept = np.ones(len(blocks.points), dtype=np.bool_)
    for _ in range(_MOST_STEPS):  # a campaign of one point tells nothing, nor does a point of one campaign
        of_points = np.bincount(blocks.points[kept], minlength=count)
        of_campaigns = np.bincount(blocks.numbers[kept], minlength=int(blocks.numbers.max()) + 1)
        tell = kept & (of_points[blocks.points] > 1) & (of_campaigns[blocks.numbers] > 1)
        if (tell == kept).all():
            break
        kept = tell
    else:  # a long chain, which tells little
        kept[:] = False
        of_points, of_campaigns = np.zeros_like(of_points), np.zeros_like(of_campaigns)
    points, numbers, rest = blocks.points[kept], blocks.numbers[kept], blocks.deviations[kept]
    for _ in range(_MOST_STEPS):  # to the least squares of an additive model
        before = rest
        for of in (numbers, points):
            sums, sizes = np.bincount(of, rest), np.bincount(of)
            rest = rest - (sums / np.maximum(sizes, 1))[of]
        if np.abs(rest - before).max(initial=0.0) <= 1e-12:
            break
    parents, together = list(range(len(of_campaigns))), 0
    first: dict[int, int] = {}
    for point, number in zip(points.tolist(), numbers.tolist(), strict=True):
        together += _join(parents, first.setdefault(point, number), number)
    sets = int((of_campaigns > 0).sum()) - together
    freedom = float(len(points) - (of_points > 0).sum() - (of_campaigns > 0).sum() + sets)
    return rest, kept, freedom


def _numbered(blocks: Sequence[Sequence[object]]) -> Places:
    """The number of each run's block, point by point."""
    known: dict[object, int] = {}
    return np.array([known.setdefault(one, len(known)) for of in blocks for one in of], dtype=np.intp)


def _numbered_pairs(one: Places, other: Places) -> tuple[Places, Places]:
    """The number of each run's pair of both, and how many runs each pair has."""
    _, found, sizes = np.unique(one * (int(other.max()) + 1) + other, return_inverse=True, return_counts=True)
    return found, sizes
