"""Records, and what happened to alarms, as documents of the indices, encoded as lines of a bulk request."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from ... import filters
from .. import alarms
from ..alarms import AlarmEvent
from ..port import Query
from ..records import KPIRecord, Record, Recorded, moment
from .mappings import LONGEST_KEYWORD

LONGEST_NAME_IN_ID = 200
_encode = msgspec.json.Encoder().encode

Operation = Literal["create", "index", "delete"]


@dataclasses.dataclass(frozen=True, slots=True)
class Action:
    """One action of a bulk request: its document's index and id, whose run (or event) it is, and its lines."""

    index: str
    id: str
    run: str
    lines: bytes


def action(operation: Operation, index: str, document_id: str, run: str, document: Any = None) -> Action:
    """An action; *document* is None where it deletes."""
    head = _encode({operation: {"_index": index, "_id": document_id}}) + b"\n"
    return Action(index, document_id, run, head if document is None else head + _encode(document) + b"\n")


def payload_action(index: str, of: Record, place: tuple[int, int] | None) -> Action:
    """The payload as a new document, or in the place of the one that is at this *place* of the sequence of writes.

    *of* says when it was first seen.
    """
    head: dict[str, Any] = {"_index": index, "_id": of.id}
    if place is not None:
        head |= {"if_seq_no": place[0], "if_primary_term": place[1]}
    lines = _encode({"create" if place is None else "index": head}) + b"\n" + _encode(payload_document(of)) + b"\n"
    return Action(index, of.id, of.id, lines)


def payload_document(record: Record) -> dict[str, Any]:
    """The document of a payload: the payload itself, and what the engine needs."""
    known = {
        "id": record.id,
        "workload": record.workload,
        "time_us": record.time_us,
        "digest": record.digest,
        "measurement": record.measurement,
        "settings": [token(name, value) for name, value in {**record.settings, "repeat": record.repeat}.items()],
    }
    if record.recorded is not None:
        is_moment, value = record.recorded
        known["recorded_us" if is_moment else "recorded_place"] = value
    return {**record.payload, "matbench": known}


def recorded(known: Mapping[str, Any], sequence_number: int | None) -> Recorded | None:
    """When a run was first seen, from what the engine keeps of it.

    Args:
        sequence_number: the document's, which is its place where it was written before that was kept; None where those
            are in no order.
    """
    if (moment_us := known.get("recorded_us")) is not None:
        return 1, moment_us
    place = known.get("recorded_place", sequence_number)
    return None if place is None else (0, place)


def kpi_document(record: Record, kpi: KPIRecord) -> dict[str, Any]:
    """The flat document of a KPI."""
    return {
        "@timestamp": kpi.timestamp,
        "workload": record.workload,
        "kpi": kpi.name,
        "value": kpi.value,
        "unit": kpi.unit,
        "help": kpi.help,
        "lower_better": kpi.lower_better,
        "ignored_for_regression": kpi.ignored_for_regression,
        "test_uuid": record.id,
        "labels": {field_name(name): _scalar(value) for name, value in kpi.labels.items() if field_name(name)},
        "urls": kpi.urls,
        "matbench": {"series": kpi.series, "time_us": kpi.time_us, "labels": _encode(kpi.labels).decode()},
    }


def alarm_action(index: str, event: AlarmEvent) -> Action:
    """*event* as a new document, whose id is its own: one that is there already is refused."""
    subject = event.subject
    document = {
        "@timestamp": moment(event.at_us).isoformat(),
        "alarm": event.alarm,
        "action": event.action.value,
        "author": event.author,
        "reason": event.reason,
        "until": event.until,
        "version": event.version,
        "workload": subject.workload,
        "kpi": subject.kpi,
        "series": subject.series,
        "first_bad": subject.first_bad,
        "matbench": {"id": event.id, "at_us": event.at_us, "event": alarms.encode(event)},
    }
    return action("create", index, event.id, event.id, document)


def kpi_id(run: str, name: str) -> str:
    """The id of a KPI's document; ids have at most 512 bytes."""
    encoded = name.encode()
    short = name if len(encoded) <= LONGEST_NAME_IN_ID else hashlib.blake2b(encoded, digest_size=16).hexdigest()
    return f"{run}:{short}"


def field_name(label: str) -> str:
    """*label* as the name of a field, in which a dot would mean an object; empty where it is blank and can't be one."""
    return label.replace(".", "_") if label.strip() else ""


def _scalar(value: Any) -> Any:
    """A label's value for dashboards: structures as their JSON, so that a field has one kind of values."""
    return _encode(value).decode() if isinstance(value, (dict, list)) else value


def token(name: str, value: Any) -> str:
    """One setting as a term that filters look for."""
    return f"{name}={filters.exact(value)}"


def query_body(query: Query) -> dict[str, Any]:
    """What of *query* the server can decide; :meth:`.Query.selects` decides the rest, such as types."""
    must: list[dict[str, Any]] = []
    if query.workload is not None:
        must.append({"term": {"matbench.workload": query.workload}})
    if query.since_us is not None:
        must.append({"range": {"matbench.time_us": {"gte": query.since_us}}})
    for name, values in query.filters.items():
        tokens = [token(name, value.text) for value in values]
        # A filter for null means runs without the setting, too; and long terms are not indexed.
        if all(value.text != "null" for value in values) and all(_is_indexed(each) for each in tokens):
            must.append({"terms": {"matbench.settings": tokens}})
    return {"bool": {"filter": must}}


def _is_indexed(term: str) -> bool:
    """True if the server indexes *term*; it counts UTF-16 units."""
    return len(term.encode("utf-16-le", "replace")) // 2 <= LONGEST_KEYWORD


def settings_of(source: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
    """Settings and repeat of a payload's document."""
    metadata = source["metadata"]
    return metadata.get("settings") or {}, int(metadata.get("repeat") or 0)
