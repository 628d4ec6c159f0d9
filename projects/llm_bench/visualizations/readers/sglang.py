"""SGLang's ``bench_serving``: a point a line, appended; ``server_info`` holds the server's arguments and version.

Source: sgl-project/sglang, python/sglang/bench_serving.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matrix_benchmarking.store import ArtifactPath, Part

from . import (
    MS,
    OF_COUNTS,
    OF_REQUESTS,
    Field,
    counted,
    documents,
    field,
    latencies,
    limit,
    measured,
    of_requests,
    point,
)

TOOL = "sglang"
FORMAT = "SGLang bench_serving, JSON Lines"
file_names = ("*.jsonl", "*.ndjson", "*.json")
DERIVED: Sequence[str] = [*OF_REQUESTS, *OF_COUNTS]
TEMPLATE = {
    "mean": "mean_{}_ms|mean_{}",
    "p50": "median_{}_ms|p50_{}_ms|median_{}",
    "p90": "p90_{}_ms",
    "p95": "p95_{}_ms",
    "p99": "p99_{}_ms",
}
FIELDS: Mapping[str, Field] = {
    "requests_per_s": field("request_throughput"),
    "input_tokens_per_s": field("input_throughput"),
    "output_tokens_per_s": field("output_throughput", "output_token_throughput"),
    "total_tokens_per_s": field("total_throughput"),
    **latencies(TEMPLATE, {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": "e2e_latency"}, MS),
    "concurrency_reached": field("concurrency"),
    "acceptance_length": field("accept_length"),
}
COUNTS = {
    "requests": field("completed"),
    "duration": field("duration"),
    "input_tokens": field("total_input_tokens", "total_input"),
    "output_tokens": field("total_output_tokens", "total_output"),
}
_ENGINES = {"sglang": "sglang", "sglang-native": "sglang", "sglang-oai": "sglang", "sglang-oai-chat": "sglang"}
_ENGINES |= {"vllm": "vllm", "vllm-chat": "vllm", "lmdeploy": "lmdeploy", "lmdeploy-chat": "lmdeploy"}
_ENGINES |= {"trt": "trtllm", "gserver": "gserver", "truss": "truss"}


def recognises(head: bytes, name: str) -> bool:
    # until 0.3 names of latencies had no unit, and these were in ms, too
    if b'"total_output_retokenized"' in head:
        return True
    return b'"total_output_tokens_retokenized"' in head or (b'"server_info"' in head and b'"dataset_name"' in head)


def read(file: ArtifactPath) -> Iterator[Part]:
    counts: dict[str, int] = {}
    for name, one in documents(file):
        if isinstance(one, dict) and ("request_throughput" in one or "total_output_retokenized" in one):
            settings = _settings(one)
            key = repr(settings)
            counts[key] = counts.get(key, -1) + 1
            yield point(name or "run", TOOL, {**settings, "repeat": counts[key] or None}, _results(one))


def _settings(one: Mapping[str, Any]) -> dict[str, object]:
    info = one.get("server_info")
    server: dict[str, Any] = info if isinstance(info, dict) else {}
    is_random = str(one.get("dataset_name")).startswith(("random", "image"))
    tp, pp, dp = (server.get(f"{name}_size") for name in ("tp", "pp", "dp"))
    mode = server.get("disaggregation_mode")
    backend = str(one.get("backend"))
    engine = "sglang" if server.get("version") else _ENGINES.get(backend)
    sizes = [size for size in (tp, pp, None if server.get("enable_dp_attention") else dp) if isinstance(size, int)]
    return {
        "model": server.get("served_model_name") or server.get("model_path"),
        "quantization": server.get("quantization"),
        "engine": engine,
        "version": server.get("version"),
        "tp": tp,
        "pp": pp,
        "ep": server.get("ep_size"),
        "dp": dp,
        "gpus": math.prod(sizes) if sizes else None,
        "speculative": server.get("speculative_algorithm") or (False if server else None),
        "disaggregated": mode not in (None, "null") if server else None,
        "backend": backend,
        "tag": one.get("tag"),
        "dataset": one.get("dataset_name"),
        "input_length": one.get("random_input_len") if is_random else None,
        "output_length": one.get("random_output_len") if is_random else one.get("sharegpt_output_len"),
        "range_ratio": one.get("random_range_ratio") if is_random else None,
        "request_rate": limit(one.get("request_rate")),
        "concurrency": limit(one.get("max_concurrency")) or "unlimited",
    }


def _results(one: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {**of_requests(one), **measured(one, {**FIELDS, **COUNTS})}
    errors = one.get("errors")
    if isinstance(errors, list):
        found["failed_requests"] = sum(bool(error) for error in errors)
    return counted(found)
