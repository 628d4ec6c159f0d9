"""llm-d's Benchmark Report 0.1, 0.2 and 0.2.1, YAML or JSON: each statistic names its unit, which is believed.

Source: llm-d/llm-d-benchmark, the report's JSON Schemas.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.store import ArtifactPath, Part, read_yaml

from . import OF_COUNTS, Field, at, counted, documents, field, limit, number, of_image, point

TOOL = "llm-d"
FORMAT = "llm-d Benchmark Report 0.1 to 0.2.1"
file_names = ("*.yaml", "*.yml", "*.json")
STATISTICS = ("mean", "p50", "p90", "p95", "p99")
NAMES = {
    "ttft": "time_to_first_token",
    "tpot": "time_per_output_token",
    "itl": "inter_token_latency",
    "e2e": "request_latency",
}
UNITS = {"ms": 1e-3, "s": 1.0, "us": 1e-6, "ns": 1e-9, "ms/token": 1e-3, "s/token": 1.0, "seconds": 1.0}
UNITS |= {"count": 1.0, "tokens/s": 1.0, "queries/s": 1.0, "requests/s": 1.0, "percent": 0.01, "fraction": 1.0}
UNITS |= {"ratio": 1.0, "Watts": 1.0, "W": 1.0}
RATES = {
    "requests_per_s": ("throughput.request_rate", "throughput.requests_per_sec"),
    "output_tokens_per_s": ("throughput.output_token_rate", "throughput.output_tokens_per_sec"),
    "input_tokens_per_s": ("throughput.input_token_rate", "throughput.input_tokens_per_sec"),
    "total_tokens_per_s": ("throughput.total_token_rate", "throughput.total_tokens_per_sec"),
    "input_length_mean": ("requests.input_length",),
    "output_length_mean": ("requests.output_length",),
}
FIELDS: Mapping[str, Field] = {
    **{name: field(*paths) for name, paths in RATES.items()},
    **{f"{name}_{each}": field(f"latency.{path}.{each}") for name, path in NAMES.items() for each in STATISTICS},
}
DERIVED: Sequence[str] = [*OF_COUNTS, "gpu_power", "gpu_utilization"]


def recognises(head: bytes, name: str) -> bool:
    if b"$defs" in head or b"$schema" in head:
        return False
    is_old = all(key in head for key in (b"scenario", b"metrics", b"units", b"time_to_first_token"))
    return is_old or b"request_performance" in head or (b"scenario" in head and b"standardized" in head)


def read(file: ArtifactPath) -> Iterator[Part]:
    document = next(iter(documents(file)))[1] if file.path.suffix == ".json" else read_yaml(file)
    if not isinstance(document, dict):
        raise ArtifactError(file, "is no report: it holds no mapping")
    version = str(document.get("version"))
    if version.startswith("0.1"):
        settings, results = _of_0_1(document)
    elif version.startswith("0.2"):
        settings, results = _of_0_2(document)
    else:
        raise ArtifactError(file, f"is a Benchmark Report of version {version}; 0.1 to 0.2.1 are known")
    yield point("run", str(settings.pop("tool", TOOL)), settings, counted(results))


def statistic(found: object, name: str = "mean") -> float | None:
    """One number of a statistic, or a plain number, in s, tokens/s, or a share; None in a unit that nobody knows."""
    if not isinstance(found, dict):
        return number(found)
    factor = UNITS.get(str(found.get("units")))
    return None if factor is None else number(found.get(name), factor)


def _measures(aggregate: object) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, paths in RATES.items():
        known = next((value for path in paths if (value := statistic(at(aggregate, path))) is not None), None)
        if known is not None:
            found[name] = known
    for name, path in NAMES.items():
        for each in STATISTICS:
            value = statistic(at(aggregate, f"latency.{path}"), each)
            if value is not None and isinstance(at(aggregate, f"latency.{path}"), dict):
                found[f"{name}_{each}"] = value
    total, failed = (number(at(aggregate, f"requests.{name}")) for name in ("total", "failures"))
    if total is not None:
        found["requests"] = total - (failed or 0.0) - (number(at(aggregate, "requests.incomplete")) or 0.0)
    if failed is not None:
        found["failed_requests"] = failed
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _of_0_1(document: Mapping[str, Any]) -> tuple[dict[str, object], dict[str, Any]]:
    metrics = document.get("metrics")
    results = _measures(metrics)
    results["duration"] = number(at(metrics, "time.duration"))
    start, end = number(at(metrics, "time.start")), number(at(metrics, "time.stop"))
    if start is not None and end is not None and 0 < start <= end < 4e9:
        results["start"], results["end"] = (dt.datetime.fromtimestamp(each, dt.UTC) for each in (start, end))
    devices = at(metrics, "resources.accelerator")
    devices = devices if isinstance(devices, list) else []
    results["gpu_power"] = _mean([statistic(at(each, "power")) for each in devices])
    results["gpu_utilization"] = _mean([statistic(at(each, "compute.utilization")) for each in devices])
    hosts = at(document, "scenario.host.accelerator")
    hosts = [each for each in hosts if isinstance(each, dict)] if isinstance(hosts, list) else []
    kinds = at(document, "scenario.host.type")
    engines = at(document, "scenario.platform.engine")
    engine = engines[0] if isinstance(engines, list) and engines else {}
    settings: dict[str, object] = {
        "model": at(document, "scenario.model.name"),
        "quantization": at(document, "scenario.model.quantization"),
        **_engine(at(engine, "name"), at(engine, "version")),
        **_accelerators(hosts, [number(at(each, "count")) or 1 for each in hosts]),
        "disaggregated": {"prefill", "decode"} <= {*kinds} if isinstance(kinds, list) else None,
        "load_tool": at(document, "scenario.load.name"),
        "request_rate": limit(at(document, "scenario.load.args.qps_values")),
        "dataset": at(document, "scenario.load.type"),
    }
    return settings, {name: value for name, value in results.items() if value is not None}


def _of_0_2(document: Mapping[str, Any]) -> tuple[dict[str, object], dict[str, Any]]:
    results = _measures(at(document, "results.request_performance.aggregate"))
    results["duration"] = _seconds(at(document, "run.time.duration"))
    for name in ("start", "end"):
        try:
            moment = dt.datetime.fromisoformat(str(at(document, f"run.time.{name}")))
        except ValueError:
            continue
        if moment.tzinfo is not None:
            results[name] = moment
    components = at(document, "results.observability.components")
    watched = [at(each, "aggregate") for each in components] if isinstance(components, list) else []
    results["gpu_power"] = _mean([statistic(at(each, "power_consumption")) for each in watched if each])
    results["gpu_utilization"] = _mean([statistic(at(each, "gpu_utilization")) for each in watched if each])
    stack = at(document, "scenario.stack")
    parts = [at(each, "standardized") for each in stack] if isinstance(stack, list) else []
    engines = [each for each in parts if isinstance(each, dict) and each.get("kind") == "inference_engine"]
    first = engines[0] if engines else {}
    devices = [each["accelerator"] for each in engines if isinstance(each.get("accelerator"), dict)]
    counts = [
        (number(at(each, "accelerator.count")) or 1) * (number(each.get("replicas")) or 1)
        for each in engines
        if isinstance(each.get("accelerator"), dict)
    ]
    load = at(document, "scenario.load.standardized")
    roles = {each.get("role") for each in engines}
    settings: dict[str, object] = {
        "model": at(first, "model.name"),
        **_engine(first.get("tool"), first.get("tool_version")),
        **_accelerators(devices, counts),
        "disaggregated": {"prefill", "decode"} <= roles if engines else None,
        "load_tool": at(load, "tool"),
        "request_rate": limit(at(load, "rate_qps")),
        "concurrency": limit(at(load, "concurrency")),
        "input_length": at(load, "input_seq_len.value"),
        "output_length": at(load, "output_seq_len.value"),
        "dataset": at(load, "source"),
    }
    native = at(document, "scenario.stack.0.native.config")
    if at(native, "tool") == "matbench" and isinstance(at(native, "settings"), dict):  # what benchmark_report wrote
        settings = dict(native["settings"])
        known = at(native, "measures")
        results |= {name: number(value) for name, value in known.items()} if isinstance(known, dict) else {}
    return settings, {name: value for name, value in results.items() if value is not None}


def _engine(name: object, version: object) -> dict[str, object]:
    """The engine and its version, of which the latter may be an image."""
    of_version = of_image(version) if isinstance(version, str) and "/" in version else {}
    return {"engine": of_version.get("engine", name), "version": of_version.get("version", version)}


def _accelerators(devices: Sequence[Mapping[str, Any]], counts: Sequence[float]) -> dict[str, object]:
    names = {str(each["model"]) for each in devices if each.get("model")}
    sizes = devices[-1].get("parallelism") if devices else None
    found: dict[str, object] = {"hw_type": " + ".join(sorted(names)) or None, "gpus": int(sum(counts)) or None}
    return found | {name: at(sizes, name) for name in ("tp", "pp", "dp", "ep")}


def _seconds(text: object) -> float | None:
    """``PT1H2M3.5S`` in s."""
    match = re.fullmatch(r"P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?", str(text))
    if match is None or not any(match.groups()):
        return None
    return sum(float(part or 0) * size for part, size in zip(match.groups(), (86400, 3600, 60, 1), strict=True))
