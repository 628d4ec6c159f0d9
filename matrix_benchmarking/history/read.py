"""A matrix out of a history: entries with settings and KPIs, without a test directory; payloads are read on demand."""

from __future__ import annotations

import dataclasses
import os
import threading
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from .. import plausible
from ..errors import HistoryError
from ..grouped import grouped
from ..jsonable import to_jsonable
from ..lts.read import (
    NO_PAYLOAD,
    Doubts,
    Others,
    doubts_of,
    entry_of,
    lts_in,
    no_payload,
    others_of,
    results_in,
)
from ..matrix import Entry, Matrix
from ..workload import Workload
from . import open_history
from .location import Location
from .port import Query
from .records import KeptRun, Record, digest, moment
from .sameness import agree, cells_of, identifies

CHUNK = 500
NOWHERE = Path(os.devnull, "history")
"""There is nothing on any machine, so what asks for an artifact of such an entry finds none."""


def read_matrix(workload: Workload, location: Location) -> Matrix:
    """The runs of *workload* in the history at *location*, in the reverse of the order of :meth:`.History.runs`.

    The history is closed when this returns, and opened again where a payload is asked for.
    """
    with open_history(location, writable=False) as history:
        runs = list(history.runs(Query(workload.name)))
    runs.reverse()
    payloads = _Payloads(location, [run.id for run in runs])
    entries: list[Entry] = []
    notes: list[str] = []
    said: dict[int, tuple[list[str], Others]] = {}
    kept_in = str(location)
    for run in runs:
        if (known := said.get(id(run.kpis))) is None:  # they live as long as the runs that share them
            names = [kpi.name for kpi in run.kpis]
            known = said[id(run.kpis)] = names, others_of(workload, run.kpis)
        kept = _Kept(workload, run, payloads)
        try:
            entry = entry_of(
                run.head,
                known[0],
                run.time_us,
                known[1],
                name=run.id,
                location=NOWHERE,
                test_uuid=run.id,
                measurement=run.measurement,
                recorded=run.recorded,
                kept_in=kept_in,
                load_results=kept.results,
                load_lts=kept.lts,
                **{name: _Doubt(kept, name) for name in Doubts._fields},
            )
        except NO_PAYLOAD as error:
            notes.append(no_payload(run.id, error))
            continue
        entries.append(entry)
    return Matrix(entries, notes=notes)


def require_matrix(workload: Workload, location: Location) -> Matrix:
    """As :func:`read_matrix`; raises HistoryError where the history has no run of *workload*."""
    matrix = read_matrix(workload, location)
    if not len(matrix):
        said = "".join(f"\n  {note}" for note in matrix.notes[:5])
        raise HistoryError(f"there is no run of workload '{workload.name}' in {location}{said}")
    return matrix


def with_past(matrix: Matrix, past: Matrix) -> Matrix:
    """All known runs: those of *past* and, as the newest, those of *matrix*.

    Of a run in both, by its id or its measurement, the entry of *matrix* is taken, with the id under which it is kept.
    So it is of a table's row in both, which may have cells in one that no option names.
    """
    current = {entry.test_uuid: entry for entry in matrix}
    measured = {entry.measurement: entry for entry in matrix if identifies(entry.measurement)}
    kept, known = [], dict[int, Entry]()
    ids = {entry.test_uuid for entry in past}
    rows = grouped((_gist(each), each) for each in matrix if each.part is not None and each.test_uuid not in ids)
    for entry in past:
        same = current.get(entry.test_uuid)
        if same is None and (described := measured.get(entry.measurement)) is not None:
            # Runs that took place at different times are repeats, however equal their artifacts.
            is_same_time = len({entry.time_us, described.time_us} - {None}) < 2
            same = described if id(described) not in known and is_same_time else None
        if same is None and rows and (alike := [each for each in rows.get(_gist(entry), ()) if id(each) not in known]):
            same = next((each for each in alike if _is_one_row(entry, each)), None)
        if same is None:
            kept.append(entry)
        else:
            known[id(same)] = dataclasses.replace(same, test_uuid=entry.test_uuid, recorded=entry.recorded)
    merged = [*kept, *(known.get(id(entry), entry) for entry in matrix)]
    return Matrix(merged, unfinished=matrix.unfinished, notes=past.notes)


def _gist(entry: Entry) -> str:
    return digest([entry.settings, entry.time_us, entry.exit_code, dict(entry.kpis)])


def _is_one_row(entry: Entry, other: Entry) -> bool:
    results, others = to_jsonable(entry.results), to_jsonable(other.results)
    cells, of_other = cells_of(results), cells_of(others)
    return cells is not None and of_other is not None and agree(cells, of_other)


class _Kept:
    """The payload of one run in a history; what speaks against it is found once."""

    __slots__ = ("_doubts", "_payloads", "_run", "_workload")

    def __init__(self, workload: Workload, run: KeptRun, payloads: _Payloads) -> None:
        self._workload, self._run, self._payloads = workload, run, payloads
        self._doubts: Doubts | None = None

    def lts(self) -> types.SimpleNamespace:
        return lts_in(self._workload, self._content())

    def results(self) -> types.SimpleNamespace:
        return results_in(self._workload, self._content())

    def doubts(self, name: str) -> Sequence[object]:
        if name in ("implausible", "harmless") and self._workload.implausible is None and self._are_times_plausible():
            return ()
        if self._doubts is None:
            self._doubts = doubts_of(self._workload, self._content())
        found: Sequence[object] = getattr(self._doubts, name)
        return found

    def _are_times_plausible(self) -> bool:
        """True if nothing is wrong with what the run's row says of its times: then nothing is in its payload."""
        try:
            span = self._run.head.start, None if self._run.time_us is None else moment(self._run.time_us)
            return not (plausible.times(*span) or plausible.of_a_wrong_clock(*span))
        except (OverflowError, TypeError):  # somebody edited it
            return False

    def _content(self) -> bytes:
        found = self._payloads.record(self._run.id)
        if found is None or found.digest != self._run.digest:
            what = "is not there any more" if found is None else "was changed meanwhile"
            raise HistoryError(f"run {self._run.id} of {self._payloads.location} {what}: read the history again")
        return msgspec.json.encode(found.payload)


class _Doubt(Sequence[Any]):
    """One field of :class:`.lts.read.Doubts`, for which the payload is read when somebody looks at it."""

    __slots__ = ("_kept", "_name")

    def __init__(self, kept: _Kept, name: str) -> None:
        self._kept, self._name = kept, name

    def __getitem__(self, place: Any) -> Any:
        return self._kept.doubts(self._name)[place]

    def __len__(self) -> int:
        return len(self._kept.doubts(self._name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


class _Payloads:
    """The payloads of the runs *ids* of a history: one, or some hundred where one after the other is asked for."""

    def __init__(self, location: Location, ids: Sequence[str]) -> None:
        self.location = location
        self._ids = ids
        self._places = {run: place for place, run in enumerate(ids)}
        self._next, self._held = 0, dict[str, Record]()
        self._lock = threading.Lock()

    def record(self, run: str) -> Record | None:
        """The run with its payload; None where it is gone."""
        with self._lock:
            place = self._places[run]
            if run not in self._held:
                count = CHUNK if place == self._next else 1
                with open_history(self.location, writable=False) as history:
                    wanted = self._ids[place : place + count]
                    self._held = {each.id: each for each in history.records_of(wanted)}
            self._next = place + 1
            return self._held.get(run)
