"""A whole history of asv's becomes one of ours, and is judged."""

from __future__ import annotations

import datetime as dt
import json
import math
import tarfile
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking import store
from matrix_benchmarking.cli import main
from matrix_benchmarking.moments import time_us
from matrix_benchmarking.workload import load

COMMIT = "a" * 40


@pytest.fixture(autouse=True)
def own_caches(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))


@pytest.fixture
def conda(foreign_samples: Path, tmp_path: Path) -> Path:
    with tarfile.open(foreign_samples / "conda_asv.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "asv"


def test_the_commits_of_conda_are_judged_in_their_order(
    conda: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(conda.parent)
    command = ["history", "import", "--from=asv", str(conda)]
    assert main(command) == 0
    assert "984 runs added\n60 failed runs left out" in capsys.readouterr().out
    assert main(command) == 0
    assert "0 runs added, 984 there already" in capsys.readouterr().out
    assert main(["analyze_lts", "--workload=micro_bench", "--kpi-filter=time,memory"]) == 1
    answer = capsys.readouterr().out
    assert "3 of 18 series of 2 KPIs are worse" in answer
    assert "2 alarms since 730aa933ee (last good 894ea8e0f7) are one cause" in answer
    assert "in the order of the times" in answer


def test_a_tool_without_results_there_is_a_sentence(conda: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "import", "--from=avs", str(conda)]) == 2
    assert "no test matches the filter tool=avs (there: asv)" in capsys.readouterr().err


def written(tmp_path: Path, results: Any, code: str | int | None = None, **fields: Any) -> list[Any]:
    described: dict[str, dict[str, Any]] = {
        "time_x": {"unit": "seconds", "param_names": ["n", "kind"]}, "track_y": {"unit": "files"},
        "mem_z": {"unit": "bytes"}, "time_w": {"unit": "seconds"},
    }  # fmt: skip
    if code is not None:
        described["time_w"]["version"] = code
    (tmp_path / "vm").mkdir()
    (tmp_path / "benchmarks.json").write_text(json.dumps(described))
    content = {"commit_hash": COMMIT, "date": 1_500_000_000_000, "env_name": "py3", "params": {"machine": "vm"}}
    (tmp_path / "vm" / "aaaa-py3.json").write_text(json.dumps({**content, "results": results, **fields}))
    return store.parse_tree(load("projects.micro_bench.visualizations"), tmp_path).entries


def test_parameters_are_settings_and_what_failed_is_unknown(tmp_path: Path) -> None:
    lists = {"params": [["1", "20"], ["'a'"]], "result": [0.5, None], "stats": [None, None]}
    skipped = {"params": [["1", "2"]], "result": [math.nan, 3.0]}
    entries = written(tmp_path, {"time_x": lists, "track_y": 7, "mem_z": 2e6, "time_w": None, "time_v": skipped})
    common = {"tool": "asv", "version": COMMIT, "environment": "py3", "machine": "vm"}
    assert [(entry.part, entry.kpis) for entry in entries] == [
        ("time_x(1, 'a')", {"time": 0.5}),
        ("time_x(20, 'a')", {}),
        ("track_y", {"tracked": 7.0}),
        ("mem_z", {"memory": 2e6}),
        ("time_w", {}),
        ("time_v(2)", {"time": 3.0}),
    ]
    assert entries[0].settings == {
        **common, "benchmark": "time_x(1, 'a')", "measure": "time", "n": 1, "kind": "'a'"
    }  # fmt: skip
    assert [entry.part for entry in entries if entry.failed] == ["time_x(20, 'a')", "time_w"]
    assert entries[0].span_us[0] == time_us(dt.datetime(2017, 7, 14, 2, 40, tzinfo=dt.UTC))


@pytest.mark.parametrize(
    ("measured", "code", "benchmark"),
    [
        ("9f86d081884c7d65", "2c26b46b68ffc68f", "time_w (code 9f86d081)"),
        (1, 2, "time_w (code 1)"),
        (2, 2, "time_w"),
        (None, 2, "time_w"),
        ("9f86d081884c7d65", None, "time_w"),
    ],
)
def test_what_a_benchmark_measured_before_its_own_code_changed_is_of_another_series(
    tmp_path: Path, measured: Any, code: Any, benchmark: str
) -> None:
    of_before, of_now = tmp_path / "1", tmp_path / "2"
    of_before.mkdir(), of_now.mkdir()
    known = {} if measured is None else {"benchmark_version": {"time_w": measured}}
    (one,) = written(of_before, {"time_w": 0.5}, code, **known)
    columns = ["result", "params", "version"]
    (other,) = written(of_now, {"time_w": [[0.5], [], measured]}, code, version=2, result_columns=columns)
    assert one.settings["benchmark"] == other.settings["benchmark"] == benchmark


def test_version_2_has_columns_and_its_samples_are_repeats_of_one_campaign(tmp_path: Path) -> None:
    columns = ["result", "params", "version", "started_at", "duration", "samples"]
    results = {"time_w": [[0.2], [], "v", 1, 2, [[0.1, 0.2, 0.3]]], "mem_z": [[5.0], []]}
    entries = written(tmp_path, results, version=2, result_columns=columns)
    assert [(entry.part, entry.repeat, entry.kpis) for entry in entries] == [
        ("time_w/0", 0, {"time": 0.1}), ("time_w/1", 1, {"time": 0.2}), ("time_w/2", 2, {"time": 0.3}),
        ("mem_z", 0, {"memory": 5.0}),
    ]  # fmt: skip
    assert len({entry.campaign for entry in entries[:3]}) == 1
