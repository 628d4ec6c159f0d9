"""The training_bench workload: its store, models, plots and regression keys, tied together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from matrix_benchmarking.workload import Workload

from . import analyze
from .store import OPTIONS, local_store
from .store.payload import implausible, warnings

if TYPE_CHECKING:
    from matrix_benchmarking.plotting import Report


def _reports() -> Sequence[type[Report]]:
    from . import plotting

    return [plotting.DataLoading]


workload = Workload(
    name="training_bench",
    store=local_store,
    headline_kpi="epoch_duration",
    group_keys=analyze.GROUPS,
    variant_keys=("hw_type", "strategy"),
    warnings=warnings,
    implausible=implausible,
    differences=analyze.differences,
    options=OPTIONS,
    reports=_reports,
    regression=analyze.KEYS,
)
