"""Parsers of serving_bench: the client's log and its own load, and the roofline of the day."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from matrix_benchmarking import plausible
from matrix_benchmarking.analyze.words import as_percent
from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.store import TestDirectory, ignore_file_not_found, read_json, read_text

from ...roofline import roofline
from .benchmark_log import parse_log

IMPORTANT_FILES = ["benchmark.log"]
OPTIONAL_FILES = ["client.json"]
BUSY_CLIENT = 0.9
"""Share of the client's cores from which the client may be the limit."""


def parse_once(results: types.SimpleNamespace, test_dir: TestDirectory) -> None:
    """Read the curves; what is missing or damaged becomes None."""
    log = _parse_log(test_dir)
    results.baseline, results.api = (log.baseline, log.api) if log else (None, None)
    results.client_cpu = _parse_client(test_dir)


def parse_always(results: types.SimpleNamespace, test_dir: TestDirectory, import_settings: Mapping[str, Any]) -> None:
    """Look up the theoretical maximum: it belongs to the table of devices, not to the run."""
    found = roofline(import_settings)
    results.theoretical_max = found.requests_per_s
    results.theoretical_max_source = found.source
    results.theoretical_max_unknown = found.reason


def warnings(lts_payload: Any) -> list[str]:
    """What makes the numbers of a run doubtful, a sentence each."""
    results = lts_payload.results
    api, baseline = results.api or [], results.baseline or []
    rates = [point.throughput for point in api]
    sentences = []
    if results.client_cpu is not None and results.client_cpu >= BUSY_CLIENT:
        sentences.append(f"the client was the limit: it used up to {as_percent(results.client_cpu)} of its cores")
    if len(rates) > 1 and rates[-1] == max(rates):
        clients = api[-1].concurrency
        sentences.append(f"throughput was best at the most clients that were tried ({clients}): more may do better")
    maximum = results.theoretical_max
    if maximum is not None and any(point.throughput > maximum for point in [*baseline, *api]):
        sentences.append(
            "throughput is beyond the theoretical maximum: device, precision or model_flops is not what ran"
        )
    return sentences


def implausible(lts_payload: Any) -> list[str]:
    """Values that can't be, a sentence each."""
    results = lts_payload.results
    sentences = plausible.shares(client_cpu=results.client_cpu)
    for point in results.api or []:
        found = plausible.shares(cpu=point.cpu, gpu=point.gpu)
        sentences += [f"at concurrency {point.concurrency:,}: {sentence}" for sentence in found]
    return sentences


@ignore_file_not_found
def _parse_log(test_dir: TestDirectory) -> types.SimpleNamespace:
    path = test_dir / "benchmark.log"
    try:
        return parse_log(read_text(path))
    except ValueError as error:
        raise ArtifactError(path, str(error)) from error


@ignore_file_not_found
def _parse_client(test_dir: TestDirectory) -> float | None:
    """The most that the client used of its own cores at any concurrency."""
    path = test_dir / "client.json"
    content = read_json(path)
    loads = content.get("cpu") if isinstance(content, dict) else None
    if not isinstance(loads, dict) or not all(
        isinstance(load, (int, float)) and not isinstance(load, bool) and 0 <= load <= 1 for load in loads.values()
    ):
        raise ArtifactError(path, 'holds no loads from 0 to 1 as {"cpu": {CONCURRENCY: LOAD, …}}')
    return max(loads.values(), default=None)
