"""Runs with the settings, the repeat and the time of another one: one was changed after it was kept, and kept again.

A run without an id of its own has that of its content, so a changed artifact makes it another run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from .port import KeptRun, Query, Twin
from .records import Record, digest


def twin_of(of: Record | KeptRun) -> Twin | None:
    """What twins of a run have in common with it; None for a run that failed, or whose time is unknown."""
    if of.time_us is None or of.exit_code not in (0, None):
        return None
    return of.workload, of.time_us, digest([of.settings, of.repeat])


def twins(runs: Callable[[Query], Iterable[KeptRun]], new: Mapping[str, Twin]) -> list[str]:
    """The ids of the *new* runs that have a twin among them or among the *runs* of a history, and of those twins.

    Raises:
        HistoryError: the history can't be read.
    """
    found: dict[Twin, list[str]] = {}
    for run, twin in new.items():
        found.setdefault(twin, []).append(run)
    times = {time_us for _, time_us, _ in found}
    for kept in runs(Query(since_us=min(times, default=None))):
        if kept.time_us in times and kept.id not in new and (same := twin_of(kept)) in found and same is not None:
            found[same].append(kept.id)
    return [run for runs in found.values() if len(runs) > 1 for run in runs]
