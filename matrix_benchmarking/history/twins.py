"""Runs with the settings, the repeat and the time of another one: one was changed after it was kept, and kept again.

A run without an id of its own has that of its content, so a changed artifact makes it another run.
"""

from __future__ import annotations

from collections.abc import Mapping

from .port import History, Query, Twin
from .records import Record, digest


def twin_of(record: Record) -> Twin | None:
    """What twins of *record* have in common with it; None for a run that failed, or whose time is unknown."""
    if record.time_us is None or record.payload["metadata"].get("exit_code") not in (0, None):
        return None
    return record.workload, record.time_us, digest([record.settings, record.repeat])


def twins(history: History, new: Mapping[str, Twin]) -> list[str]:
    """The ids of the *new* runs that have a twin among them or in *history*, and of those twins.

    Payloads are read only where a kept run has the time of a new one.

    Raises:
        HistoryError: the history can't be read.
    """
    found: dict[Twin, list[str]] = {}
    for run, twin in new.items():
        found.setdefault(twin, []).append(run)
    times = {time_us for _, time_us, _ in found}
    query = Query(since_us=min(times, default=None))
    kept = {run.id: run.time_us for run in history.runs(query) if run.time_us in times and run.id not in new}
    if kept:
        for record in history.records(Query(since_us=min(filter(None, kept.values())))):
            if record.id in kept and (same := twin_of(record)) in found and same is not None:
                found[same].append(record.id)
    return [run for runs in found.values() if len(runs) > 1 for run in runs]
