"""Settings out of names, and which of file, person and name goes first."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_points import POINT

from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.prices import offers
from projects.llm_bench.visualizations.places import accelerator, guessed, in_name


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (
            "glm5_fp8_vllm_tp8_isl10240_osl128_conc16",
            {"tp": 8, "concurrency": 16, "input_length": 10240, "output_length": 128, "engine": "vllm"}
            | {"quantization": "fp8", "model": "glm5"},
        ),
        (
            "openai-10.0qps-itkns-1024-otkns-170-concurrency1-Meta-Llama-3.1-8B-Instruct-FP8-20250326-214428",
            {"request_rate": 10, "input_length": 1024, "output_length": 170, "concurrency": 1, "quantization": "fp8"}
            | {"model": "Meta-Llama-3.1-8B-Instruct-FP8"},
        ),
        (
            "agg_dsr1_1k1k_fp8_vllm_tp8-ep1-dpafalse_disagg-false_spec-none_conc64_b200-nv_1",
            {"tp": 8, "ep": 1, "concurrency": 64, "input_length": 1024, "output_length": 1024, "hw_type": "B200"}
            | {"disaggregated": False, "engine": "vllm", "model": "dsr1"},
        ),
        ("8xMI300X_2xEPYC-9374F", {"hw_type": "MI300X", "gpus": 8}),
        ("h100x4", {"hw_type": "H100", "gpus": 4}),
        ("vllm-v0.10.1.post2", {"engine": "vllm", "version": "0.10.1.post2"}),
        ("sglang_0.5.5", {"engine": "sglang", "version": "0.5.5"}),
        ("vllm-infqps-Llama-3.3-70B-Instruct-20250101-101010", {"request_rate": "unlimited"}),
        (
            "serving_llama8B_tp2pp3_sharegpt_qps_inf",
            {"tp": 2, "pp": 3, "dataset": "sharegpt", "request_rate": "unlimited"},
        ),
        ("serving_random_128_1024_qps_16", {"dataset": "random", "input_length": 128, "output_length": 1024}),
        ("dataset_mmlu-inlen_1800-outlen_128", {"dataset": "mmlu", "input_length": 1800, "output_length": 128}),
        ("concurrency_16_req_rate_inf_gpus_16", {"request_rate": "unlimited", "concurrency": 16, "gpus": 16}),
        (
            "gptoss_H200_itl5000_otl250_1ptp2-3dtp2-packed",
            {"model": "gptoss", "hw_type": "H200", "input_length": 5000, "output_length": 250}
            | {"disaggregated": True, "tp": 2, "gpus": 8},
        ),
        ("mixed_1xtp4-1xtpep8", {"gpus": 12, "tp": None, "disaggregated": None}),
        ("inspur_MetaX_C550", {"hw_type": "METAX_C550"}),
        ("gpu_2x_pro_6000_blackwell", {"hw_type": "PRO_6000", "gpus": 2}),
        ("H100_80GB_HBM3_x4_Qwen2.5-7B-Instruct", {"hw_type": "H100", "gpus": 4, "model": "Qwen2.5-7B-Instruct"}),
        ("4xRTX-8B", {"hw_type": "RTX", "gpus": 4}),
        ("pd_1p4d_gh200_a100", {"disaggregated": True, "hw_type": None}),
        ("spec-decode-sweep", {"speculative": None}),
        ("in_128_out_64", {"input_length": 128, "output_length": 64}),
        ("osl1", {"output_length": 1}),
        ("fp8_kv-fp8", {"quantization": "fp8"}),
        ("llama_3_3_70b_output_online", {"model": "llama_3_3_70b"}),
        ("SERVE--max_num_seqs=4-BENCH--max_concurrency=2", {"max_num_seqs": 4, "concurrency": 2}),
        (
            "SERVE--tensor_parallel_size=2-max_num_seqs=128-BENCH--request_rate=inf-random_input_len=512",
            {"tp": 2, "max_num_seqs": 128, "request_rate": "unlimited", "input_length": 512},
        ),
    ],
)
def test_a_name_says(name: str, found: dict[str, object]) -> None:
    said = in_name(name)
    assert {key: said.get(key) for key in found} == found


@pytest.mark.parametrize(
    "name",
    [
        "results",
        "out_1",
        "output_20251101",
        "kv-fp8",
        "kv_cache_fp8",
        "run_0001",
        "opt",
        "data",
        "2026-08-16",
        "tests",
        "profile_export",
        "input",
        "user1",
    ],
)
def test_a_plain_name_says_nothing(name: str) -> None:
    assert in_name(name) == {}


def test_a_person_goes_before_the_file_and_a_name_comes_last(tmp_path: Path, parsed: Callable[..., Matrix]) -> None:
    place = tmp_path / "h100" / "sglang-0.4.1"
    place.mkdir(parents=True)
    (place / "conc99_tp8.json").write_text(json.dumps({**POINT, "tensor_parallel_size": "2"}))
    (tmp_path / "settings.yaml").write_text("model: my-model\nhw: L4\n")
    (entry,) = parsed(tmp_path)
    assert entry.settings["model"] == "my-model"  # the person
    assert entry.settings["hw_type"] == "L4"  # the person, in another's word
    assert (entry.settings["tp"], entry.settings["concurrency"]) == (2, 16)  # the file
    assert entry.settings["engine"] == "vllm"  # the file, by its backend
    assert entry.settings["version"] == "0.4.1"  # a name alone says it
    assert entry.results.settings_from == {
        "model": "settings.yaml",
        "hw_type": "settings.yaml",
        **dict.fromkeys(("tp", "concurrency", "engine", "backend", "request_rate", "input_length"), "the file"),
        "version": "a name",
        "gpus": "tp, pp and dp",
    }
    assert "the file says model org/model-8b, and the settings my-model" in entry.warnings


def test_a_pattern_goes_before_the_file_and_after_a_settings_file(
    tmp_path: Path, parsed: Callable[..., Matrix]
) -> None:
    place = tmp_path / "big-box" / "server-7"
    place.mkdir(parents=True)
    (place / "a.json").write_text(json.dumps(POINT))
    (tmp_path / "settings.yaml").write_text("version: '8'\n")
    (entry,) = parsed(tmp_path, settings_from="{hw}/{engine}-{version}")
    assert {name: entry.settings[name] for name in ("hw_type", "engine", "version")} == {
        "hw_type": "big-box",
        "engine": "server",
        "version": "8",
    }


def test_the_number_of_gpus_is_what_the_parallelism_takes_unless_somebody_says_it(
    tmp_path: Path, parsed: Callable[..., Matrix]
) -> None:
    (tmp_path / "tp4_pp2.json").write_text(json.dumps(POINT))
    (tmp_path / "8xH100_tp4.json").write_text(json.dumps(POINT))
    (tmp_path / "plain.json").write_text(json.dumps(POINT))
    found = {entry.name: entry for entry in parsed(tmp_path)}
    assert found["tp4_pp2.json#run"].settings["gpus"] == 8
    assert found["tp4_pp2.json#run"].results.settings_from["gpus"] == "tp, pp and dp"
    assert found["8xH100_tp4.json#run"].settings["gpus"] == 8
    assert found["8xH100_tp4.json#run"].results.settings_from["gpus"] == "a name"
    assert "gpus" not in found["plain.json#run"].settings


@pytest.mark.parametrize(
    ("settings", "prices", "found"),
    [
        ({"hw_type": "NVIDIA H100-SXM-80GB"}, {"H100": 2.0, "H200": 3.0}, {"H100": 2.0}),
        ({"hw_type": "cpu-1", "vendor": "Near"}, {"CPU-1": 3.0, "near/Cpu-1": 2.0}, {"near/Cpu-1": 2.0}),
        ({"hw_type": "box", "vendor": "lab/east"}, {"lab/east/box": 1.0, "east/box": 2.0}, {"lab/east/box": 1.0}),
        ({"hw_type": "h", "vendor": "AWS"}, {"aws/h": 1.0, "AWS/h": 2.0}, {"AWS/h": 2.0}),
        ({"hw_type": "nvidia-h100-80gb"}, {"far/H100": 2.0, "near/H100": 3.0}, {"far/H100": 2.0, "near/H100": 3.0}),
        ({"hw_type": "gb200"}, {"B200": 2.0}, {}),
        ({"hw_type": "NVIDIA H100 NVL"}, {"H100": 2.0, "NVIDIA H100 NVL": 1.5}, {"NVIDIA H100 NVL": 1.5}),
        ({"hw_type": "H100", "vendor": "far"}, {"near/H100": 3.0, "far/H100": 2.0, "H100": 1.0}, {"far/H100": 2.0}),
        ({"hw_type": "H100", "vendor": "other"}, {"near/H100": 3.0, "H100": 1.0}, {"H100": 1.0}),
        ({"hw_type": "H100", "vendor": "other"}, {"near/H100": 3.0}, {}),
        ({}, {"H100": 3.0}, {}),
    ],
)
def test_a_price_is_that_of_the_hardware_by_whichever_name(settings: Any, prices: Any, found: Any) -> None:
    assert offers(settings, prices, accelerator) == found


def test_the_models_own_name_in_a_files_name_says_nothing_else() -> None:
    name = Path("openai-chat-infqps-concurrency2-random-sonnet-c3-tp2-20261124-024905.json")
    assert guessed(name, {"model": "org/random-sonnet-c3-tp2"}) == {"concurrency": 2, "request_rate": "unlimited"}


def test_of_several_vendors_prices_the_least_counts_and_is_said(tmp_path: Path, parsed: Callable[..., Matrix]) -> None:
    (tmp_path / "h100").mkdir()
    (tmp_path / "h100" / "a.json").write_text(json.dumps({**POINT, "hw_type": "H100", "gpus": 1}))
    prices = {"aws/H100": 3.1, "gcp/H100": 2.2, "MI300X": 1.0}
    (entry,) = parsed(tmp_path, prices=prices)
    assert entry.kpis["1M_output_cost"] == pytest.approx(2.2e6 / 3600 / POINT["output_throughput"])
    said = "the settings name no vendor, and the price is the least that fits, of gcp/H100; there are those of aws/H100"
    assert said in entry.warnings
    (tmp_path / "h100" / "settings.yaml").write_text("vendor: aws\n")
    (entry,) = parsed(tmp_path, prices=prices)
    assert entry.kpis["1M_output_cost"] == pytest.approx(3.1e6 / 3600 / POINT["output_throughput"])
    assert not any("vendor" in one for one in entry.warnings)
