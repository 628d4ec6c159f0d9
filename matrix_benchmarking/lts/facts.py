"""What places a run in a history: its time, its labels, the units of its KPIs, out of a payload or an entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import moments
from ..matrix import Entry, Facts
from ..workload import Workload
from .heads import Head, KPIs
from .labels import kpi_labels
from .payloads import payload_model, validate

_ERRORS = (AttributeError, KeyError, TypeError, ValueError)


Others = tuple[frozenset[str], frozenset[str]]
"""The KPIs that runs have in another unit than the workload today, and those that were better the other way round."""


def others_of(workload: Workload, kpis: KPIs) -> Others:
    """What of *kpis* the *workload* says otherwise today; the same for all runs that share them."""
    known = [(each, workload.kpis[each.name]) for each in kpis if each.name in workload.kpis]
    directions = ((each, {each.lower_better, today.lower_better}) for each, today in known)
    return (
        frozenset(each.name for each, today in known if each.unit not in (None, today.unit)),
        frozenset(each.name for each, both in directions if both == {True, False}),  # neither contradicts none
    )


def facts_of_head(head: Head, time_us: int | None, others: Others) -> Facts:
    """The facts of a run that ended at *time_us*; its KPIs have the labels with which they were kept."""
    labels = head.labels if isinstance(head.labels, dict) else None
    return Facts(time_us, labels, *others, head.lts_schema_version, moments.time_us(head.start), head.host)


def facts_of_entry(workload: Workload, entry: Entry) -> Facts:
    """The facts of *entry*: those that it knows, else out of its payload, which is loaded and validated for it.

    The labels are those that an upload would keep, so that a run of a results tree belongs to the series of its
    history: a model may turn ``4`` into ``4.0``. That costs about a millisecond for each entry of a tree.
    """
    if entry.facts is not None:
        return entry.facts
    return Facts(time_of_entry(entry), _labels_to_keep(workload, entry))


def times_of_entry(entry: Entry) -> tuple[int | None, int | None]:
    """When the test started and ended, in microseconds since 1970; None where unknown, or, for the end, the start."""
    return entry.span_us if entry.facts is None else (entry.facts.start_us, entry.facts.time_us)


def time_of_entry(entry: Entry) -> int | None:
    """When the test ended, else when it started, in microseconds since 1970."""
    start_us, end_us = times_of_entry(entry)
    return start_us if end_us is None else end_us


def host_of_entry(entry: Entry) -> str | None:
    """What identifies the machine that the test ran on, as far as it is recorded; see :attr:`.Environment.host`."""
    return entry.environment.host if entry.facts is None else entry.facts.host


def _labels_to_keep(workload: Workload, entry: Entry) -> Mapping[str, Any] | None:
    if workload.store.get_kpi_labels is None:
        return dict(entry.settings)
    payload, _ = validate(payload_model(workload), workload, entry)
    if payload is not None:
        kpis = payload.model_dump(mode="json", by_alias=True, exclude_unset=True)["kpis"]
        labels = next((kpi["labels"] for kpi in kpis.values() if kpi is not None), None)
        return labels if isinstance(labels, dict) else None
    try:
        return kpi_labels(workload, entry, entry.lts)
    except _ERRORS:
        return None
