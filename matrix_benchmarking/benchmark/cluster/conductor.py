"""The starter's side: hosts are dealt pieces of the plan, and what is lost with one of them is dealt again.

What is done is what the results directory says. Of Dask only running jobs are known, and nothing of it is kept.
"""

from __future__ import annotations

import contextlib
import dataclasses
import queue
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...cluster import Host
from ...errors import ClusterError
from ...recorded import read_block
from .. import run_directory
from ..campaign import Listener, Report, write_searches
from ..load_driver import Limits, Stopped
from ..plan import Plan
from ..run_directory import Outcome, Point
from . import on_worker, returned
from .crew import Crew
from .dealing import Deck, Piece
from .job import Job
from .speeds import Measured, slow_hosts, speed_of

if TYPE_CHECKING:
    from distributed import Future

MOST_DEATHS = 3
"""So often a point may take its worker with it."""
PAUSE_S, LOOK_S, RENEW_S, END_S = 0.1, 1.0, 10.0, 90.0


@dataclasses.dataclass(slots=True)
class Running:
    """A piece that *host* measures; *at* is the point that it is at."""

    host: Host
    piece: Piece
    future: Future[on_worker.Event]
    at: str | None = None
    heard: int = 0
    ended: set[str] = dataclasses.field(default_factory=set)


class Conductor:
    """Carries *plan* out by the hosts of *crew*, to which jobs like *draft* are given."""

    def __init__(
        self, plan: Plan, crew: Crew, draft: Job, limits: Limits, max_usd: float | None, listener: Listener
    ) -> None:
        self._plan, self._crew, self._draft, self._limits, self._listener = plan, crew, draft, limits, listener
        self._max_usd, self._client = max_usd, crew.cluster.client
        self._deck = Deck(plan, len({host.name for host in crew.hosts.values()}))
        self._to_do, self._settled = plan.to_do(), 0
        self._paths = {str(plan.path_of(point)): point for point in plan.points}
        self._running: dict[str, Running] = {}
        self._heard: queue.SimpleQueue[on_worker.Event] = queue.SimpleQueue()
        self._topic = f"matbench-{uuid.uuid4().hex}"
        self._campaigns: dict[str, str] = {}  # by the host's name
        self._deaths: Counter[str | None] = Counter()
        self._tried: dict[str, set[str]] = {}  # by target, the hosts that could not start it
        self._measured: list[Measured] = []
        self._looked, self._renewed, self._alone = 0.0, time.monotonic(), time.monotonic()
        self.report = Report()

    def run(self) -> Report:
        """Measure all that is to be done. MatbenchError: what came back can't be kept here."""
        self._client.subscribe_topic(self._topic, lambda event: self._heard.put(event[1]))
        try:
            while self._running or (not self.report.stopped_by and any(True for _ in self._deck)):
                if self._crew.cluster.answers:
                    self._hear()
                    self._collect()
                    self._look()
                    if not self.report.stopped_by:
                        self._deal()
                self._limits.check_money()
                self._listener.standing(
                    len({each.host.name for each in self._running.values()}), self._limits.spent_usd
                )
                time.sleep(PAUSE_S)
        except Stopped as reason:
            self.report.stopped_by = str(reason)
        except ClusterError as error:
            self.report.broken = str(error)
        except KeyboardInterrupt:
            self.report.stopped_by, self.report.interrupted = "interrupted", True
        finally:
            self._end()
        return self.report

    def _hear(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                event = self._heard.get_nowait()
                running = self._running.get(event.pop("job"))
                if running is not None:
                    running.heard += 1
                    self._take(running, event)

    def _take(self, running: Running, event: on_worker.Event) -> None:
        host = running.host.name
        if "starts" in event:
            running.at = event["starts"]
            self._listener.starts(f"{event['starts']} on {host}")
        elif "note" in event:
            self._listener.note(f"{host}: {event['note']}")
        elif "ended" in event and not self._draft.returns:
            self._ended(running, event["ended"], Outcome(**event["outcome"]))

    def _ended(self, running: Running, path: str, outcome: Outcome) -> None:
        """The run at *path* is finished, and in the results directory."""
        if path in running.ended:
            return
        running.ended.add(path)
        host, point = running.host.name, self._paths.get(path)
        if point is not None:
            self._settled += 1
            self._plan.note(point, self._plan.root / path, outcome)
            if (speed := speed_of(outcome)) is not None:
                self._measured.append(Measured(host, self._crew.machines[host], point.key[0], speed))
        self.report.succeeded += outcome.exit_code == 0
        self.report.failed += outcome.exit_code != 0
        self._listener.point_ends(Path(path), outcome, host)
        if outcome.exit_code and self._draft.stop_on_error:
            raise Stopped(f"{path} failed")

    def _collect(self) -> None:
        for name, running in list(self._running.items()):
            if running.future.status == "pending":
                continue
            del self._running[name]
            self._limits.stop_meter(name)
            if running.future.status == "finished":
                self._settle(running, running.future.result())
            else:
                self._lost(running, "its job was lost")

    def _settle(self, running: Running, result: on_worker.Event) -> None:
        """What a job that came to its end says."""
        events: Sequence[on_worker.Event] = result["events"]
        for event in events[running.heard :]:
            self._take(running, event)
        outcomes = {event["ended"]: Outcome(**event["outcome"]) for event in events if "ended" in event}
        for path, archive in result["runs"].items():
            returned.keep(self._plan.root, Path(path), archive, self._paths.get(path))
            self._ended(running, path, outcomes[path])
        report = next((event["report"] for event in events if "report" in event), None)
        if result["problem"] is not None or report is None or report["interrupted"]:
            reason = result["problem"] or "its job was interrupted"
            if result["problem"] is not None and not result["ends"]:
                self._crew.put_out(running.host, reason)
            self._lost(running, reason, is_death=result["ends"])
            return
        self.report.searches += report["searches"]
        self.report.left_behind += report["left_behind"]
        if report["not_started"]:
            self._not_started(running)
        elif report["stopped_by"] is not None:
            self.report.stopped_by = report["stopped_by"]
            self._put_back(running)

    def _not_started(self, running: Running) -> None:
        """The target could not be started: others may try, as long as nobody is charged for it."""
        piece, target = running.piece, running.piece.group.target
        tried = self._tried.setdefault(piece.group.key, set())
        tried.add(running.host.name)
        if (target is not None and target.is_paid) or not self._crew.fit_for(piece.requires) - tried:
            self._count_out(len(self._left(running)), len(self._left(running)) + len(piece.searches))
        else:
            self._listener.note(f"another host tries to start the target that {running.host.name} couldn't")
            self._put_back(running)

    def _lost(self, running: Running, reason: str, *, is_death: bool = True) -> None:
        """What a host didn't come to is for another one, unless a point has taken too many workers with it."""
        if self._draft.root is not None:
            self._find(running)
        lost = running.at if running.at not in running.ended else None
        if lost is None and is_death:  # it ended before it said what it is at
            lost = next((str(self._plan.path_of(point)) for point in self._left(running)), None)
        self._listener.note(f"{running.host.name}: {reason}{f'; {lost} is measured again' if lost else ''}")
        if is_death and lost is not None:
            self._deaths[lost] += 1
            if self._deaths[lost] >= MOST_DEATHS:
                running.ended.add(lost)
                self._count_out(1, 1)
                slurm = self._crew.cluster.named.slurm
                hint = f"; if it takes longer than a job's walltime ({slurm.walltime}), raise that" if slurm else ""
                self._listener.note(f"{lost} is left out: it took {MOST_DEATHS} workers with it{hint}")
        self._put_back(running)

    def _find(self, running: Running) -> None:
        """Runs that were finished just before their host was lost, which nobody told."""
        for point in self._left(running):
            path = self._plan.path_of(point)
            directory = self._plan.root / path
            outcome = run_directory.read_outcome(directory)
            is_ours = read_block(directory)[0].campaign == self._campaigns[running.host.name]
            if is_ours and outcome is not None and run_directory.exit_code(directory) is not None:
                self._ended(running, str(path), outcome)
        if running.piece.searches:
            self._plan.found |= run_directory.scan(self._plan.root)

    def _left(self, running: Running) -> list[Point]:
        return [point for point in running.piece.points if str(self._plan.path_of(point)) not in running.ended]

    def _put_back(self, running: Running) -> None:
        self._deck.put_back(running.piece, self._left(running), running.piece.searches)

    def _look(self) -> None:
        """See, once a second, which workers there are."""
        now = time.monotonic()
        if now - self._looked < LOOK_S:
            return
        self._looked = now
        gone = self._crew.update(self._listener.note)
        for name, running in list(self._running.items()):
            if running.host.address in gone:
                del self._running[name]
                self._limits.stop_meter(name)
                running.future.cancel()
                self._lost(running, "its worker is gone")
        if len(self._crew.hosts) < (self._crew.cluster.named.wanted or 0) and now - self._renewed > RENEW_S:
            self._renewed = now
            self._crew.cluster.renew()
        if self._crew.hosts:
            self._alone = now
        elif now - self._alone > self._crew.cluster.named.start_timeout_s:
            raise ClusterError("no worker is left")

    def _deal(self) -> None:
        for host in sorted(self._crew.hosts.values(), key=lambda host: host.name):
            if host.name in self._crew.out or any(each.host.address == host.address for each in self._running.values()):
                continue
            on_host = sum(each.host.name == host.name for each in self._running.values())
            if on_host >= self._draft.points_per_host:
                continue
            busy = {each.piece.exclusive for each in self._running.values()}
            avoided = {key for key, hosts in self._tried.items() if host.name in hosts}
            piece = self._deck.deal(host.name, host.resources, busy, avoided)
            if piece is not None:
                self._submit(host, piece)
        if not self._running and self._crew.hosts:
            self._give_up()

    def _give_up(self) -> None:
        """Nobody is at work, and nobody can do what is left."""
        if self._crew.out and not self._crew.fit_for({}):
            raise ClusterError("; ".join(f"{name} can't go on: {reason}" for name, reason in self._crew.out.items()))
        for piece in list(self._deck):
            self._deck.remove(piece)
            count = len(piece.points) + len(piece.searches)
            self._count_out(len(piece.points), count)
            needs = ", ".join(piece.requires) or "its target"
            self._listener.note(f"{count} left out: no host that is left has {needs}")

    def _count_out(self, points: int, all_in_all: int) -> None:
        self._settled += points
        self.report.not_started += all_in_all

    def _submit(self, host: Host, piece: Piece) -> None:
        group, name = piece.group, uuid.uuid4().hex
        first = piece.points[0] if piece.points else piece.searches[0].first
        price = self._plan.usd_per_hour(group.target, group.settings)
        is_charged = group.target is not None and (group.target.is_paid or group.target.usd_per_hour is not None)
        try:
            self._limits.check_start(self._plan.point_s(first), price)
        except Stopped as reason:
            self._deck.put_back(piece, piece.points, piece.searches)
            self.report.stopped_by = str(reason)
            return
        job = self._draft.model_copy(
            update={
                "name": name,
                "campaign": self._campaigns.setdefault(host.name, uuid.uuid4().hex),
                "round": group.round,
                "points": list(piece.points),
                "searches": list(piece.searches),
                "found": [run for case in piece.searches for run in self._plan.measured(case)],
                "max_usd": None if self._max_usd is None else self._max_usd - self._limits.spent_usd,
                "max_duration_s": self._limits.left_s,
            }
        )
        resources = {"resources": dict(piece.requires)} if piece.requires else {}
        where: dict[str, Any] = {"workers": [host.address], "allow_other_workers": False, **resources}
        future = self._client.submit(
            on_worker.measure, job.model_dump_json(), self._topic, pure=False, retries=0, **where
        )
        self._running[name] = Running(host, piece, future)
        self._limits.start_meter(price if is_charged else None, name)

    def _end(self) -> None:
        """Have every job ended, and say what is left, and who was slow."""
        self.report.left = len(self._to_do) - self._settled
        for name, running in self._running.items():
            self._limits.stop_meter(name)
            if self.report.broken is None:
                running.future.cancel()
        self.report.spent_usd = self._limits.spent_usd
        if self.report.broken is None:
            on_all = [each.host.address for each in self._running.values()]
            ends = [self._ask(address, on_worker.is_free, self._draft.points_per_host) for address in on_all]
            if self._draft.root is None:
                ends += [
                    self._ask(a, on_worker.forget, c)
                    for a, h in self._crew.hosts.items()
                    if (c := self._campaigns.get(h.name))
                ]
            for future in ends:
                with contextlib.suppress(Exception):  # a worker that ended meanwhile has ended its job, too
                    future.result(timeout=END_S)
        if self.report.searches:
            write_searches(self._plan, self.report)
        for sentence in [*slow_hosts(self._measured), *(f"{n}: {r}" for n, r in self._crew.out.items())]:
            self._listener.note(sentence)

    def _ask(self, address: str, function: Any, *arguments: Any) -> Future[Any]:
        return self._client.submit(function, *arguments, workers=[address], pure=False, retries=0)
