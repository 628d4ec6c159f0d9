"""The verdict on each series of a history: what changed, whether it still holds, which alarms it raises."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ...history.alarms import AlarmEvent
from ...matrix import Entry
from ...workload import MinimumEffect, Workload
from ..blocks import blocks_of
from ..detect import Change, Estimate, Judgement, Kind, compare_levels, q_values
from ..detect.changes import is_drift, slope
from ..detect.evidence import RATE
from ..detect.series import OF_THE_PRIOR, Blocks
from ..machines import Sides, between_sides, campaigns_together, ignored_since
from ..select.order import Order
from ..select.selection import Selection, select
from ..select.series import Series, point_word
from ..words import plural
from .alarms import Raised, alarms_of, levels_known
from .beginnings import begun_together
from .in_common import in_common
from .levels import JudgedSeries, judged_together, middles
from .lifecycle import Known, known_alarms
from .model import Analysis, Outcome, OverAll, SeriesVerdict, severity, unjudged
from .trend import Trend, trends

ONE_BLOCK = (
    "measured in one block, one version after the other, a difference may be the machine's mood; "
    "measure the newest version once more"
)

BLIND = 1.25  # what would have shown, as a share of the level, from which on nothing is said to be no worse
NOT_EVEN_A_DOUBLING = "its values scatter or drift so much that not even a doubling would have shown"


def analyse_runs(
    entries: Iterable[Entry],
    workload: Workload,
    *,
    data: str,
    order: Order | None = None,
    minimum_effects: Mapping[str, MinimumEffect] | None = None,
    events: Iterable[AlarmEvent] = (),
    kpi_filter: Sequence[str] = (),
    since_us: int | None = None,
    now: dt.datetime | None = None,
    rate: float = RATE,
) -> Analysis:
    """The verdicts on all series among *entries*; see :func:`analyse` and :func:`..select.selection.select`."""
    now = dt.datetime.now(dt.UTC) if now is None else now
    now_us = int(now.timestamp() * 10**6)
    selection = select(entries, workload, order=order, kpi_filter=kpi_filter, since_us=since_us, now_us=now_us)
    effects = {**workload.regression.minimum_effects, **(minimum_effects or {})}
    ignored = workload.regression.ignored_keys
    return analyse(selection, data=data, minimum_effects=effects, events=events, now=now, rate=rate, ignored=ignored)


def analyse(
    selection: Selection,
    *,
    data: str,
    minimum_effects: Mapping[str, MinimumEffect],
    events: Iterable[AlarmEvent],
    now: dt.datetime,
    rate: float = RATE,
    ignored: Sequence[str] = (),
) -> Analysis:
    """The verdicts on the series of *selection*; *data* is where the runs came from, in words.

    Of the changes that are named on average at most a share of *rate* are none; what *events* say was raised stays.
    """
    known = known_alarms(event for event in events if event.subject.workload == selection.workload)
    judgeable = [one for one in selection.series if one.kpi.lower_better is not None]
    shown = [unjudged(one, len(one.points) - 2) for one in selection.series if one.kpi.lower_better is None]
    minima = [minimum_effects.get(one.kpi.name, MinimumEffect()) for one in judgeable]
    blocks = _blocks(judgeable)
    series = begun_together(judged_together(judgeable, minima, blocks), known)
    told = with_trends(told_of(series, known, now, rate), series, blocks, rate)
    newest = selection.newest
    sides = [_before_and_since(one, verdict) for one, verdict in zip(series, told, strict=True)]
    are_changes = [verdict.first_bad is not None for verdict in told]
    of_changes = [both for both, is_change in zip(sides, are_changes, strict=True) if is_change]
    changed = ignored_since(of_changes, ignored)
    return Analysis(
        workload=selection.workload,
        data=data,
        question="the newest runs against their history" if newest is None else f"{newest} against its history",
        newest=newest,
        verdicts=tuple(sorted(told, key=severity)),
        not_analysed=(*shown, *selection.skipped),
        order=selection.order,
        notes=selection.notes,
        runs=selection.runs,
        points=sum([len(point.entries) for one in selection.series for point in one.points]),
        kpis=selection.kpis,
        false_discovery_rate=rate,
        made_at=now,
        over_all=tuple(told_over_all(series, told, blocks, now, rate, newest)),
        beside=" ".join(filter(None, (between_sides(sides, are_changes), changed, campaigns_together(of_changes)))),
    )


def told_of(
    series: Sequence[JudgedSeries], known: Mapping[str, Known], now: dt.datetime, rate: float
) -> list[SeriesVerdict]:
    """The verdict on each of *series*, which are a family over which false discoveries are counted."""
    q = q_values([one.judgement.p_value for one in series])
    largest = _largest_accepted(series, q, rate)
    raised = [alarms_of(one.series, one.changes, one.minimum, known, now, _accepted(one, largest)) for one in series]
    return [_verdict(*each) for each in zip(series, raised, q, strict=True)]


def with_trends(
    told: Sequence[SeriesVerdict], series: Sequence[JudgedSeries], blocks: Callable[[Series], Blocks], rate: float
) -> list[SeriesVerdict]:
    """The verdicts, in which series are suspected that show no change, and are worse in a way that tells less."""
    same = [(at, one) for at, one in enumerate(told) if not one.changes and one.too_small is None]
    asked = [
        at
        for at, one in same
        if one.outcome is Outcome.NO_CHANGE or (one.outcome is Outcome.CANT_TELL and one.why != ONE_BLOCK)
    ]
    found = trends([series[at].series for at in asked], [blocks(series[at].series) for at in asked])
    known = [(told[at], at, trend) for at, trend in zip(asked, found, strict=True) if trend is not None]
    p_values = [trend.p_value(one.kpi) for one, _, trend in known]
    verdicts = list(told)
    for (one, at, trend), p_value, q_value in zip(known, p_values, q_values(p_values), strict=True):
        minimum = series[at].minimum
        is_sure = trend.counts(one.kpi, minimum) and q_value is not None and q_value <= rate
        if is_sure and not _at_known_level(series[at].series, trend):
            is_new = trend.before is None or not trend.before.counts(one.kpi, minimum)
            by_trend = _by_trend(one, trend)
            verdicts[at] = dataclasses.replace(by_trend, p_value=p_value, q_value=q_value, is_new=is_new)
    return verdicts


def _at_known_level(series: Series, trend: Trend) -> bool:
    """Whether it leads to one of two levels that the machine has."""
    if trend.since is None:
        return False
    change = Change(trend.since, trend.since - 1, len(series.points) - 1, trend.first, trend.last, is_worse=True)
    return bool(levels_known([change], series.values))


def _by_trend(verdict: SeriesVerdict, trend: Trend) -> SeriesVerdict:
    """Suspected to be worse: along its versions, or since one of them."""
    last, runs, since = (trend.last, trend.low, trend.high), [one.count for one in verdict.points], trend.since
    of_first = Estimate(*[one / trend.first - 1.0 for one in last]) if trend.first > 0.0 else None
    new = len(runs) - 1 if since is None else since
    is_line = since is None and of_first is not None
    return dataclasses.replace(
        verdict,
        outcome=Outcome.SUSPECTED,
        effect=of_first,
        difference=Estimate(*[one - trend.first for one in last]),
        old_level=trend.first,
        new_level=trend.last,
        first_bad=since,
        last_good=None if since is None else since - 1,
        runs_before=sum(runs[:new]),
        runs_after=sum(runs[new:]),
        reruns=None,
        would_show=None,
        would_show_in=0,
        drift=of_first.value / (len(verdict.points) - 1) if is_line and of_first is not None else None,
        rises_all_along=since is None,
        why=trend.shape.why,
    )


def told_over_all(
    judged: Sequence[JudgedSeries],
    told: Sequence[SeriesVerdict],
    blocks: Callable[[Series], Blocks],
    now: dt.datetime,
    rate: float,
    newest: str | None,
) -> Iterator[OverAll]:
    """What the series of a KPI do together of which is *told* that they don't change, up to the *newest* version."""
    minima = {one.series.kpi.name: one.minimum for one in judged}
    counts = collections.Counter(one.series.kpi.name for one in judged)
    known = ((one.series, verdict) for one, verdict in zip(judged, told, strict=True) if not verdict.changes)
    unchanged = [series for series, verdict in known if verdict.versions[-1] == newest]
    common = list(in_common(unchanged, blocks))
    blocks_of_common = {one.id: one.blocks for one in common}
    least = [one.of_its_level(minima[one.kpi.name]) for one in common]
    series = judged_together(common, least, lambda one: blocks_of_common[one.id])
    for one, verdict in zip(common, told_of(series, {}, now, rate), strict=True):
        is_change = verdict.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT)
        if is_change and verdict.effect is not None and verdict.difference is not None:
            yield OverAll(
                kpi=one.kpi,
                series=one.of,
                outcome=verdict.outcome,
                effect=verdict.effect,
                difference=verdict.difference,
                since=verdict.first_bad_version,
                of=counts[one.kpi.name],
                is_new=verdict.is_new,
            )


def _before_and_since(one: JudgedSeries, verdict: SeriesVerdict) -> Sides:
    """The runs of the levels between which the *verdict* sees a change; without one the newest, and those before."""
    points, last = one.series.points, len(one.series.points) - 1
    new = last if verdict.first_bad is None else verdict.first_bad
    begin = max((change.first for change in verdict.changes if change.first < new), default=0)
    old, since = ([run for point in part for run in point.entries] for part in (points[begin:new], points[new:]))
    return old, since


def _blocks(series: Sequence[Series]) -> Callable[[Series], Blocks]:
    """What gives of one of the series the campaign and the round of each run of each point.

    Undated, each version counts as measured by itself. In an inferred campaign, versions in turn have a round each.
    """
    keys = {id(one): tuple([id(entry) for point in one.points for entry in point.entries]) for one in series}
    distinct = {keys[id(one)]: one for one in series}  # KPIs of the same runs share them
    entries = {id(entry): entry for one in distinct.values() for point in one.points for entry in point.entries}
    of = dict(zip(entries, blocks_of(list(entries.values())), strict=True))
    times = {each: [time for time in entry.span_us if time] for each, entry in entries.items()}
    undated = {each for each, entry in entries.items() if entry.campaign is None and not times[each]}

    def block(entry: Entry, at: int, *, in_turn: bool) -> tuple[int, int | None]:
        if id(entry) in undated:
            return -1 - at, None
        known = of[id(entry)]
        return known.campaign, -1 - at if in_turn and known.round is None and not entry.campaign else known.round

    def measured(one: Series) -> Blocks:
        latest, found = -math.inf, list[list[tuple[int, int | None]]]()
        for at, point in enumerate(one.points):
            known = [time for entry in point.entries for time in times[id(entry)]]
            in_turn, latest = min(known, default=-math.inf) >= latest, max(known, default=latest)
            found.append([block(entry, at, in_turn=in_turn) for entry in point.entries])
        return found

    of_runs = {key: measured(one) for key, one in distinct.items()}
    return lambda one: of_runs[keys[id(one)]]


def _largest_accepted(series: Sequence[JudgedSeries], q: Sequence[float | None], rate: float) -> float:
    """The largest p-value that the false discovery rate lets pass; that of Bonferroni where none of them does."""
    p_values = [one.judgement.p_value for one in series]
    accepted = [
        p for p, value in zip(p_values, q, strict=True) if p is not None and value is not None and value <= rate
    ]
    return max([*accepted, rate / max(sum(value is not None for value in q), 1)])


def _accepted(one: JudgedSeries, largest: float) -> list[bool]:
    """Of each change whether it passes; a drift does as a whole, since none of its steps says much by itself."""
    passes = [p_value <= largest for p_value in one.p_values]
    drifts = {change.drifts_from for change, is_in in zip(one.changes, passes, strict=True) if is_in} - {None}
    return [
        is_in or change.first in drifts or change.drifts_from in drifts
        for change, is_in in zip(one.changes, passes, strict=True)
    ]


def _verdict(one: JudgedSeries, raised: Raised, q_value: float | None) -> SeriesVerdict:
    """The verdict on one series: about its last unrepaired change for the worse, else its last change, else none."""
    series, judgement = one.series, one.judgement
    base = dataclasses.replace(
        SeriesVerdict.of(series, one.minimum),
        p_value=judgement.p_value,
        q_value=q_value,
        changes=raised.changes,
        alarms=raised.alarms,
        notes=(*series.notes, *raised.notes),
    )
    if judgement.kind is Kind.NOT_ENOUGH_HISTORY:
        return dataclasses.replace(
            base,
            outcome=Outcome.CANT_TELL,
            old_level=judgement.old_level,
            runs_before=judgement.runs_before,
            reruns=judgement.reruns,
            why=_too_short(series, judgement.reruns or 0),
        )
    if raised.worst is not None:
        return _about(base, one, raised.worst, Outcome.REGRESSION)
    seen = judgement.suspicion
    if seen is not None and _is_suspected(seen, one.series):
        base = _measured(dataclasses.replace(base, outcome=Outcome.SUSPECTED, is_new=True), seen)
        return dataclasses.replace(base, first_bad=seen.first_bad, last_good=seen.last_good)
    if raised.changes and not raised.changes[-1].is_worse and not raised.is_back:
        return _about(base, one, len(raised.changes) - 1, Outcome.IMPROVEMENT)
    if raised.changes:  # on an old level
        base = _about(base, one, len(raised.changes) - 1, Outcome.NO_CHANGE)
        is_at_known_level = raised.changes[-1].is_worse
        return dataclasses.replace(base, is_at_known_level=True) if is_at_known_level else _sized(base, judgement)
    base = dataclasses.replace(_measured(base, judgement), too_small=one.too_small)
    if judgement.is_one_block:
        return dataclasses.replace(base, outcome=Outcome.CANT_TELL, why=ONE_BLOCK, reruns=None)
    return _sized(base, judgement)


def _too_short(series: Series, missing: int) -> str:
    what = point_word(series.points)
    fewer = ", fewer with repeats" if len(series.points) < OF_THE_PRIOR else ""
    return f"the history is too short; measure {missing} more {plural(missing, what)}{fewer}"


def _sized(verdict: SeriesVerdict, judgement: Judgement) -> SeriesVerdict:
    if judgement.would_show is None:
        return verdict
    step, versions = judgement.would_show
    level = (verdict.new_level if verdict.changes else verdict.old_level) or 0.0
    size = step if verdict.effect is None else step / abs(level) if level else None
    if verdict.effect is not None and size is not None:
        no_fall = size >= 1.0 and not verdict.kpi.lower_better  # not even one to nothing
        if (no_fall or size > BLIND) and not verdict.reruns and not verdict.changes:
            return dataclasses.replace(verdict, outcome=Outcome.CANT_TELL, why=NOT_EVEN_A_DOUBLING)
        if no_fall:
            return verdict
    return dataclasses.replace(verdict, would_show=size, would_show_in=versions)


def _is_suspected(seen: Judgement, series: Series) -> bool:
    """Whether it is for the worse, and not one of two levels that the machine has."""
    if seen.kind is not Kind.REGRESSION or seen.first_bad is None or seen.old_level is None or seen.new_level is None:
        return False
    change = Change(seen.first_bad, seen.first_bad - 1, seen.first_bad, seen.old_level, seen.new_level, is_worse=True)
    return not levels_known([change], series.values)


def _measured(base: SeriesVerdict, of: Judgement) -> SeriesVerdict:
    return dataclasses.replace(
        base,
        effect=of.effect,
        difference=of.difference,
        old_level=of.old_level,
        new_level=of.new_level,
        runs_before=of.runs_before,
        runs_after=of.runs_after,
        reruns=of.reruns,
    )


def _about(base: SeriesVerdict, one: JudgedSeries, place: int, outcome: Outcome) -> SeriesVerdict:
    """The verdict about the change at *place*: its old level against that of the newest points."""
    changes, values = base.changes, one.series.values
    change, last = changes[place], changes[-1]
    starts = [one.first for one in changes if one.first < change.first]
    begin = max(starts, default=0) if change.takes_back is None else change.takes_back
    old, new = (begin, change.first), (last.first, len(values))
    if change.takes_back is None and change.first == one.judged:
        effect, difference = one.judgement.effect, one.judgement.difference
        runs_before = one.judgement.runs_before
    else:
        effect, difference = compare_levels(values, old, new)
        runs_before = sum(map(len, values[slice(*old)]))
    drift = _drift(change, changes, values)
    is_step = outcome is not Outcome.NO_CHANGE and change is last and drift is None
    may_drift = is_step and is_drift(middles(values, begin, len(values))[0], [change.first - begin])
    return dataclasses.replace(
        base,
        outcome=outcome,
        effect=effect,
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
