"""micro_bench: the KPIs of what small things cost, from the result files of seven tools."""

from collections.abc import Callable
from typing import Any

from matrix_benchmarking import kpi
from matrix_benchmarking.store import reader_store
from matrix_benchmarking.workload import RegressionKeys, Workload

from .readers import criterion, fio, go_testing, google_benchmark, hyperfine, jmh, pytest_benchmark

READERS = [pytest_benchmark, google_benchmark, hyperfine, criterion, jmh, go_testing, fio]

Function = Callable[[Any], float]


def _given(name: str, unit: str, help: str, *decorators: Callable[[Function], Function]) -> Function:
    """A KPI that is a field of the results."""

    def given(lts_payload: Any) -> float:
        return float(kpi.known(getattr(lts_payload.results, name, None), f"the {name.replace('_', ' ')}"))

    described: Function = kpi.KPIMetadata(help=help, unit=unit, name=name)(given)
    for decorator in decorators:
        described = decorator(described)
    return described


_US = kpi.FormatDivisor(1e-6, unit="µs", format="{:,.4g}")
_MB = kpi.FormatDivisor(1e6, unit="MB/s", format="{:,.4g}")
_LOWER, _HIGHER, _NOT_JUDGED = kpi.LowerBetter, kpi.HigherBetter, kpi.IgnoredForRegression

KPIS = [
    _given("time", "s", "Time of one operation, or of one run of a command", _LOWER, _US),
    _given("rate", "1/s", "Operations per second", _HIGHER, kpi.Format("{:,.4g}")),
    _given("cpu_time", "s", "Processor time of one operation", _LOWER, _NOT_JUDGED, _US),
    _given("p99", "s", "99th percentile of the time of one operation", _LOWER, _US),
    _given("bandwidth", "bytes/s", "Bytes read, written or processed per second", _HIGHER, _NOT_JUDGED, _MB),
    _given("allocated", "bytes", "Bytes allocated by one operation", _LOWER, kpi.Format("{:,.6g}")),
    _given("allocations", "", "Allocations of one operation", _LOWER, kpi.Format("{:,.6g}")),
]

workload = Workload(
    name="micro_bench",
    store=reader_store(READERS, models_kpis=kpi.collect(KPIS)),
    group_keys=["tool", "benchmark"],
    regression=RegressionKeys(comparison_keys=["version", "commit"], sorting_keys=["tool", "benchmark"]),
)
