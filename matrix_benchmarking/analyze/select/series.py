"""Series of a KPI: its values at equal labels, from version to version, out of the runs of a matrix; and their words.

What identifies a series are a run's labels without the workload's comparison keys, which order it, and its ignored
keys. Repeats at one version are one point.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...filters import show
from ...history.records import moment
from ...kpi import KPIDefinition
from ...matrix import NOT_SET, Entry, typed
from ...workload import Workload
from ..intervals import Sample, summarise
from ..words import cut_inside, value_label
from .labelled import LabelledRun, LabelsKey, hashable
from .order import Order
from .versions import in_words

PlaceByKeys = tuple[int, ...]
"""The place of a run by each comparison key."""


@dataclasses.dataclass(frozen=True, slots=True)
class SeriesPoint:
    """The runs of a series at one version; where no version orders the series, one run, or those of one place.

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


def series_of(
    runs: Sequence[LabelledRun], workload: Workload, kpi: KPIDefinition, order: Order, axis: str | None = None
) -> KPISeries:
    """The series of *kpi* among *runs*.

    Args:
        order: of all runs that there are.
        axis: the comparison key that orders the series; that of *order* unless given.

    Raises:
        OrderUnknown: nothing says which version, or run, came after which.
    """
    axis = order.axis if axis is None else axis
    known, left_out = known_runs(runs, kpi, order, axis)
    groups: dict[LabelsKey, list[tuple[LabelledRun, PlaceByKeys]]] = {}
    for run, step in known:
        groups.setdefault(run.key, []).append((run, step))
    series = [Series(one[0][0].labels, _points(one, kpi, by_run=axis is None)) for one in groups.values()]
    telling = _telling_apart(series, workload.regression.sorting_keys)
    series.sort(key=lambda one: [_sorting(one.labels.get(name, NOT_SET)) for name in telling])
    versions = {} if axis is None else {step: run.versions for run, step in known}
    in_order = tuple(versions[step] for step in sorted(versions))
    of_axis = {typed(step[axis]): step[axis] for step in in_order} if axis is not None else {}
    return KPISeries(kpi, axis, tuple(of_axis.values()), in_order, tuple(telling), tuple(series), left_out)


def known_runs(
    runs: Sequence[LabelledRun], kpi: KPIDefinition, order: Order, axis: str | None
) -> tuple[list[tuple[LabelledRun, PlaceByKeys]], dict[str, int]]:
    """The runs that have the KPI's value and a place in the order, with it, and why others don't take part."""
    left_out = collections.Counter[str]()
    valued = []
    for run in runs:
        value = run.entry.kpis.get(kpi.name)
        if value is None:
            left_out[f"{kpi.name} is unknown"] += 1
        elif not math.isfinite(value):
            left_out[f"{kpi.name} is no finite number"] += 1
        elif run.entry.implausible:
            left_out["values of the run can't be"] += 1
        elif kpi.name in run.other_units:
            left_out[f"{kpi.name} is in another unit than {kpi.unit or 'today'}"] += 1
        elif kpi.name in run.other_directions:
            left_out[f"{kpi.name} was better the other way round, and {kpi.direction} today"] += 1
        else:
            valued.append(run)
    known = [(run, step) for run, step in zip(valued, order.steps(valued, axis), strict=True) if step is not None]
    if len(known) < len(valued):
        left_out["its place in the order is unknown"] = len(valued) - len(known)
    return known, dict(left_out)


def _points(
    runs: Sequence[tuple[LabelledRun, PlaceByKeys]], kpi: KPIDefinition, *, by_run: bool
) -> tuple[SeriesPoint, ...]:
    is_timed = by_run or all(run.is_timed for run, _ in runs)
    points: dict[PlaceByKeys, list[LabelledRun]] = {}
    for run, step in sorted(runs, key=_time_us) if is_timed else runs:
        points.setdefault(step, []).append(run)
    return tuple([_point(points[step], kpi, is_timed=is_timed) for step in sorted(points)])


def _time_us(of: tuple[LabelledRun, PlaceByKeys]) -> float:
    time_us = of[0].load_time()
    return -math.inf if time_us is None else time_us


def _point(runs: Sequence[LabelledRun], kpi: KPIDefinition, *, is_timed: bool) -> SeriesPoint:
    values = [run.entry.kpis[kpi.name] for run in runs]
    return SeriesPoint(
        versions=runs[0].versions,
        time_us=runs[-1].load_time() if is_timed else None,
        sample=summarise(values),
        minimum=min(values),
        maximum=max(values),
        entries=tuple([run.entry for run in runs]),
    )


def _telling_apart(series: Sequence[Series], sorting_keys: Sequence[str]) -> list[str]:
    """The labels with several values among *series*, sorting keys first; all labels of a single series are the same."""
    names = dict.fromkeys([*sorting_keys, *(name for one in series for name in one.labels)])
    values = {name: {typed(hashable(one.labels.get(name, NOT_SET))) for one in series} for name in names}
    return [name for name in names if len(values[name]) > 1]


def _sorting(value: Any) -> tuple[float, str]:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value), type(value).__name__
    return math.inf, show(value)


LONGEST_VERSION = 60


def series_text(found: KPISeries, series: Series) -> str:
    """A series by the labels that tell it from the others: ``cpu-1 · onnx-fp32 · batch_size 32``."""
    named = " · ".join(value_label(name, series.labels.get(name, NOT_SET)) for name in found.names)
    return named or "all runs"


def step_texts(found: KPISeries) -> list[str]:
    """Each step's version; with those of other comparison keys, and text in quotes, where that tells them apart."""
    if found.axis is None:
        return []
    axis, shown = found.axis, in_words([step[found.axis] for step in found.steps])
    several = _repeated([typed(step[axis]) for step in found.steps])
    alike = _repeated([show(version) for version in found.versions])
    if not several and not alike:
        return shown
    texts = []
    for step, name in zip(found.steps, shown, strict=True):
        label = f'"{name}"' if name in alike and isinstance(step[axis], str) else name
        if typed(step[axis]) in several:
            label = " · ".join([label, *(show(value) for key, value in step.items() if key != axis)])
        texts.append(label)
    return texts


def _repeated(values: Sequence[Any]) -> set[Any]:
    if len(set(values)) == len(values):
        return set()
    return {value for value, count in collections.Counter(values).items() if count > 1}


def point_text(found: KPISeries, point: SeriesPoint, texts: Sequence[str]) -> str:
    """Which point of a series: by its version, else by its time."""
    if found.axis is not None:
        return f"{found.axis} {version_text(found, point, texts)}"
    return time_text(point) or "a run of unknown time"


def time_text(point: SeriesPoint) -> str:
    """When the newest run of a point ended; empty where that isn't at hand."""
    return "" if point.time_us is None else moment(point.time_us).strftime("%Y-%m-%d %H:%M UTC")


def version_text(found: KPISeries, point: SeriesPoint, texts: Sequence[str]) -> str:
    """A point's version as :func:`step_texts` writes it, cut where it is long."""
    index = next(
        number
        for number, step in enumerate(found.steps)
        if all(typed(step[key]) == typed(value) for key, value in point.versions.items())
    )
    return cut_inside(texts[index], LONGEST_VERSION)


def value_text(kpi: KPIDefinition, point: SeriesPoint) -> str:
    """A point's value, and the runs behind it."""
    if point.count == 1:
        return f"{kpi.show(point.mean)}, one run"
    low, high = kpi.show(point.minimum, unit=False), kpi.show(point.maximum)
    return f"{kpi.show(point.mean)}, mean of {point.count} runs from {low} to {high}"
