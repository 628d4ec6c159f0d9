"""What runs amount to before any model looks at them: which count, where the server fails, what keeps the limit."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking.analyze.bounds import bounds_of
from matrix_benchmarking.benchmark.expand import in_order
from matrix_benchmarking.benchmark.run_directory import FoundRun
from matrix_benchmarking.benchmark.search import Measurement, SearchSpec
from matrix_benchmarking.benchmark.search.judging import Evidence, gather, is_positive


def of(*runs: tuple[int, float | None] | tuple[int, float | None, float | None], **limits: Any) -> Evidence:
    return gather(SearchSpec(**limits), [Measurement(*run) for run in runs])


def test_runs_of_a_number_are_together_in_rising_order_and_their_mean_counts() -> None:
    found = of((16, 90.0, 20.0), (4, 40.0, 5.0), (16, 110.0, 30.0), (4, 41.0))
    assert list(found.runs) == [4, 16]
    assert (found.throughput(16), found.p95_ms(16), found.p95_ms(4)) == (100.0, 25.0, 5.0)
    assert (found.failed_at, found.retry, found.spent, found.end) == (None, None, 4, 513)
    assert found.gaps() == [(4, 16)]


def test_what_failed_twice_is_the_end_and_the_fewest_that_did() -> None:
    found = of((4, 40.0), (16, 90.0), (64, None), (64, None), (32, None), (32, None), (16, 91.0))
    assert (found.failed_at, found.retry, found.end) == (32, None, 32)
    assert found.gaps() == [(4, 16), (16, 32)]


@pytest.mark.parametrize("nothing", [None, 0.0, -1.0, math.inf, math.nan])
def test_a_number_that_failed_once_is_to_be_tried_again_at_once_or_was_an_accident(nothing: float | None) -> None:
    again = of((4, 40.0), (16, nothing))
    assert (again.failed_at, again.retry) == (16, 16)
    accident = of((4, 40.0), (16, nothing), (16, 90.0))
    assert (accident.failed_at, accident.retry, list(accident.runs)) == (None, None, [4, 16])


def test_runs_from_a_failure_on_and_below_the_start_do_not_count() -> None:
    assert list(of((4, 40.0), (16, 90.0), (16, None), (16, None), (64, 99.0)).runs) == [4]
    assert list(of((2, 20.0), (4, 40.0), (64, 90.0), (65, 95.0), start=4, max=64).runs) == [4, 64]
    beyond = of((4, 40.0), (100, None), (100, None), max=64)  # of a search that went further
    assert (beyond.failed_at, beyond.end) == (100, 65)


def test_one_run_may_keep_a_limit_and_several_do_by_the_bound_of_their_mean() -> None:
    alone = of((4, 40.0, 50.0), p95_ms=50.0)
    assert (alone.may_keep_limit(4), alone.keeps_limit(4)) == (True, False)
    assert not of((4, 40.0, 50.0), p95_ms=49.9).may_keep_limit(4)
    twice = [(4, 40.0, 48.0), (4, 40.0, 49.0)]
    bound = of(*twice, p95_ms=50.0).bounds_ms[4]
    assert 49.0 < bound < 60.0
    assert of(*twice, p95_ms=bound).keeps_limit(4)
    assert not of(*twice, p95_ms=bound - 0.01).keeps_limit(4)


def test_bounds_are_those_that_rank_configurations_of_this_throughput() -> None:
    latencies = [[41.0, 43.0], [47.0, 42.0], [44.0, 52.0], [50.0, 49.0], [60.0, 51.0], [58.0, 66.0]]
    throughputs = [40.0, 60.0, 85.0, 99.0, 104.0, 105.0]
    runs = [(vus, throughputs[vus - 1], p95_ms) for vus in range(1, 7) for p95_ms in latencies[vus - 1]]
    expected = bounds_of(latencies, throughputs, lower_better=True)
    assert expected != bounds_of(latencies, [1.0] * 6, lower_better=True)
    assert list(of(*runs, p95_ms=50.0).bounds_ms.values()) == expected


def test_the_smallest_number_of_full_precision_is_one() -> None:
    least = sys.float_info.min
    assert [is_positive(one) for one in (least, least / 2, 0.0, -1.0, math.inf, None)] == [True] + [False] * 5


@pytest.mark.parametrize("unknown", [None, 0.0, math.inf, math.nan])
def test_a_latency_that_is_no_number_is_unknown_and_keeps_no_limit(unknown: float | None) -> None:
    found = of((4, 40.0, unknown), (4, 41.0, unknown), p95_ms=50.0)
    assert found.p95_ms(4) == math.inf
    assert not found.may_keep_limit(4)
    assert not found.keeps_limit(4)
    known = of((4, 40.0, unknown), (4, 41.0, 20.0), p95_ms=50.0)
    assert (known.p95_ms(4), known.bounds_ms) == (20.0, {})


def test_without_a_limit_everything_keeps_it() -> None:
    found = of((4, 40.0), (4, 41.0))
    assert found.keeps_limit(4)
    assert found.may_keep_limit(4)


@pytest.mark.parametrize(
    ("made", "ordered"),
    [
        ("4.0 16.0F 8.0 4.1", "4.0 8.0 4.1 16.0F"),  # which was to be tried again at once
        ("4.0 16.0F 16.1 8.0", "4.0 16.0F 8.0 16.1"),
        ("16.1F 4.0 16.0F 12.0F", "4.0 16.0F 16.1F 12.0F"),
    ],
)
def test_runs_that_are_found_are_put_in_the_order_in_which_they_were_made(made: str, ordered: str) -> None:
    def found(word: str) -> FoundRun:
        vus, repeat = word.removesuffix("F").split(".")
        return FoundRun(Path(word), {"vus": int(vus)}, int(repeat), int(word.endswith("F")), None)

    assert [str(run.path) for run in in_order([*map(found, made.split())])] == ordered.split()
