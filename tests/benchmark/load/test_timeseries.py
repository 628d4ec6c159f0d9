"""The time series of a load: each sample in its second, nothing lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking.benchmark.load.k6 import quantile, read_samples, time_series

HEADER = "metric_name,timestamp,metric_value,expected_response\n"


def test_requests_count_in_the_second_in_which_they_end(tmp_path):
    path = tmp_path / "samples.csv"
    path.write_text(
        HEADER
        + "http_req_duration,100100,10,true\n"
        + "http_req_duration,100900,30,true\n"
        + "answered_inputs,100900,4,\n"
        + "http_req_duration,101500,99,false\n"
        + "vus,101500,3,\n"
    )
    series = time_series(read_samples(path), {"start": 100.0, "end": 102.5})
    assert series == {
        "start": 100.0,
        "interval_s": 1.0,
        "last_interval_s": 0.5,
        "requests": [2, 1, 0],
        "failed": [0, 1, 0],
        "answered_inputs": [4, 0, 0],
        "p50_ms": [20.0, None, None],
        "p95_ms": [29.0, None, None],
    }


def test_damaged_lines_are_passed_over(tmp_path):
    path = tmp_path / "samples.csv"
    path.write_bytes(
        HEADER.encode() + b"http_req_duration,x,10,true\nhttp_req_duration\n\0\xff\nhttp_req_duration,1000,5,true\n"
    )
    assert time_series(read_samples(path), {"start": 1.0, "end": 1.5})["requests"] == [1]


def test_what_comes_after_the_end_counts_in_the_last_second():
    series = time_series([("http_req_duration", 110.0, 1.0, True)], {"start": 100.0, "end": 102.0})
    assert series["requests"] == [0, 1]


SAMPLES = st.lists(
    st.tuples(
        st.sampled_from(["http_req_duration", "answered_inputs"]),
        st.floats(90, 130, allow_nan=False),
        st.integers(0, 1000).map(float),
        st.booleans(),
    ),
    max_size=60,
)


@given(SAMPLES, st.floats(0, 25))
def test_nothing_is_lost(samples, length_s):
    series = time_series(samples, {"start": 100.0, "end": 100.0 + length_s})
    requests = [sample for sample in samples if sample[0] == "http_req_duration"]
    assert sum(series["requests"]) == len(requests)
    assert sum(series["failed"]) == sum(not sample[3] for sample in requests)
    assert sum(series["answered_inputs"]) == sum(sample[2] for sample in samples if sample[0] == "answered_inputs")
    assert len({len(value) for value in series.values() if isinstance(value, list)}) == 1


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30).map(sorted), st.floats(0, 1))
def test_a_quantile_lies_within_the_values(values, share):
    assert values[0] - 0.001 <= quantile(values, share) <= values[-1] + 0.001
