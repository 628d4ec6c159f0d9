"""The port of a history: what goes in and comes out, and what an engine has to do for it, which is little.

There are three real engines, :mod:`.sqlite`, :mod:`.postgresql` and :mod:`.opensearch`; the same tests run on all.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from .. import filters
from ..filters import Filters
from ..lts.heads import Head, KPIs
from .records import Recorded

T = TypeVar("T")

Progress = Callable[[int], None]
"""Called with the number of records that are dealt with so far."""

Twin = tuple[str, int, str]
"""What runs have in common of which one may be a changed copy: workload, time, digest of settings and repeat."""


@dataclasses.dataclass(frozen=True, slots=True)
class Refused:
    """A record that was not kept, and why: perhaps since the same measurement is kept, otherwise described."""

    id: str
    reason: str
    is_same_measurement: bool = False


def conflict(within_a_push: bool) -> str:
    """The reason of a conflict: with what was kept before, or within one push."""
    if within_a_push:
        return "it came twice in this upload, with different contents"
    return "another content is kept under this id"


@dataclasses.dataclass(frozen=True, slots=True)
class Corrected:
    """A run whose description was replaced.

    Attributes:
        id: of the run, which it keeps.
        pushed_as: the id under which the correction came.
        what: how it was described where the correction says otherwise.
    """

    id: str
    pushed_as: str
    what: str


@dataclasses.dataclass(slots=True)
class Pushed:
    """What became of pushed records.

    Attributes:
        added: new ones.
        unchanged: those that were there with the same content.
        recomputed: those that were there, of the same measurement, with older computations, which were replaced.
        replaced: those that were there with other content, which was replaced.
        corrected: those of the replaced ones of which only the description was another one.
        conflicts: those that are there with other content, which was left as it is.
        rejected: those that the history can't hold.
        new: of the ids of those that were added, by which a twin is known; see :mod:`.twins`.
    """

    added: int = 0
    unchanged: int = 0
    recomputed: int = 0
    replaced: int = 0
    corrected: list[Corrected] = dataclasses.field(default_factory=list)
    conflicts: list[Refused] = dataclasses.field(default_factory=list)
    rejected: list[Refused] = dataclasses.field(default_factory=list)
    new: dict[str, Twin] = dataclasses.field(default_factory=dict, compare=False)

    def add(self, other: Pushed) -> None:
        """Count *other* in."""
        self.added += other.added
        self.unchanged += other.unchanged
        self.recomputed += other.recomputed
        self.replaced += other.replaced
        self.corrected += other.corrected
        self.conflicts += other.conflicts
        self.rejected += other.rejected
        self.new |= other.new


@dataclasses.dataclass(frozen=True, slots=True)
class Query:
    """Which runs are meant; everything where nothing is given.

    Attributes:
        workload: of this workload only.
        filters: on the settings, and on ``repeat``.
        since_us: not before, in microseconds since 1970. A run of unknown time is not known to be so new.
        limit: the newest ones, at most so many.
    """

    workload: str | None = None
    filters: Filters = dataclasses.field(default_factory=dict)
    since_us: int | None = None
    limit: int | None = None

    def selects(self, settings: Mapping[str, Any], repeat: int) -> bool:
        """True if the filters let a run with these *settings* pass."""
        return filters.matches(self.filters, settings, repeat)


EVERYTHING = Query()


class KeptRun(msgspec.Struct, frozen=True):
    """One run without its payload.

    Attributes:
        time_us, recorded: as in :class:`.records.Record`.
        head: what its payload says of it, with the values of its KPIs.
        kpis: what its payload says of those KPIs; runs of which it is the same share it.
    """

    id: str
    workload: str
    time_us: int | None
    digest: str
    measurement: str | None
    recorded: Recorded | None
    head: Head
    kpis: KPIs

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.head.settings or {}

    @property
    def repeat(self) -> int:
        return self.head.repeat or 0

    @property
    def exit_code(self) -> int | None:
        code: int | None = self.head.exit_code
        return code


class Row(NamedTuple):
    """A run as an engine keeps it, and gives it back.

    Attributes:
        id, workload, time_us, digest, measurement: as in :class:`.records.Record`.
        recorded_us: the moment at which it was first seen, in microseconds since 1970, or else
        recorded_place: its place in the order of insertion; both None where neither is known.
        shape: a digest of what its payload says of its KPIs besides their values; see :mod:`..lts.heads`.
        head: the head of its payload as JSON; None for a payload that was damaged before there were heads.
        payload: as JSON; None where it wasn't asked for.
        version: of what is kept under this id, where the engine needs it to replace exactly that.
    """

    id: str
    workload: str
    time_us: int | None
    digest: str
    measurement: str | None
    recorded_us: int | None
    recorded_place: int | None
    shape: str | None
    head: str | bytes | None
    payload: str | bytes | None = None
    version: Any = None


class Reader(Protocol):
    """How an engine is read. All raise its own errors, which :meth:`Storage.sentences` turns into ours."""

    def select(self, workload: str | None, since_us: int | None) -> Iterator[Row]:
        """The runs of *workload* not before *since_us*, where given, without payloads.

        Newest first, those of unknown time last, ties in the order of the ids.
        """

    def find(self, ids: Sequence[str], *, payload: bool) -> Iterable[Row]:
        """Those of *ids*, some hundred, that are there, in any order."""


class Storage(Reader, Protocol):
    """What an engine does; all else is the same for all, and in :class:`.history.History`."""

    location: str
    at_once: int
    """How many runs should be written at once."""

    def sentences(self) -> AbstractContextManager[None]:
        """The engine's errors as HistoryError, and UnavailableError where its server is away."""

    def reading(self) -> AbstractContextManager[Reader]:
        """One state as far as the engine can, whatever others write meanwhile."""

    def writing(self) -> AbstractContextManager[None]:
        """All that is written within or nothing, and nobody else between what is read and written, where it can."""

    def settle(self) -> None:
        """Let everybody see what was written, and give back space that isn't needed; around each change."""

    def measured(self, measurements: Sequence[str]) -> Iterable[tuple[str, str]]:
        """The runs of *measurements*: measurement and id of each."""

    def last_recorded(self) -> int | None:
        """The last moment at which a run was first seen."""

    def write(self, rows: Sequence[Row]) -> Mapping[str, str | None]:
        """Keep *rows*: new ones, and those with a version, which are there, in the place of exactly that.

        By id, for those that are not kept: why, or None where another process was faster.
        """

    def remove(self, ids: Sequence[str]) -> int:
        """Remove these runs, some hundred; how many there were."""

    def events(self, workload: str | None) -> Iterable[tuple[Any, ...]]:
        """The events of alarms (of *workload*, where given), id and JSON, in the order of time and id."""

    def add_events(self, events: Sequence[Event]) -> int:
        """Keep those of *events* that are not there yet; how many were new."""

    def size_bytes(self) -> int:
        """What it takes on disk."""

    def close(self) -> None:
        """Let go of files and connections."""


class Event(NamedTuple):
    """An event of an alarm as an engine keeps it: *text* is JSON, and says what happened."""

    id: str
    workload: str
    at_us: int
    text: str


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """*items* in lists of at most *size*."""
    iterator = iter(items)
    while chunk := list(itertools.islice(iterator, size)):
        yield chunk
