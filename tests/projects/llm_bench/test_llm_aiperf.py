"""aiperf and genai-perf: energy that the file says, names of newer metrics, older configurations, sweeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking.matrix import Entry, Matrix

Parse = Callable[..., Matrix]

RUN: dict[str, Any] = {
    "request_throughput": {"unit": "requests/sec", "avg": 5.0},
    "benchmark_duration": {"unit": "sec", "avg": 10.0},
    "total_isl": {"unit": "tokens", "avg": 6000.0},
    "total_osl": {"unit": "tokens", "avg": 2000.0},
    "input_config": {},
}


def read(tmp_path: Path, parsed: Parse, name: str = "profile_export_aiperf.json", **fields: object) -> Entry:
    (tmp_path / name).write_text(json.dumps({**RUN, **fields}))
    (entry,) = parsed(tmp_path)
    return entry


def telemetry(*gpus: dict[str, Any]) -> dict[str, Any]:
    return {"endpoints": {"e": {"gpus": {f"gpu_{place}": {"metrics": gpu} for place, gpu in enumerate(gpus)}}}}


POWER = {"unit": "W", "avg": 100.0, "p50": 100.0}


@pytest.mark.parametrize(
    ("prefix", "counter", "energy"),
    [
        ("", {"unit": "MJ", "avg": 0.003}, 6000),
        ("nvidia_", {"unit": "MJ", "avg": 0.003}, 6000),
        ("", {"unit": "MJ", "avg": 32.0, "p50": 32.1, "min": 32.0, "max": 32.1}, 2000),
    ],
)
def test_the_energy_is_that_which_was_counted(
    tmp_path: Path, parsed: Parse, prefix: str, counter: dict[str, Any], energy: float
) -> None:
    power = {"": "gpu_power_usage", "nvidia_": "nvidia_power_usage"}[prefix]
    gpu = {power: POWER, f"{prefix}energy_consumption": counter}
    entry = read(tmp_path, parsed, telemetry_data=telemetry(gpu, gpu))
    expected = {"gpu_power": 100, "energy_per_output_token": energy / 2000, "energy_per_total_token": energy / 8000}
    assert {name: entry.kpis.get(name) for name in expected} == pytest.approx(expected)


def test_metrics_of_the_latest_version(tmp_path: Path, parsed: Parse) -> None:
    said = {
        "nvidia_energy_per_output_token": ("mJ/token", 1500.0),
        "overall_usage_prompt_cache_read_pct": ("%", 40.0),
        "spec_decode_overall_draft_acceptance_rate": ("%", 75.0),
        "spec_decode_token_weighted_acceptance_length": ("ratio", 2.5),
    }
    metrics = {name: {"unit": unit, "avg": value} for name, (unit, value) in said.items()}
    gpu = {"nvidia_power_usage": POWER, "nvidia_gpu_utilization": {"unit": "%", "avg": 60.0}}
    entry = read(tmp_path, parsed, telemetry_data=telemetry(gpu), **metrics)
    expected = {"energy_per_output_token": 1.5, "cache_hit_share": 0.4, "gpu_power": 100, "gpu_utilization": 0.6}
    expected |= {"acceptance_rate": 0.75, "acceptance_length": 2.5}
    assert {name: entry.kpis.get(name) for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            {
                "model": ["org/m"],
                "concurrency": 8,
                "request_rate": None,
                "synthetic_input_tokens_mean": 550,
                "output_tokens_mean": -1,
                "streaming": False,
            },
            {"concurrency": 8, "request_rate": "unlimited", "input_length": 550, "streaming": False},
        ),
        (
            {"model_names": ["org/m"], "perf_analyzer": {"stimulus": {"request_rate": 2.5}}},
            {"request_rate": 2.5, "concurrency": None},
        ),
        (
            {"models": {"items": [{"name": "org/m"}]}, "phases": [{"type": "user_centric", "users": 6, "rate": 3}]},
            {"concurrency": 6, "request_rate": 3},
        ),
    ],
)
def test_each_configuration_says_the_load(
    tmp_path: Path, parsed: Parse, config: dict[str, Any], expected: dict[str, object]
) -> None:
    telemetry_stats = {"gpu_power_usage": {"unit": "W", "gpu0": {"avg": 90.0}, "gpu1": {"avg": 110.0}}}
    goodput = {"request_goodput": {"unit": "requests/sec", "avg": 4.5}}
    entry = read(
        *(tmp_path, parsed, "profile_export_genai_perf.json"),
        **goodput,
        input_config=config,
        telemetry_stats=telemetry_stats,
    )
    expected |= {"model": "org/m"}
    assert {name: entry.settings.get(name) for name in expected} == expected
    assert (entry.kpis["gpu_power"], entry.kpis["goodput"], entry.kpis["energy_per_output_token"]) == (100, 4.5, 1)


def test_tokens_that_the_server_counts_otherwise_are_a_doubt(tmp_path: Path, parsed: Parse) -> None:
    entry = read(tmp_path, parsed, usage_discrepancy_count={"unit": "requests", "avg": 40.0})
    assert any("count tokens otherwise in 40 requests" in said for said in entry.warnings)
    entry = read(tmp_path, parsed, usage_discrepancy_count={"unit": "requests", "avg": 0.0})
    assert not any("count tokens otherwise" in said for said in entry.warnings)


def test_a_run_without_an_answer_failed(tmp_path: Path, parsed: Parse) -> None:
    failed = {"error_request_count": {"unit": "requests", "avg": 9.0}, "input_config": {}}
    (tmp_path / "profile_export_aiperf.json").write_text(json.dumps(failed))
    (entry,) = parsed(tmp_path)
    assert (entry.failed, entry.kpis) == (True, {"error_share": 1, "requests": 0})


def test_genai_perf_once_wrote_texts_in_ns(tmp_path: Path, parsed: Parse) -> None:
    entry = read(
        *(tmp_path, parsed, "profile_export_genai_perf.json"),
        request_throughput={"unit": "request per sec", "avg": "12.25"},
        time_to_first_token={"unit": "ns", "avg": "20757771.5"},
        num_input_token={"unit": "tokens", "avg": "550.5"},
        input_config={"model": "org/m"},
    )
    expected = {"requests_per_s": 12.25, "ttft_mean": 0.0207577715, "input_length_mean": 550.5}
    assert {name: entry.kpis.get(name) for name in expected} == pytest.approx(expected)
    assert entry.settings["model"] == "org/m"


def test_a_csv_of_genai_perf_alone(tmp_path: Path, parsed: Parse) -> None:
    (tmp_path / "profile_export_genai_perf.csv").write_text(
        'Metric,avg,min,max,p99\nTime To First Token (ms),"1,250.00",1,2,3000\n\nMetric,Value\n'
        "Request Throughput (per sec),5.0\nOutput Token Throughput (per sec),400\n"
    )
    (entry,) = parsed(tmp_path)
    expected = {"ttft_mean": 1.25, "ttft_p99": 3, "requests_per_s": 5, "output_tokens_per_s": 400}
    assert {name: entry.kpis.get(name) for name in expected} == pytest.approx(expected)


SWEEP = {
    "aggregation_type": "sweep",
    "metadata": {},
    "per_combination_metrics": [
        {
            "parameters": {"phases.profiling.concurrency": count},
            "metrics": {"request_latency_p99": {"mean": 9.0 * count, "unit": "ms"}},
        }
        for count in (1, 2)
    ],
}


@pytest.mark.parametrize("places", ["profile_runs/trial_000{}/concurrency_4", "concurrency_4/profile_runs/trial_000{}"])
def test_trials_are_repeats_and_a_sweeps_aggregate_stands_in_for_its_runs(
    tmp_path: Path, parsed: Parse, places: str
) -> None:
    aggregate = tmp_path / "base" / "sweep_aggregate"
    aggregate.mkdir(parents=True)
    for name in ("sweep", "collated"):
        (aggregate / f"profile_export_aiperf_{name}.json").write_text(json.dumps(SWEEP))
    alone = {entry.settings["concurrency"]: entry.kpis["e2e_p99"] for entry in parsed(tmp_path)}
    assert alone == pytest.approx({1: 0.009, 2: 0.018})
    for trial in (1, 2):
        place = tmp_path / "base" / places.format(trial)
        place.mkdir(parents=True)
        (place / "profile_export_aiperf.json").write_text(json.dumps(RUN))
    assert sorted(entry.repeat for entry in parsed(tmp_path)) == [0, 1]
