"""First runs of a point that differ from its later ones, as of cold caches: points of fewer repeats are then off."""

from __future__ import annotations

import collections
import functools
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...kpi import KPIDefinition
from ...matrix import Entry
from ...rows import Rows
from ..blocks import Block, blocks_of
from ..intervals import MAD
from ..words import as_percent, percent
from .finding import EVERY, NONE, Finding, Points

RISK = 5e-4
"""So rarely chance has the first of runs that are alike as high so often, and as low, of any of the KPIs asked."""
LEAST, SCATTERS = 0.01, 0.5
"""What is less than that, or than so many times what such differences scatter by, misleads nobody."""
FEWEST_POINTS = 5
MANY, UNDECIDED = 100, 0.1  # of so many points, first runs above the second ones in nearly half are as chance has it


class InTime:
    """The runs of each point in the order of their starts, and their blocks: what takes a while, once for all KPIs."""

    def __init__(self, good: Rows, points: Points) -> None:
        self.good, self._points = good, points

    @functools.cached_property
    def starts(self) -> Sequence[int | None]:
        """In microseconds since 1970; None where unknown."""
        return [start for start, _ in self.good.values("span_us")]

    @functools.cached_property
    def points(self) -> Points:
        """By repeat where times aren't known."""
        times = [-1 if start is None else start for start in self.starts]
        return [sorted(places, key=times.__getitem__) for places in self._points]

    @functools.cached_property
    def blocks(self) -> Sequence[Block]:
        return blocks_of(self.good)


class _Repeats(NamedTuple):
    """The runs of a point in one campaign, the first of them first."""

    places: Sequence[int]
    logarithms: Sequence[float]

    @property
    def ahead(self) -> float:
        """By how much the first is above the mean of the others."""
        return self.logarithms[0] - statistics.fmean(self.logarithms[1:])


def first_run_findings(
    runs: InTime, values: Sequence[float | None], kpi: KPIDefinition, asked: int = 1
) -> Iterator[Finding]:
    """The first runs of points, each in its campaign, where nearly all are above the later ones or nearly all below.

    Drifts look alike, and mislead alike. That changes answers where points have so different numbers of runs that
    their means differ by it. So many KPIs are *asked*.
    """
    several = [places for places in runs.points if len(places) > 1]
    above = sum((values[one] or 0) > (values[other] or 0) for one, other, *_ in several)
    if not several or (len(several) >= MANY and abs(above / len(several) - 0.5) < UNDECIDED):
        return  # to know the campaigns takes a while
    repeats, units, fewest = _together(runs, values)
    if len(repeats) < FEWEST_POINTS:
        return
    ahead = statistics.median(one.ahead for one in repeats)
    scatter = MAD * statistics.median(abs(one.ahead - ahead) for one in repeats)
    is_large = abs(ahead) >= max(math.log1p(LEAST), SCATTERS * scatter)
    if not is_large or not _is_no_chance(units, ahead > 0, RISK / asked):
        return
    apart = [one.places[0] for one in repeats if _is_first(one.logarithms, ahead > 0)]
    most = max(len(one.places) for one in repeats)
    off = abs(ahead) * (1 / fewest - 1 / most)
    size, side = percent(math.expm1(ahead)).lstrip("+−"), "above" if ahead > 0 else "below"
    what = f"{kpi.name} of a point's first run in a campaign is {size} {side} that of the later ones"
    why = f"and beyond all of these in {len(apart)} of {len(repeats)} cases: was it cold, or does the machine drift?"
    todo = f" Points of {fewest} and of {most} runs differ by {as_percent(off, digits=1)} for it." * (off >= LEAST)
    yield Finding.of("first-runs", f"{what}, {why}{todo}", runs.good.at(apart), EVERY if off >= LEAST else NONE)


def _together(runs: InTime, values: Sequence[float | None]) -> tuple[list[_Repeats], Iterable[list[_Repeats]], int]:
    """The runs of each point and campaign that repeated it, the same by units of evidence, and how few there may be."""
    good, starts, blocks = runs.good, runs.starts, runs.blocks
    fewest = len(good)
    repeats, units = list[_Repeats](), collections.defaultdict[object, list[_Repeats]](list)
    for places in runs.points:
        of_campaigns: dict[int, list[int]] = {}
        for place in places:
            of_campaigns.setdefault(blocks[place].campaign, []).append(place)
        for together in of_campaigns.values():
            known = [value for place in together if (value := values[place]) is not None and value > 0]
            fewest = min(fewest, len(together))
            if len(known) == len(together) > 1:
                first, second, *_ = together
                repeats.append(_Repeats(together, [math.log(value) for value in known]))
                units[_unit(good[first], blocks[first], starts[first] == starts[second])].append(repeats[-1])
    return repeats, units.values(), fewest


def _unit(first: Entry, block: Block, is_of_one_time: bool) -> object:
    """What the *first* run of a point shares with those of others: nothing, where they followed on its other runs."""
    if block.round is not None:
        return block.round
    if not is_of_one_time:
        return first.name
    return block.campaign, None if first.part is None else first.location


def _is_first(values: Sequence[float], is_above: bool) -> bool:
    """Whether the first of *values* is above, or below, all others."""
    return values[0] > max(values[1:]) if is_above else values[0] < min(values[1:])


def _is_no_chance(units: Iterable[list[_Repeats]], is_above: bool, risk: float) -> bool:
    """Whether the first runs are beyond the others of their unit more often than chance has it (Hoeffding 1963).

    Points that were measured in turn share the moods of their rounds, and are one unit.
    """
    times, expected, count = 0, 0.0, 0
    for unit in units:
        length = statistics.mode(len(one.logarithms) for one in unit)
        rounds = [one.logarithms[:length] for one in unit if len(one.logarithms) >= length]
        times += _is_first([math.fsum(of) for of in zip(*rounds, strict=True)], is_above)
        expected, count = expected + 1 / length, count + 1
    share, usual = times / count, expected / count
    if share <= usual:
        return False
    rest = (1 - share) * math.log((1 - share) / (1 - usual)) if share < 1 else 0.0
    return count * (share * math.log(share / usual) + rest) >= -math.log(risk)
