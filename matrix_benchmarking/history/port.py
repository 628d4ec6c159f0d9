"""The port of a history: what a place can do in which payloads and KPIs are kept.

There are two real ones, :mod:`.sqlite` and :mod:`.opensearch`; the same contract tests run on both.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from .. import filters
from ..filters import Filters
from .alarms import AlarmEvent
from .records import Record

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
        return not self.filters or filters.matches(self.filters, settings, repeat)


EVERYTHING = Query()


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One run without its payload; ``time_us`` as in :class:`.records.Record`."""

    id: str
    workload: str
    time_us: int | None
    digest: str


@dataclasses.dataclass(frozen=True, slots=True)
class Series:
    """One KPI with the same labels.

    Attributes:
        key: digest of workload, KPI, unit and labels.
        labels: without ``urls``, which lead to pages about single runs.
        help, lower_better, ignored_for_regression: those of the newest value.
        count: number of values.
        first_us, last_us: of the values whose time is known; None where there are none.
    """

    key: str
    workload: str
    kpi: str
    unit: str
    help: str
    lower_better: bool | None
    ignored_for_regression: bool
    labels: Mapping[str, Any]
    count: int
    first_us: int | None
    last_us: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class SeriesValues:
    """The values of one series, oldest first; those of unknown time before all others, ties in the order of the ids.

    Attributes:
        times_us: microseconds since 1970, UTC, or None.
        values: in the series' unit.
        ids: the tests behind them.
    """

    times_us: Sequence[int | None]
    values: Sequence[float]
    ids: Sequence[str]


@dataclasses.dataclass(frozen=True, slots=True)
class WorkloadSummary:
    """What a history holds of one workload; ``first_us`` and ``last_us`` as in :class:`Series`."""

    workload: str
    runs: int
    series: int
    values: int
    first_us: int | None
    last_us: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class Summary:
    """What a history holds, workload by workload in the order of their names, and its size on disk."""

    workloads: Sequence[WorkloadSummary]
    size_bytes: int


class History(Protocol):
    """Payloads and KPIs, each run once. Use it as a context manager, in one thread.

    Every method raises :class:`.errors.HistoryError`, and :class:`.errors.UnavailableError` where the server is away.
    """

    location: str

    def push(
        self,
        records: Iterable[Record],
        *,
        replace: bool = False,
        are_copies: bool = False,
        progress: Progress | None = None,
    ) -> Pushed:
        """Keep *records*; one that is there already is not kept twice. :mod:`.plan` decides what becomes of each.

        Args:
            records: they are taken a few hundred at a time, and are visible to all when this returns. Those that don't
                say when they were first seen are of one upload: all get one moment, later than any that is kept.
            replace: a record whose content is another one takes the place of the one that is there, and of the moment
                when that was first seen.
            are_copies: they were computed some time ago, and so don't take the place of other computations.
            progress: see :data:`Progress`.

        Raises:
            UnavailableError: it says how many of *records* are dealt with.
        """

    def foresee(self, records: Iterable[Record], *, replace: bool = False) -> Pushed:
        """What :meth:`push` would do; nothing is changed."""

    def known(self, ids: Sequence[str]) -> Mapping[str, str]:
        """The digests of those of *ids* that are there."""

    def runs(self, query: Query = EVERYTHING) -> Iterator[Run]:
        """Newest first, those of unknown time last, ties in the order of the ids."""

    def records(self, query: Query = EVERYTHING) -> Iterator[Record]:
        """The runs with their payloads, as they were pushed, in the order of :meth:`runs`."""

    def payloads(self, query: Query = EVERYTHING) -> Iterator[Mapping[str, Any]]:
        """The payloads of :meth:`records`."""

    def last_recorded(self) -> int | None:
        """The last moment at which a run was first seen, in microseconds since 1970; None where none is kept."""

    def series(self, workload: str | None = None, kpi: str | None = None) -> list[Series]:
        """All series, by workload, KPI and key."""

    def values(self, series: Series) -> SeriesValues:
        """The values of *series*."""

    def delete(self, ids: Sequence[str]) -> int:
        """Remove these runs and their KPIs; how many there were."""

    def summary(self) -> Summary:
        """What is in it."""

    def alarm_events(self, workload: str | None = None) -> list[AlarmEvent]:
        """What happened to alarms (of *workload*, where given), oldest first, ties in the order of the ids."""

    def record_alarms(self, events: Iterable[AlarmEvent]) -> int:
        """Keep *events*; one that is there already is not kept twice. How many were new."""

    def close(self) -> None:
        """Let go of files and connections."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
