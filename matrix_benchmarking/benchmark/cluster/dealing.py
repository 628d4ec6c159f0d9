"""Who measures, and what: the hosts that are fit, the pieces of the plan for each, and who was slower than its equals.

Whole rounds are dealt where there are enough, so that a host measures all sides alike. What it measures in one go is a
group again, with some of the points of one of the plan: its target is started once for them.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

from ...cluster import Cluster, Host, Question, check
from ...errors import ClusterError
from .. import schema
from ..plan import Group, Plan
from ..run_directory import Outcome, Point
from . import job as jobs
from .job import Job

SHORT_PIECE_S = 30.0
"""Of points without a target to start, about so many are dealt at once: what a job takes to start is a second."""


def requires(plan: Plan, point: Point) -> dict[str, float]:
    """What *point* needs of its host in Dask's words: ``{gpu: l4}`` is one gpu:l4, ``{gpu: 2}`` two of gpu."""
    found: dict[str, float] = {}
    for name, value in schema.fill(plan.file.requires, plan.context(point)).items():
        is_count = isinstance(value, (int, float)) and not isinstance(value, bool)
        found |= {name: float(value)} if is_count else {f"{name}:{value}": 1.0}
    return found


class Deck:
    """The pieces that are not dealt yet, of *plan* for so many *hosts*, and who is at work at which."""

    def __init__(self, plan: Plan, hosts: int, points_per_host: int = 1) -> None:
        groups = [group for group in plan.groups() if group.points or group.searches]
        rounds: dict[int | None, list[Group]] = {}
        for group in groups:
            rounds.setdefault(group.round, []).append(group)
        self._begun: dict[int | None, set[str]] = {number: set() for number in rounds}
        self._tried: dict[str, set[str]] = {}  # by target, the hosts that could not start it
        self._at_work: dict[str, tuple[Host, Group]] = {}  # by the worker's address
        self._points_per_host = points_per_host
        self._pieces: dict[int | None, list[Group]] = {}
        for number, of_round in rounds.items():
            shares = math.ceil(math.ceil(hosts / len(rounds)) / len(of_round))
            self._pieces[number] = [piece for group in of_round for piece in _pieces(plan, group, shares)]

    def __iter__(self) -> Iterator[Group]:
        for pieces in self._pieces.values():
            yield from pieces

    def deal(self, worker: Host) -> Group | None:
        """The next piece for *worker*; None where it or its host is at work, or none is fit for it.

        Its host goes on with a round that it has begun, else begins one that nobody has, else helps with that of which
        most is left. An exclusive target is loaded by one at a time.
        """
        host, others = worker.name, self._at_work.values()
        if worker.address in self._at_work or [each.name for each, _ in others].count(host) >= self._points_per_host:
            return None
        busy = {piece.exclusive for _, piece in others}

        def rank(number: int | None) -> tuple[int, int, int]:
            begun = self._begun[number]
            helps = 0 if host in begun else 2 if begun else 1
            return helps, -len(self._pieces[number]) if helps == 2 else 0, number or 0

        for number in sorted(self._pieces, key=rank):
            for piece in self._pieces[number]:
                is_taken = piece.exclusive is not None and piece.exclusive in busy
                if worker.has(piece.requires) and not is_taken and host not in self._tried.get(piece.key, ()):
                    self._pieces[number].remove(piece)
                    self._begun[number].add(host)
                    self._at_work[worker.address] = worker, piece
                    return piece
        return None

    def ended(self, worker: Host) -> None:
        """*worker* is at nothing any more."""
        del self._at_work[worker.address]

    def put_back(self, piece: Group) -> None:
        """What is left of a *piece* comes first again."""
        if piece.points or piece.searches:
            self._pieces[piece.round].insert(0, piece)

    def avoid(self, host: str, piece: Group) -> set[str]:
        """*host* could not start the target of *piece*, and gets none of it any more; gives all such hosts."""
        tried = self._tried.setdefault(piece.key, set())
        tried.add(host)
        return tried

    def remove(self, piece: Group) -> None:
        self._pieces[piece.round].remove(piece)


def dealt(plan: Plan, workers: Iterable[Host], points_per_host: int) -> dict[str, list[Group]]:
    """What each host would measure, dealt as in a run, if all were equally fast and none was lost."""
    ordered = sorted(workers, key=lambda worker: worker.name)
    found: dict[str, list[Group]] = {worker.name: [] for worker in ordered}
    deck, now_s = Deck(plan, len(found), points_per_host), 0.0
    ends: list[tuple[float, Host]] = []  # when each that is at work will have ended
    while True:
        for worker in ordered:
            if (piece := deck.deal(worker)) is not None:
                found[worker.name].append(piece)
                ends.append((now_s + plan.group_s(piece, 1.0), worker))
        if not ends:
            return found
        ends.sort(key=lambda end: end[0])
        now_s, worker = ends.pop(0)
        deck.ended(worker)


def _pieces(plan: Plan, group: Group, shares: int) -> Iterator[Group]:
    """*group* in so many *shares*, by what its points require; a paid target is started once for all of its points."""
    alike: dict[tuple[tuple[str, float], ...], list[Point]] = {}
    for point in group.points:
        alike.setdefault(tuple(sorted(requires(plan, point).items())), []).append(point)
    for needs, points in alike.items():
        size = len(points) if group.target is not None and group.target.is_paid else math.ceil(len(points) / shares)
        if group.target is None or group.target.url is not None:
            taken_s = plan.point_s(points[0])
            size = min(size, max(1, int(SHORT_PIECE_S / taken_s)) if taken_s else 1)
        for start in range(0, len(points), size):
            some = points[start : start + size]
            yield dataclasses.replace(group, points=some, searches=(), requires=dict(needs))
    for case in group.searches:
        yield dataclasses.replace(group, points=(), searches=[case], requires=requires(plan, case.first))


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
        work = functools.partial(jobs.check, self._draft.model_dump_json())
        able, refused = check(self.cluster, self._question, addresses, work, "be asked")
        for host, machine in able:
            self.hosts[host.address] = host
            self.machines[host.name] = json.dumps([machine[key] for key in ("cpu_model", "cores", "gpus")])
        self._refused |= {each for each in addresses if each not in self.hosts}
        return refused


MOST_CHANCE = 0.05
"""A host is named where its points would be slower as often as this by chance alone."""
LEAST_SLOWER = 0.05
FEWEST_POINTS, MOST_NAMED = 5, 5
"""Of fewer points even all slower ones are chance: 4 of 4 in 6 %."""


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """How fast a point was on a host of this *machine*, a model of hardware; *speed* is better where higher."""

    host: str
    machine: str
    point: Hashable
    speed: float


def speed_of(outcome: Outcome) -> float | None:
    """Its throughput, else by how long it took; None for one that failed."""
    if outcome.exit_code:
        return None
    if outcome.throughput:
        return outcome.throughput
    return 1 / outcome.wall_s if outcome.wall_s else None


def slow_hosts(measured: Sequence[Measured]) -> list[str]:
    """A sentence on each host that was slower than hosts of the same machine: by a one-sided sign test over the points
    that it and others measured, and by at least 5 % in their median; and one on those with too few such points."""
    sentences, few = [], list[str]()
    for host, ratios in sorted(_against_equals(measured).items()):
        if len(ratios) < FEWEST_POINTS:
            few.append(host)
            continue
        slower = sum(ratio < 0 for ratio in ratios)
        chance = sum(math.comb(len(ratios), count) for count in range(slower, len(ratios) + 1)) / 2 ** len(ratios)
        if chance <= MOST_CHANCE and (by := 1 - math.exp(statistics.median(ratios))) >= LEAST_SLOWER:
            sentences.append(
                f"{host} was slower than its equals at {slower} of {len(ratios)} points, by {by:.0%} in the median: "
                "look what else runs there"
            )
    if few:
        named = " or ".join(few) if len(few) <= MOST_NAMED else f"each of {len(few)} hosts"
        sentences.append(
            f"can't tell whether {named} was slower than its equals: it takes {FEWEST_POINTS} points that an equal "
            "measured, too, in this start (more repeats give more)"
        )
    return sentences


def _against_equals(measured: Sequence[Measured]) -> dict[str, list[float]]:
    """For each host that has equals the logarithms of its speed over theirs, one a point that both measured."""
    found: dict[str, list[float]] = {}
    for host, machine in {(each.host, each.machine) for each in measured}:
        own, others = dict[Hashable, list[float]](), dict[Hashable, list[float]]()
        for each in measured:
            if each.machine == machine:
                speeds = own if each.host == host else others
                speeds.setdefault(each.point, []).append(math.log(each.speed))
        if others:
            both = own.keys() & others.keys()
            found[host] = [statistics.fmean(own[point]) - statistics.fmean(others[point]) for point in both]
    return found
