"""All ways to split a level into an old and a new one: which are worth a closer look, and what they weigh."""

from __future__ import annotations

import dataclasses

import msgspec
import numpy as np

from . import evidence
from .evidence import Flags, Floats, Integers, Numbers, Prior, Split, Weight, behind
from .levels import FAR_OFF, Levels, estimate, even_width, noise
from .series import TimeSeries

FEWEST_BLOCKS = 2  # what one block alone supports, however large, is its mood as likely: it raises no alarm
LAGS = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 24, 30, 40, 56, 80, 112, 160])
_ORDERED_UP_TO = 24
# How far from the middle, in standard deviations of the old level, points of a new one count in full, by their number.
_HELD = np.array([0.0, 0.0, 1.5, 2.0, 2.0, 2.0, 2.0, *[3.0] * (_ORDERED_UP_TO - 6), 3.5])
_WORTH_A_LOOK = 3.0  # plain means that differ by less than so many standard errors are not looked at
_BEYOND_REASON = 1e8
# Two glitches in a row make two single runs look like a new level, so more is asked of two. A median has no glitch, but
# two blocks of noise that has just grown look like one, too.
_LESS_OF_TWO_MEDIANS = 0.2
_SHORTEST_WITH_REPEATS = 16.0
_LENT_DEGREES = 4.0
_FEW_PLACES = 500
_NOISES_AT_ONCE = 500
_MANY_SPLITS = 500
# So many of the newest points of the old level say how it spreads today; each counts for so many variances at most.
_RECENT = 10
_MOST_OF_ONE_SQUARE = 9.0
_MOST_RESTLESS = 2.0**100  # beyond reason, and no variance times that overflows
# How far below the threshold the evidence on the logarithmic scale may stay, and how far above it it has to be alone.
LESS_ON_LOGARITHMS = 0.3
_MORE_ON_LOGARITHMS = 0.3


class Candidates(msgspec.Struct, frozen=True):
    last: Integers  # the last point of each
    split: Split
    weight: Weight
    excess: Floats  # by how much its score exceeds the threshold
    confirmed: Flags  # whether there are points enough for it


class Plateau(msgspec.Struct, frozen=True):
    """A level of a series, or of each of several beside each other, from where it begins."""

    series: TimeSeries
    begin: int
    prior: Prior  # what was known of the noise before it; of several, numbers of shape (series, 1) or (splits,)
    levels: Levels  # what is estimated of it


def every_lag(levels: Levels, last: int) -> tuple[Integers, Integers]:
    """All splits whose last point is *last*: last points and lags; a lag is the number of points on the new level."""
    lags = LAGS[last - LAGS + 1 >= levels.counts[0]]  # there is an old level
    return np.full(len(lags), last), lags


def candidates(of: Plateau, span: tuple[int, int]) -> tuple[Integers, Integers]:
    """Last points and lags of the splits in *span* of which the plain means differ: the others can't raise an alarm."""
    series, begin, prior, levels = of.series, of.begin, of.prior, of.levels
    beside, counts = series.beside, levels.counts[: len(levels.counts) // series.beside]
    (start, stop), least = span, int(counts[0])
    since = max(start + 1 - int(LAGS[-1]), least)
    # A row is what is known of all series before one point, from the first on that a new level may begin at.
    which = counts.searchsorted(np.arange(since, stop), side="right") - 1
    level = levels.level.reshape(beside, -1).T[which]
    known = levels.squares.reshape(beside, -1) + prior.degrees * prior.deviation**2
    bar = (_WORTH_A_LOOK**2 * (known / (counts - 1.0 + prior.degrees))).T[which]
    sums = _sums(series.points[begin:].reshape(beside, -1)[:, :stop], least, since).T.copy()
    if beside == 1 and stop - start < _FEW_PLACES:
        places = np.arange(start, stop)
        first = np.maximum(places[:, None] - LAGS + 1, least) - since
        shift = (sums[places - since + 1] - sums[first, 0]) / LAGS - level[first, 0]
        over = shift * shift > bar[first, 0] * (1.0 / LAGS + 1.0 / counts[which[first]])
        place, lags = (over & (places[:, None] - LAGS + 1 >= least)).nonzero()
        last, lag = places[place], LAGS[lags]
    else:
        last, lag = _lag_by_lag(span, since, len(series.points) // beside, level, bar, sums, counts[which])
    enough = series.blocks_from(begin + last - lag + 1, begin + last) >= FEWEST_BLOCKS
    return last[enough], lag[enough]


def _lag_by_lag(
    span: tuple[int, int], since: int, length: int, level: Floats, bar: Floats, sums: Floats, counts: Integers
) -> tuple[Integers, Integers]:
    """As `candidates`, so that little is computed at a time; all numbers are of points from *since* on."""
    start, stop = (place - since for place in span)
    found = []
    for lag in LAGS[stop >= LAGS].tolist():
        first = max(start + 1 - lag, 0)
        old = slice(first, stop - lag + 1)
        shift = (sums[first + lag :] - sums[first : stop - lag + 1]) / lag
        shift -= level[old]
        shift *= shift
        place, row = (shift > bar[old] * (1.0 / lag + 1.0 / counts[old, None])).nonzero()
        found.append((row * length + (since + first + lag - 1) + place, np.full(len(row), lag)))
    last, lags = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.lexsort((lags, last))
    return last[order], lags[order]


def _sums(points: Floats, least: int, since: int) -> Floats:
    """Running sums of each series *since* a point; points that would drown all others in rounding are held back."""
    first = np.sort(points[:, :least])
    middle = first[:, least // 2, None]
    room = _BEYOND_REASON * np.maximum(first[:, 3 * least // 4, None] - first[:, least // 4, None], np.abs(middle))
    room[room == 0.0] = np.inf
    held = np.minimum(np.maximum(points[:, since:], middle - room), middle + room)
    return np.concatenate([np.zeros((len(points), 1)), np.cumsum(held, axis=1)], axis=1)


def weigh(of: Plateau, found: tuple[Integers, Integers], *, at_best: bool = False) -> Candidates:
    """What the splits weigh of which these are the last points and lags.

    *at_best* is what they weigh if successive points aren't correlated and the old level has no outliers: no less, of
    at least eight points of which nothing was known before, and sooner computed. Then all are taken for confirmed.
    """
    (last, lag), series, prior = found, of.series, of.prior
    split = _split(of, last, lag, at_best=at_best)
    weight = evidence.weigh(split, prior)
    points = (last % (len(series.points) // series.beside) + 1).astype(float)
    excess = weight.score - evidence.threshold(split.after, length_of(of.begin, points, prior))
    if series.prior.degrees > 0.0:
        excess = excess + np.where(split.after == 2.0, _LESS_OF_TWO_MEDIANS, 0.0)
    confirmed = np.ones(len(lag), dtype=bool) if at_best else evidence.confirmed(split, weight, prior)
    return Candidates(last, split, weight, excess, confirmed)


def length_of(begin: int, points: Numbers, prior: Prior) -> Numbers:
    """The number of points that a threshold goes by: with what is known of the noise from elsewhere."""
    if begin == 0:
        return np.where(prior.degrees > 0.0, np.maximum(points, _SHORTEST_WITH_REPEATS), points)
    return points + prior.degrees


def _split(of: Plateau, last: Integers, lag: Integers, *, at_best: bool) -> Split:
    """The splits whose new level are the *lag* points up to *last*; *at_best* see :func:`weigh`."""
    series, begin, levels = of.series, of.begin, of.levels
    points = series.points[begin:].reshape(series.beside, -1)
    row, place = np.divmod(last, points.shape[1])
    each = len(levels.counts) // series.beside
    every = row * each + levels.counts[:each].searchsorted(place - lag + 1, side="right") - 1
    before = levels.counts[every].astype(float)
    old, squares = levels.level[every], levels.squares[every]
    spread = np.sqrt(squares / (before - 1.0))
    new, squares_after, products, far, others = np.empty((5, len(lag)))
    for some in _of_like_lags(lag):
        of_these = _new_levels(series, begin, last[some], lag[some], old[some], spread[some], at_best=at_best)
        new[some], squares_after[some], products[some], far[some], others[some] = of_these
    after = lag.astype(float)
    restless = _restless(series, begin, last, lag)
    if series.prior.degrees > 0.0:  # medians: of single runs, a glitch would count as a spread that grew
        restless = np.maximum(restless, _unsettled(series.points[begin:], last - lag, place - lag + 1, old, spread**2))
    tail, outliers = np.ones(len(lag)), np.zeros(len(lag))
    if at_best:
        products -= squares
    else:
        rows = np.flatnonzero(np.bincount(every))
        which = rows.searchsorted(every)
        # Of few levels at a time: what it holds is as large as all points of these.
        starts = range(0, len(rows), _NOISES_AT_ONCE)
        known = behind([noise(points, levels, rows[start : start + _NOISES_AT_ONCE]) for start in starts])
        products, outliers = known.products[which] + products, known.outliers[which]
        tail = known.tail(which, new > old, after)
    return Split(
        before=before,
        after=after,
        shift=new - old,
        squares_before=squares,
        squares_after=squares_after,
        products=products,
        tail=tail,
        outliers=outliers,
        far=far,
        others=others,
        precision=_sum(series, "precision", begin, last, lag) / after * restless,
        blocks=_sum(series, "blocks", begin, last, lag),
        runs=_sum(series, "runs", begin, last, lag),
    )


def _of_like_lags(lag: Integers) -> list[Integers] | list[slice]:
    """The splits in groups of which the lags are much the same, so that little is computed in vain; few together."""
    if len(lag) < _MANY_SPLITS:
        return [slice(None)]
    groups = -(-lag // 8)
    return [np.flatnonzero(groups == group) for group in np.unique(groups)]


def _new_levels(
    series: TimeSeries, begin: int, last: Integers, lag: Integers, old: Floats, spread: Floats, *, at_best: bool
) -> tuple[Floats, Floats, Floats, Numbers, Numbers]:
    """Of each split the new level, the sums of squares and of products about it, what lies far off and the rest."""
    inside, windows = _windows(series.points[begin:], last, lag)
    kept, counted = _held(windows, inside, old, spread, lag), inside.astype(float)
    kept *= counted
    new = kept.sum(axis=1) / lag
    kept -= new[:, None]
    kept *= counted
    if at_best:
        kept *= kept
        squares = kept.sum(axis=1)
        return new, squares, -squares, 0.0, 0.0
    off = windows
    off -= old[:, None]
    off *= np.where(new > old, 1.0, -1.0)[:, None]
    far = inside & (off > FAR_OFF * spread[:, None])
    off *= inside & ~far
    count = far.sum(axis=1)
    others = np.maximum(off.sum(axis=1), 0.0)
    others /= np.where(spread > 0.0, spread, 1.0) * np.sqrt(np.maximum(lag - count, 1.0))
    each = series.common.get("blocks")
    blocks = count * each if each else (_windows(series.blocks[begin:], last, lag)[1] * far).sum(axis=1)
    off[:, 0] = 0.0
    np.multiply(kept[:, 1:], kept[:, :-1], out=off[:, 1:])
    return new, (kept * kept).sum(axis=1), off.sum(axis=1), blocks, others


def _restless(series: TimeSeries, begin: int, last: Integers, lag: Integers) -> Floats:
    """By how much the runs of new points vary more than those of the old ones; 1 where they don't, or nobody knows.

    Both are lent what all of them say: that of few runs, each without its farthest, may be next to nothing by chance.
    """
    if not series.has_repeats:
        return np.ones(len(lag))
    freedom = np.maximum(series.runs[begin:] - 2.0, 0.0).reshape(series.beside, -1)
    told = np.asarray(freedom.any(axis=1))
    squares = series.squares[begin:].reshape(freedom.shape).cumsum(axis=1).ravel()
    degrees = freedom.cumsum(axis=1).ravel()
    before, lent = last - lag, _LENT_DEGREES * squares[last] / np.maximum(degrees[last], 1.0)
    old = (squares[before] + lent) / (degrees[before] + _LENT_DEGREES)
    new = (squares[last] - squares[before] + lent) / (degrees[last] - degrees[before] + _LENT_DEGREES)
    with np.errstate(over="ignore"):
        ratio = new / np.where(old > 0.0, old, 1.0)
    return np.where((old > 0.0) & told[last // freedom.shape[1]], np.clip(ratio, 1.0, _MOST_RESTLESS), 1.0)


def _unsettled(points: Floats, newest: Integers, count: Integers, level: Floats, variance: Floats) -> Floats:
    """By how much the *newest* of *count* points of an old level vary more than all of it; below 1 if they don't."""
    inside, windows = _windows(points, newest, np.minimum(count, _RECENT))
    unit = np.where(variance > 0.0, variance, np.inf)
    squares = np.minimum((windows - level[:, None]) ** 2 / unit[:, None], _MOST_OF_ONE_SQUARE) * inside
    return np.asarray((squares.sum(axis=1) + _LENT_DEGREES) / (inside.sum(axis=1) + _LENT_DEGREES))


def _windows(points: Floats, last: Integers, lag: Integers) -> tuple[Flags, Floats]:
    """Which of them count, and the *lag* points up to each of *last*, the newest first: shape (last, even width)."""
    width, first, stop = even_width(int(lag.max())), int(last.min()), int(last.max())
    newest_first = np.zeros(stop - first + width)
    shown = points[max(first - width + 1, 0) : stop + 1]
    newest_first[: len(shown)] = shown[::-1]
    every = np.ndarray((len(newest_first) - width + 1, width), buffer=newest_first, strides=2 * newest_first.strides)
    return np.asarray(np.arange(width) < lag[:, None]), every[stop - last]


def _sum(series: TimeSeries, name: str, begin: int, last: Integers, lag: Integers) -> Floats:
    """Of the *lag* numbers up to each of *last*."""
    if name in series.common:
        return np.asarray(series.common[name] * lag, dtype=np.float64)
    inside, windows = _windows(getattr(series, name)[begin:], last, lag)
    return np.asarray((windows * inside).sum(axis=1))


def _held(windows: Floats, inside: Flags, old: Floats, spread: Floats, lag: Integers) -> Floats:
    """Points of the new level, held back if farther off the old one than their middle; outliers count as that."""
    middle, few = old, lag <= _ORDERED_UP_TO
    if few.any():
        ordered = np.where(inside[:, :_ORDERED_UP_TO], windows[:, :_ORDERED_UP_TO], np.inf)
        ordered.sort(axis=1)
        rows, count = np.arange(len(lag)), np.minimum(lag, _ORDERED_UP_TO)
        place = np.maximum(count // 2 - 1, 0)
        middle = np.minimum(np.maximum(old, ordered[rows, place]), ordered[rows, count - 1 - place])
        middle = np.where(few, middle, old)
    room = _HELD[np.minimum(lag, len(_HELD) - 1)] * spread
    side = np.sign(middle - old)
    # Nor is a level what lies far beyond the old one on the other side.
    lowest = np.where(side == 0.0, -room, -np.abs(middle - old) - FAR_OFF * spread)[:, None]
    sign = np.where(side < 0.0, -1.0, 1.0)[:, None]
    beyond = windows - middle[:, None]
    beyond *= sign
    kept = np.minimum(beyond, room[:, None])
    np.maximum(kept, lowest, out=kept)
    np.copyto(kept, 0.0, where=beyond > np.where(side == 0.0, np.inf, FAR_OFF * spread)[:, None])
    kept *= sign
    kept += middle[:, None]
    return kept


def as_clear_on_logarithms(of: Plateau, found: Candidates, over: Integers) -> Integers:
    """Those of the splits *over* their threshold that are so, or nearly, if logarithms are compared."""
    points = _with_logarithms(of, found, over)
    if points is None:
        return over
    unsure = _shrinking(found, over, of.levels, float(points.min())) > found.excess[over] + LESS_ON_LOGARITHMS
    if not unsure.any():
        return over
    again = _on_logarithms(of, found, over[unsure], points)
    unsure[unsure] = again.excess < -LESS_ON_LOGARITHMS
    return over[~unsure]


def clearer_on_logarithms(of: Plateau, found: Candidates) -> Candidates:
    """*found*, in which levels with a factor of two between them are as clear as on the logarithmic scale."""
    far = np.flatnonzero((found.excess < 0.0) & is_doubled(of.levels, found.split))
    if not len(far):
        return found
    points = of.series.points[of.begin : of.begin + int(found.last[far].max()) + 1]
    others = points * points[0] <= 0.0  # with another sign: the first says nothing of the splits before it
    if others.any():
        far = far[found.last[far] < others.argmax()]
    logarithmic = _with_logarithms(of, found, far) if len(far) else None
    if logarithmic is None:
        return found
    again = _on_logarithms(of, found, far, logarithmic)
    excess = found.excess.copy()
    excess[far] = np.maximum(excess[far], again.excess - _MORE_ON_LOGARITHMS)
    weight = msgspec.structs.replace(found.weight, score=found.weight.score + excess - found.excess)
    return msgspec.structs.replace(found, weight=weight, excess=excess)


def is_doubled(levels: Levels, split: Split, row: Integers | int = 0, beside: int = 1) -> Flags:
    """Of which splits, each of the series *row* of so many *beside* each other, a level is twice the other one."""
    each = len(levels.counts) // beside
    old = levels.level[row * each + levels.counts[:each].searchsorted(split.before)]
    new = old + split.shift
    return np.asarray((old * new > 0.0) & (np.maximum(np.abs(old), np.abs(new)) > 2.0 * np.minimum(abs(old), abs(new))))


def _with_logarithms(of: Plateau, found: Candidates, which: Integers) -> Floats | None:
    """The points, or all of them with another sign, up to the end of the last of the splits; None if one has none."""
    points = of.series.points[of.begin : of.begin + int(found.last[which].max()) + 1]
    points = -points if points[0] < 0.0 else points
    return points if float(points.min()) > 0.0 else None


def _on_logarithms(of: Plateau, found: Candidates, asked: Integers, points: Floats) -> Candidates:
    """What the splits that are *asked* about weigh on the logarithmic scale; *points* are those that have one."""
    series, levels, prior = of.series, of.levels, of.prior
    span = slice(of.begin, of.begin + len(points))
    logarithms, squares = np.zeros(len(series.points)), series.squares.copy()
    # About 1, as the floor of a spread, which is what rounding leaves, goes by the level: in any unit the same.
    logarithms[span] = 1.0 + np.log(points / abs(float(levels.level[0])))
    squares[span] /= points
    squares[span] /= points
    splits = found.last[asked], found.split.after[asked].astype(np.int64)
    which = np.searchsorted(levels.counts, splits[0] - splits[1] + 1, side="right") - 1
    needed = estimate(logarithms[span], np.unique(levels.counts[which]))
    relative = Prior(prior.degrees, prior.deviation / abs(float(levels.level[0])), prior.correlation)
    series = dataclasses.replace(series, points=logarithms, squares=squares)
    return weigh(Plateau(series, of.begin, relative, needed), splits)


def _shrinking(found: Candidates, over: Integers, levels: Levels, smallest: float) -> Floats:
    """By how much scores may shrink on the logarithmic scale: no deviation is stretched by more than 1 / *smallest*."""
    before = found.split.before[over].astype(np.int64)
    old = np.abs(levels.level[levels.counts.searchsorted(before)])
    shift = np.abs(found.split.shift[over]) / old
    return np.asarray(found.weight.score[over] * (1.0 - smallest / old * np.log1p(shift) / np.maximum(shift, 1e-9)))
