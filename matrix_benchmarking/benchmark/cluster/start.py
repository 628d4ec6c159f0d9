"""A plan on the machines that a person named: connect, make sure that all are fit, and only then begin.

Hosts are dealt pieces of the plan, as jobs of Dask, of which only running ones are known. What becomes of each point is
told by the hosts, and by what is lost with them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import queue
import shutil
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...cluster import Host, Question, connected
from ...cluster.connection import Unreachable
from ...cluster.workers import host_name, token_in
from ...errors import ClusterError
from ...named_cluster import NamedCluster
from ...recorded import read_block
from .. import run_directory
from ..campaign import Listener, Report, write_searches
from ..load_driver import Limits, Stopped
from ..plan import Group, Plan
from ..run_directory import OWN_DIRECTORY, Outcome, Point
from . import job as jobs
from . import returning
from .dealing import Crew, Deck, Measured, dealt, slow_hosts, speed_of

if TYPE_CHECKING:
    from distributed import Future

LOGS = f"{OWN_DIRECTORY}/workers"


@contextlib.contextmanager
def crew_of(plan: Plan, named: NamedCluster, draft: jobs.Job, listener: Listener) -> Iterator[Crew]:
    """The hosts of *named*, all of them fit to measure *plan*; ClusterError, before anything is begun, says why not."""
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(connected(named, plan.root / LOGS, listener.note))
        cluster.wait(listener.note, lambda: listener.standing(0, 0.0))
        is_shared = draft.root is not None
        question = stack.enter_context(token_in(plan.root / OWN_DIRECTORY)) if is_shared else Question()
        crew = Crew(cluster, question, draft)
        crew.require()
        _require(plan, crew.hosts.values())
        yield crew


def shares(plan: Plan, named: NamedCluster, prices: Mapping[str, float], listener: Listener) -> dict[str, list[Group]]:
    """What goes where: of a scheduler that runs its hosts are asked; of others nothing is started."""
    if named.scheduler is not None:
        with crew_of(plan, named, jobs.draft_of(plan, named, prices), listener) as crew:
            return dealt(plan, crew.hosts.values(), named.points_per_host)
    given = named.slurm.resources if named.slurm is not None else {}
    names = named.ssh or [host_name() if named.local else f"worker {n + 1}" for n in range(named.wanted or 1)]
    workers = [Host(str(number), name, "", given) for number, name in enumerate(names)]
    _require(plan, workers)
    return dealt(plan, workers, named.points_per_host)


def carry_out(
    plan: Plan,
    named: NamedCluster,
    limits: Limits,
    listener: Listener,
    *,
    stop_on_error: bool,
    repeat: Sequence[str],
    prices: Mapping[str, float],
) -> Report:
    """Measure what is to be done of *plan* on the machines that are *named*."""
    draft = jobs.draft_of(plan, named, prices)
    draft = draft.model_copy(update={"repeat": list(repeat), "stop_on_error": stop_on_error})
    for left in (plan.root / returning.JOBS).glob("*"):  # of hosts that were gone before they came to its end
        returning.set_aside(plan.root, left)
        shutil.rmtree(left, ignore_errors=True)
    with crew_of(plan, named, draft, listener) as crew:
        for sentence in crew.oddities():
            listener.note(sentence)
        return Conductor(plan, crew, draft, limits, listener).run()


def _require(plan: Plan, workers: Iterable[Host]) -> None:
    """Raise ClusterError with a sentence on each thing that points require and none of *workers* has."""
    wanted = sorted({tuple(sorted(piece.requires.items())) for piece in Deck(plan, 1)})
    named = [
        ",".join(f"{name}={count:g}" for name, count in needs)
        for needs in wanted
        if not any(worker.has(dict(needs)) for worker in workers)
    ]
    if named:
        form = "points require {0}, and no worker has it: start one with --resources {0}"
        raise ClusterError("\n".join(map(form.format, named)))


PAUSE_S, END_S = 0.1, 90.0


class Conductor:
    """Carries *plan* out by the hosts of *crew*, to which jobs like *draft* are given."""

    def __init__(self, plan: Plan, crew: Crew, draft: jobs.Job, limits: Limits, listener: Listener) -> None:
        self._plan, self._crew, self._draft, self._limits, self._listener = plan, crew, draft, limits, listener
        self._ledger = Ledger(plan, crew, draft, listener)
        self._running: dict[str, Running] = {}
        self._heard: queue.SimpleQueue[jobs.Event] = queue.SimpleQueue()
        self._start = uuid.uuid4()
        self._topic = f"matbench-{self._start.hex}"

    def run(self) -> Report:
        """Measure all that is to be done. MatbenchError: what came back can't be kept here."""
        report, deck = self._ledger.report, self._ledger.deck
        self._crew.cluster.client.subscribe_topic(self._topic, lambda event: self._heard.put(event[1]))
        try:
            while self._running or (not report.stopped_by and any(True for _ in deck)):
                if self._crew.cluster.answers:
                    self._hear()
                    self._collect()
                    if not report.stopped_by:
                        self._deal()
                self._limits.check_money()
                at_work = {each.host.name for each in self._running.values()}
                self._listener.standing(len(at_work), self._limits.spent_usd)
                time.sleep(PAUSE_S)
        except Stopped as reason:
            report.stopped_by = str(reason)
        except ClusterError as error:
            report.broken = str(error)
        except KeyboardInterrupt:
            report.stopped_by, report.interrupted = "interrupted", True
        finally:
            self._end(report)
        return report

    def _campaign(self, host: Host) -> str:
        """The id of this start on *host*."""
        return uuid.uuid5(self._start, host.name).hex

    def _hear(self) -> None:
        while not self._heard.empty():  # nobody else takes from it
            event = self._heard.get()
            if (running := self._running.get(event.pop("job"))) is not None:
                self._ledger.take(running, event)

    def _collect(self) -> None:
        """Account for the jobs that have ended, and for those whose worker is gone."""
        gone = self._crew.update(self._listener.note)
        for name, running in list(self._running.items()):
            is_gone = running.host.address in gone
            if running.future.status == "pending" and not is_gone:
                continue
            del self._running[name]
            self._ledger.deck.ended(running.host)
            self._limits.stop_meter(name)
            if running.future.status == "finished":
                self._ledger.settle(running, running.future.result())
            else:
                running.future.cancel()
                self._ledger.lost(running, "its worker is gone" if is_gone else "its job was lost")

    def _deal(self) -> None:
        for host in sorted(self._crew.hosts.values(), key=lambda host: host.name):
            if host.name not in self._crew.out and (piece := self._ledger.deck.deal(host)) is not None:
                self._submit(host, piece)
        if not self._running and self._crew.hosts and not self._ledger.report.stopped_by:
            self._ledger.give_up()

    def _submit(self, host: Host, piece: Group) -> None:
        name, campaign = uuid.uuid4().hex, self._campaign(host)
        price = self._plan.usd_per_hour(piece.target, piece.settings)
        try:
            self._limits.check_start(self._plan.point_s(piece.samples()[0]), price)
        except Stopped as reason:  # what runs goes on
            self._ledger.deck.ended(host)
            self._ledger.deck.put_back(piece)
            self._ledger.report.stopped_by = str(reason)
            return
        job = self._draft.model_copy(
            update={
                "name": name,
                "campaign": campaign,
                "group": piece,
                "found": [run for case in piece.searches for run in self._plan.measured(case)],
                "max_usd": self._limits.left_usd,
                "max_duration_s": self._limits.left_s,
            }
        )
        text, needs = job.model_dump_json(by_alias=True), dict(piece.requires) or None
        future = self._crew.cluster.ask(host.address, jobs.measure, text, self._topic, resources=needs)
        self._running[name] = Running(host, piece, campaign, future)
        self._limits.start_meter(self._plan.charged_per_hour(piece), name)

    def _end(self, report: Report) -> None:
        """Have every job ended, and nothing left on hosts whose runs returned."""
        is_there = self._crew.cluster.client.status == "running"
        for name, running in self._running.items():
            self._limits.stop_meter(name)
            if is_there:
                running.future.cancel()
        report.spent_usd = self._limits.spent_usd
        if is_there:
            ask, at_work = self._crew.cluster.ask, [each.host.address for each in self._running.values()]
            ends = [ask(each, jobs.is_free, self._draft.points_per_host) for each in at_work]
            if self._draft.root is None:
                hosts = self._crew.hosts.items()
                ends += [ask(each, returning.forget, self._campaign(host)) for each, host in hosts]
            for future in ends:
                with contextlib.suppress(Exception):  # a worker that ended meanwhile has ended its job, too
                    future.result(timeout=END_S)
        self._ledger.close()


MOST_DEATHS = 3
"""So often a point may take its worker with it."""


@dataclasses.dataclass(slots=True)
class Running:
    """A piece that *host* measures for *campaign*; *at* is the point that it is at, *problem* why one isn't back."""

    host: Host
    piece: Group
    campaign: str
    future: Future[jobs.Event]
    at: str | None = None
    problem: str | None = None
    heard: int = 0
    is_silent: bool = False
    ended: set[str] = dataclasses.field(default_factory=set)


class Ledger:
    """The points of *plan* that the hosts of *crew* measure by jobs like *draft*; *deck* has those that wait."""

    def __init__(self, plan: Plan, crew: Crew, draft: jobs.Job, listener: Listener) -> None:
        self._plan, self._crew, self._draft, self._listener = plan, crew, draft, listener
        self.deck = Deck(plan, len({host.name for host in crew.hosts.values()}), draft.points_per_host)
        self._paths = {self._path(point): point for point in plan.points}
        self._pending = set(map(self._path, plan.to_do()))
        self._deaths: Counter[str] = Counter()
        self._measured: list[Measured] = []
        self.report = Report()

    def take(self, running: Running, event: jobs.Event) -> None:
        """Something that happens on a host."""
        running.heard += 1
        if "starts" in event:
            running.at = event["starts"]
            self._listener.starts(f"{event['starts']} on {running.host.name}")
        elif "note" in event:
            self._listener.note(f"{running.host.name}: {event['note']}")
        elif "ended" in event and (not self._draft.returns or self._fetch(running, event["ended"])):
            self._ended(running, event["ended"], Outcome(**event["outcome"]))

    def _fetch(self, running: Running, path: str) -> bool:
        """Whether the finished run at *path* came back whole."""

        def parts() -> Iterator[bytes]:
            size = 0
            while part := self._crew.cluster.ask_aside(host.address, returning.fetch, running.campaign, path, size):
                yield part
                size += len(part)

        host = running.host
        if running.is_silent:
            return False
        try:
            left_out = returning.keep_returned(self._plan.root, path, parts(), self._paths.get(path))
        except ClusterError as error:
            running.problem, running.is_silent = f"{path} didn't come back: {error}", isinstance(error, Unreachable)
            return False
        if left_out:
            what = "pipes, and links that lead out of it, were left out"
            self._listener.note(f"{path}: {what} of what {host.name} gave back: {', '.join(left_out[:3])}")
        return True

    def settle(self, running: Running, result: jobs.Event) -> None:
        """What a job that came to its end says."""
        events: list[jobs.Event] = result["events"]
        for event in events[running.heard :]:
            self.take(running, event)
        kept, problem = "", result["problem"] or running.problem
        if result["left"]:
            place = returning.keep_left(self._plan.root, running.host.name, result["left"])
            kept = f"what it left is in {place}"
        report = next((event["report"] for event in events if "report" in event), None)
        if problem is not None or report is None or report["interrupted"]:
            reason = "; ".join(filter(None, [problem or "its job was interrupted", kept]))
            is_death = result["ends"] or running.is_silent
            if problem is not None and not is_death:
                self._crew.out[running.host.name] = reason
            self.lost(running, reason, is_death=is_death)
            return
        if kept:
            self._listener.note(f"{running.host.name}: {kept}")
        self.report.searches += report["searches"]
        self.report.left_behind += report["left_behind"]
        if report["not_started"]:
            self._not_started(running)
        elif report["stopped_by"] is not None:
            self.report.stopped_by = report["stopped_by"]
            self._put_back(running)

    def lost(self, running: Running, reason: str, *, is_death: bool = True) -> None:
        """What a host didn't come to is for another one, unless a point has taken too many workers with it."""
        if self._draft.bucket is None:
            self._find(running)
        lost = running.at if running.at not in running.ended else None
        if lost is None and is_death:  # it ended before it said what it is at
            lost = next(map(self._path, self._left(running)), None)
        self._listener.note(f"{running.host.name}: {reason}{f'; {lost} is measured again' if lost else ''}")
        if is_death and lost is not None:
            self._deaths[lost] += 1
            if self._deaths[lost] >= MOST_DEATHS:
                running.ended.add(lost)
                self._leave_out([lost], 1)
                slurm = self._crew.cluster.named.slurm
                hint = f"; if it takes longer than a job's walltime ({slurm.walltime}), raise that" if slurm else ""
                self._listener.note(f"{lost} is left out: it took {MOST_DEATHS} workers with it{hint}")
        self._put_back(running)

    def give_up(self) -> None:
        """Nobody is at work, and nobody can do what is left."""
        if self._crew.out and not self._crew.fit_for({}):
            raise ClusterError("; ".join(f"{name} can't go on: {reason}" for name, reason in self._crew.out.items()))
        for piece in list(self.deck):
            self.deck.remove(piece)
            count = self._leave_out(map(self._path, piece.points), len(piece.points) + len(piece.searches))
            needs = ", ".join(piece.requires) or "its target"
            self._listener.note(f"{count} left out: no host that is left has {needs}")

    def close(self) -> None:
        """Say what is left, and who was slow."""
        self.report.left = len(self._pending)
        if self.report.searches:
            write_searches(self._plan, self.report)
        for sentence in [*slow_hosts(self._measured), *(f"{n}: {r}" for n, r in self._crew.out.items())]:
            self._listener.note(sentence)

    def _ended(self, running: Running, path: str, outcome: Outcome) -> None:
        """The run at *path* is finished, and among the results."""
        if path in running.ended:
            return
        running.ended.add(path)
        self._pending.discard(path)
        host, point = running.host.name, self._paths.get(path)
        if point is not None:
            self._plan.note(point, self._plan.root / path, outcome)
            if (speed := speed_of(outcome)) is not None:
                self._measured.append(Measured(host, self._crew.machines[host], point.key[0], speed))
        self.report.succeeded += outcome.exit_code == 0
        self.report.failed += outcome.exit_code != 0
        self._listener.point_ends(Path(path), outcome, host)
        if outcome.exit_code and self._draft.stop_on_error:
            raise Stopped(f"{path} failed")

    def _not_started(self, running: Running) -> None:
        """The target could not be started: others may try, as long as nobody is charged for it."""
        piece, target = running.piece, running.piece.target
        tried = self.deck.avoid(running.host.name, piece)
        if (target is not None and target.is_paid) or not self._crew.fit_for(piece.requires) - tried:
            left = self._left(running)
            self._leave_out(map(self._path, left), len(left) + len(piece.searches))
        else:
            self._listener.note(f"another host tries to start the target that {running.host.name} couldn't")
            self._put_back(running)

    def _find(self, running: Running) -> None:
        """Runs that were finished just before their host was lost, which nobody told."""
        for point in self._left(running):
            directory = self._plan.root / self._path(point)
            outcome = run_directory.read_outcome(directory)
            is_ours = read_block(directory)[0].campaign == running.campaign
            if is_ours and outcome is not None and run_directory.exit_code(directory) is not None:
                self._ended(running, self._path(point), outcome)
        if running.piece.searches:
            self._plan.found |= run_directory.scan(self._plan.root)

    def _path(self, point: Point) -> str:
        return str(self._plan.path_of(point))

    def _left(self, running: Running) -> list[Point]:
        return [point for point in running.piece.points if self._path(point) not in running.ended]

    def _put_back(self, running: Running) -> None:
        self.deck.put_back(dataclasses.replace(running.piece, points=self._left(running)))

    def _leave_out(self, paths: Iterable[str], all_in_all: int) -> int:
        """Nobody will measure these points; with searches they are *all_in_all*."""
        self._pending.difference_update(paths)
        self.report.not_started += all_in_all
        return all_in_all
