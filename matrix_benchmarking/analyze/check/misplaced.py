"""Runs that may stand at another point than theirs, as where a settings file was copied: repeats tell."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence

from ...filters import show
from ...matrix import NOT_SET
from ...rows import Rows
from ...workload import Workload
from ..words import count_of, named
from .finding import Finding, Points, are_few
from .matched import Matched

Repeats = collections.Counter[int]
MOST_POINTS = 100  # with repeats twice are looked at


def misplaced_findings(rows: Rows, points: Points, workload: Workload) -> Iterator[Finding]:
    """For a few points that have repeats twice the setting by which just those are missing at another point.

    Campaigns that measure points again give no such pair, nor does a version that lacks a point as a whole, as the
    newest may.
    """
    numbers = rows.values("repeat")
    of_points = [collections.Counter(numbers[place] for place in places) for places in points]
    twice = [at for at, repeats in enumerate(of_points) if max(repeats.values()) > 1]
    if not are_few(len(twice), len(points)):
        return
    usual = Repeats(collections.Counter(tuple(sorted(one.elements())) for one in of_points).most_common(1)[0][0])
    if not 1 < len(usual) == usual.total():
        return
    extra = {at: of_points[at] - usual for at in twice[:MOST_POINTS]}
    missing = [usual - repeats for repeats in of_points]
    for name, values, alike in Matched(rows, points, workload).by_setting(of_words=False):
        may_lack = name not in workload.regression.comparison_keys
        for places in alike:
            for own, at in (pair for pair in places.items() if pair[1] in extra):
                lacking = [code for code, place in places.items() if missing[place] == extra[at]]
                lacking += _absent(own, places, alike) if may_lack and extra[at] == usual else []
                lacking = [code for code in lacking if values[code] is not NOT_SET]
                if lacking:
                    runs = [rows[place] for place in points[at] if extra[at][numbers[place]]]
                    repeats = named([*map(str, sorted(extra.pop(at)))])
                    said = f"{count_of(len(runs), 'run')} share repeats of one point ({repeats}), just those that are"
                    said = f"{said} missing where '{name}' is {show(values[lacking[0]])}"
                    yield Finding.of("misplaced", f"{said}: do some of them say a wrong '{name}'?", runs)


def _absent(own: int, places: Mapping[int, int], alike: Sequence[Mapping[int, int]]) -> list[int]:
    """The codes with which all points are there that are there with *own*, and no others, but for those at *places*."""
    others = [each for each in alike if each is not places]
    codes = set[int]().union(*others) - places.keys()
    return [code for code in sorted(codes) if all((code in each) == (own in each) for each in others)]
