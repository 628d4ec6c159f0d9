"""llm-d's Benchmark Report 0.1, 0.2 and 0.2.1, YAML or JSON: each statistic names its unit, which is believed.

What a report calls inter-token latency is what the tool which sent the load calls so: guidellm's and aiperf's is TPOT,
and guidellm's time per output token counts the first one, so it is neither. Source: llm-d/llm-d-benchmark, the JSON
Schemas, native_to_br0_1.py and native_to_br0_2.py.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.moments import time_us
from matrix_benchmarking.store import ArtifactPath, Part, read_yaml

from ..vocabulary import COUNTS, MEASURES, UNLIMITED
from . import (
    OF_COUNTS,
    Field,
    at,
    counted,
    documents,
    field,
    limit,
    moment,
    no_measure,
    number,
    objects,
    of_image,
    point,
)
from .configs import of_config

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
TIMES = {"ms": 1e-3, "s": 1.0, "us": 1e-6, "ns": 1e-9, "ms/token": 1e-3, "s/token": 1.0, "seconds": 1.0}
PER_SECOND = {"tokens/s": 1.0, "queries/s": 1.0, "requests/s": 1.0}
COUNT, WATTS = {"count": 1.0}, {"Watts": 1.0, "W": 1.0}
SHARE = {"percent": 0.01, "fraction": 1.0, "ratio": 1.0}
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
OBSERVED: Mapping[str, tuple[str, Mapping[str, float]]] = {
    "gpu_power": ("power_consumption", WATTS),
    "gpu_utilization": ("gpu_utilization", SHARE),
    "cache_hit_share": ("cache_hit_rate", SHARE),
}
DERIVED: Sequence[str] = [*OF_COUNTS, *OBSERVED]


def recognises(head: bytes, name: str) -> bool:
    if b"$defs" in head or b"$schema" in head:
        return False
    is_old = all(key in head for key in (b"scenario", b"metrics", b"units", b"time_to_first_token"))
    is_watched = b"component_label" in head and b"units" in head  # whose observations may fill the first 64 KiB
    return is_old or is_watched or b"request_performance" in head or (b"scenario" in head and b"standardized" in head)


_OF_A_FILE = re.compile(r"benchmark_report(_v[\d.]+)?,_((.+?\.json)(_\d+)?\.(?:ya?ml|json))")


def belongs_to_another(path: Path, names: Set[str]) -> bool:
    """A report of a tool's own file that lies beside it, or one of 0.1 beside that of 0.2, as llm-d leaves them."""
    match = _OF_A_FILE.fullmatch(path.name)
    if match is None:
        return False
    newer = re.compile(rf"benchmark_report_v[\d.]+,_{re.escape(match[2])}")
    return match[3] in names or (match[1] is None and any(map(newer.fullmatch, names)))


def reported(file: ArtifactPath) -> dict[str, Mapping[str, object]]:
    """What a report that was made of *file* and lies beside it says of the server, which the tool doesn't know."""
    for version in ("_v0.2", ""):
        name = f"benchmark_report{version},_{file.path.name}.yaml"
        path = file / f"../{name}"
        if path.is_file():
            try:
                document = read_yaml(path)
            except ArtifactError as error:
                path.note_problem(error.reason)
                return {}
            known = (_of_0_2 if version else _of_0_1)(document)[0] if isinstance(document, dict) else {}
            return {name.replace(".", "__"): {each: known.get(each) for each in _OF_SERVER}}
    return {}


_OF_SERVER = ("model", "engine", "version", "quantization", "hw_type", "gpus", "tp", "pp", "dp", "ep", "disaggregated")


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
    if settings.get("load_tool") == "nop":
        raise ArtifactError(file, "measured how a server starts, and sent no request")
    if not results.keys() & {"requests", "failed_requests", *FIELDS}:
        raise ArtifactError(file, "is a report without the performance of requests")
    # the duration is that of the tool with all its stages, so no rate can be made of it
    duration = {name: results.pop(name) for name in ("duration",) if name in results}
    yield point("run", str(settings.pop("tool", TOOL)), settings, counted(results) | duration)


def statistic(found: object, units: Mapping[str, float], name: str = "mean") -> float | None:
    """One number of a statistic, in s, tokens/s, or a share; None in a unit that is none of *units*."""
    factor = units.get(str(at(found, "units")))
    return None if factor is None else number(at(found, name), factor)


def _measures(aggregate: object, tool: object) -> dict[str, Any]:
    found: dict[str, Any] = {}
    odd = []
    for name, paths in RATES.items():
        units = COUNT if name.endswith("length_mean") else PER_SECOND
        values = [at(aggregate, path) for path in paths]  # in 0.1 rates are plain numbers
        known = [statistic(value, units) if isinstance(value, dict) else number(value) for value in values]
        found[name] = next((value for value in known if value is not None), None)
        if found[name] is None:
            odd += [no_measure(path, value, _NOT_KNOWN) for path, value in zip(paths, values, strict=True) if value]
    for name, path in NAMES.items():
        theirs = f"latency.{_THEIRS.get((str(tool), name), path)}"
        values = [statistic(at(aggregate, theirs), TIMES, each) for each in STATISTICS]
        found |= {f"{name}_{each}": value for each, value in zip(STATISTICS, values, strict=True)}
        if at(aggregate, theirs) and not any(value is not None for value in values):
            odd.append(no_measure(theirs, at(aggregate, theirs), _NOT_KNOWN))
    found["told"] = odd
    if tool == "guidellm" and _is_too_fast(found):  # its s, which llm-d's converters label as ms
        found |= {name: value * 1000 for name, value in found.items() if name.startswith("e2e_") and value is not None}
    total, failed = (number(at(aggregate, f"requests.{name}")) for name in ("total", "failures"))
    incomplete = number(at(aggregate, "requests.incomplete")) or 0.0
    if total is not None and tool == "aiperf":
        found["requests"] = total  # the successful ones; failures are how many kinds of errors there were
    elif total is not None:
        found["requests"], found["failed_requests"] = total - (failed or 0.0) - incomplete, failed
    return found


def _is_too_fast(found: Mapping[str, float | None]) -> bool:
    whole, first, each, length = (found[name] for name in ("e2e_mean", "ttft_mean", "tpot_mean", "output_length_mean"))
    expected = (first or 0.0) + (each or 0.0) * (length or 0.0)
    return whole is not None and whole < max(first or 0.0, expected / 30)


_NOT_KNOWN = "no number in a known unit"
_THEIRS = {
    **{(tool, "tpot"): "inter_token_latency" for tool in ("guidellm", "aiperf")},
    **{(tool, "itl"): "" for tool in ("guidellm", "aiperf")},
}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _of_0_1(document: Mapping[str, Any]) -> tuple[dict[str, object], dict[str, Any]]:
    metrics = document.get("metrics")
    tool = at(document, "scenario.load.name")
    results = _measures(metrics, tool)
    results["duration"] = number(at(metrics, "time.duration"))
    start, end = moment(at(metrics, "time.start")), moment(at(metrics, "time.stop"))
    if start is not None and end is not None and start <= end:
        results |= {"start": start, "end": end}
    devices = objects(at(metrics, "resources.accelerator"))
    results["gpu_power"] = _mean([statistic(each.get("power"), WATTS) for each in devices])
    results["gpu_utilization"] = _mean([statistic(at(each, "compute.utilization"), SHARE) for each in devices])
    hosts = objects(at(document, "scenario.host.accelerator"))
    kinds = at(document, "scenario.host.type")
    engine, load = at(document, "scenario.platform.engine.0"), at(document, "scenario.load.args")
    settings: dict[str, object] = {
        "model": at(document, "scenario.model.name"),
        "quantization": at(document, "scenario.model.quantization"),
        **_engine(at(engine, "name"), at(engine, "version")),
        **_accelerators(hosts, [number(at(each, "count")) for each in hosts]),
        "disaggregated": {"prefill", "decode"} <= {*map(str, kinds)} if isinstance(kinds, list) else None,
        "load_tool": tool,
        "request_rate": limit(at(load, "qps_values")) or limit(at(load, "request_rate")),
        "concurrency": limit(at(load, "max_concurrency")) or limit(at(load, "concurrency")),
        "dataset": at(document, "scenario.load.type"),
    }
    if tool == "inference-perf" and isinstance(load, dict):
        stage = number(at(document, "scenario.load.metadata.stage"))
        settings = _completed(settings, of_config(load, None if stage is None else int(stage)))
    return settings, {name: value for name, value in results.items() if value is not None}


def _completed(settings: Mapping[str, object], config: Mapping[str, object]) -> dict[str, object]:
    known = {name: value for name, value in settings.items() if value not in (None, "", "unknown")}
    return {**config, **known}


def _of_0_2(document: Mapping[str, Any]) -> tuple[dict[str, object], dict[str, Any]]:
    load = at(document, "scenario.load.standardized")
    results = _measures(at(document, "results.request_performance.aggregate"), at(load, "tool"))
    results["duration"] = _seconds(at(document, "run.time.duration"))
    for name in ("start", "end"):
        try:
            time = dt.datetime.fromisoformat(str(at(document, f"run.time.{name}")))
        except ValueError:
            continue
        if time_us(time) is not None:
            results[name] = time
    watched = [each.get("aggregate") for each in objects(at(document, "results.observability.components"))]
    for name, (theirs, units) in OBSERVED.items():
        results[name] = _mean([statistic(at(each, theirs), units) for each in watched])
    if results["cache_hit_share"] is None:
        cache = at(document, "results.observability.vllm_prefix_cache_hit_rate")
        servers = [statistic(each.get("statistics"), SHARE) for each in objects(at(cache, "components"))]
        whole = statistic(at(cache, "aggregated"), SHARE)
        results["cache_hit_share"] = _mean(servers) if whole is None else whole
    parts = [each.get("standardized") for each in objects(at(document, "scenario.stack"))]
    engines = [each for each in objects(parts) if each.get("kind") == "inference_engine"]
    first = engines[0] if engines else {}
    devices = [each["accelerator"] for each in engines if isinstance(each.get("accelerator"), dict)]
    counts = [
        _times(at(each, "accelerator.count"), each.get("replicas", 1)) for each in engines if "accelerator" in each
    ]
    roles = {str(each.get("role")) for each in engines}
    settings: dict[str, object] = {
        "model": at(first, "model.name"),
        **_engine(first.get("tool"), first.get("tool_version")),
        **_accelerators(devices, counts),
        "disaggregated": {"prefill", "decode"} <= roles if engines else None,
        "load_tool": at(load, "tool"),
        "request_rate": limit(at(load, "rate_qps")),
        "concurrency": (concurrency := limit(at(load, "concurrency"))),
        "input_length": _asked(at(load, "input_seq_len")),
        "output_length": _asked(at(load, "output_seq_len")),
        "dataset": at(load, "source") if at(load, "source") != "unknown" else None,
    }
    if concurrency not in (None, UNLIMITED) and at(load, "tool") == "inference-perf":
        settings["request_rate"] = UNLIMITED  # its rate is that of queueing all requests within a second
    native = at(document, "scenario.stack.0.native.config")
    if at(native, "tool") == "matbench" and isinstance(at(native, "settings"), dict):  # what benchmark_report wrote
        settings = {**native["settings"], "repeat": _count(at(native, "repeat"))}
        campaign = at(native, "campaign")
        results["campaign"] = campaign if isinstance(campaign, str) else None
        results |= {name: number(at(native, f"measures.{name}")) for name in (*MEASURES, *COUNTS)}
    return settings, {name: value for name, value in results.items() if value is not None}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _times(count: object, replicas: object) -> float | None:
    counts = [number(count), number(replicas)]
    return None if counts[0] is None or counts[1] is None else counts[0] * counts[1]


def _asked(length: object) -> object:
    """The length that was asked for; converters write the mean that was measured where they don't know it."""
    value = number(at(length, "value"))
    return None if value is None or value != int(value) or at(length, "distribution") == "other" else value or None


def _engine(name: object, version: object) -> dict[str, object]:
    """The engine and its version; either may be an image, whose parts converters leave empty if they don't know."""
    image = next((each for each in (version, name) if isinstance(each, str) and "/" in each), None)
    known = of_image(image)
    plain = version[1:] if isinstance(version, str) and re.match(r"v\d", version) else version
    tag = str(image).rpartition(":")[2]
    return {
        "engine": known.get("engine", None if image == name else name),
        "version": known.get("version", plain if image is None else tag or None),
    }


def _accelerators(devices: Sequence[Mapping[str, Any]], counts: Sequence[float | None]) -> dict[str, object]:
    names = {str(each["model"]) for each in devices if each.get("model")}
    sizes = devices[-1].get("parallelism") if devices else None
    known = [count for count in counts if count is not None]
    gpus = int(sum(known)) or None if len(known) == len(counts) else None
    found: dict[str, object] = {name: _count(at(sizes, name)) for name in ("tp", "pp", "dp", "ep")}
    return found | {"hw_type": " + ".join(sorted(names)) or None, "gpus": None if at(sizes, "tp") == -1 else gpus}


def _seconds(text: object) -> float | None:
    """``PT1H2M3.5S`` in s."""
    match = re.fullmatch(r"P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?", str(text))
    if match is None or not any(match.groups()):
        return None
    return sum(float(part or 0) * size for part, size in zip(match.groups(), (86400, 3600, 60, 1), strict=True))
