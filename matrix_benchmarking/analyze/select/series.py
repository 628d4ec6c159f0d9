"""Series of a KPI: its values at equal labels, from version to version, out of the runs of a matrix; and their words.

What identifies a series are a run's labels without the workload's comparison keys, which order it, and its ignored
keys. Repeats at one version are one point.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from ...filters import exact, show
from ...grouped import grouped
from ...history.records import digest, moment
from ...kpi import KPIDefinition
from ...matrix import NOT_SET, Entry, typed
from ...workload import Workload
from ..intervals import mean_of
from ..words import value_label
from .labelled import LabelledRun, Labels, LabelsKey, hashable
from .order import Order
from .versions import in_words

if TYPE_CHECKING:
    from ..detect.series import Blocks

Step = tuple[int, ...]  # the place of a run by each comparison key
LeftOut = Mapping[tuple[LabelsKey, str], int]  # how many runs take no part, by what identifies their series, and why

ALL_RUNS = "all runs"
"""The name of a series that is the only one of its KPI."""


class SeriesPoint(msgspec.Struct, frozen=True):
    """The runs of a series at one version; where no version orders the series, one run, or those of one place."""

    versions: Labels  # the values of the comparison keys
    # Of the newest run; None where unknown, and where nothing but its payload says and the versions are order enough.
    time_us: int | None
    mean: float  # of the values, in the KPI's unit, and the least and the largest one
    minimum: float
    maximum: float
    entries: tuple[Entry, ...]  # in the order of their time where that is at hand

    @classmethod
    def of(
        cls, kpi: KPIDefinition, versions: Labels, entries: Sequence[Entry], time_us: int | None = None
    ) -> SeriesPoint:
        """The *entries* at these *versions*, all of which have a value of *kpi*."""
        values = [entry.kpis[kpi.name] for entry in entries]
        return cls(versions, time_us, mean_of(values), min(values), max(values), tuple(entries))

    @property
    def count(self) -> int:
        return len(self.entries)


class Series(msgspec.Struct, frozen=True):
    """One KPI at the same labels, from the oldest version to the newest."""

    id: str  # digest of workload, KPI, unit and labels; types count
    kpi: KPIDefinition
    labels: Labels  # what identifies it besides the KPI
    name: str  # in words, by the labels that tell it from the KPI's other series
    points: tuple[SeriesPoint, ...]
    versions: tuple[str, ...]  # the points in words
    keys: tuple[str, ...]  # what identifies each point, whatever else is in the history: its version, or its run
    notes: tuple[str, ...] = ()  # what a reader should know, such as a newest version without a value
    blocks: Blocks = ()  # of each run of each point its campaign and round, where it is asked what changed

    @property
    def values(self) -> list[list[float]]:
        """The repeats of each point, in the KPI's unit."""
        return [[entry.kpis[self.kpi.name] for entry in point.entries] for point in self.points]

    def labels_for(self, version: str | None) -> list[object]:
        """Each point's value of one comparison key, as it was measured: of the key that has *version* among its values.

        Where none has it, that of the first one with several values, which orders the points.
        """
        names = dict.fromkeys(name for point in self.points for name in point.versions)
        keys = [[point.versions.get(name, NOT_SET) for point in self.points] for name in names]
        there = [values for values in keys if version in {exact(value) for value in values}]
        several = [values for values in keys if len(set(map(typed, values))) > 1]
        return next(iter([*there, *several, *keys]), [])


class NotAnalysed(msgspec.Struct, frozen=True):
    """Runs of a KPI that take no part."""

    kpi: str
    series: str  # in words; empty where they are of several, or all of the KPI's
    labels: Labels
    reason: str  # a sentence's end, such as ``1B_cost is unknown``
    runs: int


class KPISeries(msgspec.Struct, frozen=True):
    """All series of one KPI."""

    kpi: KPIDefinition
    axis: str | None  # the comparison key whose values order the points; None where time does
    versions: tuple[object, ...]  # the values of *axis* in their order, each once; empty where time orders the points
    steps: Mapping[str, str]  # the combinations of all comparison keys' values in their order, in words by their keys
    series: tuple[Series, ...]  # in the order of their labels, sorting keys first
    left_out: Mapping[str, int]  # why runs take no part, and how many
    skipped: tuple[NotAnalysed, ...] = ()  # the same runs: by series that have no value at all, then by reason


def series_of(
    runs: Sequence[LabelledRun], workload: Workload, kpi: KPIDefinition, order: Order, axis: str | None = None
) -> KPISeries:
    """The series of *kpi* among *runs*, in the *order* of all runs that there are; by its own *axis* unless given.

    Raises:
        OrderUnknown: nothing says which version, or run, came after which.
    """
    axis = order.axis if axis is None else axis
    placed = list(zip(runs, _places(runs, kpi, order, axis), strict=True))
    groups = grouped((run.key, (run, place)) for run, place in placed if not isinstance(place, str))
    left_out = collections.Counter((run.key, place) for run, place in placed if isinstance(place, str))
    labels = [of[0][0].labels for of in groups.values()]
    telling = _telling_apart(labels, workload.regression.sorting_keys)
    versions = {step: run.versions for of in groups.values() for run, step in of}
    in_order = {step: versions[step] for step in sorted(versions)} if axis is not None else {}
    keys = {step: _key(values) for step, values in in_order.items()}
    steps = dict(zip(keys.values(), _step_texts(list(in_order.values()), axis), strict=True))
    series = [
        _series(workload, kpi, name, of, keys, steps)
        for name, of in zip(_names(labels, telling), groups.values(), strict=True)
    ]
    series.sort(key=lambda one: [_sorting(one.labels.get(name, NOT_SET)) for name in telling])
    of_axis = {typed(step[axis]): step[axis] for step in in_order.values() if axis is not None}
    reasons, skipped = _by_reason(left_out), tuple(_skipped(kpi, runs, groups.keys(), left_out))
    return KPISeries(kpi, axis, tuple(of_axis.values()), steps, tuple(series), reasons, skipped)


def series_id(workload: str, kpi: str, unit: str, labels: Labels) -> str:
    """A digest that is the same on each machine; labels ``1``, ``"1"``, ``1.0`` and ``true`` give different ones."""
    return digest([workload, kpi, unit, {name: _plain(value) for name, value in labels.items()}])


def _key(versions: Labels) -> str:
    """The values of the comparison keys as a digest; types count."""
    return digest([[name, _plain(value)] for name, value in sorted(versions.items())])


def _plain(value: object) -> object:
    """A label as JSON holds it; one that isn't set is none."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()  # a lone surrogate can't be in a digest
    return None if value is NOT_SET else hashable(value)


def _places(runs: Sequence[LabelledRun], kpi: KPIDefinition, order: Order, axis: str | None) -> list[Step | str]:
    """The place of each of *runs* in the order, or why it takes no part."""
    found: list[Step | str] = [_refusal(run, kpi) for run in runs]
    valued = [at for at, reason in enumerate(found) if not reason]
    for at, step in zip(valued, order.steps([runs[at] for at in valued], axis), strict=True):
        found[at] = "its place in the order is unknown" if step is None else step
    return found


def _refusal(run: LabelledRun, kpi: KPIDefinition) -> str:
    """Why the run's value of *kpi* isn't compared; empty where it is."""
    value, facts = run.entry.kpis.get(kpi.name), run.entry.facts
    if facts is not None and kpi.name in facts.other_units:
        return f"{kpi.name} is {facts.other_units[kpi.name]}"
    if value is None:
        return f"{kpi.name} is unknown"
    if run.entry.implausible:
        return "values of the run can't be"
    if facts is not None and kpi.name in facts.other_directions:
        return f"{kpi.name} was better the other way round, and {kpi.direction} today"
    return ""


def _skipped(
    kpi: KPIDefinition, runs: Sequence[LabelledRun], known: Collection[LabelsKey], left_out: LeftOut
) -> Iterator[NotAnalysed]:
    """The runs that were left out, by reason: those of each series that isn't among the *known*, then of all others."""
    if not known:
        why = "; ".join(f"{reason} ({count})" for reason, count in _by_reason(left_out).items())
        yield from [NotAnalysed(kpi.name, "", {}, why, len(runs))] if runs else []
        return
    labels = {run.key: run.labels for run in runs}
    telling = _telling_apart(labels.values(), ())
    without: dict[LabelsKey, dict[str, int]] = {}
    for (key, reason), count in left_out.items():
        if key not in known:
            without.setdefault(key, {})[reason] = count
    for key, reasons in without.items():
        count = sum(reasons.values())
        why = "; ".join(f"{reason}{'' if n == count else f' ({n})'}" for reason, n in reasons.items())
        yield NotAnalysed(kpi.name, _text(labels[key], telling), labels[key], why, count)
    for reason, count in _by_reason({of: n for of, n in left_out.items() if of[0] in known}).items():
        yield NotAnalysed(kpi.name, "", {}, reason, count)


def _by_reason(left_out: LeftOut) -> dict[str, int]:
    found = collections.Counter[str]()
    for (_, reason), count in left_out.items():
        found[reason] += count
    return dict(found)


def _series(
    workload: Workload,
    kpi: KPIDefinition,
    name: str,
    runs: Sequence[tuple[LabelledRun, Step]],
    keys: Mapping[Step, str],
    texts: Mapping[str, str],
) -> Series:
    labels, points = runs[0][0].labels, _points(runs, kpi, by_run=not keys)
    if keys:
        of_points = [(keys[step], texts[keys[step]]) for step in points]
    else:
        of_points = [
            (min(str(entry.test_uuid) for entry in point.entries), time_text(point) or "unknown time")
            for point in points.values()
        ]
    return Series(
        id=series_id(workload.name, kpi.name, kpi.unit, labels),
        kpi=kpi,
        labels=labels,
        name=name,
        points=tuple(points.values()),
        versions=tuple([text for _, text in of_points]),
        keys=tuple([key for key, _ in of_points]),
    )


def _points(runs: Sequence[tuple[LabelledRun, Step]], kpi: KPIDefinition, *, by_run: bool) -> dict[Step, SeriesPoint]:
    is_timed = by_run or all(run.is_timed for run, _ in runs)
    times = {id(run): -math.inf if run.entry.time_us is None else run.entry.time_us for run, _ in runs}
    in_order = sorted(runs, key=lambda of: times[id(of[0])]) if is_timed else runs
    points = grouped((step, run) for run, step in in_order)
    return {
        step: SeriesPoint.of(kpi, of[0].versions, [run.entry for run in of], of[-1].entry.time_us if is_timed else None)
        for step, of in sorted(points.items())
    }


def _telling_apart(labels: Collection[Labels], sorting_keys: Sequence[str]) -> list[str]:
    """The names with several values among *labels*, sorting keys first, then as those say them that have most."""
    fullest = sorted(labels, key=len, reverse=True)  # whichever run comes first
    names = dict.fromkeys([*sorting_keys, *(name for one in fullest for name in one)])
    return [name for name in names if len({typed(hashable(one.get(name, NOT_SET))) for one in labels}) > 1]


def _sorting(value: object) -> tuple[float, str]:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value), type(value).__name__
    return math.inf, show(value)


def _names(labels: Sequence[Labels], telling: Sequence[str]) -> list[str]:
    """Series in words, each another: ``cpu-1 · batch_size 32``; text is in quotes where a number looks the same."""
    texts = [_text(one, telling) for one in labels]
    counts = collections.Counter(texts)
    return [
        text
        if counts[text] == 1
        else " · ".join(f"{name} {one[name]!r}" if name in one else f"{name} not set" for name in telling)
        for text, one in zip(texts, labels, strict=True)
    ]


def _text(labels: Labels, telling: Sequence[str]) -> str:
    return " · ".join(value_label(name, labels.get(name, NOT_SET)) for name in telling) or ALL_RUNS


def _step_texts(steps: Sequence[Labels], axis: str | None) -> list[str]:
    """Each step's version; with those of other comparison keys, and text in quotes, where that tells them apart."""
    if axis is None:
        return []
    shown = in_words([step[axis] for step in steps])
    several = collections.Counter(typed(step[axis]) for step in steps)
    alike = collections.Counter(show(value) for _, value in several)
    texts = []
    for step, name in zip(steps, shown, strict=True):
        value = step[axis]
        label = f'"{name}"' if alike[show(value)] > 1 and isinstance(value, str) else name
        others = [show(value) for key, value in step.items() if key != axis] if several[typed(value)] > 1 else []
        texts.append(" · ".join([label, *others]))
    return texts


def point_word(points: Sequence[SeriesPoint]) -> str:
    """What each of *points* is: a ``version``, or a ``run`` where no version tells them apart."""
    return "run" if 1 == len({repr(point.versions) for point in points}) < len(points) else "version"


def time_text(of: SeriesPoint | Entry) -> str:
    """When a run, or the newest one of a point, ended; empty where that isn't known."""
    return "" if of.time_us is None else moment(of.time_us).strftime("%Y-%m-%d %H:%M UTC")


def value_text(kpi: KPIDefinition, point: SeriesPoint) -> str:
    """A point's value, and the runs behind it."""
    if point.count == 1:
        return f"{kpi.show(point.mean)}, one run"
    low, high = kpi.show(point.minimum, unit=False), kpi.show(point.maximum)
    return f"{kpi.show(point.mean)}, mean of {point.count} runs from {low} to {high}"
