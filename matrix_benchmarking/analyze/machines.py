"""Whether what is compared differs in what nobody compares, such as the machine, which may be the reason then.

A machine is what :attr:`.Environment.host` records: processor, cores, GPUs and kernel. One that isn't recorded, or only
in part of what another one tells, says nothing.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator, Mapping, Sequence

from ..filters import show
from ..matrix import Entry
from ..rows import Rows
from ..workload import Workload
from .blocks import LONGEST_PAUSE_S, apart
from .points import keys
from .words import count_of, named

Machines = Mapping[str, int]
"""How many runs each machine measured."""
Sides = tuple[Sequence[Entry], Sequence[Entry]]
"""Runs that are compared: the old ones and the new ones."""
UNEQUAL = 0.25
"""From which share of the runs on, that is of other machines, these may be what differs."""
ROUNDING = 1e-9
MAY_BE_THE_REASON = "what differs may be the machine"
_NAMED = 2

_NAMES_ONE = re.compile(
    r"(hw|hardware|cpu|gpu|device|accelerator|instance|node|machine|host)s?(_(type|model|name))?|vendor|hostname"
)
"""Settings that say which machine it is: what differs in one of them is of another one, as everybody expects."""


def distance(some: Machines, others: Machines) -> float:
    """The share of either that the other one has on other machines (the total variation distance); 0 where unknown."""
    own, rest = sum(some.values()), sum(others.values())
    if not own or not rest:
        return 0.0
    return 1.0 - sum(min(count / own, others.get(name, 0) / rest) for name, count in some.items())


def between_sides(sides: Sequence[Sides], are_changes: Sequence[bool] | None = None) -> str:
    """How many comparisons of two *sides* are of different machines, as a sentence; empty where none is.

    Of sides of which it is known that they are no change, different ones have no machine in common.
    """
    of_runs: dict[tuple[int, ...], Machines] = {}

    def machines(side: Sequence[Entry]) -> Machines:
        key = tuple(map(id, side))  # the KPIs of the same runs share them
        if key not in of_runs:
            of_runs[key] = collections.Counter(filter(None, (entry.host for entry in side)))
        return of_runs[key]

    both = [(machines(old), machines(new)) for old, new in sides]
    whole = _whole({name for pair in both for side in pair for name in side})
    known = {id(one): _known(one, whole) for one in of_runs.values()}
    both = [(known[id(old)], known[id(new)]) for old, new in both]
    least = [UNEQUAL if is_change else 1.0 for is_change in are_changes or [True] * len(both)]
    unequal = [pair for pair, share in zip(both, least, strict=True) if distance(*pair) > share - ROUNDING]
    if not unequal:
        return ""
    of = "Both sides" if len(unequal) == len(sides) else f"Both sides of {len(unequal)} of {len(sides)} series"
    is_apart = all(not old.keys() & new.keys() for old, new in unequal)
    what = "different machines or kernels" if is_apart else "machines or kernels in unequal shares"
    return f"{of} were measured on {what} ({' | '.join(map(_named, unequal[0]))}): {MAY_BE_THE_REASON}."


def campaigns_together(sides: Sequence[Sides]) -> str:
    """That campaigns of one side, which are taken as independent, were measured one after the other; else empty."""
    of_runs = {tuple(map(id, side)): side for pair in sides for side in pair}  # the KPIs of the same runs share them
    recorded = (side for side in of_runs.values() if any(run.campaign is not None for run in side))
    close = [(count, left) for count, left in map(apart, recorded) if left < count]
    if not close:
        return ""
    count, left = max(close)
    minutes = f"{LONGEST_PAUSE_S // 60} minutes"
    times = f"no {minutes} lie between them, or nobody knows their times"
    most = "one campaign" if left == 1 else f"{left} campaigns"
    return f"{count} campaigns of one side may be {most}: {times}. If they share a mood of the machine, less is sure."


def ignored_since(sides: Sequence[Sides], names: Sequence[str]) -> str:
    """That settings of these *names*, which tell no series apart, had one value before a change and another one since.

    A sentence on the two *sides* of all changes; empty where it is so of none.
    """
    distinct = {(*map(id, old), None, *map(id, new)): (old, new) for old, new in sides if names and len(old) > 1}
    found = dict[str, None]()
    for both in distinct.values():
        for name in names:
            old, new = ({show(run.settings[name]) for run in side if name in run.settings} for side in both)
            if len(old) == len(new) == 1 and old != new:
                found[f"{name} is {''.join(new)} instead of {''.join(old)}"] = None
    return f"Ignored, and changed at the same time: {named([*found], 2)}. That may be the reason." if found else ""


def among_points(good: Rows, workload: Workload) -> Iterator[tuple[bool, str]]:
    """That points which are compared are of other machines than the rest, and whether as versions, or in a ranking."""
    hosts = good.values("host")
    whole = _whole({host for host in hosts if host})
    if len(whole) < 2:
        return
    hosts = [host if host in whole else None for host in hosts]
    regression, names = workload.regression, [*good.names()]
    left_out = {*regression.comparison_keys, *regression.ignored_keys}
    named = [name for name in names if _NAMES_ONE.fullmatch(name)]
    ranked = [*workload.group_keys, *named, *regression.comparison_keys]
    for is_history, within in ((True, [name for name in names if name not in left_out]), (False, ranked)):
        unequal, points = _unequal(keys(good, within), keys(good, names), hosts)
        if unequal:
            what = "versions, each in its series," if is_history else "points, which are ranked together,"
            counts = collections.Counter(filter(None, hosts))
            where = f"{unequal} of {points} {what} on other machines or kernels than the rest"
            yield is_history, f"Measured were {where} ({_named(counts)}): {MAY_BE_THE_REASON}."


def _unequal(
    groups: Sequence[tuple[int, ...]], points: Sequence[tuple[int, ...]], hosts: Sequence[str | None]
) -> tuple[int, int]:
    """How many points are of other machines than the rest of their group, and how many there are."""
    of_groups: dict[tuple[int, ...], dict[tuple[int, ...], collections.Counter[str]]] = {}
    for group, point, host in zip(groups, points, hosts, strict=True):
        if host:
            of_groups.setdefault(group, {}).setdefault(point, collections.Counter())[host] += 1
    count = unequal = 0
    for of_points in of_groups.values():
        together = sum(of_points.values(), collections.Counter[str]())
        count += len(of_points)
        apart = (distance(machines, together - machines) for machines in of_points.values())
        unequal += sum(each > UNEQUAL - ROUNDING for each in apart)
    return unequal, count


def _whole(hosts: set[str]) -> frozenset[str]:
    """Those of *hosts* of which not all is said of another one, too, which tells more."""
    parts = {host: frozenset(host.split(", ")) for host in hosts}
    return frozenset(host for host, own in parts.items() if not any(own < others for others in parts.values()))


def _known(machines: Machines, whole: frozenset[str]) -> Machines:
    return {host: count for host, count in machines.items() if host in whole}


def _named(machines: Machines) -> str:
    """``'AMD EPYC 7763, Linux 6.1': 6 runs, 'Intel Xeon, Linux 6.1': 1 run``."""
    ordered = sorted(machines.items(), key=lambda each: (-each[1], each[0]))
    more = f" and {len(ordered) - _NAMED} more" if len(ordered) > _NAMED else ""
    return ", ".join(f"'{host}': {count_of(count, 'run')}" for host, count in ordered[:_NAMED]) + more
