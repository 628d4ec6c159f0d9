"""The llm_bench workload: readers of what other tools measured of language models, KPIs, and regression keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matrix_benchmarking.workload import Gate, RegressionKeys, Workload

from .places import accelerator
from .store import GROUPS, OPTIONS, differences, exchange, implausible, local_store, warnings

if TYPE_CHECKING:
    from matrix_benchmarking.plotting import Report

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


def _reports() -> Sequence[type[Report]]:
    from . import plotting

    return plotting.REPORTS


workload = Workload(
    name="llm_bench",
    store=local_store,
    headline_kpi="1M_output_cost",
    headline_fallbacks=("output_tokens_per_s_per_gpu", "output_tokens_per_s", "requests_per_s"),
    limit_kpi="ttft_p99",
    gates=(Gate(kpi="error_share", maximum=0.1),),  # which most tools count, and fast failures make fast answers
    group_keys=GROUPS,
    variant_keys=VARIANTS,
    warnings=warnings,
    implausible=implausible,
    differences=differences,
    exchange=exchange,
    shorter_hardware=accelerator,
    options=OPTIONS,
    reports=_reports,
    regression=RegressionKeys(
        comparison_keys=["version"],
        ignored_keys=["label", "tag"],
        product_keys=["engine"],
        sorting_keys=["model", "hw_type", "engine", "concurrency", "request_rate"],
    ),
)
