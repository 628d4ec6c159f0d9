"""aiperf, once genai-perf: ``profile_export_aiperf.json``, each metric with its unit; the CSV where it is alone.

Its inter token latency is a mean over a request, so it is the TPOT here; its inter chunk latency is the ITL. Runs of a
multi-run directory are repeats. Times have no zone. Source: ai-dynamo/aiperf, exporters and metrics.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.store import ArtifactPath, Part, read_text

from . import (
    OF_COUNTS,
    Field,
    as_number,
    at,
    counted,
    documents,
    field,
    latencies,
    limit,
    no_measure,
    number,
    objects,
    point,
)

TOOL = "aiperf"
FORMAT = "aiperf and genai-perf: JSON or CSV, multi-run"
file_names = ("*aiperf*.json", "*profile_export*aiperf*.csv", "*genai_perf*.json", "*genai_perf*.csv")
LATENCIES = {
    "ttft": "time_to_first_token|ttft",
    "tpot": "inter_token_latency",
    "itl": "inter_chunk_latency",
    "e2e": "request_latency",
}
STATISTICS = {"mean": "{}.avg", "p50": "{}.p50", "p90": "{}.p90", "p95": "{}.p95", "p99": "{}.p99"}
MEANS = {
    "requests_per_s": ("request_throughput",),
    "output_tokens_per_s": ("output_token_throughput",),
    "input_tokens_per_s": ("input_token_throughput",),
    "total_tokens_per_s": ("total_token_throughput",),
    "goodput": ("goodput", "request_goodput"),
    "error_share": ("request_error_rate",),
    "concurrency_reached": ("effective_concurrency",),
    "input_length_mean": ("input_sequence_length", "num_input_token"),
    "output_length_mean": ("output_sequence_length", "output_token_count", "num_output_token"),
    "cache_hit_share": ("overall_usage_prompt_cache_read_pct",),
    "acceptance_rate": ("spec_decode_overall_draft_acceptance_rate", "spec_decode_draft_acceptance_rate"),
    "acceptance_length": ("spec_decode_token_weighted_acceptance_length", "spec_decode_acceptance_length"),
    "energy_per_output_token": ("nvidia_energy_per_output_token", "amd_energy_per_output_token"),
    "energy_per_total_token": ("nvidia_energy_per_total_token", "amd_energy_per_total_token"),
    "schedule_delay_mean": ("credit_to_start_latency",),
    "requests": ("request_count",),
    "failed_requests": ("error_request_count",),
    "duration": ("benchmark_duration",),
    "input_tokens": ("total_isl", "total_usage_prompt_tokens"),
    "output_tokens": ("total_osl", "total_output_tokens"),
}
FIELDS: Mapping[str, Field] = {
    **{name: field(*(f"{metric}.avg" for metric in metrics)) for name, metrics in MEANS.items()},
    **latencies(STATISTICS, LATENCIES, 1.0),
    "schedule_delay_p99": field("credit_to_start_latency.p99"),
}
WATCHED = {
    "gpu_power": ("gpu_power_usage", "nvidia_power_usage", "amd_power"),
    "gpu_utilization": ("gpu_utilization", "nvidia_gpu_utilization", "amd_gfx_activity"),
}
ENERGIES = ("energy_consumption", "nvidia_energy_consumption", "amd_energy_consumption")
DERIVED: Sequence[str] = [*OF_COUNTS, *WATCHED]
UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "min": 60.0, "%": 0.01, "percent": 0.01}
UNITS |= {"mW": 1e-3, "kW": 1e3, "mJ": 1e-3, "kJ": 1e3, "MJ": 1e6, "mJ/token": 1e-3}
UNITS |= dict.fromkeys(("", "s", "sec", "seconds", "tokens", "token", "requests", "request", "count", "ratio"), 1.0)
UNITS |= dict.fromkeys(("tokens/sec", "tokens/s", "requests/sec", "requests/s", "per sec", "W", "J", "J/token"), 1.0)
UNITS |= dict.fromkeys(("tokens per sec", "request per sec", "requests per sec"), 1.0)
_BESIDE = (
    *("inputs.json", "phase_manifest.json", "profile_export.jsonl", "profile_export_raw.jsonl"),
    *("run_config.json", "server_metrics_export.json", "server_metrics_export.jsonl", "gpu_telemetry_export.jsonl"),
)


def recognises(head: bytes, name: str) -> bool:
    if name.endswith(".csv"):
        return head.startswith(b"Metric,") and b"Request Throughput" in head
    metric = b'"request_throughput"' in head or b'"error_request_count"' in head  # where all failed
    is_export = metric and (b'"input_config"' in head or b'"avg"' in head)
    is_of_slices = b'"timeslices"' in head  # of the run that the file beside it sums up
    return (is_export and b'"unit"' in head and not is_of_slices) or b'"aggregation_type"' in head


def belongs_to_another(path: Path, names: Set[str]) -> bool:
    whole = "profile_export_aiperf.json"
    of_phase = path.parent.parent.name == "phases" and (path.parent.parent.parent / whole).is_file()
    is_collated = path.name == "profile_export_aiperf_collated.json"  # all runs' requests
    is_beside = whole in names and path.name in _BESIDE
    is_json_there = path.name.removesuffix(".csv") + ".json" in names
    return of_phase or is_collated or is_beside or is_json_there or _sums_up_runs(path)


def _sums_up_runs(path: Path) -> bool:
    """Whether it is of the runs of a multi-run or a sweep, which lie below a directory above it."""
    if not path.name.endswith(("_aggregate.json", "_sweep.json")):
        return False
    base = path.parents[2 if path.parent.parent.name == "aggregate" else 1]
    return any(any(base.glob("*/" * depth + "*_aiperf.json")) for depth in (1, 2, 3))


def read(file: ArtifactPath) -> Iterator[Part]:
    if file.path.suffix == ".csv":
        yield point("run", TOOL, {}, _results(_csv(file)))
        return
    _, document = next(iter(documents(file)))
    if not isinstance(document, dict):
        raise ArtifactError(file, "is not a JSON object")
    if "aggregation_type" in document or at(document, "metadata.aggregation_type") is not None:
        yield from _aggregates(document)
        return
    if isinstance(records := document.get("records"), dict):  # until 0.1
        document = {**records, **document}
    settings = _settings(document)
    results = _results(document)
    *above, directory, parent, _ = file.path.parts
    runs = (re.fullmatch(r"(?:run|trial)_(\d+)", name) for name in (parent, directory))
    if (run := next(filter(None, runs), None)) is not None:
        settings["repeat"] = max(int(run[1]) - 1, 0)
        whole = [*above, directory]
        if "profile_runs" in whole:
            results["campaign"] = whole[whole.index("profile_runs") - 1]
    if document.get("was_cancelled") is True or document.get("is_complete") is False:
        results["exit_code"] = 1  # what was measured until then is of another load than was asked for
    yield point("run", TOOL, settings, results)


def _results(document: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    odd = []
    for name, where in FIELDS.items():
        for path in where.paths:
            metric, _, statistic = path.partition(".")
            value = _in_unit(document.get(metric), statistic)
            if value is not None:
                found[name] = value
                break
            if (said := at(document, path)) is not None:
                odd.append(no_measure(path, said, f"no number in a known unit ({at(document, f'{metric}.unit')})"))
    if unlike := number(at(document, "usage_discrepancy_count.avg")):
        odd.append(
            f"aiperf and the server count tokens otherwise in {unlike:,.0f} requests: rates are by aiperf's count"
        )
    found |= {"told": odd} if odd else {}
    if "requests" in found and isinstance(errors := document.get("error_summary"), list):
        found.setdefault("failed_requests", sum(number(each.get("count")) or 0.0 for each in objects(errors)))
    if found.get("failed_requests"):
        found.setdefault("requests", 0.0)
    return counted({**_telemetry(document, found), **found})


def _in_unit(metric: object, statistic: str) -> float | None:
    """A statistic of *metric* in the unit of the vocabulary; None in a unit that nobody knows."""
    factor = UNITS.get(str(metric.get("unit", "")).strip()) if isinstance(metric, dict) else None
    return number(as_number(metric.get(statistic)), factor) if isinstance(metric, dict) and factor is not None else None


def _aggregates(document: Mapping[str, Any]) -> Iterator[Part]:
    """The means over runs that aren't there, of each point of a sweep: one run, since their spread is no repeat."""
    for place, each in enumerate(objects(document.get("per_combination_metrics")) or [document]):
        nested: dict[str, dict[str, Any]] = {}
        for name, value in _items(at(each, "metrics")):
            metric, _, statistic = name.rpartition("_")
            nested.setdefault(metric, {"unit": value.get("unit")})[statistic] = value.get("mean")
        swept = at(each, "parameters")
        settings = {name.rpartition(".")[2]: value for name, value in swept.items()} if isinstance(swept, dict) else {}
        yield point(f"aggregate {place}" if place else "aggregate", TOOL, settings, _results(nested))


def _settings(document: Mapping[str, Any]) -> dict[str, object]:
    config = document.get("input_config")
    config = config if isinstance(config, dict) else {}
    phases = objects(at(config, "phases"))
    measured_ones = [each for each in phases if not each.get("exclude_from_results") and each.get("kind") != "warmup"]
    phase = measured_ones[-1] if measured_ones else {}
    datasets = objects(at(config, "datasets"))
    data = datasets[0] if datasets else {}

    def first(*paths: str) -> Any:
        found = (value for path in paths for whole in (data, config) if (value := at(whole, path)) is not None)
        return next((value for value in found if value != 0 or value is False), None)

    concurrency = phase.get("concurrency") or phase.get("users") or first(*_CONCURRENCY)
    rate = phase.get("request_rate", phase.get("rate")) or first(*_RATE)
    lengths = {name: number(first(*paths)) for name, paths in _LENGTHS.items()}
    dataset = data.get("path") or data.get("type") or at(config, "input.public_dataset") or at(config, "input.file")
    return {
        "model": first("models.items.0.name", "endpoint.model_names.0", "model_names.0", "model.0", "model"),
        "endpoint_type": first("endpoint.type", "endpoint_type"),
        "streaming": first("endpoint.streaming", "streaming"),
        "dataset": str(dataset).rpartition("/")[2] if dataset else None,
        **{name: value if (value or 0) > 0 else None for name, value in lengths.items()},
        "concurrency": limit(concurrency),
        "request_rate": limit(rate) if rate else "unlimited" if concurrency else None,
        "hw_type": _gpu_name(document),
    }


_CONCURRENCY = (
    *("loadgen.concurrency", "loadgen.num_users", "perf_analyzer.stimulus.concurrency"),
    *("perf_analyzer.stimulus.session_concurrency", "concurrency"),
)
_RATE = ("loadgen.request_rate", "loadgen.user_centric_rate", "perf_analyzer.stimulus.request_rate", "request_rate")
_LENGTHS = {
    "input_length": (
        *("prompts.isl.mean", "prompts.isl", "input.prompt.input_tokens.mean", "input.synthetic_tokens.mean"),
        "synthetic_input_tokens_mean",
    ),
    "output_length": (
        *("prompts.osl.mean", "prompts.osl", "osl.mean", "osl"),
        *("input.prompt.output_tokens.mean", "input.output_tokens.mean", "output_tokens_mean"),
    ),
}


def _gpus(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The GPUs that were watched, each once, though several exporters may tell of it."""
    found: dict[str, dict[str, Any]] = {}
    for endpoint, content in _items(at(document, "telemetry_data.endpoints")):
        for name, gpu in _items(content.get("gpus")):
            found.setdefault(str(gpu.get("gpu_uuid") or f"{endpoint}/{name}"), gpu)
    for metric, content in _items(document.get("telemetry_stats")):  # of genai-perf
        for name, values in _items(content):
            gpu = found.setdefault(name, {"metrics": {}})
            gpu["metrics"][metric] = {"unit": content.get("unit"), **values}
    return list(found.values())


def _items(value: object) -> list[tuple[str, dict[str, Any]]]:
    return [(name, each) for name, each in value.items() if isinstance(each, dict)] if isinstance(value, dict) else []


def _gpu_name(document: Mapping[str, Any]) -> object:
    names = {name for gpu in _gpus(document) if isinstance(name := gpu.get("gpu_name"), str)}
    return names.pop() if len(names) == 1 else None


def _telemetry(document: Mapping[str, Any], found: Mapping[str, float]) -> dict[str, float]:
    watched = [gpu["metrics"] for gpu in _gpus(document) if isinstance(gpu.get("metrics"), dict)]
    means: dict[str, float] = {}
    for name, metrics in WATCHED.items():
        if values := _known(_in_unit(each.get(metric), "avg") for each in watched for metric in metrics):
            means[name] = sum(values) / len(values)
    energies = _known(_consumed(each.get(metric)) for each in watched for metric in ENERGIES)
    of_power = means.get("gpu_power", 0.0) * len(watched) * found.get("duration", 0.0)
    energy = sum(energies) if len(energies) == len(watched) else of_power
    output, given = found.get("output_tokens"), found.get("input_tokens")
    if energy and output:
        means["energy_per_output_token"] = energy / output
        if given is not None:
            means["energy_per_total_token"] = energy / (output + given)
    return means


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _consumed(metric: object) -> float | None:
    """The energy of the run in J; None of the statistics of a counter since boot, which early versions wrote."""
    return None if at(metric, "p50") is not None else _in_unit(metric, "avg")


def _csv(file: ArtifactPath) -> dict[str, Any]:
    """The blocks of the CSV as the JSON has them: ``Request Latency (ms)`` is ``request_latency`` in ms."""
    found: dict[str, Any] = {}
    header: list[str] = []
    for row in csv.reader(io.StringIO(read_text(file))):
        name = re.fullmatch(r"(.+?)(?: \((.+)\))?", row[0] if row else "")
        if name is None:
            continue
        if row[0] == "Metric":
            header = ["avg" if column == "Value" else column.lower() for column in row[1:]]
        elif header:
            key = re.sub(r"[^a-z0-9]+", "_", name[1].lower()).strip("_")
            values = (text.replace(",", "") for text in row[1:])
            found.setdefault(key, {**dict(zip(header, values, strict=False)), "unit": name[2]})
    return found
