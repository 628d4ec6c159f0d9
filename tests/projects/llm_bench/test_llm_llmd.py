"""llm-d's Benchmark Reports: units, tools that mean another latency by a name, stacks; what measures no requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from matrix_benchmarking.matrix import Entry, Matrix

Parse = Callable[..., Matrix]


def engine(role: str = "replica", **fields: Any) -> dict[str, Any]:
    standardized = {
        "kind": "inference_engine",
        "tool": "llm-d",
        "tool_version": "ghcr.io/llm-d/llm-d-cuda:v0.4.0",
        "role": role,
        "replicas": 2,
        "model": {"name": "org/m"},
        "accelerator": {"model": "H100", "count": 4, "parallelism": {"tp": 4, "pp": 1, "dp": 1, "ep": 1}},
    }
    return {"metadata": {}, "standardized": {**standardized, **fields}, "native": {}}


def report(tool: str = "vllm-benchmark", **latency: Any) -> dict[str, Any]:
    load = {"tool": tool, "rate_qps": 2.5, "concurrency": 8, "source": "random"}
    load["input_seq_len"] = {"distribution": "fixed", "value": 512}
    aggregate = {"requests": {"total": 100, "failures": 4, "incomplete": 6}, "latency": latency}
    return {
        "version": "0.2",
        "run": {"uid": "u", "time": {"start": "2026-01-01T10:00:00+02:00", "duration": "PT1H0M30.5S"}},
        "scenario": {"stack": [engine()], "load": {"standardized": load, "native": {}}},
        "results": {"request_performance": {"aggregate": aggregate}},
    }


def read(tmp_path: Path, parsed: Parse, document: object) -> Entry:
    (tmp_path / "report.json").write_text(json.dumps(document))
    (entry,) = parsed(tmp_path)
    assert entry.problems == ()
    return entry


def test_each_unit_comes_out_as_ours_and_an_unknown_one_not_at_all(tmp_path: Path, parsed: Parse) -> None:
    document = report(
        time_to_first_token={"units": "ms", "mean": 250.0, "p50": 200.0, "p99": 900.0},
        time_per_output_token={"units": "s/token", "mean": 0.02},
        inter_token_latency={"units": "ms/token", "mean": 30.0},
        request_latency={"units": "fortnights", "mean": 3.0},
    )
    document["results"]["request_performance"]["aggregate"]["throughput"] = {
        "output_token_rate": {"units": "tokens/s", "mean": 400.0},
        "request_rate": {"units": "queries/s", "mean": 2.0},
        "input_token_rate": {"units": "s", "mean": 7.0},
    }
    entry = read(tmp_path, parsed, document)
    expected = {"ttft_mean": 0.25, "ttft_p50": 0.2, "ttft_p99": 0.9, "tpot_mean": 0.02, "itl_mean": 0.03}
    expected |= {"output_tokens_per_s": 400, "requests_per_s": 2, "requests": 90, "error_share": 4 / 94}
    assert {name: entry.kpis[name] for name in expected} == pytest.approx(expected)
    assert not {"e2e_mean", "input_tokens_per_s", "total_tokens_per_s"} & {*entry.kpis}
    assert entry.results.duration == 3630.5
    settings = {"gpus": 8, "tp": 4, "hw_type": "H100", "engine": "llm-d", "version": "0.4.0", "disaggregated": False}
    settings |= {"request_rate": 2.5, "concurrency": 8, "input_length": 512, "dataset": "random", "model": "org/m"}
    assert {name: entry.settings.get(name) for name in settings} == settings


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("vllm-benchmark", {"tpot_mean": 0.011, "itl_mean": 0.012}),
        ("inference-perf", {"tpot_mean": 0.011, "itl_mean": 0.012}),
        ("guidellm", {"tpot_mean": 0.012}),
        ("aiperf", {"tpot_mean": 0.012}),
    ],
)
def test_a_latency_is_what_the_tool_behind_the_report_calls_so(
    tmp_path: Path, parsed: Parse, tool: str, expected: dict[str, float]
) -> None:
    names = {"time_per_output_token": 11.0, "inter_token_latency": 12.0}
    document = report(tool, **{name: {"units": "ms/token", "mean": mean} for name, mean in names.items()})
    entry = read(tmp_path, parsed, document)
    assert {name: entry.kpis[name] for name in ("tpot_mean", "itl_mean") if name in entry.kpis} == pytest.approx(
        expected
    )


def test_no_rate_is_made_of_the_time_of_all_stages(tmp_path: Path, parsed: Parse) -> None:
    document = report(time_to_first_token={"units": "s", "mean": 0.25})
    document["results"]["request_performance"]["aggregate"]["requests"]["input_length"] = {
        "units": "count",
        "mean": 512,
    }
    entry = read(tmp_path, parsed, document)
    assert entry.kpis["input_length_mean"] == 512
    assert not [name for name in entry.kpis if name.endswith("_per_s")]


def test_prefill_and_decode_apart_are_one_deployment(tmp_path: Path, parsed: Parse) -> None:
    document = report(time_to_first_token={"units": "s", "mean": 0.25})
    other = {"model": "H200", "count": 8, "parallelism": {"tp": 8}}
    router = {"standardized": {"kind": "generic", "tool": "request_router", "tool_version": ""}}
    document["scenario"]["stack"] = [engine("prefill", replicas=1), engine("decode", accelerator=other), router]
    entry = read(tmp_path, parsed, document)
    expected = {"disaggregated": True, "gpus": 20, "hw_type": "H100 + H200"}
    assert {name: entry.settings.get(name) for name in expected} == expected
    document["scenario"]["stack"][0]["standardized"]["accelerator"].pop("count")
    assert "gpus" not in read(tmp_path, parsed, document).settings


def test_a_measured_length_was_not_asked_for(tmp_path: Path, parsed: Parse) -> None:
    document = report(time_to_first_token={"units": "s", "mean": 0.25})
    document["scenario"]["load"]["standardized"]["input_seq_len"]["value"] = 937.66
    document["scenario"]["load"]["standardized"]["output_seq_len"] = {"distribution": "other", "value": 128}
    assert not {"input_length", "output_length"} & {*read(tmp_path, parsed, document).settings}


def test_what_was_watched_is_a_share_or_in_watts(tmp_path: Path, parsed: Parse) -> None:
    document = report(time_to_first_token={"units": "s", "mean": 0.25})
    components = [
        {"gpu_utilization": {"units": "percent", "mean": 80}, "power_consumption": {"units": "Watts", "mean": 500}},
        {"gpu_utilization": {"units": "fraction", "mean": 0.6}, "cache_hit_rate": {"units": "percent", "mean": 25}},
        {"gpu_utilization": {"units": "GiB", "mean": 7}},
    ]
    watched = [{"component_label": "server", "aggregate": each} for each in components]
    document["results"]["observability"] = {"components": watched}
    entry = read(tmp_path, parsed, document)
    expected = {"gpu_utilization": 0.7, "gpu_power": 500, "cache_hit_share": 0.25}
    assert {name: entry.kpis[name] for name in expected} == pytest.approx(expected)


def test_an_answer_that_is_faster_than_its_first_token_is_not_believed(tmp_path: Path, parsed: Parse) -> None:
    wrong = {"units": "ms", "mean": 3.5}  # as a converter writes guidellm's s
    entry = read(tmp_path, parsed, report(time_to_first_token={"units": "ms", "mean": 250}, request_latency=wrong))
    assert "a unit is wrong" in str(entry.implausible)


@pytest.mark.parametrize(("said", "seconds"), [(25.0, 25), (60.0, 60), (25000.0, 25)])
def test_guidellms_whole_answers_are_in_s_whatever_converters_call_them(
    tmp_path: Path, parsed: Parse, said: float, seconds: float
) -> None:
    latency = {"time_to_first_token": ("ms", 12.0), "inter_token_latency": ("ms/token", 24.0)}
    means = {name: {"units": unit, "mean": mean} for name, (unit, mean) in latency.items()}
    document = report("guidellm", **means, request_latency={"units": "ms", "mean": said, "p99": said})
    document["results"]["request_performance"]["aggregate"]["requests"]["output_length"] = {
        "units": "count",
        "mean": 1024,
    }
    kpis = read(tmp_path, parsed, document).kpis
    assert (kpis["e2e_mean"], kpis["e2e_p99"], kpis["ttft_mean"]) == (seconds, seconds, 0.012)


@pytest.mark.parametrize(
    ("tool", "version", "expected"),
    [
        ("", "//:", (None, None)),
        ("vllm", "docker.io/vllm/vllm-openai:latest", ("vllm", "latest")),
        ("mine", "registry/mine/server:v7", ("mine", "v7")),
        ("llm-d", "ghcr.io/llm-d/llm-d-cuda:v0.4.0", ("llm-d", "0.4.0")),
    ],
)
def test_an_image_says_the_engine_and_its_version(
    tmp_path: Path, parsed: Parse, tool: str, version: str, expected: tuple[str | None, ...]
) -> None:
    document = report(time_to_first_token={"units": "s", "mean": 0.25})
    document["scenario"]["stack"] = [engine(tool=tool, tool_version=version)]
    settings = read(tmp_path, parsed, document).settings
    assert (settings.get("engine"), settings.get("version")) == expected


def test_the_first_version_names_the_engine_by_its_image_and_unknown_sizes_by_minus_1(
    tmp_path: Path, parsed: Parse
) -> None:
    host = {"accelerator": [{"model": "H100", "count": 1, "parallelism": {"tp": -1, "dp": -1}}]}
    platform = {"engine": [{"name": "ghcr.io/llm-d/llm-d-cuda:v0.3.1"}]}
    latency = {"time_to_first_token": {"units": "ms", "mean": 20.0}}
    scenario = {"host": host, "platform": platform, "load": {"name": "vllm-benchmark"}}
    metrics = {"requests": {"total": 5}, "latency": latency}
    settings = read(tmp_path, parsed, {"version": "0.1", "scenario": scenario, "metrics": metrics}).settings
    assert (settings["engine"], settings["version"]) == ("llm-d", "0.3.1")
    assert not {"tp", "dp", "gpus"} & {*settings}


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        ({"type": "constant", "stages": [{"rate": 2}, {"rate": 5}]}, {"request_rate": 5}),
        (
            {"type": "concurrent", "stages": [{"concurrency_level": 4}, {"concurrency_level": 8, "rate": 99}]},
            {"request_rate": "unlimited", "concurrency": 8},
        ),
    ],
)
def test_the_first_version_has_inference_perfs_configuration(
    tmp_path: Path, parsed: Parse, load: dict[str, Any], expected: dict[str, object]
) -> None:
    data = {"type": "random", "input_distribution": {"mean": 512}, "output_distribution": {"mean": 64}}
    config = {"server": {"type": "vllm", "model_name": "org/m"}, "load": load, "data": data}
    scenario = {
        "model": {"name": "unknown"},
        "load": {"name": "inference-perf", "args": config, "metadata": {"stage": 1}},
    }
    metrics = {"requests": {"total": 5}, "latency": {"time_to_first_token": {"units": "s", "mean": 0.02}}}
    settings = read(tmp_path, parsed, {"version": "0.1", "scenario": scenario, "metrics": metrics}).settings
    expected |= {"model": "org/m", "engine": "vllm", "dataset": "random", "input_length": 512, "output_length": 64}
    assert {name: settings.get(name) for name in expected} == expected


@pytest.mark.parametrize("place", ["aggregated", "components"])
def test_vllms_own_metrics_say_the_share_of_the_cache(tmp_path: Path, parsed: Parse, place: str) -> None:
    share = {"units": "percent", "mean": 62.5}
    said = {"aggregated": share} if place == "aggregated" else {"components": [{"statistics": share}] * 2}
    document = report(time_to_first_token={"units": "s", "mean": 0.25})
    document["results"]["observability"] = {"vllm_prefix_cache_hit_rate": said}
    assert read(tmp_path, parsed, document).kpis["cache_hit_share"] == 0.625


@pytest.mark.parametrize(("concurrency", "rate"), [(8, "unlimited"), (float("inf"), 2.5), (None, 2.5)])
def test_inference_perfs_fixed_concurrency_has_no_rate(
    tmp_path: Path, parsed: Parse, concurrency: float | None, rate: object
) -> None:
    document = report("inference-perf", time_to_first_token={"units": "s", "mean": 0.25})
    document["scenario"]["load"]["standardized"]["concurrency"] = concurrency
    assert read(tmp_path, parsed, document).settings["request_rate"] == rate


def test_all_requests_failed(tmp_path: Path, parsed: Parse) -> None:
    document = report()
    document["results"]["request_performance"]["aggregate"] = {"requests": {"total": 9, "failures": 9}}
    entry = read(tmp_path, parsed, document)
    assert entry.failed
    assert entry.kpis["error_share"] == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": "3.0"}, "version 3.0"),
        ({"results": {"session_performance": {"sessions": {"total": 4}}}}, "without the performance of requests"),
        ({"scenario": {"load": {"standardized": {"tool": "nop"}}}}, "sent no request"),
    ],
)
def test_what_has_no_measure_of_requests_is_said(
    tmp_path: Path, parsed: Parse, change: dict[str, Any], said: str
) -> None:
    (tmp_path / "report.json").write_text(json.dumps({**report(), **change}))
    (tmp_path / "good").mkdir()
    (tmp_path / "good" / "report.json").write_text(json.dumps(report(time_to_first_token={"units": "s", "mean": 1})))
    matrix = parsed(tmp_path)
    assert len([entry for entry in matrix if not entry.failed]) == 1
    assert said in str([each.reason for entry in matrix.unfinished for each in entry.problems])


def test_a_report_beside_the_file_that_it_was_made_of_is_no_run_and_describes_the_server(
    formats: Path, tmp_path: Path, parsed: Parse
) -> None:
    stages = formats / "inference-perf" / "vllm" / "results"
    for number in (1, 2):
        name = f"stage_{number}_lifecycle_metrics.json"
        (tmp_path / name).write_bytes((stages / name).read_bytes())
        for version in ("", "_v0.2"):
            document = report("inference-perf", time_to_first_token={"units": "s", "mean": 0.25})
            (tmp_path / f"benchmark_report{version},_{name}.yaml").write_text(yaml.safe_dump(document))
    matrix = parsed(tmp_path)
    assert [entry.settings["tool"] for entry in matrix] == ["inference-perf"] * 2
    expected = {"model": "org/m", "hw_type": "H100", "gpus": 8, "engine": "llm-d", "version": "0.4.0"}
    for entry in matrix:
        assert {name: entry.settings.get(name) for name in expected} == expected
        assert entry.settings["request_rate"] != 2.5
    (tmp_path / "benchmark_report_v0.2,_stage_1_lifecycle_metrics.json.yaml").write_text("a: [")
    damaged = parsed(tmp_path)
    assert ["model" in entry.settings for entry in damaged] == [False, True]
    assert "is not valid YAML" in str([each.reason for entry in damaged.unfinished for each in entry.problems])
    for path in tmp_path.glob("*stage_1_*"):
        path.unlink()
    for path in tmp_path.glob("stage_*"):
        path.unlink()
    left = parsed(tmp_path)
    assert [entry.location.name.startswith("benchmark_report_v0.2,") for entry in left] == [True]


ODD = [None, "text", -1, 10**400, [], {}, [[]], [{}], {"a": 1}, True, "inf"]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_hostile_value_at_any_place_is_no_internal_error(tmp_path: Path, parsed: Parse, odd: object) -> None:
    document = report(time_to_first_token={"units": "s", "mean": 0.25})
    document["results"]["observability"] = {"components": [{"component_label": "s", "aggregate": {"x": {"units": 1}}}]}
    for number, path in enumerate(places(document)):
        changed = json.loads(json.dumps(document))
        inner = changed
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = odd
        (tmp_path / f"{number}.json").write_text(json.dumps(changed))
    matrix = parsed(tmp_path)
    assert len(matrix) > 30
    assert "stopped" not in str([each.reason for entry in matrix.unfinished for each in entry.problems])


def places(document: object, above: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = (
        document.items() if isinstance(document, dict) else enumerate(document if isinstance(document, list) else [])
    )
    return [path for key, value in items for path in ((*above, key), *places(value, (*above, key)))]
