"""Any KPI against any setting: what is suggested, drawn and said; and views, which keep a choice as a page."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from matrix_benchmarking import config, kpi
from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.explore import ExploreReport
from matrix_benchmarking.plotting.explore_chart import mean_of
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.workload import BaseStore, Gate, RegressionKeys, Workload


@kpi.LowerBetter
@kpi.Format("{:.2f}")
@kpi.KPIMetadata(help="What it costs", unit="USD")
def cost(lts: Any) -> Any:
    return lts.cost


@kpi.HigherBetter
@kpi.KPIMetadata(help="Answers", unit="1/s")
def speed(lts: Any) -> Any:
    return lts.speed


@pytest.fixture
def toy() -> Workload:
    store = BaseStore(parse_once=lambda results, test_dir: None, models_kpis=kpi.collect([cost, speed]))
    return Workload(name="toy", store=store, variant_keys=("image",))


def entry(image: str, vus: int, value: float, repeat: int = 0, **others: Any) -> Entry:
    name = f"{image}-{vus}-{repeat}"
    return Entry(
        settings={"image": image, "vus": vus, "engine": "onnx"},
        repeat=repeat,
        location=Path("/results") / name,
        name=name,
        exit_code=0,
        kpis={"cost": value, "speed": 100 / value},
        test_uuid=name,
        **others,
    )


RUNS = [
    entry(image, vus, 10.0 / vus + repeat + (image == "b"), repeat)
    for image in "ab"
    for vus in (1, 2, 4)
    for repeat in range(3)
]


def drawn(study: Study, page: str = "Explore", **cfg: Any) -> tuple[Any, str]:
    catalogue = catalogue_of(study)
    made = catalogue.page(page).do_plot(*catalogue.arguments(cfg))
    figures = [one.children.figure for one in made if getattr(one, "role", None) == "figure"]
    return next(iter(figures), None), StaticHTML().render(made)


def study(toy: Workload, runs: list[Entry] = RUNS, views: Mapping[str, Any] | None = None) -> Study:
    return Study(Matrix(runs), toy, given=Given(opened="'results', workload='toy'", views=views or {}))


def test_the_suggestion_is_the_headline_over_the_setting_of_most_values_by_variant(toy: Workload) -> None:
    figure, said = drawn(study(toy))
    assert [trace.name for trace in figure.data] == ["a", "b"]
    assert [list(trace.x) for trace in figure.data] == [[1, 2, 4]] * 2
    assert figure.data[0].mode == "lines+markers"
    mean, reach = 11.0, 4.302652729911275 / 3**0.5
    assert figure.data[0].y[0] == pytest.approx(mean)
    assert figure.data[0].error_y.array[0] == pytest.approx(mean * math.exp(reach / mean) - mean)
    assert "Lowest cost of 6 points: 3.50 USD at image a, vus 4." in said
    assert "runs = mb.open(&#x27;results&#x27;, workload=&#x27;toy&#x27;)" in said


@pytest.mark.parametrize("sign", [1, -1])
def test_an_interval_stays_on_the_side_of_its_values_and_one_that_says_nothing_is_none(sign: int) -> None:
    mean, *ends = mean_of([sign * value for value in (1.0, 1.0, 7.0)])
    assert mean == 3.0 * sign
    assert ends == [None, None]
    _, low, high = mean_of([sign * value for value in (1.0, 1.5, 2.0)])
    assert low is not None and high is not None
    assert 0 < sign * low < sign * high if sign > 0 else low < high < 0
    assert low * high == pytest.approx(1.5**2)
    reach = 4.302652729911275 / 3**0.5
    assert mean_of([0.0, 1.0, 2.0]) == pytest.approx((1.0, 1.0 - reach, 1.0 + reach))


@pytest.mark.parametrize(
    ("settings", "suggested"),
    [
        ([{"vus": vus, "batch": batch} for vus in (1, 2, 4) for batch in (1, 8)], ("vus", "batch", "none", "none")),
        (
            [{"size": size, "image": image, "batch": batch} for size in (1, 2) for image in "ab" for batch in (1, 8)],
            ("size", "image", "batch", "none"),
        ),
        (  # one of the panels would have a point alone
            [{"vus": vus, "image": "a", "size": size} for vus in (1, 2) for size in (1, 2)]
            + [{"vus": 3, "image": "b", "size": 3}],
            ("vus", "image", "none", "none"),
        ),
        (  # a number of most points comes before what all have, and a colour of all before a variant of some
            [
                {"tool": tool, "size": size, **more}
                for tool, more in (("x", {"image": "a"}), ("y", {}))
                for size in (1, 9)
            ]
            + [{"tool": "x", "image": "a"}],
            ("size", "tool", "none", "none"),
        ),
        ([{"image": image, "tool": tool} for image in "ab" for tool in ("x", 50)], ("image", "tool", "none", "none")),
        ([{"vus": vus, "far": 10.0**vus} for vus in (1, 5)], ("vus", "far", "none", "y")),
    ],
)
def test_what_is_suggested_shows_points_beside_each_other(
    toy: Workload, settings: list[dict[str, Any]], suggested: tuple[str, ...]
) -> None:
    runs = [
        dataclasses.replace(entry("a", 1, one.get("far", 1.0)), settings=one, name=str(at), test_uuid=str(at))
        for at, one in enumerate(settings)
    ]
    found = {
        control.name: control.default for control in catalogue_of(study(toy, runs)).page("report: Explore").controls()
    }
    assert tuple(found[name] for name in ("x", "colour", "panels", "logarithmic")) == suggested


def test_lines_join_numbers_and_versions_and_no_words(toy: Workload) -> None:
    figure, _ = drawn(study(toy), x="image", colour="vus", panels="none")
    assert {trace.mode for trace in figure.data} == {"markers"}
    versioned = dataclasses.replace(toy, regression=RegressionKeys(comparison_keys=["image"]))
    runs = [dataclasses.replace(run, settings={**run.settings, "image": f"1.{run.settings['image']}"}) for run in RUNS]
    figure, _ = drawn(study(versioned, runs), x="image", colour="vus", panels="none")
    assert {trace.mode for trace in figure.data} == {"lines+markers"}


def test_dots_panels_logarithms_and_a_kpi_over_a_kpi(toy: Workload) -> None:
    figure, said = drawn(
        study(toy), x="speed", y="cost", repeats="dots", panels="image", colour="vus", logarithmic="x and y"
    )
    dots = [pair for trace in figure.data for pair in zip(trace.x, trace.y, strict=True)]
    assert sorted(dots) == sorted((run.kpis["speed"], run.kpis["cost"]) for run in RUNS)
    assert {figure.layout.xaxis.type, figure.layout.yaxis.type} == {"log"}
    assert figure.layout.yaxis.ticktext == ("4", "6", "8", "10", "12")
    assert [each.text for each in figure.layout.annotations] == ["image a", "b"]
    assert "log_x=True, log_y=True" in said
    figure, said = drawn(study(toy), x="vus", colour="none", panels="none")
    assert figure.data[0].mode == "markers"
    assert "Points beside each other differ in image too: no line joins them." in said


@pytest.mark.parametrize("panels", ["vus", "image"])
def test_panels_have_one_axis_and_whole_numbers_no_halves(toy: Workload, panels: str) -> None:
    figure, _ = drawn(study(toy), x="vus" if panels == "image" else "image", panels=panels, colour="none")
    axes = [figure.layout[name].to_plotly_json() for name in sorted(figure.layout) if name.startswith("xaxis")]
    assert len(axes) == (2 if panels == "image" else 3)
    for axis in axes:
        assert axis["range"] == pytest.approx([0.82, 4.18] if panels == "image" else [-0.5, 1.5])
        assert axis.get("dtick") == (1 if panels == "image" else None)
    heights = [figure.layout[name].matches for name in sorted(figure.layout) if name.startswith("yaxis")]
    assert heights == [None, *["y"] * (len(axes) - 1)], "panels below each other, too"


@pytest.mark.parametrize(
    ("zeros", "said"),
    [
        ((1, 2, 4), "Lowest cost of 6 points: 0.00 USD at all of them."),
        ((1, 4), "Lowest cost of 6 points: 0.00 USD at image a, vus 1 and at 3 others."),
    ],
)
def test_points_that_are_alike_are_not_told_apart(toy: Workload, zeros: tuple[int, ...], said: str) -> None:
    zero = [dataclasses.replace(run, kpis={"cost": 0.0}) for run in RUNS if run.settings["vus"] in zeros]
    assert said in drawn(study(toy, [*zero, *(run for run in RUNS if run.settings["vus"] not in zeros)]))[1]


def test_a_whole_number_stays_one_in_the_table_to_take_along(toy: Workload) -> None:
    values = catalogue_of(study(toy)).page("report: Explore")
    assert isinstance(values, ExploreReport)
    assert [repr(value) for value in values.table({}).values()["vus"]] == ["1", "2", "4"] * 2


def test_what_is_not_shown_is_counted_and_nothing_is_a_sentence(toy: Workload) -> None:
    bad = [dataclasses.replace(entry("a", 8, 1.0), exit_code=1)]
    _, said = drawn(study(toy, [*RUNS, *bad]))
    assert "1 run is not shown: failed, impossible, not of this view, or without cost." in said
    assert drawn(study(toy, bad))[1] == "<p>No run that is selected has a KPI.</p>"


def test_a_view_is_a_page_and_the_block_on_the_page_makes_it(toy: Workload, tmp_path: Path) -> None:
    _, said = drawn(study(toy), y="speed", x="vus", colour="image", panels="none")
    block = said.split("Keep this view as a page</summary>")[1].split("<pre><code>")[1].split("</code>")[0]
    (tmp_path / "config.yaml").write_text(block)
    loaded = config.load(tmp_path / "config.yaml").all_views
    assert loaded == yaml.safe_load(block)["matbench"]["views"]
    assert list(loaded) == ["speed over vus"]
    assert loaded["speed over vus"]["panels"] == "none"  # else it would be suggested anew
    view = {**loaded["speed over vus"], "filters": "image=b"}
    figure, said = drawn(study(toy, views={"speed over vus": view}), "speed over vus")
    assert [trace.name for trace in figure.data] == ["b"]
    assert "filters=&#x27;image=b&#x27;" in said


@pytest.mark.parametrize(
    ("views", "said"),
    [
        ({"Compare": {"x": "vus"}}, "there is a page 'Compare' already"),
        ({"mine": {"x": "vsu"}}, "matbench.views: 'mine': x: there is no 'vsu': did you mean 'vus'"),
    ],
)
def test_a_view_that_can_not_be_is_a_sentence(toy: Workload, views: Mapping[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        drawn(study(toy, views=views), "mine")


def test_views_of_other_workloads_and_a_file_that_is_not_there_yet_are_none(toy: Workload, tmp_path: Path) -> None:
    assert "report: other" not in catalogue_of(study(toy, views={"other": {"workload": "encoder_bench"}})).reports
    (tmp_path / "config.yaml").write_text(f"matbench: {{views_file: {tmp_path / 'more.yaml'}}}")
    assert config.load(tmp_path / "config.yaml").all_views == {}
    (tmp_path / "more.yaml").write_text("matbench: {views: {mine: {x: vus}}}")
    assert config.load(tmp_path / "config.yaml").all_views == {"mine": {"x": "vus"}}


def test_points_that_a_gate_refuses_are_hollow_and_never_the_lowest(toy: Workload) -> None:
    gated = dataclasses.replace(toy, gates=(Gate(kpi="cost", minimum=5.0),))
    figure, said = drawn(study(gated), x="vus", colour="image", panels="none")
    assert "Lowest cost of 4 points: 6.00 USD at image a, vus 2." in said
    assert "2 points can&#x27;t be the best, drawn hollow: cost below 5.00 USD." in said
    assert [list(trace.marker.symbol) for trace in figure.data] == [
        ["circle", "circle", "circle-open"],
        ["square", "square", "square-open"],
    ]


@pytest.mark.parametrize(
    ("cfg", "said", "hollow"),
    [
        ({"colour": "none"}, "Lowest cost of 3 points: 3.00 USD at vus 4, version 2.", 3),
        ({"colour": "version"}, "Lowest cost of 6 points of all 2 versions: 2.00 USD at vus 4, version 1.", 0),
    ],
)
def test_the_lowest_is_of_the_newest_version_unless_versions_are_shown(
    toy: Workload, cfg: Mapping[str, Any], said: str, hollow: int
) -> None:
    versioned = dataclasses.replace(toy, regression=RegressionKeys(comparison_keys=["version"]))
    runs = [
        dataclasses.replace(one, settings={**one.settings, "version": version}, name=name, test_uuid=name)
        for version in (1, 2)
        for vus in (1, 2, 4)
        for one in [entry("a", vus, 7.0 + version - 1.5 * vus)]
        for name in [f"{one.name}-{version}"]
    ]
    figure, text = drawn(study(versioned, runs), x="vus", panels="none", **cfg)
    assert said in text
    assert sum(symbol.endswith("-open") for trace in figure.data for symbol in trace.marker.symbol) == hollow
    assert (f"{hollow} points can&#x27;t be the best, drawn hollow: not of the newest version." in text) == bool(hollow)


@pytest.mark.parametrize(
    ("limit", "said", "hollow"),
    [(30.0, "Lowest cost of 2 points: 11.00 USD at image a, vus 1.", 4), (99.0, "6 points can&#x27;t be the best", 6)],
)
def test_points_that_may_not_keep_the_limit_are_never_the_lowest(
    toy: Workload, limit: float, said: str, hollow: int
) -> None:
    runs = [dataclasses.replace(run, kpis={**run.kpis, "speed": 40.0 / int(str(run.settings["vus"]))}) for run in RUNS]
    figure, text = drawn(study(dataclasses.replace(toy, limit_kpi="speed"), runs).under(limit))
    assert said in text
    assert f"{hollow} points can&#x27;t be the best, drawn hollow: not sure to keep the limit." in text
    assert sum(symbol.endswith("-open") for trace in figure.data for symbol in trace.marker.symbol) == hollow


def test_of_a_single_run_one_kpi_is_drawn_over_another_and_nothing_is_the_lowest(toy: Workload) -> None:
    _, said = drawn(study(toy, [entry("a", 1, 2.0)]))
    assert "cost over speed" in said
    assert "cost: 2.00 USD at one point." in said
    assert "Lowest" not in said
