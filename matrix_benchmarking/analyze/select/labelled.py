"""The runs that may be points of a series, with what places each in one: labels, versions, time.

Nothing here does input or output but loading what a run's payload says, once a run.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ... import lts
from ...errors import did_you_mean
from ...history.records import URLS_LABEL
from ...matrix import NOT_SET, Entry, Facts, Matrix, typed
from ...workload import Workload

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
        names: of all its labels, comparison and ignored keys among them.
        recorded: when a history first saw it, as :class:`.matrix.Entry` says it.
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
    recorded: tuple[int, int] | None
    names: frozenset[str]


def labelled(entries: Iterable[Entry], workload: Workload, *, by_settings: bool = False) -> list[LabelledRun]:
    """The runs of *entries* that may be points of a series: not failed, not ignored, with labels.

    For entries of a results tree whose workload has labels of its own, this loads and validates each payload, about a
    millisecond a run; those of payloads and of a history know what is needed.

    Args:
        by_settings: no payload is loaded where the settings say the version: they stand for the labels. That is enough
            for an order of the versions.
    """
    entries = list(entries)
    is_beside_history = any(entry.kept_in is not None for entry in entries)
    ignored = {name: {typed(value) for value in values} for name, values in workload.regression.ignored_entries.items()}
    runs = []
    for entry in entries:
        if entry.failed or not entry.kpis or any(_has(entry, name, values) for name, values in ignored.items()):
            continue
        is_current = is_beside_history and entry.kept_in is None
        run = _labelled(entry, workload, is_current=is_current, by_settings=by_settings)
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


def unknown_names(names: Iterable[str], workload: Workload, runs: Sequence[LabelledRun]) -> list[str]:
    """Of each of *names* that is neither a label of the workload's model nor known to a run: what is meant.

    Sentences' ends, as ``'verison': did you mean 'version'?``; none where there is no run.
    """
    known = set(lts.label_names(workload))
    for run in runs:
        known.update(run.names, run.entry.settings)
    return [f"'{name}': {did_you_mean(name, known)}" for name in names if runs and name not in known]


def run_id(run: LabelledRun) -> tuple[Any, ...]:
    """What tells *run* from all others of its matrix."""
    return run.entry.test_uuid, run.entry.name


def hashable(value: Any) -> Any:
    """A label that is no scalar, as text."""
    return value if value is NOT_SET or value is None or isinstance(value, (str, int, float)) else repr(value)


def _labelled(entry: Entry, workload: Workload, *, is_current: bool, by_settings: bool) -> LabelledRun | None:
    loaded: Facts | None = entry.facts
    is_said = by_settings and all(name in entry.settings for name in workload.regression.comparison_keys)
    if loaded is None and (is_said or workload.store.get_kpi_labels is None):
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
        key=tuple((name, *typed(hashable(value))) for name, value in sorted(series_labels.items())),
        versions={name: hashable(_version(name, labels, entry)) for name in keys.comparison_keys},
        other_units=frozenset() if loaded is None else loaded.other_units,
        other_directions=frozenset() if loaded is None else loaded.other_directions,
        is_current=is_current,
        is_timed=loaded is not None,
        load_time=load_time,
        recorded=entry.recorded,
        names=frozenset(labels),
    )


def _version(name: str, labels: Mapping[str, Any], entry: Entry) -> Any:
    """The value of a comparison key: of the label, else of the setting that is no label."""
    value = labels.get(name, entry.settings.get(name))
    return NOT_SET if value is None else value


def _has(entry: Entry, name: str, values: set[tuple[str, object]]) -> bool:
    return name in entry.settings and typed(entry.settings[name]) in values
