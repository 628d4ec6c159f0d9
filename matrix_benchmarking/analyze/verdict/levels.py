"""The changes of a series: what the detector sees, without the episodes that ended too soon for it to see them end.

A regression of a few versions that was repaired would else be the beginning of a level that never was.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from ...workload import MinimumEffect
from .. import detect
from ..detect import Change, Judgement, Minimum, Watched, changes_of, judge_watched, p_values
from ..detect.changes import goes_on, level
from ..detect.evidence import Flags, Floats
from ..detect.series import held, median, scale_of
from ..intervals import MAD
from ..select.series import Series
from .model import amount

NEARBY = 2  # what is left of a step can be seen to begin so many versions away from the end of its episode
# So many points further the detector goes before episodes are left out: what follows one is gone along again.
AT_ONCE = 1_000
LEFT = 0.25  # of a step, how much may be left
CERTAIN = 4.0  # standard errors that the newest points have to lie from the level that they left
FEWEST_POINTS, FEWEST_RUNS = 2, 3  # one version counts if it was run so often, else it takes two
FEWEST_OLD = 5
FEWEST_BEFORE = 3  # points of the level that was left, as the detector needs them
FURTHEST = 2_000  # points of the old level, and after a change was seen: a later end the detector sees itself
LIKELIER = 2.5  # the logarithm of how much likelier points have to be on the one level than on the other
# Stays of three points and more that are so much likelier together let all count where each is by so little; one adds
# so much at most, so that a long one doesn't make a level of a single point.
TOGETHER, LIKELIER_EACH, MOST_OF_ONE, FEWEST_TOGETHER = 12.0, 1.5, 6.0, 3
OFTEN, GROWTH = 60.0, 2.0  # points; of more, chance makes more stays, and each has to be likelier by this power
PERSISTENT = 1.3  # standard errors that neighbours' correlation has to lie above none
OUTLASTING = 0.01  # the chance of a stay so long from which on it isn't another one of the same
LEAST_NOISE = 1e-3  # of a gap
_MOST_ALIKE = 0.9
_BEYOND = 1.5  # of the gap between two levels: a point that lies farther from the middle is near none of them


class JudgedSeries(msgspec.Struct, frozen=True):
    series: Series
    judgement: Judgement  # of the series without its episodes
    changes: tuple[Change, ...]  # the oldest first; an episode is two, of which the second takes the first back
    p_values: tuple[float, ...]  # of the changes, each when it was the last one
    judged: int | None  # first point of the change that the judgement is about
    minimum: MinimumEffect
    begin: int = 0  # of its first level; before it are a few points on another one
    too_small: Change | None = None  # without a change, the last one that is less than the minimum effect


def judged_together(series: Sequence[Series], minima: Sequence[MinimumEffect]) -> list[JudgedSeries]:
    """Each of *series* as :func:`judged` sees it; those in which nothing shows beside each other."""
    values = (one.values for one in series)
    least = [Minimum(one.relative, one.absolute) for one in minima]
    found = detect.watched_together(values, least, blocks=(one.blocks or None for one in series), points=AT_ONCE)
    return [
        JudgedSeries(one, seen, (), (), None, minimum) if isinstance(seen, Judgement) else judged(one, minimum, seen)
        for one, minimum, seen in zip(series, minima, found, strict=True)
    ]


def judged(series: Series, minimum: MinimumEffect, watched: Watched) -> JudgedSeries:
    """*series*, *watched* so far, with its changes that reach the *minimum*."""
    values, kpi = series.values, series.kpi
    limit = Minimum(minimum.relative, minimum.absolute)
    kept, series_values = list(range(len(values))), list(values)
    found: list[tuple[Change, float]] = []
    place = 0

    while True:
        seen = changes_of(watched, lower_is_better=kpi.lower_better, minimum=limit)
        changes = [change for change in seen if not _is_left_over(_placed(change, kept), [one for one, _ in found])]
        episode = _first_episode(series_values, changes, place, minimum, kpi.lower_better, watched.stop)
        if episode is None and not watched.is_whole:
            place, watched = watched.stop, watched.further(AT_ONCE)
            continue
        if episode is None:
            break
        away, back = episode
        then = judge_watched(watched.until(max(back.first, away.seen + 1)), minimum=limit).p_value
        p = 1.0 if then is None else then
        away_from, back_to = _placed(away, kept), _placed(back, kept)
        # One version can take several changes back; the first of them says how far.
        found = [each for each in found if each[0].takes_back is None or each[0].first != back_to.first]
        found += [(away_from, p), (back_to, p)]
        watched = watched.without(away.first, back.first)
        del kept[away.first : back.first], series_values[away.first : back.first]
        place = away.first
    # What was seen up to a change depends on nothing later, so the series up to the next one gives its p-value.
    p_of = dict(zip((one.first for one in seen), p_values(watched, limit), strict=True))
    found += [(_placed(one, kept), p_of[one.first]) for one in changes]
    found.sort(key=lambda each: (each[0].first, each[0].takes_back is None))
    judgement = judge_watched(watched, lower_is_better=kpi.lower_better, minimum=limit)
    suspicion = judgement.suspicion
    if suspicion is not None and suspicion.first_bad is not None and suspicion.last_good is not None:
        suspicion = msgspec.structs.replace(
            suspicion, first_bad=kept[suspicion.first_bad], last_good=kept[suspicion.last_good]
        )
        judgement = msgspec.structs.replace(judgement, suspicion=suspicion)
    any_size = () if found else changes_of(watched, lower_is_better=kpi.lower_better, minimum=Minimum(0.0))
    made = with_levels([change for change, _ in found], values, which=lambda one: one.takes_back is not None)
    return JudgedSeries(
        series,
        judgement,
        tuple(_with_drifts(made, values)),
        tuple(p for _, p in found),
        None if not seen else kept[seen[-1].first],
        minimum,
        kept[int(watched.index[watched.walk.first])] if watched.walk.first else 0,
        any_size[0] if len(any_size) == 1 else None,
    )


def _first_episode(
    values: Sequence[Sequence[float]],
    changes: Sequence[Change],
    asked: int,
    minimum: MinimumEffect,
    lower_is_better: bool | None,
    known: int,
) -> tuple[Change, Change] | None:
    """The first change that was taken back before the detector saw another one, and what took it back.

    What was followed by another one before the point *asked* was asked before. A better level that lasted is none.
    """
    if lower_is_better is None:
        return None
    for place, change in enumerate(changes):
        begin = changes[place - 1].first if place else 0
        stop = changes[place + 1].seen + (not change.is_worse) if place + 1 < len(changes) else known
        if stop < asked:
            continue
        is_up = change.is_worse == lower_is_better
        back = early_return(values, begin, change, stop, amount(minimum, change.old_level), is_up=is_up)
        if back is not None and (change.is_worse or back.first - change.first < FEWEST_OLD):
            return msgspec.structs.replace(change, new_level=back.old_level), back
    return None


def _is_left_over(change: Change, found: Sequence[Change]) -> bool:
    """Whether *change* is what an episode that counts as repaired left of its step."""
    away = {one.first: one for one in found if one.takes_back is None}
    for back in found:
        if back.takes_back is None or not change.is_worse or abs(change.first - back.first) > NEARBY:
            continue
        before = away[back.takes_back]
        if abs(change.new_level - before.old_level) <= LEFT * abs(before.new_level - before.old_level):
            return True
    return False


def _placed(change: Change, kept: Sequence[int]) -> Change:
    """*change*, whose indices are those of *kept*, with those of the whole series."""
    first, last_before, seen = (kept[place] for place in (change.first, change.last_before, change.seen))
    takes_back = None if change.takes_back is None else kept[change.takes_back]
    return msgspec.structs.replace(change, first=first, last_before=last_before, seen=seen, takes_back=takes_back)


def with_levels(
    changes: Sequence[Change], values: Sequence[Sequence[float]], *, which: Callable[[Change], bool]
) -> list[Change]:
    """Those *which* lead to all that is measured up to the next of the *changes*, not only to what first showed it."""
    starts = [*(change.first for change in changes), len(values)]
    made = []
    for change in changes:
        if which(change):
            points, unit = middles(values, change.first, min(start for start in starts if start > change.first))
            change = msgspec.structs.replace(change, new_level=level(points) * unit)
        made.append(change)
    return made


def _with_drifts(changes: Sequence[Change], values: Sequence[Sequence[float]]) -> list[Change]:
    """A change that goes on a drift, as far as could be told when it was seen, says which change began that."""
    made: list[Change] = []
    for change in changes:
        before = made[-1] if made else None
        if before is not None and before.takes_back is change.takes_back is None and before.is_worse is change.is_worse:
            began = before.first if before.drifts_from is None else before.drifts_from
            starts = [one.first - began for one in (*made, change) if one.first > began]
            if goes_on(middles(values, began, change.seen + 1)[0], starts):
                change = msgspec.structs.replace(change, drifts_from=began)
        made.append(change)
    return made


def middle_of_each(series: Series) -> list[float]:
    """The median of the repeats of each point, which is at hand where there are at most two."""
    if max([len(point.entries) for point in series.points], default=0) < 3:
        return [point.mean for point in series.points]
    return [median(list(repeats)) for repeats in series.values]


def middles(values: Sequence[Sequence[float]], first: int, stop: int) -> tuple[Floats, float]:
    """The medians of the points from *first* to before *stop*, and the unit they are in: no square overflows."""
    points = np.array([median(list(repeats)) for repeats in values[first:stop]], dtype=np.float64)
    unit = scale_of(points)
    return held(points, unit), unit


def noise_of(points: Floats) -> float:
    """The deviation of a point, by what neighbours differ by; 0 of fewer than two."""
    return MAD * float(np.median(np.abs(np.diff(points)))) / math.sqrt(2.0) if len(points) > 1 else 0.0


def early_return(
    values: Sequence[Sequence[float]], begin: int, change: Change, end: int, least: float, *, is_up: bool
) -> Change | None:
    """The change back to the old level after *change*; None for none. The first points that show it decide.

    The old level begins at *begin*, the detector saw another change at *end*, and so much is the *least* that may be
    left of the step, in the KPI's unit; *is_up* is whether that led to a higher level.
    """
    if change.first - begin < FEWEST_BEFORE:
        return None
    begin = max(begin, change.first - FURTHEST)
    points, unit = middles(values, begin, min(end, change.seen + FURTHEST))
    points, unit = (points, unit) if is_up else (-points, -unit)  # so that the step is one upwards
    before, since = np.split(points, [change.first - begin])
    old, known, least = median(before.tolist()), change.seen - change.first + 1, least / abs(unit)
    deviation = max(MAD * median(np.abs(before - old).tolist()), noise_of(before))
    # A disturbed point isn't the step: it is at most what most of the points were off that were seen away.
    away = list[float]()
    farthest = _clearly_off(since[:known].tolist(), old, deviation)
    # Points that may be the first one back, and their steps: all that came after each lies on the old level's side.
    waiting: list[tuple[int, float]] = []
    for count, off in enumerate((since - old).tolist(), 1):
        if count < 2:
            away.append(off)
            continue
        step = min(_middle(away), farthest)
        bisect.insort(away, off)
        waiting = [one for one in (*waiting, (count - 1, step)) if off < one[1] / 2.0 and one[1] > 0.0]
        if count <= known:
            continue
        for first, step in waiting:
            left = math.fsum(since[first:count].tolist()) / (count - first) - old
            # One version as far beyond the old level as the step led away from it is a disturbed one as likely.
            is_sure = len(values[change.first + first]) >= FEWEST_RUNS and left >= -step
            error = deviation * math.sqrt(1.0 / first + 1.0 / (count - first))
            is_enough = count - first >= FEWEST_POINTS or is_sure
            if is_enough and left <= max(LEFT * step, least) and step - left > CERTAIN * error:
                levels = level(since[:first]) * unit, level(since[first:count]) * unit
                back, seen = change.first + first, change.first + count - 1
                return Change(back, back - 1, seen, *levels, is_worse=False, takes_back=change.first)
    return None


def _middle(ordered: Sequence[float]) -> float:
    """The middle one, of two the nearer to the old level."""
    return ordered[(len(ordered) - 1) // 2]


def _clearly_off(points: Sequence[float], old: float, deviation: float) -> float:
    """How far most of *points* lie off the *old* level; infinite where that may be chance, as after a return."""
    off = _middle(sorted(points)) - old
    return off if off > CERTAIN * deviation / math.sqrt(len(points)) else math.inf


def persists(points: Floats, old: float, new: float) -> bool:
    """Whether *points* stay on *old* or *new*, as those of a machine with two levels do for a while: noise doesn't."""
    near = np.clip((points - old) / (new - old), 0.0, 1.0)
    near -= near.mean()
    squares = float(near @ near)
    alike = float(near[1:] @ near[:-1]) / squares if squares else 0.0
    return alike * math.sqrt(len(near)) >= PERSISTENT


def outlasts(lasted: int, stays: Sequence[tuple[int, int]]) -> bool:
    """Whether a level *lasted* longer than one does of which these *stays* are: such a length is rare by then.

    Lengths of stays are taken to be exponential, and their mean as known as that of so many is (Lomax 1954, Journal of
    the American Statistical Association 49, 847–852).
    """
    before = sum(stop - start for start, stop in stays)
    return (1.0 + lasted / before) ** -len(stays) < OUTLASTING


def stays_away(points: Floats, old: float, new: float) -> list[tuple[int, int]]:
    """Where *points* left the level *old* for one near *new*, or further, and came back, once for two points.

    A stay on either is told by how much likelier its points are there (a sequential test of two normal means, Wald
    1945, Ann. Math. Statist. 16, 117–186); less is asked of each where the longer ones together are very likely, and
    more in a long series, in which noise alone looks like a short stay now and then.
    """
    points = points[-FURTHEST:]
    gap = new - old
    if len(points) < 2 * FEWEST_OLD or gap == 0.0:
        return []
    about = _about(points, np.abs(points - old) < np.abs(points - new))
    noise = MAD * max(float(np.median(np.abs(np.diff(points)))) / math.sqrt(2.0), float(np.median(np.abs(about))))
    squares = float(about @ about)
    alike = min(max(float(about[1:] @ about[:-1]) / squares, 0.0), _MOST_ALIKE) if squares else 0.0
    noise *= math.sqrt((1.0 + alike) / (1.0 - alike))  # neighbours that are alike say less together
    nearer = (points - (old + new) / 2.0) * gap
    far = np.abs(points - (old + new) / 2.0) > _BEYOND * abs(gap)
    beside = np.pad(far, 1)
    disturbed = far & ~beside[:-2] & ~beside[2:]
    nearer[disturbed] = 0.0  # it is on neither
    likelier = (nearer / max(noise, LEAST_NOISE * abs(gap)) ** 2).tolist()
    more = GROWTH * max(0.0, math.log(len(points) / OFTEN))
    stays = _stays(likelier, LIKELIER_EACH + more)
    sums = [math.fsum(likelier[start:stop]) for start, stop in stays if stop - start >= FEWEST_TOGETHER]
    if math.fsum(min(each, MOST_OF_ONE) for each in sums) < TOGETHER:
        stays = _stays(likelier, LIKELIER + more)
    # What lies between both levels, as a third one does, is now nearer to this one and now to that.
    parts = [points[start:stop][~disturbed[start:stop]] for start, stop in stays]
    stays = [
        stay
        for stay, there in zip(stays, parts, strict=True)
        if len(there) and (np.median(there) - old) / gap >= 1.0 - LEFT
    ]
    return stays if any(stop - start >= FEWEST_POINTS for start, stop in stays) else []


def _about(points: Floats, is_old: Flags) -> Floats:
    """How far each of *points* lies from the middle of those on its level."""
    about = points.copy()
    for some in (is_old, ~is_old):
        about[some] -= np.median(points[some]) if some.any() else 0.0
    return about


def _stays(likelier: Sequence[float], enough: float) -> list[tuple[int, int]]:
    """The stays away that have ended: begun, and ended, where points since are *enough* likelier so, by logarithms."""
    stays, is_away, sure = list[tuple[int, int]](), False, 0.0
    start = turn = 0
    for place, one in enumerate(likelier):
        sure += -one if is_away else one
        if sure <= 0.0:
            sure, turn = 0.0, place + 1
        elif sure >= enough:
            if is_away:
                stays.append((start, turn))
            is_away, sure, start, turn = not is_away, 0.0, turn, place + 1
    return stays
