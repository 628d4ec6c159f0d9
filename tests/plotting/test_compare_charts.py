"""The pictures of a comparison: its rows, its axis, and the runs behind it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from plotting_support.app_support import elements
from plotting_support.toy_costs import sweep, toy_costs

from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting import compare_charts
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.workload import MinimumEffect, RegressionKeys, Workload


@pytest.fixture
def toy() -> Workload:
    return toy_costs()


def graphs(page: Any) -> list[Any]:
    return [each.figure for each in elements(page, "Graph")]


def axis_and_marks(workload: Workload, factors: dict[int, float]) -> tuple[Any, dict[int, float]]:
    """The axis of image b against a, which costs so many times as much at so many vus, and where each stands."""
    old = [run for run in sweep("a", 1.0) if run.settings["vus"] in factors]
    new = [
        dataclasses.replace(run, kpis={**run.kpis, "cost": run.kpis["cost"] * factor})
        for vus, factor in factors.items()
        for run in sweep("b", 1.0)
        if run.settings["vus"] == vus
    ]
    catalogue = catalogue_of(Study(Matrix([*old, *new]), workload))
    forest = graphs(catalogue.page("report: Compare").do_plot(*catalogue.arguments()))[0]
    labels = [text.replace("\xa0", " ").split(" ") for text in forest.layout.yaxis.ticktext]
    marks = {
        int(labels[place][-1]): x
        for trace in forest.data
        if trace.y
        for x, place in zip(trace.x, trace.y, strict=True)
        if labels[place][0] == "cost"
    }
    return forest.layout.xaxis, marks


def test_a_fourfold_cost_and_a_quarter_of_it_lie_as_far_from_no_change(toy: Workload) -> None:
    axis, marks = axis_and_marks(toy, {1: 4.0, 4: 0.25})
    assert marks[1] == pytest.approx(-marks[4])
    assert axis.ticktext == ("0 %", "+100 %", "−50 %", "+300 %", "−75 %")
    more, less = marks[1], marks[4]
    assert axis.tickvals == pytest.approx([0.0, more / 2, less / 2, more, less])
    assert axis.title.text == "change (logarithmic), 95 % intervals"


def test_changes_below_a_doubling_are_in_per_cent_on_a_linear_axis(toy: Workload) -> None:
    axis, marks = axis_and_marks(toy, {1: 1.5, 4: 0.5})
    assert [marks[1], marks[4]] == pytest.approx([50.0, -50.0])
    assert (axis.ticksuffix, axis.ticktext) == (" %", None)


def test_what_falls_to_nothing_has_a_place_on_the_axis(toy: Workload) -> None:
    axis, marks = axis_and_marks(toy, {1: 4.0, 4: 1e-9})
    assert axis.range[0] < marks[4] == compare_charts._log_place(-1.0)


def test_the_forest_has_a_row_a_series_and_the_runs_of_a_round_are_joined(toy: Workload) -> None:
    catalogue = catalogue_of(Study(Matrix([*sweep("a", 1.0), *sweep("b", 0.5)]), toy))
    report = catalogue.page("report: Compare")
    made = report.do_plot(*catalogue.arguments())
    found = graphs(made)
    forest, runs = found[0], found[1:]
    assert len(forest.layout.yaxis.ticktext) == 6
    better = next(trace for trace in forest.data if trace.name == "better")
    assert [round(x) for x in better.x] == [-50, -50, -50]
    assert len(runs) == 6
    for figure in runs:
        assert len([trace for trace in figure.data if trace.mode == "lines"]) == 3
        assert [len(trace.x) for trace in figure.data if trace.mode == "markers"] == [3, 3]


def test_what_the_headline_says_is_drawn_first_and_a_change_is_as_large_as_often_it_reaches_its_minimum(
    toy: Workload,
) -> None:
    few = sweep("b", 0.5, right=0.999)[:6]
    many = sweep("b", 0.4, right=0.95)[6:]
    runs = [*sweep("a", 1.0), *few, *many]
    regression = RegressionKeys(minimum_effects={"fidelity": MinimumEffect(0.0001)})
    catalogue = catalogue_of(Study(Matrix(runs), dataclasses.replace(toy, regression=regression)))
    forest = graphs(catalogue.page("report: Compare").do_plot(*catalogue.arguments()))[0]
    drawn = [text.replace("\xa0", " ").split(" ") for text in forest.layout.yaxis.ticktext]
    assert [(kpi, vus) for kpi, *_, vus in drawn] == [
        *(("cost", "4"), ("cost", "1"), ("cost", "2")),
        *(("fidelity", "4"), ("fidelity", "1"), ("fidelity", "2")),
    ]


def test_what_can_not_be_told_has_a_name_and_no_interval_and_one_campaign_without_rounds_joins_nothing(
    toy: Workload,
) -> None:
    runs = [dataclasses.replace(run, round=None) for run in (*sweep("a", 1.0), *sweep("b", 0.5))]
    catalogue = catalogue_of(Study(Matrix(runs), toy))
    made = catalogue.page("report: Compare").do_plot(*catalogue.arguments())
    forest, *others = graphs(made)
    assert forest.layout.xaxis.title.text == "change"
    (untold,) = (trace for trace in forest.data if trace.name == "can't be told")
    assert untold.showlegend
    assert {*untold.error_x.array, *untold.error_x.arrayminus} == {0.0}
    assert all(trace.mode == "markers" for figure in others for trace in figure.data)
    assert "lines join" not in StaticHTML().render(made)
