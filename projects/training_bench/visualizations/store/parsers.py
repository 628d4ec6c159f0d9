"""Parsers of training_bench: artifact files in, namespaces out."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.store import (
    ArtifactPath,
    TestDirectory,
    ignore_file_not_found,
    parse_test_config,
    parse_test_start_end,
    read_json,
)

from . import system_log, timings

T = TypeVar("T")

WARM_UP_EPOCHS = 2
"""How many epochs don't count unless the option ``warm_up_epochs`` says it."""

artifact_dirnames = types.SimpleNamespace()
artifact_dirnames.MONITOR_DIR = "*__monitor"
artifact_dirnames.FOLD_DIR = "fold_all"

IMPORTANT_FILES = [
    ".uuid",
    "test_start_end.json",
    "timings.feather",
    f"{artifact_dirnames.MONITOR_DIR}/utilization.json",
]
OPTIONAL_FILES = [
    "config.yaml",
    "environment.json",
    "training.json",
    f"{artifact_dirnames.FOLD_DIR}/training.json",
]


def parse_once(results: types.SimpleNamespace, test_dir: TestDirectory) -> None:
    """Read all artifacts; what is missing or damaged becomes None."""
    results.test_config = parse_test_config(test_dir)
    results.times = parse_test_start_end(test_dir)
    results.environment = _parse_facts(test_dir / "environment.json")
    fold = test_dir.artifact_paths.FOLD_DIR
    place = test_dir if fold is None else fold
    results.epochs = _parse_timings(place / "timings.feather")
    results.training = _parse_facts(place / "training.json")
    log = test_dir.artifact_paths.MONITOR_DIR / "utilization.json" if fold is None else _last_log(fold)
    results.system_log = None if log is None else _parse_system_log(log)


def parse_always(results: types.SimpleNamespace, test_dir: TestDirectory, import_settings: Mapping[str, Any]) -> None:
    """How many epochs are warm-up belongs to the analysis, not to the run."""
    results.warm_up_epochs = max(0, int(test_dir.options.get("warm_up_epochs", WARM_UP_EPOCHS)))


@ignore_file_not_found
def _parse_timings(path: ArtifactPath) -> list[types.SimpleNamespace]:
    return _understood(path, timings.parse_timings, path.read_bytes())


@ignore_file_not_found
def _parse_system_log(path: ArtifactPath) -> types.SimpleNamespace:
    return _understood(path, system_log.parse_system_log, read_json(path))


@ignore_file_not_found
def _parse_facts(path: ArtifactPath) -> types.SimpleNamespace:
    content = read_json(path)
    if not isinstance(content, dict):
        raise ArtifactError(path, "is not a JSON object")
    return types.SimpleNamespace(**content)


def _last_log(fold: ArtifactPath) -> ArtifactPath | None:
    """The log that was started last, of a training that was started again."""
    logs = list(fold.glob("system_log*.json"))
    return logs[-1] if logs else None


def _understood(path: ArtifactPath, parse: Callable[[Any], T], content: Any) -> T:
    """What *parse* makes of *content*; a ValueError names the file."""
    try:
        return parse(content)
    except ValueError as error:
        raise ArtifactError(path, str(error)) from error
