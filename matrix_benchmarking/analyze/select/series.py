"""Series of a KPI: its values at equal labels, from version to version, out of the runs of a matrix.

What identifies a series are a run's labels without the workload's comparison keys, which order it, and its ignored
keys. Repeats at one version are one point. Nothing here does input or output but loading what a run's payload says,
once a run.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ... import lts
from ...filters import show
from ...history.records import URLS_LABEL
from ...kpi import KPIDefinition
from ...matrix import NOT_SET, Entry, Facts, Matrix, typed
from ...workload import Workload
from ..intervals import Sample, summarise
from .versions import in_order, needs_time

Key = tuple[tuple[str, str, object], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class LabelledRun:
    """A successful run with what places it in a series, whatever the KPI.

    Attributes:
        entry: the run.
        labels: its labels without comparison and ignored keys.
        key: what identifies them; types count.
        versions: the values of the comparison keys; NOT_SET where it has none.
        other_units: the KPIs that it has in another unit than the workload today.
        other_directions: the KPIs that were better the other way round.
        is_current: it is from the results at hand, beside others from a history.
        is_timed: its time is at hand; else *load_time* loads its payload for it, once, some 0.2 ms.
        load_time: gives when it ended, in microseconds since 1970; None where unknown.
    """

    entry: Entry
    labels: Mapping[str, Any]
    key: Key
    versions: Mapping[str, Any]
    other_units: frozenset[str]
    other_directions: frozenset[str]
    is_current: bool
    is_timed: bool
    load_time: Callable[[], int | None]

    def moment(self) -> tuple[int, int]:
        """Its place in time: unknown ones first, but those of the results at hand last."""
        time_us = self.load_time()
        if time_us is None:
            return (2, 0) if self.is_current else (0, 0)
        return 1, time_us


@dataclasses.dataclass(frozen=True, slots=True)
class SeriesPoint:
    """The runs of a series at one version; where no version orders the series, one run.

    Attributes:
        versions: the values of the comparison keys.
        time_us: of the newest run; None where unknown, and where nothing but its payload says and the versions are
            order enough.
        sample: number, mean and deviation of the values.
        minimum, maximum: the least and the largest value, in the KPI's unit.
        entries: the runs, in the order of their time where that is at hand.
    """

    versions: Mapping[str, Any]
    time_us: int | None
    sample: Sample
    minimum: float
    maximum: float
    entries: tuple[Entry, ...]

    @property
    def mean(self) -> float:
        return self.sample.mean

    @property
    def count(self) -> int:
        return self.sample.runs


@dataclasses.dataclass(frozen=True, slots=True)
class Series:
    """One KPI at the same labels: *points* from the oldest to the newest."""

    labels: Mapping[str, Any]
    points: tuple[SeriesPoint, ...]

    @property
    def newest(self) -> SeriesPoint:
        return self.points[-1]

    @property
    def previous(self) -> SeriesPoint | None:
        """The point before the newest; None where there is one point."""
        return self.points[-2] if len(self.points) > 1 else None

    @property
    def runs(self) -> int:
        return sum(point.count for point in self.points)


@dataclasses.dataclass(frozen=True, slots=True)
class KPISeries:
    """All series of one KPI.

    Attributes:
        kpi: the KPI.
        axis: the comparison key whose values order the points; None where time does.
        versions: the values of *axis* in their order, each once; empty where time orders the points.
        steps: the combinations of all comparison keys' values in their order, by *axis* first; empty likewise.
        names: the labels that tell the series from each other.
        series: in the order of their labels, sorting keys first.
        left_out: why runs take no part, and how many.
    """

    kpi: KPIDefinition
    axis: str | None
    versions: tuple[Any, ...]
    steps: tuple[Mapping[str, Any], ...]
    names: tuple[str, ...]
    series: tuple[Series, ...]
    left_out: Mapping[str, int]


def labelled(entries: Iterable[Entry], workload: Workload) -> list[LabelledRun]:
    """The runs of *entries* that may be points of a series: not failed, not ignored, with labels.

    For entries of a results tree whose workload has labels of its own, this loads and validates each payload, about a
    millisecond a run; those of payloads and of a history know what is needed.
    """
    entries = list(entries)
    is_beside_history = any(entry.kept_in is not None for entry in entries)
    ignored = {name: {typed(value) for value in values} for name, values in workload.regression.ignored_entries.items()}
    runs = []
    for entry in entries:
        if entry.failed or not entry.kpis or any(_has(entry, name, values) for name, values in ignored.items()):
            continue
        run = _labelled(entry, workload, is_current=is_beside_history and entry.kept_in is None)
        if run is not None:
            runs.append(run)
    return runs


def may_have_versions(matrix: Matrix, workload: Workload) -> bool:
    """False if the runs of *matrix* have surely no two versions; without loading all their payloads.

    A comparison key that is no setting may be a label all the same: then the first run that has labels says so.
    """
    settings = matrix.settings
    if any(len(settings.get(name, ())) > 1 for name in workload.regression.comparison_keys):
        return True
    others = [name for name in workload.regression.comparison_keys if name not in settings]
    first = next((run for entry in matrix if others and (run := next(iter(labelled([entry], workload)), None))), None)
    return first is not None and any(first.versions[name] is not NOT_SET for name in others)


def axes(runs: Iterable[LabelledRun], workload: Workload) -> list[str]:
    """The comparison keys that have several values among *runs*, in the workload's order."""
    seen: dict[str, set[tuple[str, object]]] = {}
    for run in runs:
        for name, value in run.versions.items():
            seen.setdefault(name, set()).add(typed(value))
    return [name for name in workload.regression.comparison_keys if len(seen.get(name, ())) > 1]


def series_of(
    runs: Sequence[LabelledRun], workload: Workload, kpi: KPIDefinition, axis: str | None = None
) -> KPISeries:
    """The series of *kpi* among *runs*.

    Args:
        axis: the comparison key that orders them; the first that has several values unless given. Where none has, time
            does, run by run.
    """
    known, left_out = known_runs(runs, kpi)
    if axis is None:
        axis = next(iter(axes(known, workload)), None)
    others = [name for name in workload.regression.comparison_keys if name != axis]
    versions = [] if axis is None else ordered_versions(known, axis)
    place = {typed(version): index for index, version in enumerate(versions)}
    other_places = {} if axis is None else {name: _places(known, name) for name in others}
    groups: dict[Key, list[LabelledRun]] = {}
    for run in known:
        groups.setdefault(run.key, []).append(run)

    def order(run: LabelledRun) -> tuple[int, ...]:
        if axis is None:
            return ()
        return (place[typed(run.versions[axis])], *(other_places[n][typed(run.versions[n])] for n in others))

    series = [Series(group[0].labels, _points(group, kpi, order, by_run=axis is None)) for group in groups.values()]
    telling = _telling_apart(series, workload.regression.sorting_keys)
    series.sort(key=lambda one: [_sorting(one.labels.get(name, NOT_SET)) for name in telling])
    steps = {} if axis is None else {order(run): run.versions for run in known}
    in_order_of_steps = tuple(steps[place] for place in sorted(steps))
    return KPISeries(kpi, axis, tuple(versions), in_order_of_steps, tuple(telling), tuple(series), left_out)


def _labelled(entry: Entry, workload: Workload, *, is_current: bool) -> LabelledRun | None:
    loaded: Facts | None = entry.facts
    if loaded is None and workload.store.get_kpi_labels is None:
        labels: Mapping[str, Any] | None = dict(entry.settings)
    else:
        loaded = lts.facts_of_entry(workload, entry)
        labels = loaded.labels
    if labels is None:
        return None
    keys = workload.regression
    apart = {*keys.comparison_keys, *keys.ignored_keys, URLS_LABEL}

    series_labels = {name: value for name, value in labels.items() if name not in apart}
    load_time: Callable[[], int | None]
    if loaded is None:
        load_time = functools.cache(lambda: lts.facts_of_entry(workload, entry).time_us)
    else:
        load_time = functools.partial(getattr, loaded, "time_us")
    return LabelledRun(
        entry=entry,
        labels=series_labels,
        key=tuple((name, *typed(_hashable(value))) for name, value in sorted(series_labels.items())),
        versions={name: _hashable(_version(name, labels, entry)) for name in keys.comparison_keys},
        other_units=frozenset() if loaded is None else loaded.other_units,
        other_directions=frozenset() if loaded is None else loaded.other_directions,
        is_current=is_current,
        is_timed=loaded is not None,
        load_time=load_time,
    )


def _version(name: str, labels: Mapping[str, Any], entry: Entry) -> Any:
    """The value of a comparison key: of the label, else of the setting that is no label."""
    value = labels.get(name, entry.settings.get(name))
    return NOT_SET if value is None else value


def _has(entry: Entry, name: str, values: set[tuple[str, object]]) -> bool:
    return name in entry.settings and typed(entry.settings[name]) in values


def known_runs(runs: Sequence[LabelledRun], kpi: KPIDefinition) -> tuple[list[LabelledRun], dict[str, int]]:
    """The runs that have the KPI's value, and why others don't take part."""
    known, left_out = [], collections.Counter[str]()
    for run in runs:
        value = run.entry.kpis.get(kpi.name)
        if value is None:
            left_out[f"{kpi.name} is unknown"] += 1
        elif not math.isfinite(value):
            left_out[f"{kpi.name} is no finite number"] += 1
        elif kpi.name in run.other_units:
            left_out[f"{kpi.name} is in another unit than {kpi.unit or 'today'}"] += 1
        elif kpi.name in run.other_directions:
            left_out[f"{kpi.name} was better the other way round, and {kpi.direction} today"] += 1
        else:
            known.append(run)
    return known, dict(left_out)


def ordered_versions(runs: Sequence[LabelledRun], axis: str) -> list[Any]:
    """The values of a comparison key among *runs*, each once, the oldest first."""
    values = [run.versions[axis] for run in runs]
    if needs_time(values):
        values = [run.versions[axis] for run in sorted(runs, key=LabelledRun.moment)]
    return in_order(values)


def _places(runs: Sequence[LabelledRun], name: str) -> dict[tuple[str, object], int]:
    return {typed(version): index for index, version in enumerate(ordered_versions(runs, name))}


def _points(
    runs: Sequence[LabelledRun], kpi: KPIDefinition, order: Callable[[LabelledRun], tuple[int, ...]], *, by_run: bool
) -> tuple[SeriesPoint, ...]:
    is_timed = by_run or all(run.is_timed for run in runs)
    in_time = sorted(runs, key=LabelledRun.moment) if is_timed else runs
    if by_run:
        return tuple(_point([run], kpi, is_timed=True) for run in in_time)
    points: dict[tuple[int, ...], list[LabelledRun]] = {}
    for run in in_time:
        points.setdefault(order(run), []).append(run)
    return tuple(_point(points[place], kpi, is_timed=is_timed) for place in sorted(points))


def _point(runs: Sequence[LabelledRun], kpi: KPIDefinition, *, is_timed: bool) -> SeriesPoint:
    values = [run.entry.kpis[kpi.name] for run in runs]
    return SeriesPoint(
        versions=runs[0].versions,
        time_us=runs[-1].load_time() if is_timed else None,
        sample=summarise(values),
        minimum=min(values),
        maximum=max(values),
        entries=tuple(run.entry for run in runs),
    )


def _telling_apart(series: Sequence[Series], sorting_keys: Sequence[str]) -> list[str]:
    """The labels with several values among *series*, sorting keys first; all labels of a single series are the same."""
    names = dict.fromkeys([*sorting_keys, *(name for one in series for name in one.labels)])
    values = {name: {typed(_hashable(one.labels.get(name, NOT_SET))) for one in series} for name in names}
    return [name for name in names if len(values[name]) > 1]


def _hashable(value: Any) -> Any:
    """A label that is no scalar, as text."""
    return value if value is NOT_SET or value is None or isinstance(value, (str, int, float)) else repr(value)


def _sorting(value: Any) -> tuple[int, float, str]:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return 0, float(value), type(value).__name__
    return 1, 0.0, show(value)
