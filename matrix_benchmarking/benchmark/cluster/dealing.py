"""Which points go to which host: whole rounds where there are enough, so that a host measures all sides alike.

What a host measures in one go is a group again, with some of the points of one of the plan: its target is started once
for them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterator, Mapping

from .. import schema
from ..plan import Group, Plan
from ..run_directory import Point

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
