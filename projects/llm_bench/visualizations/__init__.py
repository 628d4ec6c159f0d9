"""The llm_bench workload: readers of what other tools measured of language models, KPIs, and regression keys."""

from __future__ import annotations

from matrix_benchmarking.workload import RegressionKeys, Workload

from .store import OPTIONS, implausible, local_store, warnings

GROUPS = ("model", "dataset", "input_length", "output_length", "tool")
"""Other prompts, and tools that count tokens or warm-up differently, are not compared."""
VARIANTS = (
    "engine",
    "version",
    "hw_type",
    "gpus",
    "tp",
    "pp",
    "ep",
    "dp",
    "quantization",
    "speculative",
    "disaggregated",
)

workload = Workload(
    name="llm_bench",
    store=local_store,
    headline_kpi="output_tokens_per_s",
    limit_kpi="ttft_p99",
    group_keys=GROUPS,
    variant_keys=VARIANTS,
    warnings=warnings,
    implausible=implausible,
    options=OPTIONS,
    regression=RegressionKeys(
        comparison_keys=["version"],
        ignored_keys=["label", "tag", "num_prompts"],
        sorting_keys=["model", "hw_type", "engine", "concurrency", "request_rate"],
    ),
)
