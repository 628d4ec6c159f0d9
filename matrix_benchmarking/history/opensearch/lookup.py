"""What is in an OpenSearch history of the runs of an upload."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import UnavailableError
from ..location import OpenSearchLocation
from ..plan import Kept
from ..records import Record
from . import documents, indices, search
from .client import patiently, read, reading
from .search import Hit

if TYPE_CHECKING:
    import opensearchpy

MEASUREMENTS_PER_QUERY, PAGE = 500, 1000
MULTI_GET = "the request for known runs"


class _Document(msgspec.Struct):
    """One of the documents that were asked for: there, or not; or it can't be told, which has an error."""

    id: str = msgspec.field(name="_id")
    found: bool | None = None
    source: dict[str, Any] = msgspec.field(name="_source", default_factory=dict)
    seq_no: int = msgspec.field(name="_seq_no", default=0)
    primary_term: int = msgspec.field(name="_primary_term", default=0)
    error: dict[str, Any] | None = None


class _Documents(msgspec.Struct):
    docs: list[_Document]


class _Value(msgspec.Struct):
    value: float | None


class _Last(msgspec.Struct):
    last: _Value


class _Aggregated(msgspec.Struct):
    aggregations: _Last


@dataclasses.dataclass(frozen=True, slots=True)
class Version:
    """The document of a run: the names of its KPIs, and its place in the index's sequence of writes."""

    kpis: frozenset[str]
    place: tuple[int, int]


class OpenSearchLookup:
    """What :class:`.plan.Lookup` asks for; every method raises the library's errors, and UnavailableError."""

    def __init__(self, client: opensearchpy.OpenSearch, place: OpenSearchLocation) -> None:
        self._client = client
        self._place = place

    def digests(self, ids: Sequence[str]) -> Mapping[str, str]:
        sources = self.sources(ids, ["matbench.digest"])
        with reading(MULTI_GET):
            return {run: source["matbench"]["digest"] for run, source in sources.items()}

    def kept(self, ids: Sequence[str]) -> Mapping[str, Kept[Version]]:
        found = self._documents(ids, [])
        is_in_order = bool(found) and self.is_in_order()
        kept = {}
        for each in found:
            with reading(MULTI_GET):
                of = record_of(each, is_in_order=is_in_order)
                version = Version(frozenset(of.payload["kpis"]), (each.seq_no, each.primary_term))
            kept[of.id] = Kept(of, version)
        return kept

    def measured(self, measurements: Sequence[str]) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for start in range(0, len(measurements), MEASUREMENTS_PER_QUERY):
            for hit in search.hits(
                self._client,
                self._place.index,
                query={"terms": {"matbench.measurement": list(measurements[start : start + MEASUREMENTS_PER_QUERY])}},
                sort=[{"matbench.id": "asc"}],
                source=["matbench.id", "matbench.measurement"],
                page=PAGE,
            ):
                with reading("a search"):
                    known = hit.source["matbench"]
                    found.setdefault(known["measurement"], []).append(known["id"])
        return found

    def last_recorded(self) -> int | None:
        """The last moment at which a run was first seen; one that is written shows after a refresh."""
        body = {"size": 0, "aggregations": {"last": {"max": {"field": "matbench.recorded_us"}}}}
        answer = patiently(lambda: self._client.search(index=self._place.index, body=body))
        last = read(answer, _Aggregated, "a search").aggregations.last.value
        return None if last is None else round(last)  # a float, in which microseconds until the year 2255 are exact

    def is_in_order(self) -> bool:
        """See :func:`.indices.is_in_order`."""
        return indices.is_in_order(self._client, self._place.index)

    def sources(self, ids: Sequence[str], fields: Sequence[str]) -> dict[str, Any]:
        """The documents of those of *ids* that are there, by id, with these *fields* of them (all where empty)."""
        return {each.id: each.source for each in self._documents(ids, fields)}

    def _documents(self, ids: Sequence[str], fields: Sequence[str]) -> list[_Document]:
        if not ids:
            return []
        params = {"_source_includes": ",".join(fields)} if fields else {}
        wanted = list(dict.fromkeys(ids))
        answer = patiently(lambda: self._client.mget(body={"ids": wanted}, index=self._place.index, params=params))
        found = read(answer, _Documents, MULTI_GET).docs
        if any(each.error for each in found):
            raise UnavailableError(f"parts of the index '{self._place.index}' can't be read: is the cluster healthy?")
        with reading(MULTI_GET):
            if [each.id for each in found] != wanted or any(each.found is None for each in found):
                raise ValueError("it doesn't say of each run whether it is there")
        return [each for each in found if each.found]


def record_of(found: _Document | Hit, *, is_in_order: bool) -> Record:
    """The run in a document, as a search or a request by id gives it; see :meth:`OpenSearchLookup.is_in_order`."""
    payload = dict(found.source)
    known = payload.pop("matbench")
    recorded = documents.recorded(known, found.seq_no if is_in_order else None)
    return Record(known["id"], known["workload"], known["time_us"], known["digest"], payload, recorded)
