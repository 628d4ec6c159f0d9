"""What the indices look like: explicit, strict mappings with a version. Pure data.

A document has the fields of the payload, as people query them, and below ``matbench`` what the engine itself needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

VERSION = 4
"""2 keeps what was measured, and when a run was first seen; a matbench that knows 1 would leave it out, and so refuses
the indices. In 3 ``lower_better`` may be null, which one that knows 2 would take for false. In 4 a
run's head is kept beside its payload."""
LONGEST_KEYWORD = 1000  # characters; Lucene takes 32,766 bytes

_KEYWORD = {"type": "keyword", "ignore_above": LONGEST_KEYWORD}
_EXACT = {"type": "keyword"}
_UNINDEXED = {"type": "object", "enabled": False}
_TEXT_ONLY_KEPT = {"type": "keyword", "index": False, "doc_values": False}

PAYLOADS: Mapping[str, Any] = {
    "dynamic": "strict",
    "_meta": {"matbench": {"mapping_version": VERSION, "kind": "payloads"}},
    "properties": {
        "metadata": {
            "type": "object",
            "dynamic": "false",
            "properties": {
                "workload": _EXACT,
                "test_uuid": _EXACT,
                "lts_schema_version": _KEYWORD,
                "start": {"type": "date"},
                "end": {"type": "date"},
                "exit_code": {"type": "long"},
                "repeat": {"type": "long"},
                "campaign": _KEYWORD,
                "round": {"type": "long"},
                "presets": _KEYWORD,
                "settings": _UNINDEXED,
                "missing_kpis": _UNINDEXED,
            },
        },
        "results": _UNINDEXED,
        "kpis": _UNINDEXED,
        "matbench": {
            "type": "object",
            "dynamic": "strict",
            "properties": {
                "id": _EXACT,
                "workload": _EXACT,
                "time_us": {"type": "long"},
                "digest": _EXACT,
                "measurement": _EXACT,
                "recorded_us": {"type": "long"},
                "recorded_place": {"type": "long"},
                "shape": _EXACT,
                "head": _TEXT_ONLY_KEPT,
            },
        },
    },
}

KPIS: Mapping[str, Any] = {
    "dynamic": "strict",
    "_meta": {"matbench": {"mapping_version": VERSION, "kind": "kpis"}},
    "dynamic_templates": [{"labels": {"path_match": "labels.*", "mapping": _KEYWORD}}],
    "properties": {
        "@timestamp": {"type": "date"},
        "workload": _EXACT,
        "kpi": _EXACT,
        "value": {"type": "double"},
        "unit": _KEYWORD,
        "help": _TEXT_ONLY_KEPT,
        "lower_better": {"type": "boolean"},
        "ignored_for_regression": {"type": "boolean"},
        "test_uuid": _EXACT,
        "labels": {"type": "object", "dynamic": "true"},
        "urls": _UNINDEXED,
    },
}

ALARMS: Mapping[str, Any] = {
    "dynamic": "strict",
    "_meta": {"matbench": {"mapping_version": VERSION, "kind": "alarms"}},
    "properties": {
        "@timestamp": {"type": "date"},
        "alarm": _EXACT,
        "action": _EXACT,
        "author": _KEYWORD,
        "reason": _KEYWORD,
        "until": _KEYWORD,
        "version": _KEYWORD,
        "workload": _EXACT,
        "kpi": _KEYWORD,
        "series": _KEYWORD,
        "first_bad": _KEYWORD,
        "matbench": {
            "type": "object",
            "dynamic": "strict",
            "properties": {
                "id": _EXACT,
                "at_us": {"type": "long"},
                "event": _TEXT_ONLY_KEPT,
            },
        },
    },
}

SETTINGS: Mapping[str, Any] = {
    "index.number_of_shards": 1,
    "index.auto_expand_replicas": "0-1",
    "index.mapping.total_fields.limit": 5000,
}


def conflicts(wanted: Mapping[str, Any], found: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Where the mapping *found* differs from the one that is *wanted*; fields that are missing don't count."""
    there = found.get("properties", {})
    for name, field in wanted.get("properties", {}).items():
        if name not in there:
            continue
        here, dotted = there[name], f"{path}{name}"
        wanted_type, type_there = field.get("type", "object"), here.get("type", "object")
        if wanted_type != type_there:
            yield f"'{dotted}' is {type_there} and should be {wanted_type}"
        else:
            yield from conflicts(field, here, f"{dotted}.")


def is_older(found: Mapping[str, Any]) -> bool:
    """True if *found* is the mapping of an index that an older matbench made."""
    version: int = found.get("_meta", {}).get("matbench", {}).get("mapping_version", 0)
    return version < VERSION


def missing(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """True if *found* lacks a field that is *wanted*."""
    there = found.get("properties", {})
    return any(name not in there or missing(field, there[name]) for name, field in wanted.get("properties", {}).items())
