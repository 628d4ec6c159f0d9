"""What becomes of pushed records, decided once for both histories: which are new, there already, or take a place.

A record has its place by its id, or, where that is new, by its measurement: one run that was described wrongly, kept,
and described anew has another id where that follows from its settings. The kept run keeps its id.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from .errors import HistoryError
from .port import Corrected, Pushed, Refused, conflict
from .records import KPIRecord, Record
from .sameness import Difference, difference, identifies, may_be_corrected, renamed, said
from .twins import twin_of

CHUNK = 500
H = TypeVar("H")


@dataclasses.dataclass(frozen=True, slots=True)
class Kept(Generic[H]):
    """A run that is there, and how its history finds it again."""

    record: Record
    handle: H


class Lookup(Protocol[H]):
    """What a plan asks of a history."""

    def digests(self, ids: Sequence[str]) -> Mapping[str, str]:
        """The digests of those of *ids* that are there."""

    def kept(self, ids: Sequence[str]) -> Mapping[str, Kept[H]]:
        """Those of *ids* that are there."""

    def measured(self, measurements: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """The ids of the runs of each of *measurements* of which there are any."""


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
class Write(Generic[H]):
    """A record to be written, as new or in the place of *over*.

    Attributes:
        record: it says when it was first seen, save for a new one.
        counted: the number of :class:`.Pushed` that it counts for.
        pushed_as: the id under which it came.
    """

    record: Record
    kpis: Sequence[KPIRecord]
    over: Kept[H] | None
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
class Plan(Generic[H]):
    """What is to be written, what is there as it is, and what became of the others."""

    writes: list[Write[H]] = dataclasses.field(default_factory=list)
    same: list[Record] = dataclasses.field(default_factory=list)
    pushed: Pushed = dataclasses.field(default_factory=Pushed)

    def foreseen(self) -> Pushed:
        """What becomes of all records if the writes succeed."""
        for write in self.writes:
            write.count(self.pushed)
        return self.pushed


def plan(chunk: Iterable[Record], upload: Upload, lookup: Lookup[H]) -> Plan[H]:
    """What is to be done with *chunk*; what depends on the rest of the push goes to :attr:`Upload.waiting`."""
    made: Plan[H] = Plan()
    first = [each for each in chunk if not _came_before(each, upload, made)]
    there = lookup.digests([each.id for each in first])
    others = [each for each in first if there.get(each.id, each.digest) != each.digest]
    kept = lookup.kept([each.id for each in others])
    measured = _measured([each for each in first if each.id not in there], lookup)
    for each in first:
        if _came_before(each, upload, made):
            continue
        upload.ids.add(each.id)
        if each.id in kept:
            _place(each, each, kept[each.id], upload, made)
        elif there.get(each.id) == each.digest:
            made.pushed.unchanged += 1
            made.same.append(each)
            upload.seen[each.id] = each.digest
        elif each.measurement in measured:
            upload.waiting.append(each)
        else:
            _write(each, each, None, "added", upload, made)
    return made


def plan_waiting(upload: Upload, lookup: Lookup[H]) -> Plan[H]:
    """What is to be done with the records that waited, at the end of the push."""
    made: Plan[H] = Plan()
    waiting = upload.waiting
    measured = {name: set(ids) - upload.ids for name, ids in _measured(waiting, lookup).items()}
    times = collections.Counter(of.measurement for of in {each.id: each for each in waiting}.values())
    kept = lookup.kept([run for ids in measured.values() if len(ids) == 1 for run in ids])
    for each in waiting:
        if _came_before(each, upload, made):
            continue
        candidates = [kept[run] for run in measured.get(each.measurement or "", ()) if run in kept]
        if len(candidates) == times[each.measurement] == 1 and may_be_corrected(candidates[0].record, each):
            _place(renamed(each, candidates[0].record.id), each, candidates[0], upload, made)
        else:
            _write(each, each, None, "added", upload, made)
    return made


class Nothing:
    """The lookup of a history that is not there yet."""

    def digests(self, ids: Sequence[str]) -> Mapping[str, str]:
        return {}

    def kept(self, ids: Sequence[str]) -> Mapping[str, Kept[None]]:
        return {}

    def measured(self, measurements: Sequence[str]) -> Mapping[str, Sequence[str]]:
        return {}


def foresee(records: Iterable[Record], lookup: Lookup[H], *, replace: bool) -> Pushed:
    """What a push of *records* would do."""
    pushed, upload, iterator = Pushed(), Upload(replace), iter(records)
    while chunk := list(itertools.islice(iterator, CHUNK)):
        pushed.add(plan(chunk, upload, lookup).foreseen())
    pushed.add(plan_waiting(upload, lookup).foreseen())
    return pushed


def _came_before(each: Record, upload: Upload, made: Plan[H]) -> bool:
    """True if this push has brought a run of this id before, which is counted."""
    if each.id not in upload.seen:
        return False
    if upload.seen[each.id] == each.digest:
        made.pushed.unchanged += 1
    else:
        made.pushed.conflicts.append(Refused(each.id, conflict(within_a_push=True)))
    return True


def _place(each: Record, pushed_as: Record, kept: Kept[H], upload: Upload, made: Plan[H]) -> None:
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
    over: Kept[H] | None,
    counted: str,
    upload: Upload,
    made: Plan[H],
    corrected: Corrected | None = None,
) -> None:
    """Plan to write *each*, unless a KPI of it can't be kept."""
    try:
        kpis = list(each.kpis())
    except HistoryError as error:
        made.pushed.rejected.append(Refused(pushed_as.id, str(error)))
        return
    recorded = each.recorded if over is None else over.record.recorded
    of = dataclasses.replace(each, recorded=recorded)
    made.writes.append(Write(of, kpis, over, counted, pushed_as.id, corrected))
    upload.seen[pushed_as.id] = pushed_as.digest


def _refused(what: Difference, kept: Record, new: Record, pushed_as: str) -> Refused:
    where = f"the same measurement is kept{'' if kept.id == pushed_as else f' as {kept.id}'}"
    if what is Difference.DESCRIPTION:
        return Refused(pushed_as, f"{where} with {said(kept, new)}: --replace corrects it", is_same_measurement=True)
    if what is Difference.COMPUTED_BEFORE:
        reason = f"{where} with other computations, which may be newer: --replace goes back"
        return Refused(pushed_as, reason, is_same_measurement=True)
    return Refused(pushed_as, conflict(within_a_push=False))


def _measured(records: Iterable[Record], lookup: Lookup[H]) -> Mapping[str, Sequence[str]]:
    wanted = {each.measurement or "" for each in records if identifies(each.measurement)}
    return lookup.measured(sorted(wanted)) if wanted else {}
