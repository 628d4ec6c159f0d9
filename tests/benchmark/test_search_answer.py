"""What the answer of a search says of itself: a sentence on each way in which it can be trusted, or can't."""

from __future__ import annotations

from typing import Any

import pytest

from matrix_benchmarking.benchmark.search import Answer, Measurement, SearchSpec, answer
from matrix_benchmarking.benchmark.search.judging import Conclusion, gather

PEAK = [Measurement(*run) for run in [(4, 50.0, 40.0)] * 2 + [(8, 100.0, 50.0)] * 2 + [(16, 80.0, 70.0)]]
LEADER = "8 VUs: 100.0 inputs/s over 2 runs"
SLOWER = "4 and 16 VUs are slower by more than the noise"
WITHIN = "its p95 of 50.0 ms (at most 50.9 ms with 95 %) keeps the limit of"
OPEN = "not settled: after 5 measurements another number may still be better by 3 %"


def answered(
    measurements: list[Measurement], *, leader: int = 8, doubt: float = 0.0, tied: tuple[int, ...] = (),
    kept: tuple[int, ...] | None = None, wanted: int | None = None, **limits: Any,
) -> Answer:  # fmt: skip
    """Where the model judged so; all keep the limit unless told otherwise."""
    evidence = gather(SearchSpec(**limits), measurements)
    sure = frozenset(evidence.runs if kept is None else kept)
    return answer(evidence, Conclusion(leader, doubt, None, None, tied, sure), wanted)


@pytest.mark.parametrize(
    ("asked", "parts"),
    [
        ({}, [SLOWER]),
        ({"tied": (16,)}, ["can't tell 16 from it, and none is likely to be better by 3 %"]),
        ({"tied": (1, 4, 16)}, ["can't tell 1, 4 and 16 from it, and none is likely to be better by 3 %"]),
        ({"max": 8}, ["4 VUs are slower by more than the noise", "still rising at the maximum of 8 VUs: raise max"]),
        (
            {"max": 8, "tied": (4,)},
            [
                "can't tell 4 from it, and none is likely to be better by 3 %",
                "no clear rise towards the maximum of 8 VUs",
            ],
        ),
        (
            {"p95_ms": 60.0, "kept": (4, 8)},
            ["4 VUs are slower by more than the noise", "16 VUs are over the latency limit", f"{WITHIN} 60 ms"],
        ),
        (
            {"p95_ms": 75.0, "kept": (4, 8)},
            [
                "4 VUs are slower by more than the noise",
                "16 VUs are not sure to keep the latency limit",
                f"{WITHIN} 75 ms",
            ],
        ),
        ({"p95_ms": 75.0, "kept": (8,)}, ["4 and 16 VUs are not sure to keep the latency limit", f"{WITHIN} 75 ms"]),
    ],
)
def test_a_settled_answer_says_what_it_was_compared_with(asked: dict[str, Any], parts: list[str]) -> None:
    found = answered(PEAK, **asked)
    assert found.reason.split("; ") == [LEADER, *parts]
    assert (found.settled, found.throughput, found.runs) == (True, 100.0, 2)
    assert (found.at_maximum, found.tied_with) == (asked.get("max") == 8, asked.get("tied", ()))


@pytest.mark.parametrize(
    ("asked", "parts"),
    [
        ({"doubt": 0.015}, [OPEN]),
        ({"doubt": 0.02, "tied": (4,)}, ["can't tell 4 from it", OPEN]),
        ({"wanted": 12}, ["not settled: 12 VUs were still to be measured when 5 measurements were spent"]),
    ],
)
def test_an_answer_that_is_not_settled_says_why(asked: dict[str, Any], parts: list[str]) -> None:
    found = answered(PEAK, **asked)
    assert found.reason.split("; ") == [LEADER, *parts]
    assert (found.settled, found.keeps_limit) == (False, True)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (
            {"p95_ms": 60.0},
            "no measured value surely keeps p95 under 60 ms; 8 VUs may, with 50.0 ms (at most 50.9 ms with 95 %)",
        ),
        (
            {"p95_ms": 75.0, "leader": 16},
            "no measured value surely keeps p95 under 75 ms; "
            "16 VUs may, with 70.0 ms (one run, which says nothing of its spread)",
        ),
        ({"p95_ms": 30.0, "leader": 4}, "no measured value keeps p95 under 30 ms; the lowest is 40.0 ms at 4 VUs"),
    ],
)
def test_where_none_surely_keeps_the_limit_the_nearest_is_named(asked: dict[str, Any], reason: str) -> None:
    found = answered(PEAK, kept=(), **asked)
    assert found.reason == reason
    assert (found.settled, found.keeps_limit) == (False, False)


def test_only_the_nearest_numbers_are_called_slower() -> None:
    further = [Measurement(vus, 20.0, 10.0) for vus in (1, 64)]
    assert answered([*PEAK, *further]).reason == f"{LEADER}; {SLOWER}"
    assert answered(PEAK[4:], leader=16).reason == "16 VUs: 80.0 inputs/s over 1 run; nothing else could be measured"


def test_what_a_server_survived_is_said_with_where_it_failed() -> None:
    found = answered([*PEAK, Measurement(32, None), Measurement(32, None)])
    assert found.reason == f"{LEADER}; {SLOWER}; the server failed at 32 VUs; best of what it survived"
    assert found.failed_at == 32


def test_what_too_many_requests_failed_of_is_no_answer_and_fewer_failures_are_said() -> None:
    runs = [(4, 50.0, 40.0, 0.0), (8, 100.0, 50.0, 0.02), (8, 100.0, 50.0, 0.04), *[(16, 200.0, 60.0, 0.16)] * 2]
    measurements = [Measurement(*run) for run in runs]
    beyond = answered(measurements, most_failed=0.1)
    assert beyond.reason.split("; ") == [
        LEADER,
        "4 VUs are slower by more than the noise",
        "3 % of its requests failed",
        "more than 10 % of the requests failed at 16 VUs",
        "best of what it survived",
    ]
    assert (beyond.vus, beyond.failed_at) == (8, 16)
    assert answered(measurements, leader=16).reason.endswith("; 16 % of its requests failed")
