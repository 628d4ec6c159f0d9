"""A history on an OpenSearch server.

There are no transactions, so the order of writing keeps it whole: first a run's KPIs, whose ids follow from the run,
then its payload, which says that the run is there. What was interrupted in between is written again by the next push.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from ..errors import HistoryError, UnavailableError
from ..location import OpenSearchLocation
from ..port import EVERYTHING, Progress, Pushed, Query, Refused, Run, Series, SeriesValues, Summary, WorkloadSummary
from ..records import KPIRecord, Record, record
from . import bulk, documents, indices, search
from .client import BUSY, connect, patiently, sentences

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
        "sort": [{"matbench.time_us": {"order": "desc", "missing": "_last"}}],
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
        try:
            with sentences(location):
                (indices.ensure if writable else indices.check)(self._client, location)
        except BaseException:
            self._client.close()
            raise

    def push(self, records: Iterable[Record], *, replace: bool = False, progress: Progress | None = None) -> Pushed:
        pushed, done = Pushed(), 0
        iterator = iter(records)
        try:
            while chunk := list(itertools.islice(iterator, CHUNK)):
                with sentences(self._place):
                    pushed.add(self._push_chunk(chunk, replace=replace))
                done += len(chunk)
                if progress is not None:
                    progress(done)
            with sentences(self._place):
                self._refresh()
        except UnavailableError as error:
            error.acknowledged = done
            raise
        return pushed

    def known(self, ids: Sequence[str]) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for start in range(0, len(ids), CHUNK):
            some = list(ids[start : start + CHUNK])
            with sentences(self._place):
                sources = self._sources(some, ["matbench.digest"])
            found |= {each: source["matbench"]["digest"] for each, source in sources.items()}
        return found

    def runs(self, query: Query = EVERYTHING) -> Iterator[Run]:
        for source in self._select(query, ["matbench"]):
            kept = source["matbench"]
            yield Run(kept["id"], kept["workload"], kept["time_us"], kept["digest"])

    def payloads(self, query: Query = EVERYTHING) -> Iterator[dict[str, Any]]:
        for source in self._select(query, []):
            del source["matbench"]
            yield source

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
            return [_series(bucket) for bucket in found]

    def values(self, series: Series) -> SeriesValues:
        times, values, ids = [], [], []
        with sentences(self._place):
            for hit in search.hits(
                self._client,
                self._place.kpi_index,
                query={"term": {"matbench.series": series.key}},
                sort=_VALUES_BY_TIME,
                source=["value", "test_uuid", "matbench.time_us"],
                page=VALUES_PAGE,
            ):
                source = hit["_source"]
                times.append(source["matbench"]["time_us"])
                values.append(source["value"])
                ids.append(source["test_uuid"])
        return SeriesValues(times, values, ids)

    def delete(self, ids: Sequence[str]) -> int:
        deleted = 0
        for start in range(0, len(ids), CHUNK):
            with sentences(self._place):
                sources = self._sources(ids[start : start + CHUNK], ["kpis"])
                names = [(run, name) for run, source in sources.items() for name in source["kpis"]]
                self._all(self._delete_kpi(run, name) for run, name in names)
                index = self._place.index
                self._all(documents.action("delete", index, run, run) for run in sources)
            deleted += len(sources)
        with sentences(self._place):
            self._refresh()
        return deleted

    def summary(self) -> Summary:
        series = self.series()
        with sentences(self._place):
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

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _push_chunk(self, chunk: Sequence[Record], *, replace: bool) -> Pushed:
        pushed = Pushed()
        existing = self._sources([each.id for each in chunk], ["matbench.digest", "kpis.*.unit"])
        new: dict[str, tuple[Record, list[KPIRecord]]] = {}
        for each in chunk:
            there = new[each.id][0].digest if each.id in new else None
            if each.id in existing:
                there = existing[each.id]["matbench"]["digest"]
            if there == each.digest:
                pushed.unchanged += 1
            elif there is not None and not (replace and each.id not in new):
                pushed.conflicts.append(_conflict(each.id))
            else:
                try:
                    new[each.id] = (each, list(each.kpis()))
                except HistoryError as error:
                    pushed.rejected.append(Refused(each.id, str(error)))
        self._write(new, existing, pushed)
        return pushed

    def _write(
        self, new: Mapping[str, tuple[Record, list[KPIRecord]]], existing: Mapping[str, Any], pushed: Pushed
    ) -> None:
        """Write runs that are new, or take the place of *existing* ones; count them in *pushed*."""
        place = self._place
        refused = self._send(
            documents.action("index", place.kpi_index, documents.kpi_id(run, kpi.name), run, document)
            for run, (of, kpis) in new.items()
            for kpi in kpis
            for document in [documents.kpi_document(of, kpi)]
        )
        refused |= self._send(
            documents.action(
                "index" if run in existing else "create", place.index, run, run, documents.payload_document(of)
            )
            for run, (of, _) in new.items()
            if run not in refused
        )
        gone = [
            (run, name)
            for run, (_, kpis) in new.items()
            if run in existing and run not in refused
            for name in existing[run].get("kpis", {}).keys() - {kpi.name for kpi in kpis}
        ]
        self._all(self._delete_kpi(run, name) for run, name in gone)
        for run in new:
            if run in refused:
                self._refused(new[run], *refused[run], run in existing, pushed)
            elif run in existing:
                pushed.replaced += 1
            else:
                pushed.added += 1

    def _refused(
        self, of: tuple[Record, list[KPIRecord]], status: int, reason: str, was_there: bool, pushed: Pushed
    ) -> None:
        """A run whose payload was not taken: another process was faster, or the server can't hold it."""
        mine, kpis = of
        there = self._sources([mine.id], []).get(mine.id)
        if status == bulk.ALREADY_THERE and there is not None and there["matbench"]["digest"] == mine.digest:
            pushed.unchanged += 1
            return
        # Our KPIs are not those of the payload that is there, if there is one.
        self._all(self._delete_kpi(mine.id, kpi.name) for kpi in kpis)
        if there is not None:
            del there["matbench"]
            theirs = record(there)
            self._all(
                documents.action(
                    "index",
                    self._place.kpi_index,
                    documents.kpi_id(theirs.id, kpi.name),
                    theirs.id,
                    documents.kpi_document(theirs, kpi),
                )
                for kpi in theirs.kpis()
            )
        if status == bulk.ALREADY_THERE and not was_there:
            pushed.conflicts.append(_conflict(mine.id))
        else:
            pushed.rejected.append(Refused(mine.id, reason))

    def _send(self, actions: Iterable[documents.Action]) -> dict[str, tuple[int, str]]:
        """Send *actions*; for each run that had a document refused, one status and reason.

        Raises:
            UnavailableError: the server stayed busy.
        """
        failed = bulk.send(self._client, actions)
        for _, status, _ in failed:
            if status in BUSY:
                raise UnavailableError(f"{self._place.url} is busy and stays so (status {status})")
        return {action.run: (status, reason) for action, status, reason in failed}

    def _all(self, actions: Iterable[documents.Action]) -> None:
        """Send *actions* that have to succeed; to delete what is gone is fine."""
        for run, (status, reason) in self._send(actions).items():
            if status != 404:
                raise HistoryError(f"{self._place.url} refused a change of run {run}: {reason}")

    def _delete_kpi(self, run: str, name: str) -> documents.Action:
        return documents.action("delete", self._place.kpi_index, documents.kpi_id(run, name), run)

    def _sources(self, ids: Sequence[str], fields: Sequence[str]) -> dict[str, Any]:
        """The documents of those of *ids* that are there, by id, with these *fields* of them (all where empty)."""
        if not ids:
            return {}
        unique = list(dict.fromkeys(ids))
        params = {"_source_includes": ",".join(fields)} if fields else {}
        body = {"ids": unique}
        answer: Any = patiently(lambda: self._client.mget(body=body, index=self._place.index, params=params))
        return {each["_id"]: each["_source"] for each in answer["docs"] if each.get("found")}

    def _select(self, query: Query, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The sources of the runs that *query* selects, in order; with these *fields* of them (all where empty)."""
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
                source = hit["_source"]
                if query.filters and not query.selects(*documents.settings_of(source)):
                    continue
                yield source
                if left is not None:
                    left -= 1
                    if left == 0:
                        return

    def _refresh(self) -> None:
        names = f"{self._place.index},{self._place.kpi_index}"
        patiently(lambda: self._client.indices.refresh(index=names))


def _conflict(run: str) -> Refused:
    return Refused(run, "another content is kept under this id")


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
