"""The history: what is the same wherever it is kept."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from .. import filters
from ..errors import HistoryError, UnavailableError
from ..jsonable import Document
from ..lts.read import KPIs, digest_of
from . import alarms, plan
from .alarms import Action, AlarmEvent
from .plan import CHUNK, Pushed, Refused, Upload, Write
from .port import EVERYTHING, Event, Progress, Query, Storage, batched, silent
from .records import (
    URLS_LABEL,
    KeptRun,
    Record,
    Recorded,
    Row,
    digest,
    kpis_in,
    next_moment,
    record_of,
    row_of,
    runs_of,
)

BATCH = 1000


@dataclasses.dataclass(slots=True)
class Span:
    """How many there are, and from when to when, in microseconds since 1970; None where no time is known."""

    count: int = 0
    first_us: int | None = None
    last_us: int | None = None

    def add(self, time_us: int | None) -> None:
        self.count += 1
        if time_us is not None:
            self.first_us = min(time_us, time_us if self.first_us is None else self.first_us)
            self.last_us = max(time_us, time_us if self.last_us is None else self.last_us)


class SeriesSummary(msgspec.Struct, frozen=True):
    """One KPI in one unit with the same labels, without ``urls``."""

    workload: str
    kpi: str
    unit: str
    labels: Document
    span: Span


class WorkloadSummary(msgspec.Struct, frozen=True):
    workload: str
    runs: Span
    series: int
    values: int


class Summary(msgspec.Struct, frozen=True):
    """What a history holds, workload by workload in the order of their names, and its size on disk."""

    workloads: Sequence[WorkloadSummary]
    series: Sequence[SeriesSummary]
    size_bytes: int = 0


class History(contextlib.AbstractContextManager["History"]):
    """Payloads, each run once, and what happened to alarms. Use it as a context manager, in one thread.

    Every method raises :class:`.errors.HistoryError`, and :class:`.errors.UnavailableError` where the server is away.
    """

    def __init__(self, storage: Storage) -> None:
        self.location = storage.location
        self._storage = storage
        self._kpis: dict[str, KPIs] = {}

    def push(
        self,
        records: Iterable[Record],
        *,
        replace: bool = False,
        are_copies: bool = False,
        progress: Progress = silent,
    ) -> Pushed:
        """Keep *records*; one that is there already is not kept twice. :mod:`.plan` decides what becomes of each.

        Args:
            records: they are taken a few thousand at a time, and are visible to all when this returns. Those that don't
                say when they were first seen get one moment, later than any that is kept.
            replace: another content takes the place of the one that is there, and the moment when that was first seen.
            are_copies: they were computed some time ago, and so don't take the place of other computations.

        Raises:
            UnavailableError: it says how many of *records* are dealt with.
        """
        done, upload = 0, Upload(self._storage, replace=replace, are_copies=are_copies)
        pushed = upload.pushed
        try:
            self._settle()  # what an upload that was interrupted wrote shows now
            for chunk in plan.writable(records, self._storage.at_once):
                self._write(upload.plan(chunk), upload)
                done += len(chunk)
                progress(done)
            if upload.waiting:
                self._write(upload.plan_waiting(), upload)
            self._settle()
        except UnavailableError as error:
            error.acknowledged, error.not_kept = done, [each.id for each in (*pushed.conflicts, *pushed.rejected)]
            error.not_kept += [each.id for each in upload.waiting]
            raise
        return pushed

    def foresee(self, records: Iterable[Record], *, replace: bool = False) -> Pushed:
        """What :meth:`push` would do; nothing is changed."""
        with self._storage.sentences(), self._storage.reading() as reader:
            return plan.foresee(records, reader, replace=replace)

    def runs(self, query: Query = EVERYTHING) -> Iterator[KeptRun]:
        """Newest first as :func:`.records.newest_first` has it."""
        with self._storage.sentences(), self._storage.reading() as reader:
            yield from self._runs(reader, query)

    def records(self, query: Query = EVERYTHING) -> Iterator[Record]:
        """The runs with their payloads, as they were pushed, in the order of :meth:`runs`."""
        with self._storage.sentences(), self._storage.reading() as reader:
            yield from _records(reader, [run.id for run in self._runs(reader, query)])

    def records_of(self, ids: Iterable[str]) -> Iterator[Record]:
        """Those of *ids* that are there, with their payloads, in this order."""
        with self._storage.sentences(), self._storage.reading() as reader:
            yield from _records(reader, ids)

    def last_recorded(self) -> int | None:
        """The last moment at which a run was first seen, in microseconds since 1970; None where none is kept."""
        self._settle()
        with self._storage.sentences():
            return self._storage.last_recorded()

    def delete(self, ids: Sequence[str]) -> int:
        """Remove these runs; how many there were."""
        deleted = 0
        for chunk in batched(ids, CHUNK):
            with self._storage.sentences(), self._storage.writing():
                deleted += self._storage.remove(chunk)
        self._settle()
        return deleted

    def prunable(self, workload: str | None, *, before_us: int | None = None, keep: int | None = None) -> list[str]:
        """The ids of the runs (of *workload*, where given) before *before_us*, and of all but the newest *keep* of each
        workload, newest first. A run of unknown time is not known to be old, nor older than another one of its upload.
        """
        seen, last_upload = collections.Counter[str](), dict[str, Recorded]()
        found = []
        for run in self.runs(Query(workload)):
            seen[run.workload] += 1
            is_old = before_us is not None and run.time_us is not None and run.time_us < before_us
            untimed = run.recorded if run.time_us is None else None
            if seen[run.workload] == keep and untimed is not None:
                last_upload[run.workload] = untimed
            is_as_new = untimed is not None and untimed == last_upload.get(run.workload)
            if is_old or (keep is not None and seen[run.workload] > keep and not is_as_new):
                found.append(run.id)
        return found

    def summary(self) -> Summary:
        """What is in it, counted from its runs."""
        summary = _summary_of(self.runs())
        with self._storage.sentences():
            return msgspec.structs.replace(summary, size_bytes=self._storage.size_bytes())

    def alarm_events(self, workload: str | None = None) -> list[AlarmEvent]:
        """What happened to alarms (of *workload*, where given), oldest first, ties in the order of the ids."""
        events = []
        with self._storage.sentences():
            for event_id, text in self._storage.events(workload):
                try:
                    events.append(alarms.decode(text))
                except (HistoryError, TypeError) as error:
                    where = f"{self.location}: the event {event_id} of an alarm in it is damaged"
                    raise HistoryError(f"{where}, or of a newer matbench: {error}") from error
        return events

    def record_alarms(self, events: Iterable[AlarmEvent]) -> int:
        """Keep *events*; one that is there already is not kept twice, nor is an alarm raised twice. How many were new.

        On OpenSearch, which has no transactions, two that come at the same moment may both raise one.
        """
        wanted: dict[str, Event] = {}
        raised: dict[str, str] = {}  # by id the alarm
        for each in events:
            text = alarms.encode(each)  # before its id, which has to be one
            wanted[each.id] = Event(each.id, each.subject.workload, each.at_us, text)
            if each.action is Action.RAISED:
                raised[each.id] = each.alarm
        with self._storage.sentences(), self._storage.writing():
            known = self._raised() if raised else set()
            left = [event for name, event in wanted.items() if raised.get(name) not in known]
            added = self._storage.add_events(left)
        self._settle()
        return added

    def _raised(self) -> set[str]:
        """The alarms that are raised already; none where a damaged event keeps that from being told."""
        try:
            return {each.alarm for each in self.alarm_events() if each.action is Action.RAISED}
        except HistoryError:
            return set()

    def close(self) -> None:
        """Let go of files and connections."""
        self._storage.close()

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _settle(self) -> None:
        with self._storage.sentences():
            self._storage.settle()

    def _write(self, planned: Iterable[Write], upload: Upload) -> None:
        """Write what is *planned* for some records of *upload*, all or nothing, and count it."""
        pushed = Pushed()
        with self._storage.sentences(), self._storage.writing():
            writes = list(planned)
            for write in writes:
                if write.counted == "added" and write.record.recorded is None:
                    # The first chunk of an upload in which something is kept makes its moment known to all others.
                    if upload.moment_us is None:
                        upload.moment_us = next_moment(self._storage.last_recorded())
                    write.record = msgspec.structs.replace(write.record, recorded=(1, upload.moment_us))
            refused = self._storage.write([row_of(write.record, write.version) for write in writes])
            there = {row.id: row.digest for row in plan.found(list(refused), self._storage, payload=False)}
            for write in writes:
                of = write.record
                if of.id not in refused:
                    write.count(pushed)
                elif (reason := refused[of.id]) is not None:
                    pushed.rejected.append(Refused(write.pushed_as, reason))
                elif there.get(of.id) == of.digest:
                    pushed.unchanged += 1
                else:
                    said = "another process wrote another content at the same time"
                    pushed.conflicts.append(Refused(write.pushed_as, said))
        upload.pushed.add(pushed)

    def _runs(self, reader: Storage, query: Query) -> Iterator[KeptRun]:
        found: Iterator[KeptRun] = itertools.chain.from_iterable(self._batches(reader, query))
        if query.filters:
            found = (run for run in found if filters.matches(query.filters, run.settings, run.repeat))
        return itertools.islice(found, query.limit)

    def _batches(self, reader: Storage, query: Query) -> Iterator[Iterator[KeptRun]]:
        most = None if query.filters else query.limit
        for rows in batched(reader.select(query.workload, query.since_us, most), min(BATCH, most or BATCH)):
            yield runs_of(rows, self._known_kpis(rows, reader))

    def _known_kpis(self, rows: Sequence[Row], reader: Storage) -> Mapping[str, KPIs]:
        """What runs say of their KPIs, by shape: of each shape that is met first, one payload tells it."""
        if {row.shape for row in rows} <= self._kpis.keys():
            return self._kpis
        unknown = {row.shape: row.id for row in rows if row.shape is not None and row.shape not in self._kpis}
        for ids in batched(unknown.values(), CHUNK):
            for row in reader.find(ids, payload=True):
                kpis = kpis_in(row)
                self._kpis[digest_of(kpis)] = kpis
        if not unknown.keys() <= self._kpis.keys():
            raise UnavailableError(f"{self.location} was changed while it was read: try again")
        return self._kpis


def _records(reader: Storage, ids: Iterable[str]) -> Iterator[Record]:
    for chunk in batched(ids, CHUNK):
        found = {row.id: row for row in reader.find(chunk, payload=True)}
        yield from (record_of(found[run]) for run in chunk if run in found)


def _summary_of(runs: Iterable[KeptRun]) -> Summary:
    spans: dict[str, Span] = {}
    series: dict[tuple[str, str, str, str], SeriesSummary] = {}
    for run in runs:
        spans.setdefault(run.workload, Span()).add(run.time_us)
        labels = {name: value for name, value in (run.head.labels or {}).items() if name != URLS_LABEL}
        key = digest(labels)
        for kpi in run.kpis:
            one = series.get(identity := (run.workload, kpi.name, kpi.unit, key))
            if one is None:
                one = series[identity] = SeriesSummary(run.workload, kpi.name, kpi.unit, labels, Span())
            one.span.add(run.time_us)
    in_order = [series[identity] for identity in sorted(series)]
    workloads = []
    for name in sorted(spans):
        own = [each for each in in_order if each.workload == name]
        workloads.append(WorkloadSummary(name, spans[name], len(own), sum(each.span.count for each in own)))
    return Summary(workloads, in_order)
