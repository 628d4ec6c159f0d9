"""A history on an OpenSearch server: its reads, and the order of its writes, which :mod:`.writer` carries out."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from .. import plan
from ..alarms import AlarmEvent
from ..errors import UnavailableError
from ..location import OpenSearchLocation
from ..plan import Upload
from ..port import EVERYTHING, Progress, Pushed, Query, Run, Series, SeriesValues, Summary, WorkloadSummary
from ..records import Record
from . import alarm_index, documents, indices, search
from .client import connect, patiently, reading, sentences
from .lookup import record_of
from .writer import Writer

T = TypeVar("T")

CHUNK = 500
PAGE, VALUES_PAGE = 500, 5000
_BY_TIME: Sequence[Mapping[str, Any]] = [
    {"matbench.time_us": {"order": "desc", "missing": "_last"}},
    {"matbench.id": "asc"},
]
_VALUES_BY_TIME: Sequence[Mapping[str, Any]] = [
    {"matbench.time_us": {"order": "asc", "missing": "_first"}},
    {"test_uuid": "asc"},
]
_TIMES = {
    "first": {"min": {"field": "matbench.time_us"}},
    "last": {"max": {"field": "matbench.time_us"}},
}
_NEWEST = {
    "top_hits": {
        "size": 1,
        "sort": [{"matbench.time_us": {"order": "desc", "missing": "_last"}}, {"test_uuid": "desc"}],
        "_source": ["unit", "help", "lower_better", "ignored_for_regression", "matbench.labels"],
    }
}


class OpenSearchHistory:
    """The history at *location*.

    Args:
        location: the server, its indices, and who we are there.
        writable: True makes the indices where they are missing; False wants them to be there.

    Raises:
        HistoryError: an index is missing, or was made by something else.
        UnavailableError: the server is away, or refuses us.
    """

    def __init__(self, location: OpenSearchLocation, *, writable: bool = True) -> None:
        self.location = str(location)
        self._place = location
        self._client = connect(location)
        self._writer = Writer(self._client, location)
        try:
            with sentences(location):
                (indices.ensure if writable else indices.check)(self._client, location)
        except BaseException:
            self._client.close()
            raise

    def push(
        self,
        records: Iterable[Record],
        *,
        replace: bool = False,
        are_copies: bool = False,
        progress: Progress | None = None,
    ) -> Pushed:
        pushed, done, upload = Pushed(), 0, Upload(replace, are_copies)
        lookup, iterator = self._writer.lookup, iter(records)
        try:
            with sentences(self._place):
                self._writer.refresh()  # what an upload that was interrupted wrote is there, and shows now
            while chunk := list(itertools.islice(iterator, CHUNK)):
                with sentences(self._place):
                    pushed.add(self._writer.carry_out(plan.plan(chunk, upload, lookup), upload))
                done += len(chunk)
                if progress is not None:
                    progress(done)
            with sentences(self._place):
                pushed.add(self._writer.carry_out(plan.plan_waiting(upload, lookup), upload))
                self._writer.refresh()
        except UnavailableError as error:
            error.acknowledged, error.not_kept = done, [each.id for each in (*pushed.conflicts, *pushed.rejected)]
            error.not_kept += [each.id for each in upload.waiting]
            raise
        return pushed

    def foresee(self, records: Iterable[Record], *, replace: bool = False) -> Pushed:
        with sentences(self._place):
            return plan.foresee(records, self._writer.lookup, replace=replace)

    def known(self, ids: Sequence[str]) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for start in range(0, len(ids), CHUNK):
            with sentences(self._place):
                found |= self._writer.lookup.digests(ids[start : start + CHUNK])
        return found

    def runs(self, query: Query = EVERYTHING) -> Iterator[Run]:
        return self._select(query, ["matbench"], _run)

    def records(self, query: Query = EVERYTHING) -> Iterator[Record]:
        with sentences(self._place):
            is_in_order = self._writer.lookup.is_in_order()
        return self._select(query, [], functools.partial(record_of, is_in_order=is_in_order))

    def payloads(self, query: Query = EVERYTHING) -> Iterator[Mapping[str, Any]]:
        return (each.payload for each in self.records(query))

    def last_recorded(self) -> int | None:
        with sentences(self._place):
            self._writer.refresh()
            return self._writer.lookup.last_recorded()

    def series(self, workload: str | None = None, kpi: str | None = None) -> list[Series]:
        wanted = {"workload": workload, "kpi": kpi}
        query = {"bool": {"filter": [{"term": {k: v}} for k, v in wanted.items() if v is not None]}}
        sources = {"workload": "workload", "kpi": "kpi", "series": "matbench.series"}
        with sentences(self._place):
            found = search.buckets(
                self._client,
                self._place.kpi_index,
                query=query,
                sources=sources,
                aggregations={**_TIMES, "newest": _NEWEST},
            )
            with reading("a search"):
                return [_series(bucket) for bucket in found]

    def values(self, series: Series) -> SeriesValues:
        times, values, ids = [], [], []
        with sentences(self._place), reading("a search"):
            for hit in search.hits(
                self._client,
                self._place.kpi_index,
                query={"term": {"matbench.series": series.key}},
                sort=_VALUES_BY_TIME,
                source=["value", "test_uuid", "matbench.time_us"],
                page=VALUES_PAGE,
            ):
                times.append(hit.source["matbench"]["time_us"])
                values.append(hit.source["value"])
                ids.append(hit.source["test_uuid"])
            return SeriesValues(times, values, ids)

    def delete(self, ids: Sequence[str]) -> int:
        deleted = 0
        for start in range(0, len(ids), CHUNK):
            with sentences(self._place):
                deleted += self._writer.delete(ids[start : start + CHUNK])
        with sentences(self._place):
            self._writer.refresh()
        return deleted

    def summary(self) -> Summary:
        series = self.series()
        with sentences(self._place), reading("a search"):
            found = search.buckets(
                self._client,
                self._place.index,
                query={"match_all": {}},
                sources={"workload": "matbench.workload"},
                aggregations=_TIMES,
            )
            workloads = [_workload(bucket, series) for bucket in found]
            names = [self._place.index, self._place.kpi_index]
            stats: Any = patiently(lambda: self._client.indices.stats(index=names, metric="store"))
            return Summary(workloads, int(stats["_all"]["total"]["store"]["size_in_bytes"]))

    def alarm_events(self, workload: str | None = None) -> list[AlarmEvent]:
        with sentences(self._place):
            return alarm_index.events(self._client, self._place, workload)

    def record_alarms(self, events: Iterable[AlarmEvent]) -> int:
        with sentences(self._place):
            return alarm_index.record(self._client, self._place, events)

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _select(self, query: Query, fields: Sequence[str], of: Callable[[search.Hit], T]) -> Iterator[T]:
        """What *of* makes of the runs that *query* selects, in order: of these *fields* (all where empty)."""
        needed = ["metadata.settings", "metadata.repeat"] if query.filters else []
        left = query.limit
        if left == 0:
            return
        page = PAGE if left is None or query.filters else min(PAGE, left)
        with sentences(self._place):
            for hit in search.hits(
                self._client,
                self._place.index,
                query=documents.query_body(query),
                sort=_BY_TIME,
                source=[*fields, *needed] if fields else True,
                page=page,
            ):
                with reading("a search"):
                    if query.filters and not query.selects(*documents.settings_of(hit.source)):
                        continue
                    found = of(hit)
                yield found
                if left is not None:
                    left -= 1
                    if left == 0:
                        return


def _run(hit: search.Hit) -> Run:
    kept = hit.source["matbench"]
    return Run(kept["id"], kept["workload"], kept["time_us"], kept["digest"])


def _series(bucket: Any) -> Series:
    source = bucket["newest"]["hits"]["hits"][0]["_source"]
    return Series(
        key=bucket["key"]["series"],
        workload=bucket["key"]["workload"],
        kpi=bucket["key"]["kpi"],
        unit=source["unit"],
        help=source["help"],
        lower_better=source["lower_better"],
        ignored_for_regression=source["ignored_for_regression"],
        labels=msgspec.json.decode(source["matbench"]["labels"]),
        count=bucket["doc_count"],
        first_us=_whole(bucket["first"]["value"]),
        last_us=_whole(bucket["last"]["value"]),
    )


def _workload(bucket: Any, series: Sequence[Series]) -> WorkloadSummary:
    name = bucket["key"]["workload"]
    own = [each for each in series if each.workload == name]
    return WorkloadSummary(
        workload=name,
        runs=bucket["doc_count"],
        series=len(own),
        values=sum(each.count for each in own),
        first_us=_whole(bucket["first"]["value"]),
        last_us=_whole(bucket["last"]["value"]),
    )


def _whole(value: float | None) -> int | None:
    """The result of an aggregation, which comes as a float; microseconds until the year 2255 are exact in it."""
    return None if value is None else round(value)
