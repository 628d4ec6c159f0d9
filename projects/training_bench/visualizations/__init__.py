"""The training_bench workload: its store, models, plots and regression keys, tied together."""

from collections.abc import Sequence
from typing import Any

from matrix_benchmarking.workload import Workload

from . import analyze
from .store import OPTIONS, local_store
from .store.payload import implausible, warnings


def _reports() -> Sequence[type[Any]]:
    from . import plotting

    return [plotting.DataLoading]


workload = Workload(
    name="training_bench",
    store=local_store,
    headline_kpi="epoch_duration",
    group_keys=("name", "model", "dataset", "io_speed"),
    variant_keys=("hw_type", "strategy"),
    warnings=warnings,
    implausible=implausible,
    options=OPTIONS,
    reports=_reports,
    regression=analyze.KEYS,
)
