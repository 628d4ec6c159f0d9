"""Simulated servers: true curves of throughput and p95 latency over the virtual users, and noisy runs of them.

The curves have the shapes that closed-loop load tests show: throughput in proportion to the virtual users
up to a knee, then a top that falls by a few percent a doubling; and shapes that fool a search.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import random
from collections.abc import Callable

from matrix_benchmarking.benchmark.search import Measurement

NOISE = 0.05
"""Standard deviation of one run, as a fraction of the true value; for throughput and for p95 latency."""

TOLERANCE = 0.03
TOLERANCE_UNDER_LIMIT = 0.08
"""Of what is nearer to a limit than the noise, nobody knows whether it keeps it."""

MAXIMUM = 512
TOP = 280.0
"""Throughput at the top of a curve, in inputs/s."""

TAIL = 1.6
"""p95 latency over mean latency."""


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A simulated server.

    Attributes:
        name: what its curve is like.
        curve: true throughput over its top, from the virtual users.
        dies_at: the virtual users from which each run fails; None: it survives all.
        p95_ms: the latency limit of the scenario, in milliseconds; None: no limit.
        is_hard: a known weakness of the search: a slow rise to an edge, hidden by noise of 5 %.
    """

    name: str
    curve: Callable[[float], float]
    dies_at: int | None = None
    p95_ms: float | None = None
    is_hard: bool = False

    def throughput(self, vus: int) -> float:
        """True throughput in inputs/s; 0 where the server fails."""
        if self.dies_at is not None and vus >= self.dies_at:
            return 0.0
        return TOP * self.curve(vus)

    def p95(self, vus: int) -> float:
        """True p95 latency in milliseconds: Little's law, mean latency = virtual users / throughput."""
        return 1000 * TAIL * vus / self.throughput(vus)

    def run(self, vus: int, rng: random.Random) -> Measurement:
        """One noisy run."""
        throughput = self.throughput(vus)
        if not throughput:
            return Measurement(vus, None)
        first, second = (max(0.5, rng.gauss(1, NOISE)) for _ in range(2))
        return Measurement(vus, throughput * first, self.p95(vus) * second)

    def best(self, maximum: int = MAXIMUM) -> float:
        """True throughput of the best number of virtual users that keeps the limit; 0 if there is none."""
        return _best(self, maximum)

    def accepts(self, vus: int) -> bool:
        """Is *vus* an answer within the tolerance of the best, and does it keep the latency limit if there is one?"""
        if self.p95_ms is None:
            return self.throughput(vus) >= (1 - TOLERANCE) * self.best()
        return self.p95(vus) <= self.p95_ms and self.throughput(vus) >= (1 - TOLERANCE_UNDER_LIMIT) * self.best()


@functools.cache
def _best(server: Server, maximum: int) -> float:
    alive = (vus for vus in range(1, maximum + 1) if server.throughput(vus))
    allowed = (vus for vus in alive if server.p95_ms is None or server.p95(vus) <= server.p95_ms)
    return max(map(server.throughput, allowed), default=0.0)


def knee(vus: float, at: float, fall: float = 0.0, sharpness: float = 6.0) -> float:
    """Throughput in proportion up to a knee, then falling by the fraction *fall* a doubling."""
    rise = (1 + (vus / at) ** -sharpness) ** (-1 / sharpness)
    return rise * (1 - fall) ** max(0.0, math.log2(vus / at))


def universal_scalability(vus: float, contention: float, coherency: float) -> float:
    """Gunther's universal scalability law, per virtual user: 1 / (1 + α (N − 1) + β N (N − 1)), times N."""
    return vus / (1 + contention * (vus - 1) + coherency * vus * (vus - 1))


def plateau(vus: float) -> float:
    """A plateau with ripples of ±1.5 %."""
    return knee(vus, 16) * (1 + 0.015 * math.sin(4.4 * math.log2(vus) + 1))


def tent(vus: float) -> float:
    """A sharp peak at 90, between two powers of two."""
    return vus / 90 if vus <= 90 else 0.75 ** math.log2(vus / 90)


def dip(vus: float) -> float:
    """A first top of 0.9 at 16, a dip of 20 % around 45, the true top at 256 and above."""
    hollow = 0.2 * math.exp(-((math.log2(vus / 45) / 0.9) ** 2))
    return knee(vus, 16) * (0.9 + 0.1 * _step(vus, 100, 0.4)) * (1 - hollow)


def _step(vus: float, at: float, width: float) -> float:
    return 1 / (1 + math.exp(-math.log2(vus / at) / width))


def step_up(vus: float) -> float:
    """A second worker wakes at 100 virtual users."""
    return knee(vus, 12) * (1.0 if vus >= 100 else 0.8)


def cliff(vus: float, rise: float) -> float:
    """Throughput rises with a power of the virtual users, and collapses by 25 % at 48 of them."""
    return knee(vus, 8) * ((vus / 47) ** rise if vus < 48 else 0.75)


SERVERS = (
    Server("peak at 1", lambda vus: 0.95 ** math.log2(vus)),
    Server("peak at 20", lambda vus: knee(vus, 20, 0.06)),
    Server("peak at 100", lambda vus: knee(vus, 100, 0.05)),
    Server("peak at 400", lambda vus: knee(vus, 400, 0.05)),
    Server("flat", lambda vus: 1.0),
    Server("noisy plateau", plateau),
    Server("rising to the cap", lambda vus: vus / (vus + 300)),
    Server("dying at 64", lambda vus: knee(vus, 30), dies_at=64),
    Server("refusing everything", lambda vus: 1.0, dies_at=1),
    Server("scalability law", lambda vus: universal_scalability(vus, 0.03, 0.0006) / 12.5),
    Server("sharp peak at 90", tent),
    Server("slow rise", lambda vus: (vus / 512) ** 0.058),
    Server("dip in the middle", dip),
    Server("step up at 100", step_up),
    Server("step down at 48", lambda vus: cliff(vus, 0.0)),
    Server("cliff after a steep rise", lambda vus: cliff(vus, 0.5)),
    Server("dying while rising", lambda vus: knee(vus, 100), dies_at=50),
    Server("p95 limit past the knee", lambda vus: knee(vus, 40, 0.02), p95_ms=700.0),
    Server("p95 limit while rising", lambda vus: vus / (vus + 60), p95_ms=700.0),
    Server("cliff after a slow rise", lambda vus: cliff(vus, 0.1), is_hard=True),
)
