"""Configs and manifests as people write them, and values of a wrong type: read, or left out, never an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from matrix_benchmarking.matrix import Matrix

Parse = Callable[..., Matrix]

STAGE: dict[str, Any] = {
    "load_summary": {"count": 200, "schedule_delay": {"mean": 0.001}, "requested_rate": 2.0, "achieved_rate": 2.0},
    "successes": {"count": 200, "latency": {"time_to_first_token": {"mean": 0.5}}, "throughput": {}},
    "failures": {"count": 0},
}
SERVICE = {"kind": "Service", "spec": {"ports": [{"port": 8000}]}}


def deployment(**container: object) -> dict[str, Any]:
    whole = {
        "image": "vllm/vllm-openai:v0.11.0",
        "command": ["vllm", "serve", "$(NAME)"],
        "args": ["--tensor-parallel-size=2"],
        "env": [{"name": "NAME", "value": "org/m"}],
        "resources": {"limits": {"nvidia.com/gpu": "2"}},
        **container,
    }
    pod = {"containers": [whole], "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100"}}
    return {"kind": "Deployment", "spec": {"template": {"spec": pod}}}


def settings_with(where: Path, parsed: Parse, *manifests: object) -> dict[str, object]:
    (where / "stage_0_lifecycle_metrics.json").write_text(json.dumps(STAGE))
    (where / "manifests.yaml").write_text(yaml.safe_dump_all(manifests))
    (entry,) = parsed(where)
    assert entry.kpis["ttft_mean"] == 0.5
    return dict(entry.settings)


def test_a_deployment_behind_another_manifest_describes_the_server(tmp_path: Path, parsed: Parse) -> None:
    found = settings_with(tmp_path, parsed, SERVICE, deployment())
    expected = {"model": "org/m", "engine": "vllm", "version": "0.11.0", "tp": 2, "gpus": 2, "hw_type": "NVIDIA-H100"}
    assert {name: found.get(name) for name in expected} == expected


def test_a_command_in_one_text_is_read(tmp_path: Path, parsed: Parse) -> None:
    found = settings_with(tmp_path, parsed, deployment(command=["sh", "-c"], args="vllm serve org/n --max-num-seqs 4"))
    assert found["model"] == "org/n"


@pytest.mark.parametrize("wrong", [5, True, {"a": [1]}, "\u00b2"])
@pytest.mark.parametrize("key", ["command", "args", "env", "resources"])
def test_a_wrong_type_in_a_manifest_costs_only_itself(tmp_path: Path, parsed: Parse, key: str, wrong: object) -> None:
    limits = {"limits": {"nvidia.com/gpu": wrong}}
    found = settings_with(tmp_path, parsed, deployment(**{key: limits if key == "resources" else wrong}))
    assert (found["engine"], found["version"]) == ("vllm", "0.11.0")


@pytest.mark.parametrize("wrong", [5, True, [[1]], {"a": [1]}])
@pytest.mark.parametrize("key", ["phases", "datasets", "gpu_name"])
def test_a_wrong_type_in_aiperfs_config_costs_only_itself(
    tmp_path: Path, parsed: Parse, key: str, wrong: object
) -> None:
    gpu = {"gpu_name": wrong if key == "gpu_name" else "G", "metrics": {}}
    config = {"models": {"items": [{"name": "org/m"}]}, **({} if key == "gpu_name" else {key: wrong})}
    document = {
        "request_throughput": {"unit": "requests/sec", "avg": 3.0},
        "input_config": config,
        "telemetry_data": {"endpoints": {"e": {"gpus": {"0": gpu}}}},
    }
    (tmp_path / "profile_export_aiperf.json").write_text(json.dumps(document))
    (entry,) = parsed(tmp_path)
    assert (entry.settings["model"], entry.kpis["requests_per_s"]) == ("org/m", 3.0)
