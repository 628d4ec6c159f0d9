"""The verdict on the newest version of a series."""

from __future__ import annotations

import enum
import itertools
import math

import msgspec
import numpy as np

from . import evidence, scan
from .changes import Estimate, Minimum, Move, estimates, goes_on, is_over, level, moves, reach, smallest_steps, split_of
from .evidence import Flags, Floats, Integers, Numbers, Prior, Split, Weight, only
from .scan import Watched, watch
from .series import Blocks, TimeSeries, Values
from .splits import FEWEST_BLOCKS, Candidates, Plateau, length_of

MINIMUM, ANY = Minimum(), Minimum(0.0)
_DOUBTFUL = -1.0
_MOST_RERUNS = 100
# The chance that the evidence anywhere in 100 points without a change exceeds the threshold by so much, as measured by
# `benchmarks/detector_thresholds.py`; beyond the last, it falls as the tail of a normal distribution does there.
_EXCESS = np.array([-2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25])
_CHANCE = np.array([1.0, 0.94, 0.59, 0.19, 0.1, 0.05, 0.02, 0.008, 0.003])
_DECAY = 4.0


class Kind(enum.Enum):
    """The verdict on a series; a change is one of a series whose direction isn't known."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    CHANGE = "change"
    NO_CHANGE = "no change"
    NOT_ENOUGH_HISTORY = "not enough history"


_OF_WORSE = {True: Kind.REGRESSION, False: Kind.IMPROVEMENT, None: Kind.CHANGE}


class Change(msgspec.Struct, frozen=True):
    """A new level of a series; indices are those of the versions that were passed, levels in the KPI's unit."""

    first: int  # the first version on the new level: the identity of the change, which later ones never move
    last_before: int  # the last version on the old level that has a value
    seen: int  # the version at which the change could first be told
    old_level: float
    new_level: float  # up to the next change
    is_worse: bool | None  # a regression, else an improvement; None if the direction isn't known
    takes_back: int | None = None  # first of the change that it took back sooner than the detector tells levels apart
    drifts_from: int | None = None  # first of the change that began the drift which it goes on; None for its own step


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on the newest version of a series; levels and differences are in the KPI's unit.

    After a change the verdict is about the last one, for as long as the series stays on its level: a regression that
    nobody repaired is one on each later version, with the same `first_bad`. Without a change the levels and the effect
    are those of the newest points against the points before them, where they look different most.
    """

    kind: Kind
    effect: Estimate | None = None  # new level / old level − 1; None if the old level isn't positive, or no new one
    difference: Estimate | None = None  # new level − old level; None if there is no new level
    old_level: float | None = None
    new_level: float | None = None
    first_bad: int | None = None  # index of the first version on the new level; None without a change
    last_good: int | None = None  # index of the last version with a value before it
    p_value: float | None = None  # the chance that 100 versions without any change look like this anywhere
    runs_before: int = 0  # behind the old and the new level, repeats included
    runs_after: int = 0
    # In a case of doubt, how many more runs would settle it if the newest ones are right; without enough history, how
    # many more versions the first verdict takes.
    reruns: int | None = None
    changes: tuple[Change, ...] = ()  # all that reach the minimum effect, in order
    suspicion: Judgement | None = None  # on a new level that the newest block alone shows: another one confirms it
    # The smallest further step that would have been seen by now in four of five cases, and the versions since it.
    would_show: tuple[float, int] | None = None
    is_one_block: bool = False  # only one block speaks for each new level that there could be


def change_points(values: Values, *, minimum: Minimum = ANY, blocks: Blocks | None = None) -> list[int]:
    """The indices of *values* at which a new level starts; arguments as those of `judge`.

    A drift is one change, where it begins; where it ended, a level starts as soon as it has lasted. Later versions add
    to the change points of the first ones and never move or remove one.
    """
    watched = watch(values, blocks=blocks)
    return [int(watched.index[move.first]) for move in _without_drifts(watched.series.points, _moves(watched, minimum))]


def judge(
    values: Values, *, lower_is_better: bool | None = None, minimum: Minimum = MINIMUM, blocks: Blocks | None = None
) -> Judgement:
    """The verdict on the newest version of a series.

    Args:
        values: one entry a version, in order: a number, or the repeats of this version, in any unit. None, NaN and
            infinite ones are gaps; the newest version is the last one that has a value.
        lower_is_better: the KPI's direction; None if there is none, so that no change is a regression.
        minimum: smallest step that counts, in the values' unit.
        blocks: of each run of each version its campaign and round; unless given, each version is a block.

    Called after each new version, it calls fewer than 1 in 100 series of 100 normal values without a change wrong, half
    of them with a regression; of series of a thousand, about 1 in 100.
    """
    return judge_watched(watch(values, blocks=blocks), lower_is_better=lower_is_better, minimum=minimum)


def judge_watched(watched: Watched, *, lower_is_better: bool | None = None, minimum: Minimum = MINIMUM) -> Judgement:
    """As :func:`judge`, of a series that was gone along already."""
    series, walk, limit = watched.series, watched.walk, _in_points(minimum, watched)
    found = _moves(watched, minimum)
    newest = scan.newest(series, walk)
    looks = None if newest is None else newest[1]
    suspicion = None if newest is None else _suspicion(watched, *newest, limit, lower_is_better)
    least = scan.least_history(series.prior) + 2
    if found:
        judgement = _changed(watched, found, lower_is_better)
    elif len(series.points) < least and suspicion is None:
        old = level(series.points) * watched.scale if len(series.points) else None
        runs, missing = int(series.runs.sum()), least - len(series.points)
        return Judgement(kind=Kind.NOT_ENOUGH_HISTORY, old_level=old, runs_before=runs, reruns=missing)
    else:
        judgement = _unchanged(watched, looks, limit)
    if looks is not None:
        (step,), (versions,) = smallest_steps(series, walk.begin, looks, limit)
        count = len(series.points) - walk.begin - scan.least_history(walk.prior)
        would_show, is_one_block = sight(float(step) * watched.scale, int(versions), count)
        judgement = msgspec.structs.replace(judgement, would_show=would_show, is_one_block=is_one_block)
    return judgement if suspicion is None else msgspec.structs.replace(judgement, suspicion=suspicion)


def changes_of(
    watched: Watched, *, lower_is_better: bool | None = None, minimum: Minimum = MINIMUM
) -> tuple[Change, ...]:
    """The changes that `judge_watched` sees, without a verdict on them."""
    return _changes(watched, _moves(watched, minimum), lower_is_better)


def p_values(watched: Watched, minimum: Minimum) -> list[float]:
    """Of each change the p-value that it had when the next one began, as `judge` would have said then."""
    series, alarms = watched.series, watched.walk.alarms
    found = _moves(watched, minimum)
    seen = dict(zip(map(id, alarms), itertools.accumulate((alarm.seen for alarm in alarms), max), strict=True))
    values = []
    for place, move in enumerate(found):
        stop = found[place + 1].first if place + 1 < len(found) else len(series.points)
        if max(seen[id(move.alarm)], move.seen) < stop:
            values.append(_weighed(series, move, stop)[2])
        else:  # it was seen later than that, or is only because of what was seen later
            p_value = judge_watched(watched.until(int(watched.index[stop - 1]) + 1), minimum=minimum).p_value
            assert p_value is not None  # a level that another one follows has history enough before it
            values.append(p_value)
    return values


def _in_points(minimum: Minimum, watched: Watched) -> Minimum:
    return Minimum(minimum.relative, minimum.absolute / watched.scale)


def _moves(watched: Watched, minimum: Minimum) -> list[Move]:
    return moves(watched.series.points, watched.walk.alarms, _in_points(minimum, watched), watched.walk.first)


def _without_drifts(points: Floats, found: list[Move]) -> list[Move]:
    """The moves that don't go on a drift, as far as could be told when each was seen, and those that ended one."""
    kept: list[Move] = []
    starts: list[int] = []  # of the levels since the last move that is kept
    was_up: bool | None = None
    for place, move in enumerate(found):
        is_up = _first_level(points, move) > move.old_level
        begin = kept[-1].first if is_up is was_up else move.first
        if goes_on(points[begin : move.seen + 1], [*starts, move.first - begin]):
            starts.append(move.first - begin)
            if is_over(points[begin : found[place + 1].seen if place + 1 < len(found) else len(points)], starts):
                kept.append(move)
                starts = []
        else:
            kept.append(move)
            starts, was_up = [], is_up
    return kept


def _first_level(points: Floats, move: Move) -> float:
    """The new level as it was when the change was seen: what it was called then, it stays."""
    return float(np.mean(points[move.first : move.seen + 1]))


def _changes(watched: Watched, found: list[Move], lower_is_better: bool | None) -> tuple[Change, ...]:
    points, index, scale, made = watched.series.points, watched.index, watched.scale, list[Change]()
    for place, move in enumerate(found):
        until = found[place + 1].old[1] if place + 1 < len(found) else len(points)
        first, last_before, seen = (int(index[at]) for at in (move.first, move.first - 1, move.seen))
        new = level(points[move.first : until]) * scale
        is_up = _first_level(points, move) > move.old_level
        is_worse = None if lower_is_better is None else is_up == lower_is_better
        made.append(Change(first, last_before, seen, move.old_level * scale, new, is_worse))
    return tuple(made)


def _suspicion(
    watched: Watched, of: Plateau, found: Candidates, limit: Minimum, lower_is_better: bool | None
) -> Judgement | None:
    """On a new level of the newest points, if there would be one were there a second block behind them."""
    series, index, begin, scale = watched.series, watched.index, of.begin, watched.scale
    best = scan.suspicious(of, found)
    if best is None:
        return None
    split, weight = only(found.split, best), only(found.weight, best)
    first, shift = len(series.points) - int(split.after), float(split.shift)
    old = level(series.points[begin:first])
    new = old + shift
    if not limit.reached(old, new):
        return None
    effect, difference = estimates(shift, old, float(reach(weight)), scale, is_found=True)
    return Judgement(
        kind=_OF_WORSE[None if lower_is_better is None else (new > old) == lower_is_better],
        effect=effect,
        difference=difference,
        old_level=old * scale,
        new_level=new * scale,
        first_bad=int(index[first]),
        last_good=int(index[first - 1]),
        runs_before=int(series.runs[begin:first].sum()),
        runs_after=int(series.runs[first:].sum()),
    )


def _changed(watched: Watched, found: list[Move], lower_is_better: bool | None) -> Judgement:
    series, move = watched.series, found[-1]
    changes = _changes(watched, found, lower_is_better)
    split, weight, p_value = _weighed(series, move, len(series.points))
    effect, difference = estimates(
        float(split.shift), move.old_level, float(reach(weight)), watched.scale, is_found=True
    )
    return Judgement(
        kind=_OF_WORSE[changes[-1].is_worse],
        effect=effect,
        difference=difference,
        old_level=changes[-1].old_level,
        new_level=changes[-1].new_level,
        first_bad=changes[-1].first,
        last_good=changes[-1].last_before,
        p_value=p_value,
        runs_before=int(series.runs[slice(*move.old)].sum()),
        runs_after=int(series.runs[move.first :].sum()),
        changes=changes,
    )


def _weighed(series: TimeSeries, move: Move, stop: int) -> tuple[Split, Weight, float]:
    """The new level up to *stop* against the old one, and the p-value of that."""
    old, new = series.points[slice(*move.old)], slice(move.first, stop)
    split = split_of(old, series.points[new], series.precision[new], series.runs[new])
    prior = Prior(scan.MOST_CARRIED, move.alarm.deviation, move.alarm.correlation)
    weight = evidence.weigh(split, prior if len(old) < scan.MOST_CARRIED else Prior())
    now = float(weight.score - evidence.threshold(split.after, len(old) + stop - move.first))
    return split, weight, chance(max(now, move.alarm.excess))


def _unchanged(watched: Watched, found: Candidates | None, limit: Minimum) -> Judgement:
    """The verdict without a change that matters: where the newest points look most like one, and how close that is."""
    series, walk = watched.series, watched.walk
    points, runs = series.points[walk.begin :], series.runs[walk.begin :]
    if found is None:  # right after a step that is too small to count
        old, every = level(points) * watched.scale, int(runs.sum())
        return Judgement(kind=Kind.NO_CHANGE, old_level=old, p_value=1.0, runs_before=every)
    best = int(np.argmax(found.excess))
    split, excess = only(found.split, best), found.excess[best]
    first, shift = len(points) - int(split.after), float(split.shift)
    old = level(points[:first])
    more = 0
    if doubtful(excess, old, shift, limit):
        more = int(reruns(split, len(series.points), walk.begin, walk.prior)[0])
    before_after = int(runs[:first].sum()), int(runs[first:].sum())
    wide = float(reach(only(found.weight, best)))
    return no_change(shift, wide, old, watched.scale, float(chance_of_none(excess)), before_after, more)


def sight(step: float, versions: int, count: int) -> tuple[tuple[float, int] | None, bool]:
    """What step would show in how many versions, of *count* that could be new, and whether only one block speaks."""
    is_known = versions != 0 and math.isfinite(step)
    return (step, versions) if is_known else None, versions == 0 and count >= FEWEST_BLOCKS


def doubtful(excess: Floats, old: Numbers, shift: Numbers, minimum: Minimum) -> Flags:
    """Whether more runs may show that a change is one: elementwise."""
    return (excess >= _DOUBTFUL) & minimum.reached(old, old + shift)


def no_change(
    shift: float,
    reach: float,
    old: float,
    scale: float,
    p_value: float,
    runs: tuple[int, int],
    more: int,
    seen: tuple[tuple[float, int] | None, bool] = (None, False),
) -> Judgement:
    """The verdict where a *shift* looks most like a change, and so many *more* runs would show one; 0 for none."""
    effect, difference = estimates(shift, old, reach, scale)
    return Judgement(
        kind=Kind.NO_CHANGE,
        effect=effect,
        difference=difference,
        old_level=old * scale,
        new_level=(old + shift) * scale,
        p_value=p_value,
        runs_before=runs[0],
        runs_after=runs[1],
        reruns=more or None,
        would_show=seen[0],
        is_one_block=seen[1],
    )


def reruns(split: Split, points: int, begin: int, prior: Prior) -> Integers:
    """How many more runs raise the alarm if they lie where the newest points do; 0 if a hundred don't."""
    more = np.arange(1.0, _MOST_RERUNS + 1.0)[None]
    after = split.after + more
    share = after / split.after
    longer = msgspec.structs.replace(
        split,
        after=after,
        squares_after=split.squares_after * share,
        far=split.far * share,
        others=split.others * np.sqrt(share),
        blocks=split.blocks + more,
        runs=split.runs + more,
    )
    weight = evidence.weigh(longer, prior)
    enough = weight.score >= evidence.threshold(after, length_of(begin, more + float(points - begin), prior))
    enough &= evidence.confirmed(longer, weight, prior)
    return np.where(enough.any(axis=1), enough.argmax(axis=1) + 1, 0)


def chance(excess: float) -> float:
    """The p-value of evidence that exceeds the threshold by *excess* standard deviations."""
    if excess >= _EXCESS[-1]:
        return float(_CHANCE[-1]) * math.exp(-_DECAY * min(excess - float(_EXCESS[-1]), 100.0))
    return float(np.exp(np.interp(excess, _EXCESS, np.log(_CHANCE))))


def chance_of_none(excess: Floats) -> Floats:
    """That of evidence that raised no alarm: what is above the threshold was held to be outliers. Elementwise."""
    found: Floats = np.exp(np.interp(np.minimum(excess, 0.0), _EXCESS, np.log(_CHANCE)))
    return found
