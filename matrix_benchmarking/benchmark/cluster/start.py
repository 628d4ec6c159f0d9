"""A plan on the machines that a person named: connect, make sure that all are fit, and only then begin.

Hosts are dealt pieces of the plan, as jobs of Dask, of which only running ones are known.
"""

from __future__ import annotations

import contextlib
import queue
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...cluster import Host, Question, connected
from ...cluster.workers import token_in
from ...errors import ClusterError, ConfigError
from ...named_cluster import NamedCluster
from ..campaign import Listener, Report
from ..load_driver import Limits, Stopped
from ..plan import Group, Plan
from ..run_directory import OWN_DIRECTORY
from . import job as jobs
from .crew import Crew
from .dealing import Deck, Ledger, Running, dealt
from .job import Job, workload_digest

LOGS = f"{OWN_DIRECTORY}/workers"


def draft_of(plan: Plan, named: NamedCluster, prices: Mapping[str, float]) -> Job:
    """What all jobs of *plan* have in common. ConfigError: it can't be measured on a cluster."""
    is_shared = named.results == "share" and plan.bucket is None
    if named.results == "return" and plan.bucket is not None:
        raise ConfigError(
            f"cluster: {{results: return}}, but {plan.bucket} gets each run from who measured it: leave it out"
        )
    if plan.target is not None and plan.target.is_paid and not is_shared and plan.bucket is None:
        raise ConfigError(
            "a paid target on a cluster needs a results directory that all machines share, or a bucket: there lies the "
            "lease by which it is torn down from anywhere"
        )
    return Job(
        name="draft",
        file=plan.file.model_dump(mode="json", by_alias=True, exclude_unset=True),
        base=plan.base,
        directory=Path.cwd(),
        root=plan.root if is_shared else None,
        bucket=None if plan.bucket is None else str(plan.bucket),
        digest=workload_digest(plan.file.workload),
        prices=dict(prices),
        points_per_host=named.points_per_host,
    )


@contextlib.contextmanager
def crew_of(plan: Plan, named: NamedCluster, draft: Job, listener: Listener) -> Iterator[Crew]:
    """The hosts of *named*, all of them fit to measure *plan*; ClusterError, before anything is begun, says why not."""
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(connected(named, plan.root / LOGS, listener.note))
        cluster.wait(listener.note, lambda: listener.standing(0, 0.0))
        is_shared = draft.root is not None
        question = stack.enter_context(token_in(plan.root / OWN_DIRECTORY)) if is_shared else Question()
        crew = Crew(cluster, question, draft)
        crew.require()
        if sentences := _unmet(plan, crew):
            raise ClusterError("\n".join(sentences))
        yield crew


def shares(plan: Plan, named: NamedCluster, prices: Mapping[str, float], listener: Listener) -> dict[str, list[Group]]:
    """What goes where: of a scheduler that runs its hosts are asked; of others nothing is started."""
    if named.scheduler is None:
        given = named.slurm.resources if named.slurm is not None else {}
        return dealt(plan, dict.fromkeys(named.ssh or [f"worker {n + 1}" for n in range(named.wanted or 1)], given))
    with crew_of(plan, named, draft_of(plan, named, prices), listener) as crew:
        return dealt(plan, {host.name: host.resources for host in crew.hosts.values()})


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
    draft = draft_of(plan, named, prices)
    draft = draft.model_copy(update={"repeat": list(repeat), "stop_on_error": stop_on_error})
    for left in (plan.root / jobs.JOBS).glob("*"):  # of hosts that were gone before they came to its end
        jobs.set_aside(plan.root, left)
        shutil.rmtree(left, ignore_errors=True)
    with crew_of(plan, named, draft, listener) as crew:
        for sentence in crew.oddities():
            listener.note(sentence)
        return Conductor(plan, crew, draft, limits, listener).run()


def _unmet(plan: Plan, crew: Crew) -> list[str]:
    """A sentence on what points require that no worker has."""
    sentences = []
    for needs in sorted({tuple(sorted(piece.requires.items())) for piece in Deck(plan, 1)}):
        if not crew.fit_for(dict(needs)):
            named = ",".join(f"{name}={count:g}" for name, count in needs)
            sentences.append(f"points require {named}, and no worker has it: start one with --resources {named}")
    return sentences


PAUSE_S, END_S = 0.1, 90.0


class Conductor:
    """Carries *plan* out by the hosts of *crew*, to which jobs like *draft* are given."""

    def __init__(self, plan: Plan, crew: Crew, draft: Job, limits: Limits, listener: Listener) -> None:
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
        with contextlib.suppress(queue.Empty):
            while True:
                event = self._heard.get_nowait()
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
            self._limits.stop_meter(name)
            if running.future.status == "finished":
                self._ledger.settle(running, running.future.result())
            else:
                running.future.cancel()
                self._ledger.lost(running, "its worker is gone" if is_gone else "its job was lost")

    def _deal(self) -> None:
        for host in sorted(self._crew.hosts.values(), key=lambda host: host.name):
            if host.name in self._crew.out or any(each.host.address == host.address for each in self._running.values()):
                continue
            on_host = sum(each.host.name == host.name for each in self._running.values())
            if on_host >= self._draft.points_per_host:
                continue
            busy = {each.piece.exclusive for each in self._running.values()}
            piece = self._ledger.deck.deal(host.name, host.resources, busy)
            if piece is not None:
                self._submit(host, piece)
        if not self._running and self._crew.hosts:
            self._ledger.give_up()

    def _submit(self, host: Host, piece: Group) -> None:
        name, campaign = uuid.uuid4().hex, self._campaign(host)
        price = self._plan.usd_per_hour(piece.target, piece.settings)
        try:
            self._limits.check_start(self._plan.point_s(piece.samples()[0]), price)
        except Stopped as reason:  # what runs goes on
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
                ends += [ask(each, jobs.forget, self._campaign(host)) for each, host in hosts]
            for future in ends:
                with contextlib.suppress(Exception):  # a worker that ended meanwhile has ended its job, too
                    future.result(timeout=END_S)
        self._ledger.close()
