"""my_bench: how fast a digest is, for each algorithm and block size. CHANGE marks what is yours to change."""

import statistics
from types import SimpleNamespace
from typing import Any

from matrix_benchmarking import kpi
from matrix_benchmarking.store import BaseStore, TestDirectory, ignore_file_not_found, read_json
from matrix_benchmarking.workload import MinimumEffect, RegressionKeys, Workload

MEASURED = "000__script/stdout.log"  # what measure.py printed


# CHANGE: what is read from the directory of a run.
def parse_once(results: SimpleNamespace, test_dir: TestDirectory) -> None:
    results.measured = _parse_measured(test_dir)


@ignore_file_not_found  # a run without the file has None here, and is still shown
def _parse_measured(test_dir: TestDirectory) -> Any:
    return read_json(test_dir / MEASURED)


# CHANGE: the KPIs. By the first one that is collected below, the best configuration is chosen.
@kpi.HigherBetter
@kpi.FormatDivisor(1e6, unit="MB/s", format="{:,.0f}")
@kpi.KPIMetadata(help="Bytes hashed per second of processor time", unit="bytes/s")
def throughput(lts_payload: Any) -> float:
    return float(lts_payload.results.measured["block_bytes"] / block_time(lts_payload))


@kpi.LowerBetter
@kpi.IgnoredForRegression  # it says the same as the throughput: one alarm is enough
@kpi.FormatDivisor(1e-6, unit="µs", format="{:.2f}")
@kpi.KPIMetadata(help="Processor time to hash one block, in the median round", unit="s")
def block_time(lts_payload: Any) -> float:
    measured = lts_payload.results.measured
    return float(statistics.median(measured["seconds"]) / measured["blocks"])


@kpi.LowerBetter
@kpi.IgnoredForRegression
@kpi.FormatDivisor(0.01, unit="%", format="{:.1f}")
@kpi.KPIMetadata(help="How much longer the slowest round took than the fastest one, as a fraction", unit="")
def spread(lts_payload: Any) -> float:
    seconds = lts_payload.results.measured["seconds"]
    return float(max(seconds) / min(seconds) - 1)


# CHANGE: which settings name a variant, within which ones runs are comparable, which one orders the history, and what a
# change has to reach: a fifth, as a machine that others use drifts. One of your own may tell 2 % (0.02).
workload = Workload(
    name="my_bench",
    store=BaseStore(
        parse_once=parse_once, important_files=[MEASURED], models_kpis=kpi.collect([throughput, block_time, spread])
    ),
    variant_keys=["algorithm"],
    group_keys=["block_bytes"],
    regression=RegressionKeys(comparison_keys=["version"], minimum_effects={"throughput": MinimumEffect(0.2)}),
)
