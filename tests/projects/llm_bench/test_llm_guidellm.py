"""guidellm: what a label may say, which benchmarks are repeats, and the first generation's single requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from matrix_benchmarking.matrix import Entry, Matrix
from projects.llm_bench.visualizations.readers.without import without_values

Parse = Callable[..., Matrix]


def benchmark(rate: float, **config: Any) -> dict[str, Any]:
    """As guidellm 0.8 writes one."""
    means = {"prompt_tokens_per_second": 28.6, "request_goodput": 1.5, "requests_per_second": 2.0}
    metrics: dict[str, Any] = {name: {"successful": {"mean": mean}} for name, mean in means.items()}
    metrics["request_dispatch_delay"] = {"successful": {"mean": 0.2, "percentiles": {"p99": 0.9}}}
    metrics["request_totals"] = {"successful": 90, "errored": 10}
    strategy = {"type_": "constant", "rate": rate, "max_concurrency": 512}
    return {"type_": "generative_benchmark", "config": {"strategy": strategy, **config}, "metrics": metrics}


def read(tmp_path: Path, parsed: Parse, *benchmarks: dict[str, Any], **labels: object) -> list[Entry]:
    document = {"config": {"metadata": {"labels": labels}, "spec": {"backend": {"model": "org/m"}}}}
    (tmp_path / "sweep.json").write_text(json.dumps({**document, "benchmarks": benchmarks}))
    return sorted(parsed(tmp_path), key=lambda entry: entry.name)


@pytest.mark.parametrize(
    ("asked", "said"), [(512, []), (400, []), (1024, ["prompts are shorter"]), (32, ["prompts are longer"])]
)
def test_prompts_of_another_length_than_asked_are_doubted(
    asked: int, said: list[str], tmp_path: Path, parsed: Parse
) -> None:
    measured = benchmark(2.0)
    measured["metrics"]["prompt_token_count"] = {"successful": {"mean": 512.0}}
    (entry,) = read(tmp_path, parsed, measured, isl=asked)
    assert entry.settings["input_length"] == asked
    doubts = [each for each in entry.warnings if each.startswith("prompts are")]
    assert [each.partition(" than asked: 512 tokens")[0] for each in doubts] == said


def test_measures_of_the_latest_version(tmp_path: Path, parsed: Parse) -> None:
    (entry,) = read(tmp_path, parsed, benchmark(2.0))
    expected = {"input_tokens_per_s": 28.6, "goodput": 1.5, "schedule_delay_mean": 0.2, "schedule_delay_p99": 0.9}
    assert {name: entry.kpis.get(name) for name in expected} == expected


def test_a_rate_that_is_no_number_is_no_part_of_the_name(tmp_path: Path, parsed: Parse) -> None:
    assert [entry.name for entry in read(tmp_path, parsed, benchmark(10**400))] == ["sweep.json#constant"]


def test_a_run_that_is_written_twice_is_one(tmp_path: Path, parsed: Parse) -> None:
    for suffix in ("json", "yaml"):
        (tmp_path / f"a-benchmarks.{suffix}").write_text(json.dumps({"guidellm": 1, "benchmarks": [benchmark(2.0)]}))
    assert len(parsed(tmp_path)) == 1


def test_only_the_requests_of_benchmarks_are_passed_over(tmp_path: Path, parsed: Parse) -> None:
    requests = {"model": "org/m"}
    document: dict[str, Any] = {
        "args": {"backend_kwargs": {"requests": [1], **requests}},
        "benchmarks": [benchmark(2.0)],
    }
    document["benchmarks"][0] |= {"requests": {"successful": [{"requests": ["}"]}]}}
    (tmp_path / "sweep.json").write_text(json.dumps(document))
    assert [entry.settings["model"] for entry in parsed(tmp_path)] == ["org/m"]
    with (tmp_path / "sweep.json").open("rb") as stream:
        left = json.loads(without_values(stream, b"requests", within=b"{[{"))
    assert (left["args"], left["benchmarks"][0]["requests"]) == (document["args"], None)


def test_a_delay_that_is_longer_than_the_run_is_none(tmp_path: Path, parsed: Parse) -> None:
    delay = {"request_targeted_start_delay_avg": 5210543.77}
    (entry,) = read(tmp_path, parsed, {**benchmark(2.0), "duration": 60.0, "scheduler_metrics": delay})
    assert "schedule_delay_mean" not in entry.kpis


def test_a_label_says_what_the_file_does_not(tmp_path: Path, parsed: Parse) -> None:
    labels = {"model": "mine", "request_rate": 7, "strategy": "x", "repeat": 3, "hw_type": "H100"}
    (entry,) = read(tmp_path, parsed, benchmark(2.0), **labels)
    expected = {"model": "org/m", "request_rate": 2, "strategy": "constant", "hw_type": "H100"}
    assert {name: entry.settings.get(name) for name in expected} == expected
    assert entry.repeat == 0


def test_benchmarks_of_one_name_are_repeats_if_their_settings_are_alike(tmp_path: Path, parsed: Parse) -> None:
    other = benchmark(2.0, backend={"model": "org/n"})
    entries = read(tmp_path, parsed, benchmark(2.0), other, benchmark(2.0))
    assert [(entry.settings["model"], entry.repeat) for entry in entries] == [("org/m", 0), ("org/n", 0), ("org/m", 1)]


REQUEST = {"prompt_token_count": 100, "output_token_count": 3, "start_time": 1.72e9, "end_time": 1.72e9 + 1.0}


@pytest.mark.parametrize(
    ("request_of", "itl"),
    [
        ({"first_token_time": 0.5, "decode_times": {"data": [0.2, 0.3]}}, 0.25),
        ({"first_token_time": 1.72e9 + 0.5, "last_token_time": 1.72e9 + 1.0}, None),
    ],
)
@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_the_first_generation_has_single_requests(
    tmp_path: Path, parsed: Parse, request_of: dict[str, Any], itl: float | None, suffix: str
) -> None:
    requests = [{"request": {"id": "a"}, **REQUEST, **request_of}] * 2
    sweep = [
        {"mode": "synchronous", "rate": None, "results": requests, "errors": [], "concurrencies": []},
        {"mode": "asynchronous", "rate": 2.5, "results": requests, "errors": [{"message": "x"}] * 2},
        {"mode": "throughput", "results": [5, {"decode_times": {"data": 7}}], "errors": 1},
    ]
    arguments = {"backend_type": "openai_server", "model": "org/m", "data": "prompt_tokens=128,output_tokens=3"}
    document = {"benchmarks": [{"benchmarks": sweep, "args": arguments}]}
    dump = json.dumps if suffix == "json" else yaml.safe_dump
    (tmp_path / f"report.{suffix}").write_text(dump(document))
    rated, alone, _ = sorted(parsed(tmp_path), key=lambda entry: entry.name)
    expected = {"model": "org/m", "request_rate": 2.5, "input_length": 128, "output_length": 3}
    assert {name: rated.settings.get(name) for name in expected} == expected
    assert alone.settings["concurrency"] == 1
    kpis = {"ttft_mean": 0.5, "tpot_p50": 0.25, "itl_p50": itl, "e2e_p99": 1.0, "error_share": 0.5, "requests": 2}
    kpis |= {"output_tokens_per_s": 6, "input_length_mean": 100, "requests_per_s": 2}
    assert {name: rated.kpis.get(name) for name in kpis} == pytest.approx(kpis)
