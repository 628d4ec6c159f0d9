"""All ways to split a level into an old and a new one: which are worth a closer look, and what they weigh."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from matrix_benchmarking.analyze.detect import evidence
from matrix_benchmarking.analyze.detect.evidence import Flags, Floats, Prior, Split, Weighed
from matrix_benchmarking.analyze.detect.levels import FAR_OFF, Integers, Levels, estimate, noise

ENOUGH_BEFORE = 5
"""So many versions of a campaign before a change in it say how much its versions differ anyway."""
AS_ONE_BLOCK = 2
"""So many versions of such a campaign after the first one on a new level count as another block."""
NEAR_BEFORE = 20
"""So many versions before a campaign say whether its mood is another one."""
FEWEST_BLOCKS = 2
"""What one block alone supports, however large, is its mood as likely: it raises no alarm."""
LAGS = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 24, 30, 40, 56, 80, 112, 160])
_ORDERED_UP_TO = 24
# How far from the middle, in standard deviations of the old level, points of a new one count in full, by their number.
_HELD = np.array([0.0, 0.0, 1.5, 2.0, 2.0, 2.0, 2.0, *[3.0] * (_ORDERED_UP_TO - 6), 3.5])
# Plain means that differ by less than so many standard errors are not looked at.
_WORTH_A_LOOK = 3.0
_BEYOND_REASON = 1e8
# Two glitches in a row make two single runs look like a new level, so more is asked of two. A median has no glitch, but
# two blocks of noise that has just grown look like one, too.
_LESS_OF_TWO_MEDIANS = 0.2
_SHORTEST_WITH_REPEATS = 16.0
_LENT_DEGREES = 4.0
# So many of the newest points of the old level say how it spreads today; each counts for so many variances at most.
_RECENT = 10
_MOST_OF_ONE_SQUARE = 9.0
# How far below the threshold the evidence on the logarithmic scale may stay.
LESS_ON_LOGARITHMS = 0.3


@dataclasses.dataclass(frozen=True, slots=True)
class Series:
    """A series without gaps.

    Attributes:
        points: one value a version, shape (n,).
        runs: number of runs behind each, shape (n,).
        precision: variance of each point relative to one with the usual number of runs, shape (n,).
        prior: what repeats say of the noise, before the first point.
        blocks: number of blocks that speak for each by itself, shape (n,).
        fresh: how many of them don't speak for the point before it, shape (n,).
        squares: sum of squares of its runs within it, without the farthest one, shape (n,).
        stretches: equal for neighbours that one campaign measured one after the other, else of its own, shape (n,).
        means: of the runs of each, of which none counts as farther off the median than is usual: better known than
            *points*, and one block can move them, shape (n,).
    """

    points: Floats
    runs: Floats
    precision: Floats
    prior: Prior
    blocks: Floats
    fresh: Floats
    squares: Floats
    stretches: Integers
    means: Floats

    def blocks_from(self, first: Any, last: Any) -> Any:
        """How many blocks speak for the points from *first* to *last* together: places, or arrays of them.

        What measured the points before *first* too shares its mood with both sides, so its further points count.
        """
        sums = np.cumsum(self.fresh)
        return self.blocks[first] + sums[last] - sums[first] + self._within(first, last)

    def _within(self, first: Any, last: Any) -> Any:
        """The blocks beyond the first that the campaign which measured *first* and the points before it adds.

        None where these points lie nearer to the new ones than to those before the campaign: its mood may differ.
        """
        places = np.arange(len(self.points))
        is_new = np.diff(self.stretches, prepend=self.stretches[0] - 1) != 0
        starts = np.maximum.accumulate(np.where(is_new, places, 0))
        ends = np.minimum.accumulate(np.where(np.roll(is_new, -1), places, len(places) - 1)[::-1])[::-1]
        begin, sums = starts[first], np.concatenate([[0.0], np.cumsum(self.points)])
        before = (sums[first] - sums[begin]) / np.maximum(first - begin, 1)
        new = (sums[last + 1] - sums[first]) / (last + 1 - first)
        far = np.maximum(begin - NEAR_BEFORE, 0)
        earlier = np.where(begin > 0, (sums[begin] - sums[far]) / np.maximum(begin - far, 1), before)
        is_told = (first - begin >= ENOUGH_BEFORE) & (np.abs(new - before) > np.abs(before - earlier))
        return np.where(is_told, (np.minimum(ends[first], last) - first) // AS_ONE_BLOCK, 0)


@dataclasses.dataclass(frozen=True, slots=True)
class Evidence:
    """Splits of a level (arrays): the last point, what they weigh, by how much that exceeds the threshold, and whether
    there are points enough for it."""

    last: Integers
    split: Split
    weighed: Weighed
    excess: Floats
    confirmed: Flags


def every_lag(levels: Levels, last: int) -> tuple[Integers, Integers]:
    """All splits whose last point is *last*: last points and lags; a lag is the number of points on the new level."""
    lags = LAGS[_possible(levels, np.array([last]))[:, 0]]
    return np.full(len(lags), last), lags


def candidates(
    series: Series, begin: int, levels: Levels, span: tuple[int, int], prior: Prior
) -> tuple[Integers, Integers]:
    """Last points and lags of the splits in *span* of which the plain means differ: the others can't raise an alarm."""
    last = np.arange(*span)
    possible = _possible(levels, last)
    first = np.maximum(last - LAGS[:, None] + 1, 0)
    which = np.maximum(np.searchsorted(levels.counts, first, side="right") - 1, 0)
    known = levels.squares + prior.degrees * prior.deviation**2
    variance = known / (levels.counts - 1.0 + prior.degrees)
    sums = _sums(series.points[begin : begin + span[1]], int(levels.counts[0]))
    shift = (sums[last + 1] - sums[first]) / LAGS[:, None] - levels.level[which]
    bar = _WORTH_A_LOOK**2 * variance[which] * (1.0 / LAGS[:, None] + (1.0 / levels.counts)[which])
    place, lags = (possible & (shift * shift > bar)).T.nonzero()
    chosen, lag = last[place], LAGS[lags]
    enough = series.blocks_from(begin + chosen - lag + 1, begin + chosen) >= FEWEST_BLOCKS
    return chosen[enough], lag[enough]


def _possible(levels: Levels, last: Integers) -> Flags:
    """Shape (lags, last points): whether there is an old level."""
    return np.asarray(last - LAGS[:, None] + 1 >= levels.counts[0])


def _sums(points: Floats, least: int) -> Floats:
    """Running sums; points that would drown all others in rounding are held back."""
    first = np.sort(points[:least])
    middle = float(first[least // 2])
    room = _BEYOND_REASON * max(float(first[3 * least // 4] - first[least // 4]), abs(middle)) or np.inf
    held = np.minimum(np.maximum(points, middle - room), middle + room)
    return np.concatenate([[0.0], np.cumsum(held)])


def weigh(series: Series, begin: int, levels: Levels, found: tuple[Integers, Integers], prior: Prior) -> Evidence:
    """The full weight of the splits that were found, and by how much it exceeds the threshold."""
    last, lag = found
    split = _split(series, begin, levels, last, lag)
    weighed = evidence.weigh(split, prior)
    excess = weighed.score - evidence.threshold(split.after, length_of(begin, last + 1.0, prior))
    if series.prior.degrees > 0.0:
        excess = excess + np.where(split.after == 2.0, _LESS_OF_TWO_MEDIANS, 0.0)
    return Evidence(last, split, weighed, excess, evidence.confirmed(split, weighed, prior))


def length_of(begin: int, points: Any, prior: Prior) -> Any:
    """The number of points that a threshold goes by: with what earlier levels contribute to what is known of the noise.

    Repeats, which are all that is known before the first point, make a history short in looks and not in knowledge.
    """
    if begin == 0 and prior.degrees > 0.0:
        return np.maximum(points, _SHORTEST_WITH_REPEATS)
    return points + prior.degrees


def as_clear_on_logarithms(
    series: Series, begin: int, levels: Levels, found: Evidence, over: Integers, prior: Prior
) -> Integers:
    """Those of the splits *over* their threshold that are so, or nearly, if logarithms are compared.

    Where the noise grows with the value, as that of latencies does, the largest values look further off than they are.
    Where values have no logarithm, all of them are.
    """
    last = int(found.last[over].max())
    points = series.points[begin : begin + last + 1]
    points = -points if points[0] < 0.0 else points
    smallest = float(points.min())
    if smallest <= 0.0:
        return over
    unsure = _shrinking(found, over, levels, smallest) > found.excess[over] + LESS_ON_LOGARITHMS
    if not unsure.any():
        return over
    logarithms = np.zeros(len(series.points))
    logarithms[begin : begin + last + 1] = np.log(points)
    asked = over[unsure]
    splits = found.last[asked], found.split.after[asked].astype(np.int64)
    which = np.searchsorted(levels.counts, splits[0] - splits[1] + 1, side="right") - 1
    needed = estimate(logarithms[begin : begin + last + 1], np.unique(levels.counts[which]))
    relative = Prior(prior.degrees, prior.deviation / abs(float(levels.level[0])), prior.correlation)
    again = weigh(dataclasses.replace(series, points=logarithms), begin, needed, splits, relative)
    unsure[unsure] = again.excess < -LESS_ON_LOGARITHMS
    return over[~unsure]


def _shrinking(found: Evidence, over: Integers, levels: Levels, smallest: float) -> Floats:
    """By how much the scores of splits may shrink on the logarithmic scale.

    There the shift is log(new / old), and no deviation is stretched by more than 1 / *smallest*.
    """
    before = found.split.before[over].astype(np.int64)
    old = np.abs(levels.level[levels.counts.searchsorted(before)])
    shift = np.abs(found.split.shift[over]) / old
    return np.asarray(found.weighed.score[over] * (1.0 - smallest / old * np.log1p(shift) / np.maximum(shift, 1e-9)))


def _split(series: Series, begin: int, levels: Levels, last: Integers, lag: Integers) -> Split:
    """The splits whose new level are the *lag* points up to *last*."""
    every = levels.counts.searchsorted(last - lag + 1, side="right") - 1
    rows, which = np.unique(every, return_inverse=True)
    known = noise(series.points[begin:], levels, rows)
    before = levels.counts[every].astype(float)
    old, squares = levels.level[every], levels.squares[every]
    inside, windows = _windows(series.points[begin:], last, lag)
    spread = np.sqrt(squares / (before - 1.0))
    after = lag.astype(float)
    kept = _held(windows, inside, old, spread, lag) * inside
    new = kept.sum(axis=1) / after
    deviations = (kept - new[:, None]) * inside
    off = (windows - old[:, None]) * np.where(new > old, 1.0, -1.0)[:, None]
    far = inside & (off > FAR_OFF * spread[:, None])
    others = np.maximum((off * (inside & ~far)).sum(axis=1), 0.0)
    restless = _restless(series, begin, last, lag)
    if series.prior.degrees > 0.0:  # medians: of single runs, a glitch would count as a spread that grew
        restless = np.maximum(restless, _unsettled(series.points[begin:], last - lag, old, spread**2))
    others /= np.where(spread > 0.0, spread, 1.0) * np.sqrt(np.maximum(after - far.sum(axis=1), 1.0))
    return Split(
        before=before,
        after=after,
        shift=new - old,
        squares_before=squares,
        squares_after=np.einsum("ij,ij->i", deviations, deviations),
        products=known.products[which] + np.einsum("ij,ij->i", deviations[:, 1:], deviations[:, :-1]),
        tail=np.where(new > old, known.tail_up[which], known.tail_down[which]),
        outliers=known.outliers[which],
        far=(_windows(series.blocks[begin:], last, lag)[1] * far).sum(axis=1),
        others=others,
        precision=_sum(series.precision[begin:], last, lag) / after * restless,
        blocks=_sum(series.blocks[begin:], last, lag),
        runs=_sum(series.runs[begin:], last, lag),
    )


def _restless(series: Series, begin: int, last: Integers, lag: Integers) -> Floats:
    """By how much the runs of new points vary more than those of the old ones did; 1 where they don't, or nobody knows.

    The variance of few new runs is moderated by that of the old ones.
    """
    freedom = np.maximum(series.runs[begin:] - 2.0, 0.0)
    if not freedom.any():
        return np.ones(len(lag))
    squares, degrees = (np.concatenate([[0.0], of.cumsum()]) for of in (series.squares[begin:], freedom))
    first = last - lag + 1
    old = squares[first] / np.maximum(degrees[first], 1.0)
    new = squares[last + 1] - squares[first] + _LENT_DEGREES * old
    ratio = new / (degrees[last + 1] - degrees[first] + _LENT_DEGREES) / np.where(old > 0.0, old, 1.0)
    return np.where(old > 0.0, np.maximum(ratio, 1.0), 1.0)


def _unsettled(points: Floats, newest: Integers, level: Floats, variance: Floats) -> Floats:
    """By how much the points of an old level up to the *newest* vary more than all of it does; 1 where they don't.

    A spread that grew goes both ways before it looks like a new level. Few points say little, so they are moderated.
    """
    inside, windows = _windows(points, newest, np.minimum(newest + 1, _RECENT))
    unit = np.where(variance > 0.0, variance, 1.0)
    squares = np.minimum((windows - level[:, None]) ** 2 / unit[:, None], _MOST_OF_ONE_SQUARE) * inside
    ratio = (squares.sum(axis=1) + _LENT_DEGREES) / (inside.sum(axis=1) + _LENT_DEGREES)
    return np.where(variance > 0.0, np.maximum(ratio, 1.0), 1.0)


def _windows(points: Floats, last: Integers, lag: Integers) -> tuple[Flags, Floats]:
    """Which of them count, and the *lag* points up to each of *last*, the newest first: shape (len(last), longest)."""
    back = np.arange(lag.max())
    return back < lag[:, None], points[np.maximum(last[:, None] - back, 0)]


def _sum(points: Floats, last: Integers, lag: Integers) -> Floats:
    inside, windows = _windows(points, last, lag)
    return np.asarray((windows * inside).sum(axis=1))


def _held(windows: Floats, inside: Flags, old: Floats, spread: Floats, lag: Integers) -> Floats:
    """Points of the new level, held back if they lie farther off the old one than their middle does.

    Their middle is that of the middle points that is next to the old level. What lies far beyond it is an outlier
    whatever the level is, and counts as the middle.
    """
    shown = windows[:, :_ORDERED_UP_TO]
    ordered = np.where(inside[:, :_ORDERED_UP_TO], shown, np.inf)
    ordered.sort(axis=1)
    rows = np.arange(len(lag))
    few = lag <= _ORDERED_UP_TO
    place = np.where(few, (lag // 2 - 1) * (lag > 1), 0)
    opposite = np.where(few, lag - 1 - place, 0)
    middle = np.minimum(np.maximum(old, ordered[rows, place]), ordered[rows, opposite])
    middle = np.where(few, middle, old)
    room = np.where(lag > 1, _HELD[np.minimum(lag, len(_HELD) - 1)] * spread, np.inf)
    side = np.sign(middle - old)
    lowest = np.where(side == 0.0, -room, -np.inf)[:, None]
    sign = np.where(side < 0.0, -1.0, 1.0)[:, None]
    beyond = (windows - middle[:, None]) * sign
    kept = np.maximum(np.minimum(beyond, room[:, None]), lowest)
    kept = np.where((beyond > np.where(side == 0.0, np.inf, FAR_OFF * spread)[:, None]), 0.0, kept)
    return np.asarray(middle[:, None] + sign * kept)
