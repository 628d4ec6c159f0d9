"""The verdict on the newest version of a series."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np

from . import evidence, scan
from .changes import Minimum, Step, goes_on, is_over, level, steps
from .effects import CONFIDENCE, check_confidence, checked, estimates, reach, smallest_steps, split_of
from .evidence import Floats, Prior, Split, Weighed, only
from .judgement import Judgement, Kind, LevelChange, Suspicion
from .levels import Integers, Levels
from .scan import Watched, watch
from .series import Blocks, TimeSeries, Values
from .splits import FEWEST_BLOCKS, Evidence, length_of

MINIMUM_EFFECT = 0.01
_DOUBTFUL = -1.0
_MOST_RERUNS = 100
# The chance that the evidence anywhere in 100 points without a change exceeds the threshold by so much, as measured by
# `benchmarks/detector_thresholds.py`; beyond the last, it falls as the tail of a normal distribution does there.
_EXCESS = np.array([-2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25])
_CHANCE = np.array([1.0, 0.94, 0.59, 0.19, 0.1, 0.05, 0.02, 0.008, 0.003])
_DECAY = 4.0


def change_points(
    values: Values,
    *,
    minimum_effect: float = 0.0,
    minimum_effect_absolute: float = 0.0,
    blocks: Blocks | None = None,
) -> list[int]:
    """The indices of *values* at which a new level starts.

    Args:
        values: one entry a version, in order: a number, or the repeats of this version, in any unit. None, NaN and
            infinite ones are gaps.
        minimum_effect: smallest step that counts, as a fraction of the old level.
        minimum_effect_absolute: the same in the values' unit.
        blocks: of each run of each version its campaign and round; unless given, each version is a block.

    A drift is one change, where it begins; where it ended, a level starts as soon as it has lasted. The change points
    of the first versions are the beginning of those of all versions: later versions add to them and never move or
    remove one.

    Raises:
        InvalidThresholdError: a minimum effect is negative or not a number.
    """
    watched = watch(values, blocks=blocks)
    found, _ = _steps(watched, minimum_effect, minimum_effect_absolute)
    return [int(watched.index[step.first]) for step in _without_drifts(watched.series.points, found)]


def _steps(watched: Watched, minimum_effect: float, minimum_effect_absolute: float) -> tuple[list[Step], Minimum]:
    """The changes that matter, and the smallest effect that does, in the unit of the series' points."""
    minimum = checked(minimum_effect, minimum_effect_absolute)
    minimum = Minimum(minimum.relative, minimum.absolute / watched.scale)
    return steps(watched.series.points, watched.walk.alarms, minimum), minimum


def _without_drifts(points: Floats, found: list[Step]) -> list[Step]:
    """The steps that don't go on a drift, as far as could be told when each was seen, and those that ended one."""
    kept: list[Step] = []
    starts: list[int] = []  # of the levels since the last step that is kept
    was_up: bool | None = None
    for step, following in itertools.pairwise([*found, None]):
        assert step is not None
        is_up = _first_level(points, step) > step.old_level
        begin = kept[-1].first if is_up is was_up else step.first
        if goes_on(points[begin : step.seen + 1], [*starts, step.first - begin]):
            starts.append(step.first - begin)
            if is_over(points[begin : following.seen if following else len(points)], starts):
                kept.append(step)
                starts = []
        else:
            kept.append(step)
            starts, was_up = [], is_up
    return kept


def judge(
    values: Values,
    *,
    lower_is_better: bool | None = None,
    minimum_effect: float = MINIMUM_EFFECT,
    minimum_effect_absolute: float = 0.0,
    confidence: float = CONFIDENCE,
    blocks: Blocks | None = None,
) -> Judgement:
    """The verdict on the newest version of a series.

    Args:
        values: one entry a version, in order: a number, or the repeats of this version, in any unit. None, NaN and
            infinite ones are gaps; the newest version is the last one that has a value.
        lower_is_better: the KPI's direction; None if there is none, so that no change is a regression.
        minimum_effect: smallest step that counts, as a fraction of the old level.
        minimum_effect_absolute: the same in the values' unit, for KPIs that can be zero. A step has to reach both.
        confidence: of the intervals.
        blocks: of each run of each version its campaign and round; unless given, each version is a block.

    Called after each new version, it calls fewer than 1 in 100 series of 100 normal values without a change wrong, half
    of them with a regression; of series of a thousand, about 1 in 100.

    Raises:
        InvalidThresholdError: a minimum effect is negative or not a number, the confidence isn't between 0 and 1.
    """
    return judge_watched(
        watch(values, blocks=blocks),
        lower_is_better=lower_is_better,
        minimum_effect=minimum_effect,
        minimum_effect_absolute=minimum_effect_absolute,
        confidence=confidence,
    )


def judge_watched(
    watched: Watched,
    *,
    lower_is_better: bool | None = None,
    minimum_effect: float = MINIMUM_EFFECT,
    minimum_effect_absolute: float = 0.0,
    confidence: float = CONFIDENCE,
) -> Judgement:
    """As :func:`judge`, of a series that was gone along already."""
    check_confidence(confidence)
    series, index, scale, walk = watched.series, watched.index, watched.scale, watched.walk
    found, minimum = _steps(watched, minimum_effect, minimum_effect_absolute)
    changes = tuple(_change(series.points, index, scale, found, place, lower_is_better) for place in range(len(found)))
    newest = scan.newest(series, walk)
    looks = None if newest is None else newest[1]
    suspicion = None if newest is None else _suspicion(watched, *newest, minimum, lower_is_better, confidence)
    least = scan.least_history(series.prior) + 2
    if found:
        judgement = _changed(series, scale, found[-1], changes, confidence)
    elif len(series.points) < least and suspicion is None:
        return _too_short(series, scale, least)
    else:
        judgement = _unchanged(series, scale, walk, looks, minimum, confidence)
    would_show, is_one_block = (None, False) if looks is None else _sight(watched, looks, minimum)
    return dataclasses.replace(judgement, suspicion=suspicion, would_show=would_show, is_one_block=is_one_block)


Sight = tuple[tuple[float, int] | None, bool]
"""What step would have been seen within how many versions, and whether only one block speaks."""


def _sight(watched: Watched, newest: Evidence, minimum: Minimum) -> Sight:
    walk = watched.walk
    (step,), (versions,) = smallest_steps(watched.series, walk.begin, newest, minimum)
    count = len(watched.series.points) - walk.begin - scan.least_history(walk.prior)
    return sight(float(step) * watched.scale, int(versions), count)


def sight(step: float, versions: int, count: int) -> Sight:
    """What `smallest_steps` says of a series, *count* versions of which could be new."""
    return (
        None if versions == 0 or not math.isfinite(step) else (step, versions)
    ), versions == 0 and count >= FEWEST_BLOCKS


def _suspicion(
    watched: Watched,
    levels: Levels,
    found: Evidence,
    minimum: Minimum,
    lower_is_better: bool | None,
    confidence: float,
) -> Suspicion | None:
    """A new level of the newest points, if it would be one were there a second block behind them."""
    series, index, walk, scale = watched.series, watched.index, watched.walk, watched.scale
    best = scan.suspicious(series, walk, levels, found)
    if best is None:
        return None
    split, weighed = only(found.split, best), only(found.weighed, best)
    first = len(series.points) - int(split.after)
    old = level(series.points[walk.begin : first])
    shift = float(split.shift)
    new = old + shift
    if not minimum.reached(old, new):
        return None
    effect, difference = estimates(shift, old, float(reach(weighed, confidence)), scale)
    return Suspicion(
        int(index[first]),
        int(index[first - 1]),
        old * scale,
        new * scale,
        effect,
        difference,
        int(series.runs[walk.begin : first].sum()),
        int(series.runs[first:].sum()),
        None if lower_is_better is None else (new > old) == lower_is_better,
    )


def changes_of(
    watched: Watched,
    *,
    lower_is_better: bool | None = None,
    minimum_effect: float = MINIMUM_EFFECT,
    minimum_effect_absolute: float = 0.0,
) -> tuple[LevelChange, ...]:
    """The changes that `judge_watched` sees, without a verdict on them."""
    series, index, scale = watched.series, watched.index, watched.scale
    found, _ = _steps(watched, minimum_effect, minimum_effect_absolute)
    return tuple(_change(series.points, index, scale, found, place, lower_is_better) for place in range(len(found)))


def _change(
    points: Floats, index: Integers, scale: float, found: list[Step], place: int, lower_is_better: bool | None
) -> LevelChange:
    step = found[place]
    until = found[place + 1].old[1] if place + 1 < len(found) else len(points)
    old, new = step.old_level * scale, level(points[step.first : until]) * scale
    worse = None if lower_is_better is None else bool((_first_level(points, step) > step.old_level) == lower_is_better)
    return LevelChange(int(index[step.first]), int(index[step.seen]), int(index[step.first - 1]), old, new, worse)


def _first_level(points: Floats, step: Step) -> float:
    """The new level as it was when the change was seen: what it was called then, it stays."""
    return float(np.mean(points[step.first : step.seen + 1]))


def _changed(
    series: TimeSeries, scale: float, step: Step, changes: tuple[LevelChange, ...], confidence: float
) -> Judgement:
    """The verdict after at least one change: it is about the last one."""
    split, weighed, p_value = _weighed(series, step, len(series.points))
    change = changes[-1]
    kind = {True: Kind.REGRESSION, False: Kind.IMPROVEMENT, None: Kind.CHANGE}[change.worse]
    effect, difference = estimates(float(split.shift), step.old_level, float(reach(weighed, confidence)), scale)
    return Judgement(
        kind,
        effect,
        difference,
        change.old_level,
        change.new_level,
        change.first,
        change.last_before,
        p_value,
        int(series.runs[slice(*step.old)].sum()),
        int(series.runs[step.first :].sum()),
        None,
        changes,
    )


def _weighed(series: TimeSeries, step: Step, stop: int) -> tuple[Split, Weighed, float]:
    """The new level up to *stop* against the old one, and the p-value of that."""
    old, new = series.points[slice(*step.old)], slice(step.first, stop)
    split = split_of(old, series.points[new], series.precision[new], series.runs[new])
    prior = Prior(scan.MOST_CARRIED, step.alarm.deviation, step.alarm.correlation)
    weighed = evidence.weigh(split, prior if len(old) < scan.MOST_CARRIED else Prior())
    now = float(weighed.score - evidence.threshold(split.after, len(old) + stop - step.first))
    return split, weighed, float(chance(max(now, step.alarm.excess)))


def p_values(watched: Watched, minimum_effect: float, minimum_effect_absolute: float) -> list[float]:
    """Of each change the p-value that it had when the next one began, as `judge` would have said then."""
    series, alarms = watched.series, watched.walk.alarms
    found, _ = _steps(watched, minimum_effect, minimum_effect_absolute)
    seen = dict(zip(map(id, alarms), itertools.accumulate((alarm.seen for alarm in alarms), max), strict=True))
    values = []
    for place, step in enumerate(found):
        stop = found[place + 1].first if place + 1 < len(found) else len(series.points)
        if max(seen[id(step.alarm)], step.seen) < stop:
            values.append(_weighed(series, step, stop)[2])
        else:  # it was seen later than that, or is only because of what was seen later
            before = watched.until(int(watched.index[stop - 1]) + 1)
            p_value = judge_watched(
                before, minimum_effect=minimum_effect, minimum_effect_absolute=minimum_effect_absolute
            ).p_value
            assert p_value is not None  # a level that another one follows has history enough before it
            values.append(p_value)
    return values


def _too_short(series: TimeSeries, scale: float, least: int) -> Judgement:
    points = series.points
    old = level(points) * scale if len(points) else None
    missing = least - len(points)
    runs = int(series.runs.sum())
    return Judgement(Kind.NOT_ENOUGH_HISTORY, None, None, old, None, None, None, None, runs, 0, missing, ())


def _unchanged(
    series: TimeSeries, scale: float, walk: scan.Walk, found: Evidence | None, minimum: Minimum, confidence: float
) -> Judgement:
    """The verdict without a change that matters: where the newest points look most like one, and how close that is."""
    begin = walk.begin
    if found is None:  # right after a step that is too small to count
        every = int(series.runs[begin:].sum())
        old = level(series.points[begin:]) * scale
        return Judgement(Kind.NO_CHANGE, None, None, old, None, None, None, 1.0, every, 0, None, ())
    best = int(np.argmax(found.excess))
    split, weighed, excess = only(found.split, best), only(found.weighed, best), float(found.excess[best])
    first, shift, wide = len(series.points) - int(split.after), float(split.shift), float(reach(weighed, confidence))
    old = level(series.points[begin:first])
    more = reruns(split, len(series.points), begin, walk.prior)[0] if doubtful(excess, old, shift, minimum) else 0
    runs = int(series.runs[begin:first].sum()), int(series.runs[first:].sum())
    return no_change(shift, wide, old, scale, float(chance_of_none(excess)), runs, int(more))


def doubtful(excess: Any, old: Any, shift: Any, minimum: Minimum) -> Any:
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
    seen: Sight | tuple[()] = (),
) -> Judgement:
    """The verdict where a *shift* from the level *old*, known within its *reach*, looks most like a change.

    *runs* are those before and after it, and so many *more* would show that it is one; 0 for none. *seen* is what
    `sight` gives.
    """
    effect, difference = estimates(shift, old, reach, scale)
    return Judgement(
        Kind.NO_CHANGE,
        effect,
        difference,
        old * scale,
        (old + shift) * scale,
        None,
        None,
        p_value,
        *runs,
        more or None,
        (),
        None,
        *seen,
    )


def reruns(split: Split, points: int, begin: int, prior: Prior) -> Integers:
    """How many more runs raise the alarm if they lie where the newest points do; 0 if a hundred don't.

    Of one split, or of several of which each number has shape (splits, 1).
    """
    more = np.arange(_MOST_RERUNS)[None] + 1.0
    after = split.after + more
    share = after / split.after
    longer = dataclasses.replace(
        split,
        after=after,
        squares_after=split.squares_after * share,
        far=split.far * share,
        others=split.others * np.sqrt(share),
        blocks=split.blocks + more,
        runs=split.runs + more,
    )
    weighed = evidence.weigh(longer, prior)
    enough = weighed.score >= evidence.threshold(after, length_of(begin, points - begin + more, prior))
    enough &= evidence.confirmed(longer, weighed, prior)
    return np.where(enough.any(axis=1), enough.argmax(axis=1) + 1, 0)


def chance(excess: float) -> Any:
    """The p-value of evidence that exceeds the threshold by *excess* standard deviations."""
    if excess >= _EXCESS[-1]:
        return float(_CHANCE[-1]) * math.exp(-_DECAY * min(excess - float(_EXCESS[-1]), 100.0))
    return np.exp(np.interp(excess, _EXCESS, np.log(_CHANCE)))


def chance_of_none(excess: Any) -> Any:
    """That of evidence that raised no alarm: what is above the threshold was held to be outliers. Elementwise."""
    return np.exp(np.interp(np.minimum(excess, 0.0), _EXCESS, np.log(_CHANCE)))
