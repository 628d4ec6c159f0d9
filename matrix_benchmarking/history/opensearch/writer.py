"""Writing to an OpenSearch history: runs some hundred at a time, whole in spite of there being no transactions.

First a run's KPIs, whose ids follow from the run, then its payload, which says that the run is there. What was
interrupted in between is written again by the next push.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import HistoryError, UnavailableError
from ..location import OpenSearchLocation
from ..port import Pushed, Refused, conflict
from ..records import KPIRecord, Record, Recorded, next_moment, record
from . import bulk, documents, indices
from .client import BUSY, patiently

if TYPE_CHECKING:
    import opensearchpy


@dataclasses.dataclass(frozen=True, slots=True)
class _Version:
    """A payload that is there: its digest, the names of its KPIs, its place in the index's sequence of writes, and when
    it was first seen.
    """

    digest: str
    kpis: frozenset[str]
    place: tuple[int, int]
    recorded: Recorded | None


@dataclasses.dataclass(slots=True)
class Upload:
    """One push: the digests that it has brought so far, by id, and its moment, once a run was new."""

    seen: dict[str, str] = dataclasses.field(default_factory=dict)
    moment_us: int | None = None


class Writer:
    """Writes to the indices of *place*; every method raises the library's errors, and UnavailableError."""

    def __init__(self, client: opensearchpy.OpenSearch, place: OpenSearchLocation) -> None:
        self._client = client
        self._place = place

    def push(self, chunk: Sequence[Record], upload: Upload, *, replace: bool) -> Pushed:
        """Keep *chunk*, some hundred records of *upload*.

        With *replace* the KPIs of what is there already are written again, too: that repairs an index of KPIs.
        """
        pushed, seen = Pushed(), upload.seen
        existing = self._versions([each.id for each in chunk])
        new: dict[str, tuple[Record, list[KPIRecord]]] = {}
        again: list[tuple[Record, KPIRecord]] = []
        for each in chunk:
            there = seen.get(each.id) or (existing[each.id].digest if each.id in existing else None)
            try:
                kpis = list(each.kpis())
            except HistoryError as error:
                pushed.rejected.append(Refused(each.id, str(error)))
                continue
            if there == each.digest:
                pushed.unchanged += 1
                again += [(each, kpi) for kpi in kpis if replace and each.id not in seen]
                seen[each.id] = each.digest
            elif there is not None and (each.id in seen or not replace):
                pushed.conflicts.append(Refused(each.id, conflict(each.id in seen)))
            else:
                new[each.id] = (dataclasses.replace(each, recorded=self._recorded(each, existing, upload)), kpis)
                seen[each.id] = each.digest
        self._all(self._kpi(of, kpi) for of, kpi in again)
        self._write(new, existing, pushed)
        return pushed

    def last_recorded(self) -> int | None:
        """The last moment at which a run was first seen, those of interrupted uploads too."""
        index = self._place.index
        patiently(lambda: self._client.indices.refresh(index=index))
        body = {"size": 0, "aggregations": {"last": {"max": {"field": "matbench.recorded_us"}}}}
        answer: Any = patiently(lambda: self._client.search(index=index, body=body))
        last = answer["aggregations"]["last"]["value"]
        return None if last is None else round(last)  # a float, in which microseconds until the year 2255 are exact

    def _recorded(self, of: Record, existing: Mapping[str, _Version], upload: Upload) -> Recorded | None:
        """When *of* was first seen; None where it was kept before that was, in no order."""
        if of.id in existing:
            return existing[of.id].recorded
        if of.recorded is not None:
            return of.recorded
        if upload.moment_us is None:
            upload.moment_us = next_moment(self.last_recorded())
        return 1, upload.moment_us

    def _write(
        self, new: Mapping[str, tuple[Record, list[KPIRecord]]], existing: Mapping[str, _Version], pushed: Pushed
    ) -> None:
        """Write runs that are new, or take the place of *existing* ones; count them in *pushed*.

        The payload comes last and only over the version that was seen: who is second finds that out.
        """
        refused = self._send(self._kpi(of, kpi) for of, kpis in new.values() for kpi in kpis)
        gone = [
            (run, name)
            for run, (_, kpis) in new.items()
            if run in existing and run not in refused
            for name in existing[run].kpis - {kpi.name for kpi in kpis}
        ]
        self._all(self._delete_kpi(run, name) for run, name in gone)
        refused |= self._send(
            documents.payload_action(self._place.index, of, existing[run].place if run in existing else None)
            for run, (of, _) in new.items()
            if run not in refused
        )
        for run in new:
            if run in refused:
                self._refused(new[run], *refused[run], pushed)
            elif run in existing:
                pushed.replaced += 1
            else:
                pushed.added += 1

    def _refused(self, of: tuple[Record, list[KPIRecord]], status: int, reason: str, pushed: Pushed) -> None:
        """A run whose payload was not taken: another process was faster, or the server can't hold it."""
        mine, kpis = of
        there = self.sources([mine.id], []).get(mine.id)
        if status == bulk.ALREADY_THERE and there is not None and there["matbench"]["digest"] == mine.digest:
            pushed.unchanged += 1
            return
        # Our KPIs are not those of the payload that is there, if there is one.
        self._all(self._delete_kpi(mine.id, kpi.name) for kpi in kpis)
        if there is not None:
            del there["matbench"]
            theirs = record(there)
            self._all(self._kpi(theirs, kpi) for kpi in theirs.kpis())
        if status == bulk.ALREADY_THERE:
            pushed.conflicts.append(Refused(mine.id, "another process wrote another content at the same time"))
        else:
            pushed.rejected.append(Refused(mine.id, reason))

    def _kpi(self, of: Record, kpi: KPIRecord) -> documents.Action:
        document = documents.kpi_document(of, kpi)
        return documents.action("index", self._place.kpi_index, documents.kpi_id(of.id, kpi.name), of.id, document)

    def _versions(self, ids: Sequence[str]) -> dict[str, _Version]:
        """What is known of those of *ids* that are there."""
        found = self._documents(ids, ["matbench.digest", "matbench.recorded_*", "kpis.*.unit"])
        is_in_order = bool(found) and indices.is_in_order(self._client, self._place.index)
        return {
            each["_id"]: _Version(
                each["_source"]["matbench"]["digest"],
                frozenset(each["_source"].get("kpis", {})),
                (each["_seq_no"], each["_primary_term"]),
                documents.recorded(each["_source"]["matbench"], each["_seq_no"] if is_in_order else None),
            )
            for each in found
        }

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

    def delete(self, ids: Sequence[str]) -> int:
        """Remove these runs, some hundred; how many there were. Payloads go last, so that it can be repeated."""
        sources = self.sources(ids, ["kpis"])
        names = [(run, name) for run, source in sources.items() for name in source["kpis"]]
        self._all(self._delete_kpi(run, name) for run, name in names)
        self._all(documents.action("delete", self._place.index, run, run) for run in sources)
        return len(sources)

    def refresh(self) -> None:
        """Make what was written visible to searches."""
        names = f"{self._place.index},{self._place.kpi_index}"
        patiently(lambda: self._client.indices.refresh(index=names))

    def sources(self, ids: Sequence[str], fields: Sequence[str]) -> dict[str, Any]:
        """The documents of those of *ids* that are there, by id, with these *fields* of them (all where empty)."""
        return {each["_id"]: each["_source"] for each in self._documents(ids, fields)}

    def _documents(self, ids: Sequence[str], fields: Sequence[str]) -> list[Any]:
        if not ids:
            return []
        params = {"_source_includes": ",".join(fields)} if fields else {}
        body = {"ids": list(dict.fromkeys(ids))}
        answer: Any = patiently(lambda: self._client.mget(body=body, index=self._place.index, params=params))
        return [each for each in answer["docs"] if each.get("found")]
