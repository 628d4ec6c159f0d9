"""The words of the search for a server's saturation point: what is asked, measured and answered."""

from __future__ import annotations

import dataclasses
import math

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
    """

    start: int = 1
    max: int = 512
    p95_ms: float | None = None
    tolerance: float = 0.03
    doubt: float = 0.015
    max_measurements: int = 24
    max_repeats: int = 8
    min_repeats: int = 2

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
        throughput: inputs/s; None if the run failed: the server died, or refused every request.
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
        throughput: mean over its runs, in inputs/s.
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
