"""Where the money goes: the data behind the plots of the cost analysis, on known numbers."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy
import pytest

from matrix_benchmarking.analyze import limits
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting import controls
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.workload import Workload, load
from projects.encoder_bench.visualizations.plotting import cost_maps
from projects.encoder_bench.visualizations.plotting.points import points_frame


@pytest.fixture
def encoder_bench(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Workload:
    monkeypatch.chdir(repository)
    return load("projects.encoder_bench.visualizations")


def entry(image: str, batch_size: Any, vus: int, cost: float, *, latency: float = 10.0, **others: Any) -> Entry:
    kpis = {"1B_cost": cost, "p95_latency": latency, "avg_latency": latency / 2, "throughput": 1e4 / (cost or 1.0)}
    return Entry(
        settings={
            "hw_type": others.pop("hw_type", "cpu-1"),
            "image": image,
            "engine": "onnx",
            "batch_size": batch_size,
            "vus": vus,
        },
        repeat=others.pop("repeat", 0),
        location=Path("/results"),
        name=f"{image}-{batch_size}-{vus}",
        exit_code=others.pop("exit_code", 0),
        kpis=kpis | others.pop("kpis", {}),
    )


def draw(workload: Workload, name: str, *entries: Entry, **cfg: Any) -> tuple[Any, Any]:
    catalogue = catalogue_of(Study(Matrix(entries), workload))
    return catalogue.plot(name).do_plot(*catalogue.arguments(cfg))


def test_the_cheapest_image_of_each_load_and_its_saving_are_found(encoder_bench: Workload) -> None:
    entries = [
        entry("fp32", 8, 1, 100.0),
        entry("int8", 8, 1, 60.0),
        entry("int4", 8, 1, 80.0),
        entry("fp32", 8, 2, 50.0),
        entry("int8", 8, 2, 75.0),
        entry("fp32", 16, 2, 10.0),  # nothing to compare with
        entry("int8", 8, 2, 1.0, hw_type="cpu-2"),  # other hardware
    ]
    kpi = encoder_bench.kpis["1B_cost"]
    labels = {"hardware": ["hw_type"], "image": ["image"]}
    best = catalogue_of(Study(Matrix(entries), encoder_bench)).study.best
    frame = cost_maps.savings_frame(points_frame(entries, [kpi], ["image"], labels), kpi, best)
    assert frame[["hardware", "batch size", "virtual users", "image", "other", "images"]].values.tolist() == [
        ["cpu-1", "8", 1, "int8", "fp32", 3],
        ["cpu-1", "8", 2, "fp32", "int8", 2],
    ]
    assert list(frame["saving"]) == pytest.approx([0.4, 1 / 3])


def test_the_saving_is_concluded_from_the_data(encoder_bench: Workload) -> None:
    entries = [entry(image, 8, vus, cost) for vus in (1, 2) for image, cost in (("a", 100.0), ("b", 50.0 + vus))]
    figure, (text,) = draw(encoder_bench, "Best image by cost savings", *entries)
    assert text == (
        "b · onnx is cheapest everywhere, saving 48.5 % in the median. The most is saved on cpu-1 at batch size 8 and "
        "1 virtual users: 49.0 % by b · onnx (51.00 USD) instead of a · onnx. At 2 of 2 loads more than one image may "
        "be the cheapest."
    )
    assert [trace.name for trace in figure.data] == ["b · onnx"]


@pytest.mark.parametrize(
    ("costs", "text"),
    [
        ([(0.0, 0.0), (0.0, 0.0)], "At 2 of 2 loads all images cost the same."),
        ([(5.0, 5.0)], "At 1 of 1 load all images cost the same."),
        ([(-5.0, 5.0)], "At 1 of 1 load a cost is below 0, so what is saved there isn't known."),
        (
            [(0.0, 8.0), (6.0, 6.0), (-5.0, -4.0)],
            "a · onnx is cheapest at 1 of 3 loads, saving 100 % in the median. The most is saved on cpu-1 at batch "
            "size 8 and 1 virtual users: 100 % by a · onnx (0.00 USD) instead of b · onnx. At 1 of 3 loads all images "
            "cost the same. At 1 of 3 loads a cost is below 0, so what is saved there isn't known.",
        ),
    ],
)
def test_a_tie_saves_nothing_and_a_cost_below_zero_has_no_share(
    encoder_bench: Workload, costs: list[tuple[float, float]], text: str
) -> None:
    entries = [
        entry(image, 8, 2**number, cost)
        for number, both in enumerate(costs)
        for image, cost in zip("ab", both, strict=True)
    ]
    figure, (said,) = draw(encoder_bench, "Best image by cost savings", *entries)
    unsure = f" At {len(costs)} of {len(costs)} {'loads' if len(costs) > 1 else 'load'} more than one image may be"
    assert said == f"{text}{unsure} the cheapest."
    hovers = [hover for trace in figure.data for hover in trace.hovertext]
    assert sum("saves" in hover for hover in hovers) == len(costs)
    assert sum("isn't known: a cost isn't above 0" in hover for hover in hovers) == sum(low < 0 for low, _ in costs)


def test_it_is_sure_where_every_other_image_is_told_apart_and_not_every_other_point(encoder_bench: Workload) -> None:
    def repeated(image: str, vus: int, cost: float, **others: Any) -> list[Entry]:
        made = [entry(image, 8, vus, cost + noise, repeat=place) for place, noise in enumerate((-0.1, 0.0, 0.1))]
        return [dataclasses.replace(one, settings={**one.settings, **others}) for one in made]

    entries = [
        *repeated("a", 1, 50.0), *repeated("b", 1, 100.0),
        *repeated("a", 2, 50.0), *repeated("b", 2, 50.02), *repeated("c", 2, 100.0),
        *repeated("a", 4, 50.0, threads=1), *repeated("a", 4, 50.02, threads=2), *repeated("b", 4, 100.0),
    ]  # fmt: skip
    kpi = encoder_bench.kpis["1B_cost"]
    labels = {"hardware": ["hw_type"], "image": ["image"]}
    best = catalogue_of(Study(Matrix(entries), encoder_bench)).study.best
    frame = cost_maps.savings_frame(points_frame(entries, [kpi], ["image"], labels), kpi, best)
    assert dict(zip(frame["virtual users"], frame["is sure"], strict=True)) == {1: True, 2: False, 4: True}
    assert frame["images"].tolist() == [2, 3, 2]
    assert frame["image"].tolist() == ["a"] * 3


def test_what_a_plot_does_not_show_is_counted_with_the_reason(encoder_bench: Workload) -> None:
    entries = [
        *(entry("a", size, vus, 100.0 / vus / size) for size in (1, 8) for vus in (1, 2, 4)),
        entry("b", 8, 1, 50.0),
        entry("b", 8, 2, 0.0),
        entry("b", "all", 2, 5.0),
        entry("b", 8, 4, 1.0, exit_code=1),
        entry("b", 8, None, 1.0),  # type: ignore[arg-type]
        entry("wrong", 8, 1, 1.0, kpis={"fidelity": 0.5}),
    ]
    unpriced = entry("c", 8, 1, 1.0)
    del unpriced.kpis["1B_cost"]
    entries.append(unpriced)
    failed, no_users, no_cost = "1 failed", "1 without a number of virtual users", "1 without 1B_cost"
    for name, reasons in {
        "Cost over virtual users and batch size": [
            "1 at a 1B_cost that isn't above 0", "1 without a batch size above 0",
            failed, no_users, "1 that can't be ranked", no_cost,
        ],
        "Best image by cost savings": [failed, no_users, "1 that can't be ranked", no_cost],
        "Cost over virtual users": [failed, no_users, no_cost],
        "Throughput over virtual users": [failed, no_users],
        "Latency against throughput": [failed, no_users],
        "Did we try enough VUs?": [failed, no_users],
        "Fidelity distribution": [failed, "11 without fidelity"],
    }.items():  # fmt: skip
        (said,) = [one for one in draw(encoder_bench, name, *entries)[1] if " not shown: " in str(one)]
        count, _, listed = said.removesuffix(".").partition(" not shown: ")
        assert sorted(listed.split(", ")) == sorted(reasons)
        total = sum(int(reason.split()[0]) for reason in reasons)
        assert count == f"{total} of {len(entries)} runs are"
    assert (
        "5 loads were tried with one image only and are not shown."
        in draw(encoder_bench, "Best image by cost savings", *entries)[1]
    )


def test_a_repeat_that_lacks_what_a_plot_shows_is_counted_though_its_point_is_shown(encoder_bench: Workload) -> None:
    entries = [entry("a", 8, vus, 100.0 / vus, repeat=repeat) for vus in (1, 2, 4) for repeat in (0, 1)]
    for run in entries[:2]:
        run.kpis.pop("1B_cost" if run.repeat else "throughput")
    for name, lacking in {
        "Cost over virtual users": "1B_cost", "Throughput over virtual users": "throughput",
        "Latency against throughput": "throughput",
    }.items():  # fmt: skip
        figure, said = draw(encoder_bench, name, *entries)
        assert f"1 of 6 runs is not shown: 1 without {lacking}." in said
        assert "known of 1 of the runs" in figure.to_json()


def test_an_image_with_wrong_answers_or_hardly_any_is_never_the_cheapest(encoder_bench: Workload) -> None:
    entries = [
        entry("right", 8, 1, 100.0, kpis={"fidelity": 1.0, "error_rate": 0.05}),
        entry("wrong, as they failed fast", 8, 1, 1.0, kpis={"error_rate": 0.4}),
        entry("also right", 8, 1, 90.0, kpis={"fidelity": 0.995}),
        entry("wrong", 8, 1, 1.0, kpis={"fidelity": 0.5}),
        entry("failed", 8, 1, 1.0, exit_code=1),
    ]
    for name in ("Best image by cost savings", "Best under a limit", "Cost over virtual users and batch size"):
        figure, text = draw(encoder_bench, name, *entries)
        assert "wrong" not in str(text)
        assert "wrong" not in figure.to_json()
        assert "failed" not in figure.to_json()
    for name in ("Cost over virtual users", "Latency against throughput"):
        _, text = draw(encoder_bench, name, *entries)
        assert "wrong" not in str(text)
        assert "1.00 USD" not in str(text)
        assert "10,000" not in str(text)


def test_images_that_differ_by_chance_alone_are_counted_at_each_load(encoder_bench: Workload) -> None:
    entries = [
        entry(image, 8, vus, cost + noise, repeat=repeat)
        for image, of_vus in (("a", {1: 100.0, 2: 50.0}), ("b", {1: 50.0, 2: 50.1}))
        for vus, cost in of_vus.items()
        for repeat, noise in enumerate((-1.0, 0.0, 1.0))
    ]
    figure, (text,) = draw(encoder_bench, "Best image by cost savings", *entries)
    assert text.endswith("At 1 of 2 loads more than one image may be the cheapest.")
    hovers = [hover for trace in figure.data for hover in trace.hovertext]
    assert ["can't be told apart" in hover for hover in hovers] == ["2 virtual users" in hover for hover in hovers]


def test_what_is_best_under_a_limit_is_what_the_limit_answers(encoder_bench: Workload) -> None:
    """The point of lower mean latency is so unsure that the dearer one beside it keeps a tighter limit."""
    latencies = {1: (20.0, 20.2, 20.1), 2: (10.0, 16.0, 22.0), 4: (40.0, 40.1, 40.2)}
    costs = {1: 20.0, 2: 15.0, 4: 10.0}
    entries = [
        entry("a", 8, vus, costs[vus] + 0.01 * repeat, latency=latency, repeat=repeat)
        for vus, of_vus in latencies.items()
        for repeat, latency in enumerate(of_vus)
    ]
    figure, (text,) = draw(encoder_bench, "Best under a limit", *entries)
    (line,) = [trace for trace in figure.data if trace.mode == "lines"]
    catalogue = catalogue_of(Study(Matrix(entries), encoder_bench))
    (group,) = catalogue.study.best.groups
    kpi = encoder_bench.kpis["p95_latency"]
    steps = limits.staircase(limits.bounded(group, kpi), encoder_bench.kpis["1B_cost"], kpi)
    assert list(line.x)[:-1] == pytest.approx([one.limit / kpi.divisor for one in steps])
    assert steps[0].point.settings["vus"] == 1
    assert f"20.01 USD (+99.9 %) at a p95_latency of at most {kpi.show_bound(steps[0].limit)}" in text
    limited = limits.under(catalogue.study.best, kpi, steps[0].limit)
    assert limited.best.groups[0].best is steps[0].point


def test_the_cheapest_is_a_star_and_faster_ones_have_their_price(encoder_bench: Workload) -> None:
    entries = [
        entry("a", 8, 1, 20.0, latency=10.0),
        entry("a", 8, 2, 10.0, latency=40.0),
        entry("a", 8, 4, 12.0, latency=50.0),
    ]
    figure, (text,) = draw(encoder_bench, "Best under a limit", *entries)
    star = next(trace for trace in figure.data if trace.name == "best")
    assert (list(star.x), list(star.y), star.marker.symbol) == ([40.0], [10.0], "star")
    assert text == (
        "The line is the best that keeps each limit: from 20.00 USD (+100 %) at a p95_latency of at most 10.0 ms to "
        "10.00 USD at 40.0 ms."
    )


def test_the_surface_is_exact_for_a_power_law_and_empty_outside_of_the_hull() -> None:
    places = [(users, size) for users in (1, 4, 16, 64) for size in (1, 8, 64)]
    places.remove((64, 64))
    costs = [100.0 * users**-0.5 * size**0.25 for users, size in places]
    grid = cost_maps.surface(*zip(*places, strict=True), costs)
    assert grid is not None
    users, sizes = numpy.meshgrid(numpy.geomspace(1, 64, cost_maps.GRID), numpy.geomspace(1, 64, cost_maps.GRID))
    inside = ~numpy.isnan(grid)
    assert 0.6 < inside.mean() < 0.95
    assert numpy.isnan(grid[-1, -1])
    assert numpy.allclose(grid[inside], (100.0 * users**-0.5 * sizes**0.25)[inside])


@pytest.mark.parametrize(
    "places",
    [
        [(1, 1)],
        [(1, 1), (2, 2), (4, 1)],
        [(1, 1), (2, 1), (4, 1), (8, 1)],
        [(1, 1), (2, 2), (4, 4), (8, 8), (16, 16)],
        [(1, 1), (1, 1), (1, 1), (1, 1)],
    ],
)
def test_few_or_collinear_points_have_no_surface(places: list[tuple[int, int]]) -> None:
    assert cost_maps.surface(*zip(*places, strict=True), [1.0] * len(places)) is None


def test_the_map_has_lines_with_costs_on_them(encoder_bench: Workload) -> None:
    entries = [entry("a", size, vus, 100.0 * vus / size) for vus in (32, 64, 128) for size in (8, 16, 32)]
    figure, _ = draw(encoder_bench, "Cost over virtual users and batch size", *entries)
    (surface,) = (trace for trace in figure.data if trace.type == "contour")
    assert surface.contours.showlabels
    scale = figure.layout.coloraxis.colorbar
    assert scale.ticktext[0] == "100.00"
    assert scale.ticktext[-1] == "1,600.00"
    lines = range(int(surface.contours.start), int(surface.contours.end) + 1)
    assert [scale.ticktext[line] for line in lines] == ["140.00", "180.00", "200.00", "400.00", "800.00", "960.00"]


def test_a_mark_says_the_settings_of_its_runs_but_not_what_differs_between_them(encoder_bench: Workload) -> None:
    figure, _ = draw(encoder_bench, "Cost over virtual users", *(entry("<a>", 8, 4, cost) for cost in (10.0, 12.0)))
    (said,) = {text for trace in figure.data for text in (trace.hovertext if trace.hovertext is not None else ())}
    assert "image\u00a0&lt;a&gt; · engine\u00a0onnx · batch_size\u00a08 · vus\u00a04" in said
    assert "1B_cost 11.00 USD" in said
    assert "2\u00a0runs:" in said


def test_the_map_falls_back_to_the_points_alone(encoder_bench: Workload) -> None:
    entries = [entry("a", 8, vus, 10.0 * vus) for vus in (1, 2, 4)]
    figure, (text,) = draw(encoder_bench, "Cost over virtual users and batch size", *entries)
    assert {trace.type for trace in figure.data} == {"scatter"}
    assert text == "Lowest mean 1B_cost of each variant: cpu-1 10.00 USD at batch size 8, 1 virtual users."


def test_the_lowest_of_all_has_its_price_and_an_edge_is_said(encoder_bench: Workload) -> None:
    entries = [entry("a", size, vus, 1000.0 / vus / size) for size in (1, 8) for vus in (1, 2, 4)]
    figure, (text,) = draw(encoder_bench, "Cost over virtual users and batch size", *entries)
    star = next(trace for trace in figure.data if trace.name == cost_maps.LOWEST)
    assert (list(star.x), list(star.y)) == ([4], [8.0])
    assert [note.text for note in figure.layout.annotations] == ["cpu-1 · 31.25 USD"]
    assert "31.25 USD at batch size 8, 4 virtual users (at the edge)" in text
    assert "can't be told apart" not in text  # nothing was repeated, so that isn't known


def test_the_map_marks_what_may_be_the_lowest_as_the_ranking_has_it(encoder_bench: Workload) -> None:
    costs = {("a", 1): 20.0, ("a", 2): 10.0, ("a", 4): 10.1, ("b", 1): 5.0, ("b", 2): 7.0, ("b", 4): 9.0}
    entries = [
        entry(image, 8, vus, cost + noise, repeat=repeat)
        for (image, vus), cost in costs.items()
        for repeat, noise in enumerate((-0.1, 0.0, 0.1))
    ]
    figure, (text,) = draw(encoder_bench, "Cost over virtual users and batch size", *entries)
    stars = [trace for trace in figure.data if trace.name == cost_maps.LOWEST]
    assert [list(trace.x) for trace in stars] == [[2], [1]]
    dots = [trace for trace in figure.data if trace.name == cost_maps.UNDECIDED]
    assert [list(trace.x) for trace in dots] == [[4], []]
    assert text == (
        "Lowest mean 1B_cost of each variant: b 5.00 USD at batch size 8, 1 virtual users; a "
        "10.00 USD at batch size 8, 2 virtual users (1 more can't be told apart from it)."
    )


def test_light_loads_are_left_out_where_heavy_ones_were_tried(encoder_bench: Workload) -> None:
    assert cost_maps.default_minimum([1, 2, 4, 8, 32, 64, 128]) == 32
    assert cost_maps.default_minimum([1, 2, 4, 8, 32, 64]) == 1
    entries = [entry("a", size, vus, 1000.0 / vus / size) for size in (1, 8) for vus in (1, 32, 64, 128)]
    _, (text,) = draw(encoder_bench, "Cost over virtual users and batch size", *entries)
    assert text.endswith("2 points below 32 virtual users are left out.")
    _, (text,) = draw(encoder_bench, "Cost over virtual users and batch size", *entries, minimum_vus=1)
    assert "left out" not in text
    figure, text = draw(encoder_bench, "Cost over virtual users and batch size", *entries, minimum_vus=1000)
    assert (figure, text) == (None, "No point has 1000 virtual users or more.")


@pytest.mark.parametrize("size", ["all", None, 0, math.inf, -1])
def test_a_batch_size_that_has_no_place_on_the_map_is_left_out(encoder_bench: Workload, size: Any) -> None:
    figure, text = draw(encoder_bench, "Cost over virtual users and batch size", entry("a", size, 2, 10.0))
    assert figure is None
    assert text.startswith("No run that can be ranked has a cost, a batch size")


def test_what_can_be_chosen_comes_from_the_data(encoder_bench: Workload) -> None:
    entries = [entry("a", 8, vus, 10.0) for vus in (1, 4, 32, 64, 128)]
    plots = catalogue_of(Study(Matrix([*entries, entry("a", 8, 256, 1.0, exit_code=1)]), encoder_bench))
    (users,) = plots.plot("Cost over virtual users and batch size").controls()
    assert isinstance(users, controls.Number)
    assert (users.default, users.minimum, users.maximum, list(users.steps)) == (32, 1, 128, [1, 4, 32, 64, 128])
    (latency,) = plots.plot("Latency against throughput").controls()
    assert [latency.read(option) for option in ("p95_latency", "avg_latency")] == ["p95_latency", "avg_latency"]
    assert latency.default == "p95_latency"
    empty = catalogue_of(Study(Matrix([]), encoder_bench))
    assert list(empty.plot("Cost over virtual users and batch size").controls()) == []
