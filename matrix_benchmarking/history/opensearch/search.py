"""Complete reads in a defined order: a point in time, and each page after the last one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from opensearchpy import exceptions

from ..errors import UnavailableError
from .client import Shards, patiently, read

if TYPE_CHECKING:
    import opensearchpy

KEEP_ALIVE = "5m"


class Hit(msgspec.Struct):
    """A document that was found: what of it was asked for, its place in the sequence of writes and in the order."""

    id: str = msgspec.field(name="_id")
    source: dict[str, Any] = msgspec.field(name="_source")
    seq_no: int = msgspec.field(name="_seq_no", default=0)
    primary_term: int = msgspec.field(name="_primary_term", default=0)
    sort: list[Any] = []


class _Hits(msgspec.Struct):
    hits: list[Hit]


class _Answer(msgspec.Struct):
    timed_out: bool
    shards: Shards = msgspec.field(name="_shards")
    hits: _Hits


class _PointInTime(msgspec.Struct):
    pit_id: str


def hits(
    client: opensearchpy.OpenSearch,
    index: str,
    *,
    query: Mapping[str, Any],
    sort: Sequence[Mapping[str, Any]],
    source: Sequence[str] | bool,
    page: int,
) -> Iterator[Hit]:
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
    found = _found(_search(client, index, body), index)
    if len(found) < page:
        yield from found
        return
    opened = patiently(lambda: client.create_pit(index=index, params={"keep_alive": KEEP_ALIVE}))
    point = read(opened, _PointInTime, "the request for a point in time").pit_id
    body["pit"] = {"id": point, "keep_alive": KEEP_ALIVE}
    try:
        while True:
            found = _found(_search(client, None, body), index)
            yield from found
            if len(found) < page:
                return
            body["search_after"] = found[-1].sort
    finally:
        with contextlib.suppress(exceptions.OpenSearchException):
            client.delete_pit(body={"pit_id": [point]})


def _search(client: opensearchpy.OpenSearch, index: str | None, body: Mapping[str, Any]) -> Any:
    return patiently(lambda: client.search(index=index, body=body))


def _found(answer: Any, index: str) -> list[Hit]:
    """The hits in the *answer* of all parts of *index*."""
    said = read(answer, _Answer, "a search")
    if said.timed_out or said.shards.failed:
        raise UnavailableError(f"parts of the index '{index}' did not answer: try again when the cluster is healthy")
    return said.hits.hits
