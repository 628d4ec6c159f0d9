"""The values of a history as a series without gaps, with the blocks of runs behind each: what was measured together."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...grouped import grouped
from .evidence import Flags, Floats, Integers, Numbers, Prior
from .levels import LEAST

Values = Sequence["float | Sequence[float | None] | None"]
Blocks = Sequence[Sequence[tuple[int, int | None]]]
"""Of each run of each version its campaign and its round, None for none; both numbers are unique in the history.

A round below zero is that of one version, in a campaign that nobody recorded and that measured versions in their order.
"""
Places = int | Integers

# Half of the spread is taken to be between versions and half between repeats: repeats of one version share a machine
# and a build. Where versions don't seem to differ more than their repeats do, less of it.
_SHARED = 0.5
_SHARED_AT_LEAST = 0.25
_OF_A_MEDIAN = 1.35  # the variance of the median of a few normal values, relative to that of their mean
# In units of what the runs of a version spread without the farthest, which is about half a standard deviation.
_USUAL_ROOM = 3.0
_OF_THREE = 1.7  # standard deviation of three normal values, relative to their median distance from the middle one
_USUAL_OF_THE_FIRST = 6.0  # in units of the median distance of the first versions' runs from the middle one of theirs
# So much larger is the variance of a version within a campaign that goes on: it widens the error of a new level.
_HELD_MOOD = 2.0
LEAST_DEGREES = 6.0
_BETWEEN_DEGREES = 8.0
_MOST_DEGREES = 20.0
# Below `LEAST_DEGREES`, so that eight versions are the least history, as where nothing is known of the noise.
_SHARED_DEGREES = 5.9
OF_THE_PRIOR = 3  # so many first versions say what is known of the noise before
FARTHEST = 2.0**200  # in units of the first values
FEWEST_ROUNDS = 2  # rounds in common with earlier versions are evidence of their own from so many on
ENOUGH_BEFORE = 5  # so many versions of a campaign before a change in it say how much its versions differ anyway
AS_ONE_BLOCK = 2  # so many versions of such a campaign after the first one on a new level count as another block
NEAR_BEFORE = 20  # so many versions before a campaign say whether its mood is another one
_ROUNDING = 1e-9  # what the mean of points may be off, relative to them
_DROWNING = 1e6  # in units of the first points: larger ones would drown all others in the rounding of running sums


@dataclasses.dataclass(frozen=True)
class TimeSeries:
    """A series without gaps, or several of one length one behind the other: arrays with one entry a version."""

    points: Floats
    runs: Floats  # number of runs behind each
    precision: Floats  # variance of each point relative to one with the usual number of runs
    prior: Prior  # what repeats say of the noise, before the first point
    blocks: Floats  # number of blocks that speak for each by itself
    fresh: Floats  # how many of them don't speak for the point before it
    squares: Floats  # sum of squares of its runs within it, without the farthest one
    stretches: Integers  # equal for neighbours that one campaign measured one after the other, else rising
    means: Floats  # of the runs of each, held back where far off: better known than points, and one block can move them
    beside: int = 1  # so many series; the prior is that of each, or an array of theirs

    def part(self, of: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> TimeSeries:
        """What *of* gives of each of the arrays; of single runs several are one."""
        made: dict[int, Any] = {id(one): of(one) for one in (getattr(self, name) for name in ARRAYS)}
        return dataclasses.replace(self, **{name: made[id(getattr(self, name))] for name in ARRAYS})

    def blocks_from(self, first: Places, last: Places) -> Numbers:
        """How many blocks speak for the points from *first* to *last* together: places, or arrays of them."""
        sums = self._fresh_until
        return self.blocks[first] + sums[last] - sums[first] + self._within(first, last)

    def _within(self, first: Places, last: Places) -> Places:
        """The blocks beyond the first that the campaign which measured *first* and the points before it adds.

        None where these points lie nearer to the new ones than to those before the campaign: its mood may differ.
        """
        if self._in_turn is None:
            return 0
        starts, ends, sums = self._in_turn
        row, place = np.divmod(first, len(starts) // self.beside)
        begin, until = starts[first], last + 1
        before = (sums[first + row] - sums[begin + row]) / np.maximum(first - begin, 1)
        new = (sums[until + row] - sums[first + row]) / (until - first)
        # The first point of the series, where several lie behind each other.
        origin = first - place
        far = np.maximum(begin - NEAR_BEFORE, origin)
        earlier = np.where(begin > origin, (sums[begin + row] - sums[far + row]) / np.maximum(begin - far, 1), before)
        room = _ROUNDING * np.maximum(np.abs(before), np.abs(new))
        is_farther = np.abs(new - before) > np.abs(before - earlier) + room
        is_told = (first - begin >= ENOUGH_BEFORE) & is_farther
        return np.where(is_told, (np.minimum(ends[first], last) - first) // AS_ONE_BLOCK, 0)

    @functools.cached_property
    def common(self) -> dict[str, float]:
        """The integer that all numbers of a kind are, where they are one: it has not to be added up point by point."""
        kinds = {name: getattr(self, name) for name in ("precision", "blocks", "runs")}
        first = {name: float(numbers[0]) for name, numbers in kinds.items()}
        return {name: one for name, one in first.items() if one.is_integer() and (kinds[name] == one).all()}

    @property
    def speaks(self) -> Flags:
        """Whether a block speaks for each point that didn't for the one before, or rounds do, or a campaign goes on."""
        return np.asarray((self.fresh > 0.0) | (self.blocks > 1.0) | (np.diff(self.stretches, prepend=-1) == 0))

    @functools.cached_property
    def has_repeats(self) -> bool:
        """Whether any point is of more than two runs, so that their spread says something without the farthest one."""
        return bool((self.runs > 2.0).any())

    @functools.cached_property
    def _fresh_until(self) -> Floats:
        return np.cumsum(self.fresh)

    @functools.cached_property
    def _in_turn(self) -> tuple[Integers, Integers, Floats] | None:
        """Of each point where its stretch begins and ends, and running sums from 0; None where each is its own."""
        if (np.diff(self.stretches) > 0).all():
            return None
        starts = self.stretches.searchsorted(self.stretches)
        ends = self.stretches.searchsorted(self.stretches, side="right") - 1
        points = np.minimum(np.maximum(self.points, -_DROWNING), _DROWNING).reshape(self.beside, -1)
        return starts, ends, np.hstack([np.zeros((self.beside, 1)), np.cumsum(points, axis=1)]).ravel()


ARRAYS = [name for name in TimeSeries.__dataclass_fields__ if name not in ("prior", "beside")]


def prepare(values: Values, blocks: Blocks | None = None) -> tuple[TimeSeries, Integers, float]:
    """A series, the index of each of its points in *values*, and the factor that its points are to be multiplied with.

    A version is the median of its blocks, each of which is the median of its runs; without *blocks*, it is one.
    """
    single = single_runs(values)
    if single is not None:
        return _alone(np.array(single), blocks)
    repeats = [value if isinstance(value, Sequence | np.ndarray) else [value] for value in values]
    if blocks is None:
        blocks = [[(place, None)] * len(runs) for place, runs in enumerate(repeats)]
    every = [
        [(float(run), of) for run, of in zip(runs, block, strict=True) if run is not None and math.isfinite(run)]
        for runs, block in zip(repeats, blocks, strict=True)
    ]
    index = np.array([place for place, runs in enumerate(every) if runs], dtype=np.int64)
    kept = [runs for runs in every if runs]
    # A version of many disturbed runs is one of the first values, not all of them.
    scale = scale_of([sorted(abs(value) for value, _ in runs)[(len(runs) - 1) // 2] for runs in kept])
    kept = [[(_held(value / scale), block) for value, block in runs] for runs in kept]
    own, fresh, stretches = _evidence(kept)
    points = np.array([_of_blocks(*version) for version in zip(kept, own, strict=True)], dtype=np.float64)
    counts = np.array([len(runs) for runs in kept], dtype=np.float64)
    together = [[value for value, _ in runs] for runs in kept]
    series = TimeSeries(
        points,
        counts,
        precision(counts, stretches),
        _prior(together, stretches, own, fresh),
        np.array(own, dtype=np.float64),
        np.array(fresh, dtype=np.float64),
        squares := np.array([_restlessness(runs) for runs in together]),
        stretches,
        _means(together, squares, counts),
    )
    return series, index, scale


def single_runs(values: Values) -> array[float] | None:
    """The points of a series of one run a version without gaps; None for another."""
    every: Any = values
    try:
        points: array[float] = array("d", every)
    except TypeError:
        try:
            points = array("d", [run for (run,) in every])
        except (TypeError, ValueError):  # a gap, or several runs
            return None
    return points if math.isfinite(sum(points)) else None


def _alone(values: Floats, blocks: Blocks | None) -> tuple[TimeSeries, Integers, float]:
    """As `prepare`, faster, for versions of one run each."""
    scale, index = scale_of(values), np.arange(len(values))
    points, ones, none = held(values, scale), np.ones(len(values)), np.zeros(len(values))
    fresh, stretches = (ones, index) if blocks is None else campaigns(blocks)
    variance = precision(ones, stretches)
    return TimeSeries(points, ones, variance, Prior(), ones, fresh.astype(float), none, stretches, points), index, scale


def campaigns(blocks: Blocks) -> tuple[Flags, Integers]:
    """Of each single run whether the one before it is of another campaign, and its stretch."""
    of = np.array([version[0][0] for version in blocks])
    in_turn = np.array([(version[0][1] or 0) < 0 for version in blocks], dtype=bool)
    fresh = np.ones(len(blocks), dtype=bool)
    fresh[1:] = of[1:] != of[:-1]
    begins = fresh | ~in_turn
    begins[1:] |= ~in_turn[:-1]
    return fresh, np.maximum.accumulate(np.where(begins, np.arange(len(blocks)), 0))


_Run = tuple[float, tuple[int, int | None]]


def _evidence(versions: list[list[_Run]]) -> tuple[list[int], list[int], Integers]:
    """How many blocks speak for each version by itself, how many of them didn't for the one before it, and its stretch.

    Rounds that enough of the earlier versions have runs in, too, are one block each; else campaigns are. A stretch is
    the first of the versions that one campaign measured one after the other up to this one.
    """
    own, fresh, stretches = list[int](), list[int](), list[int]()
    earlier: dict[int, int] = {}
    before: set[int] = set()
    campaigns_before: set[int] = set()
    in_turn_before = False
    for place, runs in enumerate(versions):
        campaigns = {campaign for _, (campaign, _) in runs}
        rounds = {number for _, (_, number) in runs if number is not None}
        common = {number for number in rounds if earlier.get(number, 0) >= min(max(place, 1), ENOUGH_BEFORE)}
        if len(common) >= FEWEST_ROUNDS and len(common) >= len(campaigns):
            own.append(len(common))
            fresh.append(len(common - before))
        else:
            own.append(len(campaigns))
            fresh.append(len(campaigns - campaigns_before))
        in_turn = len(campaigns) == 1 and all((number or 0) < 0 for _, (_, number) in runs)
        stretches.append(stretches[-1] if in_turn and in_turn_before and campaigns == campaigns_before else place)
        earlier.update((number, earlier.get(number, 0) + 1) for number in rounds)
        before, campaigns_before, in_turn_before = rounds, campaigns, in_turn
    return own, fresh, np.array(stretches, dtype=np.int64)


def _of_blocks(runs: list[_Run], own: int) -> float:
    """The median of a version's blocks, each that of its runs: rounds where more speak for it than campaigns do."""
    by_round = own > len({campaign for _, (campaign, _) in runs})
    blocks = grouped((block if by_round else block[0], value) for value, block in runs)
    return median([median(values) for values in blocks.values()])


def _restlessness(runs: list[float]) -> float:
    """The sum of squared deviations from the median, without the farthest run: it may be disturbed."""
    middle = median(runs)
    return math.fsum(sorted((run - middle) ** 2 for run in runs)[:-1])


def _means(versions: list[list[float]], squares: Floats, counts: Floats) -> Floats:
    """The mean of each version's runs; what lies off their median by more than was usual before is held back."""
    usual = np.sqrt(squares.cumsum() / np.maximum(np.maximum(counts - 2.0, 0.0).cumsum(), 1.0))
    usual = np.concatenate([usual[:1], usual[:-1]])
    means = []
    for runs, room in zip(versions, _USUAL_ROOM * usual, strict=True):
        middle = median(runs)
        means.append(middle + math.fsum(min(max(run - middle, -room), room) for run in runs) / len(runs))
    return np.array(means, dtype=np.float64)


def scale_of(values: Sequence[float] | Floats) -> float:
    """What to divide the values of a series by: by the first that aren't zero, so that later ones don't change it."""
    first = sorted(itertools.islice((abs(float(value)) for value in values if value), LEAST))
    return power_of_two(first[len(first) // 2]) if first else 1.0


def _held(value: float) -> float:
    """As `held`, of one value: numpy takes twenty times as long."""
    return 0.0 if abs(value) < 1.0 / FARTHEST else min(max(value, -FARTHEST), FARTHEST)


def held(values: Floats, scale: Numbers) -> Floats:
    """*values* divided by their *scale*, and held back, or nothing, so that no square or quotient overflows."""
    with np.errstate(over="ignore", under="ignore"):
        kept = np.minimum(np.maximum(values / scale, -FARTHEST), FARTHEST)
    return np.where(np.abs(kept) < 1.0 / FARTHEST, 0.0, kept)


def power_of_two(largest: float) -> float:
    """What to divide by, so that squares neither overflow nor vanish; without rounding."""
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest > 0.0 else 1.0


def median(values: list[float]) -> float:
    """The middle one, or the mean of both middle ones, without overflow."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(values) % 2 else ordered[half - 1] + (ordered[half] - ordered[half - 1]) / 2.0


def precision(counts: Floats, stretches: Integers) -> Floats:
    """Variance of each point, relative to that of the least known one up to there: more repeats never cost an alarm."""
    variance = _SHARED + (1.0 - _SHARED) / counts
    goes_on = np.diff(stretches, prepend=-1) == 0  # a mood that holds: its versions say less
    return np.asarray(variance / np.maximum.accumulate(variance) * np.where(goes_on, _HELD_MOOD, 1.0))


def _prior(repeats: list[list[float]], stretches: Integers, own: list[int], fresh: list[int]) -> Prior:
    """What the repeats of the first versions say of the noise; nothing where there are none.

    Nor where one campaign measured these one after the other: its mood drifts, which repeats of one don't show.
    """
    if len(np.unique(stretches[:OF_THE_PRIOR])) < min(OF_THE_PRIOR, len(stretches)):
        return Prior()
    first = [runs for runs in repeats[:OF_THE_PRIOR] if len(runs) > 1]
    degrees = sum(len(runs) - 1 for runs in first)
    if degrees < LEAST_DEGREES or len(first) < OF_THE_PRIOR:
        return Prior()
    middles = [median(runs) for runs in first]
    # A disturbed run among them would hide as much.
    off = sorted(abs(run - middle) for runs, middle in zip(first, middles, strict=True) for run in runs)
    room = _USUAL_OF_THE_FIRST * median(off[len(first) :]) or off[-2]
    first = [
        [min(max(run, middle - room), middle + room) for run in runs]
        for runs, middle in zip(first, middles, strict=True)
    ]
    squares = sum(float(np.var(runs)) * len(runs) for runs in first)
    # The median of few runs, with some spread between versions too.
    usual = float(np.median([len(runs) for runs in first]))
    variance = squares / degrees * (_OF_A_MEDIAN / usual + _SHARED_AT_LEAST)
    # Rounds that the first four share, the fourth is the first that can be new, are one campaign of many versions.
    if sum(fresh[:OF_THE_PRIOR]) < OF_THE_PRIOR and min(own[1 : OF_THE_PRIOR + 1]) < FEWEST_ROUNDS:
        return Prior(_SHARED_DEGREES, math.sqrt(variance))
    # One of three that was measured differently would hide all that comes later, if their variance counted.
    between = (_OF_THREE * median([abs(one - median(middles)) for one in middles])) ** 2
    if between > variance:  # versions differ by more than their repeats do
        return Prior(_BETWEEN_DEGREES, math.sqrt(between))
    return Prior(min(float(degrees), _MOST_DEGREES), math.sqrt(variance))
