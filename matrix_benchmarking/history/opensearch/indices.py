"""The indices and their templates: made on first use, checked afterwards.

Those of payloads and KPIs are made when a history is opened for writing, that of the alarms with the first of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from opensearchpy import exceptions

from ..errors import HistoryError
from ..location import OpenSearchLocation
from . import mappings
from .client import NotOpenSearchError, acknowledged, patiently, read, reading

if TYPE_CHECKING:
    import opensearchpy


class _Index(msgspec.Struct):
    mappings: dict[str, Any]


def ensure(client: opensearchpy.OpenSearch, location: OpenSearchLocation) -> None:
    """Make the indices where they are missing, and check those that are there.

    Raises:
        HistoryError: an index has other mappings, or those of a newer matbench.
        opensearchpy.OpenSearchException: the server refused.
    """
    for name, wanted in _wanted(location):
        _ensure(client, name, wanted)


def ensure_alarms(client: opensearchpy.OpenSearch, location: OpenSearchLocation) -> None:
    """As :func:`ensure`, for the index of the alarms."""
    _ensure(client, location.alarm_index, mappings.ALARMS)


def check(client: opensearchpy.OpenSearch, location: OpenSearchLocation) -> None:
    """Check the indices, for reading.

    Raises:
        HistoryError: as :func:`ensure`, and where they are missing.
        opensearchpy.OpenSearchException: the server refused.
    """
    for name, wanted in _wanted(location):
        found = _mapping(client, name)
        if found is None:
            raise HistoryError(f"{location.url} has no index '{name}' yet: 'matbench upload_lts' makes it")
        _check(name, wanted, found)


def has_alarms(client: opensearchpy.OpenSearch, location: OpenSearchLocation) -> bool:
    """True if there is an index of alarms, which is checked.

    Raises:
        HistoryError, opensearchpy.OpenSearchException: as :func:`ensure`.
    """
    found = _mapping(client, location.alarm_index)
    if found is None:
        return False
    _check(location.alarm_index, mappings.ALARMS, found)
    return True


def is_in_order(client: opensearchpy.OpenSearch, name: str) -> bool:
    """True if sequence numbers of the index are in the order of its writes: those of one shard are."""
    answer: Any = patiently(lambda: client.indices.get_settings(index=name))
    with reading("the request for the settings of an index"):
        shards = [each["settings"]["index"]["number_of_shards"] for each in answer.values()]
    return shards == ["1"]


def _ensure(client: opensearchpy.OpenSearch, name: str, wanted: Mapping[str, Any]) -> None:
    found = _mapping(client, name)
    if found is None:
        _create(client, name, wanted)
        found = _mapping(client, name) or {}
    _check(name, wanted, found)
    if mappings.missing(wanted, found) or mappings.is_older(found):
        _add_fields(client, name, wanted)


def _wanted(location: OpenSearchLocation) -> list[tuple[str, Mapping[str, Any]]]:
    return [(location.index, mappings.PAYLOADS), (location.kpi_index, mappings.KPIS)]


def _mapping(client: opensearchpy.OpenSearch, name: str) -> Mapping[str, Any] | None:
    """The mapping of the index, which may be called by an alias; None where there is none."""
    try:
        answer: Any = patiently(lambda: client.indices.get_mapping(index=name))
    except exceptions.NotFoundError:
        return None
    found = list(read(answer, dict[str, _Index], "the request for a mapping").values())
    if not found:
        raise NotOpenSearchError("the request for a mapping (it names no index)")
    return found[0].mappings


def _create(client: opensearchpy.OpenSearch, name: str, wanted: Mapping[str, Any]) -> None:
    template = {
        "index_patterns": [name],
        "priority": 500,
        "version": mappings.VERSION,
        "template": {"settings": mappings.SETTINGS, "mappings": wanted},
    }
    answer = patiently(lambda: client.indices.put_index_template(name=f"matbench-{name}", body=template))
    acknowledged(answer, f"the template of the index '{name}'")
    try:
        acknowledged(patiently(lambda: client.indices.create(index=name)), f"the new index '{name}'")
    except exceptions.RequestError as error:
        if error.error != "resource_already_exists_exception":  # another process was faster
            raise


def _add_fields(client: opensearchpy.OpenSearch, name: str, wanted: Mapping[str, Any]) -> None:
    """Bring the mapping of an older matbench, and its version, up to date; fields can be added at any time."""
    answer = patiently(lambda: client.indices.put_mapping(index=name, body=wanted))
    acknowledged(answer, f"the new fields of the index '{name}'")


def _check(name: str, wanted: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    known = found.get("_meta", {}).get("matbench", {})
    if known.get("mapping_version", 0) > mappings.VERSION:
        raise HistoryError(
            f"index '{name}' was made by a newer matbench (mapping {known['mapping_version']}; this one knows "
            f"{mappings.VERSION}): update matbench, or use another index"
        )
    kind = wanted["_meta"]["matbench"]["kind"]
    conflicts = list(mappings.conflicts(wanted, found))
    if known.get("kind") == kind and not conflicts:
        return
    what = f": {'; '.join(conflicts[:5])}" if conflicts else ", and would not refuse what doesn't belong in it"
    if known.get("kind") not in (None, kind):
        what = f": it holds the {known['kind']} of a history"
    raise HistoryError(
        f"index '{name}' was not made for the {kind} of a history{what}. Name another index "
        "(matbench.lts.opensearch.index, index_prefix), or move its documents away and delete it"
    )
