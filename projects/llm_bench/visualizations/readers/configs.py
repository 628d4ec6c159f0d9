"""What configurations say beside results: Kubernetes manifests of the server, inference-perf's own of the load."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..vocabulary import UNLIMITED
from . import at, limit, number, objects, of_image

_GPUS = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/xe")
_LABELS = ("cloud.google.com/gke-accelerator", "nvidia.com/gpu.product", "gpu.nvidia.com/class")
_MODELS = ("model", "model-path", "model-id", "serve")
_SIZES = {"tp": "tensor", "pp": "pipeline", "dp": "data", "ep": "expert"}


def of_manifest(document: Mapping[str, Any]) -> dict[str, object]:
    """The settings of a deployment; None where it says nothing, and empty of what deploys no server that is known."""
    pod = at(document, "spec.template.spec")
    found: dict[str, object] = {}
    for container in objects(at(pod, "containers")):
        if not (said := of_image(container.get("image"))):
            continue
        words = [str(each) for key in ("command", "args") for each in _words(container.get(key))]
        variables = {str(each.get("name")): each.get("value") for each in objects(container.get("env"))}
        options, command = _options(words, variables), " ".join(words)
        sizes = {size: _whole(options, f"{kind}-parallel-size", f"{size}-size", size) for size, kind in _SIZES.items()}
        if "enable-expert-parallel" in options:
            sizes["ep"] = (sizes["tp"] or 1) * (sizes["dp"] or 1)
        gpus = _whole(at(container, "resources.limits"), *_GPUS)
        method = re.search(r'"method": *"(\w+)"', command)
        speculative = method[1] if method else options.get("speculative-algorithm") or True
        role = re.search(r"kv_(producer|consumer)", command)
        found |= {
            **said,
            "model": next((name for each in _MODELS if (name := options.get(each))), variables.get("MODEL_ID")),
            "quantization": options.get("quantization"),
            **sizes,
            "gpus": gpus and gpus * (_whole(at(document, "spec"), "replicas") or 1),
            "hw_type": next((label for name in _LABELS if (label := at(pod, f"nodeSelector.{name}"))), None),
            "speculative": speculative if "speculative" in " ".join(options) else None,
            "role": role[1] if role else None,
        }
    return found


def of_config(document: Mapping[str, Any], stage: int | None) -> dict[str, object]:
    """inference-perf's own configuration. It says distributions even of data that have lengths of their own."""
    data, kind = at(document, "data") or {}, at(document, "load.type")
    source = str(at(data, "type") or "").lower() or None
    stages = objects(at(document, "load.stages"))
    place = stage if stage is not None else 0 if len(stages) == 1 else len(stages)
    load = stages[place] if 0 <= place < len(stages) else {}
    lengths: dict[str, object] = {}
    if source in ("synthetic", "random"):
        lengths = {f"{each}_length": at(data, f"{each}_distribution.mean") for each in ("input", "output")}
    elif source == "shared_prefix":
        shared = at(data, "shared_prefix")
        prefix, question, output = (_length(at(shared, f"{each}_len")) for each in _SHARED)
        whole = None if prefix is None or question is None else prefix + question
        lengths = {"input_length": whole, "output_length": output}
    return {
        "model": at(document, "server.model_name") or at(document, "tokenizer.pretrained_model_name_or_path"),
        "engine": at(document, "server.type"),
        "dataset": source,
        **lengths,
        "load_type": kind,
        "request_rate": UNLIMITED if kind == "concurrent" else limit(load.get("rate")),
        "concurrency": limit(load.get("concurrency_level")),
    }


_SHARED = ("system_prompt", "question", "output")


def _length(value: object) -> float | None:
    return number(at(value, "mean") if isinstance(value, dict) else value)


def merged(said: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """What the first says of each; prefill and decode, which are deployed apart, have their GPUs together."""
    found: dict[str, object] = {}
    for each in reversed(said):
        found |= {name: value for name, value in each.items() if value is not None}
    found.pop("role", None)
    if len({each["role"] for each in said if each.get("role")}) > 1:
        counts = [count for each in said if isinstance(count := each.get("gpus"), int)]
        found |= {"disaggregated": True, "gpus": sum(counts) or None}
    return found


def _options(words: Sequence[str], variables: Mapping[str, object]) -> dict[str, str]:
    """``--name=value`` and ``--name value``, and the model behind ``vllm serve``; ``$(NAME)`` is that variable."""
    found: dict[str, str] = {}
    everything = [word for text in words for word in text.split()]
    for place, word in enumerate(everything):
        if (word == "serve" and "vllm" in everything[:place]) or word == "vllm.entrypoints.openai.api_server":
            word = "--serve"
        if re.match(r"--?[a-zA-Z]", word):
            name, separator, value = word.lstrip("-").partition("=")
            follows = everything[place + 1] if place + 1 < len(everything) else ""
            value = value if separator else "" if follows.startswith("-") else follows
            variable = re.fullmatch(r"\$\((\w+)\)", value)
            found[name.replace("_", "-")] = str(variables.get(variable[1], "")) if variable else value
    return found


def _whole(given: object, *names: str) -> int | None:
    """The first of the whole numbers above 0 that *given* has by these names."""
    texts = (str(at(given, name)) for name in names)
    return next((int(text) for text in texts if text.isdecimal() and int(text)), None)


def _words(value: object) -> list[Any]:
    whole = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    return [each for each in whole if not isinstance(each, dict)]
