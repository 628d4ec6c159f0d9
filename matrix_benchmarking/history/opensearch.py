"""A history on OpenSearch: an index of runs, one of alarms' events, and one of KPIs, which only dashboards read.

Where a history has an index a month, runs and their KPIs are in those of the month of the run; the first index has
those of unknown time, and all of before. What was kept somewhere stays there.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from ..errors import HistoryError, MissingHistoryError
from ..grouped import grouped
from ..jsonable import Document
from . import opensearch_indices as indices
from .opensearch_client import Action, Hit, action, bulk, connect, patiently, read, reading, refresh, search, sentences
from .opensearch_location import OpenSearchLocation
from .port import Event, Storage, batched
from .records import URLS_LABEL, Row, moment, newest_first, shape_and_head

ALREADY_THERE, GONE = 409, 404
CHUNK, PAGE, EVENTS = 500, 5000, 1000
_BY_TIME: Sequence[Document] = [
    {"matbench.time_us": {"order": "desc", "missing": "_last"}},
    {"matbench.id": "asc"},
]
_LAST = {"order": "desc", "missing": "_last", "unmapped_type": "long"}
_BY_RECORDED: Sequence[Document] = [
    {"matbench.recorded_us": _LAST},
    {"matbench.recorded_place": _LAST},
    {"matbench.id": "asc"},
]
_ALARM = ("alarm", "action", "author", "reason", "until", "version")
_SUBJECT = ("kpi", "series", "first_bad")
LONGEST_NAME_IN_ID = 200
_KEPT = ("id", "workload", "time_us", "digest", "measurement", "recorded_us", "recorded_place", "shape", "head")


class OpenSearchStorage(Storage):
    """The indices at *place*. There are no transactions: a run is one document.

    Who is second to write one finds that out; what was interrupted is completed by doing it again. Each search is of
    one state; payloads are those of the moment at which they are asked for.
    """

    at_once = CHUNK

    def __init__(self, place: OpenSearchLocation, *, writable: bool = True) -> None:
        self.location = str(place)
        self._place = place
        self._is_monthly = self._has_written = False
        self._ready = {place.index}  # of its indices of runs those that are there for sure
        self._client = connect(place)
        with self.opening():
            if writable:
                self._open()
            elif (found := indices.find(self._client, place.index, indices.PAYLOADS)) is None:
                raise MissingHistoryError(f"in {place}")
            else:
                self._is_monthly = found.is_monthly

    def sentences(self) -> contextlib.AbstractContextManager[None]:
        return sentences(self._place)

    def settle(self) -> None:
        kpis = f",{indices.all_of(self._place.kpi_index, self._is_monthly)}" if self._has_written else ""
        refresh(self._client, f"{self._all}{kpis}")  # nobody but dashboards reads the KPIs, which are the most by far
        self._has_written = False

    def select(self, workload: str | None, since_us: int | None, most: int | None = None) -> Iterator[Row]:
        wanted: list[Document] = []
        if workload is not None:
            wanted.append({"term": {"matbench.workload": workload}})
        if since_us is not None:
            wanted.append({"range": {"matbench.time_us": {"gte": since_us}}})
        has_time: Document = {"exists": {"field": "matbench.time_us"}}
        parts = [([*wanted, has_time], _BY_TIME)]
        if since_us is None:
            parts.append(([*wanted, {"bool": {"must_not": has_time}}], _BY_RECORDED))
        found = (self._pages({"bool": {"filter": all_of}}, ["matbench"], most, sort) for all_of, sort in parts)
        rows = (itertools.chain.from_iterable(pages) for pages in found)
        for some in batched(heapq.merge(*rows, key=newest_first), CHUNK):
            # Those of before have no head: it is made of their payloads.
            before = [row.id for row in some if row.head is None]
            known = {row.id: row for row in self.find(before, payload=True)} if before else {}
            yield from (known.get(row.id, row) for row in some)

    def find(self, ids: Sequence[str], *, payload: bool) -> Iterator[Row]:
        return (copies[0] for copies in self._copies(ids, payload=payload))

    def _copies(self, ids: Sequence[str], *, payload: bool) -> Iterable[list[Row]]:
        """Those of *ids* that searches see, of each all copies, that which counts first.

        There is one, unless two have just put different contents of it into different months.
        """
        if not ids:
            return ()
        most = None if self._is_monthly else len(ids)
        pages = self._pages({"ids": {"values": list(ids)}}, True if payload else ["matbench"], most)
        found = grouped((row.id, row) for row in itertools.chain.from_iterable(pages))
        return (sorted(each, key=lambda row: (row.recorded_us or 0, self._index(row))) for each in found.values())

    def measured(self, measurements: Sequence[str]) -> Iterator[tuple[str, str]]:
        for some in batched(measurements, CHUNK):
            for page in self._pages({"terms": {"matbench.measurement": some}}, ["matbench"]):
                yield from ((row.measurement or "", row.id) for row in page)

    def last_recorded(self) -> int | None:
        body = {"size": 0, "aggregations": {"last": {"max": {"field": "matbench.recorded_us"}}}}
        answer = patiently(lambda: self._client.search(index=self._all, body=body))
        last = read(answer, "a search", dict[str, float | None], "aggregations", "last")["value"]
        return None if last is None else round(last)  # a float, in which microseconds until the year 2255 are exact

    def write(self, rows: Sequence[Row]) -> Mapping[str, str | None]:
        for index in {self._index(row) for row in rows} - self._ready:
            indices.ensure_month(self._client, self._place, index)
            self._ready.add(index)
        self._has_written = True
        self._hide(self.find([row.id for row in rows if row.version is not None], payload=True))
        refused_kpis = self._bulk(self._shown(rows))
        refused = {kpi.partition(":")[0]: f"its KPIs are refused: {reason}" for kpi, _, reason in refused_kpis}
        actions = (
            action("create" if row.version is None else "index", self._index(row), row.id, _document(row), row.version)
            for row in rows
            if row.id not in refused
        )
        failed = {run: None if status == ALREADY_THERE else reason for run, status, reason in self._bulk(actions)}
        if failed or self._is_monthly:
            refresh(self._client, self._all)  # which shows what others have written
        if self._is_monthly:
            failed |= self._remove_copies([row for row in rows if row.id not in refused])
        # Somebody else was faster: shown are the KPIs of what is there.
        self._bulk(self._hidden(row for row in rows if row.id in failed))
        self._bulk(self._shown(self.find(list(failed), payload=True)))
        return {**refused, **failed}

    def _remove_copies(self, rows: Sequence[Row]) -> dict[str, None]:
        """Of runs that others have just put into another month keep one copy; those of *rows* that are not kept.

        Whoever of two is later to look sees both, and both would remove the same.
        """
        own = {row.id: self._index(row) for row in rows}
        doubled = [each for each in self._copies(list(own), payload=False) if len(each) > 1]
        more = [row for copies in self._copies([each[0].id for each in doubled], payload=True) for row in copies[1:]]
        self._drop(more)
        return {row.id: None for row in more if own[row.id] == self._index(row)}

    def remove(self, ids: Sequence[str]) -> int:
        self._has_written = True
        there = list(self._copies(ids, payload=True))
        self._drop([row for copies in there for row in copies])
        return len(there)

    def _drop(self, rows: Sequence[Row]) -> None:
        """Remove *rows*, which were read with their payloads, and their KPIs."""
        self._hide(rows)
        self._bulk((action("delete", self._index(row), row.id) for row in rows), "to delete a run", GONE)

    def events(self, workload: str | None) -> Iterator[tuple[str, str]]:
        if indices.find(self._client, self._place.alarm_index, indices.ALARMS) is None:
            return
        for hit in search(
            self._client,
            self._place.alarm_index,
            query={"match_all": {}} if workload is None else {"term": {"workload": workload}},
            sort=[{"matbench.at_us": "asc"}, {"matbench.id": "asc"}],
            source=["matbench.event"],
            page=EVENTS,
        ):
            yield hit.id, hit.source.get("matbench", {}).get("event", "")

    def add_events(self, events: Sequence[Event]) -> int:
        name = self._place.alarm_index
        indices.ensure(self._client, name, indices.ALARMS)
        actions = (action("create", name, each.id, _event(each)) for each in events)
        failed = self._bulk(actions, "an event of an alarm", ALREADY_THERE)
        refresh(self._client, name)
        return len(events) - len(failed)

    def size_bytes(self) -> int:
        stats = patiently(lambda: self._client.indices.stats(index=self._all, metric="store"))
        what = "the request for the size of an index"
        return read(stats, what, int, "_all", "total", "store", "size_in_bytes")

    def close(self) -> None:
        self._client.close()

    def _open(self) -> None:
        """Make what is missing, and bring on what is older."""
        client, place = self._client, self._place
        indices.ensure(client, place.kpi_index, indices.kpis(place))
        found = indices.ensure(client, place.index, indices.PAYLOADS)
        self._is_monthly = found.is_monthly
        if found.is_older:
            self._bring_on()
        if place.is_monthly and not found.is_monthly:
            indices.begin(client, place)
            self._is_monthly = True

    @property
    def _all(self) -> str:
        """What means all indices of runs."""
        return indices.all_of(self._place.index, self._is_monthly)

    def _index(self, row: Row) -> str:
        """Where *row* is, or belongs."""
        if row.version is not None:
            return row.version[2]
        return indices.index_of(self._place.index, row.time_us) if self._is_monthly else self._place.index

    def _kpi_index(self, row: Row) -> str:
        return self._place.kpi_index + self._index(row).removeprefix(self._place.index)

    def _shown(self, rows: Iterable[Row]) -> Iterator[Action]:
        """The KPIs of *rows*, which have their payloads, as documents."""
        return (each for row in rows for each in _of_kpis(self._kpi_index(row), row, self._place.has_flat_labels))

    def _hidden(self, rows: Iterable[Row]) -> Iterator[Action]:
        """What removes them."""
        return (action("delete", self._kpi_index(row), _kpi_id(row.id, name)) for row in rows for name, _ in _kpis(row))

    def _hide(self, rows: Iterable[Row]) -> None:
        """Remove the documents of the KPIs of *rows*, which were read with their payloads."""
        self._bulk(self._hidden(rows), "to delete a KPI", GONE)

    def _pages(
        self,
        query: Document,
        source: Sequence[str] | bool,
        most: int | None = None,
        sort: Sequence[Document] = _BY_TIME,
    ) -> Iterator[list[Row]]:
        """The rows of the documents that match, *source* of each, in the order of *sort*, at most so many."""
        page = CHUNK if source is True else PAGE
        hits = search(self._client, self._all, query=query, sort=sort, source=source, page=page, most=most)
        for some in batched(hits, CHUNK):
            with reading("a search"):
                rows = [self._row(each) for each in some]
            yield rows

    def _bulk(self, actions: Iterable[Action], what: str | None = None, fine: int = 0) -> list[tuple[str, int, str]]:
        """Send *actions*; of those that failed the id, the status and the reason.

        Raises HistoryError: the server refused *what*, where given, for another reason than the status *fine*, which
        means that somebody else was faster.
        """
        failed = bulk(self._client, actions)
        for each, status, reason in failed:
            if what is not None and status != fine:
                raise HistoryError(f"{self._place.url} refused {what}, {each}: {reason}")
        return failed

    def _row(self, of: Hit) -> Row:
        """The row in a document of which all was asked for, or what is below ``matbench``."""
        known = of.source.pop("matbench")
        is_of_before = known.get("recorded_us") is None and "recorded_place" not in known
        if is_of_before and not indices.is_month(of.index) and self._has_one_shard:
            known["recorded_place"] = of.seq_no  # when the order of writes was all there was
        payload = msgspec.json.encode(of.source) if of.source else None
        if payload is not None and known.get("head") is None:
            known["shape"], known["head"] = shape_and_head(payload)
        row = Row._make((*map(known.get, _KEPT), payload, (of.seq_no, of.primary_term, of.index)))
        if not isinstance(row.id, str) or not isinstance(row.digest, str):
            raise TypeError("a run has no id or no digest")
        return row

    @functools.cached_property
    def _has_one_shard(self) -> bool:
        answer = patiently(lambda: self._client.indices.get_settings(index=self._place.index))
        with reading("the request for the settings of an index"):
            return [each["settings"]["index"]["number_of_shards"] for each in answer.values()] == ["1"]

    def _bring_on(self) -> None:
        """Give the documents of before their heads; those that somebody replaces meanwhile have theirs."""
        without = {"bool": {"must_not": {"exists": {"field": "matbench.shape"}}}}
        for rows in self._pages(without, True):
            self.write(rows)
        self.settle()


def _document(row: Row) -> Document:
    known = {name: value for name, value in zip(_KEPT, row, strict=False) if value is not None}
    return {**msgspec.json.decode(row.payload or ""), "matbench": {"time_us": None, **known}}


def _event(of: Event) -> Document:
    said = msgspec.json.decode(of.text)
    subject = said.get("subject") or {}
    return {
        "@timestamp": moment(of.at_us).isoformat(),
        **{name: said.get(name) for name in _ALARM},
        **{name: subject.get(name) for name in _SUBJECT},
        "workload": of.workload,
        "matbench": {"id": of.id, "at_us": of.at_us, "event": of.text},
    }


def _of_kpis(index: str, row: Row, is_flat: bool) -> Iterator[Action]:
    """The KPIs of *row*, which has its payload, each as a document of its own, with its labels in it if *is_flat*."""
    for name, kpi in _kpis(row):
        labels = dict(kpi.get("labels") or {})
        urls = labels.pop(URLS_LABEL, None)
        document = {
            "@timestamp": kpi.get("@timestamp"),
            "workload": row.workload,
            "kpi": name,
            "value": kpi["value"],
            "unit": kpi["unit"],
            "help": kpi["help"],
            "lower_better": kpi["lower_better"],
            "ignored_for_regression": kpi.get("ignored_for_regression", False),
            "test_uuid": row.id,
            "urls": urls,
        }
        # In the name of a field a dot would mean an object; a blank one can't be.
        fields = {label.replace(".", "_"): _scalar(value) for label, value in labels.items() if label.strip()}
        if is_flat:  # but for those that have the names of the document's fields, or of the server's
            taken = {label for label in fields if label in ("labels", *document) or label.startswith("_")}
            document |= {label: fields.pop(label) for label in fields.keys() - taken}
        document["labels"] = fields
        yield action("index", index, _kpi_id(row.id, name), document)


def _kpis(row: Row) -> list[tuple[str, Document]]:
    payload = msgspec.json.decode(row.payload or "{}")
    return [(name, kpi) for name, kpi in (payload.get("kpis") or {}).items() if kpi is not None]


def _kpi_id(run: str, name: str) -> str:
    """The id of a KPI's document; ids have at most 512 bytes."""
    encoded = name.encode()
    short = name if len(encoded) <= LONGEST_NAME_IN_ID else hashlib.blake2b(encoded, digest_size=16).hexdigest()
    return f"{run}:{short}"


def _scalar(value: object) -> object:
    """A label's value: structures as their JSON, so that a field has one kind of values."""
    return msgspec.json.encode(value).decode() if isinstance(value, (dict, list)) else value
