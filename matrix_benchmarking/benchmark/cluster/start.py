"""A plan on the machines that a person named: connect, make sure that all are fit, and only then begin."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...cluster import Question, connected
from ...cluster.workers import token_in
from ...errors import ClusterError, ConfigError
from ...named_cluster import NamedCluster
from ..campaign import Listener, Report
from ..load_driver import Limits
from ..plan import Group, Plan
from ..run_directory import OWN_DIRECTORY
from . import on_worker
from .conductor import Conductor
from .crew import Crew
from .dealing import Deck, dealt
from .job import Job, workload_digest, written

LOGS = f"{OWN_DIRECTORY}/workers"


def draft_of(plan: Plan, named: NamedCluster, prices: Mapping[str, float]) -> Job:
    """What all jobs of *plan* have in common. ConfigError: it can't be measured on a cluster."""
    is_shared = named.results == "share" and plan.bucket is None
    if named.results == "return" and plan.bucket is not None:
        raise ConfigError(
            f"cluster: {{results: return}}, but {plan.bucket} gets each run from who measured it: leave it out"
        )
    if plan.target is not None and plan.target.is_paid and not is_shared:
        raise ConfigError(
            "a paid target on a cluster needs a results directory that all machines share: there lies the lease by "
            "which it is torn down from anywhere"
        )
    return Job(
        name="draft",
        file=written(plan),
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
        cluster = stack.enter_context(connected(named, plan.root / LOGS))
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
    for left in (plan.root / on_worker.JOBS).glob("*"):  # of hosts that were gone before they came to its end
        on_worker.set_aside(plan.root, left)
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
