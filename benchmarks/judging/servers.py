"""Servers that the search was not tuned on: cliffs and late dips anywhere, states by chance, limits on latency."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from matrix_benchmarking.benchmark.search import Measurement

MAXIMUM = 512
USERS = np.arange(1.0, MAXIMUM + 1)
DOUBLINGS = np.log2(USERS)
NOISE = 0.03
"""Standard deviation of one run, as a fraction; lognormal with mean 1."""

WITHIN = 0.05
"""An answer is right if its true throughput is at most this much below the best of all whole numbers."""

Curve = NDArray[np.float64]
"""Of a true value at 1, 2, … MAXIMUM virtual users, in any unit."""


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A server whose truth is known.

    Attributes:
        curve: its throughput.
        noise: standard deviation of one run, as a fraction, at each number of users.
        p95_ms: its latency, within *noise_of_p95*.
        limit_ms: on that; infinite without one.
        low: what is left of the throughput in the worse of two states, of which a run has one by chance.
        chance: of that, at each number of users; the truth is the mean.
    """

    curve: Curve
    noise: Curve
    p95_ms: Curve = dataclasses.field(default_factory=lambda: np.ones(MAXIMUM))
    noise_of_p95: float = 0.05
    limit_ms: float = np.inf
    low: float = 1.0
    chance: Curve = dataclasses.field(default_factory=lambda: np.zeros(MAXIMUM))

    def run(self, users: int, rng: np.random.Generator) -> Measurement:
        at = users - 1
        state = self.low if rng.random() < self.chance[at] else 1.0
        throughput = float(self.curve[at]) * state * lognormal(rng, float(self.noise[at]))
        return Measurement(users, throughput, float(self.p95_ms[at]) * lognormal(rng, self.noise_of_p95))

    def keeps(self, users: int) -> bool:
        return bool(self.p95_ms[users - 1] <= self.limit_ms)

    def is_right(self, users: int) -> bool:
        means = self.curve * (1 - self.chance * (1 - self.low))
        best = means[self.p95_ms <= self.limit_ms].max()
        return self.keeps(users) and bool(means[users - 1] >= (1 - WITHIN) * best)


Draw = Callable[[np.random.Generator], Server]


def lognormal(rng: np.random.Generator, noise: float) -> float:
    return float(rng.lognormal(-(noise**2) / 2, noise))


def place(rng: np.random.Generator, low: float, high: float) -> float:
    """Each doubling between the two is as probable."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def saturating_with_cliff(rng: np.random.Generator) -> Curve:
    """x / (x + k) up to a cliff of 10 to 90 %, after which it falls on."""
    edge = place(rng, 2.2, 400)
    curve = USERS / (USERS + edge * place(rng, 0.3, 4))
    return curve * np.where(edge > USERS, 1.0, (1 - rng.uniform(0.1, 0.9)) * (edge / USERS) ** rng.uniform(0, 0.3))


def plateau_with_late_cliff(rng: np.random.Generator) -> Curve:
    """Rises by 2 % a doubling up to a cliff of 10 to 90 % that nothing announces."""
    rising = np.tanh(USERS / place(rng, 2, 20)) * (1 + 0.02 * DOUBLINGS)
    return np.asarray(rising * np.where(place(rng, 24, 500) > USERS, 1.0, 1 - rng.uniform(0.1, 0.9)))


def plateau_with_late_dip(rng: np.random.Generator) -> Curve:
    """A hole of 10 to 90 % between two edges that lie a tenth to seven tenths apart."""
    begin = place(rng, 24, 256)
    inside = (begin <= USERS) & (begin * place(rng, 1.1, 1.7) > USERS)
    return np.asarray(np.tanh(USERS / place(rng, 2, 20)) * np.where(inside, 1 - rng.uniform(0.1, 0.9), 1.0))


BROKEN = (saturating_with_cliff, plateau_with_late_cliff, plateau_with_late_dip)


def even(noise: float, shape: Callable[[np.random.Generator], Curve]) -> Draw:
    return lambda rng: Server(shape(rng), np.full(MAXIMUM, noise))


def growing(shape: Callable[[np.random.Generator], Curve]) -> Draw:
    """Noise of 1 % at one user and 10 % at the maximum, with the doublings in between."""
    return lambda rng: Server(shape(rng), 0.01 + 0.09 * DOUBLINGS / DOUBLINGS[-1])


def in_two_states(shape: Callable[[np.random.Generator], Curve]) -> Draw:
    """In a stretch of half a doubling to both sides of a place, some runs are slower by 10 to 50 %."""

    def draw(rng: np.random.Generator) -> Server:
        near = np.abs(DOUBLINGS - np.log2(place(rng, 4, 256))) < 0.5
        chance = np.where(near, rng.uniform(0.1, 0.4), 0.0)
        return Server(shape(rng), np.full(MAXIMUM, NOISE), low=rng.uniform(0.5, 0.9), chance=chance)

    return draw


def limited(noise_of_p95: float, shape: Callable[[np.random.Generator], Curve]) -> Draw:
    """p95 is flat, then rises with a power of the users past a knee of its own, to which the limit has no relation."""

    def draw(rng: np.random.Generator) -> Server:
        p95_ms = 20 * (1 + (USERS / place(rng, 4, 200)) ** rng.uniform(0.7, 2.5))
        limit_ms = place(rng, max(22.0, float(p95_ms[0])), max(25.0, float(p95_ms[-1])))
        return Server(shape(rng), np.full(MAXIMUM, NOISE), p95_ms, noise_of_p95, limit_ms)

    return draw


def by_littles_law(shape: Callable[[np.random.Generator], Curve]) -> Draw:
    """p95 in proportion to users by throughput, and a limit anywhere above its lowest value."""

    def draw(rng: np.random.Generator) -> Server:
        curve = shape(rng)
        p95_ms = 100 * USERS / curve * curve[0]
        lowest = 1.15 * float(p95_ms.min())
        limit_ms = place(rng, lowest, max(lowest, float(p95_ms[-1])))
        return Server(curve, np.full(MAXIMUM, NOISE), p95_ms, NOISE, limit_ms)

    return draw
