"""The verdict on each series of a history, as the detector sees it: what changed, whether it holds, its alarms."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Mapping, Sequence

import msgspec

from ..detect import Change, Estimate, Judgement, Kind, compare_levels, q_values
from ..detect.changes import is_drift, slope
from ..detect.evidence import RATE
from ..detect.series import OF_THE_PRIOR
from ..intervals import Scale, hidden_between, hidden_in, is_clear_of_zero, scale_of
from ..select.series import Series, point_word
from ..words import plural
from .alarms import Raised, alarms_of, levels_known
from .levels import LEFT, JudgedSeries, middles
from .lifecycle import Known
from .model import Outcome, SeriesVerdict
from .sides import ratio

ONE_BLOCK = (
    "measured in one block, one version after the other, a difference may be the machine's mood; "
    "measure the newest version once more"
)

BLIND = 1.25  # what would have shown, as a share of the level, from which on nothing is said to be no worse
NOT_EVEN_A_DOUBLING = "its values scatter or drift so much that not even a doubling would have shown"
ALIKE = "its values are equal, or nearly all of them, so that how small a difference would show isn't known"
TOO_COARSE = "its values fall on so few steps that not even a doubling would have shown"


def told_of(series: Sequence[JudgedSeries], known: Mapping[str, Known], now: dt.datetime) -> list[SeriesVerdict]:
    """The verdict on each of *series*, which are a family over which false discoveries are counted."""
    q = q_values([one.judgement.p_value for one in series])
    largest = _largest_accepted(series, q)
    raised = [alarms_of(one.series, one.changes, one.minimum, known, now, _accepted(one, largest)) for one in series]
    return [_as_coarse(_of_levels(*each), each[0].series.values) for each in zip(series, raised, q, strict=True)]


def _largest_accepted(series: Sequence[JudgedSeries], q: Sequence[float | None]) -> float:
    """The largest p-value that the false discovery rate lets pass; that of Bonferroni where none of them does."""
    known = [(one.judgement.p_value, value) for one, value in zip(series, q, strict=True) if value is not None]
    accepted = [p for p, value in known if p is not None and value <= RATE]
    return max([*accepted, RATE / max(len(known), 1)])


def _accepted(one: JudgedSeries, largest: float) -> list[bool]:
    """Of each change whether it passes; a drift does as a whole, since none of its steps says much by itself."""
    passes = [p_value <= largest for p_value in one.p_values]
    drifts = {change.drifts_from for change, is_in in zip(one.changes, passes, strict=True) if is_in} - {None}
    return [
        is_in or change.first in drifts or change.drifts_from in drifts
        for change, is_in in zip(one.changes, passes, strict=True)
    ]


def _as_coarse(verdict: SeriesVerdict, values: Sequence[Sequence[float]]) -> SeriesVerdict:
    """*verdict*, whose difference may be off by what hides within the few steps that the *values* fall on."""
    difference, effect, level = verdict.difference, verdict.effect, abs(verdict.old_level or 0.0)
    if verdict.first_bad is None or difference is None or not level:
        return verdict
    old = [*itertools.chain(*values[: verdict.first_bad])][-verdict.runs_before :]
    new = [*itertools.chain(*values)][-verdict.runs_after :]
    scale = scale_of([*old, *new])
    off = hidden_between(old, new, scale)
    if off is None:
        return msgspec.structs.replace(verdict, effect=effect and effect.exact, difference=difference.exact)
    if not off:
        return verdict
    if scale is Scale.DIFFERENCE:
        return msgspec.structs.replace(
            verdict, effect=effect and effect.off_by(off / level), difference=difference.off_by(off)
        )
    return msgspec.structs.replace(
        verdict,
        effect=effect and effect.to(_logarithm).off_by(off).to(ratio),
        difference=difference.to(lambda end: _logarithm(end / level)).off_by(off).to(lambda end: ratio(end) * level),
    )


def _logarithm(effect: float) -> float:
    """Of new / old; of a fall to nothing, and of more than that, −∞."""
    return math.log1p(effect) if effect > -1.0 else -math.inf


def _of_levels(one: JudgedSeries, raised: Raised, q_value: float | None) -> SeriesVerdict:
    """The verdict on one series: about its last unrepaired change for the worse, else its last change, else none."""
    series, judgement, values, few = one.series, one.judgement, one.series.values, one.begin
    begun = [f"its first {few} {point_word(series.points)}s lie on another level, and take no part"] if few else []
    base = msgspec.structs.replace(
        SeriesVerdict.of(series, one.minimum),
        p_value=judgement.p_value,
        q_value=q_value,
        changes=raised.changes,
        alarms=raised.alarms,
        notes=(*series.notes, *begun, *raised.notes),
    )
    if judgement.kind is Kind.NOT_ENOUGH_HISTORY:
        return msgspec.structs.replace(
            base,
            outcome=Outcome.CANT_TELL,
            old_level=judgement.old_level,
            runs_before=judgement.runs_before,
            reruns=judgement.reruns,
            why=_too_short(series, judgement.reruns or 0),
        )
    if raised.worst is not None:
        worse = _about(base, one, values, raised.worst, Outcome.REGRESSION)
        return msgspec.structs.replace(worse, notes=(*worse.notes, *_perhaps_back(worse)))
    seen = judgement.suspicion
    if seen is not None and _is_suspected(seen, values):
        base = _measured(msgspec.structs.replace(base, outcome=Outcome.SUSPECTED, is_new=True), seen, values)
        return msgspec.structs.replace(base, first_bad=seen.first_bad, last_good=seen.last_good)
    if raised.changes and not raised.changes[-1].is_worse and not raised.is_back:
        return _about(base, one, values, len(raised.changes) - 1, Outcome.IMPROVEMENT)
    if raised.changes:  # on an old level
        base = _about(base, one, values, len(raised.changes) - 1, Outcome.NO_CHANGE)
        if raised.changes[-1].is_worse:
            return msgspec.structs.replace(base, is_at_known_level=True)
        return _sized(base, judgement, values)
    base = msgspec.structs.replace(_measured(base, judgement, values), too_small=one.too_small)
    if judgement.is_one_block:
        return msgspec.structs.replace(base, outcome=Outcome.CANT_TELL, why=ONE_BLOCK, reruns=None)
    return _sized(base, judgement, values)


def _perhaps_back(worse: SeriesVerdict) -> list[str]:
    """What is said where the newest point, too few runs to take a change back, lies on the level before it."""
    old, new, newest = worse.old_level, worse.new_level, worse.points[-1].mean
    if old is None or new is None or new == old or (newest - old) / (new - old) > LEFT:
        return []
    where = "is where it was before, or better, in too few runs to tell"
    return [f"its newest {point_word(worse.points)} {where}: measure it again"]


def _too_short(series: Series, missing: int) -> str:
    what = point_word(series.points)
    fewer = ", fewer with repeats" if len(series.points) < OF_THE_PRIOR else ""
    return f"the history is too short; measure {missing} more {plural(missing, what)}{fewer}"


def _sized(verdict: SeriesVerdict, judgement: Judgement, values: Sequence[Sequence[float]]) -> SeriesVerdict:
    if judgement.would_show is None:
        return verdict
    known = [*itertools.chain(*values)]
    scale = scale_of(known)
    hidden = hidden_in(known, scale)
    if hidden is None:
        return msgspec.structs.replace(verdict, why=verdict.why or ALIKE)
    step, versions = judgement.would_show
    level = (verdict.new_level if verdict.changes else verdict.old_level) or 0.0
    hidden = abs(level) * math.expm1(hidden) if scale is Scale.RATIO else hidden
    why, step = (TOO_COARSE, hidden) if hidden > step else (NOT_EVEN_A_DOUBLING, step)
    size = step if verdict.effect is None else step / abs(level) if level else None
    if verdict.effect is not None and size is not None:
        no_fall = size >= 1.0 and not verdict.kpi.lower_better  # not even one to nothing
        if (no_fall or size > BLIND) and not verdict.reruns and not verdict.changes:
            return msgspec.structs.replace(verdict, outcome=Outcome.CANT_TELL, why=why)
        if no_fall:
            return verdict
    return msgspec.structs.replace(verdict, would_show=size, would_show_in=versions)


def _is_suspected(seen: Judgement, values: Sequence[Sequence[float]]) -> bool:
    """Whether it is for the worse, and not one of two levels that the machine has."""
    if seen.kind is not Kind.REGRESSION or seen.first_bad is None or seen.old_level is None or seen.new_level is None:
        return False
    change = Change(seen.first_bad, seen.first_bad - 1, seen.first_bad, seen.old_level, seen.new_level, is_worse=True)
    return not levels_known([change], values)


def _of_clear(effect: Estimate | None, level: float | None, old: Sequence[Sequence[float]]) -> Estimate | None:
    """The *effect*, where the *level* of the versions with the *old* values is clearly positive."""
    return effect if effect and level and is_clear_of_zero(level, [*itertools.chain(*old)]) else None


def _measured(base: SeriesVerdict, of: Judgement, values: Sequence[Sequence[float]]) -> SeriesVerdict:
    return msgspec.structs.replace(
        base,
        effect=_of_clear(of.effect, of.old_level, values[: of.first_bad]),
        difference=of.difference,
        old_level=of.old_level,
        new_level=of.new_level,
        runs_before=of.runs_before,
        runs_after=of.runs_after,
        reruns=of.reruns,
    )


def _about(
    base: SeriesVerdict, one: JudgedSeries, values: Sequence[Sequence[float]], place: int, outcome: Outcome
) -> SeriesVerdict:
    """The verdict about the change at *place*: its old level against that of the newest points."""
    changes = base.changes
    change, last = changes[place], changes[-1]
    starts = [one.first for one in changes if one.first < change.first]
    begin = max(starts, default=one.begin) if change.takes_back is None else change.takes_back
    old, new = (begin, change.first), (last.first, len(values))
    if change.takes_back is None and change is last and change.first == one.judged:
        effect, difference = one.judgement.effect, one.judgement.difference
        runs_before = one.judgement.runs_before
    else:
        effect, difference = compare_levels(values, old, new)
        runs_before = sum(map(len, values[slice(*old)]))
    drift = _drift(change, changes, values)
    is_step = outcome is not Outcome.NO_CHANGE and change is last and drift is None
    may_drift = is_step and is_drift(middles(values, begin, len(values))[0], [change.first - begin])
    return msgspec.structs.replace(
        base,
        outcome=outcome,
        effect=_of_clear(effect, change.old_level, values[slice(*old)]),
        difference=difference,
        old_level=change.old_level,
        new_level=last.new_level,
        first_bad=change.first,
        last_good=change.last_before,
        runs_before=runs_before,
        runs_after=sum(map(len, values[slice(*new)])),
        is_new=change.seen == len(values) - 1,
        drift=drift,
        may_drift=may_drift,
    )


def _drift(change: Change, changes: Sequence[Change], values: Sequence[Sequence[float]]) -> float | None:
    """By how much of its old level the series goes on changing since *change*; None for a step."""
    if all(one.drifts_from != change.first for one in changes) or change.old_level <= 0.0:
        return None
    points, _ = middles(values, max(change.last_before, 0), len(values))
    return slope(points) / float(points[0]) if points[0] > 0.0 else None
