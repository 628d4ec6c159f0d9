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

import math
from collections.abc import Iterable, Sequence

from .judging import Answer, Conclusion, Evidence, Measurement, SearchError, SearchSpec, gather, judge

__all__ = ["Answer", "Measurement", "SearchError", "SearchSpec", "next_step"]

STRIDE = 4  # each step of the scan has this many times the virtual users of the one before
CLEARLY_SLOW = 1.5  # a step of the scan with this many times the p95 limit: latency won't come down again


def next_step(spec: SearchSpec, measurements: Sequence[Measurement]) -> int | Answer:
    """The number of virtual users to measure next, or the answer; SearchError if every run failed."""
    evidence = gather(spec, measurements)
    is_spent = evidence.spent >= spec.max_measurements
    if not is_spent and evidence.retry is not None:
        return evidence.retry
    if not evidence.runs and (is_spent or evidence.end <= spec.start):
        tried = ", ".join(str(vus) for vus in sorted({run.vus for run in measurements}))
        runs = len(measurements)
        raise SearchError(f"no run succeeded: {evidence.failure} at {tried} VUs ({runs} runs); see its log")
    scanned = _scan(evidence)
    if scanned is not None and not is_spent:
        return scanned
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
    """The next number of the scan; None if the scan is done.

    It is done where the latency is so high that none above can keep the limit. Throughput that falls is no reason to
    stop: a second hump may follow.
    """
    spec, vus = evidence.spec, evidence.spec.start
    while vus < evidence.end:
        if vus not in evidence.runs:
            return vus
        if vus == spec.max or (spec.p95_ms is not None and evidence.p95_ms(vus) > CLEARLY_SLOW * spec.p95_ms):
            return None
        vus = min(vus * STRIDE, spec.max)
    return None


def answer(evidence: Evidence, judgement: Conclusion, wanted: int | None) -> Answer:
    """The answer that *judgement* leads to; *wanted* was still to be measured when the measurements were spent."""
    spec, vus = evidence.spec, judgement.leader
    keeps_limit = vus in judgement.kept
    open_end = _open_end(evidence, judgement, wanted)
    return Answer(
        vus=vus,
        throughput=evidence.throughput(vus),
        runs=len(evidence.runs[vus]),
        settled=keeps_limit and not open_end,
        at_maximum=vus == spec.max,
        failed_at=evidence.failed_at,
        tied_with=judgement.tied,
        keeps_limit=keeps_limit,
        reason=_reason(evidence, judgement, open_end) if keeps_limit else _not_kept(evidence, vus),
    )


def _open_end(evidence: Evidence, judgement: Conclusion, wanted: int | None) -> str:
    """Why the answer isn't settled; empty if it is."""
    if judgement.doubt >= evidence.spec.doubt:
        gain = f"another number may still be better by {100 * evidence.spec.tolerance:g} %"
        return f"not settled: after {evidence.spent} measurements {gain}"
    if wanted is not None:
        return f"not settled: {wanted} VUs were still to be measured when {evidence.spent} measurements were spent"
    return ""


def _reason(evidence: Evidence, judgement: Conclusion, open_end: str) -> str:
    parts = [_compared(evidence, judgement, open_end)]
    if evidence.spec.p95_ms is not None:
        parts.append(f"its p95 of {_p95(evidence, judgement.leader)} keeps the limit of {evidence.spec.p95_ms:g} ms")
    if share := evidence.error_rate(judgement.leader):
        parts.append(f"{100 * share:.3g} % of its requests failed")
    if judgement.leader == evidence.spec.max:
        maximum = f"the maximum of {evidence.spec.max} VUs"
        flat = f"no clear rise towards {maximum}"
        parts.append(flat if judgement.tied else f"still rising at {maximum}: raise max")
    if evidence.failed_at is not None:
        parts.append(f"{evidence.failure} at {evidence.failed_at} VUs; best of what it survived")
    return "; ".join(parts)


def _compared(evidence: Evidence, judgement: Conclusion, open_end: str) -> str:
    """The leader, against those that can't be told from it or against its neighbours."""
    spec, leader = evidence.spec, judgement.leader
    runs = "1 run" if len(evidence.runs[leader]) == 1 else f"{len(evidence.runs[leader])} runs"
    own = f"{leader} VUs: {evidence.throughput(leader):.1f} {spec.unit} over {runs}"
    tied = f"can't tell {_listed(judgement.tied)} from it" if judgement.tied else ""
    if open_end:
        return "; ".join(filter(None, [own, tied, open_end]))
    if judgement.tied:
        return f"{own}; {tied}, and none is likely to be better by {100 * spec.tolerance:g} %"
    return "; ".join([own, *_against_neighbours(evidence, judgement)])


def _against_neighbours(evidence: Evidence, judgement: Conclusion) -> list[str]:
    leader = judgement.leader
    neighbours = [*[vus for vus in evidence.runs if vus < leader][-1:], *[v for v in evidence.runs if v > leader][:1]]
    beyond = [vus for vus in neighbours if not evidence.may_keep_limit(vus) and evidence.p95_ms(vus) < math.inf]
    slower = [vus for vus in neighbours if vus in judgement.kept]
    unsure = [vus for vus in neighbours if vus not in beyond + slower]
    parts = [f"{_listed(slower)} VUs are slower by more than the noise"] if slower else []
    parts += [f"{_listed(unsure)} VUs are not sure to keep the latency limit"] if unsure else []
    parts += [f"{_listed(beyond)} VUs are over the latency limit"] if beyond else []
    return parts or ["nothing else could be measured"]


def _not_kept(evidence: Evidence, nearest: int) -> str:
    """Why no number keeps the limit: *nearest* is the best that may, or else the one with the lowest p95."""
    limit = f"keeps p95 under {evidence.spec.p95_ms:g} ms"
    if evidence.may_keep_limit(nearest):
        return f"no measured value surely {limit}; {nearest} VUs may, with {_p95(evidence, nearest)}"
    if evidence.p95_ms(nearest) == math.inf:
        return f"no measured value {limit}: no run knows its p95"
    return f"no measured value {limit}; the lowest is {evidence.p95_ms(nearest):.1f} ms at {nearest} VUs"


def _p95(evidence: Evidence, vus: int) -> str:
    """The mean, and what it is within with 95 %."""
    sure = "one run, which says nothing of its spread"
    if (bound := evidence.bounds_ms.get(vus)) is not None:
        sure = f"at most {math.ceil(bound * 10) / 10:.1f} ms with 95 %"
    return f"{evidence.p95_ms(vus):.1f} ms ({sure})"


def _listed(numbers: Iterable[int]) -> str:
    *rest, last = (str(number) for number in numbers)
    return f"{', '.join(rest)} and {last}" if rest else last
