"""A load driver of one's own, and the workload that brings it: how often one client fetches a page in a second.

`matbench benchmark examples/fetches.yaml --run` measures with it.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, ClassVar

from matrix_benchmarking import kpi
from matrix_benchmarking.benchmark.load_driver import LoadDriver, LoadSection, Outcome, PointRun
from matrix_benchmarking.benchmark.processes import GuardedProcess
from matrix_benchmarking.workload import BaseStore, Workload

FETCH = """
import sys, time, urllib.request
began = time.monotonic()
for _ in range(int(sys.argv[1])):
    urllib.request.urlopen(sys.argv[2]).read()
print(int(sys.argv[1]) / (time.monotonic() - began))
"""


class Load(LoadSection):
    """What may stand below `load` in the benchmark file, beside `driver`."""

    page: str = "/"
    requests: int = 100


class Fetches(LoadDriver):
    """Fetches a page of the target again and again."""

    sections: ClassVar = {"load": Load}
    finds_throughput = True

    def run(self, run: PointRun) -> Outcome:
        load = self.plan.load_of(run.point)
        assert isinstance(load, Load)
        assert run.endpoint is not None
        command = [sys.executable, "-c", FETCH, str(load.requests), run.endpoint.url + load.page]
        log = run.directory / "rate.txt"
        status = run.measure("fetches", lambda: GuardedProcess(command, directory=run.directory, output=log))
        if status != 0:
            return Outcome(status or 1, problem=f"the page could not be fetched: {log.read_text()[-100:]}")
        return Outcome(0, throughput=float(log.read_text()))


def parse_once(results: SimpleNamespace, test_dir: Any) -> None:
    results.rate = float((test_dir / "rate.txt").read_text())


@kpi.HigherBetter
@kpi.KPIMetadata(help="Pages per second", unit="pages/s")
def rate(payload: Any) -> float:
    return float(payload.results.rate)


workload = Workload(
    name="fetches",
    store=BaseStore(
        parse_once=parse_once, important_files=["rate.txt"], models_kpis=kpi.collect(sys.modules[__name__])
    ),
    load_drivers={"fetches": lambda: Fetches},
)
