"""Complete reads in a defined order: a point in time, and each page after the last one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opensearchpy import exceptions

from ..errors import UnavailableError
from .client import patiently

if TYPE_CHECKING:
    import opensearchpy

KEEP_ALIVE = "5m"


def hits(
    client: opensearchpy.OpenSearch,
    index: str,
    *,
    query: Mapping[str, Any],
    sort: Sequence[Mapping[str, Any]],
    source: Sequence[str] | bool,
    page: int,
) -> Iterator[dict[str, Any]]:
    """All documents of *index* that match, as they were when this began.

    Raises:
        UnavailableError: parts of the index did not answer, so that documents would be missing.
        opensearchpy.OpenSearchException: the server refused.
    """
    body: dict[str, Any] = {
        "size": page,
        "query": query,
        "sort": list(sort),
        "_source": source,
        "track_total_hits": False,
        "seq_no_primary_term": True,
    }
    # Most series fit into one page, which needs no point in time; a full page is read again with one.
    answer = _search(client, index, body)
    _complete(answer, index)
    found = answer["hits"]["hits"]
    if len(found) < page:
        yield from found
        return
    point: Any = patiently(lambda: client.create_pit(index=index, params={"keep_alive": KEEP_ALIVE}))
    body["pit"] = {"id": point["pit_id"], "keep_alive": KEEP_ALIVE}
    try:
        while True:
            answer = _search(client, None, body)
            _complete(answer, index)
            found = answer["hits"]["hits"]
            yield from found
            if len(found) < page:
                return
            body["search_after"] = found[-1]["sort"]
    finally:
        with contextlib.suppress(exceptions.OpenSearchException):
            client.delete_pit(body={"pit_id": [point["pit_id"]]})


def buckets(
    client: opensearchpy.OpenSearch,
    index: str,
    *,
    query: Mapping[str, Any],
    sources: Mapping[str, str],
    aggregations: Mapping[str, Any],
    page: int = 1000,
) -> Iterator[dict[str, Any]]:
    """All combinations of the fields *sources* in *index*, each with its *aggregations*, in their order.

    Raises:
        UnavailableError: as :func:`hits`.
        opensearchpy.OpenSearchException: the server refused.
    """
    composite: dict[str, Any] = {
        "size": page,
        "sources": [{name: {"terms": {"field": field}}} for name, field in sources.items()],
    }
    aggregation = {"all": {"composite": composite, "aggregations": dict(aggregations)}}
    while True:
        body = {"size": 0, "query": query, "aggregations": aggregation, "track_total_hits": False}
        answer = _search(client, index, body)
        _complete(answer, index)
        found = answer["aggregations"]["all"]
        yield from found["buckets"]
        if "after_key" not in found:
            return
        composite["after"] = found["after_key"]


def _search(client: opensearchpy.OpenSearch, index: str | None, body: Mapping[str, Any]) -> Any:
    return patiently(lambda: client.search(index=index, body=body))


def _complete(answer: Any, index: str) -> None:
    if answer["timed_out"] or answer["_shards"]["failed"]:
        raise UnavailableError(f"parts of the index '{index}' did not answer: try again when the cluster is healthy")
