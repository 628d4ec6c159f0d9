"""The indices of a history on an OpenSearch server: explicit, strict mappings with a version, made on first use.

A document has the fields of the payload, as people query them, and below ``matbench`` what the engine itself needs.
The index of the payloads is made when a history is opened for writing, that of the alarms with the first of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import opensearchpy
from opensearchpy import exceptions

from ..errors import HistoryError
from .opensearch_client import NotOpenSearchError, acknowledge, patiently, read, reading

VERSION = 4
"""2 keeps what was measured, and when a run was first seen; in 3 ``lower_better`` may be null; 4 keeps the head of
a payload. A matbench refuses the indices of a newer one, of which it would lose what it doesn't know."""
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


class _Index(msgspec.Struct):
    mappings: dict[str, Any]


def ensure(client: opensearchpy.OpenSearch, name: str, wanted: Mapping[str, Any]) -> bool:
    """Make the index *name* where it is missing, and check it; True if an older matbench made it.

    Raises:
        HistoryError: it has other mappings than those that are *wanted*, or those of a newer matbench.
        opensearchpy.OpenSearchException: the server refused.
    """
    found = _checked(client, name, wanted)
    if found is None:
        _create(client, name, wanted)
        found = _checked(client, name, wanted) or {}
    is_older = _missing(wanted, found) or _known(found).get("mapping_version", 0) < VERSION
    if is_older:  # fields can be added at any time
        acknowledge(
            lambda: client.indices.put_mapping(index=name, body=wanted), f"the new fields of the index '{name}'"
        )
    return is_older


def is_there(client: opensearchpy.OpenSearch, name: str, wanted: Mapping[str, Any]) -> bool:
    """True if there is an index *name*, which is checked; raises as :func:`ensure`."""
    return _checked(client, name, wanted) is not None


def is_in_order(client: opensearchpy.OpenSearch, name: str) -> bool:
    """True if sequence numbers of the index are in the order of its writes: those of one shard are."""
    answer: Any = patiently(lambda: client.indices.get_settings(index=name))
    with reading("the request for the settings of an index"):
        shards = [each["settings"]["index"]["number_of_shards"] for each in answer.values()]
    return shards == ["1"]


def _checked(client: opensearchpy.OpenSearch, name: str, wanted: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The mapping of the index, which may be called by an alias; None where there is none."""
    try:
        answer: Any = patiently(lambda: client.indices.get_mapping(index=name))
    except exceptions.NotFoundError:
        return None
    found = list(read(answer, dict[str, _Index], "the request for a mapping").values())
    if not found:
        raise NotOpenSearchError("the request for a mapping (it names no index)")
    _check(name, wanted, found[0].mappings)
    return found[0].mappings


def _create(client: opensearchpy.OpenSearch, name: str, wanted: Mapping[str, Any]) -> None:
    template = {
        "index_patterns": [name],
        "priority": 500,
        "version": VERSION,
        "template": {"settings": SETTINGS, "mappings": wanted},
    }
    acknowledge(
        lambda: client.indices.put_index_template(name=f"matbench-{name}", body=template),
        f"the template of the index '{name}'",
    )
    try:
        acknowledge(lambda: client.indices.create(index=name), f"the new index '{name}'")
    except exceptions.RequestError as error:
        if error.error != "resource_already_exists_exception":  # another process was faster
            raise


def _known(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the mapping *found* says of the matbench that made it."""
    known: Mapping[str, Any] = found.get("_meta", {}).get("matbench", {})
    return known


def _check(name: str, wanted: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    known = _known(found)
    if known.get("mapping_version", 0) > VERSION:
        raise HistoryError(
            f"index '{name}' was made by a newer matbench (mapping {known['mapping_version']}; this one knows "
            f"{VERSION}): update matbench, or use another index"
        )
    kind = _known(wanted)["kind"]
    conflicts = list(_conflicts(wanted, found))
    if known.get("kind") == kind and not conflicts:
        return
    what = f": {'; '.join(conflicts[:5])}" if conflicts else ", and would not refuse what doesn't belong in it"
    if known.get("kind") not in (None, kind):
        what = f": it holds the {known['kind']} of a history"
    raise HistoryError(
        f"index '{name}' was not made for the {kind} of a history{what}. Name another index "
        "(matbench.lts.opensearch.index, index_prefix), or move its documents away and delete it"
    )


def _conflicts(wanted: Mapping[str, Any], found: Mapping[str, Any], path: str = "") -> Iterator[str]:
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
            yield from _conflicts(field, here, f"{dotted}.")


def _missing(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """True if *found* lacks a field that is *wanted*."""
    there = found.get("properties", {})
    return any(
        name not in there or _missing(field, there[name]) for name, field in wanted.get("properties", {}).items()
    )
