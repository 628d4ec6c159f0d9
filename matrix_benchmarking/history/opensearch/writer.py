"""Writing to an OpenSearch history: runs some hundred at a time, whole in spite of there being no transactions.

First a run's KPIs, whose ids follow from the run, then its payload, which says that the run is there. What was
interrupted in between is written again by the next push.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import HistoryError, UnavailableError
from ..location import OpenSearchLocation
from ..plan import Plan, Upload, Write
from ..port import Pushed, Refused
from ..records import KPIRecord, Record, next_moment, record
from . import bulk, documents
from .client import BUSY, reading, refresh
from .lookup import MULTI_GET, OpenSearchLookup, Version

if TYPE_CHECKING:
    import opensearchpy


class Writer:
    """Writes to the indices of *place*; every method raises the library's errors, and UnavailableError."""

    def __init__(self, client: opensearchpy.OpenSearch, place: OpenSearchLocation) -> None:
        self._client = client
        self._place = place
        self.lookup = OpenSearchLookup(client, place)

    def carry_out(self, made: Plan[Version], upload: Upload) -> Pushed:
        """Do what was planned for some hundred records of *upload*.

        Where contents may be replaced, the KPIs of what is there already are written again, too: that repairs an index
        of KPIs.
        """
        again = made.same if upload.replace else []
        self._all(self._kpi(of, kpi) for of in again for kpi in of.kpis())
        for write in made.writes:
            if write.over is None and write.record.recorded is None:
                if upload.moment_us is None:
                    upload.moment_us = next_moment(self.lookup.last_recorded())
                write.record = dataclasses.replace(write.record, recorded=(1, upload.moment_us))
        self._write({write.record.id: write for write in made.writes}, made.pushed)
        return made.pushed

    def _write(self, writes: Mapping[str, Write[Version]], pushed: Pushed) -> None:
        """Write runs that are new, or take the place of others; count them in *pushed*.

        The payload comes last and only over the version that was seen: who is second finds that out.
        """
        refused = self._send(self._kpi(write.record, kpi) for write in writes.values() for kpi in write.kpis)
        gone = [
            (run, name)
            for run, write in writes.items()
            if write.over is not None and run not in refused
            for name in write.over.handle.kpis - {kpi.name for kpi in write.kpis}
        ]
        self._all(self._delete_kpi(run, name) for run, name in gone)
        refused |= self._send(
            documents.payload_action(
                self._place.index, write.record, None if write.over is None else write.over.handle.place
            )
            for run, write in writes.items()
            if run not in refused
        )
        for run, write in writes.items():
            if run in refused:
                self._refused(write, *refused[run], pushed)
            else:
                write.count(pushed)

    def _refused(self, write: Write[Version], status: int, reason: str, pushed: Pushed) -> None:
        """A run whose payload was not taken: another process was faster, or the server can't hold it."""
        mine = write.record
        there = self.lookup.sources([mine.id], []).get(mine.id)
        with reading(MULTI_GET):
            is_same = there is not None and there["matbench"]["digest"] == mine.digest
        if status == bulk.ALREADY_THERE and is_same:
            pushed.unchanged += 1
            return
        # Our KPIs are not those of the payload that is there, if there is one.
        self._all(self._delete_kpi(mine.id, kpi.name) for kpi in write.kpis)
        if there is not None:
            del there["matbench"]
            theirs = record(there)
            self._all(self._kpi(theirs, kpi) for kpi in theirs.kpis())
        if status == bulk.ALREADY_THERE:
            said = "another process wrote another content at the same time"
            pushed.conflicts.append(Refused(write.pushed_as, said))
        else:
            pushed.rejected.append(Refused(write.pushed_as, reason))

    def _kpi(self, of: Record, kpi: KPIRecord) -> documents.Action:
        document = documents.kpi_document(of, kpi)
        return documents.action("index", self._place.kpi_index, documents.kpi_id(of.id, kpi.name), of.id, document)

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
        sources = self.lookup.sources(ids, ["kpis"])
        names = [(run, name) for run, source in sources.items() for name in source.get("kpis") or {}]
        self._all(self._delete_kpi(run, name) for run, name in names)
        self._all(documents.action("delete", self._place.index, run, run) for run in sources)
        return len(sources)

    def refresh(self) -> None:
        """Make what was written visible to searches."""
        refresh(self._client, f"{self._place.index},{self._place.kpi_index}")
