"""The encoder_bench workload: its store, models, plots and regression keys, tied together."""

from collections.abc import Sequence
from typing import Any

from matrix_benchmarking.workload import Gate, Workload

from . import analyze
from .store import local_store, warnings


def _plots() -> Sequence[type[Any]]:
    from . import plotting

    return plotting.PLOTS


def _reports() -> Sequence[type[Any]]:
    from . import plotting

    return plotting.REPORTS


workload = Workload(
    name="encoder_bench",
    store=local_store,
    headline_kpi="1B_cost",
    group_keys=("task", "model", "inputs_per_request"),
    variant_keys=("vendor", "hw_type", "image", "engine"),
    gates=(Gate(kpi="fidelity", minimum=0.99), Gate(kpi="accuracy_loss", maximum=1.0)),
    warnings=warnings,
    plots=_plots,
    reports=_reports,
    regression=analyze.KEYS,
)
