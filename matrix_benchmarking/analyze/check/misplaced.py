"""Runs that may stand at another point than theirs, as where a settings file was copied: repeats tell."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence

from ...filters import show
from ...matrix import NOT_SET
from ...rows import Rows
from ..words import count_of, named
from .across import Points
from .finding import Finding, are_few

Key = tuple[int, ...]
Repeats = collections.Counter[int]
MOST_POINTS = 100  # with repeats twice are looked at


def misplaced_findings(rows: Rows, points: Points) -> Iterator[Finding]:
    """For a few points that have repeats twice the setting by which just those are missing at another point.

    *points* are places in *rows*. Campaigns that measure points again give no such pair.
    """
    numbers = rows.values("repeat")
    of_points = [collections.Counter(numbers[place] for place in places) for places in points]
    twice = [at for at, repeats in enumerate(of_points) if max(repeats.values()) > 1]
    if not are_few(len(twice), len(points)):
        return
    usual = collections.Counter(tuple(sorted(repeats.elements())) for repeats in of_points).most_common(1)[0][0]
    if not 1 < len(usual) == len(set(usual)):
        return
    firsts = rows.at(places[0] for places in points)
    columns = {name: firsts.setting(name) for name in firsts.names()}
    columns = {name: column for name, column in columns.items() if len(set(column[1])) > 1}
    of_keys = list(zip(*(codes for _, codes in columns.values()), strict=True))
    known = dict(zip(of_keys, of_points, strict=True))
    rests = [_rests(of_keys, column) for column in range(len(columns))]
    for at in twice[:MOST_POINTS]:
        extra = of_points[at] - collections.Counter(usual)
        for column, (name, (values, _)) in enumerate(columns.items()):
            code = _lacking(known, of_keys[at], column, rests[column], collections.Counter(usual), extra)
            if code is not None and values[code] is not NOT_SET:
                runs = [rows[place] for place in points[at] if extra[numbers[place]]]
                said = f"{count_of(len(runs), 'run')} share repeats of one point ({named([*map(str, sorted(extra))])})"
                said = f"{said}, just those that are missing where '{name}' is {show(values[code])}"
                said = f"{said}: do some of them say a wrong '{name}'?"
                yield Finding.of("misplaced", said, runs)
                break


def _rests(of_keys: Sequence[Key], column: int) -> Mapping[int, set[Key]]:
    """What else the points say, by their value of a *column*."""
    found: dict[int, set[Key]] = {}
    for key in of_keys:
        found.setdefault(key[column], set()).add(_rest(key, column))
    return found


def _lacking(
    known: Mapping[Key, Repeats], key: Key, column: int, rests: Mapping[int, set[Key]], usual: Repeats, extra: Repeats
) -> int | None:
    """The value of a *column* with which the point *key* lacks just the *extra* repeats; None for no such value.

    A point that isn't there at all lacks them where all others of its value are there.
    """
    own, rest = rests[key[column]], _rest(key, column)
    for code, others in rests.items():
        is_the_last = len(others) + 1 == len(own) and rest not in others and others < own
        if code == key[column] or not (rest in others or is_the_last):
            continue
        if usual - known.get((*key[:column], code, *key[column + 1 :]), Repeats()) == extra:
            return code
    return None


def _rest(key: Key, column: int) -> Key:
    return (*key[:column], *key[column + 1 :])
