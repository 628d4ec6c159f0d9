"""inference-perf: what its configuration says of the load and the prompts, what Prometheus knows, and manifests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from matrix_benchmarking.matrix import Entry, Matrix

Parse = Callable[..., Matrix]

STAGE: dict[str, Any] = {
    "load_summary": {"schedule_delay": {"mean": 0.001}, "requested_rate": 200.0, "achieved_rate": 9.0},
    "successes": {
        "count": 200,
        "latency": {"time_to_first_token": {"mean": 0.5}, "normalized_time_per_output_token": {"mean": 0.1}},
        "throughput": {"requests_per_sec": 8.0},
        "goodput_metrics": {"request_goodput": 6.5, "goodput_percentage": 81.0},
        "prompt_tokens": {"total": 20000.0, "cached": 0.0},
        "output_tokens": {"total": 4000.0, "mean": 20.0},
    },
    "failures": {"count": 0},
}


def read(where: Path, parsed: Parse, name: str = "stage_1_lifecycle_metrics.json", **config: object) -> Entry:
    (where / name).write_text(json.dumps(STAGE))
    (where / "config.yaml").write_text(yaml.safe_dump(config))
    (entry,) = parsed(where)
    return entry


def test_goodput_lengths_and_the_time_of_the_requests(tmp_path: Path, parsed: Parse) -> None:
    entry = read(tmp_path, parsed)
    expected = {"goodput": 6.5, "input_length_mean": 100, "output_length_mean": 20}
    assert {name: entry.kpis.get(name) for name in expected} == expected
    assert entry.results.duration == 25


def test_a_fixed_concurrency_has_no_rate(tmp_path: Path, parsed: Parse) -> None:
    stages = [{"num_requests": 9, "concurrency_level": level, "rate": 9} for level in (4, 8)]
    entry = read(tmp_path, parsed, load={"type": "concurrent", "stages": stages})
    assert (entry.settings["request_rate"], entry.settings["concurrency"]) == ("unlimited", 8)
    assert not any("the client may have been" in each for each in entry.warnings)


@pytest.mark.parametrize(
    ("data", "lengths"),
    [
        ({"type": "synthetic"}, (512, 64)),
        ({"type": "shareGPT"}, (None, None)),
        ({"type": "shared_prefix", "shared_prefix": {"system_prompt_len": 2048, "question_len": 256}}, (2304, None)),
        (
            {
                "type": "shared_prefix",
                "shared_prefix": {"system_prompt_len": {"mean": 8}, "question_len": 2, "output_len": 3},
            },
            (10, 3),
        ),
    ],
)
def test_distributions_count_only_for_the_data_that_are_made_by_them(
    tmp_path: Path, parsed: Parse, data: dict[str, Any], lengths: tuple[int | None, ...]
) -> None:
    given = {"input_distribution": {"mean": 512}, "output_distribution": {"mean": 64}}
    settings = read(tmp_path, parsed, data={**given, **data}).settings
    assert (settings.get("input_length"), settings.get("output_length")) == lengths


@pytest.mark.parametrize(("said", "share"), [("37.5", 0.375), ("0.0", 0), ("null", 0), ("[", 0)])
def test_prometheus_says_what_answers_do_not_of_the_cache(
    tmp_path: Path, parsed: Parse, said: str, share: float
) -> None:
    beside = tmp_path / "stage_1_prometheus_metrics.json"
    beside.write_text('{"successes": {"prefix_cache_hit_percent": {"mean": ' + said + "}}}")
    assert read(tmp_path, parsed).kpis["cache_hit_share"] == share


@pytest.mark.parametrize("prefix", ["", "run-a-"])
def test_sums_and_parts_of_stages_are_no_runs(tmp_path: Path, parsed: Parse, prefix: str) -> None:
    for name in ("summary", "adapter_sql", "adapter_sql_stage_1"):
        (tmp_path / f"{prefix}{name}_lifecycle_metrics.json").write_text(json.dumps(STAGE))
    assert read(tmp_path, parsed, f"{prefix}stage_1_lifecycle_metrics.json").settings["tool"] == "inference-perf"


def server(command: str, **spec: object) -> dict[str, Any]:
    container = {"image": "vllm/vllm-openai:v0.11.0", "command": command.split(" ", 2)}
    container["resources"] = {"limits": {"nvidia.com/gpu": 4}}
    return {"kind": "Deployment", "spec": {**spec, "template": {"spec": {"containers": [container]}}}}


API = "python3 -m vllm.entrypoints.openai.api_server"


@pytest.mark.parametrize(
    ("manifests", "expected"),
    [
        ([server("vllm serve org/m -tp 4 --enable-expert-parallel")], {"model": "org/m", "tp": 4, "ep": 4, "gpus": 4}),
        ([server("x x --ep-size 8 --tp-size=8", replicas=2)], {"ep": 8, "tp": 8, "gpus": 8}),
        (
            [server(f'{API} --model m --speculative_config {{"method": "eagle3", "model": "d"}}')],
            {"model": "m", "speculative": "eagle3"},
        ),
        (
            [
                server(f'{API} org/m --kv-transfer-config {{"kv_role":"kv_{role}"}}')
                for role in ("producer", "consumer")
            ],
            {"model": "org/m", "disaggregated": True, "gpus": 8},
        ),
    ],
)
def test_a_manifest_says_how_the_server_is_split(
    tmp_path: Path, parsed: Parse, manifests: list[object], expected: dict[str, object]
) -> None:
    (tmp_path / "manifests.yaml").write_text(yaml.safe_dump_all(manifests))
    settings = read(tmp_path, parsed).settings
    assert {name: settings.get(name) for name in expected} == expected
