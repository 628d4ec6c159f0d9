"""The verdict on each series of a history: what changed, whether it still holds, which alarms it raises.

A mood that lasts makes versions beside each other alike beyond what changed, so that a change may be one.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec
import numpy as np

from ...grouped import grouped
from ...history.alarms import AlarmEvent
from ...matrix import Entry
from ...rows import Rows
from ...workload import MinimumEffect, Workload
from ..blocks import blocks_of
from ..detect.series import Blocks
from ..failures import fails_more
from ..machines import Sides, between_sides, campaigns_together, ignored_since
from ..select.labelled import labelled
from ..select.order import Order
from ..select.selection import Selection, select
from ..select.series import Series
from .beginnings import begun_together
from .beyond import with_newest, with_spikes, with_trends
from .levels import JudgedSeries, judged_together
from .lifecycle import known_alarms
from .model import OF_A_MOOD, Analysis, Outcome, SeriesVerdict, Status, severity, unjudged
from .over_all import told_over_all
from .told import told_of


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
) -> Analysis:
    """The verdicts on all series among *entries*; see :func:`analyse` and :func:`..select.selection.select`."""
    now = dt.datetime.now(dt.UTC) if now is None else now
    now_us = int(now.timestamp() * 10**6)
    entries = Rows.of(entries)
    order = Order(labelled(entries, workload), workload) if order is None else order
    selection = select(entries, workload, order=order, kpi_filter=kpi_filter, since_us=since_us, now_us=now_us)
    effects = {**workload.regression.minimum_effects, **(minimum_effects or {})}
    ignored = workload.regression.ignored_keys
    found = analyse(selection, data=data, minimum_effects=effects, events=events, now=now, ignored=ignored)
    return msgspec.structs.replace(found, fails_more=fails_more(entries, order, workload))


def analyse(
    selection: Selection,
    *,
    data: str,
    minimum_effects: Mapping[str, MinimumEffect],
    events: Iterable[AlarmEvent],
    now: dt.datetime,
    ignored: Sequence[str] = (),
) -> Analysis:
    """The verdicts on the series of *selection*; *data* is where the runs came from, in words.

    Of the changes that are named on average at most one in twenty is none; what *events* say was raised stays.
    """
    known = known_alarms(event for event in events if event.subject.workload == selection.workload)
    judgeable = _with_blocks([one for one in selection.series if one.kpi.lower_better is not None])
    shown = [unjudged(one, len(one.points) - 2) for one in selection.series if one.kpi.lower_better is None]
    minima = [minimum_effects.get(one.kpi.name, MinimumEffect()) for one in judgeable]
    series = begun_together(judged_together(judgeable, minima), known)
    told = with_trends(told_of(series, known, now), series)
    told = with_spikes(with_newest(told, series, now), series)
    is_told = any(one.outcome not in (Outcome.NO_CHANGE, Outcome.CANT_TELL) for one in told)
    mood = that_lasts(series) if is_told else None
    told = with_mood(told, series, mood, known)
    newest = selection.newest
    sides = [_before_and_since(one, verdict) for one, verdict in zip(series, told, strict=True)]
    are_changes = [verdict.first_bad is not None for verdict in told]
    of_changes = [both for both, is_change in zip(sides, are_changes, strict=True) if is_change]
    changed = ignored_since(of_changes, ignored)
    lasting = mood.said if mood is not None else ""
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
        points=sum([len(point.entries) for one in judgeable for point in one.points]),
        kpis=selection.kpis,
        made_at=now,
        over_all=tuple(told_over_all(series, told, now, newest)),
        beside=" ".join(
            filter(None, (between_sides(sides, are_changes), changed, campaigns_together(of_changes), lasting))
        ),
    )


def _before_and_since(one: JudgedSeries, verdict: SeriesVerdict) -> Sides:
    """The runs of the levels between which the *verdict* sees a change; without one the newest, and those before."""
    points, last = one.series.points, len(one.series.points) - 1
    new = last if verdict.first_bad is None else verdict.first_bad
    begin = max((change.first for change in verdict.changes if change.first < new), default=0)
    old, since = ([run for point in part for run in point.entries] for part in (points[begin:new], points[new:]))
    return old, since


def _with_blocks(series: Sequence[Series]) -> list[Series]:
    """Each of *series* with the campaign and the round of each run of each point.

    Undated, each version counts as measured by itself. In an inferred campaign, versions in turn have a round each.
    """
    keys = [tuple([id(entry) for point in one.points for entry in point.entries]) for one in series]
    distinct = dict(zip(keys, series, strict=True))  # KPIs of the same runs share them
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
    return [msgspec.structs.replace(one, blocks=of_runs[key]) for key, one in zip(keys, series, strict=True)]


FEWEST_VERSIONS, SHORTEST = 20, 4
"""Of fewer versions that follow each other, and of shorter levels, nothing is known."""
MOST_SERIES = 50
"""So many series, spread over all, tell the mood that they share; more would take longer than their analysis."""
LEAST, SURE = 0.3, 2.25
"""The correlation of neighbours that is said, and how many of its standard errors it has to be."""
FARTHEST = 3.0
"""So many of its standard deviations a mood may move a series."""


class Mood(msgspec.Struct, frozen=True):
    """A mood that lasts over versions.

    Attributes:
        correlation: that of neighbouring versions.
        farthest: how far it may move a series, in standard deviations of what levels and drifts leave of that.
    """

    correlation: float
    farthest: float

    @property
    def said(self) -> str:
        return (
            f"Neighbouring versions are alike beyond what changed (correlation {self.correlation:.1f}): a mood of the "
            "machine that lasts over versions may be taken for a change, so what it could have moved is suspected at "
            "most; measure the old version again beside the new one."
        )


def that_lasts(series: Sequence[JudgedSeries]) -> Mood | None:
    """The mood by which neighbours are alike; None where they aren't.

    What is left of the values beyond levels and drifts is averaged over the series, which a mood moves alike; without
    moods its correlation from one version to the next is below 0, by 1 / √n either way (Bartlett, 1946). Weekends are
    no such mood: what is two versions apart is unlike there.
    """
    some = series[:: math.ceil(len(series) / MOST_SERIES) or 1]
    rest = grouped(each for one in some for each in _rest(one)[0])
    longest = max((one.series.versions for one in some), key=len, default=())
    mood = np.array([np.mean(rest[version]) for version in longest if version in rest])
    pairs = len(mood) - 1
    if pairs < FEWEST_VERSIONS or not mood.any():
        return None
    correlation, further = (float((mood[:-lag] * mood[lag:]).sum() / (mood * mood).sum()) for lag in (1, 2))
    if correlation < max(LEAST, SURE / math.sqrt(pairs)) or further < 0.0:
        return None
    return Mood(correlation, FARTHEST * float(mood.std()))


def with_mood(
    told: Sequence[SeriesVerdict], series: Sequence[JudgedSeries], mood: Mood | None, known: Collection[str]
) -> list[SeriesVerdict]:
    """The verdicts, in which what the *mood* may have moved is suspected at most; alarms that are *known* stay."""
    if mood is None:
        return list(told)
    return [
        _suspected(verdict, one, mood, known) if verdict.outcome is Outcome.REGRESSION else verdict
        for verdict, one in zip(told, series, strict=True)
    ]


def _suspected(verdict: SeriesVerdict, one: JudgedSeries, mood: Mood, known: Collection[str]) -> SeriesVerdict:
    held = [alarm for alarm in verdict.alarms if alarm.status is not Status.FIXED]
    farthest, scaled = mood.farthest * _rest(one)[1], _scale_of(one)
    if any(alarm.id in known or abs(scaled(alarm.new_level) - scaled(alarm.old_level)) >= farthest for alarm in held):
        return verdict
    fixed = [alarm for alarm in verdict.alarms if alarm not in held]
    return msgspec.structs.replace(verdict, outcome=Outcome.SUSPECTED, alarms=fixed, why=OF_A_MOOD)


def _rest(one: JudgedSeries) -> tuple[list[tuple[str, float]], float]:
    """What levels and drifts leave of each version, worse above 0, in standard deviations, and what one of these is."""
    points, scaled = one.series.points, _scale_of(one)
    values = np.array([scaled(point.mean) for point in points])
    starts = sorted({0, one.begin, *(change.first for change in one.changes), len(points)})
    found = list[tuple[int, float]]()
    for start, stop in itertools.pairwise(starts):
        if stop - start >= SHORTEST:
            places = np.arange(start, stop)
            line = np.polynomial.Polynomial.fit(places, values[start:stop], 1)
            found += zip(range(start, stop), (values[start:stop] - line(places)).tolist(), strict=True)
    scatter = math.sqrt(sum(value * value for _, value in found) / len(found)) if found else 0.0
    sign = 1.0 if one.series.kpi.lower_better else -1.0
    return [(one.series.versions[at], sign * value / scatter) for at, value in found if scatter], scatter


def _scale_of(one: JudgedSeries) -> Callable[[float], float]:
    """The logarithm, or nothing for values that aren't all above 0."""
    return math.log if all(point.mean > 0.0 for point in one.series.points) else float
