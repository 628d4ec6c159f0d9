"""Whether what is compared was measured on different machines, which may be what differs then.

A machine is what :attr:`.Environment.host` records: processor, GPUs and kernel. One that isn't recorded says nothing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from ..filters import show
from ..lts.read import host_of_entry
from ..matrix import Entry, order, typed
from ..rows import Rows
from ..workload import RegressionKeys
from .points import keys
from .select.order import Order
from .words import count_of

Machines = frozenset[str]
Sides = tuple[Sequence[Entry], Sequence[Entry]]
"""Runs that are compared: the old ones and the new ones."""
MAY_BE_THE_REASON = "what differs may be the machine"

_NAMES_ONE = re.compile(
    r"(hw|hardware|cpu|gpu|device|accelerator|instance|node|machine|host)s?(_(type|model|name))?|vendor|hostname"
)
"""Settings that say which machine it is: what differs in one of them is of another one, as everybody expects."""


def machines_of(entries: Iterable[Entry]) -> Machines:
    """Those on which *entries* were measured, as far as it is recorded."""
    return frozenset(host for entry in entries if (host := host_of_entry(entry)))


def of_each(rows: Rows) -> Sequence[str | None]:
    """The machine of each of *rows*."""
    return list(map(host_of_entry, rows)) if rows.table.has_facts else rows.values("host")


def apart(old: Machines, new: Machines) -> bool:
    """Whether both are known, and none of the one is among the other."""
    return bool(old and new) and not old & new


def named_apart(old: Machines, new: Machines) -> str:
    """``'AMD EPYC 7763, Linux 6.1' | 'Intel Xeon, Linux 6.1'``: of several the first, and how many others there are."""
    return " | ".join(_named(side) for side in (old, new))


def _named(machines: Machines) -> str:
    first, *others = sorted(machines)
    return f"'{first}'{f' and {len(others)} more' if others else ''}"


def between_sides(sides: Sequence[Sides]) -> str:
    """How many comparisons of two *sides* are of different machines, as a sentence; empty where none is."""
    known = list(_apart(sides))
    if not known:
        return ""
    of = "Both sides" if len(known) == len(sides) else f"Both sides of {len(known)} of {len(sides)} series"
    return f"{of} were measured on different machines ({named_apart(*known[0])}): {MAY_BE_THE_REASON}."


def _apart(sides: Iterable[Sides]) -> Iterator[tuple[Machines, Machines]]:
    of_runs: dict[tuple[int, ...], Machines] = {}

    def machines(side: Sequence[Entry]) -> Machines:
        key = tuple(map(id, side))  # the KPIs of the same runs share them
        if key not in of_runs:
            of_runs[key] = machines_of(side)
        return of_runs[key]

    for old, new in sides:
        both = machines(old), machines(new)
        if apart(*both):
            yield both


def with_settings(good: Rows, regression: RegressionKeys, in_order: Order | None) -> Iterator[tuple[str, str]]:
    """Each setting with which the machine differs where nothing else does, and that as a sentence.

    Values next to each other are compared: of versions by their order, where it is known.
    """
    hosts = of_each(good)
    if len(set(hosts) - {None}) < 2:
        return
    places = {} if in_order is None else in_order.known_places
    names = [name for name in good.names() if name not in regression.ignored_keys and not _NAMES_ONE.fullmatch(name)]
    for name in names:
        versions = regression.comparison_keys if name in regression.comparison_keys else ()
        others = [each for each in good.names() if each != name and each not in (*versions, *regression.ignored_keys)]
        known = places.get(name, {})
        values, codes = good.setting(name)
        groups: dict[tuple[int, ...], dict[int, set[str]]] = {}
        for group, code, host in zip(keys(good, others), codes, hosts, strict=True):
            if host:
                groups.setdefault(group, {}).setdefault(code, set()).add(host)
        place_of = {code: (known.get(typed(value), -1), order(value)) for code, value in enumerate(values)}
        found: dict[tuple[int, int], list[tuple[Machines, Machines]]] = {}
        for group_of in groups.values():
            in_turn = sorted(group_of, key=place_of.__getitem__)
            for old, new in itertools.pairwise(in_turn):
                if apart(*(both := (frozenset(group_of[old]), frozenset(group_of[new])))):
                    found.setdefault((old, new), []).append(both)
        if found:
            last = max(found, key=lambda pair: (place_of[pair[1]], place_of[pair[0]]))
            between = " and ".join(show(values[code]) for code in last)
            more = f"; and between {len(found) - 1} other pairs of its values" if len(found) > 1 else ""
            where = f"in {count_of(len(found[last]), 'comparison')} ({named_apart(*found[last][0])})"
            yield name, f"With '{name}' {between} the machine differs too, {where}{more}: {MAY_BE_THE_REASON}."
