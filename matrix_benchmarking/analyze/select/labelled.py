"""The runs that may be points of a series, with what places each in one: labels, versions, time.

Nothing here does input or output but loading what a run's payload says, once a run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from ... import lts
from ...errors import did_you_mean
from ...history.records import URLS_LABEL
from ...matrix import NOT_SET, Entry, Matrix, typed
from ...workload import Workload

Labels = Mapping[str, object]  # values by name; types count
LabelsKey = tuple[tuple[str, str, object], ...]


class LabelledRun(msgspec.Struct, frozen=True, eq=False):
    """A successful run with what places it in a series, whatever the KPI. Runs of one series share what they can."""

    entry: Entry
    labels: Labels  # without comparison and ignored keys
    key: LabelsKey  # what identifies them
    versions: Labels  # the values of the comparison keys; NOT_SET where it has none
    is_current: bool  # it is from the results at hand, beside others from a history
    names: frozenset[str]  # of all its labels, comparison and ignored keys among them
    is_timed: bool  # its time is known, or its payload was looked at and doesn't say it


def labelled(entries: Iterable[Entry], workload: Workload, *, by_settings: bool = False) -> list[LabelledRun]:
    """The runs of *entries* that may be points of a series: not failed, not ignored, with labels.

    For entries of a results tree whose workload has labels of its own, this loads and validates each payload, about a
    millisecond a run; those of payloads and of a history know what is needed.

    Args:
        by_settings: no payload is loaded where the settings say the version: they stand for the labels. That is enough
            for an order of the versions.
    """
    entries, is_ignored = list(entries), ignored_by(workload)
    is_beside_history = any(entry.kept_in is not None for entry in entries)
    keys = workload.regression
    apart = {*keys.comparison_keys, *keys.ignored_keys, URLS_LABEL}
    series: dict[LabelsKey, tuple[Labels, LabelsKey]] = {}
    known_names: dict[frozenset[str], frozenset[str]] = {}
    runs = []
    for entry in entries:
        settings = entry.settings
        has_kpis = entry.kpis or (entry.facts is not None and entry.facts.other_units)
        if entry.failed or not has_kpis or is_ignored(entry):
            continue
        is_read, labels = _labels(entry, workload, by_settings=by_settings)
        if labels is None:
            continue
        kept = {name: value for name, value in labels.items() if name not in apart}
        key = _key(kept)
        series_labels, key = series.setdefault(key, (kept, key))
        versions = {name: labels.get(name, settings.get(name)) for name in keys.comparison_keys}  # if it is no label
        versions = {name: NOT_SET if value is None else hashable(value) for name, value in versions.items()}
        is_current = is_beside_history and entry.kept_in is None
        names = known_names.setdefault(names := frozenset(labels), names)
        is_timed = is_read or entry.time_us is not None
        runs.append(LabelledRun(entry, series_labels, key, versions, is_current, names, is_timed))
    return runs


def told_by(
    runs: Iterable[LabelledRun], ignored: Collection[str] = (), *, by_version: bool = False
) -> Iterator[LabelledRun]:
    """The same, told apart without the labels *ignored*, and *by_version* like by other labels."""
    known: dict[tuple[LabelsKey, tuple[object, ...]], tuple[Labels, LabelsKey]] = {}
    for run in runs:
        versions = {name: value for name, value in run.versions.items() if by_version and value is not NOT_SET}
        same = run.key, tuple(map(typed, versions.values()))
        if same not in known:
            kept = {name: value for name, value in {**versions, **run.labels}.items() if name not in ignored}
            known[same] = kept, _key(kept)
        labels, key = known[same]
        yield msgspec.structs.replace(run, labels=labels, key=key)


def ignored_by(workload: Workload) -> Callable[[Entry], bool]:
    """Whether a run takes no part in what is judged, says the workload."""
    ignored = {name: {*map(typed, values)} for name, values in workload.regression.ignored_entries.items()}
    return lambda run: any(
        name in run.settings and typed(run.settings[name]) in values for name, values in ignored.items()
    )


def may_have_versions(matrix: Matrix, workload: Workload) -> bool:
    """False if the runs of *matrix* have surely no two versions; without loading all their payloads.

    A comparison key that is no setting may be a label all the same: then the first run that has labels says so.
    """
    settings = matrix.settings
    if any(len(settings.get(name, ())) > 1 for name in workload.regression.comparison_keys):
        return True
    others = [name for name in workload.regression.comparison_keys if name not in settings]
    if not others:
        return False
    first = next((run for entry in matrix if (run := next(iter(labelled([entry], workload)), None))), None)
    return first is not None and any(first.versions[name] is not NOT_SET for name in others)


def unknown_names(names: Iterable[str], workload: Workload, runs: Sequence[LabelledRun]) -> list[str]:
    """Of each of *names* that is neither a label of the workload's model nor known to a run: what is meant.

    Sentences' ends, as ``'verison': did you mean 'version'?``; none where there is no run.
    """
    known = set(workload.label_names)
    for run in runs:
        known.update(run.names, run.entry.settings)
    return [f"'{name}': {did_you_mean(name, known)}" for name in names if runs and name not in known]


def run_id(entry: Entry) -> tuple[object, ...]:
    """What tells a run from all others of its matrix."""
    return entry.test_uuid, entry.name


def hashable(value: object) -> object:
    """A label that is no scalar, as text."""
    return value if value is NOT_SET or value is None or isinstance(value, (str, int, float)) else repr(value)


def _key(labels: Labels) -> LabelsKey:
    return tuple([(name, *typed(hashable(labels[name]))) for name in sorted(labels)])


def _labels(entry: Entry, workload: Workload, *, by_settings: bool) -> tuple[bool, Labels | None]:
    """Whether it is known what the run's payload says, and its labels."""
    is_said = by_settings and all(name in entry.settings for name in workload.regression.comparison_keys)
    if entry.facts is None and (is_said or workload.store.get_kpi_labels is None):
        return False, entry.settings
    return True, lts.labels_of_entry(workload, entry)
