"""Which points go to which host, and what becomes of each: by what hosts tell of it, and by what is lost with them.

Whole rounds are dealt where there are enough, so that a host measures all sides alike. What it measures in one go is a
group again, with some of the points of one of the plan: its target is started once for them.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...cluster import Host
from ...errors import ClusterError
from ...recorded import read_block
from .. import run_directory, schema
from ..campaign import Listener, Report, write_searches
from ..load_driver import Stopped
from ..plan import Group, Plan
from ..run_directory import Outcome, Point
from . import job as jobs
from .crew import Crew, Measured, slow_hosts, speed_of
from .job import Job

if TYPE_CHECKING:
    from distributed import Future


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
    """The pieces that are not dealt yet, of *plan* for so many *hosts*."""

    def __init__(self, plan: Plan, hosts: int) -> None:
        groups = [group for group in plan.groups() if group.points or group.searches]
        rounds: dict[int | None, list[Group]] = {}
        for group in groups:
            rounds.setdefault(group.round, []).append(group)
        self._begun: dict[int | None, set[str]] = {number: set() for number in rounds}
        self._tried: dict[str, set[str]] = {}  # by target, the hosts that could not start it
        self._pieces: dict[int | None, list[Group]] = {}
        for number, of_round in rounds.items():
            shares = math.ceil(math.ceil(hosts / len(rounds)) / len(of_round))
            self._pieces[number] = [piece for group in of_round for piece in _pieces(plan, group, shares)]

    def __iter__(self) -> Iterator[Group]:
        for pieces in self._pieces.values():
            yield from pieces

    def deal(self, host: str, resources: Mapping[str, float], busy: Collection[str | None] = ()) -> Group | None:
        """The next piece for *host*; None where none is fit for it.

        It goes on with a round that it has begun, else begins one that nobody has, else helps with that of which most
        is left. *busy* are the exclusive targets that others load.
        """

        def rank(number: int | None) -> tuple[int, int, int]:
            begun = self._begun[number]
            helps = 0 if host in begun else 2 if begun else 1
            return helps, -len(self._pieces[number]) if helps == 2 else 0, number or 0

        for number in sorted(self._pieces, key=rank):
            for piece in self._pieces[number]:
                is_fit = all(resources.get(name, 0.0) >= count for name, count in piece.requires.items())
                is_taken = piece.exclusive is not None and piece.exclusive in busy
                if is_fit and not is_taken and host not in self._tried.get(piece.key, ()):
                    self._pieces[number].remove(piece)
                    self._begun[number].add(host)
                    return piece
        return None

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


def dealt(plan: Plan, hosts: Mapping[str, Mapping[str, float]]) -> dict[str, list[Group]]:
    """What each of *hosts*, by their resources, would measure if all were equally fast and none was lost."""
    deck, taken_s = Deck(plan, len(hosts)), dict.fromkeys(hosts, 0.0)
    found: dict[str, list[Group]] = {host: [] for host in hosts}
    while taken_s:
        host = min(taken_s, key=lambda name: taken_s[name])
        piece = deck.deal(host, hosts[host])
        if piece is None:
            del taken_s[host]
            continue
        found[host].append(piece)
        taken_s[host] += sum(plan.point_s(point) or 1.0 for point in piece.samples())
    return found


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


MOST_DEATHS = 3
"""So often a point may take its worker with it."""


@dataclasses.dataclass(slots=True)
class Running:
    """A piece that *host* measures for *campaign*; *at* is the point that it is at."""

    host: Host
    piece: Group
    campaign: str
    future: Future[jobs.Event]
    at: str | None = None
    heard: int = 0
    ended: set[str] = dataclasses.field(default_factory=set)


class Ledger:
    """The points of *plan* that the hosts of *crew* measure by jobs like *draft*; *deck* has those that wait."""

    def __init__(self, plan: Plan, crew: Crew, draft: Job, listener: Listener) -> None:
        self._plan, self._crew, self._draft, self._listener = plan, crew, draft, listener
        self.deck = Deck(plan, len({host.name for host in crew.hosts.values()}))
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
        elif "ended" in event and not self._draft.returns:
            self._ended(running, event["ended"], Outcome(**event["outcome"]))

    def settle(self, running: Running, result: jobs.Event) -> None:
        """What a job that came to its end says."""
        events: list[jobs.Event] = result["events"]
        for event in events[running.heard :]:
            self.take(running, event)
        outcomes = {event["ended"]: Outcome(**event["outcome"]) for event in events if "ended" in event}
        for path, archive in result["runs"].items():
            jobs.keep_returned(self._plan.root, Path(path), archive, self._paths.get(path))
            self._ended(running, path, outcomes[path])
        kept = ""
        if result["left"]:
            place = jobs.keep_left(self._plan.root, running.host.name, result["left"])
            kept = f"what it left is in {place}"
        report = next((event["report"] for event in events if "report" in event), None)
        if result["problem"] is not None or report is None or report["interrupted"]:
            reason = "; ".join(filter(None, [result["problem"] or "its job was interrupted", kept]))
            if result["problem"] is not None and not result["ends"]:
                self._crew.out[running.host.name] = reason
            self.lost(running, reason, is_death=result["ends"])
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
        if self._draft.root is not None:
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
