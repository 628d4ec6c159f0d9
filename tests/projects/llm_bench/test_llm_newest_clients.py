"""What the first and the newest releases of clients write, as they wrote it against the example server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_points import POINT, write

from matrix_benchmarking.matrix import Matrix

Parse = Callable[..., Matrix]

# inference-perf 0.7
STAGE: dict[str, Any] = {
    "benchmark_time_seconds": 3.5,
    "load_summary": {"count": 20, "schedule_delay": {"mean": 0.0003}, "requested_rate": 5.0, "achieved_rate": 5.8},
    "successes": {
        "count": 20,
        "latency": {"time_to_first_token": {"mean": 0.007}, "normalized_time_per_output_token": {"mean": 0.002}},
        "throughput": {"input_tokens_per_sec": 77.6, "requests_per_sec": 5.7},
        "prompt_tokens": {"total": 271.0, "cached": 54.2, "uncached": 216.8, "mean": 13.55},
        "output_len": {"mean": 30.0},
    },
    "failures": {"count": 0},
}
REPORT = {"version": "0.2", "run": {}, "results": {"request_performance": {"aggregate": {}}}}


def test_inference_perf_leaves_parts_of_a_report_beside_its_stages(tmp_path: Path, parsed: Parse) -> None:
    for stage in (0, 1):
        (tmp_path / f"stage_{stage}_lifecycle_metrics.json").write_text(json.dumps(STAGE))
        (tmp_path / f"inference-perf.partial.stage_{stage}.yaml").write_text(json.dumps(REPORT))
    (tmp_path / "validation.json").write_text("{}")
    (tmp_path / "config.yaml").write_text("server: {type: vllm, model_name: org/m}")
    matrix = parsed(tmp_path)
    assert [entry.name.partition("#")[0] for entry in matrix] == [
        "stage_0_lifecycle_metrics.json",
        "stage_1_lifecycle_metrics.json",
    ]
    assert (matrix.notes, len(matrix.unfinished)) == ([], 0)
    kpis = matrix.entries[0].kpis
    assert (kpis["input_length_mean"], kpis["cache_hit_share"]) == (13.55, 0.2)


# guidellm 0.8
BENCHMARK: dict[str, Any] = {
    "type_": "generative_benchmark",
    "config": {"strategy": {"type_": "concurrent", "streams": 4}, "backend": {"model": "org/m"}},
    "metrics": {
        "request_totals": {"successful": 200, "errored": 0, "incomplete": 0, "total": 200},
        "prompt_tokens_per_second": {"successful": {"mean": 1500.0}},
        "request_goodput": {"successful": {"mean": 21.5}},
    },
    "warnings": [{"code": "generation_delay_ttft", "message": "mean generation delay was 2% of mean TTFT"}, "?"],
}


def test_guidellms_own_warnings_are_doubts(tmp_path: Path, parsed: Parse) -> None:
    document = {"metadata": {"guidellm_version": "0.8.1"}, "benchmarks": [BENCHMARK]}
    (tmp_path / "guidellm.json").write_text(json.dumps(document))
    (entry,) = parsed(tmp_path)
    assert (entry.kpis["input_tokens_per_s"], entry.kpis["goodput"]) == (1500, 21.5)
    assert list(entry.warnings) == ["guidellm warned: mean generation delay was 2% of mean TTFT"]


def test_points_appended_with_the_same_settings_are_repeats(tmp_path: Path, parsed: Parse) -> None:
    write(tmp_path, "a.json", POINT, {**POINT, "max_concurrency": 4}, {**POINT, "output_throughput": 1990.0})
    matrix = parsed(tmp_path)
    assert sorted((entry.settings["concurrency"], entry.repeat) for entry in matrix) == [(4, 0), (16, 0), (16, 1)]


def metric(unit: str, **values: float) -> dict[str, Any]:
    return {"unit": unit, **values}


@pytest.mark.parametrize(("errors", "failed"), [([], 0.0), ([{"count": 20}, {"count": 5}, {"count": "x"}], 0.25)])
def test_aiperfs_first_release_has_its_metrics_in_records(
    errors: list[Any], failed: float, tmp_path: Path, parsed: Parse
) -> None:
    records = {
        "ttft": metric("ms", avg=23.0, p99=45.0),
        "request_throughput": metric("requests/sec", avg=27.8),
        "request_count": metric("requests", avg=75.0),
        "input_sequence_length": metric("tokens", avg=64.0),
        "output_token_throughput": metric("tokens/sec", avg=890.0),
    }
    config = {"endpoint": {"model_names": ["org/m"]}, "loadgen": {"concurrency": 4}}
    document = {"records": records, "input_config": config, "error_summary": errors}
    (tmp_path / "profile_export_aiperf.json").write_text(json.dumps(document))
    (entry,) = parsed(tmp_path)
    expected = {
        "ttft_mean": 0.023,
        "ttft_p99": 0.045,
        "input_tokens_per_s": 64 * 27.8,
        "output_tokens_per_s": 890,
        "error_share": failed,
    }
    assert {name: entry.kpis.get(name) for name in expected} == pytest.approx(expected)
    assert (entry.settings["model"], entry.settings["concurrency"]) == ("org/m", 4)


def test_what_aiperf_sums_up_of_its_runs_is_no_run_beside_them(tmp_path: Path, parsed: Parse) -> None:
    run = {"request_throughput": metric("requests/sec", avg=3.0), "input_config": {}}
    whole = {"metadata": {"aggregation_type": "confidence"}, "metrics": {}}
    for concurrency in (2, 6):
        for trial in (1, 2):
            place = tmp_path / f"sweep/profile_runs/trial_000{trial}/concurrency_{concurrency}"
            write(place, "profile_export_aiperf.json", run)
            write(place, "run_config.json", {"request_throughput": 1, "unit": "", "input_config": {}})
        place = tmp_path / f"sweep/aggregate/concurrency_{concurrency}"
        write(place, "profile_export_aiperf_aggregate.json", whole)
    write(tmp_path / "sweep/aggregate/sweep_aggregate", "profile_export_aiperf_sweep.json", whole)
    matrix = parsed(tmp_path)
    assert sorted((entry.settings["concurrency"], entry.repeat) for entry in matrix) == [(2, 0), (2, 1), (6, 0), (6, 1)]
    assert (matrix.unfinished, matrix.notes) == ([], [])
