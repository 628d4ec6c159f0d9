"""The LTS payload and the KPIs of serving_bench: how much of its hardware, and of its model, a server passes on.

One run is two whole curves, which stay lists of points. "Best" is the highest of a run's points. The highest of several
noisy values tends to be a little too high, by about as much in each configuration, so compare such KPIs with each
other, and look at the curve before believing one alone.
"""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Le

from matrix_benchmarking.kpi import (
    Format,
    HigherBetter,
    IgnoredForRegression,
    KPIMetadata,
    LowerBetter,
    NeitherBetter,
    UnknownKPI,
    collect,
    known,
)
from matrix_benchmarking.models import ExclusiveModel, Metadata, SemVer, getKPIsModel, labels_from

from . import analyze
from .analyze import at_concurrency, best

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


@HigherBetter
@Format("{:,.2f}")
@KPIMetadata(help="Best throughput through the API over all concurrencies", unit="requests/s")
def best_api_throughput(lts_payload: Payload) -> float:
    return _best_api(lts_payload).throughput


@LowerBetter
@IgnoredForRegression
@Format("{:g}")
@KPIMetadata(help="Concurrency at which the API throughput was best", unit="clients")
def best_concurrency(lts_payload: Payload) -> float:
    """Where the curve is flat it jumps from run to run, so no regression is concluded from it.

    Lower is better as far as a direction is asked for: the same throughput with fewer clients waits less.
    """
    return _best_api(lts_payload).concurrency


@HigherBetter
@Format("{:,.2f}")
@KPIMetadata(help="Best throughput of the model by itself over all batch sizes", unit="requests/s")
def best_baseline_throughput(lts_payload: Payload) -> float:
    return known(best(lts_payload.results.baseline), "throughput over batch size (benchmark.log)").throughput


@HigherBetter
@Format("{:.1%}")
@KPIMetadata(help="Best API throughput over best throughput of the model by itself", unit="")
def serving_efficiency(lts_payload: Payload) -> float:
    return best_api_throughput(lts_payload) / best_baseline_throughput(lts_payload)


@HigherBetter
@Format("{:,.2f}")
@KPIMetadata(help="API throughput of one client that waits for each answer", unit="requests/s")
def throughput_at_1(lts_payload: Payload) -> float:
    return known(at_concurrency(lts_payload.results.api, 1), "throughput at concurrency 1 (benchmark.log)").throughput


@NeitherBetter
@Format("{:g}")
@KPIMetadata(help="Most clients that were tried: where it isn't saturated, more do better", unit="clients")
def most_clients(lts_payload: Payload) -> float:
    tried = [point.concurrency for point in lts_payload.results.api]
    return known(max(tried, default=None), "throughput over concurrency (benchmark.log)")


@HigherBetter
@IgnoredForRegression
@Format("{:.1%}")
@KPIMetadata(help="CPU load where the API throughput was best", unit="")
def cpu_at_best(lts_payload: Payload) -> float:
    return known(_best_api(lts_payload).cpu, "CPU load")


@HigherBetter
@IgnoredForRegression
@Format("{:.1%}")
@KPIMetadata(help="GPU load where the API throughput was best", unit="")
def gpu_at_best(lts_payload: Payload) -> float:
    return known(_best_api(lts_payload).gpu, "GPU load")


@HigherBetter
@Format("{:.2%}")
@KPIMetadata(help="Best API throughput over what the device could compute at most", unit="")
def share_of_maximum(lts_payload: Payload) -> float:
    results = lts_payload.results
    if results.theoretical_max is None:
        raise UnknownKPI(f"the theoretical maximum is unknown: {results.theoretical_max_unknown}")
    return best_api_throughput(lts_payload) / results.theoretical_max


def _best_api(lts_payload: Payload) -> analyze.APIPoint:
    return known(best(lts_payload.results.api), "throughput over concurrency (benchmark.log)")


KPIS = collect()
KPIs = getKPIsModel("KPIs", __name__, KPIS, Settings)
get_kpi_labels = labels_from(Settings, kpi_settings_version=KPI_SETTINGS_VERSION)


class Payload(ExclusiveModel):
    """The whole payload of one test."""

    metadata: Metadata
    results: Results
    kpis: KPIs  # type: ignore[valid-type]  # made at run time from the KPI functions
