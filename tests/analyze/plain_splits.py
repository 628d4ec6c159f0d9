"""What a split of a level weighs, computed slowly and plainly: one split, one point at a time."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import special

from matrix_benchmarking.analyze.detect.evidence import Floats, Split
from matrix_benchmarking.analyze.detect.series import TimeSeries

LAGS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 24, 30, 40, 56, 80, 112, 160)


@dataclasses.dataclass
class Level:
    """An old level: what its points are with outliers held back, and what else is known of them."""

    level: float
    squares: float
    low: float
    high: float
    second_low: float
    second_high: float
    products: float
    tail_up: float
    tail_down: float
    skew: float
    outliers: int

    @property
    def spread(self) -> float:
        return float(np.sqrt(self.squares / (self.count - 1)))

    count: int = 0


def level_of(points: Floats) -> Level:
    count, ordered = len(points), np.sort(points)
    first, third = np.percentile(points, [25, 75])
    room = 1.7 * (third - first)
    low, high = (first - room, third + room) if room > 0 else (ordered[1], ordered[-2])
    level = float(np.clip(points, low, high).mean())
    off = np.clip(points, low, high) - level
    squares = float((off**2).sum()) + count * (1e-12 * level) ** 2
    spread = np.sqrt(squares / (count - 1)) or 1.0
    enough = max(count, 8)  # fewer tell of no tail
    usual = spread * (special.ndtri((enough - 1.375) / (enough + 0.25)) + 0.15)
    skew = ((off / spread) ** 3).mean()
    return Level(
        level,
        squares,
        float(low),
        float(high),
        float(ordered[1]),
        float(ordered[-2]),
        float((off[1:] * off[:-1]).sum()),
        max((ordered[-2] - level) / usual, 1.0),
        max((level - ordered[1]) / usual, 1.0),
        skew,
        int((np.abs(points - level) > 4.0 * np.sqrt(squares / (count - 1))).sum()),
        count,
    )


def held(new: Floats, old: float, spread: float) -> Floats:
    """Points of a new level, as they count for it."""
    count, ordered = len(new), np.sort(new)
    middle = old
    if count <= 24:
        half = max(count // 2 - 1, 0)
        middle = min(max(old, ordered[half]), ordered[count - 1 - half])
    if count == 1:
        return new
    room = spread * (1.5 if count == 2 else 2.0 if count <= 6 else 3.0 if count <= 24 else 3.5)
    kept = []
    for point in new:
        if middle == old:
            kept.append(min(max(point, old - room), old + room))
        else:
            beyond = point - middle if middle > old else middle - point
            beyond = 0.0 if beyond > 4.0 * spread else min(beyond, room)
            beyond = max(beyond, -abs(middle - old) - 4.0 * spread)
            kept.append(middle + beyond if middle > old else middle - beyond)
    return np.array(kept)


def split_of(series: TimeSeries, begin: int, last: int, lag: int, count: int) -> Split:
    """The split of the level that starts at *begin*, whose old level is told from its first *count* points."""
    stop = begin + last + 1
    first = stop - lag
    old, points = level_of(series.points[begin : begin + count]), series.points[first:stop]
    new = held(points, old.level, old.spread)
    is_up = new.mean() > old.level
    tail, skew = (old.tail_up, old.skew) if is_up else (old.tail_down, -old.skew)
    off = (points - old.level) * (1 if is_up else -1)
    far = off > 4.0 * old.spread
    return Split(
        before=float(count),
        after=float(lag),
        shift=new.mean() - old.level,
        squares_before=old.squares,
        squares_after=((new - new.mean()) ** 2).sum(),
        products=old.products + ((new - new.mean())[1:] * (new - new.mean())[:-1]).sum(),
        tail=max(1.0 + (tail - 1.0) * min(2.0 / lag, 1.0), min(tail, 1.25), 1.0 + 0.4 * (skew - 0.3)),
        outliers=float(old.outliers),
        far=series.blocks[first:stop][far].sum(),
        others=max(off[~far].sum(), 0.0) / old.spread / np.sqrt(max((~far).sum(), 1)),
        precision=series.precision[first:stop].mean() * restlessness(series, begin, first, stop, old),
        blocks=series.blocks[first:stop].sum(),
        runs=series.runs[first:stop].sum(),
    )


def restlessness(series: TimeSeries, begin: int, first: int, stop: int, old: Level) -> float:
    """By how much the new runs vary more than the old ones, or the newest old points more than all of them."""
    ratios = [1.0]
    freedom = np.maximum(series.runs - 2.0, 0.0)
    lent = 4.0 * series.squares[begin:stop].sum() / max(freedom[begin:stop].sum(), 1.0)
    usual, new = (
        (series.squares[part].sum() + lent) / (freedom[part].sum() + 4.0)
        for part in (slice(begin, first), slice(first, stop))
    )
    if usual > 0.0:
        ratios.append(new / usual)
    if series.prior.degrees > 0.0:
        newest = series.points[max(begin, first - 10) : first]
        squares = np.minimum((newest - old.level) ** 2 / old.spread**2, 9.0)
        ratios.append((squares.sum() + 4.0) / (len(newest) + 4.0))
    return float(max(ratios))
