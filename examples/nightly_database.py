"""A workload for nightly runs that another service has kept: one JSON file of all of them, as Nyrkiö exports it.

`import_runs` makes a results tree of the file, a test directory a night. Each run is of a commit, which only its time
puts in order. benchmarks/README.md shows which changes are found in a year of a database's nights:

    python examples/nightly_database.py tigerbeetle.json results/nightly
    matbench upload_lts --workload=examples/nightly_database.py --results-dirname=results/nightly --history=sqlite:///nightly.db
    matbench analyze_lts --workload=examples/nightly_database.py --history=sqlite:///nightly.db
"""

import datetime as dt
import json
import sys
from pathlib import Path

from matrix_benchmarking import kpi
from matrix_benchmarking.store import BaseStore, read_json
from matrix_benchmarking.workload import RegressionKeys, Workload

METRICS = "metrics.json"


def import_runs(exported: Path, destination: Path) -> int:
    """Make a test directory of each run in the file *exported*; how many there are."""
    runs = json.loads(exported.read_text(encoding="utf-8"))
    for run in runs:
        at = dt.datetime.fromtimestamp(run["timestamp"], dt.UTC)
        directory = destination / at.strftime("%Y-%m-%dT%H%M%S")
        directory.mkdir(parents=True, exist_ok=True)
        commit, branch = run["attributes"]["git_commit"], run["attributes"]["branch"]
        (directory / "settings.yaml").write_text(f'commit: "{commit}"\nbranch: "{branch}"\n', encoding="utf-8")
        times = {"start": at.isoformat(), "end": at.isoformat()}
        (directory / "test_start_end.json").write_text(json.dumps(times), encoding="utf-8")
        values = {metric["name"]: metric["value"] for metric in run["metrics"]}
        (directory / METRICS).write_text(json.dumps(values), encoding="utf-8")
        (directory / "exit_code").write_text("0\n", encoding="utf-8")
    return len(runs)


def parse_once(results, test_dir):
    results.metrics = read_json(test_dir / METRICS)


def measured(name, unit, direction, help):
    """The KPI *name* as the file has it."""

    @direction
    @kpi.Format("{:,.1f}")
    @kpi.KPIMetadata(name=name, help=help, unit=unit)
    def function(lts_payload):
        return lts_payload.results.metrics[name]

    return function


KPIS = [
    measured("load_accepted", "tx/s", kpi.HigherBetter, "Transactions a second"),
    measured("batch_p50", "ms", kpi.LowerBetter, "Median time of a batch"),
    measured("batch_p90", "ms", kpi.LowerBetter, "90th percentile of the time of a batch"),
    measured("transfer_p50", "ms", kpi.LowerBetter, "Median time of a transfer"),
    measured("transfer_p90", "ms", kpi.LowerBetter, "90th percentile of the time of a transfer"),
    measured("duration", "s", kpi.LowerBetter, "Time of the whole run"),
]

workload = Workload(
    name="nightly_database",
    store=BaseStore(parse_once=parse_once, important_files=[METRICS], models_kpis=kpi.collect(KPIS)),
    regression=RegressionKeys(comparison_keys=["commit"]),
)

if __name__ == "__main__":
    print(f"{import_runs(Path(sys.argv[1]), Path(sys.argv[2]))} runs")
