"""SGLang's ``bench_serving``: a point a line, appended; ``server_info`` holds the server's arguments and version.

Source: sgl-project/sglang, python/sglang/bench_serving.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matrix_benchmarking.store import ArtifactPath, Part

from . import (
    MS,
    OF_COUNTS,
    OF_REQUESTS,
    Field,
    checked,
    counted,
    documents,
    engine_of,
    field,
    holds,
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
_WORKERS = re.compile(r"(\d+)p(\d+)d", re.IGNORECASE)


def recognises(head: bytes, name: str) -> bool:
    # until 0.3 names of latencies had no unit, and these were in ms, too
    if b'"total_output_retokenized"' in head:
        return True
    return b'"total_output_tokens_retokenized"' in head or (b'"server_info"' in head and b'"dataset_name"' in head)


def read(file: ArtifactPath) -> Iterator[Part]:
    for name, one in documents(file):
        if holds(one, FIELDS):
            yield point(name or "run", TOOL, _settings(one, file), _results(one))


def _settings(one: Mapping[str, Any], file: ArtifactPath) -> dict[str, object]:
    servers, runs_apart = _servers(one.get("server_info"))
    server = servers[-1] if servers else {}
    is_random = str(one.get("dataset_name")).startswith(("random", "image"))
    sizes = {name: [each.get(f"{name}_size") for each in servers] for name in ("tp", "pp", "ep", "dp")}
    alike = {name: values[0] for name, values in sizes.items() if values and values.count(values[0]) == len(values)}
    named = _WORKERS.search(file.path.name)
    are_all = sum(map(int, named.groups())) == len(servers) if named else not (runs_apart and len(servers) == 1)
    return {
        "model": server.get("served_model_name") or server.get("model_path"),
        "quantization": server.get("quantization"),
        "engine": "sglang" if server.get("version") else engine_of(one.get("backend")),
        "version": server.get("version"),
        **alike,
        "gpus": sum(map(_gpus, servers)) or None if are_all else None,
        "speculative": server.get("speculative_algorithm") or (False if server else None),
        "disaggregated": runs_apart if server else None,
        "backend": one.get("backend"),
        "tag": one.get("tag"),
        "dataset": one.get("dataset_name"),
        "input_length": one.get("random_input_len") if is_random else None,
        "output_length": one.get("random_output_len") if is_random else one.get("sharegpt_output_len"),
        "range_ratio": one.get("random_range_ratio") if is_random else None,
        "request_rate": limit(one.get("request_rate")),
        "concurrency": limit(one.get("max_concurrency")) or "unlimited",
    }


def _servers(info: object) -> tuple[list[dict[str, Any]], bool]:
    """The servers' arguments, and whether prefill and decode run apart: then a router names all, or one alone."""
    if not isinstance(info, dict):
        return [], False
    roles = [info.get(role) for role in ("prefill", "decode")]
    workers = [each for role in roles if isinstance(role, list) for each in role if isinstance(each, dict)]
    return workers or [info], bool(workers) or info.get("disaggregation_mode") not in (None, "null")


def _gpus(server: Mapping[str, Any]) -> int:
    sizes = [server.get(f"{name}_size") for name in ("tp", "pp", "" if server.get("enable_dp_attention") else "dp")]
    known = [size for size in sizes if isinstance(size, int)]
    return math.prod(known) if known else 0


def _results(one: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {**of_requests(one), **measured(one, {**FIELDS, **COUNTS})}
    errors = one.get("errors")
    if isinstance(errors, list):
        found["failed_requests"] = sum(bool(error) for error in errors)
    return checked(counted(found))
