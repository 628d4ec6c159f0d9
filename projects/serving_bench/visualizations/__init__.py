"""The serving_bench workload: its store, models, plots and regression keys, tied together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matrix_benchmarking.workload import Workload

from . import analyze
from .store import exchange, implausible, local_store, warnings

if TYPE_CHECKING:
    from matrix_benchmarking.plotting import Report


def _reports() -> Sequence[type[Report]]:
    from . import plotting

    return (plotting.ThroughputReport, plotting.BottleneckReport, plotting.StepsReport)


workload = Workload(
    name="serving_bench",
    store=local_store,
    headline_kpi="best_api_throughput",
    group_keys=analyze.GROUPS,
    variant_keys=("experiment", "server"),
    warnings=warnings,
    implausible=implausible,
    differences=analyze.differences,
    exchange=exchange,
    reports=_reports,
    regression=analyze.KEYS,
)
