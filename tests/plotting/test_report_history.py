"""The page that answers "did the new version make it worse?": what it draws, what it says, and where it has nothing."""

from __future__ import annotations

import dataclasses
import html
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from plotting_support.analyses import series, toy_workload, versions

from matrix_benchmarking import kpi
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.analyze.wording import verdicts
from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.matrix import Entry, Facts, Matrix
from matrix_benchmarking.plotting import clicks, report_history
from matrix_benchmarking.plotting.base import Catalogue
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.report_history import KPIHistory
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.workload import BaseStore, RegressionKeys, Workload

NOISE = (0.99, 1.0, 1.01)
HOSTILE = "<script>alert(1)</script>"


@kpi.LowerBetter
@kpi.KPIMetadata(help="What it costs", unit="USD")
def cost(lts: Any) -> Any:
    return lts.cost


@kpi.HigherBetter
@kpi.KPIMetadata(help="How fast it is", unit="1/s")
def speed(lts: Any) -> Any:
    return lts.speed


@pytest.fixture
def toy() -> Workload:
    store = BaseStore(parse_once=lambda results, test_dir: None, models_kpis=kpi.collect([cost, speed]))
    return Workload(name="toy", store=store, regression=RegressionKeys(comparison_keys=("version",)))


def run(version: Any, image: str, value: float | None = None, number: int = 0, **settings: Any) -> Entry:
    known = {"image": image, "version": version, **settings}
    name = f"{image}-{version}-{number}"
    return Entry(
        settings=known,
        repeat=number,
        location=Path("/results") / name[:50],
        name=name,
        exit_code=0,
        test_uuid=f"id-{name}",
        kpis={} if value is None else {"cost": value},
        facts=Facts(known),
    )


def runs(versions: Iterable[Any], images: dict[str, float]) -> list[Entry]:
    """Three runs a version and image, whose cost is multiplied by a factor from version to version."""
    return [
        run(version, image, 10.0 * factor**place * noise, number)
        for image, factor in images.items()
        for place, version in enumerate(versions)
        for number, noise in enumerate(NOISE)
    ]


def catalogue(workload: Workload, past: Iterable[Entry], **others: Any) -> Catalogue:
    entries = list(past)
    return catalogue_of(Study(Matrix(entries), workload, past=Matrix(entries, **others)))


def page(of: Catalogue, **cfg: Any) -> str:
    return StaticHTML().render(of.page("report: KPI history").do_plot(*of.arguments(cfg)))


def figures(of: Catalogue, **cfg: Any) -> list[Any]:
    renderer = StaticHTML()
    renderer.render(of.plot("KPI history").part(of.arguments(cfg)))
    assert not renderer.failures
    return [go.Figure(one.figure) for one in renderer.figures]


def marks(drawn: Any) -> list[Any]:
    return [trace for trace in drawn.data if trace.customdata is not None]


def test_the_page_quotes_the_verdicts_of_the_analysis() -> None:
    names = versions(14)
    entries = [*series("bad", names, {11: 1.3}), *series("same", names), *series("good", names, {10: 0.7})]
    of = catalogue(toy_workload(), entries)
    assert of.study.analysis is not None
    shown = page(of)
    assert "1 of 3 series is worse, 1 is better, 1 shows no difference (" in shown
    for verdict in of.study.analysis.verdicts:
        if verdict.changes:
            assert verdicts.sentence(verdict) in html.unescape(shown)
            assert verdicts.size(verdict) in shown
    assert shown.index("✕") < shown.index("★")


def test_what_one_block_supports_is_suspected_on_the_page() -> None:
    names = versions(12)
    of = catalogue(toy_workload(), series("a", names, {11: 1.3}))
    assert "1 of 1 series is suspected to be worse." in page(of)
    assert "suspected: worse" in page(of)
    assert of.page("report: KPI history").summary() == "latency: 1 of 1 series is suspected to be worse."


def test_a_kpi_of_which_neither_direction_is_better_is_not_judged(toy: Workload) -> None:
    load = kpi.NeitherBetter(kpi.KPIMetadata(help="How busy it is", unit="", name="cost")(lambda lts: lts.load))
    speedy = kpi.collect([load, speed])
    workload = dataclasses.replace(toy, store=dataclasses.replace(toy.store, models_kpis=speedy))
    catalogue = catalogue_of(Study(Matrix(runs(["1", "2"], {"a": 1.0, "b": 1.5})), workload))
    shown = StaticHTML().render(catalogue.page("report: KPI history").do_plot(*catalogue.arguments({"kpi": "cost"})))
    assert "cost: 2 of 2 series are not judged." in shown


def test_a_marker_carries_the_id_of_the_first_run_as_a_plain_list(toy: Workload) -> None:
    (drawn,) = figures(catalogue(toy, runs(["2.9", "2.10"], {"a": 2.0})))
    (points,) = marks(drawn)
    assert type(points.to_plotly_json()["customdata"]) is list
    assert points.to_plotly_json()["customdata"] == [["id-a-2.9-0"], ["id-a-2.10-0"]]
    assert json.loads(drawn.to_json())["data"][1]["customdata"] == [["id-a-2.9-0"], ["id-a-2.10-0"]]


def test_versions_are_in_their_order_and_repeats_have_whiskers_within_the_axis(toy: Workload) -> None:
    (drawn,) = figures(catalogue(toy, runs(["2.10", "2.9", "2.10rc1"], {"a": 1.0})))
    assert list(drawn.layout.xaxis.ticktext) == ["2.9", "2.10rc1", "2.10"]
    (points,) = marks(drawn)
    low, high = drawn.layout.yaxis.range
    for mean, above, below in zip(points.y, points.error_y.array, points.error_y.arrayminus, strict=True):
        assert low < mean - below < mean < mean + above < high


def test_twelve_series_are_drawn_and_all_are_in_the_table(toy: Workload) -> None:
    of = catalogue(toy, runs(["1", "2"], {f"image{n:02}": 1 + n / 10 for n in range(20)}))
    assert len(figures(of)) == report_history.MOST_DRAWN
    shown = page(of)
    assert "Drawn are the first 12 of them." in shown
    assert all(f"image{n:02}" in shown for n in range(20))


def test_a_kpi_and_an_axis_can_be_chosen(toy: Workload) -> None:
    past = [run(v, "a", 1.0, driver=d) for v, d in (("1", 7), ("2", 7), ("2", 8))]
    both = dataclasses.replace(toy, regression=RegressionKeys(comparison_keys=("version", "driver")))
    of = catalogue(both, past)
    plot = of.plot("KPI history")
    assert [(each.name, each.default) for each in plot.controls()] == [("kpi", "cost"), ("axis", "version")]
    (drawn,) = figures(of, axis="driver")
    assert list(drawn.layout.xaxis.ticktext) == ["7 · 1", "7 · 2", "8"]
    assert "speed is not known for any successful run." in page(of, kpi="speed")
    with pytest.raises(ConfigError, match="did you mean 'speed'"):
        page(of, kpi="sped")


def test_the_chosen_kpi_is_that_of_the_whole_page(toy: Workload) -> None:
    of = catalogue(
        toy, [dataclasses.replace(one, kpis={"cost": 1.0, "speed": 2.0}) for one in runs(["1", "2"], {"a": 1})]
    )
    report = dataclasses.replace(of, texts={"kpi": "speed"}).page("report: KPI history")
    shown = StaticHTML().render(report.made(of.arguments()))
    assert "speed: 1 of 1 series" in shown
    assert "All series of speed" in shown


def test_each_series_is_drawn_as_the_regression_analysis_draws_it() -> None:
    names = versions(14)
    entries = [*series("worse", names, {11: 1.3}), *series("same", names), *series("better", names, {10: 0.7})]
    of = catalogue(toy_workload(), entries)
    worse, better, same = figures(of)
    renderer = StaticHTML()
    renderer.render(of.page("report: Regression analysis").do_plot(*of.arguments()))
    assert [go.Figure(one.figure).to_json() for one in renderer.figures] == [worse.to_json(), better.to_json()]
    assert [shape.x0 for drawn in (worse, better, same) for shape in drawn.layout.shapes] == [10.5, 9.5]
    assert "worse since 1.11" in worse.layout.annotations[-1].text
    assert "better since 1.10" in better.layout.annotations[-1].text


def test_without_a_history_a_sentence_says_how_to_get_one(toy: Workload) -> None:
    alone = catalogue_of(Study(Matrix(runs(["1"], {"a": 1.0})), toy))
    assert "matbench upload_lts --history LOCATION" in page(alone)
    assert alone.page("report: KPI history").summary() == "There is no history to compare with."
    no_keys = dataclasses.replace(toy, regression=RegressionKeys())
    assert "names no version of what it measures" in page(catalogue_of(Study(Matrix([]), no_keys)))


def test_a_matrix_with_several_versions_is_its_own_history(toy: Workload) -> None:
    of = catalogue_of(Study(Matrix(runs(["1", "2"], {"a": 2.0})), toy))
    assert (
        "1 of 1 series can&#x27;t be told (the history is too short; measure 8 more versions, fewer with repeats)."
        in page(of)
    )


def test_what_was_wrong_with_the_history_stands_on_the_page(toy: Workload) -> None:
    reason = "the history can't be read: nobody answers"
    assert "Note: the history can&#x27;t be read: nobody answers" in page(catalogue(toy, [], notes=[reason]))


NOTHING = {
    "no run": [],
    "one run": [run("1", "a", 1.0)],
    "one point a series": [run("1", "a", 1.0), run("2", "b", 1.0)],
    "no KPI": [run("1", "a"), run("2", "a")],
}


@pytest.mark.parametrize("entries", NOTHING.values(), ids=NOTHING.keys())
def test_nothing_to_compare_is_a_sentence(toy: Workload, entries: list[Entry]) -> None:
    shown = page(catalogue(toy, entries))
    assert "the history is too short; measure 9 more " in shown or "is not known for any successful run" in shown
    assert "figure-scroll" not in shown
    assert catalogue(toy, entries).page("report: KPI history").summary()


def test_runs_without_several_versions_are_drawn_in_time(toy: Workload) -> None:
    timed = [run("1", "a", 1.0 + number, number) for number in range(3)]
    for number, entry in enumerate(timed):
        entry.facts, entry.span_us = Facts({"image": "a", "version": "1"}), (None, number * 86_400_000_000)
    of = catalogue(toy, timed)
    assert list(figures(of)[0].layout.xaxis.ticktext) == ["1970-01-01", "1970-01-02", "1970-01-03"]
    assert "1970-01-03 00:00 UTC" in page(of)
    for number, entry in enumerate(timed):
        entry.span_us, entry.recorded = (None, None), (0, number)
    assert figures(catalogue(toy, timed))


@pytest.mark.parametrize("value", [0.0, -5.0, 1e308, -1e308, 1e-320])
def test_extreme_values_still_have_a_page(toy: Workload, value: float) -> None:
    entries = [run(v, image, each) for v, each in (("1", value), ("2", 1.0), ("3", value)) for image in "ab"]
    assert "2 of 2 series can&#x27;t be told (the history is too short; measure 7 more versions)." in page(
        catalogue(toy, entries)
    )


def test_sixty_versions_have_few_ticks_and_long_names_are_cut(toy: Workload) -> None:
    (drawn,) = figures(catalogue(toy, runs([f"2.{n}" for n in range(60)], {"a": 1.01})))
    assert len(drawn.layout.xaxis.tickvals) <= 6
    assert drawn.layout.xaxis.ticktext[-1] == "2.59"
    named = runs(["v" * 400, f"{HOSTILE}" * 20], {"image " * 80: 2.0, "i" * 400: 1.0})
    for number, entry in enumerate(named):
        entry.facts, entry.span_us = Facts(dict(entry.settings)), (None, number)
    long = catalogue(toy, named)
    assert all(len(text) <= 60 for drawn in figures(long) for text in drawn.layout.xaxis.ticktext)
    assert max(map(len, re.findall(r"<h3[^>]*>([^<]*)<", page(long)))) < 200
    assert HOSTILE not in page(long)
    assert "2.58" in page(catalogue(toy, runs([f"{'branch-' * 60}2.{n}" for n in range(60)], {"a": 1.0})))
    assert max(map(len, re.findall(r"<td[^>]*>([^<]*)</td>", page(long)))) < 200


def test_a_run_of_a_history_has_no_link_and_one_of_the_results_has(toy: Workload) -> None:
    old, new = runs(["1"], {"a": 1.0}), runs(["2"], {"a": 1.0})
    for entry in old:
        entry.kept_in = "sqlite:///x.db"
    assert page(catalogue(toy, [*old, *new])).count('href="file:///results/') == 3
    for entry in new:
        entry.kept_in = "sqlite:///x.db"
    shown = page(catalogue(toy, [*old, *new]))
    assert "href=" not in shown.replace('href="#', "")
    assert 'title="id-a-2-0 in sqlite:///x.db"' in shown


def test_what_is_selected_of_the_matrix_is_selected_of_the_past(toy: Workload) -> None:
    of = catalogue(toy, runs(["1", "2"], {"a": 2.0, "b": 3.0}))
    names, settings, lists, variables, cfg = of.arguments()
    only_b = [pairs if pairs[0][0] != "image" else [("image", "b")] for pairs in lists]
    shown = StaticHTML().render(of.page("report: KPI history").do_plot(names, settings, only_b, variables, cfg))
    assert (
        "1 of 1 series can&#x27;t be told (the history is too short; measure 8 more versions, fewer with repeats)."
        in shown
    )
    assert "1 series of cost over 2 versions, 6 runs." in shown


def test_the_plot_and_the_report_are_there_for_every_workload(toy: Workload) -> None:
    of = catalogue_of(Study(Matrix([]), toy))
    assert KPIHistory.name in of.plots
    assert "report: KPI history" in of.reports


def test_the_page_says_where_the_order_is_from_and_what_it_leaves_out(toy: Workload) -> None:
    assert "Versions in the order of their numbers." in page(catalogue(toy, runs(["1.9", "1.10"], {"a": 1.0})))


def test_versions_without_an_order_have_no_history_and_the_page_says_what_to_do(toy: Workload) -> None:
    of = catalogue(toy, runs(["main", "fix"], {"a": 1.0}))
    shown = page(of)
    assert "The order of version is unknown: nothing says which of fix, main is the newest; name the order by" in shown
    assert [each.name for each in of.page("report: KPI history").controls()] == ["kpi"]


def test_a_comparison_key_of_nothing_is_said_on_the_page(toy: Workload) -> None:
    misspelt = dataclasses.replace(toy, regression=RegressionKeys(comparison_keys=("version", "drive")))
    shown = page(catalogue(misspelt, runs(["1", "2"], {"a": 1.0})))
    assert "has a comparison key that is neither a label of its model nor a setting of any of 6 runs" in shown


def test_a_run_of_a_history_is_named_by_what_tells_it_from_others_and_has_its_id_behind_that(toy: Workload) -> None:
    entries = [run(version, "onnx", 1.0, number) for version in ("1.2", "1.3") for number in range(2)]
    for number, one in enumerate(entries):
        one.kept_in, one.test_uuid = "sqlite:///x.db", f"id-{number}"
        one.name, one.span_us = f"id-{number}", (None, 1_700_000_000_000_000)
    plot = catalogue_of(Study(Matrix(entries), toy)).plot(KPIHistory.name)
    shown = StaticHTML().render(plot.link(entries[3]))
    assert shown == '<span title="id-3 in sqlite:///x.db">version 1.3 · repeat 1 · 2023-11-14 22:13 UTC</span>'
    assert "2 runs: 2023-11-14 22:13 UTC id-2 · 2023" in clicks.hover(entries[2:]).replace("\u00a0", " ")
