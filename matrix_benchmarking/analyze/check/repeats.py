"""Repeats that are off: first runs of points, as of cold caches, and runs that now and then meet a pause."""

from __future__ import annotations

import array
import collections
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ...grouped import grouped
from ...kpi import KPIDefinition
from ...matrix import Entry
from ...rows import Rows
from ..blocks import Block
from ..intervals import MAD
from ..words import as_percent, percent
from .finding import EVERY, NONE, OF_BEST, Finding
from .measured import Measured, Points

FEWEST_POINTS = 5
RISK = 5e-4
"""So rarely chance has the first of runs that are alike as high so often, and as low, of any of the KPIs asked."""
LEAST, SCATTERS = 0.01, 0.5
"""What is less than that, or than so many times what such differences scatter by, misleads nobody."""
MANY, UNDECIDED = 100, 0.1  # of so many points, first runs above the second ones in nearly half are as chance has it
PLAIN, TIMES_OTHERS, RISK_OF_PLAIN = 0.25, 8, 1 / 8
"""First runs that are all so far off, and so many times what the others scatter by, are said of few points, too."""


class _Repeats(NamedTuple):
    """The runs of a point in one campaign, the first of them first."""

    places: Sequence[int]
    logarithms: Sequence[float]

    @property
    def ahead(self) -> float:
        """By how much the first is above the mean of the others."""
        return self.logarithms[0] - statistics.fmean(self.logarithms[1:])


def first_run_findings(
    measured: Measured, values: Sequence[float | None], kpi: KPIDefinition, asked: int
) -> Iterator[Finding]:
    """The first runs of points, each in its campaign, where nearly all are above the later ones or nearly all below.

    Drifts look alike, and mislead alike. That changes answers where points have so different numbers of runs that
    their means differ by it. So many KPIs are *asked*.
    """
    several = [places for places in measured.in_time if len(places) > 1]
    above = sum((values[one] or 0) > (values[other] or 0) for one, other, *_ in several)
    if not several or (len(several) >= MANY and abs(above / len(several) - 0.5) < UNDECIDED):
        return  # to know the campaigns takes a while
    repeats, units, fewest = _together(measured, values)
    if not repeats:
        return
    ahead = statistics.median(one.ahead for one in repeats)
    scatter = MAD * statistics.median(abs(one.ahead - ahead) for one in repeats)
    is_large = len(repeats) >= FEWEST_POINTS and abs(ahead) >= max(math.log1p(LEAST), SCATTERS * scatter)
    if not _are_plain(repeats, ahead) and not (is_large and _is_no_chance(units, ahead > 0, RISK / asked)):
        return
    apart = [one.places[0] for one in repeats if _is_first(one.logarithms, ahead > 0)]
    most = max(len(one.places) for one in repeats)
    off = abs(ahead) * (1 / fewest - 1 / most)
    size, side = percent(math.expm1(ahead)).lstrip("+−"), "above" if ahead > 0 else "below"
    what = f"{kpi.name} of a point's first run in a campaign is {size} {side} that of the later ones"
    why = f"and beyond all of these in {len(apart)} of {len(repeats)} cases: was it cold, or does the machine drift?"
    todo = f" Points of {fewest} and of {most} runs differ by {as_percent(off, digits=1)} for it." * (off >= LEAST)
    yield Finding.of("first-runs", f"{what}, {why}{todo}", measured.runs.at(apart), EVERY if off >= LEAST else NONE)


def _are_plain(repeats: Sequence[_Repeats], ahead: float) -> bool:
    """Whether nobody needs statistics to see it: all first runs are far off, and all others close together."""
    others = [max(of) - min(of) for one in repeats if len(of := one.logarithms[1:]) > 1]
    apart = max(others, default=max(one.ahead for one in repeats) - min(one.ahead for one in repeats))
    nearest = min(one.ahead if ahead > 0 else -one.ahead for one in repeats)
    by_chance = math.prod(1 / len(one.logarithms) for one in repeats)
    return nearest >= max(math.log1p(PLAIN), TIMES_OTHERS * apart) and by_chance <= RISK_OF_PLAIN


def _together(
    measured: Measured, values: Sequence[float | None]
) -> tuple[list[_Repeats], Iterable[list[_Repeats]], int]:
    """The runs of each point and campaign that repeated it, the same by units of evidence, and how few there may be."""
    good, starts, blocks = measured.runs, measured.starts, measured.blocks
    fewest = len(good)
    repeats, units = list[_Repeats](), collections.defaultdict[object, list[_Repeats]](list)
    for places in measured.in_time:
        for together in grouped((blocks[place].campaign, place) for place in places).values():
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


LARGEST_VALUE = 1e300
FEWEST = 3  # runs of a point, of which one is far from the others
FEWEST_ROBUST = 5
FAR, TIMES, NEAR, ALONE = 0.15, 8, 4, 12
"""A run is far off by so much of its point's middle, and by so many times what repeats usually scatter; up to so many
times it is near. Few of those are said from so many times on.
"""
OFTEN, SEVERAL = 0.03, 3
"""From so many runs on it is of the benchmark, and the best of few repeats is one that was spared."""
LARGEST, MOST = 0.25, 0.9
"""Of more runs nobody knows which are the usual ones; of more points nobody was spared."""
_NORMAL = 1.8  # times the middle distance from the middle: the standard deviation of five normal values and more


def uneven_findings(
    good: Rows, points: Points, values: Sequence[float | None], kpi: KPIDefinition
) -> Iterator[Finding]:
    """The runs whose value of *kpi* is far from the middle of their point's, with hardly any between.

    Where repeats scatter more at some points than at others, or have long tails, there are many between.
    """
    usual, every, runs, ats = list[float](), array.array("d"), array.array("Q"), array.array("Q")
    for at, places in enumerate(points):
        known = sorted((value, place) for place in places if (value := values[place]) and 0 < value < LARGEST_VALUE)
        if len(known) >= FEWEST:
            middle = (known[(len(known) - 1) // 2][0] + known[len(known) // 2][0]) / 2
            distances = [_distance(value, middle) for value, _ in known]
            every.extend(distances)
            runs.extend([place for _, place in known])
            ats.extend([at] * len(known))
            usual.append(_scatter(sorted(map(abs, distances))))
    if len(usual) < FEWEST_POINTS:
        return
    scatter, count = statistics.median(usual), len(every)
    if not scatter:  # most repeats are alike, and steps tell nothing
        return
    least = max(FAR, TIMES * scatter)
    far = [(every[one], runs[one], ats[one]) for one in range(count) if abs(every[one]) > least]
    between = sum(abs(distance) > NEAR * scatter for distance in every) - len(far)
    if not 0 < len(far) <= LARGEST * count or between > len(far):
        return
    of_points = collections.Counter(at for *_, at in far)
    crowded = sum(times > LARGEST * len(points[at]) + 0.5 for at, times in of_points.items())
    # A slow round is shared by all points, and some points may scatter more than others.
    if len(of_points) > MOST * len(usual) or 2 * crowded > len(of_points):
        return
    sizes = dict.fromkeys(
        percent(distance if distance > 0 else distance / (1 - distance)) for distance, *_ in (min(far), max(far))
    )
    what = f"{kpi.name} is {' to '.join(sizes)} off the middle of a point's repeats in {len(far)} of {count} runs"
    is_often = len(far) >= max(SEVERAL, OFTEN * count)
    if not is_often and max(abs(distance) for distance, *_ in far) < ALONE * scatter:
        return
    rest = ": where repeats are few the best may be one that was spared" if is_often else ""
    said = f"{what}, and else they scatter by {as_percent(scatter, digits=1)}{rest}."
    changes = OF_BEST if is_often else NONE
    yield Finding.of("uneven", said, good.at(place for _, place, _ in far), changes)


def _distance(value: float, middle: float) -> float:
    """By how much of the smaller one the larger one is larger; below 0 for a value that is smaller."""
    return value / middle - 1 if value >= middle else 1 - middle / value


def _scatter(distances: Sequence[float]) -> float:
    """About the standard deviation of repeats with these *distances* from their middle, in order; some may be far."""
    if len(distances) >= FEWEST_ROBUST:
        return _NORMAL * distances[len(distances) // 2]
    return math.hypot(*distances) / math.sqrt(len(distances) - 1)
