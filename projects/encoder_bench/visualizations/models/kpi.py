"""The KPIs of encoder_bench: what an encoder server costs, how fast it answers, how right it is."""

from __future__ import annotations

from typing import Any

from matrix_benchmarking.kpi import (
    Format,
    HigherBetter,
    IgnoredForRegression,
    KPIMetadata,
    LowerBetter,
    NeitherBetter,
    UnknownKPI,
    known,
)

BILLION = 10**9
SECONDS_PER_HOUR = 3600


@LowerBetter
@Format("{:,.2f}")
@KPIMetadata(name="1B_cost", help="Cost of 10⁹ inputs answered with the right status and shape", unit="USD")
def cost_of_a_billion(lts_payload: Any) -> float:
    """``10⁹ / answered inputs per second × USD per hour / 3600``."""
    results = lts_payload.results
    if results.price_usd_per_hour is None:
        settings = lts_payload.metadata.settings
        named = [str(settings[name]) for name in ("vendor", "hw_type") if settings.get(name) is not None]
        if not named:
            raise UnknownKPI("no price is known: the test's settings name no hw_type")
        hardware = "/".join(named)
        raise UnknownKPI(f"no price is known for {hardware}; give one with --price {hardware}=USD_PER_HOUR")
    if _of_k6(results, results.throughput, "throughput") == 0:
        raise UnknownKPI("no input was answered")
    return float(BILLION / results.throughput * results.price_usd_per_hour / SECONDS_PER_HOUR)


@HigherBetter
@Format("{:,.1f}")
@KPIMetadata(help="Inputs answered with the right status and shape", unit="inputs/s")
def throughput(lts_payload: Any) -> Any:
    return _of_k6(lts_payload.results, lts_payload.results.throughput, "throughput")


@LowerBetter
@Format("{:,.1f}")
@KPIMetadata(help="Mean latency of the answered requests", unit="ms")
def avg_latency(lts_payload: Any) -> Any:
    return _of_k6(lts_payload.results, lts_payload.results.avg_latency_ms, "latency of answered requests")


@LowerBetter
@Format("{:,.1f}")
@KPIMetadata(help="95th percentile of the latency of the answered requests", unit="ms")
def p95_latency(lts_payload: Any) -> Any:
    return _of_k6(lts_payload.results, lts_payload.results.p95_latency_ms, "latency of answered requests")


@LowerBetter
@Format("{:.2%}")
@KPIMetadata(help="Share of the sent inputs that were not answered with the right status and shape", unit="")
def error_rate(lts_payload: Any) -> Any:
    return _of_k6(lts_payload.results, lts_payload.results.error_rate, "error rate")


@NeitherBetter
@IgnoredForRegression
@Format("{:.1%}")
@KPIMetadata(help="Mean load of the GPUs during the load window", unit="")
def gpu_util(lts_payload: Any) -> Any:
    return known(lts_payload.results.gpu_util, "GPU load")


@NeitherBetter
@IgnoredForRegression
@Format("{:.1%}")
@KPIMetadata(help="Highest share of the GPUs' memory in use during the load window", unit="")
def gpu_memory(lts_payload: Any) -> Any:
    return known(lts_payload.results.gpu_memory, "GPU memory")


@NeitherBetter
@IgnoredForRegression
@Format("{:.1%}")
@KPIMetadata(help="Mean load of the cores that the server may use, during the load window", unit="")
def cpu_util(lts_payload: Any) -> Any:
    return known(lts_payload.results.cpu_util, "CPU load")


@HigherBetter
@Format("{:.2%}")
@KPIMetadata(help="Share of the classified inputs with the right label", unit="")
def accuracy(lts_payload: Any) -> Any:
    return known(lts_payload.results.accuracy, "accuracy")


@HigherBetter
@Format("{:.4f}")
@KPIMetadata(help="Mean cosine between the answers and those of the reference", unit="")
def fidelity(lts_payload: Any) -> Any:
    return known(lts_payload.results.fidelity_mean, "fidelity")


@HigherBetter
@IgnoredForRegression
@Format("{:.4f}")
@KPIMetadata(help="Lowest cosine between an answer and that of the reference", unit="")
def fidelity_minimum(lts_payload: Any) -> Any:
    return known(lts_payload.results.fidelity_minimum, "fidelity")


@LowerBetter
@IgnoredForRegression
@Format("{:.2f}")
@KPIMetadata(help="How far the accuracy is below that of the reference, in standard errors of the latter", unit="")
def accuracy_loss(lts_payload: Any) -> float:
    """``(reference accuracy − accuracy) / standard error``; 0 for one that is at least as high."""
    results = lts_payload.results
    loss = known(results.reference_accuracy, "accuracy of a reference") - known(results.accuracy, "accuracy")
    error = known(results.accuracy_standard_error, "standard error of the reference's accuracy")
    if error <= 0:
        raise UnknownKPI("the standard error of the reference's accuracy is 0")
    return max(0.0, float(loss / error))


def _of_k6(results: Any, value: Any, what: str) -> Any:
    """*value*, which k6's summary tells."""
    if value is None and results.requests is None:
        raise UnknownKPI(f"{what} was not measured: no *__k6__run/summary.json could be read")
    return known(value, what)
