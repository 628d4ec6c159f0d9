"""Configs and manifests as people write them, and values of a wrong type: read, or left out, never an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from llm_points import POINT, write

from matrix_benchmarking.cli import main
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


@pytest.mark.parametrize("wrong", ["fast", float("nan"), 10**400, True])
def test_a_value_that_is_no_number_is_a_doubt_whatever_stands_in_for_it(
    tmp_path: Path, parsed: Parse, wrong: object
) -> None:
    write(tmp_path, "a.json", {**POINT, "output_throughput": wrong})
    (entry,) = parsed(tmp_path)
    assert entry.kpis["output_tokens_per_s"] == 1980  # the tokens by the duration
    (said,) = [warning for warning in entry.warnings if "no number" in warning]
    assert said.startswith("the file's output_throughput is ")


def test_answers_without_a_token_are_no_measurement(tmp_path: Path, parsed: Parse) -> None:
    write(tmp_path, "a.json", {**POINT, "output_throughput": 0.0})
    (entry,) = parsed(tmp_path)
    assert list(entry.implausible) == ["no output token was counted, though 198 requests were answered"]


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path: Path, parsed: Parse) -> None:
    (tmp_path / "a.json").write_text(json.dumps(POINT), encoding="utf-8-sig")
    assert len(parsed(tmp_path).entries) == 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty: no reader recognises it"),
        (json.dumps(POINT).encode("utf-16"), "is text in UTF-16, not in UTF-8: no reader recognises it"),
        (b'{"mean_ttft_ms": 3, "max', "is no valid JSON, or cut off: no reader recognises it"),
        (b'{"a": 1}', "left out, no reader recognises it"),
        (b'{"a": 1}\n{"a": 2}\n', "left out, no reader recognises it"),
    ],
)
def test_why_a_file_is_left_out(tmp_path: Path, parsed: Parse, content: bytes, expected: str) -> None:
    write(tmp_path, "good.json", POINT)
    (tmp_path / "bad.json").write_bytes(content)
    (note,) = parsed(tmp_path).notes
    assert note.endswith(expected)


@pytest.mark.parametrize("name", ["a.json", "settings.yaml"])
def test_where_nothing_can_be_read_the_exit_status_says_so_and_names_it_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    write(tmp_path, "a.json", POINT)
    (tmp_path / name).write_text((tmp_path / "a.json").read_text()[:300] if name == "a.json" else "- a\n")
    assert main(["parse", "--workload=projects.llm_bench.visualizations", f"--results-dirname={tmp_path}"]) == 1
    said = capsys.readouterr().err
    assert "warning: a.json: " in said
    assert said.count("a.json") == 1


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ({"unit": "parsec", "avg": 3.0}, "time_to_first_token.avg is 3.0, which is no number in a known unit (parsec)"),
        ({"unit": "ms", "avg": "fast"}, "time_to_first_token.avg is 'fast', which is no number in a known unit (ms)"),
    ],
)
def test_a_unit_that_nobody_knows_is_a_doubt(
    tmp_path: Path, parsed: Parse, metric: dict[str, object], said: str
) -> None:
    document = {"request_throughput": {"unit": "requests/sec", "avg": 3.0}, "time_to_first_token": metric}
    (tmp_path / "profile_export_aiperf.json").write_text(json.dumps({**document, "input_config": {}}))
    (entry,) = parsed(tmp_path)
    assert ("ttft_mean" in entry.kpis, list(entry.warnings)) == (False, [f"the file's {said}"])


def test_a_unit_of_a_report_that_nobody_knows_is_a_doubt(tmp_path: Path, parsed: Parse) -> None:
    latency = {"time_to_first_token": {"units": "parsec", "mean": 3.0}}
    rates = {"request_rate": {"units": "queries/s", "mean": 2.0}, "output_token_rate": {"units": "?", "mean": 1.0}}
    aggregate = {"latency": latency, "throughput": rates}
    report = {"version": "0.2", "scenario": {}, "results": {"request_performance": {"aggregate": aggregate}}}
    (tmp_path / "report.yaml").write_text(yaml.safe_dump(report))
    (entry,) = parsed(tmp_path)
    assert entry.kpis["requests_per_s"] == 2
    assert [said.partition(" is ")[0] for said in entry.warnings] == [
        "the file's throughput.output_token_rate",
        "the file's latency.time_to_first_token",
    ]
