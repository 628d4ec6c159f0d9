"""The hosts that measure: who is fit, who came, who is gone, and who can't go on."""

from __future__ import annotations

import functools
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from ...cluster import Cluster, Host, Question, check
from ...errors import ClusterError
from . import on_worker
from .job import Job

LOOK_S, RENEW_S = 1.0, 10.0


class Crew:
    """The hosts of *cluster* that can measure what *draft* is about; *question* is about the results directory."""

    def __init__(self, cluster: Cluster, question: Question, draft: Job) -> None:
        self.cluster, self._question, self._draft = cluster, question, draft
        self.hosts: dict[str, Host] = {}
        self.machines: dict[str, str] = {}  # by the host's name, its hardware
        self.out: dict[str, str] = {}  # by the host's name, why it can't go on
        self._refused: set[str] = set()
        self._looked, self._renewed, self._alone = 0.0, time.monotonic(), time.monotonic()

    def require(self) -> None:
        """Take in all workers that are there; ClusterError names each that isn't fit, before anything is begun."""
        refused = self._take_in(self.cluster.workers())
        if refused:
            raise ClusterError("\n".join(refused))

    def update(self, say: Callable[[str], None]) -> set[str]:
        """Take in workers that came, once a second, and give the addresses of those that are gone.

        Lost ones are replaced where we started them. ClusterError: none is left, and none came in time.
        """
        now, named = time.monotonic(), self.cluster.named
        if now - self._looked < LOOK_S:
            return set()
        self._looked, known = now, self.cluster.workers()
        gone = self.hosts.keys() - known.keys()
        for address in gone:
            del self.hosts[address]
        new = [each for each in known if each not in self.hosts and each not in self._refused]
        for sentence in self._take_in(new):
            say(f"a worker that came later is left out: {sentence}")
        if len(self.hosts) < (named.wanted or 0) and now - self._renewed > RENEW_S:
            self._renewed = now
            self.cluster.renew()
        if self.hosts:
            self._alone = now
        elif now - self._alone > named.start_timeout_s:
            raise ClusterError("no worker is left")
        return gone

    def fit_for(self, wanted: Mapping[str, float]) -> set[str]:
        """The names of the hosts that have what is *wanted*."""
        return {host.name for host in self.hosts.values() if host.has(wanted) and host.name not in self.out}

    def oddities(self) -> list[str]:
        """A sentence where hosts of several names are one machine, or one has workers to spare."""
        names: dict[str, set[str]] = {}
        for host in self.hosts.values():
            names.setdefault(host.kernel, set()).add(host.name)
        several = [sorted(each) for each in names.values() if len(each) > 1]
        said = [f"{', '.join(each)} are one machine: points on them disturb each other" for each in several]
        for name, workers in sorted(Counter(host.name for host in self.hosts.values()).items()):
            if (idle := workers - self._draft.points_per_host) > 0:
                said.append(
                    f"{name} has {workers} workers, of which {idle} will have nothing to do, as points don't share a "
                    "host (points_per_host): with Slurm, ask for whole nodes (directives: [--exclusive])"
                )
        return said

    def _take_in(self, addresses: Iterable[str]) -> list[str]:
        work = functools.partial(on_worker.check, self._draft.model_dump_json())
        able, refused = check(self.cluster, self._question, addresses, work, "be asked")
        for host, machine in able:
            self.hosts[host.address] = host
            self.machines[host.name] = json.dumps([machine[key] for key in ("cpu_model", "cores", "gpus")])
        self._refused |= {each for each in addresses if each not in self.hosts}
        return refused
