"""The client's log: which lines are points of a curve, and which are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projects.serving_bench.visualizations.store import parse_log

LOG = """Running baseline throughput tests...
Batch size 8: 297.16 reqs/sec
Batch size 1: 181.62 reqs/sec
Running API benchmarks...
Concurrency 1: 37.74 reqs/sec, CPU: 20.6%, GPU: 13.1%
Concurrency 8: 82.58 reqs/sec, CPU: 43.6%
Concurrency 32: 80.53 reqs/sec
"""


def test_lines_become_points_in_the_order_of_batch_size_and_concurrency() -> None:
    log = parse_log(LOG)
    assert [(point.batch_size, point.throughput) for point in log.baseline] == [(1, 181.62), (8, 297.16)]
    assert [(point.concurrency, point.throughput) for point in log.api] == [(1, 37.74), (8, 82.58), (32, 80.53)]


def test_loads_are_fractions_and_a_part_that_is_missing_is_unknown() -> None:
    loads = [(point.cpu, point.gpu) for point in parse_log(LOG).api]
    assert loads == [(pytest.approx(0.206), pytest.approx(0.131)), (pytest.approx(0.436), None), (None, None)]


def test_a_line_that_is_indented_is_a_point_too() -> None:
    indented = parse_log(LOG.replace("Concurrency 8", "  Concurrency 8"))
    assert indented == parse_log(LOG)


def test_a_log_of_one_kind_of_line_has_one_curve() -> None:
    log = parse_log("Batch size 4: 10 reqs/sec\n")
    assert (len(log.baseline), log.api) == (1, [])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "holds no line of the form"),
        ("Traceback (most recent call last):\n", "holds no line of the form"),
        ("Concurrency 8: 82.5", "line 1 is not of the form"),
        ("Concurrency 1: 2 reqs/sec\n[INFO] Concurrency 8: 3 reqs/sec", "line 2 is not of the form"),
        ("x\nConcurrency 8: many reqs/sec", "line 2 has 'many' where a number should be"),
        ("Concurrency 8: -1 reqs/sec", "line 1 has '-1' where a number should be"),
        ("Concurrency 8: nan reqs/sec", "line 1 has 'nan' where a number should be"),
        ("Concurrency 8: inf reqs/sec", "line 1 has 'inf' where a number should be"),
        ("Concurrency 8: 80 reqs/sec, CPU: 120%", "line 1 has a load of 120 %"),
        ("Concurrency 8: 80 reqs/sec, CPU: -3%", "line 1 has '-3' where a number should be"),
        ("Concurrency 0: 80 reqs/sec", "line 1 measures at 0, which is nothing"),
        ("Batch size 8: 80 reqs/sec\nBatch size 8: 81 reqs/sec", "line 2 measures 8 again"),
    ],
)
def test_what_can_not_be_understood_is_refused_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_log(text)


@given(
    st.dictionaries(
        st.integers(1, 10_000),
        st.tuples(st.floats(0, 1e6), st.none() | st.floats(0, 100), st.none() | st.floats(0, 100)),
        min_size=1,
    )
)
def test_what_a_client_writes_is_read_back(points: dict[int, tuple[float, float | None, float | None]]) -> None:
    lines = [
        ", ".join(
            [f"Concurrency {clients}: {rate:.2f} reqs/sec"]
            + [f"{name}: {load:.1f}%" for name, load in (("CPU", cpu), ("GPU", gpu)) if load is not None]
        )
        for clients, (rate, cpu, gpu) in points.items()
    ]
    for point in parse_log("\n".join(lines)).api:
        rate, cpu, gpu = points[point.concurrency]
        assert point.throughput == pytest.approx(rate, abs=0.01)
        assert [load is None for load in (point.cpu, point.gpu)] == [load is None for load in (cpu, gpu)]


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        log = parse_log(text)
    except ValueError:
        return
    assert log.baseline or log.api
