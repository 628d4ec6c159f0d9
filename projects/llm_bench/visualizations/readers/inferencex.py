"""InferenceX, once InferenceMAX: rows of its sweeps, ``agg_*.json``, of its public API, and a client's files.

All have the keys of vLLM and another unit: ``median_ttft`` is in s. Rates of a row are per GPU: of input per GPU that
prefills, of output per GPU that decodes, or both per GPU. Agentic rows nest aiperf's measures in ``request_metrics``.
Source: SemiAnalysisAI/InferenceX, utils/process_result.py, utils/agentic/aggregation, docs/results-and-ingestion.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.store import ArtifactPath, Part

from . import OF_COUNTS, Field, checked, counted, documents, field, limit, measured, number, of_image, point, scalar

TOOL = "inferencex"
FORMAT = "InferenceX: agg_*.json, rows of its API, and its client's files"
_STATISTICS = {"mean": "mean", "p50": "median|p50", "p90": "p90", "p95": "p95", "p99": "p99"}


def _paths(theirs: str, statistic: str) -> str:
    flat = [f"{each}_{theirs}" for each in _STATISTICS[statistic].split("|")]
    if theirs == "e2el":
        flat += [each.replace("e2el", "ttlt") for each in flat]
    return "|".join(flat if theirs == "itl" else [*flat, f"request_metrics.latency.{theirs}.{statistic}"])


_THROUGHPUT = "request_metrics.throughput"
FIELDS: Mapping[str, Field] = {
    "requests_per_s": field("request_throughput"),
    **{
        f"{name}_tokens_per_s": field(*keys, f"{name}_tput_tps", f"{_THROUGHPUT}.{name}.tokens_per_second")
        for name, keys in {
            "output": ["output_throughput"],
            "input": ["input_throughput"],
            "total": ["total_token_throughput"],
        }.items()
    },
    **{
        f"{name}_{statistic}": Field(tuple(_paths(theirs, statistic).split("|")))
        for name, theirs in {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": "e2el"}.items()
        for statistic in _STATISTICS
    },
    "goodput": field("request_goodput", "request_goodput:"),
    "input_length_mean": field("request_metrics.tokens.input.mean", "mean_input_tokens"),
    "output_length_mean": field("request_metrics.tokens.output_actual.mean", "mean_output_tokens_actual"),
    "cache_hit_share": field(
        *("server_metrics.cache.overall_cache_hit_rate", "server_metrics.cache.gpu_cache_hit_rate"),
        *("server_overall_cache_hit_rate", "server_gpu_cache_hit_rate"),
    ),
    "gpu_power": field("avg_power_w"),
    "energy_per_output_token": field("joules_per_output_token"),
    "energy_per_total_token": field("joules_per_total_token"),
}
file_names = ("*.json", "*.jsonl", "*.ndjson")
DERIVED: Sequence[str] = OF_COUNTS
COUNTS = {
    "requests": field("completed", "num_requests_successful", "benchmark_outcome.completed"),
    "failed_requests": field("failed", "request_accounting.records_error_dropped", "benchmark_outcome.failed"),
    "duration": field("duration", f"{_THROUGHPUT}.duration_seconds", "duration_seconds"),
    "input_tokens": field("total_input_tokens"),
    "output_tokens": field("total_output_tokens"),
}
POWER = ("gpu_power", "energy_per_output_token", "energy_per_total_token")
_ENGINES = {"trt": "trtllm", "tensorrt": "trtllm", "tensorrt-llm": "trtllm"}
_SPECULATIVE = {"none": False, "off": False, "false": False, "no": False, "on": "mtp", "true": True}
_OFFLOADING = ("offload_mode", "offloading", "kv_offloading", "kv_offload_backend", "kv_p2p_transfer")
ROUNDED = 0.01


def recognises(head: bytes, name: str) -> bool:
    is_row = b'"tput_per_gpu"' in head or (b'"infmax_model_prefix"' in head and b'"request_metrics"' in head)
    is_client = (b'"median_ttft"' in head or b'"good_completed"' in head) and b'"request_throughput"' in head
    return is_row or is_client or b'"em_strict"' in head


def read(file: ArtifactPath) -> Iterator[Part]:
    is_empty = True
    for line, value in documents(file):
        held = value.get("benchmarks", value) if isinstance(value, dict) else value  # beside "evaluations"
        for place, row in enumerate(held if isinstance(held, list) else [held]):
            part = " ".join(filter(None, (line, f"row {place}" if isinstance(held, list) else ""))) or "run"
            if isinstance(row, dict) and isinstance(row.get("metrics"), dict):  # as the API gives it
                row = {**row["metrics"], **row}
            if isinstance(row, dict) and ("tput_per_gpu" in row or "request_metrics" in row):
                yield point(part, TOOL, _settings_of_row(row), _results_of_row(row))
            elif isinstance(row, dict) and "request_throughput" in row:
                yield point(
                    part, TOOL, _settings_of_client(row), checked(counted(_measures(row)), row.get("num_prompts"))
                )
            else:
                continue
            is_empty = False
    if is_empty:
        raise ArtifactError(file, "has no row that measures speed: scores of evaluations are not read")


def _settings_of_client(row: Mapping[str, Any]) -> dict[str, object]:
    return {
        "model": row.get("model_id"),
        "backend": row.get("backend"),
        "request_rate": limit(row.get("request_rate")),
        "concurrency": limit(row.get("max_concurrency")) or "unlimited",
    }


def _settings_of_row(row: Mapping[str, Any]) -> dict[str, object]:
    framework = str(row.get("framework") or "").lower()
    core = framework.removeprefix("dynamo-").removeprefix("mori-").removesuffix("-disagg")
    engine = _ENGINES.get(core, core) or None
    image = str(row.get("image") or "")
    said = of_image(image)
    if "version" not in said and engine and ":" in image:  # such as rocm/sgl-dev:v0.5.6, which names no engine
        said = of_image(f"{engine}:{image.rpartition(':')[2]}")
    speculative = row.get("spec_decoding", row.get("spec_method", row.get("mtp")))
    topology = {
        name: _truth(value) if name.endswith("dp_attention") else scalar(value)
        for name, value in row.items()
        if name.startswith(("prefill_", "decode_")) or name in _OFFLOADING
    }
    return {
        "model": row.get("model") or row.get("infmax_model_prefix"),
        "quantization": row.get("precision"),
        "engine": engine,
        "framework": framework if framework != core else None,
        "version": said.get("version"),
        "image": row.get("image"),
        "hw_type": row.get("hw") or row.get("hardware") or row.get("device"),
        "gpus": _gpus_of(row)[0],
        **{name: row.get(name) for name in ("tp", "pp", "ep", "dcp_size", "pcp_size")},
        "dp_attention": _truth(row.get("dp_attention")),
        "speculative": None if speculative is None else _SPECULATIVE.get(str(speculative).lower(), speculative),
        "disaggregated": _truth(row.get("disagg")),
        "is_multinode": _truth(row.get("is_multinode")),
        "dataset": row.get("scenario_type") if _is_agentic(row) else None,
        "input_length": row.get("isl"),
        "output_length": row.get("osl"),
        "concurrency": limit(row.get("conc", row.get("users"))),
        **topology,
    }


def _is_agentic(row: Mapping[str, Any]) -> bool:
    return str(row.get("scenario_type")).startswith("agentic")


def _truth(value: object) -> bool | None:
    return {"true": True, "false": False}.get(str(value).lower())


def _gpus_of(row: Mapping[str, Any]) -> tuple[int | None, int | None, int | None]:
    """How many GPUs the rates of all, of input and of output tokens are divided by.

    Which of the ways of old and new versions a row was written in shows where the rates add up.
    """
    prefill, decode = (_count(row, f"num_{role}_gpu") or _workers(row, role) for role in ("prefill", "decode"))
    alike = _count(row, "num_gpus") or _product(row, "", 1)
    ways = [(alike, alike, alike)] if alike else []
    if prefill and decode:
        split, shared = (prefill + decode, prefill, decode), (prefill, prefill, prefill)
        is_shared = prefill == decode and _truth(row.get("disagg")) is False
        ways = (
            [shared, split] if is_shared else [split, (sum(split[1:]),) * 3, *([shared] if prefill == decode else [])]
        )
    elif prefill:  # one kind of worker does both
        ways = [(prefill, prefill, prefill)]
    rates = [number(row.get(key)) for key in ("tput_per_gpu", "input_tput_per_gpu", "output_tput_per_gpu")]
    for way in ways:
        whole, *parts = [rate * gpus if rate is not None else math.nan for rate, gpus in zip(rates, way, strict=True)]
        if abs(sum(parts) - whole) <= ROUNDED * whole:
            return way
    return ways[0] if ways else (None, None, None)


def _workers(row: Mapping[str, Any], role: str) -> int | None:
    workers = _count(row, f"{role}_num_workers")
    return workers and _product(row, f"{role}_", workers)


def _product(row: Mapping[str, Any], role: str, workers: int) -> int | None:
    """Decode context parallelism shares the GPUs of the tensor parallelism, and so does expert parallelism."""
    tp = _count(row, f"{role}tp")
    return tp and math.prod([workers, tp, *(_count(row, f"{role}{name}") or 1 for name in ("pp", "pcp_size"))])


def _count(row: Mapping[str, Any], name: str) -> int | None:
    known = number(row.get(name))
    return int(known) if known and known > 0 else None


def _measures(row: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {**measured(row, {**FIELDS, **COUNTS})}
    if row.get("power_valid") in (0, False):
        for name in POWER:
            found.pop(name, None)
    if _is_agentic(row):
        for statistic in _STATISTICS:  # what these rows call itl is of a request, as is aiperf's: the TPOT
            if (value := found.pop(f"itl_{statistic}", None)) is not None:
                found.setdefault(f"tpot_{statistic}", value)
        if number(row.get("server_cpu_cache_hit_rate")):  # of what the GPU's cache didn't know
            found.pop("cache_hit_share", None)
        if "request_accounting" not in row and (total := number(row.get("num_requests_total"))) is not None:
            found["failed_requests"] = total - found.get("requests", 0.0)
    asked = number(row.get("num_prompts"))
    if asked is not None and "requests" in found:
        found.setdefault("failed_requests", asked - found["requests"])
    return found


def _results_of_row(row: Mapping[str, Any]) -> dict[str, Any]:
    found = _measures(row)
    keys = {"total": "tput_per_gpu", "input": "input_tput_per_gpu", "output": "output_tput_per_gpu"}
    for (name, key), gpus in zip(keys.items(), _gpus_of(row), strict=True):
        rate = number(row.get(key))
        if rate is not None and gpus:
            found.setdefault(f"{name}_tokens_per_s", rate * gpus)
    total, made = found.get("total_tokens_per_s"), found.get("output_tokens_per_s")
    if total is not None and made is not None:
        found.setdefault("input_tokens_per_s", total - made)
    return counted(found)
