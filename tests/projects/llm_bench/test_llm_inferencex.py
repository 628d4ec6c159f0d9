"""Rows of InferenceX of all versions: whole rates, whatever they are divided by; agentic rows; those of its API."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_points import POINT, write

from matrix_benchmarking.matrix import Entry, Matrix

Parse = Callable[..., Matrix]

ROW: dict[str, Any] = {
    "hw": "mi355x",
    "conc": 64,
    "image": "vllm/vllm-openai-rocm:v0.21.0",
    "model": "moonshotai/Kimi-K2.5",
    "infmax_model_prefix": "kimik2.5",
    "framework": "vllm",
    "precision": "int4",
    "spec_decoding": "mtp",
    "disagg": False,
    "isl": 8192,
    "osl": 1024,
    "is_multinode": False,
    "median_ttft": 2.5,
    "median_tpot": 0.3,
    "mean_itl": 0.8,
    "p90_e2el": 300.0,
    "p99.9_e2el": 330.0,
}
INPUT, OUTPUT = 9600.0, 1200.0


def rates(whole: int, prefill: int, decode: int) -> dict[str, float]:
    return {
        "tput_per_gpu": (INPUT + OUTPUT) / whole,
        "input_tput_per_gpu": INPUT / prefill,
        "output_tput_per_gpu": OUTPUT / decode,
    }


def parse_row(tmp_path: Path, parsed: Parse, row: object) -> Entry:
    (tmp_path / "agg_a.json").write_text(json.dumps(row))
    (entry,) = parsed(tmp_path)
    assert entry.problems == ()
    return entry


def roles(prefill: int, decode: int) -> dict[str, int]:
    return {"num_prefill_gpu": prefill, "num_decode_gpu": decode}


@pytest.mark.parametrize(
    ("topology", "gpus"),
    [
        ({"tp": 8, "ep": 8, **rates(8, 8, 8)}, 8),
        ({"tp": 4, "pp": 2, "pcp_size": 2, "dcp_size": 4, **rates(16, 16, 16)}, 16),
        ({"disagg": True, "is_multinode": True, **roles(8, 8), **rates(16, 8, 8)}, 16),
        ({"disagg": True, "is_multinode": True, **roles(24, 48), **rates(72, 24, 48)}, 72),
        ({"disagg": True, "is_multinode": True, **roles(24, 48), **rates(72, 72, 72)}, 72),
        ({"disagg": False, "is_multinode": False, **roles(8, 8), **rates(8, 8, 8)}, 8),
        ({"disagg": False, "is_multinode": True, **roles(8, 8), **rates(16, 8, 8)}, 16),
        ({"disagg": False, "is_multinode": True, **roles(16, 0), **rates(16, 16, 16)}, 16),
        (
            {
                "disagg": "true",
                "prefill_tp": 4,
                "prefill_num_workers": 3,
                "prefill_pp": 2,
                "decode_tp": 8,
                "decode_num_workers": 1,
                **rates(32, 24, 8),
            },
            32,
        ),
    ],
)
def test_whole_rates_are_those_that_were_measured(
    tmp_path: Path, parsed: Parse, topology: dict[str, Any], gpus: int
) -> None:
    entry = parse_row(tmp_path, parsed, {**ROW, **topology})
    assert entry.settings["gpus"] == gpus
    expected = {"output_tokens_per_s": OUTPUT, "input_tokens_per_s": INPUT, "total_tokens_per_s": INPUT + OUTPUT}
    expected["output_tokens_per_s_per_gpu"] = OUTPUT / gpus
    assert {name: entry.kpis[name] for name in expected} == pytest.approx(expected)


def test_a_row_of_the_first_version_has_no_input_rate(tmp_path: Path, parsed: Parse) -> None:
    row = {
        "hw": "h200",
        "tp": 8,
        "ep": 1,
        "dp_attention": "true",
        "conc": 4,
        "model": "m",
        "framework": "sglang",
        "precision": "fp8",
        "tput_per_gpu": 30.0,
        "output_tput_per_gpu": 10.0,
        "median_ttft": 0.5,
        "mtp": "on",
    }
    entry = parse_row(tmp_path, parsed, row)
    expected = {"output_tokens_per_s": 80, "total_tokens_per_s": 240, "input_tokens_per_s": 160, "ttft_p50": 0.5}
    assert {name: entry.kpis[name] for name in expected} == pytest.approx(expected)
    assert entry.settings["speculative"] == "mtp"
    assert entry.settings["dp_attention"] is True


def test_settings_and_latencies_come_out_as_they_are_said(tmp_path: Path, parsed: Parse) -> None:
    entry = parse_row(tmp_path, parsed, {**ROW, "tp": 8, "dp_attention": "false", **rates(8, 8, 8)})
    assert dict(entry.settings) == {
        "tool": "inferencex",
        "model": "moonshotai/Kimi-K2.5",
        "quantization": "int4",
        "engine": "vllm",
        "version": "0.21.0",
        "image": "vllm/vllm-openai-rocm:v0.21.0",
        "hw_type": "mi355x",
        "gpus": 8,
        "tp": 8,
        "dp_attention": False,
        "speculative": "mtp",
        "disaggregated": False,
        "is_multinode": False,
        "input_length": 8192,
        "output_length": 1024,
        "concurrency": 64,
    }
    expected = {"ttft_p50": 2.5, "tpot_p50": 0.3, "itl_mean": 0.8, "e2e_p90": 300, "tokens_per_s_per_user": 1 / 0.3}
    assert {name: entry.kpis[name] for name in expected} == pytest.approx(expected)
    assert "e2e_p99" not in entry.kpis


@pytest.mark.parametrize(
    ("framework", "image", "engine", "version"),
    [
        ("sglang", "rocm/sgl-dev:v0.5.6-rocm700-mi35x-20251113", "sglang", "0.5.6"),
        ("sglang", "lmsysorg/sglang:v0.5.5.post3-cu129-amd64", "sglang", "0.5.5.post3"),
        ("vllm", "rocm/7.0:rocm7.0_ubuntu_22.04_vllm_0.10.1_instinct_20250927_rc1", "vllm", "0.10.1"),
        ("dynamo-trt", "nvcr.io#nvidia/tensorrt-llm/release:1.1.0", "trtllm", "1.1.0"),
        ("trt", "", "trtllm", None),
        ("atom", "rocm/atom:rocm7.1.1-ubuntu24.04-pytorch2.9-atom0.1.1", "atom", "0.1.1"),
        ("vllm", "vllm/vllm-openai-rocm:nightly-ac68c3087215e0a4f3cdfa218508c6aada57235d", "vllm", None),
    ],
)
def test_an_image_says_the_engines_version(
    tmp_path: Path, parsed: Parse, framework: str, image: str, engine: str, version: str | None
) -> None:
    entry = parse_row(tmp_path, parsed, {**ROW, "tp": 8, **rates(8, 8, 8), "framework": framework, "image": image})
    assert (entry.settings.get("engine"), entry.settings.get("version")) == (engine, version)


def test_an_agentic_row_nests_what_aiperf_measured(tmp_path: Path, parsed: Parse) -> None:
    latency = {"mean": 0.034, "p50": 0.033, "p90": 0.04, "p95": 0.041, "std": 0.01}
    row = {
        **{name: value for name, value in ROW.items() if name not in ("isl", "osl") and "_" not in name[:7]},
        "scenario_type": "agentic-coding",
        "tp": 4,
        "pp": 2,
        "num_gpus": 8,
        "infmax_model_prefix": "glm",
        "num_requests_total": 120,
        "num_requests_successful": 100,
        "kv_offloading": "dram",
        "request_accounting": {"records_total": 120, "records_warmup_dropped": 15, "records_error_dropped": 5},
        "request_metrics": {
            "latency": {
                "ttft": latency,
                "e2el": {"mean": 1.09, "p50": 1.05},
                "itl": {"mean": 0.018, "p50": 0.0182},
                "tpot": {"mean": 0.018, "p50": 0.0182},
            },
            "tokens": {"input": {"mean": 168.0}, "output_actual": {"mean": 55.0}},
            "throughput": {
                "input": {"tokens_per_second": 168.0},
                "output": {"tokens_per_second": 55.0},
                "total": {"tokens_per_second": 223.0},
                "duration_seconds": 100.0,
                "per_gpu": {"total_tput_tps": 27.875},
            },
        },
        "server_metrics": {"cache": {"gpu_cache_hit_rate": 0.5, "overall_cache_hit_rate": 0.625}},
    }
    entry = parse_row(tmp_path, parsed, [row])
    expected = {
        "ttft_mean": 0.034,
        "ttft_p95": 0.041,
        "e2e_p50": 1.05,
        "tpot_p50": 0.0182,
        "requests": 100,
        "output_tokens_per_s": 55,
        "input_tokens_per_s": 168,
        "total_tokens_per_s": 223,
        "requests_per_s": 1,
        "input_length_mean": 168,
        "output_length_mean": 55,
        "error_share": 5 / 105,
        "cache_hit_share": 0.625,
    }
    assert {name: entry.kpis[name] for name in expected} == pytest.approx(expected)
    assert not [name for name in entry.kpis if name.startswith("itl")]  # aiperf's is the TPOT
    settings = {"gpus": 8, "dataset": "agentic-coding", "kv_offloading": "dram", "concurrency": 64}
    assert {name: entry.settings.get(name) for name in settings} == settings


EARLY: dict[str, Any] = {
    "hw": "b200",
    "users": 256,
    "image": "vllm/vllm-openai:v0.19.1",
    "model": "nvidia/DeepSeek-R1-0528-FP4",
    "infmax_model_prefix": "dsr1",
    "framework": "vllm",
    "precision": "fp4",
    "scenario_type": "agentic-coding",
    "is_multinode": False,
    "tp": 4,
    "ep": 4,
    "dp_attention": "false",
    "offload_mode": "off",
    "num_requests_total": 519,
    "num_requests_successful": 82,
    "median_ttft": 335.23864209651947,
    "p90_ttlt": 763.0446459293366,
    "mean_itl": 0.10539936126670732,
    "mean_input_tokens": 59100.41463414634,
    "mean_output_tokens_actual": 2511.756097560976,
    "server_gpu_cache_hit_rate": 0.019489938570018572,
    "server_cpu_cache_hit_rate": None,
    "kv_offload_bytes_gpu_to_cpu": 12.0,
    "total_generation_tokens": 674861,
    "output_tput_tps": 195.36992983948713,
    "total_tput_tps": 4792.33054706258,
    "duration_seconds": 1054.225694656372,
    "tput_per_gpu": 1198.082636765645,
}


def test_early_agentic_rows_are_flat(tmp_path: Path, parsed: Parse) -> None:
    entry = parse_row(tmp_path, parsed, EARLY)
    expected = {
        "ttft_p50": 335.238642,
        "e2e_p90": 763.044646,
        "tpot_mean": 0.10539936,
        "input_length_mean": 59100.4146,
        "output_tokens_per_s": 195.36993,
        "requests": 82,
        "error_share": 437 / 519,
        "cache_hit_share": 0.01948994,
        "output_length_mean": 2511.756098,
        "requests_per_s": 82 / 1054.2256947,
    }
    assert {name: entry.kpis[name] for name in expected} == pytest.approx(expected)
    assert "itl_mean" not in entry.kpis
    settings = {"concurrency": 256, "offload_mode": "off", "gpus": 4, "version": "0.19.1", "dataset": "agentic-coding"}
    assert {name: entry.settings.get(name) for name in settings} == settings
    assert "kv_offload_bytes_gpu_to_cpu" not in entry.settings
    assert "speculative" not in entry.settings
    offloaded = parse_row(tmp_path, parsed, {**EARLY, "offload_mode": "on", "server_cpu_cache_hit_rate": 0.77})
    assert offloaded.settings["offload_mode"] == "on"
    assert "cache_hit_share" not in offloaded.kpis  # the share of both caches together isn't said


def test_rows_of_the_public_api_keep_their_measures_apart(tmp_path: Path, parsed: Parse) -> None:
    row = {
        "hardware": "b300",
        "framework": "vllm",
        "model": "minimaxm2.5",
        "precision": "fp8",
        "spec_method": "none",
        "disagg": False,
        "is_multinode": False,
        "prefill_tp": 2,
        "decode_tp": 2,
        **roles(2, 2),
        "isl": 1024,
        "osl": 1024,
        "conc": 64,
        "date": "2026-04-17",
        "metrics": {**rates(2, 2, 2), "mean_ttft": 0.094, "mean_tpot": 0.022},
    }
    entry = parse_row(tmp_path, parsed, [row])
    assert entry.kpis["output_tokens_per_s"] == pytest.approx(OUTPUT)
    assert entry.kpis["ttft_mean"] == pytest.approx(0.094)
    expected = {"hw_type": "b300", "gpus": 2, "speculative": False, "quantization": "fp8"}
    assert {name: entry.settings.get(name) for name in expected} == expected
    assert "date" not in entry.settings


def test_rows_stand_beside_scores_and_say_what_came_of_the_requests(tmp_path: Path, parsed: Parse) -> None:
    outcome = {"requested": 100, "completed": 90, "failed": 10}
    row = {**ROW, "tp": 8, **rates(8, 8, 8), "benchmark_outcome": outcome, "kv_p2p_transfer": "nixl"}
    score = {"hw": "MI355X", "task": "gsm8k", "em_strict": 0.97, "tp": 8}
    entry = parse_row(tmp_path, parsed, {"benchmarks": [row], "evaluations": [score]})
    assert (entry.kpis["requests"], entry.kpis["error_share"]) == (90, pytest.approx(0.1))
    assert entry.settings["kv_p2p_transfer"] == "nixl"
    (tmp_path / "agg_eval_all.json").write_text(json.dumps([score]))
    matrix = parsed(tmp_path)
    assert len(list(matrix)) == 1
    assert "scores of evaluations are not read" in str([each.reason for e in matrix.unfinished for each in e.problems])


def test_a_row_without_a_success_is_a_failed_run(tmp_path: Path, parsed: Parse) -> None:
    row = {**ROW, "tp": 8, **rates(8, 8, 8), "num_requests_successful": 0, "num_requests_total": 3}
    assert parse_row(tmp_path, parsed, row).failed


@pytest.mark.parametrize(
    "change",
    [
        {"tp": "8", "tput_per_gpu": "many", "median_ttft": None},
        {"tp": [8], "num_prefill_gpu": {}, "metrics": [], "image": 5, "framework": None, "spec_decoding": ["mtp"]},
        {"conc": float("nan"), "tput_per_gpu": float("inf"), "tp": -8, "request_metrics": "none", "model": {"a": 1}},
    ],
)
def test_what_is_of_another_type_is_unknown(tmp_path: Path, parsed: Parse, change: dict[str, Any]) -> None:
    entry = parse_row(tmp_path, parsed, {**ROW, "tp": 8, **rates(8, 8, 8), **change})
    assert "total_tokens_per_s" not in entry.kpis or entry.kpis["total_tokens_per_s"] > 0
    assert entry.settings["tool"] == "inferencex"


def test_a_file_of_its_own_client_is_vllms_with_times(tmp_path: Path, parsed: Parse) -> None:
    model = "/models/models--openai--gpt-oss-120b/snapshots/b5c939de8f75/"
    times = {"benchmark_start_time_unix": 1786022594.5, "benchmark_end_time_unix": 1786022910.25, "best_of": 1}
    directory = tmp_path / "results"
    write(directory, "concurrency_16_req_rate_inf_gpus_16_ctx_8_gen_8.json", {**POINT, **times, "model_id": model})
    (entry,) = parsed(directory)
    expected = {"tool": "vllm", "model": "openai/gpt-oss-120b", "gpus": 16, "concurrency": 16}
    assert {name: entry.settings.get(name) for name in expected} == expected
    assert not {*times} & {*entry.settings}
    assert entry.lts.metadata.start == dt.datetime.fromtimestamp(1786022594.5, dt.UTC)
    assert entry.lts.metadata.end == dt.datetime.fromtimestamp(1786022910.25, dt.UTC)
