"""inference-perf: a stage a file, all in s; the model and its server stand in files beside it or above.

Source: kubernetes-sigs/inference-perf, reportgen and docs/config.md. A summary of stages that lie beside it, sessions,
single requests and what Prometheus said are no runs of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.store import ArtifactPath, Part, load_yaml, read_text, read_yaml

from ..vocabulary import UNLIMITED
from . import (
    OF_COUNTS,
    Field,
    at,
    counted,
    documents,
    field,
    latencies,
    limit,
    measured,
    number,
    point,
)
from .configs import merged, of_config, of_manifest
from .llmd import reported

TOOL = "inference-perf"
FORMAT = "inference-perf: stages, summary, config"
file_names = ("*lifecycle_metrics*.json", "*lifecycle*.yaml", "*lifecycle*.yml", "stage_*.json", "summary*.json")
NAMES = {
    "ttft": "time_to_first_token",
    "tpot": "time_per_output_token",
    "itl": "inter_token_latency",
    "e2e": "request_latency",
}
TEMPLATE = {
    statistic: f"successes.latency.{{}}.{name}|successes.{{}}.{name}"
    for statistic, name in {"mean": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99"}.items()
}
FIELDS: Mapping[str, Field] = {
    "requests_per_s": field("successes.throughput.requests_per_sec"),
    "output_tokens_per_s": field("successes.throughput.output_tokens_per_sec"),
    "input_tokens_per_s": field("successes.throughput.input_tokens_per_sec"),
    "total_tokens_per_s": field("successes.throughput.total_tokens_per_sec"),
    **latencies(TEMPLATE, NAMES, 1.0),
    "input_length_mean": field("successes.prompt_len.mean", "successes.prompt_tokens.mean"),
    "output_length_mean": field("successes.output_len.mean", "successes.output_tokens.mean"),
    "goodput": field("successes.goodput_metrics.request_goodput"),
    "request_rate_reached": field("load_summary.achieved_rate"),
    "schedule_delay_mean": field("load_summary.schedule_delay.mean"),
    "schedule_delay_p99": field("load_summary.schedule_delay.p99"),
}
DERIVED: Sequence[str] = [*OF_COUNTS, "cache_hit_share"]
COUNTS = {
    "requests": field("successes.count"),
    "failed_requests": field("failures.count"),
    "input_tokens": field("successes.prompt_tokens.total"),
    "duration": field("benchmark_time_seconds"),
    "request_rate_asked": field("load_summary.requested_rate"),
}
CONFIGS = ("config.yaml", "config.yml", "manifests.yaml", "manifests.yml", "deployment.yaml")
HIGHEST = 2
"""How many directories above the file a config is looked for."""


def recognises(head: bytes, name: str) -> bool:
    is_lifecycle = b"load_summary" in head and b"successes" in head and b"schedule_delay" in head
    return (is_lifecycle or (b"successes" in head and b"normalized_time_per_output_token" in head)) and not _is_part(
        name
    )


def _is_part(name: str) -> bool:
    return any(word in name.rpartition("/")[2] for word in ("prometheus", "session", "per_request"))


_STAGES = re.compile(r"(.*?)stage_\d+_lifecycle_metrics\.")
_OF_STAGES = re.compile(r"(.*?)(summary|adapter_.+)_lifecycle_metrics\.|()(inference-perf\.partial\.|validation\.json)")


def belongs_to_another(path: Path, names: Set[str]) -> bool:
    """What sums up stages that lie beside it, or is a part of them; a prefix may stand before the tool's names."""
    match = _OF_STAGES.match(path.name)
    prefixes = {found[1] for name in names if (found := _STAGES.match(name))} if match else set()
    return _is_part(path.name) or path.name in CONFIGS or (match is not None and (match[1] or "") in prefixes)


def read(file: ArtifactPath) -> Iterator[Part]:
    if file.path.suffix == ".json":
        _, document = next(iter(documents(file)))
    else:
        document = read_yaml(file)
    if not isinstance(document, dict) or not isinstance(document.get("successes"), dict):
        raise ArtifactError(file, "holds no 'successes' of a stage")
    results: dict[str, Any] = {**measured(document, {**FIELDS, **COUNTS})}
    results["cache_hit_share"] = _cache_share(file, document)
    if "requests" in results and (rate := results.get("requests_per_s")):
        results.setdefault("duration", results["requests"] / rate)
    configs, concurrency = _configs(file), limit(at(document, "load_summary.concurrency"))
    settings = {"request_rate": limit(at(document, "load_summary.requested_rate")), "concurrency": concurrency}
    if concurrency is not None or any(each.get("load_type") == "concurrent" for each in configs.values()):
        settings["request_rate"] = UNLIMITED  # the rate is that of queueing all requests within a second
        results.pop("request_rate_asked", None)
    yield point("run", TOOL, settings, counted(results), **configs, **reported(file))


def _cache_share(file: ArtifactPath, document: object) -> float | None:
    """From what answers said; servers say 0 unless told to count, so Prometheus may know better."""
    cached, total = (number(at(document, f"successes.prompt_tokens.{name}")) for name in ("cached", "total"))
    share = cached / total if cached is not None and total else None
    beside = file / f"../{file.name.replace('lifecycle', 'prometheus')}"
    if not share and beside.name.endswith(".json") and beside.name != file.name and beside.is_file():
        try:
            _, said = next(iter(documents(beside)))
        except ArtifactError as error:
            beside.note_problem(error.reason)
        else:
            share = number(at(said, "successes.prefix_cache_hit_percent.mean"), 0.01) or share
    return share


def _configs(file: ArtifactPath) -> dict[str, Mapping[str, object]]:
    """What the configs beside the file and above it say, the nearest first; a damaged one says nothing."""
    found: dict[str, Mapping[str, object]] = {}
    stage = re.search(r"stage_(\d+)_", file.name)
    for height in range(HIGHEST + 1):
        for name in CONFIGS:
            path = file / ("../" * (height + 1) + name)
            if path.is_file() and name.replace(".", "__") not in found:
                try:
                    pieces = re.split(r"(?m)^---(?:[ \t].*)?$", read_text(path))  # a manifest has several
                    documents = [each for each in map(load_yaml, pieces) if isinstance(each, dict)]
                except ValueError as error:
                    path.note_problem(f"is {error}")
                    continue
                loads = [of_config(each, int(stage[1]) if stage else None) for each in documents]
                found[name.replace(".", "__")] = merged([*map(of_manifest, documents), *loads])
    return found
