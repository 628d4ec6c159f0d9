"""MLPerf inference: a run is the two logs of LoadGen; what was tested stands in the tree and its system's description.

Latencies are in ns. Which key holds a throughput depends on the scenario; a server's counts what was completed. Source:
mlcommons/inference, loadgen/results.cc. The summary stands in where no detailed log lies beside it.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.store import ArtifactPath, Part, load_json

from . import NS, Field, as_number, field, measured, number, of_image, point

TOOL = "mlperf"
FORMAT = "MLPerf inference: LoadGen's logs, system descriptions"
file_names = ("*mlperf_log_detail.txt", "*mlperf_log_summary.txt")
_PERCENTS = {"p50": "50.00", "p90": "90.00", "p95": "95.00", "p99": "99.00"}
_MARK = b":::MLLOG"


def _ns(name: str, mean: tuple[str, ...], percentile: tuple[str, ...]) -> dict[str, Field]:
    percents = {what: [path.format(share) for path in percentile] for what, share in _PERCENTS.items()}
    return {
        f"{name}_mean": field(*mean, unit=NS),
        **{f"{name}_{what}": field(*paths, unit=NS) for what, paths in percents.items()},
    }


FIELDS: Mapping[str, Field] = {
    "requests_per_s": field(
        *("result_completed_samples_per_sec", "Completed samples per second"),
        *("result_samples_per_second", "Samples per second", "result_scheduled_samples_per_sec"),
        *("Scheduled samples per second", "result_qps_with_loadgen_overhead", "QPS w/ loadgen overhead"),
    ),
    # result_token_throughput of a server's log is out by 12 orders of magnitude in LoadGen 4.1, and never needed
    "output_tokens_per_s": field(
        *("result_completed_tokens_per_second", "Completed tokens per second"),
        *("result_inferred_completed_tokens_per_second", "Completed tokens per second (inferred)"),
        *("result_tokens_per_second", "Tokens per second"),
        *("result_inferred_tokens_per_second", "Tokens per second (inferred)"),
    ),
    **_ns(
        "e2e",
        ("result_mean_latency_ns", "Mean latency (ns)"),
        ("result_{}_percentile_latency_ns", "{} percentile latency (ns)"),
    ),
    **_ns(
        "ttft",
        ("result_first_token_mean_latency_ns", "Mean First Token latency (ns)"),
        ("result_first_token_{}_percentile_latency_ns", "{} percentile first token latency (ns)"),
    ),
    **_ns(
        "tpot",
        ("result_time_to_output_token_mean", "Mean Time to Output Token (ns)"),
        ("result_time_per_output_token_{}_percentile_ns", "{} percentile time to output token (ns)"),
    ),
}
DERIVED: Sequence[str] = ("requests", "request_rate_reached")
_WANTED = re.compile(
    rb'"key": ?"(result_|early_stopping|effective_(scenario|test_mode|target_qps|samples_per_query)|requested_(scenario'
    rb"|test_mode)|loadgen_version|test_datetime|power_(begin|end)|generated_query_count|sut_name)"
)


def recognises(head: bytes, name: str) -> bool:
    return _MARK in head if name.endswith("detail.txt") else b"MLPerf Results Summary" in head


def belongs_to_another(name: str, names: Set[str]) -> bool:
    return name.endswith("mlperf_log_summary.txt") and name.replace("summary", "detail") in names


def read(file: ArtifactPath) -> Iterator[Part]:
    said = _detail(file) if file.path.name.endswith("detail.txt") else _summary(file)
    if not said:
        raise ArtifactError(file, "holds no result of LoadGen")
    mode = str(said.get("effective_test_mode", said.get("requested_test_mode", said.get("Mode", "PerformanceOnly"))))
    settings, config = _of_tree(file)
    settings["scenario"] = said.get("effective_scenario", said.get("requested_scenario", said.get("Scenario")))
    settings["test_mode"] = None if mode == "PerformanceOnly" else mode
    asked = number(said.get("effective_target_qps", as_number(said.get("target_qps"))))
    if settings["scenario"] == "Server" and asked:
        settings["request_rate"] = asked
    yield point("run", TOOL, settings, _results(said, mode, asked), **config)


def _detail(file: ArtifactPath) -> dict[str, Any]:
    """The values of the keys that say something here; the log may be larger than memory, and end in the middle."""
    found: dict[str, Any] = {}
    with file.open("rb") as stream:
        for line in stream:
            if _WANTED.search(line[:120]) is None:
                continue
            try:
                entry = json.loads(line[line.index(b"{") :])
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict):
                found[str(entry.get("key"))] = entry.get("value")
    if "result_validity" not in found:
        raise ArtifactError(file, "has no result_validity: the run did not come to its end")
    return found


def _summary(file: ArtifactPath) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with file.open("r", encoding="utf-8", errors="replace") as stream:
        for line in stream:
            name, separator, value = line.partition(":")
            if separator:
                name = re.sub(r"(\d+\.\d)(th)? percentile", r"\g<1>0 percentile", name.strip())
                found.setdefault(name, as_number(value.strip()))
    if "Result is" not in found:
        raise ArtifactError(file, "has no 'Result is': the run did not come to its end")
    return found


def _results(said: Mapping[str, Any], mode: str, asked: float | None) -> dict[str, Any]:
    found: dict[str, Any] = {**measured(said, FIELDS)}
    validity = said.get("result_validity", said.get("Result is"))
    found["validity"] = validity
    if validity != "VALID" or mode == "AccuracyOnly":
        found["exit_code"] = 1  # LoadGen's rules were not kept, so the numbers can't be compared; or none is a speed
    queries = number(said.get("result_query_count", said.get("generated_query_count")))
    per_query = number(said.get("effective_samples_per_query", said.get("samples_per_query"))) or 1
    if queries:
        found["requests"] = queries * per_query
    sent = number(said.get("result_scheduled_samples_per_sec", said.get("Scheduled samples per second")))
    if sent is not None:
        found["request_rate_reached"], found["request_rate_asked"] = sent, asked
    for name, key in (("start", "power_begin"), ("end", "power_end")):
        if (moment := _moment(said.get(key))) is not None:
            found[name] = moment
    return {name: value for name, value in found.items() if value is not None}


def _moment(value: object) -> dt.datetime | None:
    """``07-26-2024 17:09:33.653``, which LoadGen writes in UTC."""
    try:
        return dt.datetime.strptime(str(value), "%m-%d-%Y %H:%M:%S.%f").replace(tzinfo=dt.UTC)
    except ValueError:
        return None


def _of_tree(file: ArtifactPath) -> tuple[dict[str, object], dict[str, Mapping[str, object]]]:
    """What ``division/submitter/results/system/benchmark/scenario/performance/run_1`` says, and the description."""
    steps = file.path.parts[:-1]
    if "results" not in steps[:-3]:
        return {}, {}
    at = len(steps) - 1 - steps[::-1].index("results")
    names = ("system", "model", "scenario")
    found: dict[str, object] = dict(zip(names, steps[at + 1 : at + 4], strict=False))
    rest = steps[at + 4 :]
    repeat = re.fullmatch(r"run_(\d+)", rest[-1]) if rest else None
    if repeat is not None and int(repeat[1]) > 1:
        found["repeat"] = int(repeat[1]) - 1
    test = next((step for step in (*rest, *steps[:at]) if re.fullmatch(r"TEST\d+", step)), None)
    found["compliance_test"] = test
    found["submitter"] = steps[at - 1] if at else None
    found["division"] = steps[at - 2] if at > 1 and steps[at - 2] in ("closed", "open", "network") else None
    path = file / ("../" * (len(steps) - at + 1) + f"systems/{found['system']}.json")
    if not path.is_file():
        return found, {}
    try:
        described = load_json(path.read_bytes())
    except ValueError as error:
        path.note_problem(f"is not valid JSON: {error}")
        return found, {}
    return found, {"the system's description": _of_system(described)} if isinstance(described, dict) else {}


def _of_system(described: Mapping[str, Any]) -> dict[str, object]:
    per_node, nodes = (as_number(described.get(name)) for name in ("accelerators_per_node", "number_of_nodes"))
    gpus = per_node * nodes if isinstance(per_node, int) and isinstance(nodes, int) else per_node
    framework = str(described.get("framework") or "")
    found = re.search(
        r"(TensorRT[- ]LLM|vLLM|SGLang|TensorRT|OpenVINO|ONNX ?Runtime)[ :]*v?(\d+[\w.]*)?", framework, re.I
    )
    hardware = described.get("accelerator_model_name") or described.get("host_processor_model_name")
    engine = found[1].lower().replace(" ", "-") if found else None
    return {
        "hw_type": hardware if hardware not in ("", "N/A", "NA", "-") else described.get("host_processor_model_name"),
        "gpus": gpus if isinstance(gpus, int) and gpus > 0 else None,
        "engine": of_image(f"{engine}").get("engine", engine),
        "version": found[2] if found else None,
        "framework": framework or None,
        "processor": described.get("host_processor_model_name"),
    }
