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

from . import OF_COUNTS, Field, at, counted, documents, field, latencies, limit, measured, number, of_image, point
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
    "output_length_mean": field("successes.output_len.mean"),
    "request_rate_reached": field("load_summary.achieved_rate"),
    "schedule_delay_mean": field("load_summary.schedule_delay.mean"),
    "schedule_delay_p99": field("load_summary.schedule_delay.p99"),
}
DERIVED: Sequence[str] = [*OF_COUNTS, "cache_hit_share"]
COUNTS = {
    "requests": field("successes.count"),
    "failed_requests": field("failures.count"),
    "duration": field("benchmark_time_seconds", "load_summary.send_duration"),
    "request_rate_asked": field("load_summary.requested_rate"),
}
CONFIGS = ("config.yaml", "config.yml", "manifests.yaml", "manifests.yml", "deployment.yaml")
_VALIDATION = "validation.json"
HIGHEST = 2
"""How many directories above the file a config is looked for."""


def recognises(head: bytes, name: str) -> bool:
    is_lifecycle = b"load_summary" in head and b"successes" in head and b"schedule_delay" in head
    return (is_lifecycle or (b"successes" in head and b"normalized_time_per_output_token" in head)) and not _is_part(
        name
    )


def _is_part(name: str) -> bool:
    return any(word in name.rpartition("/")[2] for word in ("prometheus", "session", "per_request"))


def belongs_to_another(path: Path, names: Set[str]) -> bool:
    stages = any(re.match(r"stage_\d+_lifecycle_metrics\.", each) for each in names)
    repeats = (
        path.name.startswith(("summary_lifecycle_metrics.", "inference-perf.partial.")) or path.name == _VALIDATION
    )
    return _is_part(path.name) or path.name in CONFIGS or (stages and repeats)


def read(file: ArtifactPath) -> Iterator[Part]:
    if file.path.suffix == ".json":
        _, document = next(iter(documents(file)))
    else:
        document = read_yaml(file)
    if not isinstance(document, dict) or not isinstance(document.get("successes"), dict):
        raise ArtifactError(file, "holds no 'successes' of a stage")
    results: dict[str, Any] = {**measured(document, {**FIELDS, **COUNTS})}
    cached, total = (number(at(document, f"successes.prompt_tokens.{name}")) for name in ("cached", "total"))
    if cached is not None and total:
        results["cache_hit_share"] = cached / total
    settings = {
        "request_rate": limit(at(document, "load_summary.requested_rate")),
        "concurrency": limit(at(document, "load_summary.concurrency")),
    }
    yield point("run", TOOL, settings, counted(results), **_configs(file), **reported(file))


def _configs(file: ArtifactPath) -> dict[str, Mapping[str, object]]:
    """What the configs beside the file and above it say, the nearest first; a damaged one says nothing."""
    found: dict[str, Mapping[str, object]] = {}
    for height in range(HIGHEST + 1):
        for name in CONFIGS:
            path = file / ("../" * (height + 1) + name)
            if path.is_file() and name.replace(".", "__") not in found:
                try:
                    pieces = map(
                        load_yaml, re.split(r"(?m)^---(?:[ \t].*)?$", read_text(path))
                    )  # a manifest has several
                    documents = [each for each in pieces if isinstance(each, dict)]
                except ValueError as error:
                    path.note_problem(f"is {error}")
                    continue
                settings: dict[str, object] = {}
                for document in documents:
                    said = {**_of_config(document), **_of_manifest(document)}
                    settings = {**{key: value for key, value in said.items() if value is not None}, **settings}
                found[name.replace(".", "__")] = settings
    return found


def _of_config(document: Mapping[str, Any]) -> dict[str, object]:
    """inference-perf's own configuration."""
    data = str(at(document, "data.type") or "").lower() or None
    return {
        "model": at(document, "server.model_name") or at(document, "tokenizer.pretrained_model_name_or_path"),
        "engine": at(document, "server.type"),
        "dataset": data,
        "input_length": at(document, "data.input_distribution.mean"),
        "output_length": at(document, "data.output_distribution.mean"),
        "load_type": at(document, "load.type"),
    }


def _of_manifest(document: Mapping[str, Any]) -> dict[str, object]:
    """A Kubernetes deployment of the server."""
    pod = at(document, "spec.template.spec")
    containers = at(pod, "containers") if isinstance(pod, dict) else None
    found: dict[str, object] = {}
    for container in containers if isinstance(containers, list) else []:
        if not isinstance(container, dict) or not (said := of_image(container.get("image"))):
            continue
        words = [
            str(word) for key in ("command", "args") for word in _list(container.get(key)) if not isinstance(word, dict)
        ]
        variables = {
            str(each.get("name")): each.get("value") for each in _list(container.get("env")) if isinstance(each, dict)
        }
        options = _options(words, variables)
        found |= said
        found |= {
            "model": options.get("model")
            or options.get("model-path")
            or options.get("serve")
            or variables.get("MODEL_ID"),
            "quantization": options.get("quantization"),
            **{name: _whole(options.get(option)) for name, option in _SIZES.items()},
            "gpus": next((n for name in _GPUS if (n := _whole(at(container, f"resources.limits.{name}")))), None),
            "hw_type": next((label for name in _LABELS if (label := at(pod, f"nodeSelector.{name}"))), None),
            "speculative": True if any("speculative" in name for name in options) else None,
        }
    return {name: value for name, value in found.items() if value is not None}


_GPUS = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/xe")
_LABELS = ("cloud.google.com/gke-accelerator", "nvidia.com/gpu.product", "gpu.nvidia.com/class")
_SIZES = {"tp": "tensor-parallel-size", "pp": "pipeline-parallel-size", "dp": "data-parallel-size"}


def _options(words: Sequence[str], variables: Mapping[str, object]) -> dict[str, str]:
    """``--name=value`` and ``--name value``, and the model behind ``vllm serve``; ``$(NAME)`` is that variable."""
    found: dict[str, str] = {}
    everything = [word for text in words for word in text.split()]
    for place, word in enumerate(everything):
        if word == "serve" and "vllm" in everything[:place]:
            word = "--serve"
        if word.startswith("--"):
            name, separator, value = word[2:].partition("=")
            follows = everything[place + 1] if place + 1 < len(everything) else ""
            value = value if separator else "" if follows.startswith("--") else follows
            variable = re.fullmatch(r"\$\((\w+)\)", value)
            found[name.replace("_", "-")] = str(variables.get(variable[1], "")) if variable else value
    return found


def _whole(value: object) -> int | None:
    return int(str(value)) if str(value).isdecimal() else None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value] if isinstance(value, str) else []
