"""What becomes of pushed records, decided once for all histories: which are new, there already, or take a place.

A record has its place by its id, or, where that is new, by its measurement: the kept run keeps its id.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from ..errors import HistoryError
from ..grouped import grouped
from ..jsonable import Document
from ..lts.read import Head, head_of
from .port import Query, Storage, batched
from .records import KeptRun, Record, Row, Version, digest, record_of, runs_of
from .sameness import (
    Difference,
    agree,
    cells_of,
    difference,
    identifies,
    may_be_corrected,
    measured_in_row,
    renamed,
    said,
)

CHUNK = 500
"""How many runs are looked up at once."""

LARGEST_WRITE_BYTES = 16_000_000
"""How much JSON is written at once."""

_DAMAGED: Document = {"metadata": {}, "kpis": {}}
"""What is known of a payload that was damaged: it can be replaced."""

Twin = tuple[str, int, str]
"""What runs have in common of which one may be a changed copy: workload, time, digest of settings and repeat."""


class Refused(msgspec.Struct, frozen=True):
    """A record that was not kept, and why: perhaps since the same measurement is kept, otherwise described."""

    id: str
    reason: str
    is_same_measurement: bool = False


class Corrected(msgspec.Struct, frozen=True):
    """A run whose description, *what*, was replaced; it keeps its *id*, whatever the correction was *pushed_as*."""

    id: str
    pushed_as: str
    what: str


@dataclasses.dataclass(slots=True)
class Pushed:
    """What became of pushed records.

    Attributes:
        same_rows: rows of a table that are kept, but for cells of columns that no option names; they stay as they are.
        recomputed: of the same measurement, with older computations, which were replaced.
        replaced: of other content, which was replaced.
        corrected: those of the replaced ones of which only the description was another one.
        conflicts: of other content, which was left as it is.
        rejected: those that the history can't hold.
        new: of those that were added the id, and by what a twin is known; see :func:`twins`.
    """

    added: int = 0
    unchanged: int = 0
    same_rows: int = 0
    recomputed: int = 0
    replaced: int = 0
    corrected: list[Corrected] = dataclasses.field(default_factory=list)
    conflicts: list[Refused] = dataclasses.field(default_factory=list)
    rejected: list[Refused] = dataclasses.field(default_factory=list)
    new: list[tuple[str, Twin]] = dataclasses.field(default_factory=list, compare=False)

    def __repr__(self) -> str:
        """Short: an upload of many runs has a long list of new ones."""
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "new"}
        counts = {name: len(value) if isinstance(value, list) else value for name, value in fields.items()}
        said = ", ".join(f"{name}={count}" for name, count in counts.items() if count)
        return f"<{type(self).__name__} {said or 'nothing'}>"

    def add(self, other: Pushed) -> None:
        """Count *other* in."""
        for field in dataclasses.fields(self):
            ours, theirs = getattr(self, field.name), getattr(other, field.name)
            if isinstance(ours, list):
                ours.extend(theirs)  # in place: what is there isn't copied for each chunk
            else:
                setattr(self, field.name, ours + theirs)


@dataclasses.dataclass(slots=True)
class Write:
    """A record to be written, as new or in the place of what is there at *version*; *counted* is as in a Pushed."""

    record: Record
    pushed_as: str
    counted: str = "added"
    version: Version | None = None
    corrected: Corrected | None = None

    def count(self, pushed: Pushed) -> None:
        setattr(pushed, self.counted, getattr(pushed, self.counted) + 1)
        if self.corrected is not None:
            pushed.corrected.append(self.corrected)
        if self.counted == "added" and (twin := twin_of(self.record)) is not None:
            pushed.new.append((self.record.id, twin))


class Upload:
    """One push into *storage*, of several chunks; *replace* and *are_copies* as in :meth:`.history.History.push`.

    Attributes:
        waiting: records of which another id may be kept, which the rest of the push has to show.
        moment_us: when its runs were first seen; None until there is a new one.
    """

    def __init__(self, storage: Storage | None, *, replace: bool = False, are_copies: bool = False) -> None:
        self.pushed = Pushed()
        self.waiting: list[Record] = []
        self.moment_us: int | None = None
        self._storage, self._replace, self._are_copies = storage, replace, are_copies
        self._seen: dict[str, str] = {}  # the digests that it has brought so far, by id
        self._ids: set[str] = set()
        self._rows: dict[str, dict[str, list[str]]] = {}  # by workload and gist the ids of the runs that were kept

    def plan(self, chunk: Iterable[Record]) -> Iterator[Write]:
        """What of *chunk* is to be written; what depends on the rest of the push goes to :attr:`waiting`."""
        first = [each for each in chunk if not self._came_before(each)]
        there = {row.id: row.digest for row in found([each.id for each in first], self._storage, payload=False)}
        kept = self._kept([each.id for each in first if there.get(each.id, each.digest) != each.digest])
        measured = self._measured([each for each in first if each.id not in there])
        for each in first:
            if self._came_before(each):
                continue
            self._ids.add(each.id)
            if each.id in kept:
                yield from self._place(each, each, kept[each.id])
            elif there.get(each.id) == each.digest:
                self.pushed.unchanged += 1
                self._seen[each.id] = each.digest
            elif each.measurement in measured or self._alike(each):
                self.waiting.append(each)
            else:
                yield from self._write(each, Write(each, each.id))

    def plan_waiting(self) -> Iterator[Write]:
        """What of the records that waited is to be written, at the end of the push."""
        measured = {name: set(ids) - self._ids for name, ids in self._measured(self.waiting).items()}
        times = collections.Counter(of.measurement for of in {each.id: each for each in self.waiting}.values())
        kept = self._kept([run for ids in measured.values() if len(ids) == 1 for run in ids])
        alike = {run for each in self.waiting for run in self._alike(each)} - self._ids
        rows = {run: measured_in_row(of) for run, (of, _) in self._kept(sorted(alike)).items()}
        for each in self.waiting:
            if self._came_before(each):
                continue
            candidates = [kept[run] for run in measured.get(each.measurement or "", ()) if run in kept]
            if len(candidates) == times[each.measurement] == 1 and may_be_corrected(candidates[0][0], each):
                yield from self._place(renamed(each, candidates[0][0].id), each, candidates[0])
            elif (row := self._same_row(each, rows)) is not None:
                del rows[row]  # it is one run only
                self.pushed.same_rows += 1
                self._seen[each.id] = each.digest
            else:
                yield from self._write(each, Write(each, each.id))

    def _same_row(self, each: Record, rows: Mapping[str, tuple[Document, str]]) -> str | None:
        """The id of that of *rows* which is *each*, but for cells of columns that no option names."""
        cells, rest = measured_in_row(each)
        same = (run for run in self._alike(each) if run in rows and rows[run][1] == rest and agree(rows[run][0], cells))
        return next(same, None)

    def _alike(self, each: Record) -> Sequence[str]:
        """The runs, kept before, of which one may be the row of a table that *each* is."""
        if self._storage is None or cells_of(each.payload.get("results")) is None:
            return ()
        if each.workload not in self._rows:
            self._rows[each.workload] = grouped(_gists(self._storage.select(each.workload, None)))
        return self._rows[each.workload].get(_gist(each.time_us, head_of(each.payload)), ())

    def _came_before(self, each: Record) -> bool:
        """True if this push has brought a run of this id before, which is counted."""
        if each.id not in self._seen:
            return False
        if self._seen[each.id] == each.digest:
            self.pushed.unchanged += 1
        else:
            reason = "it came twice in this upload, with different contents"
            self.pushed.conflicts.append(Refused(each.id, reason))
        return True

    def _place(self, each: Record, pushed_as: Record, there: tuple[Record, Version | None]) -> Iterator[Write]:
        """Decide about *each*, which has the id of what is *there*, and was *pushed_as* this one."""
        kept, version = there
        what = difference(kept, each, is_copy=self._are_copies)
        over = Write(msgspec.structs.replace(each, recorded=kept.recorded), pushed_as.id, version=version)
        if each.digest == kept.digest or (what is Difference.NOTHING and each.measurement is None):
            self.pushed.unchanged += 1
            self._seen[pushed_as.id] = pushed_as.digest
            return
        if what is Difference.NOTHING:  # of before, when a payload didn't say what was measured
            over.counted = "unchanged"
        elif what is Difference.COMPUTED:
            over.counted = "recomputed"
        elif self._replace:
            over.counted = "replaced"
            if what is Difference.DESCRIPTION:
                over.corrected = Corrected(each.id, pushed_as.id, said(kept, each))
        else:
            self.pushed.conflicts.append(_refused(what, kept, each, pushed_as.id))
            return
        yield from self._write(pushed_as, over)

    def _write(self, pushed_as: Record, planned: Write) -> Iterator[Write]:
        """What is *planned*, unless a KPI of it can't be kept."""
        try:
            planned.record.check_kpis()
        except HistoryError as error:
            self.pushed.rejected.append(Refused(pushed_as.id, str(error)))
            return
        self._seen[pushed_as.id] = pushed_as.digest
        yield planned

    def _kept(self, ids: Sequence[str]) -> Mapping[str, tuple[Record, Version | None]]:
        """By id those that are there, and their versions."""
        rows = found(ids, self._storage, payload=True)
        return {row.id: (record_of(row, damaged_as=_DAMAGED), row.version) for row in rows}

    def _measured(self, records: Iterable[Record]) -> Mapping[str, Sequence[str]]:
        """The ids of the runs that are there, by the measurement that they share with some of *records*."""
        wanted = {each.measurement or "" for each in records if identifies(each.measurement)}
        return grouped(self._storage.measured(sorted(wanted))) if wanted and self._storage is not None else {}


def _gists(rows: Iterable[Row]) -> Iterator[tuple[str, str]]:
    """The gist and the id of each run that isn't damaged."""
    for row in rows:
        with contextlib.suppress(HistoryError):
            (run,) = runs_of([row], {})
            yield _gist(run.time_us, run.head), run.id


def _gist(time_us: int | None, head: Head) -> str:
    return digest([time_us, head.settings, head.exit_code, head.values])


def foresee(records: Iterable[Record], storage: Storage | None, *, replace: bool) -> Pushed:
    """What a push of *records* would do; None is a history that is not there yet."""
    upload = Upload(storage, replace=replace)
    planned = (write for chunk in writable(records, CHUNK) for write in upload.plan(chunk))
    for write in itertools.chain(planned, upload.plan_waiting()):
        write.count(upload.pushed)
    return upload.pushed


def writable(records: Iterable[Record], at_once: int) -> Iterator[list[Record]]:
    """*records* in lists that are written at once, *at_once* at most."""
    return batched(records, at_once, lambda each: each.size_bytes, LARGEST_WRITE_BYTES)


def found(ids: Sequence[str], storage: Storage | None, *, payload: bool) -> Iterator[Row]:
    """Those of *ids* that are there."""
    if storage is not None:
        for some in batched(ids, CHUNK):
            yield from storage.find(some, payload=payload)


def twin_of(of: Record | KeptRun) -> Twin | None:
    """What twins of a run have in common with it; None for a run that failed, or whose time is unknown."""
    head = of.head if isinstance(of, KeptRun) else head_of(of.payload)
    if of.time_us is None or head.exit_code not in (0, None):
        return None
    return of.workload, of.time_us, digest([of.settings, head.repeat or 0])


def twins(runs: Callable[[Query], Iterable[KeptRun]], new: Mapping[str, Twin]) -> list[str]:
    """The ids of the *new* runs that have a twin among them or among the *runs* of a history, and of those twins.

    Twins have the same settings, repeat and time: one was changed after it was kept, and has another id for that.
    """
    same = grouped((twin, run) for run, twin in new.items())
    times = {time_us for _, time_us, _ in same}
    for kept in runs(Query(since_us=min(times, default=None))):
        if kept.time_us in times and kept.id not in new and (twin_of_it := twin_of(kept)) is not None:
            same.get(twin_of_it, []).append(kept.id)
    return [run for ids in same.values() if len(ids) > 1 for run in ids]


def _refused(what: Difference, kept: Record, new: Record, pushed_as: str) -> Refused:
    if kept.workload != new.workload:
        other = f"a history keeps a run for one workload, and has it for '{kept.workload}'"
        reason = f"{other}: give '{new.workload}' a history of its own (`replace` takes the run from '{kept.workload}')"
        return Refused(pushed_as, reason, is_same_measurement=True)
    where = f"the same measurement is kept{'' if kept.id == pushed_as else f' as {kept.id}'}"
    if what is Difference.DESCRIPTION:
        return Refused(pushed_as, f"{where} with {said(kept, new)}: `replace` corrects it", is_same_measurement=True)
    if what is Difference.COMPUTED_BEFORE:
        reason = f"{where} with other computations, which may be newer: `replace` goes back"
        return Refused(pushed_as, reason, is_same_measurement=True)
    return Refused(pushed_as, "another content is kept under this id")
