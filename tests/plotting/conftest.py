"""A small workload with tests of every state, and hostile text in all places where text comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking import kpi
from matrix_benchmarking.matrix import Entry, Matrix, Problem, SettingLists, Variables
from matrix_benchmarking.plotting import Plot, Report
from matrix_benchmarking.workload import BaseStore, Workload

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(1)">'


@kpi.LowerBetter
@kpi.Format("{:.2f}")
@kpi.KPIMetadata(help=f"Cost {HOSTILE}", unit="USD")
def cost(lts: Any) -> Any:
    return lts.results.cost


@kpi.HigherBetter
@kpi.KPIMetadata(help="Answers per second", unit="1/s")
def speed(lts: Any) -> Any:
    return lts.results.speed


class CostByImage(Plot):
    """A figure with hostile text in its axis, legend and hover text."""

    name = f"Cost by image {HOSTILE}"

    def do_plot(
        self,
        ordered_vars: list[str],
        settings: dict[str, Any],
        setting_lists: SettingLists,
        variables: Variables,
        cfg: Any,
    ) -> tuple[Any, Any]:
        import plotly.express as px

        from matrix_benchmarking.plotting import template

        entries = list(self.matrix.all_records(settings, setting_lists))
        images = [template.text(entry.settings["image"]) for entry in entries]
        figure = px.bar(x=images, y=[entry.kpis.get("cost") for entry in entries], color=images)
        return template.apply(figure), f"Concluding {HOSTILE}"


class CostReport(Report):
    """A workload's own report."""

    name = "report: Costs"
    description = "What it costs."

    def do_plot(
        self,
        ordered_vars: list[str],
        settings: dict[str, Any],
        setting_lists: SettingLists,
        variables: Variables,
        cfg: Any,
    ) -> list[Any]:
        return self.Plot_and_Text(CostByImage.name, (ordered_vars, settings, setting_lists, variables, cfg))


@pytest.fixture
def workload() -> Workload:
    return Workload(
        name="toy",
        store=BaseStore(parse_once=lambda results, test_dir: None, models_kpis=kpi.collect([cost, speed])),
        variant_keys=("image",),
        plots=lambda: [CostByImage],
        reports=lambda: [CostReport],
    )


@pytest.fixture
def matrix(tmp_path: Path) -> Matrix:
    """Nine tests: three repeated, one failed, one unfinished, one hostile in all of its text."""
    results = tmp_path / "results"
    entries = [
        *(_entry(results, "good", vus, repeat, 10.0 + vus + repeat / 5) for vus in (1, 2) for repeat in range(3)),
        _entry(results, HOSTILE, 4, 0, 40.0, warnings=(f"3 requests failed {HOSTILE}",)),
        _entry(results, "bad", 1, 0, None, exit_code=7, problems=(Problem(f"cut off {HOSTILE}", "log.txt"),)),
    ]
    log = entries[-1].location / "<script>alert(1)<img src=x>.log"
    log.write_text(f"started\n{HOSTILE}\n", encoding="utf-8")
    unfinished = [
        _entry(
            results,
            "late",
            1,
            0,
            None,
            exit_code=None,
            finished=False,
            problems=(Problem("did not finish: there is no exit code"),),
        )
    ]
    return Matrix(entries, unfinished=unfinished, notes=[f"skipped {HOSTILE}"])


def _entry(results: Path, image: str, vus: int, repeat: int, value: float | None, **others: Any) -> Entry:
    name = f"{image.replace('/', '_')}-{vus}-{repeat}"
    location = results / name
    location.mkdir(parents=True)
    kpis = {} if value is None else {"cost": value, "speed": 1000 / value}
    return Entry(
        settings={"image": image, "vus": vus},
        repeat=repeat,
        location=location,
        name=name,
        kpis=kpis,
        missing_kpis={} if kpis else {"cost": f"no log {HOSTILE}", "speed": "no log"},
        missing_files=() if kpis else (f"log {HOSTILE}.txt",),
        **{"exit_code": 0, **others},
    )
