"""What an analysis looks at: each KPI's series with its points in order, what can't take part, and why.

Gets the runs of a history, those of the newest build among them; gives a :class:`Selection`.
"""

from __future__ import annotations

import collections
import dataclasses
import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ... import lts
from ...errors import did_you_mean
from ...filters import exact, show
from ...history.records import digest
from ...kpi import KPIDefinition
from ...matrix import NOT_SET, Entry, typed
from ...workload import Workload
from ..words import count_of, plural
from .labelled import LabelledRun, hashable, labelled
from .order import Order, axes
from .order_sources import named
from .series import KPISeries, Series, SeriesPoint, known_runs, series_of, series_text, step_texts, time_text

DAY_US = 24 * 3600 * 10**6
NO_VALUE = "no value at"
"""How the note on a series begins whose newest version is older than that of the others."""


@dataclasses.dataclass(frozen=True, slots=True)
class SelectedSeries:
    """One series, ready to be judged.

    Attributes:
        id: digest of workload, KPI, unit and labels; types count.
        kpi: what is measured.
        labels: what identifies it besides the KPI.
        name: in words, by the labels that tell it from the KPI's other series.
        points: one a version, the oldest first.
        versions: the points in words.
        keys: what identifies each point, whatever else is in the history: its version, or its run.
        notes: what a reader should know, such as a newest version without a value.
    """

    id: str
    kpi: KPIDefinition
    labels: Mapping[str, Any]
    name: str
    points: tuple[SeriesPoint, ...]
    versions: tuple[str, ...]
    keys: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def values(self) -> list[list[float]]:
        """The repeats of each point, in the KPI's unit."""
        name = self.kpi.name
        return [[entry.kpis[name] for entry in point.entries] for point in self.points]

    def labels_for(self, version: str | None) -> list[Any]:
        """Each point's value of one comparison key, as it was measured: of the key that has *version* among its values.

        Where none has it, that of the first one with several values, which orders the points.
        """
        names = dict.fromkeys(name for point in self.points for name in point.versions)
        keys = [[point.versions.get(name, NOT_SET) for point in self.points] for name in names]
        there = [values for values in keys if version in {exact(value) for value in values}]
        several = [values for values in keys if len(set(map(typed, values))) > 1]
        return next(iter([*there, *several, *keys]), [])


@dataclasses.dataclass(frozen=True, slots=True)
class NotAnalysed:
    """Runs of a KPI that take no part: *series*, in words, is empty where they are all of the KPI's.

    *reason* is a sentence's end, such as ``1B_cost is unknown at all 5 runs``.
    """

    kpi: str
    series: str
    labels: Mapping[str, Any]
    reason: str
    runs: int


@dataclasses.dataclass(frozen=True, slots=True)
class Selection:
    """All that is to be judged.

    Attributes:
        workload: its name.
        newest: the newest version in words; None where no version orders the runs.
        kpis: the names of the KPIs that are looked at.
        series: in the order of the KPIs, then of the workload's sorting keys.
        skipped: what takes no part.
        notes: sentences on the data.
        runs: successful runs.
        order: where the order is from, as a sentence.
    """

    workload: str
    newest: str | None
    kpis: tuple[str, ...]
    series: tuple[SelectedSeries, ...]
    skipped: tuple[NotAnalysed, ...]
    notes: tuple[str, ...]
    runs: int
    order: str = ""


def select(
    entries: Iterable[Entry],
    workload: Workload,
    *,
    order: Order | None = None,
    kpi_filter: Sequence[str] = (),
    since_us: int | None = None,
    now_us: int | None = None,
) -> Selection:
    """The series among *entries*.

    Args:
        order: of all runs that there are, of which *entries* may be a part; that of *entries* unless given.
        kpi_filter: names of KPIs, ``*`` and ``?`` for any characters; all that aren't ignored unless given.
        since_us: only runs from this time on, in microseconds since 1970; one of unknown time isn't known to be so new.
        now_us: the time of the analysis, likewise; runs from long after it are noted.

    Raises:
        OrderUnknown: nothing says which version, or run, came after which.
    """
    entries = list(entries)
    runs = labelled(entries, workload) if order is None else order.runs_of(entries)
    order = Order(runs, workload) if order is None else order
    notes = _about_entries(entries, runs, workload)
    if since_us is not None:
        every = runs
        runs = [run for run in every if (time_us := run.load_time()) is not None and time_us >= since_us]
        early = len(every) - len(runs)
        if early:
            notes.append(
                f"{count_of(early, 'run')} left out: from before the time asked for, or of unknown time"
                f"{_of_the_newest(every, runs, order)}"
            )
    notes += _about_runs(runs, workload, now_us)
    return select_runs(runs, workload, order, notes, kpi_filter=kpi_filter)


def _of_the_newest(every: Sequence[LabelledRun], left: Sequence[LabelledRun], order: Order) -> str:
    """The end of a sentence on what was left out of *every*: how much of it was of the newest version."""
    axis = order.axis
    if axis is None:
        return ""
    newest = typed(order.newest)
    had, has = (sum(typed(run.versions[axis]) == newest for run in some) for some in (every, left))
    if had == has:
        return ""
    of_it = f"{show(order.newest)}, the newest version"
    if has:
        return f"; {had - has} of {had} runs of {of_it}, among them"
    return f"; among them all of {of_it}, which is not judged"


def select_runs(
    runs: Sequence[LabelledRun],
    workload: Workload,
    order: Order,
    notes: Sequence[str] = (),
    *,
    kpi_filter: Sequence[str] = (),
) -> Selection:
    """As :func:`select`, of runs that have their labels; *notes* come before those that are made here."""
    kpis, about_kpis = _chosen(workload, kpi_filter)
    axis = order.axis
    found, skipped = [], list[NotAnalysed]()
    for kpi in kpis:
        of_kpi = series_of(runs, workload, kpi, order)
        texts = dict(zip(map(_step_key, of_kpi.steps), step_texts(of_kpi), strict=True))
        names = _names_of(of_kpi)
        found += [_selected(workload, of_kpi, one, name, texts) for one, name in zip(of_kpi.series, names, strict=True)]
        skipped += _skipped(of_kpi, runs, order)
    newest = None if axis is None else _in_words(found, axis, order.newest)
    return Selection(
        workload=workload.name,
        newest=newest,
        kpis=tuple(kpi.name for kpi in kpis),
        series=tuple(_with_gaps(found, newest, axis, order.newest)),
        skipped=tuple(skipped),
        notes=(*about_kpis, *notes, *order.notes),
        runs=len(runs),
        order=order.sentence,
    )


def series_id(workload: str, kpi: str, unit: str, labels: Mapping[str, Any]) -> str:
    """A digest that is the same on each machine; labels ``1``, ``"1"``, ``1.0`` and ``true`` give different ones."""
    return digest([workload, kpi, unit, {name: _plain(value) for name, value in labels.items()}])


def _chosen(workload: Workload, patterns: Sequence[str]) -> tuple[list[KPIDefinition], list[str]]:
    """The KPIs to look at, and a sentence on each pattern that names none of them."""
    offered = {name: kpi for name, kpi in workload.kpis.items() if not kpi.ignored_for_regression}
    notes = []
    for pattern in patterns:
        if fnmatch.filter(offered, pattern):
            continue
        if fnmatch.filter(workload.kpis, pattern):
            notes.append(f"'{pattern}' is left out of the regression analysis by its workload")
        else:
            notes.append(f"no KPI '{pattern}': {did_you_mean(pattern, offered)}")
    wanted = [
        kpi for name, kpi in offered.items() if not patterns or any(fnmatch.fnmatchcase(name, one) for one in patterns)
    ]
    return wanted, notes


def _about_entries(entries: Sequence[Entry], runs: Sequence[LabelledRun], workload: Workload) -> list[str]:
    """Sentences on the runs that can't take part at all."""
    notes = []
    failed = sum(entry.failed for entry in entries)
    if failed:
        notes.append(f"{failed} failed {plural(failed, 'run')} left out")
        without = not_judged(entries, workload)
        notes += [f"{named(without)}: no good run, so it was not judged"] if without else []
    others = len(entries) - failed - len(runs)
    if others:
        notes.append(f"{count_of(others, 'run')} left out: ignored by the workload, or without KPIs or labels")
    return notes


def not_judged(entries: Sequence[Entry], workload: Workload) -> list[str]:
    """The versions, as ``version 1.4.0``, of which all runs among *entries* failed."""
    failed = [entry for entry in entries if entry.failed]
    return lts.versions_without((entry for entry in entries if not entry.failed), failed, workload) if failed else []


def _about_runs(runs: Sequence[LabelledRun], workload: Workload, now_us: int | None) -> list[str]:
    """Sentences on what is strange about the runs."""
    notes = []
    if runs and workload.regression.comparison_keys and not axes(runs, workload):
        keys = " and ".join(workload.regression.comparison_keys)
        notes.append(f"all runs have the same {keys}: they are put in order run by run")
    notes += _changed_labels(runs)
    if now_us is not None:
        times = [time_us for run in runs if run.is_timed and (time_us := run.load_time()) is not None]
        late = sum(time_us > now_us + DAY_US for time_us in times)
        if late:
            notes.append(f"{count_of(late, 'run')} dated in the future: a clock was wrong")
    return notes


def _changed_labels(runs: Sequence[LabelledRun]) -> list[str]:
    """A sentence where runs differ in which labels they have: such runs belong to different series."""
    sets = collections.Counter(frozenset(run.labels) for run in runs)
    if len(sets) < 2:
        return []
    apart = sorted(frozenset.union(*sets) - frozenset.intersection(*sets))
    counts = named([f"{name} in {sum(n for names, n in sets.items() if name in names)}" for name in apart])
    return [f"not all of the {len(runs)} runs have the same labels ({counts}): those are different series"]


def _names_of(found: KPISeries) -> list[str]:
    """The series in words, each another: a text in quotes where a number looks the same."""
    texts = [series_text(found, one) for one in found.series]
    same = {text for text, count in collections.Counter(texts).items() if count > 1}
    return [
        text
        if text not in same
        else " · ".join(
            f"{name} {one.labels[name]!r}" if name in one.labels else f"{name} not set" for name in found.names
        )
        for text, one in zip(texts, found.series, strict=True)
    ]


def _selected(workload: Workload, found: KPISeries, one: Series, name: str, texts: Mapping[str, str]) -> SelectedSeries:
    """One series; *texts* are the versions in words, by their keys."""
    kpi = found.kpi
    if found.axis is None:
        versions = tuple(time_text(point) or "unknown time" for point in one.points)
        keys = tuple(min(str(entry.test_uuid) for entry in point.entries) for point in one.points)
    else:
        keys = tuple(_step_key(point.versions) for point in one.points)
        versions = tuple(texts[key] for key in keys)
    identity = series_id(workload.name, kpi.name, kpi.unit, one.labels)
    return SelectedSeries(identity, kpi, one.labels, name, one.points, versions, keys)


def _step_key(versions: Mapping[str, Any]) -> str:
    """The values of the comparison keys as a digest; types count."""
    return digest([[name, _plain(value)] for name, value in sorted(versions.items())])


def _plain(value: Any) -> Any:
    """A label as JSON holds it; one that isn't set is none."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()  # a lone surrogate can't be in a digest
    return None if value is NOT_SET else hashable(value)


def _skipped(found: KPISeries, runs: Sequence[LabelledRun], order: Order) -> list[NotAnalysed]:
    """The runs of a KPI that take no part: a series that has no value at all, then the rest by reason."""
    name = found.kpi.name
    groups: dict[Any, list[LabelledRun]] = {}
    for run in runs:
        groups.setdefault(run.key, []).append(run)
    there = {_key(one.labels) for one in found.series}
    without = [group for group in groups.values() if _key(group[0].labels) not in there]
    if len(without) == len(groups):
        if not runs:
            return []
        reasons = "; ".join(f"{reason} ({count})" for reason, count in found.left_out.items())
        return [NotAnalysed(name, "", {}, reasons or "no run has it", len(runs))]
    rest, listed = collections.Counter(found.left_out), list[NotAnalysed]()
    for group in without:
        left = known_runs(group, found.kpi, order, found.axis)[1]
        rest.subtract(left)
        why = "; ".join(f"{reason}{'' if n == len(group) else f' ({n})'}" for reason, n in left.items())
        listed.append(NotAnalysed(name, _alone(group[0].labels, groups), group[0].labels, why, len(group)))
    return [*listed, *(NotAnalysed(name, "", {}, reason, count) for reason, count in rest.items() if count > 0)]


def _alone(labels: Mapping[str, Any], groups: Mapping[Any, Sequence[LabelledRun]]) -> str:
    """The labels that differ among all runs, in words."""
    values: dict[str, set[Any]] = {}
    for group in groups.values():
        for name, value in group[0].labels.items():
            values.setdefault(name, set()).add(typed(_plain(value)))
    telling = [name for name in labels if len(values[name]) > 1]
    return " · ".join(f"{name} {show(labels[name])}" for name in telling) or "all runs"


def _key(labels: Mapping[str, Any]) -> Any:
    return tuple(sorted((name, *map(str, typed(_plain(value)))) for name, value in labels.items()))


def _in_words(found: Sequence[SelectedSeries], axis: str, version: Any) -> str:
    """The *version* as the series that have it call it."""
    for one in found:
        if typed(one.points[-1].versions[axis]) == typed(version):
            return one.versions[-1]
    return show(version)


def _with_gaps(
    found: Iterable[SelectedSeries], newest: str | None, axis: str | None, last: Any
) -> Iterable[SelectedSeries]:
    """The series; those without a value at the newest version say so."""
    for one in found:
        if axis is None or typed(one.points[-1].versions[axis]) == typed(last):
            yield one
        else:
            note = f"{NO_VALUE} {newest}, the newest version: judged up to {one.versions[-1]}"
            yield dataclasses.replace(one, notes=(*one.notes, note))
