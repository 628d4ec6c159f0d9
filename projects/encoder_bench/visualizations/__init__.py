"""The encoder_bench workload: its store, models, plots and regression keys, tied together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.workload import Gate, Workload

from . import analyze, models
from .store import implausible, local_store, warnings

if TYPE_CHECKING:
    from matrix_benchmarking.benchmark.load_driver import LoadDriver
    from matrix_benchmarking.plotting import Report


def _reports() -> Sequence[type[Report]]:
    from . import plotting

    return plotting.REPORTS


def _k6() -> type[LoadDriver]:
    from ..load import K6Driver

    return K6Driver


def _price(settings: Mapping[str, Scalar]) -> float | None:
    price = analyze.price_of(settings)
    return price.usd_per_hour if price else None


workload = Workload(
    name="encoder_bench",
    store=local_store,
    headline_kpi="1B_cost",
    limit_kpi="p95_latency",
    group_keys=analyze.GROUPS,
    variant_keys=analyze.VARIANTS,
    gates=(
        Gate(kpi="fidelity", minimum=0.99),
        Gate(kpi="accuracy_loss", maximum=1.0),
        Gate(kpi="error_rate", maximum=models.MOST_FAILED),
    ),
    warnings=warnings,
    implausible=implausible,
    differences=analyze.differences,
    price=_price,
    load_drivers={"k6": _k6},
    reports=_reports,
    regression=analyze.KEYS,
)
