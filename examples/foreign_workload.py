"""A tree that a shell script left: runs of two tools, each a file `settings` of key=value lines beside `stdout`.

`seqread` prints a curve (`queue 8: 812.5 MB/s`), `ping` one number (`latency 0.42 ms`). A stopped run ends with
`TIMEOUT`. Each tool has a headline KPI of its own; that of the other doesn't apply to it.

    matbench visualize --workload=examples/foreign_workload.py --results-dirname=RESULTS --generate='report: Disks'
"""

import re

from matrix_benchmarking.kpi import collect, field_kpi
from matrix_benchmarking.plotting import Plot, PlotsReport, clicks, template
from matrix_benchmarking.store import BaseStore, KeyValueLayout, ignore_file_not_found, read_text
from matrix_benchmarking.workload import Workload

POINT = re.compile(r"^queue (\d+): ([\d.]+) MB/s$", re.MULTILINE)
LATENCY = re.compile(r"^latency ([\d.]+) ms$", re.MULTILINE)


class ScriptLayout(KeyValueLayout):
    """What tells that a run was stopped is at the end of what it printed."""

    def read_exit_code(self, test):
        try:
            return 124 if (test / self.beside).read_text(errors="replace").rstrip().endswith("TIMEOUT") else 0
        except OSError:
            return None


@ignore_file_not_found
def parse_once(results, test_dir):
    text = read_text(test_dir / "stdout")
    results.curve = {int(depth): float(rate) for depth, rate in POINT.findall(text)}
    results.peak = max(results.curve.values(), default=None)
    found = LATENCY.search(text)
    results.latency = float(found[1]) if found else None


peak = field_kpi(
    "peak",
    help="Highest rate over all queue depths",
    unit="MB/s",
    better="higher",
    format="{:,.1f}",
    applies_to={"tool": "seqread"},
)
latency = field_kpi("latency", help="Mean time of an answer", unit="ms", better="lower", applies_to={"tool": "ping"})


class RateOverDepth(Plot):
    """A line a disk."""

    name = "Rate over queue depth"
    kpis = ("peak",)

    def draw(self, view):
        import pandas
        import plotly.express as px

        rows = [
            {"disk": template.text(run.settings["disk"]), "depth": depth, "rate": rate, "run": run.test_uuid}
            for run in view.runs
            if not run.failed
            for depth, rate in getattr(run.results, "curve", {}).items()
        ]
        if not rows:
            return None, "No run has a curve."
        means = pandas.DataFrame(rows).groupby(["disk", "depth"], as_index=False).agg({"rate": "mean", "run": "first"})
        labels = {"depth": "queue depth", "rate": "rate (MB/s)"}
        figure = px.line(means, x="depth", y="rate", color="disk", custom_data=["run"], markers=True, labels=labels)
        best = means.loc[means["rate"].idxmax()]
        said = (
            f"The highest mean is that of {best['disk']}: {best['rate']:,.1f} MB/s at a queue depth of {best['depth']}."
        )
        return template.apply(clicks.plain(figure)), template.plain(said)


class LatencyByDisk(Plot):
    """A bar a disk: the mean of its runs."""

    name = "Latency by disk"
    kpis = ("latency",)

    def draw(self, view):
        import plotly.express as px

        (kpi,) = view.kpis
        frame = view.frame()
        known = frame.dropna(subset=[kpi.name]) if kpi.name in frame else frame[:0]
        if known.empty:
            return None, "No run has a latency."
        means = known.groupby("disk")[kpi.name].mean()
        labels = {"x": "disk", "y": f"latency ({kpi.unit})"}
        figure = px.bar(x=list(map(template.text, means.index)), y=list(means), labels=labels)
        return template.apply(figure), [f"{disk}: {kpi.show(mean)}" for disk, mean in means.items()]


class Disks(PlotsReport):
    """Both tools."""

    name = "report: Disks"
    description = "What the disks deliver, and how fast they answer."
    plots = (RateOverDepth, LatencyByDisk)


workload = Workload(
    name="disks",
    store=BaseStore(
        layouts=[ScriptLayout()],
        parse_once=parse_once,
        important_files=["stdout"],
        models_kpis=collect(),
    ),
    group_keys=["tool"],
    variant_keys=["disk"],
    reports=[Disks],
)
