"""What places a run in a history: its time, its labels, the units of its KPIs, out of a payload or an entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import environment_file
from ..matrix import Entry, Facts
from ..moments import time_us
from ..workload import Workload
from .labels import kpi_labels
from .payloads import payload_model, validate

_ERRORS = (AttributeError, KeyError, TypeError, ValueError)


def facts_of_payload(workload: Workload, payload: Mapping[str, Any]) -> Facts:
    """The facts in a decoded *payload*; its KPIs have the labels with which they were kept."""
    metadata, kpis = payload["metadata"], payload["kpis"]
    present = {name: kpi for name, kpi in kpis.items() if kpi is not None}
    labels = next((kpi.get("labels") for kpi in present.values()), None)
    start_us, end_us = time_us(metadata.get("start")), time_us(metadata.get("end"))
    return Facts(
        time_us=start_us if end_us is None else end_us,
        labels=labels if isinstance(labels, dict) else None,
        other_units=frozenset(
            name
            for name, kpi in present.items()
            if name in workload.kpis and kpi.get("unit") not in (None, workload.kpis[name].unit)
        ),
        other_directions=frozenset(
            name
            for name, kpi in present.items()
            if name in workload.kpis
            and {kpi.get("lower_better"), workload.kpis[name].lower_better} == {True, False}  # neither contradicts none
        ),
        schema_version=metadata.get("lts_schema_version"),
        start_us=start_us,
        host=environment_file.parse(metadata.get("environment")).host,
    )


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
