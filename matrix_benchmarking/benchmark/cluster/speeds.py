"""Whether a host was slower than its equals, by the points that both measured."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Hashable, Sequence

from ..run_directory import Outcome

MOST_CHANCE = 0.05
"""A host is named where its points would be slower as often as this by chance alone."""
LEAST_SLOWER = 0.05


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
    that it and others measured, and by at least 5 % in their median."""
    sentences = []
    for host, machine in sorted({(each.host, each.machine) for each in measured}):
        alike = [each for each in measured if each.machine == machine]
        ratios = []
        for point in {each.point for each in alike if each.host == host}:
            own = [math.log(each.speed) for each in alike if each.point == point and each.host == host]
            others = [math.log(each.speed) for each in alike if each.point == point and each.host != host]
            if others:
                ratios.append(statistics.fmean(own) - statistics.fmean(others))
        slower = sum(ratio < 0 for ratio in ratios)
        chance = sum(math.comb(len(ratios), count) for count in range(slower, len(ratios) + 1)) / 2 ** len(ratios)
        if ratios and chance <= MOST_CHANCE and (by := 1 - math.exp(statistics.median(ratios))) >= LEAST_SLOWER:
            sentences.append(
                f"{host} was slower than its equals at {slower} of {len(ratios)} points, by {by:.0%} in the median: "
                "look what else runs there"
            )
    return sentences
