"""Builders of small test directories and workloads, for tests of the store and of what stands on it."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from matrix_benchmarking import kpi
from matrix_benchmarking.store import BaseStore, ignore_file_not_found, read_json
from matrix_benchmarking.workload import Workload

RESULT_FILE = "result.json"


def write_test(
    directory: Path,
    settings: Mapping[str, Any] | None = None,
    *,
    exit_code: int | None = 0,
    files: Mapping[str, str] | None = None,
) -> Path:
    """A test directory with *settings*, an exit code unless None, and *files*."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "settings.yaml").write_text(yaml.safe_dump(dict(settings or {})))
    if exit_code is not None:
        (directory / "exit_code").write_text(f"{exit_code}\n")
    for name, content in (files or {}).items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return directory


def speed_files(value: float) -> dict[str, str]:
    """The artifact that :func:`speed_workload` parses."""
    return {f"000__run/{RESULT_FILE}": json.dumps({"speed": value})}


def speed_workload(calls: list[str] | None = None, **changes: Any) -> Workload:
    """A workload of one KPI, whose ``parse_once`` notes in *calls* that it was called."""

    @ignore_file_not_found
    def parse_speed(test_dir: Any) -> Any:
        return read_json(test_dir.artifact_paths.RUN_DIR / RESULT_FILE)["speed"]

    def parse_once(results: types.SimpleNamespace, test_dir: Any) -> None:
        if calls is not None:
            calls.append(test_dir.path.name)
        results.speed = parse_speed(test_dir)

    @kpi.HigherBetter
    @kpi.KPIMetadata(help="How fast it is", unit="m/s")
    def speed(lts_payload: Any) -> Any:
        return lts_payload.results.speed

    dirnames = types.SimpleNamespace(RUN_DIR="*__run")
    fields: dict[str, Any] = {
        "parse_once": parse_once,
        "artifact_dirnames": dirnames,
        "important_files": [f"{dirnames.RUN_DIR}/{RESULT_FILE}", ".uuid"],
        "models_kpis": kpi.collect([speed]),
    }
    return Workload(name="speed", store=BaseStore(**fields | changes))


_RATE_WORKLOAD = """
from matrix_benchmarking import kpi
from matrix_benchmarking.store import BaseStore, read_json
from matrix_benchmarking.workload import RegressionKeys, Workload


def parse(results, test_dir):
    results.rate = read_json(test_dir / "rate.json")


@kpi.HigherBetter
@kpi.KPIMetadata(help="Answers per second", unit="1/s")
def rate(lts):
    return lts.results.rate


store = BaseStore(parse_once=parse, important_files=["rate.json", ".uuid"], models_kpis=kpi.collect([rate]))
workload = Workload(name=%r, store=store, regression=RegressionKeys(comparison_keys=[%r]))
"""


def rate_workload(name: str, comparison_key: str) -> str:
    """The source of a workload in one file: a rate out of ``rate.json``, compared over *comparison_key*; no times."""
    return _RATE_WORKLOAD % (name, comparison_key)
