"""Flat documents of single KPIs, and fields of alarms' events: for dashboards, which can't look into payloads.

matbench writes them and reads none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ..port import Row
from .bulk import Action, action

LONGEST_NAME_IN_ID = 200
URLS_LABEL = "urls"
_EVENT = ("alarm", "action", "author", "reason", "until", "version")
_SUBJECT = ("kpi", "series", "first_bad")


def shown(index: str, row: Row) -> Iterator[Action]:
    """The KPIs of *row*, which has its payload, each as a document of its own."""
    for name, kpi in _kpis(row):
        yield action("index", index, _id(row.id, name), _document(row, name, kpi))


def hidden(index: str, row: Row) -> Iterator[Action]:
    """What removes them."""
    return (action("delete", index, _id(row.id, name)) for name, _ in _kpis(row))


def fields_of(event: str) -> Mapping[str, Any]:
    """What an event of an alarm says, besides its JSON."""
    said = msgspec.json.decode(event)
    subject = said.get("subject") or {}
    return {**{name: said.get(name) for name in _EVENT}, **{name: subject.get(name) for name in _SUBJECT}}


def _kpis(row: Row) -> list[tuple[str, Mapping[str, Any]]]:
    payload = msgspec.json.decode(row.payload or "{}")
    return [(name, kpi) for name, kpi in (payload.get("kpis") or {}).items() if kpi is not None]


def _document(row: Row, name: str, kpi: Mapping[str, Any]) -> Mapping[str, Any]:
    labels = dict(kpi.get("labels") or {})
    urls = labels.pop(URLS_LABEL, None)
    return {
        "@timestamp": kpi.get("@timestamp"),
        "workload": row.workload,
        "kpi": name,
        "value": kpi["value"],
        "unit": kpi["unit"],
        "help": kpi["help"],
        "lower_better": kpi["lower_better"],
        "ignored_for_regression": kpi.get("ignored_for_regression", False),
        "test_uuid": row.id,
        "labels": {field: _scalar(value) for label, value in labels.items() if (field := _field(label))},
        "urls": urls,
    }


def _id(run: str, name: str) -> str:
    """The id of a KPI's document; ids have at most 512 bytes."""
    encoded = name.encode()
    short = name if len(encoded) <= LONGEST_NAME_IN_ID else hashlib.blake2b(encoded, digest_size=16).hexdigest()
    return f"{run}:{short}"


def _field(label: str) -> str:
    """*label* as the name of a field, in which a dot would mean an object; empty where it is blank and can't be one."""
    return label.replace(".", "_") if label.strip() else ""


def _scalar(value: Any) -> Any:
    """A label's value: structures as their JSON, so that a field has one kind of values."""
    return msgspec.json.encode(value).decode() if isinstance(value, (dict, list)) else value
