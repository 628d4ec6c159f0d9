"""Benchmark Reports that are written: valid by the schema, and the same runs when they are read again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import llm_points
import pytest
import yaml

from matrix_benchmarking.cli import main
from matrix_benchmarking.matrix import Matrix

WORKLOAD = "projects.llm_bench.visualizations"


def validator(repository: Path) -> jsonschema.Draft202012Validator:
    schema = repository / "tests" / "data" / "elsewhere" / "llm_d" / "br_v0_2_1_json_schema.json"
    return jsonschema.Draft202012Validator(json.loads(schema.read_text()))


def write(workload: str, tree: Path, directory: Path) -> int:
    return main(["parse", f"--workload={workload}", f"--results-dirname={tree}", f"--output-report={directory}"])


def test_every_run_of_every_tool_is_the_same_after_a_round_trip(
    formats: Path,
    repository: Path,
    tmp_path: Path,
    parsed: Callable[..., Matrix],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert write(WORKLOAD, formats, tmp_path / "reports") == 0
    check = validator(repository)
    files = sorted((tmp_path / "reports").glob("*.yaml"))
    assert [error.message for path in files for error in check.iter_errors(yaml.safe_load(path.read_text()))] == []
    before = {entry.test_uuid: entry for entry in parsed(formats) if not (entry.failed or entry.implausible)}
    after = {entry.location.stem: entry for entry in parsed(tmp_path / "reports")}
    assert after.keys() == before.keys()
    for uid, entry in after.items():
        known = before[uid]
        assert dict(entry.settings) == {name: value for name, value in known.settings.items() if value is not None}
        assert entry.kpis == pytest.approx(known.kpis)
        together, apart = entry.lts.metadata, known.lts.metadata
        assert together.repeat == apart.repeat
        assert getattr(together, "campaign", None) == getattr(apart, "campaign", None)
        assert (together.start, together.end) == (apart.start, apart.end)
    assert "no report, since it failed" in capsys.readouterr().err


KNOWN = {"engine": "vllm", "version": "0.11.0", "hw_type": "H100", "gpus": 8, "tp": 8, "input_length": 512}


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        KNOWN,
        {**KNOWN, "tp": 0, "gpus": "8", "dp": 2.5},
        {**KNOWN, "request_rate": 2.5, "dataset": "sharegpt", "model_id": "ümläut: [x]"},
        {"version": 1, "hw_type": True, "output_length": -3, "concurrency": 1.5},
    ],
)
def test_repeats_are_valid_reports_and_keep_their_numbers_whatever_is_known(
    repository: Path, tmp_path: Path, parsed: Callable[..., Matrix], metadata: dict[str, object]
) -> None:
    for number in range(3):
        point = {**llm_points.POINT, "duration": 10.0 + number, **metadata}
        llm_points.write(tmp_path / "sweep", f"run={number}.json", point)
    assert write(WORKLOAD, tmp_path / "sweep", tmp_path / "reports") == 0
    check = validator(repository)
    documents = [yaml.safe_load(path.read_text()) for path in (tmp_path / "reports").glob("*.yaml")]
    assert [error.message for document in documents for error in check.iter_errors(document)] == []
    kinds = {document["scenario"]["stack"][0]["standardized"]["kind"] for document in documents}
    assert kinds == {"inference_engine" if metadata.get("gpus") == 8 else "generic"}
    again = parsed(tmp_path / "reports")
    assert sorted(entry.repeat for entry in again) == [0, 1, 2]
    before = parsed(tmp_path / "sweep")
    assert [dict(entry.settings) for entry in again] == [dict(entry.settings) for entry in before]


def test_a_curve_of_serving_bench_is_a_report_for_each_concurrency(repository: Path, tmp_path: Path) -> None:
    assert write("serving_bench", repository / "data" / "samples" / "serving_bench", tmp_path) == 0
    check = validator(repository)
    reports = [yaml.safe_load(path.read_text()) for path in tmp_path.glob("*-concurrency-16.yaml")]
    assert reports
    for report in reports:
        check.validate(report)
        rate = report["results"]["request_performance"]["aggregate"]["throughput"]["request_rate"]
        assert rate["units"] == "queries/s"
        assert rate["mean"] > 0


def test_a_workload_without_such_a_format_says_so(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert write("encoder_bench", repository / "data" / "samples" / "encoder_bench", tmp_path / "r") == 2
    assert "has no format that other tools read" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()
