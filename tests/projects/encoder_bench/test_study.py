"""The flat tree of the encoder-analysis study: settings, KPIs, and files that are not its results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from matrix_benchmarking import store
from matrix_benchmarking.workload import load
from projects.encoder_bench.visualizations.analyze import differences
from projects.encoder_bench.visualizations.plotting.sanity import failed_conclusion, failed_frame

RUN = {
    "total_requests": 1000,
    "test_duration_sec": 10.0,
    "successful_requests": 1000,
    "avg_latency_ms": 80.0,
    "p95_latency_ms": 120.5,
    "throughput_req_per_sec": 100.0,
    "avg_embedding_size": 768,
    "hw_type": "nvidia-l4",
    "batch_size": 32,
    "image": "michaelf34/infinity:0.0.75",
    "engine": "torch",
    "vendor": "aws",
    "vus": 8,
}


@pytest.fixture(autouse=True)
def user_cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def write(directory: Path, **changes) -> Path:
    run = {name: value for name, value in (RUN | changes).items() if value is not None}
    directory.mkdir(parents=True, exist_ok=True)
    path = (
        directory
        / f"{run.get('vendor')}_{run['hw_type']}_default_{run['engine']}_{run['batch_size']}_{run['vus']}.json"
    )
    path.write_text(json.dumps(run))
    return path


def parse(directory: Path, **options):
    return store.parse_tree(load("encoder_bench"), directory, options=options)


@pytest.mark.parametrize("folder", ["", "embedding", "embedding/nvidia-l4"])
def test_the_shared_runs_give_the_known_cheapest_configuration(foreign_samples, folder):
    matrix = parse(foreign_samples / "encoder_analysis" / folder)
    assert len(matrix) == 80
    ranked = sorted(matrix, key=lambda entry: entry.kpis["1B_cost"])
    assert [
        (entry.settings["batch_size"], entry.settings["vus"], round(entry.kpis["1B_cost"], 2)) for entry in ranked[:3]
    ] == [(32, 256, 409.44), (32, 512, 412.70), (32, 384, 416.31)]
    assert {entry.implausible for entry in matrix} == {()}
    assert matrix.unfinished == []
    assert matrix.notes == []


def test_settings_come_from_the_content_and_the_task_from_the_result_fields(tmp_path):
    write(tmp_path)
    write(tmp_path, avg_embedding_size=None, accuracy_percentage=91.5, vus=16)
    write(tmp_path, avg_embedding_size=None, avg_num_vectors=731.0, invalid_embeddings=0, vus=32)
    entries = {entry.settings["vus"]: entry for entry in parse(tmp_path)}
    assert entries[8].settings == {
        "task": "embedding", "vendor": "aws", "hw_type": "nvidia-l4", "image": "default",
        "engine": "torch", "batch_size": 32, "vus": 8,
    }  # fmt: skip
    assert entries[16].settings["task"] == "classification"
    assert entries[16].kpis["accuracy"] == pytest.approx(0.915)
    assert entries[32].settings["task"] == "vision_embedding"


def test_a_file_that_gives_a_setting_twice_is_refused(tmp_path):
    path = write(tmp_path)
    path.write_text(path.read_text().replace("{", '{"vus": 64, ', 1))
    matrix = parse(tmp_path)
    assert not matrix.entries
    assert "'vus' is in one object twice" in str(matrix.unfinished[0].problems[0])


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("michaelf34/infinity:0.0.75", "default"),
        ("michaelf34/infinity:0.0.75-trt-onnx", "trt-onnx"),
        ("default", "default"),
        ("trt-onnx", "trt-onnx"),
        (
            "ghcr.io/huggingface/text-embeddings-inference:1.7",
            "ghcr.io/huggingface/text-embeddings-inference:1.7",
        ),
    ],
)
def test_image_names_are_those_of_the_study(tmp_path, image, name):
    write(tmp_path, image=image)
    assert parse(tmp_path).entries[0].settings["image"] == name


def test_answers_of_the_wrong_shape_are_not_paid_work(tmp_path):
    write(tmp_path, avg_embedding_size=None, avg_num_vectors=700.0, invalid_embeddings=250)
    entry = parse(tmp_path).entries[0]
    assert entry.kpis["throughput"] == pytest.approx(75.0)
    assert entry.kpis["error_rate"] == pytest.approx(0.25)
    assert entry.kpis["1B_cost"] == pytest.approx(1e9 / 75 * 0.8 / 3600)


def test_an_unknown_price_leaves_the_cost_unknown_with_a_reason_and_can_be_given(tmp_path):
    write(tmp_path, vendor="acme", hw_type="tpu-9")
    entry = parse(tmp_path).entries[0]
    assert "1B_cost" not in entry.kpis
    assert entry.missing_kpis["1B_cost"].startswith("no price is known for acme/tpu-9; give one with --price")
    given = parse(tmp_path, prices={"acme/tpu-9": 3.6}).entries[0]
    assert given.kpis["1B_cost"] == pytest.approx(1e9 / 100 * 3.6 / 3600)


def test_what_the_tree_cannot_know_is_unknown_and_not_zero(tmp_path):
    write(tmp_path)
    entry = parse(tmp_path).entries[0]
    metadata = entry.lts.metadata
    assert (entry.exit_code, metadata.start, metadata.end) == (None, None, None)
    assert entry.missing_kpis["gpu_util"] == "GPU load was not measured"
    assert entry.lts.results.gpu_util is None
    assert entry.missing_kpis["error_rate"] == "error rate was not measured"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "not valid JSON"),
        ('{"total_requests": 10', "not valid JSON"),
        ("[1, 2]", "it is no JSON object"),
        ("{}", "it has no hw_type, engine, batch_size, vus"),
        (
            json.dumps({**RUN, "avg_embedding_size": None, "task": 1} | {"hw_type": [1]}),
            "'hw_type' is a list",
        ),
        (
            json.dumps({name: RUN[name] for name in RUN if name != "avg_embedding_size"}),
            "accuracy_percentage or",
        ),
    ],
    ids=["empty", "truncated", "list", "other object", "list as a setting", "no task"],
)
def test_a_file_that_is_no_result_is_named_and_the_others_are_parsed(tmp_path, content, reason):
    write(tmp_path)
    (tmp_path / "aws_broken_default_torch_1_1.json").write_text(content)
    matrix = parse(tmp_path)
    assert len(matrix) == 1
    assert reason in str(matrix.unfinished[0].problems[0])


@pytest.mark.parametrize("wrong", ["many", -1, True])
def test_a_count_that_is_no_number_is_a_problem(tmp_path, wrong):
    write(tmp_path, total_requests=wrong)
    entry = parse(tmp_path).entries[0]
    assert f"'total_requests' is {wrong!r}, not a number of at least 0" in str(entry.problems[0])
    assert "throughput" in entry.missing_kpis


def test_a_run_that_took_no_time_has_no_throughput(tmp_path):
    write(tmp_path, test_duration_sec=0)
    assert "throughput" in parse(tmp_path).entries[0].missing_kpis


def test_a_run_of_the_study_with_more_answers_than_requests_and_a_mean_of_nothing_can_not_be(tmp_path):
    write(tmp_path)
    write(tmp_path, vus=16, successful_requests=1200)
    write(tmp_path, vus=32, avg_latency_ms=0)
    found = {entry.settings["vus"]: entry.implausible for entry in parse(tmp_path)}
    assert found == {
        8: (),
        16: ("-200 requests failed", "1,200 of 1,000 inputs were answered"),
        32: ("the mean latency (0 ms) is too low beside the p95 latency (120.5 ms)",),
    }


def test_costs_at_several_prices_of_one_hardware_are_said(tmp_path):
    write(tmp_path)
    write(tmp_path, vus=16)
    (one,), (other,) = ([entry for entry in parse(tmp_path) if entry.settings["vus"] == vus] for vus in (8, 16))
    one.kpis, other.kpis = ({"1B_cost": cost, "throughput": 50.0} for cost in (100.0, 200.0))
    assert differences([one, one]) == []
    (said,) = differences([one, one, other])
    assert said.endswith("too: 0.018 USD per hour in 2 runs, 0.036 USD per hour in 1 run.")


def test_latencies_that_contradict_the_throughput_are_said(tmp_path):
    """By Little's law: 1,000 requests in 20 s of 50 ms each are 2.5 at a time."""
    measured = {"total_requests": 1000, "successful_requests": 1000, "test_duration_sec": 20.0}
    how = "requests were in flight, the mean, and vus is"
    cases = {
        2: (52.0, 60.0, f"2.6 {how} 2: 50 answers a second that take 52 ms each"),
        4: (50.0, 60.0, None),
        8: (
            0.05,
            0.06,
            f"0.0025 {how} 8: 50 answers a second that take 0.05 ms each: users paused, or a unit is wrong",
        ),
    }
    for vus, (mean, p95, _) in cases.items():
        write(tmp_path, vus=vus, avg_latency_ms=mean, p95_latency_ms=p95, **measured)
    write(tmp_path, vus=16, avg_latency_ms=50_000.0, p95_latency_ms=60_000.0, **measured)
    write(tmp_path, vus=1, avg_latency_ms=32.0, p95_latency_ms=60.0, **measured)
    much, *doubted, impossible = sorted(parse(tmp_path), key=lambda entry: entry.settings["vus"])
    for entry in doubted:
        said = cases[entry.settings["vus"]][2]
        assert list(entry.warnings) == ([] if said is None else [said])
        assert entry.implausible == ()
    wrong = "a count, a time or a unit is wrong"
    assert much.implausible == (f"1.6 {how} 1: 50 answers a second that take 32 ms each: {wrong}",)
    assert impossible.implausible == (
        "the p95 latency (60,000 ms) is longer than the run",
        f"2,500 {how} 16: 50 answers a second that take 50,000 ms each: {wrong}",
    )


@pytest.mark.parametrize(
    ("fields", "failed", "error_rate"),
    [
        ({"invalid_embeddings": 0}, None, None),
        ({"invalid_embeddings": 250}, None, 0.25),
        ({"invalid_embeddings": 0, "successful_requests": 900}, 100, 0.1),
        ({}, None, None),
    ],
)
def test_where_the_script_could_see_no_failure_their_number_is_unknown_and_not_zero(
    tmp_path, fields, failed, error_rate
):
    write(tmp_path, avg_embedding_size=None, avg_num_vectors=700.0, **fields)
    matrix = parse(tmp_path)
    (entry,) = matrix
    assert entry.lts.results.failed_requests == failed
    assert entry.kpis.get("error_rate") == (None if error_rate is None else pytest.approx(error_rate))
    sentence = failed_conclusion(failed_frame(matrix))
    assert sentence.startswith("No run says how many" if failed is None else "100 of 1,000 requests failed")
