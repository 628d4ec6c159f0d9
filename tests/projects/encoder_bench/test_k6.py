"""k6's summaries, in each shape that the real k6 writes, against what really happened.

The files of tests/data/k6 were written by k6 while a script of ours counted each request by its status.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from projects.encoder_bench.visualizations.store.artifacts import parse_summary

DATA = Path(__file__).parents[2] / "data" / "k6"
RUNS = sorted(path.parent.name for path in DATA.glob("*/summary.json"))
SHAPES = ["summary.json", "export.json"]


def load(run: str, shape: str):
    return json.loads((DATA / run / shape).read_text())


def counted(content, name: str) -> int:
    """What the script's own counter says; k6 leaves out a counter that was never added to."""
    metrics = content.get("metrics") or {metric["name"]: metric for metric in content["results"]["metrics"]}
    metric = metrics.get(name, {})
    return metric.get("values", metric).get("count", 0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("run", RUNS)
def test_failed_and_all_requests_are_what_the_script_counted(run, shape):
    content = load(run, shape)
    summary = parse_summary(content)
    assert summary.requests == counted(content, "http_reqs")
    assert summary.requests - summary.failed_requests == counted(content, "status_200")
    assert summary.failed_requests == sum(
        counted(content, name) for name in ("status_404", "status_422", "status_other", "not_answered")
    )


@pytest.mark.parametrize("run", RUNS)
def test_all_shapes_of_one_run_say_the_same(run):
    first, second = (parse_summary(load(run, shape)) for shape in SHAPES)
    assert first.duration_s == pytest.approx(second.duration_s, rel=1e-3)
    assert first.avg_latency_ms == pytest.approx(second.avg_latency_ms)
    assert first.p95_latency_ms == pytest.approx(second.p95_latency_ms)
    assert (first.requests, first.failed_requests, first.dropped_iterations) == (
        second.requests,
        second.failed_requests,
        second.dropped_iterations,
    )


@pytest.mark.parametrize("run", ["mixed", "mixed.machine_readable", "threshold_crossed"])
def test_a_fifth_of_the_requests_failed_and_their_latency_does_not_count(run):
    content = load(run, "summary.json")
    summary = parse_summary(content)
    assert summary.failed_requests / summary.requests == pytest.approx(0.2, abs=0.005)
    metrics = content.get("metrics") or {metric["name"]: metric for metric in content["results"]["metrics"]}
    assert summary.avg_latency_ms > metrics["http_req_duration"]["values"]["avg"]


@pytest.mark.parametrize("run", ["nothing_listens", "nothing_listens.machine_readable"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_server_that_is_down_answers_nothing_and_has_no_latency(run, shape):
    summary = parse_summary(load(run, shape))
    assert summary.failed_requests == summary.requests > 1000
    assert (summary.avg_latency_ms, summary.p95_latency_ms) == (None, None)


@pytest.mark.parametrize(
    ("run", "least"), [("cut_by_max_duration", 40_000), ("arrival_rate_overloaded", 3000), ("clean", 0)]
)
def test_dropped_iterations_are_counted(run, least):
    assert parse_summary(load(run, "summary.json")).dropped_iterations >= least


def test_the_duration_is_that_of_the_run():
    assert parse_summary(load("mixed", "summary.json")).duration_s == pytest.approx(3.0, abs=0.2)
    assert parse_summary(load("mixed.machine_readable", "export.json")).duration_s == pytest.approx(3.0, abs=0.2)


def test_counters_of_inputs_count_where_the_script_has_them():
    content = load("clean", "summary.json")
    assert parse_summary(content).answered_inputs is None
    content["metrics"]["sent_inputs"] = {"values": {"count": 40}}
    summary = parse_summary(content)
    assert (summary.sent_inputs, summary.answered_inputs) == (40, 0)


@pytest.mark.parametrize("shape", SHAPES)
def test_thresholds_that_were_crossed_are_those_that_k6_named(shape):
    assert sorted(parse_summary(load("threshold_crossed", shape)).crossed) == [
        "med<0.001 of http_req_duration{kind:good}",
        "rate<0.05 of http_req_failed",
    ]
    assert parse_summary(load("mixed", shape)).crossed == []


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("run", "checks"),
    [("mixed", (424, 2124)), ("mixed.machine_readable", (438, 2190)), ("clean", None), ("aborted", None)],
)
def test_checks_and_virtual_users_are_counted(run, checks, shape):
    summary = parse_summary(load(run, shape))
    failed, count = summary.checks
    assert (failed, count) == checks if checks else failed == 0 < count
    assert summary.vus_max == {"clean": 2, "aborted": None}.get(run, 4)
    assert summary.began_s is None  # which only our own script says


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ([], "no JSON object"),
        ({}, "has no 'metrics'"),
        ({"metrics": {"http_reqs": 3}}, "has no 'metrics'"),
        ({"metrics": {}}, "without any HTTP request"),
        ({"results": {"metrics": {}}}, "have no list 'metrics'"),
        ({"metrics": {"http_reqs": {"count": 3, "rate": 1}}}, "how many requests failed"),
        ({"metrics": {"http_reqs": {"count": 3}, "http_req_failed": {"passes": 0}}}, "how long the run was"),
        ({"metrics": {"http_reqs": {"count": 3}}, "state": "x"}, "is not a k6 summary"),
        ({"results": {"metrics": [{"nme": 1}]}}, "is not a k6 summary"),
    ],
)
def test_what_is_no_summary_is_refused_with_a_sentence(content, reason):
    with pytest.raises(ValueError, match=reason):
        parse_summary(content)


@pytest.mark.parametrize("count", ["many", -100, None, float("nan"), [1]])
@pytest.mark.parametrize("name", ["answered_inputs", "http_reqs", "dropped_iterations"])
def test_a_count_that_is_no_number_is_not_taken_for_zero(name, count):
    content = load(RUNS[0], "summary.json")
    metric = content["metrics"].setdefault(name, {"type": "counter", "values": {}})
    metric["values"]["count"] = count
    with pytest.raises(ValueError, match=f"count of '{name}' is no number of 0 or more"):
        parse_summary(content)


def test_a_duration_below_zero_is_none():
    content = load(RUNS[0], "summary.json")
    content["state"]["testRunDurationMs"] = -5.0
    with pytest.raises(ValueError, match="whose duration is below 0"):
        parse_summary(content)


@pytest.mark.parametrize(
    "checks", [None, 3, [], {}, {"metrics": 3}, {"metrics": [3]}, {"metrics": [{"name": "checks_failed"}]}]
)
def test_checks_of_another_form_are_none_and_spoil_nothing(checks):
    content = load("mixed.machine_readable", "summary.json")
    content["results"]["checks"] = checks
    assert parse_summary(content).checks == (0, 0)
