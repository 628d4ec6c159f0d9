"""What is searched, measured and answered, and what the measurements amount to."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections import Counter
from collections.abc import Sequence

from ...errors import MatbenchError


class SearchError(MatbenchError):
    """The search has no answer: nothing could be measured, or its limits make no sense."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpec:
    """What is searched.

    Attributes:
        start: the fewest virtual users, measured first.
        max: the most virtual users.
        p95_ms: only what keeps its p95 latency under this limit, in milliseconds, may be the answer.
        tolerance: a gain in throughput below this fraction isn't worth another measurement.
        doubt: the search goes on while the probability of a larger gain elsewhere is above this.
        max_measurements: repeats and failed runs included.
        max_repeats: runs of one number of virtual users.
        min_repeats: runs of the answer, unless the measurements are spent before.
        unit: of the throughput.
    """

    start: int = 1
    max: int = 512
    p95_ms: float | None = None
    tolerance: float = 0.03
    doubt: float = 0.015
    max_measurements: int = 24
    max_repeats: int = 8
    min_repeats: int = 2
    unit: str = "inputs/s"

    def __post_init__(self) -> None:
        """Raises SearchError for limits that no number can meet."""
        if not 1 <= self.start <= self.max:
            raise SearchError(f"a search needs 1 ≤ start ≤ max, not start {self.start} and max {self.max}")
        if self.p95_ms is not None and not 0 < self.p95_ms < math.inf:
            raise SearchError(f"the p95 limit of a search must be a finite number above 0 ms, not {self.p95_ms:g}")
        if not (0 < self.tolerance < 1 and 0 < self.doubt < 1):
            raise SearchError("tolerance and doubt of a search must be between 0 and 1")
        if not (self.max_measurements >= 1 and 1 <= self.min_repeats <= self.max_repeats):
            raise SearchError("a search needs max_measurements ≥ 1 and 1 ≤ min_repeats ≤ max_repeats")


@dataclasses.dataclass(frozen=True, slots=True)
class Measurement:
    """One run.

    Attributes:
        vus: its number of virtual users.
        throughput: None if the run failed: the server died, or refused every request.
        p95_ms: p95 latency in milliseconds, None if unknown.
    """

    vus: int
    throughput: float | None
    p95_ms: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The best number of virtual users among those that were measured.

    Attributes:
        vus: number of virtual users.
        throughput: mean over its runs.
        runs: how many runs that is.
        settled: no other number is likely to be better by more than the tolerance.
        at_maximum: the answer is the most that was allowed; the server may do better beyond.
        failed_at: the fewest virtual users at which the server failed.
        tied_with: measured numbers that can't be told from the answer by their throughput.
        keeps_limit: False if no measured number keeps the p95 limit; the answer is then the one with the
            lowest p95.
        reason: all this in a sentence.
    """

    vus: int
    throughput: float
    runs: int
    settled: bool
    at_maximum: bool
    failed_at: int | None
    tied_with: tuple[int, ...]
    keeps_limit: bool
    reason: str


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
        """Mean over the runs."""
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
