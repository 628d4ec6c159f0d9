"""The page on the best configuration, with and without a limit."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from plotting_support.analyses import series, toy_workload, versions

from matrix_benchmarking import kpi
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.plot_ranking import LOOKS
from matrix_benchmarking.plotting.report_best import _kinds, verdict_box
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.plotting.tables import html
from matrix_benchmarking.runs.answers import BestAnswer
from matrix_benchmarking.workload import BaseStore, Workload


@kpi.LowerBetter
@kpi.Format("{:.2f}")
@kpi.KPIMetadata(help="What it costs", unit="USD")
def cost(lts: Any) -> Any:
    return lts.cost


@kpi.LowerBetter
@kpi.Format("{:.1f}")
@kpi.KPIMetadata(help="Slow answers", unit="ms")
def p95(lts: Any) -> Any:
    return lts.p95


@pytest.fixture
def toy() -> Workload:
    store = BaseStore(parse_once=lambda results, test_dir: None, models_kpis=kpi.collect([cost, p95]))
    return Workload(name="toy", store=store, limit_kpi="p95", variant_keys=("image",))


def entry(image: str, vus: int, price: float, wait: float | None, repeat: int = 0) -> Entry:
    return Entry(
        settings={"image": image, "vus": vus},
        repeat=repeat,
        location=Path("/results") / f"{image}-{vus}-{repeat}",
        name=f"{image}-{vus}-{repeat}",
        exit_code=0,
        kpis={"cost": price} if wait is None else {"cost": price, "p95": wait},
    )


POINTS = [entry("a", 1, 40.0, 8.0), entry("a", 2, 30.0, 55.0), entry("b", 4, 20.0, 180.0), entry("b", 8, 50.0, None)]


def text(workload: Workload, *entries: Entry, **cfg: Any) -> str:
    catalogue = catalogue_of(Study(Matrix(entries), workload))
    page = StaticHTML().render(catalogue.page("report: Best configuration").do_plot(*catalogue.arguments(cfg)))
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", page))


def test_without_a_limit_the_page_says_what_the_best_satisfies_and_what_each_limit_costs(toy: Workload) -> None:
    shown = text(toy, *POINTS)
    assert "Cheapest by cost: b at vus 4: 20.00 USD" in shown
    assert "Its p95 is 180.0 ms in one run, so its bound is unknown: repeat it." in shown
    line = (
        "The line is the best that keeps each limit: from 40.00 USD (+100 %) at a p95 of at most 8.0 ms to 20.00 USD at"
    )
    assert f"{line} 180.0 ms." in shown


def test_with_a_limit_verdict_variants_and_ranking_are_of_the_points_within(toy: Workload) -> None:
    shown = text(toy, *POINTS, limit=100)
    assert "Cheapest under 100 ms p95 by cost: a at vus 2: 30.00 USD" in shown
    assert (
        "its bound is unknown: repeat it. Of 4 points 2 keep the limit, 1 is beyond it, of 1 p95 is unknown. 1 run "
        "can&#x27;t take part (1 × p95 is unknown" in shown
    )
    ranking = shown[shown.index("All points by cost") : shown.index("Runs that take no part")]
    assert "in all: image a" in ranking
    assert "1 40.00" in ranking
    assert "20.00" not in ranking
    assert "from 40.00 USD (+100 %) at a p95 of at most 8.0 ms" in shown  # the picture is still of all points


def test_a_limit_is_shown_as_one_that_the_point_keeps(toy: Workload) -> None:
    shown = text(toy, entry("a", 1, 40.0, 8.01), entry("a", 2, 30.0, 50.04))
    assert "at a p95 of at most 8.1 ms to 30.00 USD at 50.1 ms" in shown


def test_better_points_of_which_no_bound_is_known_are_said(toy: Workload) -> None:
    sure = [entry("a", 1, 40.0 + at, 8.0 + at / 10, at) for at in range(3)]
    near = [entry("a", 4, 20.0 + at, 180.0 + 9 * at, at) for at in range(3)]
    shown = text(toy, *sure, *near, entry("a", 2, 30.0, 55.0), entry("a", 8, 10.0, 7.0))
    assert "keeps each limit with 95 %" in shown
    assert "Of 1 better point no bound is known: repeat it." in shown
    assert "no bound is known" not in text(toy, *sure, *near)


def test_an_impossible_limit_is_a_sentence(toy: Workload) -> None:
    assert "No point is under 5 ms p95: the lowest is 8.0 ms, of a at vus 1, for 40.00 USD." in text(
        toy, *POINTS, limit=5
    )


def test_the_limit_is_a_control_where_there_is_something_to_limit(toy: Workload) -> None:
    def controls(*entries: Entry) -> list[str]:
        return [
            control.name
            for control in catalogue_of(Study(Matrix(entries), toy)).page("report: Best configuration").controls()
        ]

    assert controls(*POINTS) == ["limit"]
    assert controls(POINTS[-1]) == controls() == []
    assert "No point is under 3 ms p95: p95 isn&#x27;t known for any." in text(toy, POINTS[-1], limit=3)
    (limit,) = catalogue_of(Study(Matrix(POINTS), toy)).page("report: Best configuration").controls()
    with pytest.raises(ConfigError, match="limit: -1 is below 0"):
        limit.read("-1")


def test_the_verdict_with_a_limit_stands_by_itself(toy: Workload) -> None:
    box = StaticHTML().render(verdict_box(Study(Matrix(POINTS), toy).under(60)))
    assert "Cheapest under 60 ms p95 by cost: a at vus 2" in box


def test_groups_of_one_point_are_one_table_without_a_best(toy: Workload) -> None:
    grouped = dataclasses.replace(toy, group_keys=("image",), variant_keys=())
    page = text(grouped, entry("a", 1, 40.0, 8.0), entry("b", 1, 20.0, 9.0), entry("c", 1, 30.0, 7.0))
    assert page.count("Groups of one point, in which nothing is compared") == 1
    assert "Difference" not in page
    assert all(said in page for said in ("40.00", "20.00", "30.00"))
    compared = entry("a", 2, 41.0, 8.0)
    study = Study(Matrix([compared, *(entry(image, 1, 40.0, 8.0) for image in "abcd")]), grouped)
    assert "3 other groups" in StaticHTML().render(verdict_box(study, is_brief=True))


def test_what_may_change_the_answer_is_not_folded_away(toy: Workload) -> None:
    study = Study(Matrix(POINTS), toy)
    for look, is_seen in (("warning", True), ("note", False)):
        shown = StaticHTML().render(verdict_box(study, check=html.P("1 of which changes this answer", className=look)))
        assert ("changes this answer" in shown.partition("<details>")[0]) == is_seen
        assert shown.count("changes this answer") == 1
    without = [
        dataclasses.replace(one, kpis={"p95": 5.0}, missing_kpis={"cost": "no price is known"}) for one in POINTS
    ]
    unpriced = dataclasses.replace(toy, headline_kpi="cost", headline_fallbacks=("p95",))
    shown = StaticHTML().render(verdict_box(Study(Matrix(without), unpriced)))
    assert "No run has cost: no price is known." in shown.partition("<details>")[0]


def test_the_pictures_show_who_may_be_the_best_and_the_limit_and_say_so(toy: Workload) -> None:
    catalogue = catalogue_of(Study(Matrix(POINTS), toy).under(60))
    figure, (said,) = catalogue.plot("Ranking").draw(catalogue.arguments())
    kinds = {trace.name: len(trace.x) for trace in figure.data}
    assert kinds["best"] == 1
    assert set(kinds) <= set(LOOKS)
    assert said.startswith("Nothing was repeated")
    lead, drawn = catalogue.plot("Best under a limit").part(catalogue.arguments()).make()
    assert lead.children.startswith("The line is the best that keeps each limit")
    assert drawn.role == "figure"
    assert drawn.to_plotly_json()["props"]["aria-label"] == f"Best under a limit: {lead.children}"
    (line,) = drawn.children.figure.layout.shapes
    assert (line.x0, line.label.text) == (60, "limit 60 ms")
    assert drawn.children.config == {"edits": {"shapePosition": True}}


def test_where_no_point_keeps_the_limit_the_picture_to_drag_it_stays(toy: Workload) -> None:
    catalogue = catalogue_of(Study(Matrix(POINTS), toy).under(5))
    renderer = StaticHTML()
    renderer.render(catalogue.page("report: Best configuration").do_plot(*catalogue.arguments()))
    (figure,) = renderer.figures
    assert figure.figure.layout.shapes[0].label.text == "limit 5 ms"


def test_the_ranking_counts_all_points_and_says_how_many_it_shows(toy: Workload) -> None:
    repeated = [
        entry("a", vus, 10.0 * vus * noise, 10.0, repeat)
        for vus in range(1, 31)
        for repeat, noise in enumerate((0.999, 1.0, 1.001))
    ]
    catalogue = catalogue_of(Study(Matrix(repeated), toy))
    figure, (said,) = catalogue.plot("Ranking").draw(catalogue.arguments())
    shown = sum(len(trace.x) for trace in figure.data)
    assert shown < 30
    assert "1 point may be the best, 29 are worse." in said
    assert f"Shown are {shown} of 30, the best of each variant among them." in said


def test_without_a_limited_kpi_the_plot_says_so(toy: Workload) -> None:
    catalogue = catalogue_of(Study(Matrix(POINTS), dataclasses.replace(toy, limit_kpi=None)))
    figure, said = catalogue.plot("Best under a limit").draw(catalogue.arguments())
    assert figure is None
    assert said == "This workload has no KPI to limit, so there is no limit to set."


@pytest.mark.parametrize(
    ("warning", "said"),
    [
        ("at the most (32): more may do better (all 3 runs)", "at the most (32)"),
        ("at the most (32): more may do better (1 of 3 runs: repeat 2)", "at the most (32) (1 of 3 runs)"),
        ("at the most (32): more may do better", "at the most (32)"),
        ("late (2 of 3 runs: repeats 0, 1)", "late (2 of 3 runs)"),
    ],
)
def test_a_table_says_of_how_many_runs_a_warning_is(warning: str, said: str) -> None:
    assert _kinds([warning]) == said


def test_the_table_of_variants_says_where_runs_failed(toy: Workload) -> None:
    lost = [dataclasses.replace(entry("b", 4, 1.0, None, repeat), exit_code=1, kpis={}) for repeat in (1, 2)]
    page = text(toy, *POINTS, *lost)
    assert page.count("2 of its 3 runs failed") == 2  # of the best, as a doubt, and in its row
    others = [dataclasses.replace(one, settings={"image": "a", "vus": 2}) for one in lost]
    assert text(toy, *POINTS, *others).count("2 of its 3 runs failed") == 1  # of another one, in its row


def test_of_many_runs_the_first_ten_are_linked_and_the_others_counted(toy: Workload) -> None:
    entries = [entry("a", 1, 40.0 + 0.1 * repeat, None, repeat) for repeat in range(12)]
    page = text(toy, *entries, entry("b", 1, 90.0, None))
    assert "12 runs: 1 2 3 4 5 6 7 8 9 10 and 2 more" in page


def test_a_single_doubt_is_said_in_the_line_that_opens_and_several_are_counted(toy: Workload) -> None:
    def shown(*warnings: str, is_brief: bool = False) -> tuple[str, str]:
        best = next(one for one in POINTS if one.kpis.get("cost") == min(each.kpis["cost"] for each in POINTS))
        runs = [dataclasses.replace(one, warnings=warnings) if one is best else one for one in POINTS]
        page = StaticHTML().render(verdict_box(Study(Matrix(runs), toy), is_brief=is_brief))
        line = re.search("<summary.*?</summary>", page)
        return page, "" if line is None else line.group()

    page, line = shown("the most clients were best: more may do better")
    assert "1 doubt: the most clients were best: more may do better" in line
    assert page.count("the most clients were best") == 1
    page, line = shown("k6 was late", "the most clients were best")
    assert "2 doubts" in line
    assert "k6 was late" not in line
    assert page.count("k6 was late") == 1
    page, line = shown("k6 was late", is_brief=True)
    assert "1 doubt" in line
    assert "k6 was late" not in line
    assert page.count("k6 was late") == 1


def test_of_several_versions_in_one_tree_it_is_said_what_got_worse_as_of_a_history() -> None:
    order = versions(16)
    runs = Matrix([*series("worse", order, {13: 1.2}), *series("same", order)])
    said = "worse is worse since 1.13: latency +19.6 %."
    for past, whose in ((None, "By all versions"), (runs, "The history says")):
        study = Study(runs, toy_workload(), past=past)
        box = StaticHTML().render(verdict_box(study))
        assert f"{whose}: {said}" in box
        assert f"{whose}: {said}" in list(BestAnswer(study).verdict())
    one = Matrix([run for run in runs if run.settings["version"] == order[-1]])
    assert not any("By all versions" in line for line in BestAnswer(Study(one, toy_workload())).verdict())
