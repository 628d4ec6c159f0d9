"""Findings on settings that tell points apart and are no labels: an analysis sees such points as one series."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ... import lts
from ...errors import MatbenchError
from ...matrix import NOT_SET, Entry, Matrix, typed
from ...workload import Workload
from ..points import by_point
from .finding import ANALYSES, Finding

_PAIRS = 3
"""How many pairs of runs are looked at before a setting is believed to be no label."""


def findings(matrix: Matrix, workload: Workload) -> Iterator[Finding]:
    """A finding for each setting that varies among the successful runs of *matrix* and is in none of their labels."""
    entries = [runs[0] for runs in by_point(entry for entry in matrix if not entry.failed and entry.kpis)]
    if workload.store.get_kpi_labels is None:
        return
    names = _label_names(entries, workload)
    if names is None:
        return
    keys = workload.regression
    apart = {*keys.comparison_keys, *keys.ignored_keys}
    labels = sorted({name for entry in entries for name in entry.settings if name in names} - apart)
    for name in sorted({name for entry in entries for name in entry.settings} - names - apart):
        groups: dict[Any, dict[Any, Entry]] = {}
        for entry in entries:
            of_group = groups.setdefault(_key(entry, labels), {})
            of_group.setdefault(typed(entry.settings.get(name, NOT_SET)), entry)
        merged = [list(group.values()) for group in groups.values() if len(group) > 1]
        if merged and all(_same_labels(group, workload) for group in merged[:_PAIRS]):
            points = sum(map(len, groups.values()))
            yield Finding(
                "no-label",
                f"'{name}' varies and is no label: {points} points become {len(groups)} series, so runs that differ in "
                "it are taken for repeats.",
                ANALYSES,
            )


def _label_names(entries: Sequence[Entry], workload: Workload) -> frozenset[str] | None:
    """The names of the labels of runs, of one for each set of settings; None where no run has any."""
    samples = {frozenset(entry.settings): entry for entry in entries}
    found = [labels for entry in samples.values() if (labels := _labels(entry, workload)) is not None]
    return frozenset().union(*found) if found else None


def _same_labels(runs: Sequence[Entry], workload: Workload) -> bool:
    """Whether the first two of *runs* have the same labels, so that what tells them apart is under no other name."""
    return _labels(runs[0], workload) == _labels(runs[1], workload)


def _labels(entry: Entry, workload: Workload) -> Mapping[str, Any] | None:
    try:
        return lts.facts_of_entry(workload, entry).labels
    except MatbenchError:  # what it was read from is gone since
        return None


def _key(entry: Entry, names: Sequence[str]) -> tuple[object, ...]:
    return tuple(typed(entry.settings.get(name, NOT_SET)) for name in names)
