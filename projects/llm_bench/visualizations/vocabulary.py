"""The measures that all tools' files are read into, in one unit each: s, tokens/s, requests/s, W, J, shares of 1.

TPOT is the time of an output token after the first, a mean over a request; ITL is the time between two pieces of an
answer. Tools call these by each other's names: aiperf's and guidellm's "inter token latency" is the TPOT here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal, TypeVar

T = TypeVar("T")

LATENCIES = {
    "ttft": "Time to the first token",
    "tpot": "Time per output token after the first, the mean of a request",
    "itl": "Time between two pieces of an answer",
    "e2e": "Time of a whole answer, from the request to the last token",
}
STATISTICS = {
    "mean": "mean",
    "p50": "median",
    "p90": "90th percentile",
    "p95": "95th percentile",
    "p99": "99th percentile",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Measure:
    """A number of a run: ``better`` is lower, higher or neither; ``judged`` if a regression is looked for."""

    unit: str
    help: str
    better: Literal["lower", "higher", "neither"]
    judged: bool = False
    format: str = "{:,.4g}"


def _latencies() -> Mapping[str, Measure]:
    return {
        f"{name}_{statistic}": Measure("s", f"{what}: {said}", "lower", statistic in ("p50", "p99"))
        for name, what in LATENCIES.items()
        for statistic, said in STATISTICS.items()
    }


MEASURES: Mapping[str, Measure] = {
    "requests_per_s": Measure("requests/s", "Requests answered per second", "higher", True),
    "output_tokens_per_s": Measure("tokens/s", "Output tokens per second, of all requests together", "higher", True),
    "input_tokens_per_s": Measure("tokens/s", "Input tokens per second, of all requests together", "higher"),
    "total_tokens_per_s": Measure("tokens/s", "Input and output tokens per second", "higher"),
    **_latencies(),
    "goodput": Measure(
        "requests/s", "Requests per second that kept the limits which the tool was given", "higher", True
    ),
    "error_share": Measure("", "Share of the requests that failed", "lower", True, "{:.2%}"),
    "requests": Measure("requests", "Requests that were answered", "neither", False, "{:,.0f}"),
    "concurrency_reached": Measure("requests", "Requests in flight, the mean over the run", "neither"),
    "request_rate_reached": Measure("requests/s", "Requests sent per second", "neither"),
    "input_length_mean": Measure("tokens", "Input tokens of a request, the mean", "neither"),
    "output_length_mean": Measure("tokens", "Output tokens of a request, the mean", "neither"),
    "cache_hit_share": Measure(
        "", "Share of the input tokens that the cache of prefixes knew", "higher", False, "{:.1%}"
    ),
    "acceptance_rate": Measure("", "Share of the drafted tokens that were accepted", "higher", False, "{:.1%}"),
    "acceptance_length": Measure("tokens", "Tokens of an accepted draft, with the one that follows", "higher"),
    "gpu_power": Measure("W", "Power of a GPU, the mean over the run", "lower"),
    "system_power": Measure("W", "Power of the whole system at the wall, the mean over the run", "lower"),
    "gpu_utilization": Measure("", "Load of the GPUs, the mean over the run", "neither", False, "{:.1%}"),
    "energy_per_output_token": Measure("J/token", "Energy of the GPUs per output token", "lower"),
    "energy_per_total_token": Measure("J/token", "Energy of the GPUs per input or output token", "lower"),
    "schedule_delay_mean": Measure("s", "How late the client sent a request, the mean", "lower"),
    "schedule_delay_p99": Measure("s", "How late the client sent a request: 99th percentile", "lower"),
}

COUNTS = ("failed_requests", "duration", "input_tokens", "output_tokens", "request_rate_asked")
"""What a file may also tell: failed requests, s, tokens, and the rate that was asked for, in 1/s."""

SETTINGS = {
    "tool": "the tool that measured",
    "model": "the model, as its server names it",
    "tokenizer": "what counted the tokens, where it isn't the model's own",
    "quantization": "numbers of the weights: fp8, int4, awq …",
    "engine": "the server: vllm, sglang, trtllm …",
    "version": "of the server",
    "hw_type": "the accelerator",
    "gpus": "number of accelerators",
    "tp": "tensor parallelism",
    "pp": "pipeline parallelism",
    "ep": "expert parallelism",
    "dp": "data parallelism",
    "speculative": "speculative decoding: its method, or whether",
    "disaggregated": "whether prefill and decode run apart",
    "dataset": "where the prompts come from",
    "input_length": "input tokens that were asked for",
    "output_length": "output tokens that were asked for",
    "request_rate": "requests/s that were asked for, or unlimited",
    "concurrency": "requests in flight that were asked for, or unlimited",
}
"""The settings that tools' words are translated to; others of a file keep their names."""
UNLIMITED = "unlimited"

ALIASES = {
    "hw": "hw_type",
    "hardware": "hw_type",
    "gpu": "hw_type",
    "gpu_type": "hw_type",
    "accelerator": "hw_type",
    "model_id": "model",
    "model_name": "model",
    "engine_version": "version",
    "framework": "engine",
    "server": "engine",
    "num_gpus": "gpus",
    "gpu_count": "gpus",
    "tensor_parallel_size": "tp",
    "tp_size": "tp",
    "pipeline_parallel_size": "pp",
    "data_parallel_size": "dp",
    "expert_parallel_size": "ep",
    "max_concurrency": "concurrency",
    "conc": "concurrency",
    "qps": "request_rate",
    "isl": "input_length",
    "osl": "output_length",
    "random_input_len": "input_length",
    "random_output_len": "output_length",
    "input_len": "input_length",
    "output_len": "output_length",
    "precision": "quantization",
    "dataset_name": "dataset",
}
"""Other tools' and people's names of settings, and ours."""


def renamed(settings: Mapping[str, T]) -> dict[str, T]:
    """*settings* in the names of :data:`SETTINGS`; a name that is there already stays what it is."""
    return {
        ALIASES[name] if name in ALIASES and ALIASES[name] not in settings else name: value
        for name, value in settings.items()
    }
