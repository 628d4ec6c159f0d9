"""A workload in one file and a results tree of it, in the current directory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking.cli import main

WORKLOAD = """
from matrix_benchmarking import kpi
from matrix_benchmarking.store import BaseStore, read_json
from matrix_benchmarking.workload import Workload


def parse(results, test_dir):
    results.rate = read_json(test_dir / "rate.json")["rate"]
    results.prices = dict(test_dir.options.get("prices", {}))


@kpi.HigherBetter
@kpi.KPIMetadata(help="Answers per second", unit="1/s")
def rate(lts):
    return lts.results.rate


store = BaseStore(parse_once=parse, important_files=["rate.json", ".uuid"], models_kpis=kpi.collect([rate]))
workload = Workload(name="tiny", store=store)
"""

Main = Callable[..., int]


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory: tiny.py, and results/ with three tests."""
    for name in [name for name in os.environ if name.startswith("MATBENCH_")]:
        if not name.startswith("MATBENCH_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.py").write_text(WORKLOAD, encoding="utf-8")
    for number in (1, 2, 3):
        add_test(tmp_path / "results" / f"run_{number}", batch_size=number, rate=number * 1.5)
    return tmp_path


@pytest.fixture
def new_test() -> Callable[..., Path]:
    """Adds a test directory: ``new_test(path, batch_size=1, rate=1.0, exit_code="0")``."""
    return add_test


@pytest.fixture
def parse() -> Main:
    """``matbench parse`` on the results with further options; gives the exit status."""
    return lambda *options: main(["parse", "--workload=tiny.py", "--results-dirname=results", *options])


def add_test(path: Path, *, batch_size: Any, rate: Any, exit_code: str | None = "0") -> Path:
    path.mkdir(parents=True)
    settings = {"batch_size": batch_size, "hw_type": "cpu-1"}
    (path / "settings.yaml").write_text(json.dumps(settings), encoding="utf-8")
    (path / "rate.json").write_text(json.dumps({"rate": rate}), encoding="utf-8")
    if exit_code is not None:
        (path / "exit_code").write_text(exit_code, encoding="utf-8")
    return path
