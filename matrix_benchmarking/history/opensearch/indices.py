"""The indices and their templates: made on first use, checked afterwards.

That of the payloads is made when a history is opened for writing, that of the alarms with the first of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from opensearchpy import exceptions

from ..errors import HistoryError
from . import mappings
from .client import NotOpenSearchError, acknowledged, patiently, read, reading

if TYPE_CHECKING:
    import opensearchpy


class _Index(msgspec.Struct):
    mappings: dict[str, Any]


def ensure(client: opensearchpy.OpenSearch, name: str, wanted: Mapping[str, Any]) -> bool:
    """Make the index *name* where it is missing, and check it; True if an older matbench made it.

    Raises:
        HistoryError: it has other mappings than those that are *wanted*, or those of a newer matbench.
        opensearchpy.OpenSearchException: the server refused.
    """
    found = _mapping(client, name)
    if found is None:
        _create(client, name, wanted)
        found = _mapping(client, name) or {}
    _check(name, wanted, found)
    if is_older := mappings.missing(wanted, found) or mappings.is_older(found):
        _add_fields(client, name, wanted)
    return is_older


def is_there(client: opensearchpy.OpenSearch, name: str, wanted: Mapping[str, Any]) -> bool:
    """True if there is an index *name*, which is checked.

    Raises:
        HistoryError, opensearchpy.OpenSearchException: as :func:`ensure`.
    """
    found = _mapping(client, name)
    if found is None:
        return False
    _check(name, wanted, found)
    return True


def is_in_order(client: opensearchpy.OpenSearch, name: str) -> bool:
    """True if sequence numbers of the index are in the order of its writes: those of one shard are."""
    answer: Any = patiently(lambda: client.indices.get_settings(index=name))
    with reading("the request for the settings of an index"):
        shards = [each["settings"]["index"]["number_of_shards"] for each in answer.values()]
    return shards == ["1"]


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
