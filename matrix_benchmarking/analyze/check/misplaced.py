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


def misplaced_findings(rows: Rows, points: Points, versions: Sequence[str] = ()) -> Iterator[Finding]:
    """For a few points that have repeats twice the setting by which just those are missing at another point.

    *points* are places in *rows*. Campaigns that measure points again give no such pair, nor does a version (a setting
    named in *versions*) that lacks a point as a whole, as the newest may.
    """
    numbers = rows.values("repeat")
    of_points = [collections.Counter(numbers[place] for place in places) for places in points]
    twice = [at for at, repeats in enumerate(of_points) if max(repeats.values()) > 1]
    if not are_few(len(twice), len(points)):
        return
    usual = Repeats(collections.Counter(tuple(sorted(one.elements())) for one in of_points).most_common(1)[0][0])
    if not 1 < len(usual) == usual.total():
        return
    firsts = rows.at(places[0] for places in points)
    columns = {name: firsts.setting(name) for name in firsts.names()}
    columns = {name: column for name, column in columns.items() if len(set(column[1])) > 1}
    of_keys = list(zip(*(codes for _, codes in columns.values()), strict=True))
    known = dict(zip(of_keys, of_points, strict=True))
    rests = [_rests(of_keys, column) for column in range(len(columns))]
    for at in twice[:MOST_POINTS]:
        extra = of_points[at] - usual
        for column, (name, (values, _)) in enumerate(columns.items()):
            wanted = {code: usual - known.get(_with(of_keys[at], column, code), Repeats()) for code in rests[column]}
            lacking = [code for code, missing in wanted.items() if missing == extra]
            code = _lacking(lacking, of_keys[at], column, rests[column], are_whole=name not in versions)
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
    codes: Sequence[int], key: Key, column: int, rests: Mapping[int, set[Key]], *, are_whole: bool
) -> int | None:
    """That of *codes*, with which the point *key* lacks what it has too often, with which such points are measured.

    A point that isn't there at all lacks them where all others of its value are there, unless it may lack as a whole.
    """
    own, rest = rests[key[column]], _rest(key, column)
    for code in codes:
        others = rests[code]
        is_the_last = are_whole and len(others) + 1 == len(own) and rest not in others and others < own
        if code != key[column] and (rest in others or is_the_last):
            return code
    return None


def _with(key: Key, column: int, code: int) -> Key:
    return (*key[:column], code, *key[column + 1 :])


def _rest(key: Key, column: int) -> Key:
    return (*key[:column], *key[column + 1 :])
