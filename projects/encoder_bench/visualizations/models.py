"""The LTS payload and the KPIs of encoder_bench: what an encoder server costs, how fast it answers, how right it is.

What a tree that matbench didn't write can't know is optional.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from annotated_types import Ge, Le
from pydantic import Field

from matrix_benchmarking.kpi import (
    Format,
    HigherBetter,
    IgnoredForRegression,
    KPIMetadata,
    LowerBetter,
    NeitherBetter,
    UnknownKPI,
    collect,
    field_kpi,
    known,
)
from matrix_benchmarking.models import ExclusiveModel, SemVer, getKPIsModel
from matrix_benchmarking.models import Metadata as BaseMetadata

LTS_SCHEMA_VERSION = "1.4"
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
    environment: dict[str, object] | None = None


class Results(ExclusiveModel):
    """What one run measured; loads and rates are fractions, ``*_cpu`` are cores.

    Attributes:
        doubts: what else k6 told of its load that makes it doubtful, a sentence each.
        contradictions: what else it told that can't be, or that the load is another run's.
    """

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
    gpu_held_back: Fraction | None = None
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
    vectors_per_input_least: Count | None = None
    vectors_per_input_most: Count | None = None
    other_shapes: Count | None = None
    doubts: list[str] = Field(default_factory=list)
    contradictions: list[str] = Field(default_factory=list)


BILLION = 10**9
MOST_FAILED = 0.1
"""The error rate above which a run can't be the best: fast failures make fast answers."""
SECONDS_PER_HOUR = 3600


@LowerBetter
@Format("{:,.2f}")
@KPIMetadata(name="1B_cost", help="Cost of 10⁹ inputs answered with the right status and shape", unit="USD")
def cost_of_a_billion(lts_payload: Payload) -> float:
    """``10⁹ / answered inputs per second × USD per hour / 3600``."""
    results = lts_payload.results
    if results.price_usd_per_hour is None:
        settings = lts_payload.metadata.settings
        named = [str(settings[name]) for name in ("vendor", "hw_type") if settings.get(name) is not None]
        if not named:
            raise UnknownKPI("no price is known: the test's settings name no hw_type")
        hardware = "/".join(named)
        raise UnknownKPI(f"no price is known for {hardware}; give one with --price {hardware}=USD_PER_HOUR")
    if throughput(lts_payload) == 0:
        raise UnknownKPI("no input was answered")
    return float(BILLION / results.throughput * results.price_usd_per_hour / SECONDS_PER_HOUR)


@HigherBetter
@Format("{:,.1f}")
@KPIMetadata(help="Inputs answered with the right status and shape", unit="inputs/s")
def throughput(lts_payload: Payload) -> float:
    results = lts_payload.results
    if results.throughput is None:
        raise UnknownKPI(_untold("throughput")(results))
    return results.throughput


def _untold(what: str) -> Callable[[Results], str]:
    """Why k6's summary doesn't tell *what*."""

    def why(results: Results) -> str:
        seen = results.requests is not None
        return f"{what} was not measured{'' if seen else ': no *__k6__run/summary.json could be read'}"

    return why


avg_latency = field_kpi(
    "avg_latency_ms",
    help="Mean latency of the answered requests",
    unit="ms",
    better="lower",
    format="{:,.1f}",
    unknown=_untold("latency of answered requests"),
)
p95_latency = field_kpi(
    "p95_latency_ms",
    help="95th percentile of the latency of the answered requests",
    unit="ms",
    better="lower",
    format="{:,.1f}",
    unknown=_untold("latency of answered requests"),
)
error_rate = field_kpi(
    "error_rate",
    help="Share of the sent inputs that were not answered with the right status and shape",
    better="lower",
    format="{:.2%}",
    unknown=_untold("error rate"),
)


@NeitherBetter
@IgnoredForRegression
@Format("{:.1%}")
@KPIMetadata(help="Mean load of the GPUs during the load window", unit="")
def gpu_util(lts_payload: Payload) -> float:
    return known(lts_payload.results.gpu_util, "GPU load")


gpu_memory = field_kpi(
    "gpu_memory",
    help="Highest share of the GPUs' memory in use during the load window",
    better="neither",
    format="{:.1%}",
    ignored_for_regression=True,
    unknown="GPU memory was not measured",
)
cpu_util = field_kpi(
    "cpu_util",
    help="Mean load of the cores that the server may use, during the load window",
    better="neither",
    format="{:.1%}",
    ignored_for_regression=True,
    unknown="CPU load was not measured",
)
accuracy = field_kpi(
    "accuracy", help="Share of the classified inputs with the right label", better="higher", format="{:.2%}"
)
fidelity = field_kpi(
    "fidelity_mean",
    help="Mean cosine between the answers and those of the reference",
    better="higher",
    format="{:.4f}",
    unknown="fidelity was not measured",
)
fidelity_minimum = field_kpi(
    "fidelity_minimum",
    help="Lowest cosine between an answer and that of the reference",
    better="higher",
    format="{:.4f}",
    ignored_for_regression=True,
    unknown="fidelity was not measured",
)


@LowerBetter
@IgnoredForRegression
@Format("{:.2f}")
@KPIMetadata(help="How far the accuracy is below that of the reference, in standard errors of the latter", unit="")
def accuracy_loss(lts_payload: Payload) -> float:
    """``(reference accuracy − accuracy) / standard error``; 0 for one that is at least as high."""
    results = lts_payload.results
    loss = known(results.reference_accuracy, "accuracy of a reference") - known(results.accuracy, "accuracy")
    error = known(results.accuracy_standard_error, "standard error of the reference's accuracy")
    if error <= 0:
        raise UnknownKPI("the standard error of the reference's accuracy is 0")
    return max(0.0, float(loss / error))


KPIS = collect()
KPIs = getKPIsModel("KPIs", __name__, KPIS, Settings)


class Payload(ExclusiveModel):
    """The whole payload of one test."""

    metadata: Metadata
    results: Results
    kpis: KPIs  # type: ignore[valid-type]  # made at run time from the KPI functions
