"""Parsers of encoder_bench: artifact files in, namespaces out."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.store import (
    ArtifactPath,
    TestDirectory,
    ignore_file_not_found,
    parse_test_config,
    parse_test_start_end,
    read_json,
    register_important_file,
)

from ... import prices
from . import k6, study, timeseries, utilization

artifact_dirnames = types.SimpleNamespace()
artifact_dirnames.SERVER_DIR = "*__server"
artifact_dirnames.MONITOR_DIR = "*__monitor"
artifact_dirnames.K6_RUN_DIR = "*__k6__run"
artifact_dirnames.FIDELITY_DIR = "*__fidelity"

IMPORTANT_FILES = [
    ".uuid",
    "test_start_end.json",
    f"{artifact_dirnames.SERVER_DIR}/server.json",
    f"{artifact_dirnames.MONITOR_DIR}/utilization.json",
    f"{artifact_dirnames.K6_RUN_DIR}/summary.json",
    f"{artifact_dirnames.K6_RUN_DIR}/load_generator.json",
    f"{artifact_dirnames.FIDELITY_DIR}/fidelity.json",
]
OPTIONAL_FILES = ["config.yaml", "environment.json", f"{artifact_dirnames.K6_RUN_DIR}/timeseries.json"]


def parse_once(results: types.SimpleNamespace, test_dir: TestDirectory) -> None:
    """Read all artifacts; what is missing or damaged becomes None."""
    if test_dir.is_file():
        results.study = study.parse_run(test_dir)
        return
    results.test_config = parse_test_config(test_dir)
    results.times = parse_test_start_end(test_dir)
    results.environment = _parse_environment(test_dir)
    results.server = _parse_server(test_dir)
    results.load_generator = _parse_load_generator(test_dir)
    results.k6 = _parse_k6_summary(test_dir)
    results.timeseries = _parse_timeseries(test_dir)
    results.utilization = _parse_utilization(test_dir, getattr(results.server, "cpus", None))
    results.fidelity = _parse_fidelity(test_dir)


def parse_always(results: types.SimpleNamespace, test_dir: TestDirectory, import_settings: Mapping[str, Any]) -> None:
    """Look up today's price: it belongs to the analysis, not to the run."""
    vendor, hw_type = import_settings.get("vendor"), import_settings.get("hw_type")
    results.price = prices.look_up(vendor, hw_type, test_dir.options.get("prices"))


@ignore_file_not_found
def _parse_k6_summary(test_dir: TestDirectory) -> types.SimpleNamespace:
    path = register_important_file(test_dir, test_dir.artifact_paths.K6_RUN_DIR / "summary.json")
    try:
        return k6.parse_summary(read_json(path))
    except ValueError as error:
        raise ArtifactError(path, str(error)) from error


@ignore_file_not_found
def _parse_timeseries(test_dir: TestDirectory) -> types.SimpleNamespace:
    path = register_important_file(test_dir, test_dir.artifact_paths.K6_RUN_DIR / "timeseries.json")
    try:
        return timeseries.parse_timeseries(read_json(path))
    except ValueError as error:
        raise ArtifactError(path, str(error)) from error


@ignore_file_not_found
def _parse_utilization(test_dir: TestDirectory, server_cpus: list[int] | None) -> types.SimpleNamespace:
    path = register_important_file(test_dir, test_dir.artifact_paths.MONITOR_DIR / "utilization.json")
    try:
        return utilization.parse_utilization(read_json(path), server_cpus)
    except ValueError as error:
        raise ArtifactError(path, str(error)) from error


@ignore_file_not_found
def _parse_server(test_dir: TestDirectory) -> types.SimpleNamespace:
    """What is known of the server; of one whose file is damaged, not even that the monitor saw its machine."""
    path = register_important_file(test_dir, test_dir.artifact_paths.SERVER_DIR / "server.json")
    try:
        server = _namespace(path)
    except ArtifactError as error:
        path.note_problem(error.reason)
        return types.SimpleNamespace(local=False)
    if not isinstance(getattr(server, "local", True), bool):
        path.note_problem(f"'local' is neither true nor false: {server.local!r:.80}")
        server.local = False
    return _with_cores(path, server)


@ignore_file_not_found
def _parse_environment(test_dir: TestDirectory) -> types.SimpleNamespace:
    return _namespace(register_important_file(test_dir, test_dir / "environment.json"))


@ignore_file_not_found
def _parse_load_generator(test_dir: TestDirectory) -> types.SimpleNamespace:
    path = register_important_file(test_dir, test_dir.artifact_paths.K6_RUN_DIR / "load_generator.json")
    return _with_cores(path, _namespace(path))


@ignore_file_not_found
def _parse_fidelity(test_dir: TestDirectory) -> types.SimpleNamespace:
    """Whether the answers are right: cosines to those of the reference, or the accuracy on a labelled set."""
    path = register_important_file(test_dir, test_dir.artifact_paths.FIDELITY_DIR / "fidelity.json")
    check = _namespace(path)
    of_labels = getattr(check, "metric", "cosine") == "accuracy"
    known = _LABEL_NUMBERS if of_labels else _COSINE_NUMBERS
    for name in known:
        if name == "mean" and not hasattr(check, name):
            raise ArtifactError(path, "holds no number 'mean'")
        value = getattr(check, name, None)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise ArtifactError(path, f"holds something else than a number as '{name}'")
        setattr(check, name, value)
    return check


_COSINE_NUMBERS = ("mean", "minimum", "vectors", "invalid", "embedding_size")
_LABEL_NUMBERS = ("accuracy", "reference_accuracy", "standard_error", "agreement", "invalid")


def _with_cores(path: ArtifactPath, content: types.SimpleNamespace) -> types.SimpleNamespace:
    """*content*, in which ``cpus`` are numbers of cores; none where it is something else, so that nothing follows."""
    cpus = getattr(content, "cpus", None)
    if cpus is not None and not (isinstance(cpus, list) and all(type(cpu) is int and cpu >= 0 for cpu in cpus)):
        path.note_problem(f"'cpus' is no list of core numbers: {cpus!r:.80}")
        content.cpus = []
    return content


def _namespace(path: ArtifactPath) -> types.SimpleNamespace:
    content = read_json(path)
    if not isinstance(content, dict):
        raise ArtifactError(path, "is not a JSON object")
    return types.SimpleNamespace(**content)
