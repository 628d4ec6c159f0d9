"""Real files of guidellm, aiperf, inference-perf, llm-d, InferenceX and MLPerf: values by hand, in one unit each."""

from __future__ import annotations

import collections
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from llm_points import only

from matrix_benchmarking.matrix import Entry, Matrix

Parse = Callable[..., Matrix]


def approximately(entry: Entry, **expected: float) -> None:
    assert {name: entry.kpis.get(name) for name in expected} == pytest.approx(expected, rel=1e-3)


def test_all_of_them_lie_in_one_tree_and_each_is_read(formats: Path, tmp_path: Path, parsed: Parse) -> None:
    shutil.copytree(formats, tmp_path / "mixed")
    matrix = parsed(tmp_path / "mixed")
    counts = collections.Counter(entry.settings["tool"] for entry in matrix)
    assert counts == {
        "vllm": 7,
        "sglang": 4,
        "guidellm": 3,
        "aiperf": 4,
        "inference-perf": 15,
        "llm-d": 3,
        "inferencex": 52,
        "mlperf": 12,
    }
    assert [entry.problems for entry in matrix if entry.problems] == []
    made_up = {entry.location.name for entry in matrix if entry.implausible}
    assert made_up == {"br_v0_2_1_example.yaml", "br_v0_2_example.yaml"}  # 10⁷ tokens/s by one of their numbers


def test_inference_perf_in_seconds_with_its_servers_manifest(formats: Path, parsed: Parse) -> None:
    matrix = parsed(formats / "inference-perf")
    entry = only(matrix, request_rate=92.19)
    assert entry.settings == {
        "tool": "inference-perf",
        "request_rate": 92.19,
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "engine": "vllm",
        "version": "0.11.0",
        "hw_type": "nvidia-h100-80gb",
        "gpus": 1,
    }
    assert entry.results.settings_from["model"] == "manifests.yaml"
    approximately(
        *(entry,),
        ttft_p99=0.181827,
        tpot_mean=0.00751602,
        itl_p50=4.858e-05,
        e2e_p90=1.233686,
        requests_per_s=91.3573,
        output_tokens_per_s=5693.884,
        request_rate_reached=92.2241,
        schedule_delay_p99=0.00167999,
        error_share=0.0,
        output_length_mean=62.32544,
        requests=5531,
    )
    assert not any(entry.name.endswith("summary_lifecycle_metrics.json#run") for entry in matrix)


def test_a_summary_alone_is_read_and_a_late_client_is_said(formats: Path, tmp_path: Path, parsed: Parse) -> None:
    source = formats / "inference-perf" / "vllm"
    shutil.copy(source / "results" / "summary_lifecycle_metrics.json", tmp_path)
    (tmp_path / "config.yaml").write_text(
        "load: {type: constant, stages: [{rate: 1, duration: 60}]}\nserver: {type: sglang, model_name: org/m}\n"
        "data: {type: random, input_distribution: {mean: 512}, output_distribution: {mean: 64}}\n"
    )
    (entry,) = parsed(tmp_path)
    assert {
        name: entry.settings.get(name) for name in ("model", "engine", "dataset", "input_length", "output_length")
    } == {"model": "org/m", "engine": "sglang", "dataset": "random", "input_length": 512, "output_length": 64}
    assert any("sent requests 9.25 s late" in each for each in entry.warnings)


def test_inference_perf_without_a_success_is_a_failed_run(formats: Path, tmp_path: Path, parsed: Parse) -> None:
    path = formats / "inference-perf" / "vllm" / "results" / "stage_0_lifecycle_metrics.json"
    stage = json.loads(path.read_text())
    zeros = {name: {"mean": 0.0, "median": 0.0, "p99": 0.0} for name in stage["successes"]["latency"]}
    stage["successes"] |= {"count": 0, "latency": zeros}
    stage["failures"] |= {"count": 60}
    (tmp_path / "stage_0_lifecycle_metrics.json").write_text(json.dumps(stage))
    (entry,) = parsed(tmp_path)
    assert entry.failed
    assert entry.kpis == {"error_share": 1.0, "requests": 0.0}


def test_inferencex_clients_are_in_seconds_and_names_say_the_rest(formats: Path, parsed: Parse) -> None:
    matrix = parsed(formats / "inferencex")
    entry = only(matrix, input_length=1024, concurrency=16)
    assert {**entry.settings} == {
        "tool": "inferencex",
        "model": "zai-org/GLM-5-FP8",
        "engine": "vllm",
        "quantization": "fp8",
        "tp": 8,
        "gpus": 8,
        "input_length": 1024,
        "output_length": 128,
        "concurrency": 16,
        "request_rate": "unlimited",
    }
    approximately(entry, ttft_p50=0.2913994, tpot_p99=0.0717097, e2e_p99=9.59055, output_tokens_per_s=403.5809)
    assert "ttft_mean" not in entry.kpis


ROW: dict[str, Any] = {
    "hw": "b200-trt",
    "conc": 64,
    "image": "nvcr.io#nvidia/tensorrt-llm/release:1.1.0rc2.post2",
    "isl": 1024,
    "osl": 1024,
    "model": "deepseek-ai/DeepSeek-R1-0528",
    "infmax_model_prefix": "dsr1",
    "framework": "trt",
    "precision": "fp8",
    "spec_decoding": "none",
    "disagg": False,
    "is_multinode": False,
    "tp": 8,
    "pp": 1,
    "ep": 1,
    "dp_attention": "false",
    "tput_per_gpu": 600.0,
    "output_tput_per_gpu": 300.0,
    "input_tput_per_gpu": 300.0,
    "median_ttft": 0.25,
    "mean_ttft": 0.3,
    "p99_ttft": 0.9,
    "median_tpot": 0.02,
    "p99_tpot": 0.04,
    "median_intvty": 50.0,
    "mean_e2el": 20.0,
    "power_valid": 1,
    "avg_power_w": 700.0,
    "joules_per_output_token": 2.3,
}


@pytest.mark.parametrize("as_list", [False, True])
def test_a_row_of_inferencex_is_per_gpu(tmp_path: Path, parsed: Parse, as_list: bool) -> None:
    (tmp_path / "agg_x.json").write_text(json.dumps([ROW, {**ROW, "conc": 4}] if as_list else ROW))
    matrix = parsed(tmp_path)
    entry = only(matrix, concurrency=64)
    assert len(matrix) == 1 + as_list
    expected = {"hw_type": "b200-trt", "gpus": 8, "engine": "trtllm", "version": "1.1.0rc2.post2", "speculative": False}
    expected |= {"disaggregated": False, "input_length": 1024, "output_length": 1024, "tp": 8, "quantization": "fp8"}
    assert {name: entry.settings.get(name) for name in expected} == expected
    approximately(
        *(entry,),
        output_tokens_per_s=2400,
        total_tokens_per_s=4800,
        output_tokens_per_s_per_gpu=300,
        ttft_p99=0.9,
        tokens_per_s_per_user=50,
        gpu_power=700,
        energy_per_output_token=2.3,
        e2e_mean=20,
    )


def test_a_row_of_split_gpus_has_a_denominator_for_each_rate(tmp_path: Path, parsed: Parse) -> None:
    row = {**ROW, "disagg": "true", "is_multinode": True, "num_prefill_gpu": 4, "num_decode_gpu": 12, "power_valid": 0}
    row["tput_per_gpu"] = 300.0
    (tmp_path / "agg_x.json").write_text(json.dumps(row))
    (entry,) = parsed(tmp_path)
    assert (entry.settings["gpus"], entry.settings["disaggregated"]) == (16, True)
    approximately(entry, output_tokens_per_s=3600, input_tokens_per_s=1200, total_tokens_per_s=4800)
    assert "gpu_power" not in entry.kpis  # the tool says that its power is not valid


def test_aiperf_of_each_schema(formats: Path, tmp_path: Path, parsed: Parse) -> None:
    shutil.copytree(formats / "aiperf", tmp_path / "a")
    shutil.copytree(formats / "no-licence" / "aiperf", tmp_path / "b")
    matrix = parsed(tmp_path)
    new, old = only(matrix, model="tiny"), only(matrix, model="Qwen/Qwen3-0.6B")
    approximately(new, ttft_p50=0.0245535, tpot_p50=0.002687084, itl_p50=0.00543408, e2e_p99=0.2094567)
    approximately(new, concurrency_reached=3.870152, output_tokens_per_s=1233.2473, error_share=0.0, requests=40)
    assert (new.settings["concurrency"], new.settings["input_length"], new.settings["output_length"]) == (4, 32, 32)
    approximately(
        old, gpu_power=129.88545, gpu_utilization=0.930154, energy_per_output_token=129.88545 * 255.56017 / 12799
    )
    assert old.settings["hw_type"] == "NVIDIA RTX 6000 Ada Generation"
    csv, trimmed = (only([one for one in matrix if part in one.name]) for part in ("0.10.csv", "trimmed"))
    for name in ("ttft_p99", "e2e_mean", "output_tokens_per_s", "requests_per_s"):
        assert csv.kpis[name] == pytest.approx(trimmed.kpis[name], rel=0.01)
    assert trimmed.settings["concurrency"] == 2  # of the phase that counts, not of the warm-up


def test_slices_of_a_run_of_aiperf_are_no_run(formats: Path, tmp_path: Path, parsed: Parse) -> None:
    export = json.loads((formats / "aiperf" / "0.13" / "profile_export_aiperf.json").read_text())
    (tmp_path / "profile_export_aiperf.json").write_text(json.dumps(export))
    (tmp_path / "profile_export_aiperf_timeslices.json").write_text(json.dumps({"timeslices": [export, export]}))
    assert [entry.location.name for entry in parsed(tmp_path)] == ["profile_export_aiperf.json"]


def test_runs_of_a_multi_run_directory_are_repeats_and_the_aggregate_is_none(
    formats: Path, tmp_path: Path, parsed: Parse
) -> None:
    source = formats / "aiperf" / "0.13" / "profile_export_aiperf.json"
    for number in (1, 2, 3):
        place = tmp_path / "study" / "profile_runs" / f"run_{number:04d}"
        place.mkdir(parents=True)
        shutil.copy(source, place)
        (place / "inputs.json").write_text("{}")
    (tmp_path / "study" / "aggregate").mkdir()
    metrics = {
        "request_throughput_avg": {"mean": 19.0, "unit": "requests/sec"},
        "request_latency_p99": {"mean": 210.0, "unit": "ms"},
    }
    aggregate = {"metadata": {"aggregation_type": "confidence", "num_profile_runs": 3}, "metrics": metrics}
    (tmp_path / "study" / "aggregate" / "profile_export_aiperf_aggregate.json").write_text(json.dumps(aggregate))
    matrix = parsed(tmp_path)
    runs = [entry for entry in matrix if "profile_runs" in entry.name]
    assert [entry.repeat for entry in runs] == [0, 1, 2]
    assert len({entry.campaign for entry in runs}) == 1
    shutil.rmtree(tmp_path / "study" / "profile_runs")
    (alone,) = parsed(tmp_path)
    approximately(alone, requests_per_s=19.0, e2e_p99=0.21)


@pytest.mark.parametrize(("unit", "seconds"), [("ms", 0.25), ("s", 250), ("ns", 2.5e-7), ("fortnights", None)])
def test_the_unit_of_each_metric_is_believed(
    formats: Path, tmp_path: Path, parsed: Parse, unit: str, seconds: float | None
) -> None:
    document = json.loads((formats / "aiperf" / "0.13" / "profile_export_aiperf.json").read_text())
    document["time_to_first_token"] = {"unit": unit, "avg": 250.0}
    (tmp_path / "profile_export_aiperf.json").write_text(json.dumps(document))
    (entry,) = parsed(tmp_path)
    assert entry.kpis.get("ttft_mean") == (seconds if seconds is None else pytest.approx(seconds))


def test_a_guidellm_file_is_a_sweep(formats: Path, tmp_path: Path, parsed: Parse) -> None:
    shutil.copytree(formats / "guidellm", tmp_path / "a")
    shutil.copytree(formats / "no-licence" / "guidellm", tmp_path / "b")
    matrix = parsed(tmp_path)
    entry = only(matrix, strategy="concurrent")
    assert (entry.settings["concurrency"], entry.settings["model"]) == (4, "Qwen/Qwen3-4B-Thinking-2507")
    # TPOT: (24.9077 s − 0.1715 s) / 1023 tokens; whole answers are in s and the rest in ms
    approximately(entry, e2e_mean=24.90866, ttft_p50=0.1715217, tpot_mean=0.02417878, requests=4, error_share=0)
    assert {one.name.rpartition("#")[2] for one in matrix if one.settings.get("strategy") == "constant"} == {
        "constant 2", "constant 4"
    } or len(matrix) == 3  # fmt: skip
    one = next(one for one in matrix if one.settings.get("strategy") == "constant")
    assert {one.settings[name] for name in ("input_length", "output_length")} == {32, 8}


def first_generation(rate: float, kind: str = "constant") -> dict[str, Any]:
    """As guidellm 0.2 and 0.3 write a benchmark."""

    def spread(mean: float) -> dict[str, Any]:
        whole = {"mean": mean, "percentiles": {"p50": mean, "p90": 2 * mean, "p95": 2 * mean, "p99": 3 * mean}}
        return {"successful": whole, "errored": {"mean": 0.0}, "total": {"mean": 9.0}}

    return {
        "type_": "generative_benchmark",
        "run_id": "x",
        "start_time": 1.75e9,
        "end_time": 1.75e9 + 60,
        "args": {"strategy_index": 0, "strategy": {"type_": kind, "rate": rate}},
        "run_stats": {"requests_made": {"successful": 90, "errored": 10, "incomplete": 0, "total": 100}},
        "worker": {"backend_type": "openai_http", "backend_model": "org/m"},
        "request_loader": {"data": "prompt_tokens=256,output_tokens=128"},
        "metrics": {
            "requests_per_second": spread(1.5),
            "request_latency": spread(2.0),
            "time_to_first_token_ms": spread(50.0),
            "inter_token_latency_ms": spread(15.0),
            "time_per_output_token_ms": spread(15.6),
            "output_tokens_per_second": spread(192.0),
            "tokens_per_second": spread(576.0),
        },
        "requests": {"successful": [{"output": 'a "quoted } ]', "requests": [1, {"x": "\\"}]}], "errored": []},
    }


def test_the_first_generation_and_yaml_are_read_and_requests_passed_over(tmp_path: Path, parsed: Parse) -> None:
    document = {"benchmarks": [first_generation(2.0), first_generation(4.0), first_generation(4.0)]}
    (tmp_path / "sweep.json").write_text(json.dumps(document))
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump({**document, "guidellm": True}))
    matrix = parsed(tmp_path)
    names = sorted(entry.name for entry in matrix)
    assert [name.rpartition("#")[2] for name in names] == ["constant 2", "constant 4", "constant 4 1"] * 2
    entry = next(entry for entry in matrix if entry.name == "sweep.json#constant 2")
    expected = {"model": "org/m", "request_rate": 2, "input_length": 256, "output_length": 128, "dataset": "synthetic"}
    assert {name: entry.settings.get(name) for name in expected} == expected
    approximately(entry, ttft_p99=0.15, tpot_p50=0.015, e2e_mean=2.0, error_share=0.1, output_tokens_per_s=192)


def test_llm_d_reports_are_read_by_the_units_that_they_name(formats: Path, parsed: Parse) -> None:
    matrix = parsed(formats / "llm-d-benchmark")
    assert len(matrix) == 3
    old = only(matrix, model="deepseek-ai/DeepSeek-R1-0528")
    approximately(old, ttft_p50=0.000203539536, tpot_mean=8.36929456e-05, gpu_power=410.02, gpu_utilization=0.4056)
    expected = {"engine": "vllm", "version": "0.9.0.1", "gpus": 17, "disaggregated": True, "quantization": "fp16"}
    assert {name: old.settings.get(name) for name in expected} == expected
    new = [entry for entry in matrix if entry is not old]
    for entry in new:
        approximately(entry, ttft_p99=0.0502949, requests=500, gpu_utilization=0.76)
        expected = {"hw_type": "NVIDIA-H100-80GB-HBM3", "gpus": 16, "tp": 8, "engine": "llm-d", "version": "0.3.1"}
        assert {name: entry.settings.get(name) for name in expected} == expected


def summary_of(log: Path) -> dict[str, str]:
    lines = log.with_name("mlperf_log_summary.txt").read_text().splitlines()
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def test_mlperf_says_what_the_summary_says(formats: Path, parsed: Parse) -> None:
    root = formats / "mlperf-inference"
    for entry in parsed(root):
        said = summary_of(entry.location)
        rate = said.get("Completed samples per second", said.get("Samples per second"))
        tokens = said.get("Completed tokens per second", said.get("Tokens per second"))
        approximately(entry, requests_per_s=float(str(rate)), output_tokens_per_s=float(str(tokens)))
        approximately(entry, e2e_mean=float(said["Mean latency (ns)"]) * 1e-9)
        if entry.settings["scenario"] == "Server":
            approximately(entry, ttft_p99=float(said["99.00 percentile first token latency (ns)"]) * 1e-9)
            approximately(entry, tpot_mean=float(said["Mean Time to Output Token (ns)"]) * 1e-9)
    entry = only(parsed(root), system="8xMI300X_2xEPYC-9374F", model="llama2-70b-99", scenario="Server")
    expected = {"hw_type": "AMD Instinct MI300X-NPS1-SPX-192GB-750W", "gpus": 8, "engine": "vllm", "version": "0.4.3"}
    expected |= {"submitter": "AMD", "division": "closed", "request_rate": 73.5}
    assert {name: entry.settings.get(name) for name in expected} == expected


def test_mlperfs_summary_stands_in_for_the_detail(formats: Path, tmp_path: Path, parsed: Parse) -> None:
    root = formats / "mlperf-inference"
    shutil.copytree(root, tmp_path / "m")
    whole = {entry.location.parent.relative_to(root): entry for entry in parsed(root)}
    for path in (tmp_path / "m").rglob("mlperf_log_detail.txt"):
        path.unlink()
    for entry in parsed(tmp_path / "m"):
        other = whole[entry.location.parent.relative_to(tmp_path / "m")]
        same = {name: value for name, value in other.kpis.items() if name not in ("requests",)}
        assert {name: entry.kpis.get(name) for name in same} == pytest.approx(same, rel=1e-3)


@pytest.mark.parametrize(("change", "said"), [("INVALID", "failed"), (None, "did not come to its end")])
def test_an_invalid_run_failed_and_one_without_an_end_is_a_problem(
    formats: Path, tmp_path: Path, parsed: Parse, change: str | None, said: str
) -> None:
    source = next((formats / "mlperf-inference").rglob("mlperf_log_detail.txt"))
    lines = source.read_text().splitlines(keepends=True)
    key = re.compile(r'"result_validity", "value": "VALID"')
    kept = [
        key.sub(f'"result_validity", "value": "{change}"', line) for line in lines if change or not key.search(line)
    ]
    (tmp_path / "mlperf_log_detail.txt").write_text("".join(kept))
    matrix = parsed(tmp_path)
    if change:
        assert [entry.failed for entry in matrix] == [True]
    else:
        assert said in str([each.reason for entry in matrix.unfinished for each in entry.problems])


@pytest.mark.parametrize(("kind", "is_late"), [("constant", True), ("throughput", False)])
def test_a_request_is_late_only_where_a_rate_was_asked_for(
    tmp_path: Path, parsed: Parse, kind: str, is_late: bool
) -> None:
    benchmark = first_generation(2.0, kind)
    benchmark["run_stats"]["request_start_time_targeted_delay_avg"] = 1.5
    (tmp_path / "sweep.json").write_text(json.dumps({"benchmarks": [benchmark]}))
    (entry,) = parsed(tmp_path)
    assert entry.kpis["schedule_delay_mean"] == 1.5
    assert any("1.5 s late" in each for each in entry.warnings) == is_late
