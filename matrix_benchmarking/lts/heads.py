"""The head of a payload: what places a run among others, so that runs are judged without reading their payloads."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from .. import moments, recorded
from ..jsonable import Document
from ..matrix import Entry, Facts
from ..workload import Workload
from .payloads import kpi_labels, payload_model, validate

_ERRORS = (AttributeError, KeyError, TypeError, ValueError)
Said = Any
"""What a payload says: it may come from a stranger, and so be of any type."""


class DescribedKPI(msgspec.Struct, frozen=True):
    """What a payload says of a KPI that has a value in it, besides that value."""

    name: str
    unit: Said
    help: Said
    lower_better: Said
    ignored_for_regression: Said


KPIs = tuple[DescribedKPI, ...]
"""Those of one payload, in its order; shared by the runs of which it is the same."""


class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is at hand of a run: its metadata, :attr:`.Environment.host`, its first KPI's labels, its KPIs' values."""

    settings: Said = None
    repeat: Said = None
    exit_code: Said = None
    campaign: Said = None
    round: Said = None
    start: Said = None
    lts_schema_version: Said = None
    missing_kpis: Said = None
    host: str | None = None
    labels: Said = None
    values: list[Said] = []


_OF_METADATA = [name for name in Head.__struct_fields__ if name not in ("host", "labels", "values")]


def head_of(payload: Document) -> Head:
    """The head of a *payload*. Raises KeyError, TypeError, AttributeError: it is none."""
    metadata = payload["metadata"]
    present = [kpi for kpi in payload["kpis"].values() if kpi is not None]
    return Head(
        **{name: metadata.get(name) for name in _OF_METADATA},
        host=recorded.parse_environment(metadata.get("environment")).host,
        labels=present[0].get("labels") if present else None,
        values=[kpi["value"] for kpi in present],
    )


def kpis_of(payload: Document) -> KPIs:
    """What a *payload* says of the KPIs that have a value in it; raises as :func:`head_of`."""
    return tuple(
        DescribedKPI(
            name, kpi.get("unit"), kpi.get("help"), kpi.get("lower_better"), kpi.get("ignored_for_regression", False)
        )
        for name, kpi in payload["kpis"].items()
        if kpi is not None
    )


def digest_of(kpis: KPIs) -> str:
    """A digest that is the same for equal *kpis* only."""
    return hashlib.blake2b(msgspec.json.encode(kpis), digest_size=16).hexdigest()


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

    The labels are those that an upload would keep: a model may turn ``4`` into ``4.0``. That takes a millisecond.
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


def _labels_to_keep(workload: Workload, entry: Entry) -> Document | None:
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
