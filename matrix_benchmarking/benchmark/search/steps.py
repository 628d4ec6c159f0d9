"""The search for a server's saturation point: which number of virtual users gives the most throughput.

It gets the measurements so far, and gives the number of virtual users to measure next or the answer. There
is no other state, so an interrupted search goes on from its finished runs. The method:

1. Scan: ``start``, then four times as many each time, up to ``max`` or until latency is far over its limit.
2. Bracket: while a neighbour of the leader is further away than half a doubling, measure between them.
3. Challenge: a model of the whole curve (``model``) names the number that is expected to beat the leader by
   most; the one of the two whose repeat tells more is measured. The search ends when it is improbable that
   any number beats the leader by more than the tolerance.

A number at which the server fails is tried once more; what failed twice is never reached again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .answer import answer
from .evidence import Evidence, gather
from .terms import Answer, Measurement, SearchError, SearchSpec

if TYPE_CHECKING:
    from .judge import Conclusion

STRIDE = 4
"""Each step of the scan has this many times the virtual users of the one before."""

CLEARLY_SLOW = 1.5
"""A step of the scan with this many times the p95 limit: latency won't come down again."""


def next_step(spec: SearchSpec, measurements: Sequence[Measurement]) -> int | Answer:
    """The number of virtual users to measure next, or the answer.

    Raises:
        SearchError: every run failed.
    """
    evidence = gather(spec, measurements)
    is_spent = evidence.spent >= spec.max_measurements
    if not is_spent and evidence.retry is not None:
        return evidence.retry
    if not evidence.runs and (is_spent or evidence.end <= spec.start):
        raise SearchError(_nothing(measurements))
    scanned = _scan(evidence)
    if scanned is not None and not is_spent:
        return scanned
    from .judge import judge  # numpy and scipy are needed only now

    judgement = judge(evidence)
    wanted = evidence.retry or scanned or _wanted(evidence, judgement)
    if wanted is None or is_spent:
        return answer(evidence, judgement, wanted)
    return wanted


def _wanted(evidence: Evidence, judgement: Conclusion) -> int | None:
    """What is to be measured before the leader may be called settled; None if nothing is."""
    spec = evidence.spec
    if judgement.bracket is not None:
        return judgement.bracket
    if judgement.telling is not None and judgement.doubt >= spec.doubt:
        return judgement.telling
    if len(evidence.runs[judgement.leader]) < spec.min_repeats:
        return judgement.leader
    return None


def _scan(evidence: Evidence) -> int | None:
    """The next number of the scan; None if the scan is done."""
    spec = evidence.spec
    steps = _steps(spec)
    for index, vus in enumerate(steps):
        if vus >= evidence.end or _is_passed(evidence, steps[:index]):
            return None
        if vus not in evidence.runs:
            return vus
    return None


def _steps(spec: SearchSpec) -> list[int]:
    steps = [spec.start]
    while steps[-1] < spec.max:
        steps.append(min(steps[-1] * STRIDE, spec.max))
    return steps


def _is_passed(evidence: Evidence, steps: list[int]) -> bool:
    """Is latency so high at the last of these steps of the scan that none above can keep the limit?

    Throughput that falls is no reason to stop: a second hump may follow.
    """
    limit = evidence.spec.p95_ms
    return bool(steps) and limit is not None and evidence.p95_ms(steps[-1]) > CLEARLY_SLOW * limit


def _nothing(measurements: Sequence[Measurement]) -> str:
    tried = ", ".join(str(vus) for vus in sorted({run.vus for run in measurements}))
    return f"no run succeeded: the server failed at {tried} VUs ({len(measurements)} runs); see its log"
