"""my_bench: how fast a digest is, for each algorithm and block size. CHANGE marks what is yours to change."""

import statistics
from types import SimpleNamespace

from matrix_benchmarking.kpi import collect, field_kpi
from matrix_benchmarking.store import BaseStore, TestDirectory, ignore_file_not_found, read_json
from matrix_benchmarking.workload import MinimumEffect, RegressionKeys, Workload

MEASURED = "000__script/stdout.log"  # what measure.py printed


# CHANGE: what is read from the directory of a run. One without the file is still shown.
@ignore_file_not_found
def parse_once(results: SimpleNamespace, test_dir: TestDirectory) -> None:
    measured = read_json(test_dir / MEASURED)
    results.block_us = statistics.median(measured["seconds"]) / measured["blocks"] * 1e6
    results.mb_per_s = measured["block_bytes"] / results.block_us


# CHANGE: the KPIs, each a field of the results. By the first one the best is chosen.
throughput = field_kpi(
    "mb_per_s", help="10⁶ bytes hashed per second of processor time", unit="MB/s", better="higher", format="{:,.0f}"
)
block_time = field_kpi(
    "block_us", help="Time to hash one block, in the median round", unit="µs", better="lower", format="{:.2f}",
    ignored_for_regression=True,  # it says the same as the throughput: one alarm is enough
)  # fmt: skip

# CHANGE: which settings name a variant, within which ones runs are comparable, which one orders the history, and what a
# change has to reach: a fifth, as a machine that others use drifts. One of your own may tell 2 % (0.02).
workload = Workload(
    name="my_bench",
    store=BaseStore(parse_once=parse_once, important_files=[MEASURED], models_kpis=collect()),
    variant_keys=["algorithm"],
    group_keys=["block_bytes"],
    regression=RegressionKeys(comparison_keys=["version"], minimum_effects={"throughput": MinimumEffect(0.2)}),
)
