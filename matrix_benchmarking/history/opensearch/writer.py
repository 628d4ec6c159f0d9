"""Writing to an OpenSearch history: runs some hundred at a time, whole in spite of there being no transactions.

First a run's KPIs, whose ids follow from the run, then its payload, which says that the run is there. What was
interrupted in between is written again by the next push.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import HistoryError, UnavailableError
from ..location import OpenSearchLocation
from ..port import Pushed, Refused
from ..records import KPIRecord, Record, record
from . import bulk, documents
from .client import BUSY, patiently

if TYPE_CHECKING:
    import opensearchpy


class Writer:
    """Writes to the indices of *place*; every method raises the library's errors, and UnavailableError."""

    def __init__(self, client: opensearchpy.OpenSearch, place: OpenSearchLocation) -> None:
        self._client = client
        self._place = place

    def push(self, chunk: Sequence[Record], *, replace: bool) -> Pushed:
        """Keep *chunk*, some hundred records."""
        pushed = Pushed()
        existing = self.sources([each.id for each in chunk], ["matbench.digest", "kpis.*.unit"])
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
        there = self.sources([mine.id], []).get(mine.id)
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
        if not ids:
            return {}
        unique = list(dict.fromkeys(ids))
        params = {"_source_includes": ",".join(fields)} if fields else {}
        body = {"ids": unique}
        answer: Any = patiently(lambda: self._client.mget(body=body, index=self._place.index, params=params))
        return {each["_id"]: each["_source"] for each in answer["docs"] if each.get("found")}


def _conflict(run: str) -> Refused:
    return Refused(run, "another content is kept under this id")
