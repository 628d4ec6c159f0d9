"""Series of one length beside each other, as arrays over series, and what is estimated of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from . import scan
from .evidence import Flags, Floats, Integers, Prior, behind, only
from .judge import Judgement
from .levels import FENCE, LEAST, QUARTILES, ROUNDING, Levels, counts_up_to, estimate
from .scan import Watched, watch
from .series import ARRAYS, Blocks, TimeSeries, Values, campaigns, held, precision, prepare, scale_of, single_runs

T = TypeVar("T")
S = TypeVar("S", np.float64, np.bool_)

# So many points estimates may be of at a time, so that they fit into little memory: with fewer, numpy's calls cost more
# than what they compute.
_AT_ONCE = 7_000_000
LONGEST_TOGETHER = 1000  # a series of more points has arrays of its own that are long enough


class Beside(msgspec.Struct, frozen=True):
    places: Integers  # of each among all that were asked about
    series: TimeSeries  # one behind the other
    prior: Prior  # that of each, numbers of shape (series, 1)
    scales: Floats  # what the values of each were divided by
    index: Integers  # of the points of each in its values, shape (series, n)

    @property
    def length(self) -> int:
        return len(self.series.points) // len(self.places)

    def rows(self, numbers: npt.NDArray[S]) -> npt.NDArray[S]:
        """Shape (series, n)."""
        return numbers.reshape(len(self.places), -1)

    def only(self, rows: Integers) -> Beside:
        series = dataclasses.replace(self.series.part(lambda array: self.rows(array)[rows].ravel()), beside=len(rows))
        return Beside(self.places[rows], series, only(self.prior, rows), self.scales[rows], self.index[rows])


def side_by_side(
    values: Iterable[Values],
    blocks: Iterable[Blocks | None],
    points: int | None,
    found: dict[int, Judgement | Watched],
) -> Iterator[Beside]:
    """Some series of one length at a time; what is seen along those that are too short or too long is *found* first."""
    groups: dict[tuple[int, int, bool], list[tuple[int, TimeSeries, float, Integers]]] = {}
    alone: dict[int, list[tuple[int, bytes, tuple[Flags, Integers] | None]]] = {}
    known: dict[int, tuple[Blocks, tuple[Flags, Integers]]] = {}  # series of the same runs share their blocks
    fewest = _least(Prior())
    for place, (one, of) in enumerate(zip(values, blocks, strict=True)):
        if len(one) > LONGEST_TOGETHER:
            found[place] = watch(one, points, of)
            continue
        single = single_runs(one)
        if single is not None and len(single) >= fewest:
            if of is not None and id(of) not in known:
                known[id(of)] = of, campaigns(of)
            told = None if of is None else known[id(of)][1]
            alone.setdefault(len(single), []).append((place, single.tobytes(), told))
            continue
        series, index, scale = prepare(one, of)
        if len(series.points) < _least(series.prior):
            found[place] = Watched(series, index, scale, scan.walk(series), (series, index))
        else:
            group = groups.setdefault((len(series.points), _least(series.prior), bool(series.prior.degrees > 0.0)), [])
            group.append((place, series, scale, index))
    for length, singles in alone.items():
        for some in _some(singles, length, fewest):
            yield _of_single_runs(*zip(*some, strict=True))
    for (length, least, _), several in groups.items():
        for those in _some(several, length, least):
            yield _of_prepared(*zip(*those, strict=True))


def _least(prior: Prior) -> int:
    """So many points a series needs to be judged."""
    return scan.least_history(prior) + 2


def _some(series: Sequence[T], length: int, least: int) -> Iterator[Sequence[T]]:
    """So many series at a time; each is estimated from so many of its points, from those before its first split on."""
    few = max(_AT_ONCE // (len(counts_up_to(length - 1, least - 2)) * length), 1)
    return (series[start : start + few] for start in range(0, len(series), few))


def _of_single_runs(
    places: Sequence[int], values: Sequence[bytes], fresh: Sequence[tuple[Flags, Integers] | None]
) -> Beside:
    points = np.frombuffer(b"".join(values)).reshape(len(places), -1).copy()
    first = np.sort(np.abs(points[:, :LEAST]))
    scales = np.ldexp(1.0, np.frexp(first[:, LEAST // 2])[1] - 1)
    for begun in np.flatnonzero(first[:, 0] == 0.0):
        scales[begun] = scale_of(points[begun])
    points = held(points, scales[:, None])
    flat, ones, nothing = points.ravel(), np.ones(points.size), np.zeros((len(places), 1))
    own, stretches = np.ones(points.shape), np.arange(points.size).reshape(points.shape)
    for row, of in enumerate(fresh):
        if of is not None:
            own[row], stretches[row] = of[0], of[1] + row * points.shape[1]
    empty = np.zeros(points.size)
    variance = precision(ones, stretches.ravel())
    series = TimeSeries(flat, ones, variance, Prior(), ones, own.ravel(), empty, stretches.ravel(), flat, len(places))
    index = np.broadcast_to(np.arange(points.shape[1]), points.shape)
    return Beside(np.array(places), series, Prior(nothing, nothing, nothing), scales, index)


def _of_prepared(
    places: Sequence[int], several: Sequence[TimeSeries], scales: Sequence[float], index: Sequence[Integers]
) -> Beside:
    arrays = {name: np.concatenate([getattr(one, name) for one in several]) for name in ARRAYS}
    # None goes on from one series into the next.
    arrays["stretches"] += np.repeat(np.arange(len(several)) * len(several[0].points), len(several[0].points))
    priors = [[[getattr(one.prior, name)] for one in several] for name in Prior.__struct_fields__]
    series = TimeSeries(**arrays, prior=several[0].prior, beside=len(several))
    return Beside(np.array(places), series, Prior(*map(np.array, priors)), np.array(scales), np.array(index))


# Up to so many points are inserted, of which numpy adds a row in one go; few counts beyond are asked about.
_INSERTED = 128
_LANES = 8  # in so many running sums numpy adds a row


def estimate_beside(points: Floats, counts: Integers) -> Levels:
    """What `estimate` gives of the same *points*, shape (series, n), to the last digit; the first of *counts* is small.

    The first points of all are kept in order by inserting one row after the other, so that nothing is sorted anew.
    """
    few = counts[counts <= _INSERTED]
    inserted = _inserted(np.ascontiguousarray(points[:, :_INSERTED].T), few)
    first = Levels(np.tile(few, len(points)), *[row.T.ravel() for row in inserted])
    return first if len(few) == len(counts) else behind([first, estimate(points, counts[len(few) :])], len(points))


def _inserted(points: Floats, counts: Integers) -> Floats:
    """The fields of `Levels` but the first, shape (6, counts, series), from *points* of shape (n, series)."""
    most = int(counts[-1])
    ordered, following, least = (np.full((most, points.shape[1]), np.inf) for _ in range(3))
    held = np.empty((-(-most // _LANES) * _LANES, points.shape[1]))
    found = np.empty((6, len(counts), points.shape[1]))
    place = 0
    for count in range(1, most + 1):
        np.minimum(ordered[:count], points[count - 1], out=least[:count])
        following[0] = least[0]
        np.maximum(least[1:count], ordered[: count - 1], out=following[1:count])
        ordered, following = following, ordered
        if count == counts[place]:
            _estimate(points[:count], ordered[:count], held, found[:, place])
            place += 1
    return found


def _estimate(points: Floats, ordered: Floats, held: Floats, found: Floats) -> None:
    """Fills in what is *found* of all these points; *held* is room for them."""
    level, squares, low, high, *_ = found
    count = len(points)
    found[4], found[5] = ordered[1], ordered[-2]
    first, third = (_quantile(ordered, float(share)) for share in QUARTILES.ravel())
    room = FENCE * (third - first)
    np.copyto(low, np.where(room > 0.0, first - room, ordered[1]))
    np.copyto(high, np.where(room > 0.0, third + room, ordered[-2]))
    kept = held[: -(-count // _LANES) * _LANES]
    np.maximum(points, low, out=kept[:count])
    np.minimum(kept[:count], high, out=kept[:count])
    kept[count:] = 0.0
    np.minimum(np.maximum(_sum(kept) / count, low), high, out=level)
    kept[:count] -= level
    kept *= kept
    np.add(_sum(kept), count * (ROUNDING * level) ** 2, out=squares)


def _quantile(ordered: Floats, share: float) -> Floats:
    place = share * (len(ordered) - 1)
    lower, upper = ordered[int(place)], ordered[int(place) + 1]
    return np.asarray(lower + (place - int(place)) * (upper - lower))


def _sum(rows: Floats) -> Floats:
    """Their sum, added in the order in which numpy adds a row that is filled up with zeros."""
    one, two, three, four, five, six, seven, eight = rows.reshape(-1, _LANES, rows.shape[1]).sum(axis=0)
    return np.asarray(((one + two) + (three + four)) + ((five + six) + (seven + eight)))
