"""The port of a history: what goes in and comes out, and what an engine has to do for it, which is little."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from ..filters import Filters
from .records import Row

T = TypeVar("T")

Progress = Callable[[int], None]
"""Called with the number of records that are dealt with so far."""


def silent(*counts: int) -> None:
    """Progress that nobody sees."""


class Query(msgspec.Struct, frozen=True):
    """Which runs are meant; everything where nothing is given.

    Attributes:
        filters: on the settings, and on ``repeat``.
        since_us: not before, in microseconds since 1970. A run of unknown time is not known to be so new.
        limit: the newest ones, at most so many.
    """

    workload: str | None = None
    filters: Filters = msgspec.field(default_factory=dict)
    since_us: int | None = None
    limit: int | None = None


EVERYTHING = Query()


class Storage(Protocol):
    """What an engine does; all else is the same for all, and in :class:`.history.History`.

    Engines inherit what is said here where theirs is no different: one without transactions, whose writes show at once.
    All raise their own errors, which :meth:`sentences` turns into ours.
    """

    location: str
    at_once: int
    """How many runs should be written at once."""

    def select(self, workload: str | None, since_us: int | None, most: int | None = None) -> Iterator[Row]:
        """The runs of *workload* not before *since_us*, where given, without payloads; no more than *most* are needed.

        Newest first as :func:`.records.newest_first` has it.
        """

    def find(self, ids: Sequence[str], *, payload: bool) -> Iterable[Row]:
        """Those of *ids*, some hundred, that are there, in any order."""

    def sentences(self) -> AbstractContextManager[None]:
        """The engine's errors as HistoryError, and UnavailableError where its server is away."""

    def reading(self) -> AbstractContextManager[Storage]:
        """One state as far as the engine can, whatever others write meanwhile."""
        return contextlib.nullcontext(self)

    def writing(self) -> AbstractContextManager[None]:
        """All that is written within or nothing, and nobody else between what is read and written, where it can."""
        return contextlib.nullcontext()

    def settle(self) -> None:
        """Let everybody see what was written, and give back space that isn't needed; around each change."""
        return

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

    @contextlib.contextmanager
    def opening(self) -> Iterator[None]:
        """What is connected is made ready; closed where that fails."""
        try:
            with self.sentences():
                yield
        except BaseException:
            self.close()
            raise


class Event(NamedTuple):
    """An event of an alarm as an engine keeps it: *text* is JSON, and says what happened."""

    id: str
    workload: str
    at_us: int
    text: str


def batched(
    items: Iterable[T], size: int, bytes_of: Callable[[T], int] | None = None, most_bytes: int = 0
) -> Iterator[list[T]]:
    """*items* in lists of at most *size*, and of *most_bytes* save for a single one that is larger."""
    if bytes_of is None:
        rest = iter(items)
        while chunk := list(itertools.islice(rest, size)):
            yield chunk
        return
    chunk, taken = [], 0
    for each in items:
        own = bytes_of(each)
        if len(chunk) == size or (chunk and taken + own > most_bytes):
            yield chunk
            chunk, taken = [], 0
        chunk.append(each)
        taken += own
    if chunk:
        yield chunk
