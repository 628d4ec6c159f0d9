"""The serving_bench workload: throughput of a server over concurrency beside that of its model over batch size."""

import re

from matrix_benchmarking import kpi
from matrix_benchmarking.store import BaseStore, ignore_file_not_found, read_text
from matrix_benchmarking.workload import Workload

BASELINE = re.compile(r"^Batch size (\d+): ([\d.]+) reqs/sec", re.MULTILINE)
API = re.compile(r"^Concurrency (\d+): ([\d.]+) reqs/sec", re.MULTILINE)


def parse_once(results, test_dir):
    log = _read_log(test_dir) or ""
    results.baseline = [(int(size), float(rate)) for size, rate in BASELINE.findall(log)]
    results.api = [(int(clients), float(rate)) for clients, rate in API.findall(log)]


@ignore_file_not_found
def _read_log(test_dir):
    return read_text(test_dir / "benchmark.log")


def _best(curve):
    if not curve:
        raise kpi.UnknownKPI("not measured")
    return max(rate for _, rate in curve)


@kpi.HigherBetter
@kpi.Format("{:,.1f}")
@kpi.KPIMetadata(help="Best throughput through the API, over all concurrencies", unit="requests/s")
def best_api_throughput(lts_payload):
    return _best(lts_payload.results.api)


@kpi.HigherBetter
@kpi.Format("{:.1%}")
@kpi.KPIMetadata(help="Best throughput through the API over the best without it", unit="")
def serving_efficiency(lts_payload):
    return best_api_throughput(lts_payload) / _best(lts_payload.results.baseline)


workload = Workload(
    name="serving_bench",
    store=BaseStore(
        parse_once=parse_once,
        important_files=["benchmark.log"],
        models_kpis=kpi.collect([best_api_throughput, serving_efficiency]),
    ),
    variant_keys=["experiment", "server"],
    group_keys=["num_requests"],
)
