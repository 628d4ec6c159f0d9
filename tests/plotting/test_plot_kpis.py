"""What the winner gives up by other KPIs, by values that are computed by hand."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
import toy_runs

from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.report_kpis import KPISpreads, spreads_of
from matrix_benchmarking.plotting.static_html import StaticHTML


def drawn(*runs: dict[str, Any]) -> tuple[Any, str]:
    study = Study(Matrix([toy_runs.entry(run, number) for number, run in enumerate(runs)]), toy_runs.workload())
    figure, (said,) = KPISpreads(catalogue_of(study)).of(study.best.compared[0])
    return figure, said


RUNS = (
    {"size": 1, "cost": 10.0, "rate": 50.0, "memory": 7.0},
    {"size": 2, "cost": 12.0, "rate": 100.0, "memory": 7.2},
    {"size": 4, "cost": 40.0, "rate": 25.0, "memory": 28.0},
)


def test_each_kpi_reaches_from_its_best_point_to_its_worst_whichever_way_is_better() -> None:
    study = Study(Matrix([toy_runs.entry(run, number) for number, run in enumerate(RUNS)]), toy_runs.workload())
    found, without = spreads_of(study.best.compared[0], study.workload.kpis)
    assert {one.kpi.name: (one.winner, one.worst) for one in found} == {
        "cost": (1.0, 4.0),
        "rate": (2.0, 4.0),
        "memory": (1.0, 4.0),
    }
    assert (found[1].quarter, found[1].three_quarters) == pytest.approx((1.5, 3.0))  # of 1, 2 and 4
    assert without == []


def test_the_winner_is_as_good_by_some_kpis_and_gives_up_others() -> None:
    figure, said = drawn(*RUNS)
    assert said == "The best by cost is within 5 % of the best by memory. It is worse by others: rate 2 times."
    assert list(figure.data[2].x) == [1.0, 2.0, 1.0]
    assert list(figure.layout.yaxis.ticktext) == ["cost", "rate", "memory"]


def test_a_kpi_with_values_of_zero_has_no_ratio_and_is_named() -> None:
    figure, said = drawn(*({**run, "memory": 0.0} for run in RUNS))
    assert said.endswith("Not drawn, for values that aren't above 0: memory.")
    assert list(figure.layout.yaxis.ticktext) == ["cost", "rate"]


def test_a_headline_alone_is_said_by_its_reach() -> None:
    _, said = drawn(*({"size": run["size"], "cost": run["cost"]} for run in RUNS))
    assert said == "cost is up to 4 times worse than at its best point."
    _, said = drawn(*({"size": run["size"], "cost": 10.0 + run["cost"] / 100.0} for run in RUNS))
    assert said == "cost is within 5 % of its best at all points."


def test_a_kpi_that_the_winner_lacks_is_drawn_without_its_star() -> None:
    figure, _ = drawn({"size": 1, "cost": 10.0}, *RUNS[1:])
    assert list(figure.layout.yaxis.ticktext) == ["cost", "rate", "memory"]
    assert list(figure.data[2].y) == [0]


def test_groups_of_one_point_are_the_rows_of_one_table() -> None:
    def shown(*benches: str) -> str:
        runs = [{**run, "bench": bench} for run, bench in zip([*RUNS, *RUNS], benches, strict=False)]
        entries = Matrix([toy_runs.entry(run, number) for number, run in enumerate(runs)])
        found = catalogue_of(Study(entries, dataclasses.replace(toy_runs.workload(), group_keys=("bench",))))
        return StaticHTML().render(found.page("report: KPI overview").do_plot(*found.arguments()))

    page = shown("sort", "sort", "join", "merge")
    assert re.findall("<h2[^>]*>(.*?) <a", page) == [
        "KPIs: bench sort",
        "Values at each point: bench sort",
        "Groups of one point",
    ]
    alone = page[page.rindex("Groups of one point") :]
    assert [re.search(f"<td[^>]*>{bench}</td>", alone) is not None for bench in ("sort", "join", "merge")] == [
        False,
        True,
        True,
    ]
    assert ">size" in alone  # which all of them have
    assert "Groups of one point" not in shown("sort")  # nothing stands beside it
