"""Carry out a plan: start each target once, run its points within limits, and leave nothing behind on any way out."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from .. import bucket
from ..bucket import BucketPath
from ..errors import ConfigError, MatbenchError, OutputError
from ..files import only_one
from ..recorded import RecordedBlock
from ..settings import SETTINGS_FILE
from . import environment, hf_endpoint, leases, processes, run_directory, schema
from .expand import SEARCHABLE, SearchCase
from .load_driver import Limits, PointRun, Stopped
from .plan import Group, Plan
from .run_directory import Outcome, Point, ServerLog
from .targets import SERVER_FILE, Endpoint, ProcessTarget, Target, TargetError, UrlTarget

MOST_DEATHS = 3
SEARCHES_FILE = "searches.json"
TARGETS_DIRECTORY, LOCK_FILE = f"{run_directory.OWN_DIRECTORY}/targets", f"{run_directory.OWN_DIRECTORY}/lock"


class Listener:
    """Who shows what happens: what is about to be started, the last second's throughput; how many hosts measure, where
    there are several, and what is spent. What a listener doesn't define is not shown."""

    def starts(self, what: str) -> None: ...
    def point_ends(self, path: Path, outcome: Outcome, host: str = "") -> None: ...
    def standing(self, hosts: int, spent_usd: float) -> None: ...
    def note(self, sentence: str) -> None: ...
    def rate(self, throughput: float) -> None: ...


@dataclasses.dataclass(slots=True)
class Report:
    """What became of the plan, in numbers of points."""

    succeeded: int = 0
    failed: int = 0
    not_started: int = 0  # their target could not be started
    left: int = 0  # for another time, because of a limit, an interrupt or an error before them
    stopped_by: str | None = None  # why not everything was run
    left_behind: list[str] = dataclasses.field(default_factory=list)  # what may still cost money, a sentence each
    interrupted: bool = False
    broken: str | None = None  # what makes going on pointless, a sentence
    spent_usd: float = 0.0
    searches: list[dict[str, Any]] = dataclasses.field(default_factory=list)


class Campaign:
    """One run of a plan on one host, with an *id* of its own: what it measures it measures together.

    Args:
        groups: what is measured of the plan; all that is to be done where left out.
        repeat: the command line that, with an experiment and a filter, measures a point again.
        staged: a directory, on the disk of the results, in which runs stay until they are finished.
    """

    def __init__(
        self,
        plan: Plan,
        limits: Limits,
        listener: Listener,
        repeat: Sequence[str],
        stop_on_error: bool,
        *,
        groups: Sequence[Group] | None = None,
        id: str | None = None,
        staged: Path | None = None,
    ) -> None:
        self._plan, self._limits, self._listener = plan, limits, listener
        self._driver = plan.driver(plan, limits, listener.rate)
        self._repeat, self._stop_on_error, self._staged = repeat, stop_on_error, staged
        self._machine, self._id = environment.describe(), id or uuid.uuid4().hex
        self._groups = list(plan.groups()) if groups is None else groups
        self._cannot_start: dict[str, str] = {}
        self._pending = {point.key for group in self._groups for point in group.points}
        self.report = Report()

    def run(self) -> Report:
        """Run what is to be done."""
        try:
            for group in self._groups:
                self._run_group(group)
        except Stopped as reason:
            self.report.stopped_by = str(reason)
        except KeyboardInterrupt:
            self.report.stopped_by, self.report.interrupted = "interrupted", True
        except MatbenchError as error:  # such as a full disk
            self.report.broken = str(error)
        finally:
            self._limits.stop_meter()
            self.report.left = len(self._pending)
            self.report.spent_usd = self._limits.spent_usd
        return self.report

    def _run_group(self, group: Group) -> None:
        points = [point for point in group.points if self._plan.status(point) != "done"]
        searches = list(group.searches)
        if not points and not searches:
            return
        if group.key in self._cannot_start:
            self._give_up(points, searches, self._cannot_start[group.key])
            return
        self._check_start(group, (points or [searches[0].first])[0])
        deaths = 0
        while points or searches:
            try:
                with self._running(group, [*points, *(search.first for search in searches)]) as served:
                    while points and served.alive:
                        self._run_point(served, points.pop(0), group.round)
                        points = [point for point in points if self._plan.status(point) != "done"]
                    while searches and served.alive:
                        self._search(served, searches.pop(0))
            except TargetError as error:
                self._cannot_start[group.key] = str(error)
                self._give_up(points, searches, str(error))
                return
            deaths += 1
            if deaths >= MOST_DEATHS and (points or searches):
                self._give_up(points, searches, f"it died {deaths} times")
                return

    @contextlib.contextmanager
    def _running(self, group: Group, points: Sequence[Point]) -> Iterator[Served]:
        """The group's target, started for *points*; stopped on every way out."""
        for point in points:
            self._driver.prepare(point, self._limits.check_money)
        if group.target is None:
            yield Served(group, None, None, None)
            return
        log = ServerLog(self._plan.root / TARGETS_DIRECTORY)
        price = self._plan.usd_per_hour(group.target, group.settings)
        target = make_target(group.target, self._plan.base, self._plan.root, price, self._plan.bucket)
        self._listener.starts("starting the target")
        since_ns = time.time_ns()
        try:
            self._limits.start_meter(self._plan.charged_per_hour(group))
            endpoint = target.start(log.path, self._limits.check_money)
            yield Served(group, target, endpoint, log, since_ns)
        finally:
            try:
                target.stop()
            except TargetError as error:
                self.report.left_behind.append(str(error))
            self._limits.stop_meter()

    def _run_point(self, served: Served, point: Point, of_round: int | None) -> Outcome:
        group = served.group
        self._check_start(group, point)
        path = self._plan.path_of(point)
        directory = run_directory.begin(self._staged or self._plan.root, Path(path), point)
        self._listener.starts(str(path))
        started, since_ns = time.monotonic(), served.since_ns or time.time_ns()
        try:
            outcome = self._measure(served, point, directory)
            if outcome.exit_code and self._staged is not None:  # of several hosts, of which others have room
                run_directory.require_room(self._staged)
            if served.log is not None:
                served.log.copy_to(directory / "000__server" / "server.log", _secrets(served.endpoint))
            if not (directory / SETTINGS_FILE).is_file():
                outcome = Outcome(1, problem="the command removed its test directory, or the settings in it")
            # Whatever a script did to them: a run is recognised by its settings.
            run_directory.write_settings(directory, point)
            run_directory.write_block(directory, RecordedBlock(self._id, of_round))
            # A file that the run itself has changed, or its target, is no part of what it was measured with.
            known = self._plan.measured_with(point, since_ns)
            wall_s = round(time.monotonic() - started, 2)
            outcome = dataclasses.replace(outcome, wall_s=wall_s, measured_with=known)
            run_directory.finish(directory, outcome)
            if not self._keep(Path(path), directory):
                self._listener.note(f"{path} was measured elsewhere, too: that run stays, and this one is set aside")
        except BaseException as error:
            reason = str(error) if isinstance(error, MatbenchError) else type(error).__name__
            run_directory.interrupt(directory, reason)
            raise
        self._plan.note(point, directory, outcome)
        self._pending.discard(point.key)
        self.report.succeeded += outcome.exit_code == 0
        self.report.failed += outcome.exit_code != 0
        self._listener.point_ends(Path(path), outcome)
        if outcome.exit_code and self._stop_on_error:
            raise Stopped(f"{path} failed")
        return outcome

    def _keep(self, path: Path, run: Path) -> bool:
        """Bring a finished *run* to its *path* in the results; False where one that succeeded was there before."""
        if self._plan.bucket is not None:
            return run_directory.send(self._plan.bucket, path, run)
        return self._staged is None or run_directory.keep(self._plan.root, path, run)

    def _measure(self, served: Served, point: Point, directory: Path) -> Outcome:
        """Run the point; what fails because of it or its target is its outcome, the rest is raised."""
        run = PointRun(point, directory, served.endpoint, served.target, self._limits.check_money)
        server = served.endpoint.description if served.endpoint else {}
        versions = {**self._machine["versions"], **server.get("versions", {}), **self._driver.versions}
        words = [*self._repeat, f"--expe-to-run={point.experiment}", f"--filters={self._plan.filter_of(point)}"]
        circumstances = {**self._machine, "versions": versions, "command": shlex.join(words)}
        run_directory.write_json(directory / "environment.json", circumstances)
        if served.endpoint is not None:
            description = {"url": served.endpoint.url, **server, "local": run.is_local}
            run_directory.write_json(directory / SERVER_FILE, description)
        try:
            return run_directory.outcome_of_driver(self._driver.run(run))
        except (Stopped, OutputError):
            raise
        except MatbenchError as error:
            return Outcome(1, problem=str(error))

    def _search(self, served: Served, case: SearchCase) -> None:
        runs = self._plan.measured(case)
        measured = [(int(run.settings[SEARCHABLE]), run.outcome) for run in runs if run.outcome]
        repeats = [(int(run.settings[SEARCHABLE]), run.repeat) for run in runs]
        while isinstance(step := case.next_step(self._plan.driver, measured), int):
            repeat = 1 + max((index for vus, index in repeats if vus == step), default=-1)
            repeats.append((step, repeat))
            measured.append((step, self._run_point(served, case.point(step, repeat), None)))
            if not served.alive and served.target is not None and served.log is not None:  # it died of the point
                served.target.stop()
                served.endpoint = served.target.start(served.log.path, self._limits.check_money)
        self._listener.note(f"search: {step.get('reason') or step['error']}")
        self.report.searches.append(step)
        if self._staged is None:
            write_searches(self._plan, self.report)

    def _give_up(self, points: Sequence[Point], searches: Sequence[SearchCase], reason: str) -> None:
        count = len(points) + len(searches)
        self.report.not_started += count
        self._pending -= {point.key for point in points}
        left_out = "1 point is" if count == 1 else f"{count} points are"
        self._listener.note(f"target can't be used, {left_out} left out: {reason}")

    def _check_start(self, group: Group, point: Point) -> None:
        self._limits.check_start(self._plan.point_s(point), self._plan.usd_per_hour(group.target, group.settings))


def write_searches(plan: Plan, report: Report) -> None:
    searches = [*filter(None, plan.answers), *report.searches]
    run_directory.write_json(plan.root / SEARCHES_FILE, {"version": 1, "searches": searches})
    if plan.bucket is not None:
        bucket.put(plan.root / SEARCHES_FILE, str(plan.bucket / SEARCHES_FILE))


@dataclasses.dataclass(slots=True)
class Served:
    """A started target, or none for commands alone."""

    group: Group
    target: Target | None
    endpoint: Endpoint | None
    log: ServerLog | None
    since_ns: int | None = None  # when the target was started

    @property
    def alive(self) -> bool:
        with contextlib.suppress(TargetError):
            if self.target is not None:
                self.target.check()
            return True
        return False


def make_target(
    spec: schema.Target, base: Path, results: Path, usd_per_hour: float | None, of: BucketPath | None = None
) -> Target:
    """The target that *spec*, settings filled in, describes, not started; *base* is what its paths are relative to.

    What is paid for is known in *results*, and in the bucket *of* which they are.
    """
    if spec.process is not None:
        return ProcessTarget(spec.process, base)
    endpoint = spec.hf_endpoint or spec.existing_hf_endpoint
    if endpoint is not None:
        return hf_endpoint.HFEndpoint(endpoint, results, usd_per_hour, of)
    assert spec.url is not None
    return UrlTarget(schema.UrlTarget(url=spec.url) if isinstance(spec.url, str) else spec.url)


def _secrets(endpoint: Endpoint | None) -> list[str]:
    """What must not be in a log: the values of the headers, with and without the word before them."""
    values = list(endpoint.headers.values()) if endpoint else []
    return [*values, *(value.rpartition(" ")[2] for value in values)]


def run(
    plan: Plan,
    listener: Listener,
    *,
    max_duration_s: float | None = None,
    max_usd: float | None = None,
    stop_on_error: bool = False,
    repeat: Sequence[str],
    elsewhere: Callable[[Limits], Report] | None = None,
) -> Report:
    """Run what is not done of *plan*: here, or *elsewhere*, on other machines."""
    if max_usd is not None:
        _check_money(plan, max_usd)
    with contextlib.ExitStack() as locks:
        locks.enter_context(only_one(plan.root / LOCK_FILE, plan.root, "benchmark"))
        if plan.bucket is not None:
            locks.enter_context(bucket.only_one(plan.bucket, LOCK_FILE, plan.root, listener.note))
        for clean in (processes.end_leftovers, lambda: hf_endpoint.cleanup(plan.root, plan.bucket)):
            for sentence in clean():
                listener.note(f"left behind by an earlier run: {sentence}")
        limits = Limits(max_duration_s, max_usd)
        report = elsewhere(limits) if elsewhere else Campaign(plan, limits, listener, repeat, stop_on_error).run()
        left = leases.read_leases(plan.root, plan.bucket)
        if left and not report.left_behind:
            names = ", ".join(f"{lease.namespace}/{lease.name}" for lease in left)
            report.left_behind.append(
                f"the endpoints {names} may still cost money: run matbench benchmark --cleanup "
                f"--results-dirname={plan.results}"
            )
        return report


def cleanup(results: Path) -> list[str]:
    """Tear down, and end, what earlier runs left behind, in a bucket on whichever machine; a sentence for each."""
    root, of = run_directory.place_of(results), results if isinstance(results, BucketPath) else None
    if of is not None:
        root.mkdir(parents=True, exist_ok=True)
    elif not root.is_dir():
        raise MatbenchError(f"results directory '{root}' does not exist")
    with contextlib.ExitStack() as locks:
        locks.enter_context(only_one(root / LOCK_FILE, root, "benchmark"))
        if of is not None:
            locks.enter_context(bucket.only_one(of, LOCK_FILE, root, lambda note: None))
        return [*processes.end_leftovers(), *hf_endpoint.cleanup(root, of)]


def _check_money(plan: Plan, max_usd: float) -> None:
    """Raise ConfigError where the limit can't be kept, or is too low for the plan."""
    paid = [group for group in plan.groups() if group.target is not None and group.target.is_paid]
    if any(plan.usd_per_hour(group.target, group.settings) is None for group in paid):
        raise ConfigError(
            "a limit in USD can't be kept without the target's price: give target.usd_per_hour in the benchmark "
            "file, or `prices` VENDOR/HW_TYPE=USD"
        )
    _, usd = plan.estimate()
    if usd is not None and usd > max_usd:
        raise ConfigError(
            f"the plan will cost about {usd:.2f} USD, more than the limit of {max_usd:g}: raise `max_usd`, or run less "
            "of it with `filters`"
        )
