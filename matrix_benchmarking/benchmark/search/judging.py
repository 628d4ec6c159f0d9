"""The evidence that measurements give, and its judgement: who leads a search, and who may beat it."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ...analyze.bounds import bounds_of
from ...errors import MatbenchError
from .model import LATENCY, THROUGHPUT, Array, Belief, Bools, believe


class SearchError(MatbenchError):
    """The search has no answer: nothing could be measured."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpec:
    """What is searched: the number of virtual users, of which *start* is the least and measured first."""

    start: int = 1
    max: int = 512
    p95_ms: float | None = None  # only what keeps its p95 latency under this limit may be the answer
    tolerance: float = 0.03  # a gain in throughput below this fraction isn't worth another measurement
    doubt: float = 0.015  # the search goes on while the probability of a larger gain elsewhere is above this
    max_measurements: int = 24  # repeats and failed runs included
    max_repeats: int = 8
    min_repeats: int = 2  # of the answer, unless the measurements are spent before
    most_failed: float | None = None  # share of failed requests; a run with more of them has failed
    unit: str = "inputs/s"  # of the throughput


@dataclasses.dataclass(frozen=True, slots=True)
class Measurement:
    """One run; its throughput is None if it failed: the server died, or refused every request.

    *error_rate* is the share of its requests that failed, where that is known.
    """

    vus: int
    throughput: float | None
    p95_ms: float | None = None
    error_rate: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The best number of virtual users among those that were measured, with the mean throughput over its *runs*."""

    vus: int
    throughput: float
    runs: int
    settled: bool  # no other number is likely to be better by more than the tolerance
    at_maximum: bool  # the answer is the most that was allowed; the server may do better beyond
    failed_at: int | None  # the fewest virtual users at which the server failed
    tied_with: tuple[int, ...]  # measured numbers that can't be told from the answer by their throughput
    keeps_limit: bool  # False if none keeps the p95 limit; the answer is then the one with the lowest p95
    reason: str  # all this in a sentence


@dataclasses.dataclass(frozen=True, slots=True)
class Evidence:
    """What is known after *spent* measurements."""

    spec: SearchSpec
    runs: dict[int, list[Measurement]]  # that succeeded, of each number, ascending; only those below any failure
    failed_at: int | None  # the fewest virtual users that failed and weren't asked again with success
    failure: str  # what failed, in words
    retry: int | None  # the virtual users that failed once, just now
    spent: int
    bounds_ms: dict[int, float]  # of the mean p95 of each repeated number, with 95 %; empty without a limit on it

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

    def error_rate(self, vus: int) -> float:
        """Mean share of failed requests over the runs; 0 where it is unknown."""
        return _mean([run.error_rate or 0.0 for run in self.runs[vus]])

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
    failed = [run for run in measurements if not succeeded(run, spec.most_failed)]
    failures = Counter(run.vus for run in failed)
    retry = None
    if failed and failed[-1] is measurements[-1] and failures[failed[-1].vus] == 1:
        retry = measurements[-1].vus
    failed_at = min((vus for vus, count in failures.items() if count > 1 or vus == retry), default=None)
    end = spec.max + 1 if failed_at is None else failed_at
    runs: dict[int, list[Measurement]] = {}
    for run in sorted(measurements, key=lambda run: run.vus):
        if spec.start <= run.vus < end and succeeded(run, spec.most_failed):
            runs.setdefault(run.vus, []).append(run)
    bounds_ms = {} if spec.p95_ms is None else _bounds_ms(runs)
    failure = "the server failed"
    if spec.most_failed is not None and any(run.vus == failed_at and succeeded(run) for run in failed):
        failure = f"more than {100 * spec.most_failed:.3g} % of the requests failed"
    return Evidence(spec, runs, failed_at, failure, retry, len(measurements), bounds_ms)


def succeeded(run: Measurement, most_failed: float | None = None) -> bool:
    """Did anything come through, and no more fail than may?"""
    return is_positive(run.throughput) and (most_failed is None or (run.error_rate or 0.0) <= most_failed)


def is_positive(value: float | None) -> bool:
    """Is it a number that a logarithm can be taken of, and of its means with others?"""
    return value is not None and sys.float_info.min <= value < math.inf


def _bounds_ms(runs: dict[int, list[Measurement]]) -> dict[int, float]:
    known = {vus: _latencies(of) for vus, of in runs.items()}
    repeated = [vus for vus, latencies in known.items() if len(latencies) > 1]
    if not repeated:
        return {}
    headline = [_mean([run.throughput for run in runs[vus] if run.throughput is not None]) for vus in repeated]
    return dict(zip(repeated, bounds_of([known[vus] for vus in repeated], headline, lower_better=True), strict=True))


def _latencies(runs: Sequence[Measurement]) -> list[float]:
    return [run.p95_ms for run in runs if run.p95_ms is not None and is_positive(run.p95_ms)]


def _mean(values: list[float]) -> float:
    return math.fsum(value / len(values) for value in values)


FINEST = 1.02  # numbers of virtual users closer than this ratio needn't be told apart
FINEST_BELOW_FAILURE = 1.03  # the same below a failure: to look closer there costs the server's life
NEAR = 1.5  # neighbours within this ratio are near
NEAR_FURTHER = 2.1  # the same for two numbers that are both tied with the leader, or both are not
STEEPEST = 1.25  # throughput rises at most this much faster than in proportion to the virtual users
AHEAD = 0.9  # a challenger this probably ahead needs no more comparing: the question is its latency
SURE = 0.95  # probability with which all runs together say that the answer keeps the latency limit
LIKELY = 0.5  # a doubt above this: the leader won't stay the leader, so its neighbours can wait


@dataclasses.dataclass(frozen=True, slots=True)
class Conclusion:
    """The state of the contest."""

    leader: int  # the measured number of virtual users with the highest expected throughput
    doubt: float  # probability that any number beats it by more than the tolerance
    telling: int | None  # what to measure to lower the doubt; None if nothing may be repeated any more
    # To be looked at whatever the model thinks of it, next to the leader or at an edge of the tied; None if there is no
    # such number, or the leader isn't likely to stay.
    bracket: int | None
    tied: tuple[int, ...]  # measured numbers whose throughput can't be told from the leader's, ascending
    kept: frozenset[int]  # measured numbers that surely keep the limit on latency, all without one


def judge(evidence: Evidence) -> Conclusion:
    """Judge evidence of at least one successful run."""
    points = _points(evidence)
    belief = _throughput(evidence, points)
    keeping, surely = _keeping(evidence, points)
    leader = _leader(evidence, points, belief, keeping, surely)
    if leader is None:
        return _without_leader(evidence, points, keeping)
    doubt, telling = _challenge(evidence, points, belief, leader, keeping)
    if not surely[leader] and doubt < LIKELY:
        doubt, telling = max(doubt, evidence.spec.doubt), points[leader]
    tied = surely & (belief.probability_of_gain(leader, 0.0) > evidence.spec.doubt)
    tied[leader] = False
    contenders = [point for point, is_tied in zip(points, tied, strict=True) if is_tied]
    likely = {point for point, probability in zip(points, keeping, strict=True) if probability > evidence.spec.doubt}
    bracket = _bracket(evidence, points[leader], contenders, likely) if doubt < LIKELY else None
    kept = frozenset(point for point, is_sure in zip(points, surely, strict=True) if is_sure)
    return Conclusion(points[leader], doubt, telling, bracket, tuple(contenders), kept)


def _leader(evidence: Evidence, points: list[int], belief: Belief, keeping: Array, surely: Bools) -> int | None:
    """The best of those that surely keep the limit; else of those that still may, the likelier the better."""
    expected = belief.expected()
    if surely.any():
        return int(np.argmax(np.where(surely, expected, -np.inf)))
    perhaps = [
        point in evidence.runs and evidence.may_keep_limit(point) and _repeatable(evidence, point) for point in points
    ]
    return int(np.argmax(np.where(perhaps, expected + np.log(keeping + 1e-12), -np.inf))) if any(perhaps) else None


def _bracket(evidence: Evidence, leader: int, tied: list[int], likely: set[int]) -> int | None:
    """The middle of a gap where a peak or a cliff could hide from the model, which expects smooth curves.

    First beside the leader, then between a tied number and one that isn't, then between two that are tied, and at last
    where a rise that went on would have led past the leader: it broke off somewhere in between.
    """
    contenders = {leader, *tied}
    gaps = [gap for gap in evidence.gaps() if contenders.intersection(gap) or _broke_off(evidence, *gap, leader)]
    for low, high in sorted(gaps, key=lambda gap: (leader not in gap, len(contenders.intersection(gap)) != 1)):
        near = NEAR if leader in (low, high) or len(contenders.intersection((low, high))) == 1 else NEAR_FURTHER
        middle = round(math.sqrt(low * high))
        most = STEEPEST * evidence.throughput(low) * middle / low
        is_open = middle not in evidence.runs and middle in likely
        if high > near * low and is_open and most > evidence.throughput(leader):
            return middle
    return None


def _broke_off(evidence: Evidence, low: int, high: int, leader: int) -> bool:
    """Would the rise up to *low*, in proportion where nothing is known of it, have beaten the leader at *high*?"""
    before = [vus for vus in evidence.runs if vus < low][-1:]
    reached = evidence.throughput(low)
    rise = [math.log(reached) - math.log(evidence.throughput(vus)) for vus in before]
    slope = min(rise[0] / math.log(low / before[0]), 1.0) if rise else 1.0
    expected: float = reached * (high / low) ** slope
    return expected > (1 + evidence.spec.tolerance) * evidence.throughput(leader)


def _challenge(
    evidence: Evidence, points: list[int], belief: Belief, leader: int, keeping: Array
) -> tuple[float, int | None]:
    """The doubt about the leader, and the number of virtual users to measure."""
    tolerance = evidence.spec.tolerance
    others = np.where(np.arange(len(points)) == leader, 0.0, keeping)
    gaps = np.flatnonzero(np.isin(points, list(evidence.runs)))
    doubt = belief.probability_of_any_gain(leader, tolerance, others, gaps)
    gain = belief.expected_gain(leader, tolerance) * others * _survival(evidence, points)
    if not _repeatable(evidence, points[leader]):
        gain = gain * [_repeatable(evidence, point) for point in points]
    challenger = int(np.argmax(gain))
    if not gain[challenger]:
        return doubt, None
    is_ahead = belief.probability_of_gain(leader, 0.0)[challenger] > AHEAD
    telling = points[challenger if is_ahead else belief.more_telling(leader, challenger)]
    if not _repeatable(evidence, telling):
        telling = points[challenger] if telling == points[leader] else points[leader]
    return doubt, telling


def _without_leader(evidence: Evidence, points: list[int], keeping: Array) -> Conclusion:
    """No measured number keeps the latency limit: look where it is most likely kept."""
    lowest = min(evidence.runs, key=evidence.p95_ms)
    repeatable = np.array([_repeatable(evidence, point) for point in points])
    hope = keeping * repeatable
    hopeful = int(np.argmax(hope))
    return Conclusion(lowest, float(keeping.max()), points[hopeful] if hope[hopeful] else None, None, (), frozenset())


def _points(evidence: Evidence) -> list[int]:
    """What was measured and, in each gap, the numbers at a quarter, half and three quarters of it."""
    points = set(evidence.runs)
    for low, high in evidence.gaps():
        finest = FINEST_BELOW_FAILURE if high == evidence.failed_at else FINEST
        for fraction in (0.25, 0.5, 0.75):
            point = round(low * (high / low) ** fraction)
            if point >= low * FINEST and high >= point * finest:
                points.add(point)
    return sorted(points)


def _throughput(evidence: Evidence, points: list[int]) -> Belief:
    runs = [(vus, run.throughput) for vus, runs in evidence.runs.items() for run in runs]
    known = [(vus, throughput) for vus, throughput in runs if throughput is not None]
    return believe(THROUGHPUT, known, points, (evidence.spec.start, evidence.spec.max))


def _keeping(evidence: Evidence, points: list[int]) -> tuple[Array, Bools]:
    """For each point, the probability that it can be shown to keep the limit on latency, and whether it is shown.

    Its p95 is below the limit by half the tolerance: by less it is hardly ever shown. It is shown by its own bound, and
    by all runs together: what was repeated since it looked good is lucky, as its neighbours tell.
    """
    measured = np.isin(points, list(evidence.runs))
    limit = evidence.spec.p95_ms
    if limit is None:
        return np.ones(len(points)), measured
    runs = [(vus, run.p95_ms) for vus, runs in evidence.runs.items() for run in runs]
    known = [(vus, p95_ms) for vus, p95_ms in runs if p95_ms is not None and is_positive(p95_ms)]
    if not known:
        return np.zeros(len(points)), np.zeros_like(measured)
    belief = believe(LATENCY, known, points, (evidence.spec.start, evidence.spec.max))
    bounded = np.array([point in evidence.runs and evidence.keeps_limit(point) for point in points])
    can = belief.probability_below(limit * (1 - evidence.spec.tolerance / 2))
    return can, bounded & (belief.probability_below(limit) >= SURE)


def _survival(evidence: Evidence, points: list[int]) -> Array:
    """For each point, the probability that the server survives it.

    Where it begins to fail, between the most it survived and the least it didn't, all ratios are as probable.
    """
    if evidence.failed_at is None:
        return np.ones(len(points))
    survived = math.log(max(evidence.runs))
    failed = math.log(evidence.failed_at)
    return np.clip((failed - np.log(points)) / (failed - survived), 0, 1)


def _repeatable(evidence: Evidence, vus: int) -> bool:
    return len(evidence.runs.get(vus, ())) < evidence.spec.max_repeats
