"""The LTS payload of serving_bench: one run is two whole curves, which stay lists of points inside it."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Le

from matrix_benchmarking import kpi as kpis_of
from matrix_benchmarking.models import ExclusiveModel, Metadata, SemVer, getKPIsModel, labels_from

from . import kpi

KPI_SETTINGS_VERSION = "1.0"

Fraction = Annotated[float, Ge(0), Le(1)]
NonNegative = Annotated[float, Ge(0)]
Count = Annotated[int, Ge(1)]


class Settings(ExclusiveModel):
    """The labels of each KPI.

    Attributes:
        experiment, server: the step in a chain of improvements, and what was changed or run in it.
        precision, max_batch_size, batch_timeout, workers: how the server was configured; the timeout in seconds.
        num_requests: how many requests a point of the curve was measured with.
        device, gpu, hw_type, instance: the hardware, by whichever name the tree has for it.
        version: version of what is measured.
    """

    kpi_settings_version: str
    experiment: int | str | None = None
    server: str | None = None
    model: str | None = None
    precision: str | None = None
    max_batch_size: int | None = None
    batch_timeout: float | None = None
    workers: int | None = None
    num_requests: int | None = None
    device: str | None = None
    gpu: str | None = None
    hw_type: str | None = None
    instance: str | None = None
    version: SemVer | None = None


class BaselinePoint(ExclusiveModel):
    """Throughput of the model by itself, in requests/s."""

    batch_size: Count
    throughput: NonNegative


class APIPoint(ExclusiveModel):
    """Throughput through the API, in requests/s, and the loads meanwhile."""

    concurrency: Count
    throughput: NonNegative
    cpu: Fraction | None = None
    gpu: Fraction | None = None


class Results(ExclusiveModel):
    """What one run measured, and the theoretical maximum (requests/s) with its source, or why it is unknown.

    ``client_cpu`` is the most that the client used of its own cores at any concurrency.
    """

    baseline: list[BaselinePoint]
    api: list[APIPoint]
    client_cpu: Fraction | None = None
    theoretical_max: Annotated[float, Gt(0)] | None = None
    theoretical_max_source: str | None = None
    theoretical_max_unknown: str | None = None


KPIS = kpis_of.collect(kpi)
KPIs = getKPIsModel("KPIs", __name__, KPIS, Settings)
get_kpi_labels = labels_from(Settings, kpi_settings_version=KPI_SETTINGS_VERSION)


class Payload(ExclusiveModel):
    """The whole payload of one test."""

    metadata: Metadata
    results: Results
    kpis: KPIs  # type: ignore[valid-type]  # made at run time from the KPI functions
