"""The verdict on each series of a history: what changed, whether it still holds, which alarms it raises."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec

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
from .model import Analysis, Outcome, SeriesVerdict, severity, unjudged
from .moods import that_lasts, with_mood
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
