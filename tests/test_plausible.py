"""The rules on values that can't be: what they refuse, what is rounding, and what is unknown."""

from __future__ import annotations

import datetime as dt
import types
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking import plausible

NOON = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)


@pytest.mark.parametrize(
    ("values", "sentences"),
    [
        ({"mean": 0, "p95": 50.0}, ["the mean latency (0 ms) is too low beside the p95 latency (50 ms)"]),
        ({"mean": 0.1, "p90": 40, "p95": 50}, ["the mean latency (0.1 ms) is too low beside the p90 latency (40 ms)"]),
        ({"median": 50, "p95": 40}, ["the p95 latency (40 ms) is below the median latency (50 ms)"]),
        ({"p95": 50, "maximum": 40}, ["the maximum latency (40 ms) is below the p95 latency (50 ms)"]),
        ({"mean": 50, "maximum": 40}, ["the mean latency (50 ms) is above the maximum latency (40 ms)"]),
        ({"mean": 2, "minimum": 4}, ["the mean latency (2 ms) is below the minimum latency (4 ms)"]),
        ({"p90": 9, "p99": 8, "maximum": 7}, [
            "the p99 latency (8 ms) is below the p90 latency (9 ms)",
            "the maximum latency (7 ms) is below the p99 latency (8 ms)",
        ]),
        ({"p95": -1.0}, ["the p95 latency (-1 ms) is no duration"]),
        ({"mean": float("nan")}, ["the mean latency (nan ms) is no duration"]),
        ({"mean": 12.0, "median": 11.0, "p90": 14.0, "p95": 15.0, "p99": 18.0, "maximum": 20.0, "minimum": 4.0}, []),
        ({"mean": 30.0, "p95": 20.0}, []),
        ({"mean": 30.0, "p99": 900.0, "run": 800.0}, ["the p99 latency (900 ms) is longer than the run"]),
        ({"mean": 30.0, "maximum": 800.1, "run": 800.0}, []),
        ({"p95": 50.000001, "maximum": 50.0}, []),
        ({"mean": 0.0, "p95": 0.01}, []),
        ({"mean": None, "p95": None, "maximum": 3.0}, []),
        ({"mean": 0.0, "p95": 0.0, "maximum": 0.0}, []),
    ],
)  # fmt: skip
def test_latencies_that_no_requests_can_have_are_said(values: dict[str, Any], sentences: list[str]) -> None:
    assert plausible.latencies(**values) == sentences


def test_what_was_timed_and_its_unit_are_named() -> None:
    assert plausible.latencies(p95=2, maximum=1, unit="s", what="time to first token") == [
        "the maximum time to first token (1 s) is below the p95 time to first token (2 s)"
    ]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50))
def test_latencies_that_were_measured_are_never_refused(values: list[float]) -> None:
    import numpy

    quantiles = dict(zip(["median", "p90", "p95", "p99"], numpy.quantile(values, [0.5, 0.9, 0.95, 0.99]), strict=True))
    mean = min(max(values), max(min(values), float(numpy.mean(values))))
    assert plausible.latencies(mean=mean, minimum=min(values), maximum=max(values), **quantiles) == []


def test_by_littles_law_no_more_requests_are_in_flight_than_may_be() -> None:
    said = ["24 requests were in flight, the mean, and vus is 8: 120 answers a second that take 200 ms each"]
    assert plausible.in_flight(per_s=120, mean_s=0.2, allowed=8, name="vus", most=2) == said
    assert plausible.in_flight(per_s=120, mean_s=0.2, allowed=8, name="vus", most=3) == []
    assert plausible.in_flight(per_s=120, mean_s=0.2, allowed=8, name="vus", least=4) == said
    for unknown in ("unlimited", None, 0, -8):
        assert plausible.in_flight(per_s=120, mean_s=0.2, allowed=unknown, name="vus", most=2) == []
    assert plausible.in_flight(per_s=None, mean_s=0.2, allowed=8, name="vus", most=2) == []


def test_a_share_is_from_0_to_1() -> None:
    assert plausible.shares(cpu_util=1.4, gpu_util=-0.2, main_memory=1.0, other=None, rounded=1.0000001) == [
        "cpu_util is 1.4, and a share is from 0 to 1",
        "gpu_util is -0.2, and a share is from 0 to 1",
    ]


@pytest.mark.parametrize(
    ("values", "sentences"),
    [
        ({"requests": 1000, "answered": 1200}, ["1,200 of 1,000 requests were answered"]),
        ({"requests": 10, "failed": 11}, ["11 of 10 requests failed"]),
        ({"requests": 10, "answered": 8, "failed": 3}, ["of 10 requests 8 were answered and 3 failed"]),
        ({"requests": -1}, ["-1 requests were sent"]),
        ({"failed": -2, "noun": "inputs"}, ["-2 inputs failed"]),
        ({"requests": 10, "answered": 8, "failed": 2}, []),
        ({"requests": None, "answered": 8, "failed": 2}, []),
        ({"requests": 0, "answered": 0}, []),
    ],
)
def test_no_more_is_answered_than_was_sent(values: dict[str, Any], sentences: list[str]) -> None:
    assert plausible.counts(**values) == sentences


def test_no_run_ends_before_it_starts() -> None:
    kiritimati = dt.timezone(dt.timedelta(hours=14))
    assert plausible.times(NOON, NOON - MINUTE) == [
        "the run ended before it started: 2026-11-21 11:59:00+00:00 is before 2026-11-21 12:00:00+00:00"
    ]
    assert plausible.times("2026-11-21T12:00:00Z", "2026-11-21T13:00:00+02:00") != []
    assert plausible.times(20.0, 10) != []
    for start, end in [
        (NOON, NOON), (NOON, NOON.astimezone(kiritimati)), (None, NOON), (NOON, None), ("noon", NOON),
        (NOON, (NOON - MINUTE).replace(tzinfo=None)), ([1], NOON), (NOON, "2026-11-21T12:00:00Z"),
    ]:  # fmt: skip
        assert plausible.times(start, end) == []


def test_no_run_ends_or_starts_in_the_future_or_when_clocks_begin() -> None:
    now = dt.datetime.now(dt.UTC)
    later, tonight = now + dt.timedelta(days=400), now + dt.timedelta(hours=20)
    said = f"in the future, at {later.isoformat(' ', 'seconds')}: a clock was wrong"
    assert plausible.of_a_wrong_clock(now, later) == [f"the run ended {said}"]
    started = [f"the run started {said}"]
    assert plausible.of_a_wrong_clock(later, None) == plausible.of_a_wrong_clock(later.isoformat(), now) == started
    assert plausible.of_a_wrong_clock(now, tonight) == []
    first = dt.datetime(1970, 1, 1, 0, 12, tzinfo=dt.UTC)
    assert plausible.of_a_wrong_clock(first, now) == [
        "the run started at 1970-01-01 00:12:00+00:00: a clock was not set"
    ]


def test_a_rule_that_stops_leaves_the_question_open_and_the_engines_own_answered() -> None:
    def rule(payload: Any) -> list[str]:
        return [payload.results.absent]

    metadata = types.SimpleNamespace(start=NOON, end=NOON - MINUTE)
    payload = types.SimpleNamespace(metadata=metadata, results=types.SimpleNamespace())
    (ended,), (stopped,) = plausible.findings(payload, rule)
    assert ended.startswith("the run ended before it started")
    assert stopped.startswith("whether its values can be is not known: there is no 'absent'")
    assert plausible.findings(types.SimpleNamespace(), None) == ((), ())
