"""The port of a load driver, which measures points, by a load on their target: what it is given, and what it gives."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import os
import time
import urllib.parse
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Protocol

from ..config import Section
from ..errors import MatbenchError, needing
from ..filters import Scalar
from . import processes, schema
from .run_directory import UTILIZATION, Point, write_json
from .run_directory import Outcome as Outcome
from .schema import LoadSection as LoadSection
from .targets import Endpoint, Target


class Stopped(MatbenchError):
    """A limit that the user set is reached, or a point failed: what is finished stays, the rest is for another time."""


class Limits:
    """No point is started after *max_duration_s*, and no more than *max_usd* are spent in all."""

    def __init__(self, max_duration_s: float | None = None, max_usd: float | None = None) -> None:
        self._deadline = None if max_duration_s is None else time.monotonic() + max_duration_s
        self._max_duration_s = max_duration_s
        self._max_usd = max_usd
        self._spent_usd = 0.0
        self._meters: dict[str, tuple[float, float]] = {}  # by target: USD per hour, and since when

    @property
    def spent_usd(self) -> float:
        """What the targets have cost until now."""
        now = time.monotonic()
        return self._spent_usd + sum(price * (now - since) / 3600 for price, since in self._meters.values())

    @property
    def left_s(self) -> float | None:
        """For how long points may still be started; None where nothing limits it."""
        return None if self._deadline is None else max(0.001, self._deadline - time.monotonic())

    @property
    def left_usd(self) -> float | None:
        """What may still be spent; None where nothing limits it."""
        return None if self._max_usd is None else self._max_usd - self.spent_usd

    def start_meter(self, usd_per_hour: float | None, of: str = "") -> None:
        """A target of this price begins to cost."""
        self.stop_meter(of)
        self._meters[of] = (usd_per_hour or 0.0, time.monotonic())

    def stop_meter(self, of: str = "") -> None:
        """It costs no more. May be called twice."""
        price, since = self._meters.pop(of, (0.0, 0.0))
        self._spent_usd += price * (time.monotonic() - since) / 3600

    def check_money(self) -> None:
        """Raise Stopped once more than allowed is spent."""
        if self._max_usd is not None and self.spent_usd >= self._max_usd:
            raise Stopped(f"{self.spent_usd:.2f} USD are spent, the limit is {self._max_usd:g}")

    def check_start(self, point_s: float | None = None, usd_per_hour: float | None = None) -> None:
        """Raise Stopped if no further point may be started, or one of *point_s* would go beyond a limit."""
        self.check_money()
        if self._deadline is not None and time.monotonic() + (point_s or 0.0) > self._deadline:
            raise Stopped(f"the time limit of {self._max_duration_s:.0f} s is reached")
        if self._max_usd is not None and point_s and usd_per_hour:
            after = self.spent_usd + point_s / 3600 * usd_per_hour
            if after > self._max_usd:
                raise Stopped(
                    f"{self.spent_usd:.2f} USD are spent, and one more point would go beyond {self._max_usd:g}"
                )


class PlanOfPoints(Protocol):
    """What a driver may ask of the plan: the file's load, the *base* of its paths, the results directory *root*."""

    load: LoadSection
    base: Path
    root: Path

    @property
    def target(self) -> schema.Target | None:
        """The file's, with settings in braces."""

    def section(self, name: str) -> Section | None:
        """One of the driver's own; None where the file lacks it."""

    def samples(self) -> list[Point]:
        """All points, and one of each search."""

    def context(self, point: Point) -> dict[str, Scalar]:
        """What templates may name: the point's settings, its repeat, and what is derived from them."""

    def target_of(self, point: Point) -> schema.Target | None:
        """The point's target, its settings filled in; ``{port}`` is left for the start."""

    def load_of(self, point: Point) -> LoadSection:
        """How the point is measured, its settings filled in."""

    def usd_per_hour(self, target: schema.Target | None, settings: Mapping[str, Scalar]) -> float | None:
        """The price of a running target; None where it is unknown."""


Window = Mapping[str, float]
"""``start`` and ``end`` of what counts of a run, in seconds since the epoch."""


@dataclasses.dataclass(frozen=True, slots=True)
class PointRun:
    """A point that is to be measured into its test *directory*.

    Attributes:
        endpoint, target: what answers; None where the benchmark has no target.
        keep_on: to be called at least once a second; it raises to give up.
    """

    point: Point
    directory: Path
    endpoint: Endpoint | None
    target: Target | None
    keep_on: Callable[[], None]

    @property
    def is_local(self) -> bool:
        """Whether what is seen of this machine says anything of the server."""
        host = urllib.parse.urlsplit(self.endpoint.url).hostname if self.endpoint else None
        return host in ("localhost", "127.0.0.1", "::1") or bool(self.target and self.target.process_ids())

    def competes(self, cpus: Sequence[int] | None) -> bool:
        """Whether the server may use one of these cores (None: all) too."""
        usable = os.sched_getaffinity(0)
        of_server = set(self.endpoint.description.get("cpus") or usable) if self.endpoint else set()
        return self.is_local and bool(of_server & set(cpus or usable))

    def still_there(self) -> None:
        """Raise to give up, or where the target has died."""
        self.keep_on()
        if self.target is not None:
            self.target.check()

    def measure(
        self,
        name: str,
        start: Callable[[], processes.GuardedProcess],
        *,
        cpus: Sequence[int] | None = None,
        timeout_s: float | None = None,
        window: Callable[[float, float], Window] | None = None,
        tick: Callable[[], None] | None = None,
        monitored: bool = True,
    ) -> int | None:
        """Wait for the command that *start* starts, under the monitor, and record what was seen, and from when to when.

        Args:
            name: what the command's processes are called in ``utilization.json``.
            cpus: the cores that the monitor is kept on, which are the command's.
            window: from the command's start and end to those of what counts of it; all where left out.
            tick: called all the time; it raises to give up: :meth:`still_there` where left out.

        Returns:
            The exit status; None for a command that was ended after *timeout_s*.
        """
        watch = None
        with contextlib.ExitStack() as stack:
            stack.enter_context(_on_cores(cpus))
            started = time.time()
            process = start()
            stack.callback(process.stop)
            if monitored:
                from .monitor import Monitor  # psutil is of an extra, which a plan and a command alone don't need

                # The command's children are seen in the cores alone.
                watched = {name: process.first_ids(), "server": self.target.process_ids() if self.target else []}
                watch = stack.enter_context(Monitor(watched))
            status = process.wait(timeout_s, tick or self.still_there)
        ended = time.time()
        measured = window(started, ended) if window else {"start": started, "end": ended}
        if watch is not None:
            write_json(self.directory / UTILIZATION, watch.utilization(measured))
        moments = {name: datetime.fromtimestamp(measured[name], UTC) for name in ("start", "end")}
        written = {name: moment.isoformat(timespec="milliseconds") for name, moment in moments.items()}
        write_json(self.directory / "test_start_end.json", written)
        return status


@contextlib.contextmanager
def _on_cores(cpus: Sequence[int] | None) -> Iterator[None]:
    """Keep this thread, and the monitor that it starts, from the cores that are the server's alone."""
    before = os.sched_getaffinity(0)
    if cpus:
        os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class LoadDriver(abc.ABC):
    """How points are measured. One is made for a run of *plan*; *on_rate* gets what is answered in each second.

    Making one raises MatbenchError where a program, a package or a file that it needs is missing.

    Attributes:
        sections: its sections of the benchmark file, each with its model; ``load``'s is a :class:`LoadSection`.
        needs_target: it puts a load on something.
        finds_throughput: its outcomes have a throughput, in *unit*, so that a search can be made with it.
        most_failed: the error rate above which a search takes a run as failed.
        later: names that its templates may have beside settings, known only when a point is run.
        versions: of the programs that measure, recorded with each run.
    """

    sections: ClassVar[Mapping[str, type[Section]]]
    needs_target: ClassVar[bool] = True
    finds_throughput: ClassVar[bool] = False
    unit: ClassVar[str] = "requests/s"
    most_failed: ClassVar[float | None] = None
    later: ClassVar[Collection[str]] = ()
    versions: Mapping[str, str]

    def __init__(self, plan: PlanOfPoints, limits: Limits, on_rate: Callable[[float], None]) -> None:
        self.plan, self.limits, self.on_rate, self.versions = plan, limits, on_rate, {}

    @classmethod
    def describe(cls, plan: PlanOfPoints, point: Point) -> dict[str, Any]:
        """What ``--generate`` writes of how *point* is measured; ConfigError where it can't be."""
        return {"load": plan.load_of(point).model_dump(mode="json", exclude_none=True)}

    @classmethod
    def reads(cls, plan: PlanOfPoints) -> Collection[str]:
        """The settings that it takes from a point itself, beside those that the file's sections name in braces."""
        return ()

    def prepare(self, point: Point, keep_on: Callable[[], None]) -> None:  # noqa: B027 - most need nothing
        """Make sure of what has to be there before the point's target starts."""

    @abc.abstractmethod
    def run(self, run: PointRun) -> Outcome:
        """Measure a point: leave its artifacts in its test directory, and what may have limited the load among them.

        Raises:
            MatbenchError: the point has failed; the sentence says why.
        """


def check_extra() -> None:
    """Raise MatbenchError where the packages of the extra ``benchmark`` are missing."""
    with needing("running a benchmark", "benchmark"):
        import httpx  # noqa: F401
        import psutil  # noqa: F401
