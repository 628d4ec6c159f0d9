"""LoadGen's logs of all rounds and scenarios, as its source writes them; trees of submissions; what is no speed."""

from __future__ import annotations

import datetime as dt
import json
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.workload import load

Parse = Callable[..., Matrix]

RUN = "closed/ACME/results/8xH100/llama2-70b-99/Server/performance/run_1"
LATENCIES = {
    "result_mean_latency_ns": 42_000_000_000,
    "result_50.00_percentile_latency_ns": 36_000_000_000,
    "result_99.00_percentile_latency_ns": 141_000_000_000,
}


def detail(scenario: str, **values: object) -> dict[str, object]:
    return {
        "loadgen_version": "5.0",
        "requested_test_mode": "PerformanceOnly",
        "effective_scenario": scenario,
        "effective_test_mode": "PerformanceOnly",
        "result_validity": "VALID",
        **values,
    }


def write_log(directory: Path, values: Mapping[str, object]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    lines = [
        f":::MLLOG {json.dumps({'key': key, 'value': value, 'time_ms': 1.5, 'metadata': {'is_error': False}})}\n"
        for key, value in values.items()
    ]
    (directory / "mlperf_log_detail.txt").write_text("".join(lines))
    return directory


def write_summary(directory: Path, text: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    title = "=" * 48
    (directory / "mlperf_log_summary.txt").write_text(f"{title}\nMLPerf Results Summary\n{title}\n{text}")


def run_of(tmp_path: Path, parsed: Parse) -> Entry:
    (entry,) = parsed(tmp_path)
    assert entry.problems == ()
    return entry


def kpis(entry: Entry, **expected: float) -> None:
    assert {name: entry.kpis.get(name) for name in expected} == pytest.approx(expected)


def test_a_server_is_measured_by_what_it_completed(tmp_path: Path, parsed: Parse) -> None:
    tokens: dict[str, object] = {f"result_first_token_{each}_percentile_latency_ns": 2e9 for each in ("50.00", "99.00")}
    tokens |= {"result_time_to_output_token_mean": 150e6, "result_time_per_output_token_99.00_percentile_ns": 190e6}
    tokens |= {"result_token_throughput": 6.8e-09, "result_token_throughput_with_loadgen_overhead": 22375.1}
    rates: dict[str, object] = {"result_scheduled_samples_per_sec": 76.0, "result_completed_samples_per_sec": 75.0}
    rates |= {"result_completed_tokens_per_second": 22500.0, "effective_target_qps": 76.5, "result_query_count": 49152}
    times = {"power_begin": "07-26-2024 17:09:33.653", "power_end": "07-26-2024 17:21:08.611"}
    write_log(tmp_path / RUN, detail("Server", **times, **rates, **LATENCIES, **tokens))
    entry = run_of(tmp_path, parsed)
    kpis(entry, requests_per_s=75, output_tokens_per_s=22500, request_rate_reached=76, output_length_mean=300)
    kpis(entry, e2e_mean=42, e2e_p99=141, ttft_p99=2, tpot_mean=0.15, tpot_p99=0.19, requests=49152)
    assert entry.lts.metadata.start == dt.datetime(2024, 7, 26, 17, 9, 33, 653000, dt.UTC)
    expected: dict[str, object] = {
        "submitter": "ACME",
        "division": "closed",
        "system": "8xH100",
        "model": "llama2-70b-99",
    }
    expected |= {"scenario": "Server", "request_rate": 76.5}
    assert {name: entry.settings.get(name) for name in expected} == expected
    assert not {"repeat", "purpose", "test_mode", "compliance_test"} & {*entry.settings}


def test_round_4_0_says_a_servers_tokens_in_the_summary_only(tmp_path: Path, parsed: Parse) -> None:
    rates: dict[str, object] = {
        "result_completed_samples_per_sec": 75.0,
        "result_token_throughput_with_loadgen_overhead": 22375.1,
    }
    write_log(tmp_path / RUN, detail("Server", **rates, **LATENCIES))
    write_summary(
        tmp_path / RUN,
        "Scenario : Server\nMode     : PerformanceOnly\nCompleted samples per second    : 74.96\nResult is : VALID\n"
        "Completed tokens per second                 : 22020.92\n",
    )
    kpis(run_of(tmp_path, parsed), requests_per_s=75, output_tokens_per_s=22020.92)


@pytest.mark.parametrize(
    ("scenario", "values", "expected"),
    [
        (
            "Offline",
            {"result_samples_per_second": 1.30616e06, "generated_samples_per_query": 900_000, "result_query_count": 1},
            {"requests_per_s": 1306160, "requests": 900_000, "e2e_p50": 36},
        ),
        (
            "Offline",
            {"result_samples_per_second": 30.0, "result_inferred_tokens_per_second": 2070.0},
            {"requests_per_s": 30, "output_tokens_per_s": 2070, "output_length_mean": None},
        ),
        (
            "SingleStream",
            {"result_qps_with_loadgen_overhead": 99.0, "result_qps_without_loadgen_overhead": 101.0},
            {"requests_per_s": 99, "e2e_p99": 141, "requests": None},
        ),
        (
            "MultiStream",
            {"result_query_count": 270336, "result_99.00_percentile_per_query_latency_ns": 48637796},
            {"requests_per_s": None, "e2e_p99": 0.048637796, "e2e_mean": None, "e2e_p50": None, "requests": 270336},
        ),
        (
            "MultiStream",
            {"result_mean_query_latency_ns": 3370446, "result_50.00_percentile_per_query_latency_ns": 3614098},
            {"e2e_mean": 0.003370446, "e2e_p50": 0.003614098, "e2e_p99": None},
        ),
    ],
)
def test_each_scenario_has_its_keys(
    tmp_path: Path, parsed: Parse, scenario: str, values: dict[str, Any], expected: dict[str, float | None]
) -> None:
    write_log(tmp_path, detail(scenario, **LATENCIES, **values))
    entry = run_of(tmp_path, parsed)
    known = {name: value for name, value in expected.items() if value is not None}
    kpis(entry, **known)
    assert not {*expected} - {*known} & {*entry.kpis}
    assert entry.settings["scenario"] == scenario


PROSE = '"pid": 81735, "tid": 81735, "ts": 10200ns : LoadgenVersionInfo:\n"pid": 81735, "ts": 1ns : Test mode : '


def test_round_0_5_has_no_typed_log(tmp_path: Path, parsed: Parse) -> None:
    run = tmp_path / "closed/ACME/audit/X1/resnet/MultiStream/TEST04-A/performance/run_1"
    write_summary(
        run,
        "SUT name : \nScenario : Multi Stream\nMode     : Performance\nSamples per query : 2692\nResult is : VALID\n"
        'Per-query latency:  "target_ns" : 50000000\n99.00 percentile latency (ns)   : 49262268\n\n'
        "Per-sample latency:\nMean latency (ns)    : 35478783\n99.00 percentile latency (ns)   : 48062561\n",
    )
    (run / "mlperf_log_detail.txt").write_text(f"{PROSE}Performance\n")
    entry = run_of(tmp_path, parsed)
    kpis(entry, e2e_p99=0.049262268)
    assert "e2e_mean" not in entry.kpis
    expected = {"system": "X1", "model": "resnet", "scenario": "MultiStream", "purpose": "compliance TEST04-A"}
    assert {name: entry.settings.get(name) for name in (*expected, "test_mode")} == {**expected, "test_mode": None}


def test_a_summary_alone_counts_the_samples_of_offline(tmp_path: Path, parsed: Parse) -> None:
    text = "Scenario : Offline\nMode : Performance\nSamples per second: 268.5\nResult is : VALID\n"
    write_summary(tmp_path, f"{text}samples_per_query : 184800\n")
    kpis(run_of(tmp_path, parsed), requests_per_s=268.5, requests=184800)


def test_a_summary_alone_says_what_the_detail_would(tmp_path: Path, parsed: Parse) -> None:
    write_summary(
        tmp_path,
        "Scenario : Server\nMode     : PerformanceOnly\nScheduled samples per second : 1.5e+06\nResult is : VALID\n"
        "Completed samples per second    : 1.25e+06\n50.00 percentile latency (ns)   : 399196\ntarget_qps : 1.6e+06\n",
    )
    entry = run_of(tmp_path, parsed)
    kpis(entry, requests_per_s=1.25e6, request_rate_reached=1.5e6, e2e_p50=0.000399196)
    assert entry.settings["request_rate"] == 1600000


def test_the_description_says_engine_and_hardware(tmp_path: Path, parsed: Parse) -> None:
    systems = {
        "a": ("TensorRT 10.2.0, CUDA 12.4", "NVIDIA H100-SXM-80GB", 8, "2"),
        "b": ("TensorRT 10.2, TensorRT-LLM v0.11.0", "NVIDIA H100", "8", 1),
        "c": ("vLLM 0.4.3+rocm614, PyTorch 2.3.0, ROCm 6.1.2", "AMD Instinct MI300X", 1, 1),
        "d": ("PyTorch", "N/A", "0", 1),
        "e": ("TensorFlow 1.13.1 6612da89", "HanGuang 800", 1, 1),
        "f": ("our own", "", "", ""),
    }
    for system, (framework, model, per_node, nodes) in systems.items():
        write_log(tmp_path / f"open/ACME/results/{system}/bert-99/offline/performance/run_2", detail("Offline"))
        (tmp_path / f"open/ACME/results/{system}/mlperf_log_accuracy.json").write_text("[]")
        (tmp_path / "open/ACME/systems").mkdir(exist_ok=True)
        described = {"framework": framework, "accelerator_model_name": model, "accelerators_per_node": per_node}
        described |= {"number_of_nodes": nodes, "host_processor_model_name": "Xeon 8480C"}
        (tmp_path / f"open/ACME/systems/{system}.json").write_text(json.dumps(described))
    names = ("engine", "version", "hw_type", "gpus")
    matrix = parsed(tmp_path)
    assert matrix.notes == []  # what describes runs is none that nobody can read
    found = {e.settings["system"]: tuple(e.settings.get(name) for name in names) for e in matrix}
    assert found == {
        "a": ("tensorrt", "10.2.0", "NVIDIA H100-SXM-80GB", 16),
        "b": ("trtllm", "0.11.0", "NVIDIA H100", 8),
        "c": ("vllm", "0.4.3", "AMD Instinct MI300X", 1),
        "d": ("pytorch", None, "Xeon 8480C", None),
        "e": ("tensorflow", "1.13.1", "HanGuang 800", 1),
        "f": ("our own", None, "Xeon 8480C", None),
    }
    assert {(e.settings["scenario"], e.repeat) for e in matrix} == {("Offline", 1)}


@pytest.mark.parametrize(
    "place",
    [
        "measurements/S1/bert-99/Offline/S1.json",
        "measurements/S1/bert-99/Offline/S1_TRT_Offline.json",
        "results/S1/bert-99/Offline/measurements.json",
    ],
)
def test_what_describes_the_weights_says_the_quantisation(tmp_path: Path, parsed: Parse, place: str) -> None:
    write_log(tmp_path / "closed/ACME/results/S1/bert-99/Offline/performance/run_1", detail("Offline"))
    path = tmp_path / "closed/ACME" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"input_data_types": "int32", "weight_data_types": "FP8"}))
    assert run_of(tmp_path, parsed).settings["quantization"] == "fp8"
    path.write_text("{")
    matrix = parsed(tmp_path)
    assert ["quantization" in entry.settings for entry in matrix] == [False]
    assert "is not valid JSON" in str([each.reason for entry in matrix.unfinished for each in entry.problems])


def test_compliance_and_ranging_are_compared_with_nothing(tmp_path: Path, parsed: Parse) -> None:
    base = tmp_path / "closed/ACME"
    for place in (
        *("results/S/bert/Offline/performance/run_1", "results/S/bert/Offline/performance/ranging"),
        *("compliance/S/bert/Offline/TEST01/performance/run_1", "compliance/S/bert/Offline/TEST05/performance/run_1"),
    ):
        write_log(base / place, detail("Offline", result_samples_per_second=5.0))
    purposes = {entry.settings.get("purpose") for entry in parsed(tmp_path)}
    assert purposes == {None, "ranging of the power meter", "compliance TEST01", "compliance TEST05"}
    from projects.llm_bench.visualizations.store import GROUPS

    assert "purpose" in GROUPS


def test_interactive_is_a_scenario_of_its_own_and_an_inferred_one_is_not(tmp_path: Path, parsed: Parse) -> None:
    base = tmp_path / "closed/ACME/results/S"
    write_log(base / "m/Interactive/performance/run_1", detail("Server", result_completed_samples_per_sec=5.0))
    write_log(base / "m/MultiStream/performance/run_1", detail("SingleStream", result_qps_with_loadgen_overhead=5.0))
    assert {entry.settings["scenario"] for entry in parsed(tmp_path)} == {"Interactive", "SingleStream"}


def test_accuracy_runs_are_no_runs(tmp_path: Path, parsed: Parse) -> None:
    accuracy = {"requested_test_mode": "AccuracyOnly", "effective_test_mode": "AccuracyOnly"}
    write_log(tmp_path / "a/accuracy", {**detail("Offline"), **accuracy})
    write_summary(tmp_path / "b", "Scenario : Offline\nMode     : AccuracyOnly\nResult is : VALID\n")
    (tmp_path / "c").mkdir()
    (tmp_path / "c/mlperf_log_detail.txt").write_text(f"{PROSE}Accuracy\n")
    write_log(tmp_path / "d", detail("Offline", result_samples_per_second=5.0))
    matrix = parsed(tmp_path)
    assert [entry.location.parent.name for entry in matrix] == ["d"]
    assert not matrix.unfinished


def test_an_invalid_run_failed_and_keeps_its_reason(tmp_path: Path, parsed: Parse) -> None:
    reason = "Reduce target QPS to improve latency. "
    write_log(tmp_path, {**detail("Server"), "result_validity": "INVALID", "result_invalid_reason": reason})
    write_summary(tmp_path, "Scenario : Server\nResult is : VALID\n")
    (entry,) = parsed(tmp_path)
    assert entry.failed
    assert entry.results.invalid_reason == reason


def test_a_directory_that_is_no_submission_says_nothing(tmp_path: Path, parsed: Parse) -> None:
    write_log(tmp_path / "results/mine/today/again/run_1", detail("Offline", result_samples_per_second=5.0))
    assert dict(run_of(tmp_path, parsed).settings) == {"tool": "mlperf", "scenario": "Offline"}


def test_a_line_that_is_larger_than_memory_is_passed_over(tmp_path: Path, parsed: Parse) -> None:
    directory = write_log(tmp_path, detail("Offline"))
    with (directory / "mlperf_log_detail.txt").open("a") as stream:
        stream.write(':::MLLOG {"key": "loaded_qsl_set", "value": [' + "12345," * 5_000_000 + "1]}\n")
        stream.write(':::MLLOG {"key": "result_samples_per_second", "value": 7.5}\n:::MLLOG {"key": "result_')
    tracemalloc.start()
    kpis(run_of(tmp_path, parsed), requests_per_s=7.5)
    assert tracemalloc.get_traced_memory()[1] < 15 << 20
    tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    ["", "MLPerf Results Summary\n", ":::MLLOG {", ":::MLLOG []\n", ':::MLLOG {"key": "result_validity"}\n\0\xff'],
)
@pytest.mark.parametrize("name", ["mlperf_log_detail.txt", "mlperf_log_summary.txt"])
def test_damaged_logs_are_a_sentence_each(tmp_path: Path, parsed: Parse, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    write_log(tmp_path / "good", detail("Offline"))
    matrix = parsed(tmp_path)
    assert [entry.location.parent.name for entry in matrix if not entry.failed] == ["good"]
    assert "stopped" not in str([each.reason for entry in matrix.unfinished for each in entry.problems])


@pytest.mark.parametrize(("version", "hours"), [("3.0 @ f536725011", 0), ("1.0 @ 9b44cd", 7)])
def test_power_is_of_the_system_and_within_the_run(tmp_path: Path, parsed: Parse, version: str, hours: int) -> None:
    run = "closed/ACME/results/S/m/Offline/performance/run_1"
    times = {"power_begin": "02-24-2023 13:22:00.638", "power_end": "02-24-2023 13:22:03.640"}
    write_log(tmp_path / run, {**detail("Offline", **times), "loadgen_version": version})
    samples = [(0.5, 6.0), (1.5, 14.0), (2.5, 16.0), (4.0, 9.0)]
    text = [
        f"Time,02-24-2023 {13 - hours:02}:22:{at:06.3f},Watts,{watts:.6f},Volts,206.8,Amps,0.2,PF,0.3,Mark,a_testing\n"
        for at, watts in samples
    ]
    (tmp_path / run / "spl.txt").write_text("".join(["\n", "Time,never,Watts,1,\n", *text]))
    (tmp_path / run).parent.joinpath("power").mkdir()
    for who, behind in (("client", 0), ("server", 25200)):
        (tmp_path / run / f"../power/{who}.json").write_text(json.dumps({"timezone": behind}))
    entry = run_of(tmp_path, parsed)
    kpis(entry, system_power=15)
    assert "gpu_power" not in entry.kpis
    assert entry.lts.metadata.start == dt.datetime(2023, 2, 24, 13, 22, 0, 638000, dt.UTC)


def test_scenarios_are_no_alternatives_of_each_other(tmp_path: Path, parsed: Parse) -> None:
    rates = {"result_samples_per_second": 10.0, "result_completed_samples_per_sec": 8.0}
    for scenario in ("Offline", "Server"):
        write_log(tmp_path / scenario, detail(scenario, **LATENCIES, **rates))
    groups = Study(parsed(tmp_path), load("projects.llm_bench.visualizations")).best.groups
    assert [group.settings for group in groups] == [{"scenario": "Offline"}, {"scenario": "Server"}]
