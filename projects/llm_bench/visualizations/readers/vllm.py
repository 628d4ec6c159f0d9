"""vLLM's ``bench serve`` and ``bench sweep``: a point a file, a line (appended) or a list (``summary.json``).

Source: vllm-project/vllm, vllm/benchmarks/serve.py. ``--metadata k=v`` makes further keys, which are settings here.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path, PurePosixPath
from typing import Any

from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.store import ArtifactPath, Part

from ..vocabulary import ALIASES, SETTINGS, renamed
from . import (
    MS,
    OF_COUNTS,
    OF_REQUESTS,
    Field,
    as_number,
    checked,
    counted,
    documents,
    engine_of,
    field,
    holds,
    latencies,
    limit,
    measured,
    model_name,
    moment,
    of_requests,
    point,
    scalar,
)

TOOL = "vllm"
FORMAT = "vLLM bench serve and bench sweep, 2024 to 2026"
file_names = ("*.json", "*.jsonl", "*.ndjson")
DERIVED: Sequence[str] = [*OF_REQUESTS, *OF_COUNTS]
NAMES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e": "e2el|latency"}
TEMPLATE = {
    "mean": "mean_{}_ms",
    "p50": "median_{}_ms|p50_{}_ms",
    "p90": "p90_{}_ms",
    "p95": "p95_{}_ms",
    "p99": "p99_{}_ms",
}
FIELDS: Mapping[str, Field] = {
    "requests_per_s": field("request_throughput"),
    "output_tokens_per_s": field("output_throughput"),
    "input_tokens_per_s": field("input_throughput"),
    "total_tokens_per_s": field("total_token_throughput"),
    **latencies(TEMPLATE, NAMES, MS),
    "goodput": field("request_goodput", "request_goodput:"),
    "acceptance_rate": field("spec_decode_acceptance_rate", unit=0.01),
    "acceptance_length": field("spec_decode_acceptance_length"),
}
COUNTS = {
    "requests": field("completed"),
    "failed_requests": field("failed"),
    "duration": field("duration"),
    "input_tokens": field("total_input_tokens"),
    "output_tokens": field("total_output_tokens"),
}
_KNOWN = {path for each in (*FIELDS.values(), *COUNTS.values()) for path in each.paths}
_KNOWN |= {"date", "endpoint_type", "backend", "label", "model_id", "tokenizer_id", "num_prompts", "request_rate"}
_KNOWN |= {"burstiness", "max_concurrency", "multi_turn_concurrency", "num_conversations", "run_number"}
_KNOWN |= {"best_of", "use_beam_search", "benchmark_start_time_unix", "benchmark_end_time_unix"}
_ON_HUB = re.compile(r"[\w-][\w.-]*/[\w.-]+")
_STATISTIC = re.compile(r"(mean|median|std|p\d+(\.\d+)?)_")
_NOT_OURS = (b'"good_completed"', b'"median_ttft":', b'"extra_info"')


def recognises(head: bytes, name: str) -> bool:
    ours = b'"num_prompts"' in head and b'"tokenizer_id"' in head
    ours = ours or (b'"total_token_throughput"' in head and b'"completed":' in head)
    return ours and not any(key in head for key in _NOT_OURS)


def belongs_to_another(path: Path, names: Set[str]) -> bool:
    """PyTorch's form of the same point, and a sweep's summary beside its runs."""
    runs = any(each.startswith("run=") for each in names)
    return path.name.endswith(".pytorch.json") or (path.name == "summary.json" and runs)


def read(file: ArtifactPath) -> Iterator[Part]:
    for name, value in documents(file):
        points = value if isinstance(value, list) else [value]
        for place, one in enumerate(points):
            if holds(one, FIELDS):
                part = " ".join(filter(None, (name, f"run {place}" if isinstance(value, list) else ""))) or "run"
                yield point(part, TOOL, _settings(one, file), _results(one))


def _settings(one: Mapping[str, Any], file: ArtifactPath) -> dict[str, object]:
    backend = scalar(one.get("backend") or one.get("endpoint_type"))
    given = renamed(_given(one))
    model, tokenizer = one.get("model_id") or given.get("model"), one.get("tokenizer_id")
    settings = {
        "model": model,
        "tokenizer": tokenizer if _is_another(model_name(tokenizer), model_name(model)) else None,
        "engine": engine_of(given.get("engine")) or given.get("engine") or engine_of(backend),
        "backend": backend,
        "request_rate": limit(one.get("request_rate")),
        "concurrency": limit(one.get("max_concurrency", one.get("multi_turn_concurrency"))) or "unlimited",
        "label": one.get("label"),
        "best_of": one.get("best_of") if one.get("best_of") != 1 else None,
        "use_beam_search": one.get("use_beam_search") or None,
        "burstiness": one.get("burstiness") if one.get("burstiness") != 1 else None,
        "repeat": one.get("run_number", _run_number(file.path.name)),
    }
    length = _same(one.get("input_lens"), one.get("total_input_tokens"), one.get("completed"))
    return {"input_length": length, **given, **settings}


def _is_another(tokenizer: object, model: object) -> bool:
    """Whether both are named as on the Hugging Face Hub, and differently: a served name may be of any tokenizer."""
    return tokenizer != model and all(isinstance(each, str) and _ON_HUB.fullmatch(each) for each in (tokenizer, model))


def _given(one: Mapping[str, Any]) -> dict[str, Scalar]:
    """What was given, by ``--metadata`` or later. Other numbers from the duration to the latencies are measured."""
    names = list(one)
    ends = [place for place, name in enumerate(names) if name == "duration" or name.endswith("_ms")]
    results = names[names.index("duration") : ends[-1]] if "duration" in one else ()
    return {
        name: value if name.endswith("version") else as_number(value)
        for name, value in one.items()
        if name not in _KNOWN
        and not _STATISTIC.match(name)
        and (isinstance(value, str) or name not in results or name in SETTINGS or name in ALIASES)
    }


def _run_number(name: str) -> int | None:
    number = PurePosixPath(name).stem.removeprefix("run=")
    return int(number) if name.startswith("run=") and number.isdigit() else None


def _same(lengths: Sequence[int] | None, total: object, count: object) -> int | None:
    """The length that all prompts have, which then was asked for."""
    if isinstance(lengths, list) and lengths:
        first = lengths[0]
        return first if isinstance(first, int) and all(length == first for length in lengths) else None
    if not isinstance(total, int) or not isinstance(count, int) or count <= 0 or total <= 0 or total % count:
        return None
    length = total // count
    return length if length % 16 == 0 or length % 10 == 0 else None  # else it may be by chance that it is whole


def _results(one: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {**of_requests(one), **measured(one, {**FIELDS, **COUNTS})}
    if "failed_requests" not in found and isinstance(one.get("num_prompts"), int) and "requests" in found:
        found["failed_requests"] = one["num_prompts"] - found["requests"]
    found["local_time"] = _local_time(one.get("date"))
    for name in ("start", "end"):  # of InferenceX's fork
        if (time := moment(one.get(f"benchmark_{name}_time_unix"))) is not None:
            found[name] = time
    # a turn of a conversation is a request, and no prompt
    return checked(counted(found), None if "multi_turn_concurrency" in one else one.get("num_prompts"))


def _local_time(date: object) -> str | None:
    """``YYYYmmdd-HHMMSS`` names no zone, so it is no time that could be compared."""
    try:
        return dt.datetime.strptime(str(date), "%Y%m%d-%H%M%S").isoformat(" ")
    except ValueError:
        return None
