"""InferenceX, once InferenceMAX: rows of its sweeps, ``agg_*.json``, and the files of its client, a fork of vLLM's.

Both have the keys of vLLM and another unit: ``median_ttft`` is in s. Rates of a row are per GPU: of input per GPU that
prefills, of output per GPU that decodes. Source: SemiAnalysisAI/InferenceX, utils/process_result.py, docs/results-and-
ingestion.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matrix_benchmarking.store import ArtifactPath, Part

from . import OF_COUNTS, Field, counted, documents, field, latencies, limit, measured, number, of_image, point, scalar

TOOL = "inferencex"
FORMAT = "InferenceX: agg_*.json, and its client's files"
NAMES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": "e2el"}
TEMPLATE = {
    "mean": "mean_{}",
    "p50": "median_{}|p50_{}",
    "p90": "p90_{}",
    "p95": "p95_{}",
    "p99": "p99_{}",
}
FIELDS: Mapping[str, Field] = {
    "requests_per_s": field("request_throughput"),
    "output_tokens_per_s": field("output_throughput"),
    "input_tokens_per_s": field("input_throughput"),
    "total_tokens_per_s": field("total_token_throughput"),
    **latencies(TEMPLATE, NAMES, 1.0),
    "goodput": field("request_goodput"),
    "gpu_power": field("avg_power_w"),
    "energy_per_output_token": field("joules_per_output_token"),
    "energy_per_total_token": field("joules_per_total_token"),
}
file_names = ("*.json", "*.jsonl", "*.ndjson")
DERIVED: Sequence[str] = OF_COUNTS
COUNTS = {
    "requests": field("completed"),
    "duration": field("duration"),
    "input_tokens": field("total_input_tokens"),
    "output_tokens": field("total_output_tokens"),
}
POWER = ("gpu_power", "energy_per_output_token", "energy_per_total_token")
_ENGINES = {"trt": "trtllm", "dynamo-trt": "trtllm", "dynamo-trtllm": "trtllm", "dynamo-vllm": "vllm"}
_ENGINES |= {"dynamo-sglang": "sglang", "sglang-disagg": "sglang", "vllm-disagg": "vllm", "mori-sglang": "sglang"}


def recognises(head: bytes, name: str) -> bool:
    is_row = b'"tput_per_gpu"' in head
    is_client = b'"median_ttft"' in head and b'"request_throughput"' in head
    return is_row or is_client


def read(file: ArtifactPath) -> Iterator[Part]:
    for line, value in documents(file):
        rows = value if isinstance(value, list) else [value]
        for place, row in enumerate(rows):
            part = " ".join(filter(None, (line, f"row {place}" if isinstance(value, list) else ""))) or "run"
            if isinstance(row, dict) and "tput_per_gpu" in row:
                yield point(part, TOOL, _settings_of_row(row), _results_of_row(row))
            elif isinstance(row, dict) and "request_throughput" in row:
                yield point(part, TOOL, _settings_of_client(row), counted(_measures(row)))


def _settings_of_client(row: Mapping[str, Any]) -> dict[str, object]:
    return {
        "model": row.get("model_id"),
        "backend": row.get("backend"),
        "request_rate": limit(row.get("request_rate")),
        "concurrency": limit(row.get("max_concurrency")) or "unlimited",
    }


def _settings_of_row(row: Mapping[str, Any]) -> dict[str, object]:
    framework = str(row.get("framework") or "").lower()
    speculative = row.get("spec_decoding", row.get("mtp"))
    said = of_image(row.get("image"))
    prefill, decode = _gpus_of(row)
    topology = {
        name: scalar(value)
        for name, value in row.items()
        if name.startswith(("prefill_", "decode_")) and not isinstance(value, (list, dict))
    }
    return {
        "model": row.get("model") or row.get("infmax_model_prefix"),
        "quantization": row.get("precision"),
        "engine": _ENGINES.get(framework, said.get("engine") if framework.startswith("dynamo") else framework or None),
        "framework": framework if framework in _ENGINES else None,
        "version": said.get("version"),
        "image": row.get("image"),
        "hw_type": row.get("hw"),
        "gpus": (prefill if prefill == decode else prefill + decode) if prefill and decode else None,
        **{name: row.get(name) for name in ("tp", "pp", "ep", "dp_attention", "dcp_size", "pcp_size")},
        "speculative": False if speculative in ("none", "", "off", False) else speculative,
        "disaggregated": _truth(row.get("disagg")),
        "is_multinode": _truth(row.get("is_multinode")),
        "input_length": row.get("isl"),
        "output_length": row.get("osl"),
        "concurrency": limit(row.get("conc")),
        **topology,
    }


def _truth(value: object) -> bool | None:
    return {"true": True, "false": False}.get(str(value).lower())


def _gpus_of(row: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """How many GPUs prefill and how many decode; twice the same number where these are the same GPUs."""
    counts = [_count(row.get(f"num_{role}_gpu")) for role in ("prefill", "decode")]
    if None in counts:
        of_workers = [
            [_count(row.get(f"{role}_{name}")) for name in ("num_workers", "tp")] for role in ("prefill", "decode")
        ]
        counts = [None if None in each else math.prod(one for one in each if one) for each in of_workers]
    if None not in counts:
        return counts[0], counts[1]
    tp = _count(row.get("tp"))
    alike = None if tp is None else tp * (_count(row.get("pp")) or 1) * (_count(row.get("pcp_size")) or 1)
    return alike, alike


def _count(value: object) -> int | None:
    known = number(value)
    return int(known) if known and known > 0 else None


def _measures(row: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {**measured(row, FIELDS), **measured(row, COUNTS)}
    if row.get("power_valid") in (0, False):
        for name in POWER:
            found.pop(name, None)
    asked = number(row.get("num_prompts"))
    if asked is not None and "requests" in found:
        found["failed_requests"] = asked - found["requests"]
    return found


def _results_of_row(row: Mapping[str, Any]) -> dict[str, Any]:
    found = _measures(row)
    prefill, decode = _gpus_of(row)
    if prefill and decode:
        everything = prefill if _are_alike(row) else prefill + decode
        rates = {"output": ("output_tput_per_gpu", decode), "input": ("input_tput_per_gpu", prefill)}
        for name, (key, gpus) in {**rates, "total": ("tput_per_gpu", everything)}.items():
            rate = number(row.get(key))
            if rate is not None:
                found.setdefault(f"{name}_tokens_per_s", rate * gpus)
        total, made = found.get("total_tokens_per_s"), found.get("output_tokens_per_s")
        if total is not None and made is not None:
            found.setdefault("input_tokens_per_s", total - made)
    return counted(found)


def _are_alike(row: Mapping[str, Any]) -> bool:
    """Whether the same GPUs prefill and decode."""
    return _count(row.get("num_prefill_gpu")) is None and _count(row.get("prefill_num_workers")) is None
