"""The data behind the plots of encoder_bench, and their figures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest

from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting.base import Catalogue
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.workload import Workload, load


@pytest.fixture
def encoder_bench(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Workload:
    monkeypatch.chdir(repository)
    return load("projects.encoder_bench.visualizations")


def entry(batch_size: int, vus: int, throughput: float, repeat: int = 0, **others: Any) -> Entry:
    settings = {
        "hw_type": others.pop("hw_type", "cpu-1"),
        "image": "fp32",
        "batch_size": batch_size,
        "vus": vus,
    }
    return Entry(
        settings=settings,
        repeat=repeat,
        location=Path("/results"),
        name=f"{batch_size}-{vus}-{repeat}",
        exit_code=others.pop("exit_code", 0),
        kpis={"throughput": throughput, "1B_cost": 1e7 / throughput, "p95_latency": 1000 * vus / throughput},
    )


def catalogue(workload: Workload, *entries: Entry) -> Catalogue:
    return catalogue_of(Study(Matrix(entries), workload))


def test_a_point_is_the_mean_of_its_repeats_with_the_way_to_the_largest_and_the_smallest(
    encoder_bench: Workload,
) -> None:
    from projects.encoder_bench.visualizations.plotting.points import points_frame

    entries = [
        entry(8, 2, 90.0),
        entry(8, 2, 120.0, repeat=1),
        entry(8, 4, 150.0),
        entry(8, 8, 1.0, exit_code=1),
    ]
    frame = points_frame(entries, [encoder_bench.kpis["throughput"]], ["hw_type"])
    assert list(frame["virtual users"]) == [2, 4]
    assert list(frame["runs"]) == [2, 1]
    assert list(frame["throughput"]) == [105.0, 150.0]
    assert (frame["throughput above"][0], frame["throughput below"][0]) == (15.0, 15.0)
    assert math.isnan(frame["throughput above"][1])


def test_there_is_a_line_for_each_variant_and_batch_size(encoder_bench: Workload) -> None:
    entries = [
        entry(batch_size, vus, 10.0 * vus, hw_type=hw_type)
        for hw_type in ("cpu-1", "cpu-2")
        for batch_size in (1, 16)
        for vus in (1, 2, 4)
    ]
    plots = catalogue(encoder_bench, *entries)
    figure, _ = plots.plot("Cost over virtual users").do_plot(*plots.arguments())
    assert len(figure.data) == 4
    assert {annotation.text for annotation in figure.layout.annotations} == {"cpu-1", "cpu-2"}
    assert figure.layout.yaxis.title.text == "1B_cost (USD)"


def test_the_best_point_of_a_curve_is_named(encoder_bench: Workload) -> None:
    plots = catalogue(encoder_bench, entry(8, 1, 50.0), entry(8, 2, 90.0), entry(8, 4, 80.0))
    _, (text,) = plots.plot("Throughput over virtual users").do_plot(*plots.arguments())
    assert text == "Highest mean throughput of each variant: cpu-1 90.0 inputs/s at batch size 8, 2 virtual users."


def test_without_a_value_there_is_a_sentence_instead_of_a_figure(encoder_bench: Workload) -> None:
    plots = catalogue(encoder_bench, entry(8, 1, 50.0, exit_code=1))
    for name in plots.plots:
        figure, text = plots.plot(name).do_plot(*plots.arguments())
        assert figure is None
        assert text


def test_sixty_variants_are_drawn_with_what_plotly_knows(encoder_bench: Workload) -> None:
    plots = catalogue(encoder_bench, *(entry(8, 2, 50.0 + n, hw_type=f"cpu-{n}" * 20) for n in range(60)))
    for name in plots.plots:
        figure, text = plots.plot(name).do_plot(*plots.arguments())
        assert go.Figure(figure.to_dict()).data if figure is not None else text


def test_wherever_the_line_of_the_best_turns_there_is_a_mark(encoder_bench: Workload) -> None:
    plots = catalogue(encoder_bench, *(entry(8, vus, 1000.0 - vus) for vus in range(1, 500)))
    for one in plots.study.matrix.entries:  # the dearer, the faster: every point is the best under a limit
        one.kpis["p95_latency"] = 1e6 - one.kpis["1B_cost"]
    figure, _ = plots.plot("Best under a limit").do_plot(*plots.arguments())
    (line,) = [trace for trace in figure.data if trace.mode == "lines"]
    marks = {point for trace in figure.data if trace is not line for point in zip(trace.x, trace.y, strict=True)}
    turns = set(zip(line.x[:-1], line.y[:-1], strict=True))
    assert len(turns) == 499
    assert turns <= marks


def test_of_many_points_the_cheapest_and_those_on_the_line_are_shown(encoder_bench: Workload) -> None:
    plots = catalogue(encoder_bench, *(entry(8, vus, 1000.0 - vus) for vus in range(1, 500)))
    for one in plots.study.matrix.entries:
        one.kpis["p95_latency"] = 1.0 if one.settings["vus"] == 499 else 50.0
    figure, (text,) = plots.plot("Best under a limit").do_plot(*plots.arguments())
    assert sum(len(trace.x) for trace in figure.data if trace.mode == "markers") == 101
    assert text.endswith("Shown are 101 of 499 points: the 100 best, and those on the line.")


def test_the_sentence_above_the_bars_follows_the_slider(encoder_bench: Workload) -> None:
    curves = {8: (50.0, 90.0, 80.0), 16: (60.0, 70.0, 100.0), 32: (99.0, 98.0, 97.0)}
    entries = [entry(size, 2**at, value) for size, curve in curves.items() for at, value in enumerate(curve)]
    plots = catalogue(encoder_bench, *entries)
    figure, _ = plots.plot("Did we try enough VUs?").do_plot(*plots.arguments())
    said = [step.args[1]["annotations[0].text"] for step in figure.layout.sliders[0].steps]
    assert said == [
        "Up to 1 virtual users: the highest mean of 2<br>of 3 series was still to come:<br>"
        "cpu-1, batch size 8 (55.6 %); cpu-1, batch<br>size 16 (60.0 %).",
        "Up to 2 virtual users: the highest mean of 1<br>of 3 series was still to come:<br>"
        "cpu-1, batch size 16 (70.0 %).",
        "Up to 4 virtual users, the most that were<br>tried.",
    ]
    assert figure.layout.annotations[0].text == said[-1]


def test_a_variant_has_the_same_colour_whatever_is_selected(encoder_bench: Workload) -> None:
    plots = catalogue(encoder_bench, *(entry(8, 2, 50.0, hw_type=hw_type) for hw_type in ("a", "b", "c")))
    plot = plots.plot("Latency against throughput")
    names, _, lists, variables, cfg = plots.arguments()
    everything, _ = plot.do_plot(names, {}, lists, variables, cfg)
    only_b, _ = plot.do_plot(names, {"hw_type": "b"}, [], variables, cfg)
    colour = {trace.name: trace.marker.color for trace in everything.data}
    assert [(trace.name, trace.marker.color) for trace in only_b.data] == [("b", colour["b"])]


def test_the_cheapest_of_the_study_is_found(encoder_bench: Workload, foreign_samples: Path) -> None:
    from matrix_benchmarking import store
    from matrix_benchmarking.analyze.wording import ranking

    matrix = store.parse_tree(encoder_bench, foreign_samples / "encoder_analysis")
    (verdict,) = ranking.verdict(catalogue_of(Study(matrix, encoder_bench)).study.best)
    assert verdict.lead.startswith("Cheapest by 1B_cost: batch_size 32, vus 256: 409.44 USD")
    assert verdict.rest.startswith("Next: vus 512 (412.70 USD, +0.8 %); vus 384 (416.31 USD, +1.7 %);")
