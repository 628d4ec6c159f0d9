"""The same verdicts without a history: one build against another, series by series, from the repeats of both.

The builds are two groups of runs (two results trees, two versions), or a version of a history and its newest one.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...errors import ConfigError
from ...kpi import KPIDefinition
from ...matrix import NOT_SET, Entry, typed
from ...workload import MinimumEffect, RegressionKeys, Workload
from .. import intervals
from ..detect import Judgement, Kind, judge_pair, q_values
from ..detect.discovery import RATE
from ..intervals import Scale, Spread
from ..select.labelled import LabelledRun, hashable, labelled, unknown_names
from ..select.order import Order, check_keys
from ..select.order_sources import named
from ..select.selection import SelectedSeries, Selection, select_runs
from ..select.versions import in_words
from .alarms import alarm_id
from .analyse import severity, unjudged
from .between import chance_between, tempered
from .model import Alarm, Analysis, Change, NotAnalysed, Outcome, SeriesVerdict, Status

BUILD = "build"
"""The key by which the runs of two builds are told apart."""
Pair = tuple[SelectedSeries, int, int]
"""A series, and which of its points are the old build and the new one."""
_OLD, _NEW = 0, 1
_OUTCOMES = {
    Kind.REGRESSION: Outcome.REGRESSION,
    Kind.IMPROVEMENT: Outcome.IMPROVEMENT,
    Kind.NO_CHANGE: Outcome.NO_CHANGE,
    Kind.NOT_ENOUGH_HISTORY: Outcome.NOT_ENOUGH_HISTORY,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Build:
    """One side of a comparison: what it is called, and its runs."""

    name: str
    entries: Sequence[Entry]


def compare_builds(
    old: Build,
    new: Build,
    workload: Workload,
    *,
    data: str,
    ignored: Sequence[str] = (),
    is_tolerant: bool = False,
    minimum_effects: Mapping[str, MinimumEffect] | None = None,
    kpi_filter: Sequence[str] = (),
    now: dt.datetime | None = None,
    rate: float = RATE,
) -> Analysis:
    """The verdict on *new* against *old*, paired on the labels that identify a series.

    Args:
        data: where the runs came from, in words.
        ignored: labels that may differ between the builds, beside the workload's comparison and ignored keys.
        is_tolerant: among those, names that no run has are noted.
        minimum_effects, kpi_filter, now, rate: as in :func:`.analyse.analyse_runs`.

    Raises:
        ConfigError: no run has a label of *ignored*.
        WorkloadError: a comparison key is no name of anything.
    """
    keys = workload.regression
    paired = dataclasses.replace(
        workload,
        regression=RegressionKeys(
            comparison_keys=[*keys.comparison_keys],
            ignored_keys=[*keys.ignored_keys, *ignored],
            sorting_keys=keys.sorting_keys,
            ignored_entries=keys.ignored_entries,
        ),
    )
    runs = [*_on_side(labelled(old.entries, paired), _OLD), *_on_side(labelled(new.entries, paired), _NEW)]
    check_keys(workload, runs)
    nothing = [
        f"no run has a label or setting to ignore {unknown}" for unknown in unknown_names(ignored, workload, runs)
    ]
    if nothing and not is_tolerant:
        raise ConfigError("; ".join(nothing))
    by_side = dataclasses.replace(
        paired, regression=dataclasses.replace(paired.regression, comparison_keys=[BUILD], ignored_entries={})
    )
    failed = [f"{count} failed {'run' if count == 1 else 'runs'} of {build.name} left out"
              for build in (old, new) if (count := sum(entry.failed for entry in build.entries))]  # fmt: skip
    order = Order(runs, by_side, axis=BUILD)
    selection = select_runs(runs, by_side, order, failed, kpi_filter=kpi_filter)
    pairs, alone = [], []
    for series in selection.series:
        points = {point.versions[BUILD]: place for place, point in enumerate(series.points)}
        if len(points) == 2:
            pairs.append((dataclasses.replace(series, versions=(old.name, new.name)), 0, 1))
        else:
            there = old.name if _OLD in points else new.name
            alone.append(_not_analysed(series, f"it is in {there} only"))
    sides = [[run.labels for run in runs if run.versions[BUILD] == side] for side in (_OLD, _NEW)]
    if not pairs and (difference := _difference(*sides)):
        way = f"leave {'it' if len(difference) == 1 else 'them'} out with --ignored-keys={','.join(difference)}"
        alone = [dataclasses.replace(one, reason=f"they differ in {_in_words(difference)}; {way}") for one in alone]
    effects = {**workload.regression.minimum_effects, **(minimum_effects or {})}
    question = f"{new.name} against {old.name}"
    notes = (*nothing, *(note for note in selection.notes if note not in order.notes))
    cleaned = dataclasses.replace(selection, series=(), notes=notes, newest=new.name, order="")
    return _analysis(cleaned, pairs, alone, data, question, effects, now, rate)


def against_baseline(
    selection: Selection,
    baseline: str,
    *,
    data: str,
    minimum_effects: Mapping[str, MinimumEffect],
    now: dt.datetime | None = None,
    rate: float = RATE,
) -> Analysis:
    """The verdict on the newest version of each series of *selection* against its version *baseline*, in words.

    The other versions of the series count too: what their repeats differ by is part of what is known of the noise, and
    a difference as versions show it anyway, from one to the next, is no change.
    """
    pairs, others = [], []
    for series in selection.series:
        last = len(series.versions) - 1
        if baseline not in series.versions:
            others.append(_not_analysed(series, f"there is no run at {baseline}"))
        elif series.versions.index(baseline) == last:
            others.append(_not_analysed(series, f"{baseline} is its newest version"))
        else:
            pairs.append((series, series.versions.index(baseline), last))
    newest = selection.newest or "the newest runs"
    labels = {
        version: [one.labels for one in selection.series if version in one.versions] for version in (baseline, newest)
    }
    if not pairs and (difference := _difference(labels[baseline], labels[newest])):
        way = f"'matbench compare {baseline} {newest} --ignored-keys={','.join(difference)}' compares them all the same"
        others = [dataclasses.replace(one, reason=f"they differ in {_in_words(difference)}; {way}") for one in others]
    return _analysis(selection, pairs, others, data, f"{newest} against {baseline}", minimum_effects, now, rate)


def _on_side(runs: Iterable[LabelledRun], side: int) -> list[LabelledRun]:
    return [dataclasses.replace(run, versions={BUILD: side}) for run in runs]


def _difference(old: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, str]]:
    """The labels that have no value on both sides, each with the values of both in words."""
    sides = [list(old), list(new)]
    found = {}
    for name in dict.fromkeys(name for side in sides for labels in side for name in labels):
        values = [
            {typed(hashable(labels.get(name, NOT_SET))): labels.get(name, NOT_SET) for labels in side} for side in sides
        ]
        if all(values) and not values[0].keys() & values[1].keys():
            found[name] = (named(in_words(list(values[0].values())), 3), named(in_words(list(values[1].values())), 3))
    return found


def _in_words(difference: Mapping[str, tuple[str, str]]) -> str:
    return " and ".join(f"{name} ({old} | {new})" for name, (old, new) in difference.items())


def _not_analysed(series: SelectedSeries, reason: str) -> NotAnalysed:
    runs = sum(point.count for point in series.points)
    return NotAnalysed(series.kpi.name, series.name, series.labels, reason, runs)


def _analysis(
    selection: Selection,
    pairs: Sequence[Pair],
    alone: Sequence[NotAnalysed],
    data: str,
    question: str,
    minimum_effects: Mapping[str, MinimumEffect],
    now: dt.datetime | None,
    rate: float,
) -> Analysis:
    shown = [unjudged(*pair) for pair in pairs if pair[0].kpi.lower_better is None]
    pairs = [pair for pair in pairs if pair[0].kpi.lower_better is not None]
    spreads = {
        kpi.name: _spread(kpi, pairs) for kpi in {series.kpi.name: series.kpi for series, _, _ in pairs}.values()
    }
    judged = [
        _judge(*pair, minimum_effects.get(pair[0].kpi.name, MinimumEffect()), spreads[pair[0].kpi.name])
        for pair in pairs
    ]
    q = q_values([one.p_value for one in judged])
    verdicts = [
        _verdict(selection.workload, *pair, one, value, minimum_effects.get(pair[0].kpi.name, MinimumEffect()), rate)
        for pair, one, value in zip(pairs, judged, q, strict=True)
    ]
    verdicts.sort(key=severity)
    skipped = [NotAnalysed(one.kpi, one.series, one.labels, one.reason, one.runs) for one in selection.skipped]
    return Analysis(
        workload=selection.workload,
        data=data,
        question=question,
        newest=selection.newest,
        verdicts=tuple(verdicts),
        not_analysed=(*shown, *alone, *skipped),
        order=selection.order,
        notes=selection.notes,
        runs=selection.runs,
        points=sum(series.points[place].count for series, *places in pairs for place in places),
        kpis=selection.kpis,
        false_discovery_rate=rate,
        made_at=dt.datetime.now(dt.UTC) if now is None else now,
    )


def _spread(kpi: KPIDefinition, pairs: Sequence[Pair]) -> Spread | None:
    """What repeats of the KPI differ by at all series, as a fraction of their mean; None where nothing was repeated."""
    points = [point for series, _, _ in pairs if series.kpi.name == kpi.name for point in series.points]
    return intervals.pooled([point.sample for point in points if point.minimum > 0], Scale.RATIO)


def _judge(series: SelectedSeries, old: int, new: int, minimum: MinimumEffect, spread: Spread | None) -> Judgement:
    values = series.values
    before, after = values[old], values[new]
    if intervals.scale_of([*before, *after]) is Scale.DIFFERENCE:
        # A fraction of what may be zero says nothing; the other versions of the same series do.
        spread = intervals.pooled([point.sample for point in series.points], Scale.DIFFERENCE)
    judgement = judge_pair(
        before,
        after,
        lower_is_better=series.kpi.lower_better,
        minimum_effect=minimum.relative,
        minimum_effect_absolute=minimum.absolute,
        spread=spread,
    )
    return tempered(judgement, chance_between([point.mean for point in series.points], old, new))


def _verdict(
    workload: str,
    series: SelectedSeries,
    old: int,
    new: int,
    judgement: Judgement,
    q_value: float | None,
    minimum: MinimumEffect,
    rate: float,
) -> SeriesVerdict:
    outcome = _OUTCOMES[judgement.kind]
    notes = list(series.notes)
    if outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT) and (q_value is None or q_value > rate):
        outcome = Outcome.NO_CHANGE
        notes.append("a difference is left out: among so many series, one shows as much by chance")
    base = SeriesVerdict(
        id=series.id,
        kpi=series.kpi,
        labels=series.labels,
        name=series.name,
        outcome=outcome,
        points=series.points,
        versions=series.versions,
        effect=judgement.effect,
        difference=judgement.difference,
        old_level=judgement.old_level,
        new_level=judgement.new_level,
        p_value=judgement.p_value,
        q_value=q_value,
        runs_before=judgement.runs_before,
        runs_after=judgement.runs_after,
        reruns=judgement.reruns,
        minimum_effect=minimum.relative,
        minimum_effect_absolute=minimum.absolute,
        notes=tuple(notes),
    )
    if outcome not in (Outcome.REGRESSION, Outcome.IMPROVEMENT):
        return base
    assert judgement.old_level is not None
    assert judgement.new_level is not None
    is_worse = outcome is Outcome.REGRESSION
    change = Change(new, old, new, judgement.old_level, judgement.new_level, is_worse)
    alarm = Alarm(
        id=alarm_id(series.id, f"{series.keys[old]} {series.keys[new]}"),
        workload=workload,
        kpi=series.kpi.name,
        labels=series.labels,
        series=series.name,
        first_bad=series.versions[new],
        last_good=series.versions[old],
        old_level=judgement.old_level,
        new_level=judgement.new_level,
        status=Status.OPEN,
        is_new=True,
    )
    return dataclasses.replace(
        base, first_bad=new, last_good=old, is_new=True, changes=(change,), alarms=(alarm,) if is_worse else ()
    )
