"""The KPIs of serving_bench: how much of its hardware, and of its model, a server passes on to its clients.

"Best" is the highest of a run's points. The highest of several noisy values tends to be a little too high, by about as
much in each configuration, so compare such KPIs with each other, and look at the curve before believing one alone.
"""

from __future__ import annotations

from typing import Any

from matrix_benchmarking.kpi import (
    Format,
    HigherBetter,
    IgnoredForRegression,
    KPIMetadata,
    LowerBetter,
    UnknownKPI,
    known,
)

from ..curves import at_concurrency, best


@HigherBetter
@Format("{:,.2f}")
@KPIMetadata(help="Best throughput through the API over all concurrencies", unit="requests/s")
def best_api_throughput(lts_payload: Any) -> Any:
    return _best_api(lts_payload).throughput


@LowerBetter
@IgnoredForRegression
@Format("{:g}")
@KPIMetadata(help="Concurrency at which the API throughput was best", unit="clients")
def best_concurrency(lts_payload: Any) -> Any:
    """Where the curve is flat it jumps from run to run, so no regression is concluded from it.

    Lower is better as far as a direction is asked for: the same throughput with fewer clients waits less.
    """
    return _best_api(lts_payload).concurrency


@HigherBetter
@Format("{:,.2f}")
@KPIMetadata(help="Best throughput of the model by itself over all batch sizes", unit="requests/s")
def best_baseline_throughput(lts_payload: Any) -> Any:
    return known(best(lts_payload.results.baseline), "throughput over batch size (benchmark.log)").throughput


@HigherBetter
@Format("{:.1%}")
@KPIMetadata(help="Best API throughput over best throughput of the model by itself", unit="")
def serving_efficiency(lts_payload: Any) -> Any:
    return best_api_throughput(lts_payload) / best_baseline_throughput(lts_payload)


@HigherBetter
@Format("{:,.2f}")
@KPIMetadata(help="API throughput of one client that waits for each answer", unit="requests/s")
def throughput_at_1(lts_payload: Any) -> Any:
    return known(at_concurrency(lts_payload.results.api, 1), "throughput at concurrency 1 (benchmark.log)").throughput


@HigherBetter
@IgnoredForRegression
@Format("{:.1%}")
@KPIMetadata(help="CPU load where the API throughput was best", unit="")
def cpu_at_best(lts_payload: Any) -> Any:
    return known(_best_api(lts_payload).cpu, "CPU load")


@HigherBetter
@IgnoredForRegression
@Format("{:.1%}")
@KPIMetadata(help="GPU load where the API throughput was best", unit="")
def gpu_at_best(lts_payload: Any) -> Any:
    return known(_best_api(lts_payload).gpu, "GPU load")


@HigherBetter
@Format("{:.2%}")
@KPIMetadata(help="Best API throughput over what the device could compute at most", unit="")
def share_of_maximum(lts_payload: Any) -> Any:
    results = lts_payload.results
    if results.theoretical_max is None:
        raise UnknownKPI(f"the theoretical maximum is unknown: {results.theoretical_max_unknown}")
    return best_api_throughput(lts_payload) / results.theoretical_max


def _best_api(lts_payload: Any) -> Any:
    return known(best(lts_payload.results.api), "throughput over concurrency (benchmark.log)")
