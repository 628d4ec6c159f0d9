"""What becomes of pushed records, decided once for all histories: which are new, there already, or take a place.

A record has its place by its id, or, where that is new, by its measurement: one run that was described wrongly, kept,
and described anew has another id where that follows from its settings. The kept run keeps its id.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from .errors import HistoryError
from .port import Corrected, Pushed, Refused, Row, batched, conflict
from .records import Record
from .rows import record_of
from .sameness import Difference, difference, identifies, may_be_corrected, renamed, said
from .twins import twin_of

CHUNK = 500
"""How many runs are looked up at once."""

LARGEST_WRITE_BYTES = 16_000_000
"""How much JSON is written at once."""

_DAMAGED: Mapping[str, Any] = {"metadata": {}, "kpis": {}}
"""What is known of a payload that was damaged: it can be replaced."""


class Lookup(Protocol):
    """What a plan asks of a history; see :class:`.port.Storage`."""

    def find(self, ids: Sequence[str], *, payload: bool) -> Iterable[Row]: ...

    def measured(self, measurements: Sequence[str]) -> Iterable[tuple[str, str]]: ...


class Kept(NamedTuple):
    """A run that is there, and what :class:`.port.Row` says of its version."""

    record: Record
    version: Any


@dataclasses.dataclass(slots=True)
class Upload:
    """One push, of several chunks.

    Attributes:
        replace, are_copies: see :meth:`.port.History.push`.
        seen: the digests that it has brought so far, by id.
        ids: all ids that it has brought so far.
        waiting: records of which another id may be kept, which the rest of the push has to show.
        moment_us: when its runs were first seen; None until there is a new one.
    """

    replace: bool = False
    are_copies: bool = False
    seen: dict[str, str] = dataclasses.field(default_factory=dict)
    ids: set[str] = dataclasses.field(default_factory=set)
    waiting: list[Record] = dataclasses.field(default_factory=list)
    moment_us: int | None = None


@dataclasses.dataclass(slots=True)
class Write:
    """A record to be written, as new or in the place of *over*.

    Attributes:
        record: it says when it was first seen, save for a new one.
        counted: the number of :class:`.Pushed` that it counts for.
        pushed_as: the id under which it came.
    """

    record: Record
    over: Kept | None
    counted: str
    pushed_as: str
    corrected: Corrected | None = None

    def count(self, pushed: Pushed) -> None:
        """Count it in, once it is written."""
        setattr(pushed, self.counted, getattr(pushed, self.counted) + 1)
        if self.corrected is not None:
            pushed.corrected.append(self.corrected)
        if self.over is None and (twin := twin_of(self.record)) is not None:
            pushed.new[self.record.id] = twin


@dataclasses.dataclass(slots=True)
class Plan:
    """What is to be written, and what became of the others."""

    writes: list[Write] = dataclasses.field(default_factory=list)
    pushed: Pushed = dataclasses.field(default_factory=Pushed)

    def foreseen(self) -> Pushed:
        """What becomes of all records if the writes succeed."""
        for write in self.writes:
            write.count(self.pushed)
        return self.pushed


def plan(chunk: Iterable[Record], upload: Upload, storage: Lookup) -> Plan:
    """What is to be done with *chunk*; what depends on the rest of the push goes to :attr:`Upload.waiting`."""
    made: Plan = Plan()
    first = [each for each in chunk if not _came_before(each, upload, made)]
    there = {row.id: row.digest for row in found([each.id for each in first], storage, payload=False)}
    others = [each for each in first if there.get(each.id, each.digest) != each.digest]
    kept = _kept([each.id for each in others], storage)
    measured = _measured([each for each in first if each.id not in there], storage)
    for each in first:
        if _came_before(each, upload, made):
            continue
        upload.ids.add(each.id)
        if each.id in kept:
            _place(each, each, kept[each.id], upload, made)
        elif there.get(each.id) == each.digest:
            made.pushed.unchanged += 1
            upload.seen[each.id] = each.digest
        elif each.measurement in measured:
            upload.waiting.append(each)
        else:
            _write(each, each, None, "added", upload, made)
    return made


def plan_waiting(upload: Upload, storage: Lookup) -> Plan:
    """What is to be done with the records that waited, at the end of the push."""
    made: Plan = Plan()
    waiting = upload.waiting
    measured = {name: set(ids) - upload.ids for name, ids in _measured(waiting, storage).items()}
    times = collections.Counter(of.measurement for of in {each.id: each for each in waiting}.values())
    kept = _kept([run for ids in measured.values() if len(ids) == 1 for run in ids], storage)
    for each in waiting:
        if _came_before(each, upload, made):
            continue
        candidates = [kept[run] for run in measured.get(each.measurement or "", ()) if run in kept]
        if len(candidates) == times[each.measurement] == 1 and may_be_corrected(candidates[0].record, each):
            _place(renamed(each, candidates[0].record.id), each, candidates[0], upload, made)
        else:
            _write(each, each, None, "added", upload, made)
    return made


def writable(records: Iterable[Record], at_once: int) -> Iterator[list[Record]]:
    """*records* in lists that are written at once, *at_once* at most."""
    chunk: list[Record] = []
    size = 0
    for each in records:
        chunk.append(each)
        size += each.size_bytes
        if len(chunk) == at_once or size >= LARGEST_WRITE_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def found(ids: Sequence[str], storage: Lookup, *, payload: bool) -> Iterator[Row]:
    """Those of *ids* that are there."""
    for some in batched(ids, CHUNK):
        yield from storage.find(some, payload=payload)


class Nothing:
    """A history that is not there yet."""

    def find(self, ids: Sequence[str], *, payload: bool) -> Iterable[Row]:
        return ()

    def measured(self, measurements: Sequence[str]) -> Iterable[tuple[str, str]]:
        return ()


def foresee(records: Iterable[Record], storage: Lookup, *, replace: bool) -> Pushed:
    """What a push of *records* would do."""
    pushed, upload = Pushed(), Upload(replace)
    for chunk in writable(records, CHUNK):
        pushed.add(plan(chunk, upload, storage).foreseen())
    pushed.add(plan_waiting(upload, storage).foreseen())
    return pushed


def _came_before(each: Record, upload: Upload, made: Plan) -> bool:
    """True if this push has brought a run of this id before, which is counted."""
    if each.id not in upload.seen:
        return False
    if upload.seen[each.id] == each.digest:
        made.pushed.unchanged += 1
    else:
        made.pushed.conflicts.append(Refused(each.id, conflict(within_a_push=True)))
    return True


def _place(each: Record, pushed_as: Record, kept: Kept, upload: Upload, made: Plan) -> None:
    """Decide about *each*, which has the id of *kept*, and was *pushed_as* this one."""
    what = difference(kept.record, each, is_copy=upload.are_copies)
    if each.digest == kept.record.digest or (what is Difference.NOTHING and each.measurement is None):
        made.pushed.unchanged += 1
        upload.seen[pushed_as.id] = pushed_as.digest
    elif what is Difference.NOTHING:  # of before, when a payload didn't say what was measured
        _write(each, pushed_as, kept, "unchanged", upload, made)
    elif what is Difference.COMPUTED:
        _write(each, pushed_as, kept, "recomputed", upload, made)
    elif not upload.replace:
        made.pushed.conflicts.append(_refused(what, kept.record, each, pushed_as.id))
    else:
        is_correction = what is Difference.DESCRIPTION
        corrected = Corrected(each.id, pushed_as.id, said(kept.record, each)) if is_correction else None
        _write(each, pushed_as, kept, "replaced", upload, made, corrected)


def _write(
    each: Record,
    pushed_as: Record,
    over: Kept | None,
    counted: str,
    upload: Upload,
    made: Plan,
    corrected: Corrected | None = None,
) -> None:
    """Plan to write *each*, unless a KPI of it can't be kept."""
    try:
        each.check_kpis()
    except HistoryError as error:
        made.pushed.rejected.append(Refused(pushed_as.id, str(error)))
        return
    recorded = each.recorded if over is None else over.record.recorded
    of = dataclasses.replace(each, recorded=recorded)
    made.writes.append(Write(of, over, counted, pushed_as.id, corrected))
    upload.seen[pushed_as.id] = pushed_as.digest


def _refused(what: Difference, kept: Record, new: Record, pushed_as: str) -> Refused:
    where = f"the same measurement is kept{'' if kept.id == pushed_as else f' as {kept.id}'}"
    if what is Difference.DESCRIPTION:
        return Refused(pushed_as, f"{where} with {said(kept, new)}: `replace` corrects it", is_same_measurement=True)
    if what is Difference.COMPUTED_BEFORE:
        reason = f"{where} with other computations, which may be newer: `replace` goes back"
        return Refused(pushed_as, reason, is_same_measurement=True)
    return Refused(pushed_as, conflict(within_a_push=False))


def _kept(ids: Sequence[str], storage: Lookup) -> Mapping[str, Kept]:
    return {row.id: Kept(record_of(row, damaged_as=_DAMAGED), row.version) for row in found(ids, storage, payload=True)}


def _measured(records: Iterable[Record], storage: Lookup) -> Mapping[str, Sequence[str]]:
    """The ids of the runs that are there, by the measurement that they share with some of *records*."""
    wanted = {each.measurement or "" for each in records if identifies(each.measurement)}
    found: dict[str, list[str]] = {}
    for measurement, run in storage.measured(sorted(wanted)) if wanted else ():
        found.setdefault(measurement, []).append(run)
    return found
