"""What the measurements of a search amount to: the runs of each number of virtual users, and the failures."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections import Counter
from collections.abc import Sequence

from .terms import Measurement, SearchSpec


@dataclasses.dataclass(frozen=True, slots=True)
class Evidence:
    """What is known after some measurements.

    Attributes:
        spec: what is searched.
        runs: the successful runs of each number of virtual users, ascending; only those below any failure.
        failed_at: the fewest virtual users that failed and weren't asked again with success.
        retry: the virtual users that failed once, just now.
        spent: number of measurements.
        bounds_ms: what the mean p95 latency of each number with two or more runs is within, with 95 %; empty without
            a limit on it.
    """

    spec: SearchSpec
    runs: dict[int, list[Measurement]]
    failed_at: int | None
    retry: int | None
    spent: int
    bounds_ms: dict[int, float]

    @property
    def end(self) -> int:
        """The first number of virtual users that must not be measured."""
        return self.spec.max + 1 if self.failed_at is None else min(self.failed_at, self.spec.max + 1)

    def throughput(self, vus: int) -> float:
        """Mean over the runs, in inputs/s."""
        return _mean([run.throughput for run in self.runs[vus] if run.throughput is not None])

    def p95_ms(self, vus: int) -> float:
        """Mean over the runs, in milliseconds; infinite if no run knows it."""
        known = _latencies(self.runs[vus])
        return _mean(known) if known else math.inf

    def keeps_limit(self, vus: int) -> bool:
        """Is the p95 latency surely under the limit, if there is one? Of a single run nobody knows."""
        return self.spec.p95_ms is None or self.bounds_ms.get(vus, math.inf) <= self.spec.p95_ms

    def may_keep_limit(self, vus: int) -> bool:
        """Is the mean p95 latency under the limit, if there is one?"""
        return self.spec.p95_ms is None or self.p95_ms(vus) <= self.spec.p95_ms

    def gaps(self) -> list[tuple[int, int]]:
        """Neighbouring numbers that were measured; the last may end at a failure."""
        measured = list(self.runs)
        ends = measured[1:] if self.failed_at is None else [*measured[1:], self.end]
        return list(zip(measured, ends, strict=False))


def gather(spec: SearchSpec, measurements: Sequence[Measurement]) -> Evidence:
    """The evidence of *measurements*, in the order they were made."""
    failures = Counter(run.vus for run in measurements if not succeeded(run))
    retry = None
    if measurements and failures[measurements[-1].vus] == 1 and not succeeded(measurements[-1]):
        retry = measurements[-1].vus
    failed_at = min((vus for vus, count in failures.items() if count > 1 or vus == retry), default=None)
    end = spec.max + 1 if failed_at is None else failed_at
    runs: dict[int, list[Measurement]] = {}
    for run in sorted(filter(succeeded, measurements), key=lambda run: run.vus):
        if spec.start <= run.vus < end:
            runs.setdefault(run.vus, []).append(run)
    bounds_ms = {} if spec.p95_ms is None else _bounds_ms(runs)
    return Evidence(spec, runs, failed_at, retry, len(measurements), bounds_ms)


def succeeded(run: Measurement) -> bool:
    """Did anything come through?"""
    return is_positive(run.throughput)


def is_positive(value: float | None) -> bool:
    """Is it a number that a logarithm can be taken of, and of its means with others?"""
    return value is not None and sys.float_info.min <= value < math.inf


def _bounds_ms(runs: dict[int, list[Measurement]]) -> dict[int, float]:
    """The answer of the best configuration under a limit, of which the headline is the throughput."""
    known = {vus: _latencies(of) for vus, of in runs.items()}
    repeated = [vus for vus, latencies in known.items() if len(latencies) > 1]
    if not repeated:
        return {}
    from ...analyze.bounds import bounds_of  # scipy, which single runs don't need

    headline = [_mean([run.throughput for run in runs[vus] if run.throughput is not None]) for vus in repeated]
    return dict(zip(repeated, bounds_of([known[vus] for vus in repeated], headline, lower_better=True), strict=True))


def _latencies(runs: Sequence[Measurement]) -> list[float]:
    return [run.p95_ms for run in runs if run.p95_ms is not None and is_positive(run.p95_ms)]


def _mean(values: list[float]) -> float:
    return math.fsum(value / len(values) for value in values)
