"""The port of a load driver, which measures points, by a load on their target; and the one that runs any command."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import os
import re
import shlex
import shutil
import time
import urllib.parse
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..config import Section
from ..errors import ConfigError, needing
from ..filters import Scalar, exact
from . import processes
from .environment import anonymous
from .run_directory import UTILIZATION, Point, write_json
from .run_directory import Outcome as Outcome
from .schema import Command, Script, fill, named_in
from .schema import LoadSection as LoadSection
from .targets import Endpoint, Target, cores

if TYPE_CHECKING:
    from .campaign import Limits
    from .plan import Plan

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
        later: names that its templates may have beside settings, known only when a point is run.
        versions: of the programs that measure, recorded with each run.
    """

    sections: ClassVar[Mapping[str, type[Section]]]
    needs_target: ClassVar[bool] = True
    finds_throughput: ClassVar[bool] = False
    unit: ClassVar[str] = "requests/s"
    later: ClassVar[Collection[str]] = ()
    versions: Mapping[str, str]

    def __init__(self, plan: Plan, limits: Limits, on_rate: Callable[[float], None]) -> None:
        self.plan, self.limits, self.on_rate, self.versions = plan, limits, on_rate, {}

    @classmethod
    def describe(cls, plan: Plan, point: Point) -> dict[str, Any]:
        """What ``--generate`` writes of how *point* is measured; ConfigError where it can't be."""
        return {"load": plan.load_of(point).model_dump(mode="json", exclude_none=True)}

    @classmethod
    def reads(cls, plan: Plan) -> Collection[str]:
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


DIRECTORY = "000__script"
TIMED_OUT = 124


class CommandDriver(LoadDriver):
    """Runs a command for each point, and keeps its outputs and the files that it leaves."""

    sections: ClassVar = {"load": Command}
    needs_target = False
    later = ("url", "port", "test_dir")

    def __init__(self, plan: Plan, limits: Limits, on_rate: Callable[[float], None]) -> None:
        super().__init__(plan, limits, on_rate)
        self._script = _command(plan.load)
        if plan.file.target is not None or self._script.monitor:
            check_extra()
        for point in plan.samples():
            processes.check_cores(cores(_command(plan.load_of(point)).cpus))

    @classmethod
    def describe(cls, plan: Plan, point: Point) -> dict[str, Any]:
        script = _command(plan.load)
        later = named_in([script.command, script.warm_up]) & {"url", "port"}
        if later and plan.file.target is None:
            raise ConfigError(f"the command names {{{min(later)}}}, and the file has no target")
        return {"command": command_of(script, plan.context(point))}

    @classmethod
    def reads(cls, plan: Plan) -> Collection[str]:
        """A command that names no setting in braces is taken to read its environment, which has them all."""
        script = _command(plan.load)
        settings = {name for point in plan.samples() for name in point.settings}
        if not named_in(script.model_dump()) & settings:
            return settings
        words = str((script.command, script.warm_up))
        return {name for name in settings if _variable(name) in words}

    def run(self, run: PointRun) -> Outcome:
        script, later = _command(self.plan.load_of(run.point)), _known_now(run)
        place = (self.plan.base / script.directory).resolve() if script.directory else run.directory
        output, cpus = run.directory / DIRECTORY, cores(script.cpus)
        output.mkdir()
        timeout_s = None if script.timeout_s is None else float(script.timeout_s)

        def start(words: Sequence[str], log: str, errors: str | None = None) -> processes.GuardedProcess:
            return processes.GuardedProcess(
                words,
                directory=place,
                output=output / log,
                errors=output / errors if errors else None,
                extra_environment=variables(run),
                cpus=cpus,
            )

        context = self.plan.context(run.point)
        if script.warm_up is not None:
            words = command_of(self._script.model_copy(update={"command": self._script.warm_up}), context, later)
            process = start(words, "warm_up.log")
            try:
                problem = _problem(process.wait(timeout_s, run.still_there), timeout_s, output / "warm_up.log")
            finally:
                process.stop()
            if problem is not None:
                return Outcome(1, problem=f"the warm-up {problem}")
        command = command_of(self._script, context, later)
        before, left = _stamps(script.results, place), {}
        began = time.time()

        def window(started: float, ended: float) -> Window:
            nonlocal left
            left = _stamps(script.results, place)  # before we write files of our own
            return {"start": min(started + float(script.warm_up_s), ended), "end": ended}

        status = run.measure(
            "script",
            lambda: start(command, "stdout.log", "stderr.log"),
            cpus=cpus,
            timeout_s=timeout_s,
            window=window,
            monitored=script.monitor,
        )
        said = {"command": [anonymous(word) for word in command], "shell": script.shell}
        said |= {"duration_s": time.time() - began, "cpus": cpus, "competes_with_server": run.competes(cpus)}
        write_json(output / "command.json", said)
        problem = _problem(status, timeout_s, output / "stderr.log")
        if problem is not None:
            return Outcome(TIMED_OUT if status is None else status, problem=f"the command {problem}")
        run.still_there()
        written = [each for each in left if before.get(each) != left[each]]
        for pattern in script.results:
            if pattern not in dict(written):
                return Outcome(1, problem=f"the command left no file '{pattern}'")
        for path in {path for _, path in written if place != run.directory}:
            (run.directory / path.relative_to(place)).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, run.directory / path.relative_to(place))
        return Outcome(0)


def check_extra() -> None:
    """Raise MatbenchError where the packages of the extra ``benchmark`` are missing."""
    with needing("running a benchmark", "benchmark"):
        import httpx  # noqa: F401
        import psutil  # noqa: F401


def command_of(script: Command, settings: Mapping[str, Scalar], later: Mapping[str, str] | None = None) -> list[str]:
    """The command of a point, its *settings* filled in, and what is known only when it runs.

    In a line for a shell they are quoted, so that no setting is ever more than a word.
    """
    context = {**settings, **(later or {})}
    keep = set(CommandDriver.later) - context.keys()
    if script.shell:
        line = script.command if isinstance(script.command, str) else " ".join(script.command)
        quoted = {name: shlex.quote(exact(value)) for name, value in context.items()}
        return ["/bin/sh", "-c", str(fill(line, quoted, keep))]
    filled: list[str] = fill(_words(script), context, keep)
    return filled


def _command(load: Section) -> Command:
    assert isinstance(load, Command)
    return load


def _words(script: Command) -> list[str]:
    command, where = script.command, "script_tpl" if isinstance(script, Script) else "load.command"
    try:
        words = shlex.split(command) if isinstance(command, str) else command
    except ValueError as error:
        raise ConfigError(f"{where} '{command}': {error}".lower()) from error
    if not words:
        raise ConfigError(f"{where} is empty: which command is to be run?")
    return words


def _known_now(run: PointRun) -> dict[str, str]:
    """What stands for :attr:`CommandDriver.later`."""
    known = {"test_dir": str(run.directory)}
    if run.endpoint is not None:
        parts = urllib.parse.urlsplit(run.endpoint.url)
        known |= {"url": run.endpoint.url, "port": str(parts.port or {"http": 80}.get(parts.scheme, 443))}
    return known


def variables(run: PointRun) -> dict[str, str]:
    """A command's environment variables: ``MATBENCH_SETTING_<NAME>`` for each setting, the test directory, the URL, and
    the ids of the target's processes, where they are on this machine.
    """
    settings = run.point.all_settings.items()
    named = {_variable(name): exact(value) for name, value in settings}
    if run.endpoint is not None:
        named["MATBENCH_URL"] = run.endpoint.url
    if run.target is not None and (ids := run.target.process_ids()):
        named["MATBENCH_TARGET_PROCESSES"] = ",".join(map(str, ids))
    return {**named, "MATBENCH_TEST_DIR": str(run.directory)}


def _variable(setting: str) -> str:
    return f"MATBENCH_SETTING_{re.sub(r'[^A-Za-z0-9_]', '_', setting).upper()}"


def _problem(status: int | None, timeout_s: float | None, log: Path) -> str | None:
    """What went wrong, with the last line of the *log*; None for success."""
    if status is None:
        return f"ran longer than {timeout_s} s and was ended"
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if status else []
    return f"failed with exit status {status}{f': {anonymous(lines[-1])[:200]}' if lines else ''}" if status else None


def _stamps(patterns: Sequence[str], place: Path) -> dict[tuple[str, Path], int]:
    """When the files of each pattern were last changed, by which those of an earlier run are known."""
    found = ((pattern, path) for pattern in patterns for path in sorted(place.glob(pattern)) if path.is_file())
    return {(pattern, path): path.stat().st_mtime_ns for pattern, path in found}
