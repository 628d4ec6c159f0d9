"""The LTS payload of encoder_bench. What a tree that matbench didn't write can't know is optional."""

from __future__ import annotations

from typing import Annotated, Any

from annotated_types import Ge, Le

from matrix_benchmarking import kpi as kpis_of
from matrix_benchmarking.models import ExclusiveModel, SemVer, getKPIsModel
from matrix_benchmarking.models import Metadata as BaseMetadata

from . import kpi

LTS_SCHEMA_VERSION = "1.2"
KPI_SETTINGS_VERSION = "1.0"

Fraction = Annotated[float, Ge(0), Le(1)]
NonNegative = Annotated[float, Ge(0)]
Count = Annotated[int, Ge(0)]
Cosine = Annotated[float, Ge(-1.001), Le(1.001)]  # with room for rounding


class Settings(ExclusiveModel):
    """The labels of each KPI.

    Attributes:
        task: ``embedding``, ``classification`` or ``vision_embedding``.
        vendor, hw_type: whose hardware, and which; together they have a price.
        image, engine: the variant of the server.
        batch_size: the largest batch that the server makes.
        vus: virtual users, which send one request after the other.
        inputs_per_request: texts or images in a request.
        version: version of what is measured.
    """

    kpi_settings_version: str
    task: str
    model: str | None = None
    vendor: str | None = None
    hw_type: str
    image: str
    engine: str
    batch_size: int
    vus: int
    inputs_per_request: int = 1
    version: SemVer | None = None
    urls: dict[str, str] | None = None


class Metadata(BaseMetadata):
    """The engine's metadata, where the price comes from, and where and with which versions the run took place."""

    price_source: str | None = None
    environment: dict[str, Any] | None = None


class Results(ExclusiveModel):
    """What one run measured; loads and rates are fractions, ``*_cpu`` are cores."""

    requests: Count
    failed_requests: Count | None = None
    duration_s: NonNegative
    answered_inputs: Count
    throughput: NonNegative
    error_rate: Fraction | None = None
    avg_latency_ms: NonNegative | None = None
    p95_latency_ms: NonNegative | None = None
    dropped_iterations: Count | None = None
    price_usd_per_hour: NonNegative | None = None
    cpu_util: Fraction | None = None
    gpu_util: Fraction | None = None
    gpu_memory: Fraction | None = None
    main_memory: Fraction | None = None
    load_generator_cpu: NonNegative | None = None
    load_generator_competes: bool | None = None
    other_cpu: NonNegative | None = None
    schedule_lag_p95_ms: NonNegative | None = None
    load_generator_cores: Count | None = None
    monitor_cpu: NonNegative | None = None
    accuracy: Fraction | None = None
    reference_accuracy: Fraction | None = None
    accuracy_standard_error: NonNegative | None = None
    label_agreement: Fraction | None = None
    invalid_answers: Count | None = None
    fidelity_mean: Cosine | None = None
    fidelity_minimum: Cosine | None = None
    embedding_size: NonNegative | None = None
    vectors_per_input: NonNegative | None = None


KPIS = kpis_of.collect(kpi)
KPIs = getKPIsModel("KPIs", __name__, KPIS, Settings)


class Payload(ExclusiveModel):
    """The whole payload of one test."""

    metadata: Metadata
    results: Results
    kpis: KPIs  # type: ignore[valid-type]  # made at run time from the KPI functions
