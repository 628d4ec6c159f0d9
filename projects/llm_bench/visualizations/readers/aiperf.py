"""aiperf, once genai-perf: ``profile_export_aiperf.json``, each metric with its unit; the CSV where it is alone.

Its inter token latency is a mean over a request, so it is the TPOT here; its inter chunk latency is the ITL. Runs of a
multi-run directory are repeats. Times have no zone. Source: ai-dynamo/aiperf, exporters and metrics.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.store import ArtifactPath, Part, read_text

from . import OF_COUNTS, Field, at, counted, documents, field, limit, number, objects, point

TOOL = "aiperf"
FORMAT = "aiperf and genai-perf: JSON or CSV, multi-run"
file_names = ("*profile_export*aiperf*.json", "*profile_export*aiperf*.csv", "*genai_perf*.json", "*aiperf*.json")
NAMES = {
    "ttft": ("time_to_first_token",),
    "tpot": ("inter_token_latency",),
    "itl": ("inter_chunk_latency",),
    "e2e": ("request_latency",),
}
STATISTICS = {"mean": "avg", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}
MEANS = {
    "requests_per_s": ("request_throughput",),
    "output_tokens_per_s": ("output_token_throughput",),
    "input_tokens_per_s": ("input_token_throughput",),
    "total_tokens_per_s": ("total_token_throughput",),
    "goodput": ("goodput",),
    "error_share": ("request_error_rate",),
    "concurrency_reached": ("effective_concurrency",),
    "input_length_mean": ("input_sequence_length",),
    "output_length_mean": ("output_sequence_length", "output_token_count"),
    "schedule_delay_mean": ("credit_to_start_latency",),
    "requests": ("request_count",),
    "failed_requests": ("error_request_count",),
    "duration": ("benchmark_duration",),
    "input_tokens": ("total_isl", "total_usage_prompt_tokens"),
    "output_tokens": ("total_osl", "total_output_tokens"),
}
FIELDS: Mapping[str, Field] = {
    **{name: field(*(f"{metric}.avg" for metric in metrics)) for name, metrics in MEANS.items()},
    **{
        f"{name}_{what}": field(*(f"{metric}.{column}" for metric in metrics))
        for name, metrics in NAMES.items()
        for what, column in STATISTICS.items()
    },
    "schedule_delay_p99": field("credit_to_start_latency.p99"),
}
DERIVED: Sequence[str] = [
    *OF_COUNTS,
    *("gpu_power", "gpu_utilization", "energy_per_output_token", "energy_per_total_token"),
]
UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "seconds": 1.0, "min": 60.0}
UNITS |= dict.fromkeys(("", "tokens", "requests", "count", "ratio", "tokens/sec", "tokens/s", "requests/sec"), 1.0)
UNITS |= dict.fromkeys(("requests/s", "tokens/sec/user", "tokens/s/user", "request", "token"), 1.0)
UNITS |= {"%": 0.01, "percent": 0.01, "W": 1.0, "mW": 1e-3, "kW": 1e3, "J": 1.0, "mJ": 1e-3, "kJ": 1e3, "MJ": 1e6}
_BESIDE = (
    *("inputs.json", "phase_manifest.json", "profile_export.jsonl", "profile_export_raw.jsonl"),
    *("server_metrics_export.json", "server_metrics_export.jsonl", "gpu_telemetry_export.jsonl"),
)


def recognises(head: bytes, name: str) -> bool:
    if name.endswith(".csv"):
        return head.startswith(b"Metric,") and b"Request Throughput" in head
    is_export = b'"request_throughput"' in head and (b'"input_config"' in head or b'"avg"' in head)
    is_of_slices = b'"timeslices"' in head  # of the run that the file beside it sums up
    return (is_export and b'"unit"' in head and not is_of_slices) or b'"aggregation_type"' in head


def belongs_to_another(path: Path, names: Set[str]) -> bool:
    is_export = "profile_export_aiperf.json" in names
    of_phase = (
        path.parent.parent.name == "phases" and (path.parent.parent.parent / "profile_export_aiperf.json").is_file()
    )
    return of_phase or path.name.removesuffix(".csv") + ".json" in names or (is_export and path.name in _BESIDE)


def read(file: ArtifactPath) -> Iterator[Part]:
    if file.path.suffix == ".csv":
        yield point("run", TOOL, {}, _results(_csv(file), 1))
        return
    _, document = next(iter(documents(file)))
    if not isinstance(document, dict):
        raise ArtifactError(file, "is not a JSON object")
    if isinstance(document.get("metrics"), dict) and "metadata" in document:
        if not any((file / "../..").glob("profile_runs/*/profile_export*.json")):
            yield point("aggregate", TOOL, {}, _of_aggregate(document))
        return
    run = re.fullmatch(r"run_(\d+)", file.path.parent.name)
    settings = _settings(document)
    if run is not None:
        settings["repeat"] = int(run[1]) - 1 if int(run[1]) else 0
    results = _results(document, settings.get("gpus"))
    if run is not None and file.path.parent.parent.name == "profile_runs":
        results["campaign"] = file.path.parent.parent.parent.name
    if document.get("was_cancelled") is True or document.get("is_complete") is False:
        results["exit_code"] = 1  # what was measured until then is of another load than was asked for
    yield point("run", TOOL, settings, results)


def _results(document: Mapping[str, Any], gpus: object) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, where in FIELDS.items():
        for path in where.paths:
            metric, _, statistic = path.partition(".")
            value = _in_unit(document.get(metric), statistic)
            if value is not None:
                found[name] = value
                break
    if "requests" in found:
        found.setdefault("failed_requests", 0.0 if document.get("error_summary") == [] else None)
    found = {name: value for name, value in found.items() if value is not None}
    return counted({**found, **_telemetry(document, found, gpus)})


def _in_unit(metric: object, statistic: str) -> float | None:
    """A statistic of *metric* in the unit of the vocabulary; None in a unit that nobody knows."""
    factor = UNITS.get(str(metric.get("unit") or "").strip()) if isinstance(metric, dict) else None
    return number(metric.get(statistic), factor) if isinstance(metric, dict) and factor is not None else None


def _of_aggregate(document: Mapping[str, Any]) -> dict[str, Any]:
    """The means over the runs, where the runs themselves aren't there: one run, since their spread is no repeat."""
    metrics: Mapping[str, Any] = document["metrics"]
    nested: dict[str, dict[str, Any]] = {}
    for name, value in metrics.items():
        metric, _, statistic = name.rpartition("_")
        if isinstance(value, dict) and metric:
            nested.setdefault(metric, {"unit": value.get("unit")})[statistic] = value.get("mean")
    return _results(nested, None)


def _settings(document: Mapping[str, Any]) -> dict[str, object]:
    config = document.get("input_config")
    config = config if isinstance(config, dict) else {}
    phases = objects(at(config, "phases"))
    measured_ones = [each for each in phases if not each.get("exclude_from_results") and each.get("kind") != "warmup"]
    phase = measured_ones[-1] if measured_ones else {}
    datasets = objects(at(config, "datasets"))
    data = datasets[0] if datasets else {}
    names = at(config, "models.items.0.name"), at(config, "endpoint.model_names.0"), at(config, "model_names.0")
    loads = (
        phase.get("concurrency"),
        at(config, "loadgen.concurrency"),
        at(config, "perf_analyzer.stimulus.concurrency"),
    )
    concurrency = next((each for each in loads if each), None)
    rate = phase.get("request_rate", phase.get("rate")) or at(config, "loadgen.request_rate")
    lengths = {
        "input_length": ("prompts.isl.mean", "input.prompt.input_tokens.mean", "input.synthetic_tokens.mean"),
        "output_length": ("prompts.osl.mean", "input.prompt.output_tokens.mean", "input.output_tokens.mean"),
    }
    found = {
        name: next((value for path in paths if (value := number(at(data, path) or at(config, path)))), None)
        for name, paths in lengths.items()
    }
    dataset = data.get("path") or data.get("type") or at(config, "input.public_dataset") or at(config, "input.file")
    return {
        "model": next((name for name in names if name), None),
        "endpoint_type": at(config, "endpoint.type"),
        "streaming": at(config, "endpoint.streaming"),
        "dataset": str(dataset).rpartition("/")[2] if dataset else None,
        **{name: value if (value or 0) > 0 else None for name, value in found.items()},
        "concurrency": limit(concurrency),
        "request_rate": limit(rate) if rate else "unlimited" if concurrency else None,
        "hw_type": _gpu_name(document),
    }


def _gpus(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The GPUs that were watched, each once, though several exporters may tell of it."""
    endpoints = at(document, "telemetry_data.endpoints")
    found: dict[str, Mapping[str, Any]] = {}
    for endpoint, content in endpoints.items() if isinstance(endpoints, dict) else ():
        gpus = content.get("gpus") if isinstance(content, dict) else None
        for name, gpu in gpus.items() if isinstance(gpus, dict) else ():
            if isinstance(gpu, dict):
                found.setdefault(str(gpu.get("gpu_uuid") or f"{endpoint}/{name}"), gpu)
    return list(found.values())


def _gpu_name(document: Mapping[str, Any]) -> object:
    names = {name for gpu in _gpus(document) if isinstance(name := gpu.get("gpu_name"), str)}
    return names.pop() if len(names) == 1 else None


def _telemetry(document: Mapping[str, Any], found: Mapping[str, float], gpus: object) -> dict[str, float]:
    watched = [gpu["metrics"] for gpu in _gpus(document) if isinstance(gpu.get("metrics"), dict)]
    means: dict[str, float] = {}
    for name, metric in (("gpu_power", "gpu_power_usage"), ("gpu_utilization", "gpu_utilization")):
        values = [value for each in watched if (value := _in_unit(each.get(metric), "avg")) is not None]
        if values:
            means[name] = sum(values) / len(values)
    power, duration = means.get("gpu_power"), found.get("duration")
    if power is not None and duration:
        energy = power * len(watched) * duration
        for name, tokens in (("output", found.get("output_tokens")), ("total", _total(found))):
            if tokens:
                means[f"energy_per_{name}_token"] = energy / tokens
    return means


def _total(found: Mapping[str, float]) -> float | None:
    made, given = found.get("output_tokens"), found.get("input_tokens")
    return None if made is None or given is None else made + given


def _csv(file: ArtifactPath) -> dict[str, Any]:
    """The blocks of the CSV as the JSON has them: ``Request Latency (ms)`` is ``request_latency`` in ms."""
    found: dict[str, Any] = {}
    header: list[str] = []
    for row in csv.reader(io.StringIO(read_text(file))):
        if not row or not any(row):
            continue
        if row[0] == "Metric":
            header = row[1:]
            continue
        name = re.fullmatch(r"(.+?)(?: \((.+)\))?", row[0])
        if header and name is not None:
            values = {key.lower(): _float(text) for key, text in zip(header, row[1:], strict=False)}
            if "value" in values:
                values["avg"] = values.pop("value")
            key = re.sub(r"[^a-z0-9]+", "_", name[1].lower()).strip("_")
            found.setdefault(key, {"unit": name[2], **values})
    return found


def _float(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None
