"""micro_bench: the KPIs of what small things cost, from the result files of the tools that developers use daily."""

import functools

from matrix_benchmarking import kpi, plausible
from matrix_benchmarking.models import Payload
from matrix_benchmarking.store import reader_store
from matrix_benchmarking.workload import RegressionKeys, Workload

from .readers import FIELDS, asv, criterion, fio, go_testing, google_benchmark, hyperfine, jmh, pytest_benchmark

READERS = [pytest_benchmark, google_benchmark, hyperfine, criterion, jmh, go_testing, fio, asv]

_time = functools.partial(kpi.field_kpi, unit="s", better="lower", format="{:,.4g}", divisor=1e-6, display_unit="µs")
_rate = functools.partial(kpi.field_kpi, better="higher", format="{:,.4g}")
_amount = functools.partial(kpi.field_kpi, better="lower", format="{:,.6g}")
_bytes = functools.partial(_amount, unit="bytes")

KPIS = [
    _time("time", help="Time of one operation, or of one run of a command", applies_to={"measure": [None, "time"]}),
    _rate(
        "rate",
        unit="1/s",
        help="Operations per second; with criterion the elements that a benchmark counts",
        applies_to={"measure": [None, "rate"]},
    ),
    _bytes(
        "memory",
        help="Memory at its peak, or of an object",
        divisor=1e6,
        display_unit="MB",
        applies_to={"measure": "memory"},
    ),
    _amount("tracked", help="A number that asv tracks, in the unit that it names", applies_to={"measure": "tracked"}),
    _time(
        "cpu_time",
        help="Processor time of one operation",
        ignored_for_regression=True,
        applies_to={"tool": ["google-benchmark", "hyperfine"]},
    ),
    _time("p99", help="99th percentile of the time of one operation", applies_to={"tool": ["JMH", "fio"]}),
    _rate(
        "bandwidth",
        unit="bytes/s",
        help="Bytes read, written or processed per second",
        divisor=1e6,
        display_unit="MB/s",
        ignored_for_regression=True,
        applies_to={"tool": ["criterion", "fio", "go", "google-benchmark"]},
    ),
    _bytes("allocated", help="Bytes allocated by one operation", applies_to={"tool": ["JMH", "go"]}),
    _amount("allocations", help="Allocations of one operation", applies_to={"tool": "go"}),
]


def implausible(lts_payload: Payload) -> list[str]:
    """Values that can't be, a sentence each."""
    found = {name: getattr(lts_payload.results, name, None) for name in FIELDS}
    known = {name: value for name, value in found.items() if plausible.is_number(value)}
    below = [f"{name} is {value:.6g}, and it can't be below 0" for name, value in known.items() if value < 0]
    return below or plausible.latencies(mean=known.get("time"), p99=known.get("p99"), unit="s", rounding=0, what="time")


SHORTEST = 1e-6
"""In s: a measurement that took less is of the clock rather than of the operations."""


def warnings(lts_payload: Payload) -> list[str]:
    """What a tool says that makes its numbers doubtful, and a time that no operation takes, or no clock measures."""
    time, done = (getattr(lts_payload.results, name, None) for name in ("time", "iterations"))
    found = [*getattr(lts_payload.results, "doubts", ()), *(["a time of 0 was not measured"] if time == 0 else [])]
    if plausible.is_number(time) and plausible.is_number(done) and 0 < time * done < SHORTEST:
        found.append(f"{time * done * 1e9:.3g} ns were measured in all, which is mostly the clock's own time")
    return found


workload = Workload(
    name="micro_bench",
    store=reader_store(READERS, models_kpis=kpi.collect(KPIS)),
    variant_keys=["command"],
    group_keys=["tool", "package", "benchmark", "aggregate"],
    implausible=implausible,
    warnings=warnings,
    regression=RegressionKeys(comparison_keys=["version"], sorting_keys=["tool", "benchmark"]),
)
