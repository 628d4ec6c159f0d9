"""MLPerf inference: a run is the two logs of LoadGen; what was tested stands in the tree and its system's description.

Latencies are in ns. Which key holds a throughput depends on the scenario; of a server it is what was completed. The
detailed log has more digits; the summary beside it adds what some rounds' details don't say: in 4.0 a server's tokens,
in 0.5 everything. Accuracy runs measure no speed and aren't recognised. Source: mlcommons/inference, loadgen/results.cc
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.store import ArtifactPath, Part

from . import NS, Field, field, measured, number, point
from .mlperf_tree import SCENARIOS, moment, settings_of, system_power, zone

TOOL = "mlperf"
FORMAT = "MLPerf inference 0.5 and later: LoadGen's logs, system descriptions"
file_names = ("*mlperf_log_detail.txt", "*mlperf_log_summary.txt")
_PERCENTS = {"p50": "50.00", "p90": "90.00", "p95": "95.00", "p99": "99.00"}
_MARK = b":::MLLOG"
_LINE = 1 << 16
"""Longer lines list samples; they need not fit into memory."""
_ACCURACY = re.compile(rb'_test_mode", ?"value": ?"Accuracy|Test mode : Accuracy|^Mode +: Accuracy', re.MULTILINE)


def _ns(name: str, mean: tuple[str, ...], percentile: tuple[str, ...]) -> dict[str, Field]:
    percents = {what: [path.format(share) for path in percentile] for what, share in _PERCENTS.items()}
    return {
        f"{name}_mean": field(*mean, unit=NS),
        **{f"{name}_{what}": field(*paths, unit=NS) for what, paths in percents.items()},
    }


FIELDS: Mapping[str, Field] = {
    # samples; a server's scheduled ones are the load, and no result
    "requests_per_s": field(
        *("result_completed_samples_per_sec", "Completed samples per second"),
        *("result_samples_per_second", "Samples per second"),
        *("result_qps_with_loadgen_overhead", "QPS w/ loadgen overhead"),
    ),
    # result_token_throughput of a server's log is out by 12 orders of magnitude in LoadGen 4.1, and never needed
    "output_tokens_per_s": field(
        *("result_completed_tokens_per_second", "Completed tokens per second"),
        *("result_tokens_per_second", "Tokens per second", "TPS w/ loadgen overhead"),
        *("result_inferred_completed_tokens_per_second", "Completed tokens per second (inferred)"),
        *("result_inferred_tokens_per_second", "Tokens per second (inferred)"),
    ),
    # of a query of several samples that are sent together, where there are such
    **_ns(
        "e2e",
        ("result_mean_query_latency_ns", "result_mean_latency_ns", "Mean latency (ns)"),
        ("result_{}_percentile_per_query_latency_ns", "result_{}_percentile_latency_ns", "{} percentile latency (ns)"),
    ),
    **_ns(
        "ttft",
        ("result_first_token_mean_latency_ns", "Mean First Token latency (ns)"),
        ("result_first_token_{}_percentile_latency_ns", "{} percentile first token latency (ns)"),
    ),
    # LoadGen's time to an output token is that after the first one
    **_ns(
        "tpot",
        ("result_time_to_output_token_mean", "Mean Time to Output Token (ns)"),
        ("result_time_per_output_token_{}_percentile_ns", "{} percentile time to output token (ns)"),
    ),
}
DERIVED: Sequence[str] = ("requests", "request_rate_reached", "output_length_mean", "system_power")
_WANTED = re.compile(
    rb'"key": ?"(result_|effective_(scenario|test_mode|target_qps|samples_per_query)|requested_(scenario|test_mode)'
    rb"|power_(begin|end)|generated_samples_per_query|loadgen_version)"
)


def recognises(head: bytes, name: str) -> bool:
    is_log = name.endswith("detail.txt") or b"MLPerf Results Summary" in head
    return is_log and _ACCURACY.search(head) is None


def belongs_to_another(path: Path, names: Set[str]) -> bool:
    is_summary = path.name.endswith("mlperf_log_summary.txt") and path.name.replace("summary", "detail") in names
    describes = path.parent.name == "systems" or "measurements" in path.parts or path.name == "measurements.json"
    is_of_samples = path.name in ("mlperf_log_accuracy.json", "mlperf_log_trace.json")
    return is_summary or is_of_samples or (describes and path.suffix == ".json")


def read(file: ArtifactPath) -> Iterator[Part]:
    said = _detail(file) if file.path.name.endswith("detail.txt") else _summary(file)
    beside = file / f"../{file.path.name.replace('detail', 'summary')}"
    if beside.path.name != file.path.name and beside.is_file():
        said = {**_summary(beside), **said}
    mode = str(said.get("effective_test_mode", said.get("requested_test_mode", said.get("Mode"))))
    if mode.startswith("Accuracy"):
        raise ArtifactError(file, "is the log of an accuracy run, which measures no speed")
    if "result_validity" not in said and "Result is" not in said:
        raise ArtifactError(file, "says not whether its result is valid: the run did not come to its end")
    settings, config = settings_of(file)
    scenario = str(said.get("effective_scenario", said.get("requested_scenario", said.get("Scenario")))).replace(
        " ", ""
    )
    if settings.get("scenario") != "Interactive":  # which LoadGen calls Server
        settings["scenario"] = SCENARIOS.get(scenario.lower(), scenario)
    settings["test_mode"] = None if mode in ("PerformanceOnly", "Performance", "None") else mode
    asked = number(said.get("effective_target_qps", said.get("target_qps"))) if scenario == "Server" else None
    results = {**_results(said, scenario, asked), **_power(file, said)}
    yield point("run", TOOL, {**settings, "request_rate": asked}, results, **config)


def _detail(file: ArtifactPath) -> dict[str, Any]:
    """The values of the keys that say something; none in round 0.5, whose log is prose. It may end in the middle."""
    found: dict[str, Any] = {}
    with file.open("rb") as stream:
        while line := stream.readline(_LINE):
            if not line.startswith(_MARK) or _WANTED.search(line[:120]) is None:
                continue
            try:
                entry = json.loads(line[line.index(b"{") :])
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict):
                found[str(entry.get("key"))] = entry.get("value")
    if found.get("effective_scenario", found.get("requested_scenario")) == "MultiStream":
        # what counts is the query; latencies of its samples stand beside it
        return {name: value for name, value in found.items() if not re.fullmatch(_OF_SAMPLES, name)}
    return found


_OF_SAMPLES = r"result_(mean|\d+\.\d+_percentile)_latency_ns"


def _summary(file: ArtifactPath) -> dict[str, Any]:
    found: dict[str, Any] = {}
    of_samples = False
    with file.open("r", encoding="utf-8", errors="replace") as stream:
        while line := stream.readline(_LINE):
            name, separator, value = line.partition(":")
            of_samples = not line.startswith("==") and (of_samples or line.startswith("Per-sample latency"))
            if separator and not of_samples:
                found.setdefault(name.strip(), _value(value.strip()))
    return found


def _value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _results(said: Mapping[str, Any], scenario: str, asked: float | None) -> dict[str, Any]:
    found: dict[str, Any] = {**measured(said, FIELDS)}
    found["validity"] = said.get("result_validity", said.get("Result is"))
    found["invalid_reason"] = said.get("result_invalid_reason")
    if found["validity"] != "VALID":
        found["exit_code"] = 1  # a limit of the benchmark wasn't kept, so LoadGen says that the numbers don't count
    # Offline sends all samples as one query; a MultiStream query is what is answered at once
    queries = 1 if scenario == "Offline" else number(said.get("result_query_count"))
    keys = ("generated_samples_per_query", "effective_samples_per_query", "samples_per_query")
    per_query = number(next((said[key] for key in keys if key in said), None)) if scenario == "Offline" else 1
    if queries and per_query:
        found["requests"] = queries * per_query
    sent = number(said.get("result_scheduled_samples_per_sec", said.get("Scheduled samples per second")))
    if sent is not None:
        found["request_rate_reached"], found["request_rate_asked"] = sent, asked
    rates = [found.get(name) for name in ("output_tokens_per_s", "requests_per_s")]
    is_counted = not any("inferred" in name for name in said)
    if is_counted and rates[0] and rates[1]:
        found["output_length_mean"] = rates[0] / rates[1]
    return {name: value for name, value in found.items() if value is not None}


def _power(file: ArtifactPath, said: Mapping[str, Any]) -> dict[str, Any]:
    """When the run was, and the power; times are in UTC, but in round 1.0 local ones of two machines."""
    is_local = str(said.get("loadgen_version")).startswith("1.0")
    client, server = (zone(file, who) if is_local else 0.0 for who in ("client", "server"))
    start, end = (moment(said.get(f"power_{name}"), client) for name in ("begin", "end"))
    found = {"start": start, "end": end, "system_power": system_power(file, start, end, server)}
    return {name: value for name, value in found.items() if value is not None}
