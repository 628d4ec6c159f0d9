"""How well the search for the saturation point does on simulated servers, against a sweep and a bisection.

Prints one table: for each server and method, the share of runs whose answer is within 3 % of the true best
(over all whole numbers of virtual users), the mean and the largest number of measurements, and whether the
method reaches the target: 95 % of the runs, with at most half of the sweep's measurements on average.

    python benchmarks/saturation_search.py [--runs 100] [--seed 0] [--servers NAME …]
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import random
import statistics
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import itertools

from benchmarks.simulated_servers import MAXIMUM, SERVERS, Server
from matrix_benchmarking.benchmark.search import Measurement, SearchError, SearchSpec, next_step

TARGET = 0.95
SHARE_OF_SWEEP = 0.5
REPEATS = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """One method on one server: its right answers, and the number of measurements of each run."""

    right: int
    measurements: list[int]

    @property
    def share(self) -> float:
        return self.right / len(self.measurements)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.measurements)


class Bench:
    """A server under a noisy load generator that counts its measurements."""

    def __init__(self, server: Server, rng: random.Random) -> None:
        self.server = server
        self.count = 0
        self._rng = rng
        self.dead_from = MAXIMUM + 1

    def run(self, vus: int) -> Measurement:
        self.count += 1
        return self.server.run(vus, self._rng)

    def worth(self, vus: int, repeats: int) -> float:
        """Mean throughput; 0 where the server failed (tried twice), or its p95 is over the limit."""
        if vus >= self.dead_from:
            return 0.0
        runs = [self.run(vus)]
        if runs[0].throughput is None:
            runs = [self.run(vus)]
        if runs[0].throughput is None:
            self.dead_from = vus
            return 0.0
        runs += [self.run(vus) for _ in range(repeats - len(runs))]
        p95_ms = statistics.fmean(run.p95_ms or math.inf for run in runs)
        if self.server.p95_ms is not None and p95_ms > self.server.p95_ms:
            return 0.0
        return statistics.fmean(run.throughput or 0.0 for run in runs)


Method = Callable[[Bench], int | None]
"""Measures on a bench, and gives the answer; None: nothing could be measured, or nothing keeps the limit."""


def ours(bench: Bench) -> int | None:
    spec = SearchSpec(max=MAXIMUM, p95_ms=bench.server.p95_ms)
    measurements: list[Measurement] = []
    try:
        while isinstance(step := next_step(spec, measurements), int):
            measurements.append(bench.run(step))
    except SearchError:
        return None
    return step.vus if step.keeps_limit else None


def full_sweep(bench: Bench) -> int | None:
    """Powers of two up to the first failure, then twice the midpoints beside the best; three repeats each."""
    worth = {vus: bench.worth(vus, REPEATS) for vus in _powers_of_two(bench)}
    for _ in range(2):
        best = max(worth, key=worth.__getitem__)
        measured = sorted(worth)
        for low, high in itertools.pairwise(measured):
            middle = round(math.sqrt(low * high))
            if best in (low, high) and low < middle < high:
                worth[middle] = bench.worth(middle, REPEATS)
    return _best(worth)


def _powers_of_two(bench: Bench) -> Iterable[int]:
    for exponent in range(int(math.log2(MAXIMUM)) + 1):
        if 2**exponent > bench.dead_from:
            return
        yield 2**exponent


def doubling_and_bisection(bench: Bench) -> int | None:
    """Doubles until throughput stops rising, then golden sections around the best; single measurements."""
    worth = {1: bench.worth(1, 1)}
    vus = 2
    while vus <= MAXIMUM:
        worth[vus] = bench.worth(vus, 1)
        if worth[vus] <= worth[vus // 2]:
            break
        vus *= 2
    best = max(worth, key=worth.__getitem__)
    _golden_section(bench, worth, max(1, best // 2), min(2 * best, max(worth)))
    return _best(worth)


def _golden_section(bench: Bench, worth: dict[int, float], low: int, high: int) -> None:
    """Narrows low … high to within 5 %, on the logarithmic scale."""
    golden = (math.sqrt(5) - 1) / 2
    while high / low > 1.05 and high - low > 1:
        first, second = (round(low * (high / low) ** share) for share in (1 - golden, golden))
        for vus in (first, second):
            if vus not in worth:
                worth[vus] = bench.worth(vus, 1)
        if (first, second) == (low, high) or first == second:
            return
        low, high = (low, second) if worth[first] >= worth[second] else (first, high)


def _best(worth: dict[int, float]) -> int | None:
    best = max(worth, key=worth.__getitem__)
    return best if worth[best] else None


METHODS: dict[str, Method] = {"ours": ours, "full sweep": full_sweep, "doubling + bisection": doubling_and_bisection}


def main() -> None:
    options = _options()
    servers = [server for server in SERVERS if not options.servers or server.name in options.servers]
    print(f"{'server':<26}{'method':<22}{'within 3 %':>10}{'mean runs':>11}{'max':>5}{'of sweep':>10}  target")
    for server in servers:
        outcomes = {name: evaluate(method, server, options.runs, options.seed) for name, method in METHODS.items()}
        sweep = outcomes["full sweep"].mean
        for name, outcome in outcomes.items():
            print(
                f"{server.name:<26}{name:<22}{outcome.share:>10.0%}{outcome.mean:>11.1f}"
                f"{max(outcome.measurements):>5}{outcome.mean / sweep:>10.0%}  {verdict(server, outcome, sweep)}",
                flush=True,
            )


def verdict(server: Server, outcome: Outcome, sweep: float) -> str:
    """Does the method reach the target on this server? Where nothing runs there is nothing to halve."""
    if outcome.share < TARGET:
        words = f"below {TARGET:.0%}"
    elif outcome.mean > SHARE_OF_SWEEP * sweep and server.best():
        words = "too many runs"
    else:
        words = "reached"
    return f"{words} (known weakness)" if server.is_hard else words


def evaluate(method: Method, server: Server, runs: int, seed: int) -> Outcome:
    """The outcome of *runs* noisy runs; the same seed gives the same noise."""
    right, measurements = 0, []
    for index in range(runs):
        bench = Bench(server, random.Random(f"{server.name} {seed} {index}"))
        vus = method(bench)
        right += is_right(server, vus)
        measurements.append(bench.count)
    return Outcome(right, measurements)


def is_right(server: Server, vus: int | None) -> bool:
    """No answer is right where there is none."""
    if vus is None:
        return not server.best()
    return server.accepts(vus)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=100, help="noisy runs of each method on each server")
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    parser.add_argument("--servers", nargs="+", help="names of the servers; default: all")
    return parser.parse_args()


if __name__ == "__main__":
    main()
