"""Whether to believe the numbers: failed requests, loads that were not driven far enough, answers that stand out."""

from __future__ import annotations

import dataclasses
import types
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.workload import Workload, load
from projects.encoder_bench.visualizations.plotting import over_load
from projects.encoder_bench.visualizations.plotting.points import points_frame


@pytest.fixture
def encoder_bench(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Workload:
    monkeypatch.chdir(repository)
    return load("projects.encoder_bench.visualizations")


def entry(
    vus: int = 1, requests: Any = 100, failed: Any = 0, *, batch_size: int = 8, repeat: int = 0, **kpis: float
) -> Entry:
    results = types.SimpleNamespace(requests=requests, failed_requests=failed)
    return Entry(
        settings={"hw_type": "cpu-1", "image": "fp32", "batch_size": batch_size, "vus": vus},
        repeat=repeat,
        location=Path("/results"),
        name=f"run-{batch_size}-{vus}-{repeat}",
        exit_code=0,
        kpis=kpis,
        load_lts=lambda: types.SimpleNamespace(results=results),
    )


def draw(workload: Workload, name: str, *entries: Entry) -> tuple[Any, Any]:
    catalogue = catalogue_of(Study(Matrix(entries), workload))
    return catalogue.plot(name).do_plot(*catalogue.arguments())


def test_zero_failed_requests_are_said_as_such(encoder_bench: Workload) -> None:
    assert draw(encoder_bench, "Failed requests", entry(1), entry(2, requests=1000)) == (
        None,
        "No request failed: all 1,100 requests of 2 runs were answered.",
    )


def test_failed_requests_are_counted_and_the_worst_run_is_named(encoder_bench: Workload) -> None:
    entries = [entry(1), entry(2, 200, 10), entry(4, 1000, 40), entry(8, None, None)]
    figure, text = draw(encoder_bench, "Failed requests", *entries)
    assert text == (
        "50 of 1,300 requests failed, in 2 of 3 runs; worst: run-8-2-0 with 5.0 % (10 of 200). 1 run can't say how "
        "many of their requests failed."
    )
    (bars,) = figure.data
    assert (list(bars.y), list(bars.x)) == (["run-8-4-0", "run-8-2-0"], [0.04, 0.05])


def test_runs_that_do_not_say_are_not_zero(encoder_bench: Workload) -> None:
    figure, text = draw(encoder_bench, "Failed requests", entry(1, None, None), entry(2, 100, None))
    assert figure is None
    assert text == "No run says how many of its requests failed."


def peaks(workload: Workload, *entries: Entry) -> list[over_load.Peak]:
    kpi = workload.kpis["throughput"]
    return over_load.peaks(points_frame(entries, [kpi], ["hw_type"]), kpi)


def curve(batch_size: int, *values: float) -> list[Entry]:
    return [entry(2**step, batch_size=batch_size, throughput=value) for step, value in enumerate(values)]


def test_a_series_that_rises_all_the_way_is_flagged_and_one_that_passed_its_peak_is_not(
    encoder_bench: Workload,
) -> None:
    rising, passed, flat, dip = peaks(
        encoder_bench, *curve(1, 10, 20, 40), *curve(2, 10, 40, 30), *curve(4, 10, 40, 40.4), *curve(8, 20, 10, 40)
    )
    assert (rising.rises, rising.is_open, rising.highest_vus, rising.last_vus, rising.gain) == (True, True, 4, 4, 1.0)
    assert (passed.rises, passed.is_open, passed.highest_vus) == (False, False, 2)
    assert (flat.rises, flat.is_open) == (True, False)
    assert (dip.rises, dip.is_open) == (False, True)


def test_what_was_not_driven_far_enough_is_said(encoder_bench: Workload) -> None:
    kpi = encoder_bench.kpis["throughput"]
    entries = [*curve(1, 10, 20, 40), *curve(2, 10, 40, 30), *curve(8, 20, 10, 40)]
    (text,) = over_load.peaks_conclusion(peaks(encoder_bench, *entries), kpi)
    assert text == (
        "2 of 3 series have their highest mean at the most users that were tried. More may do better in 2 of them, 1 "
        "of which rose at every step: cpu-1, batch size 8 (40.0 inputs/s at 4, the last step gained 300 %); cpu-1, "
        "batch size 1 (40.0 inputs/s at 4, the last step gained 100 %)."
    )
    (text,) = over_load.peaks_conclusion(peaks(encoder_bench, *curve(2, 10, 40, 30)), kpi)
    assert text == "In the end all 1 series passed their highest mean: enough users were tried."
    (text,) = over_load.peaks_conclusion(peaks(encoder_bench, *curve(2, 10)), kpi)
    assert text == "One number of users was tried at each point: whether more do better isn't known."
    (text,) = over_load.peaks_conclusion(peaks(encoder_bench, *curve(2, 10), *curve(8, 10, 20)), kpi)
    assert "(only 1 was tried)" in text


def test_the_slider_shows_what_fewer_users_would_have_found(encoder_bench: Workload) -> None:
    figure, _ = draw(encoder_bench, "Did we try enough VUs?", *curve(1, 10, 20, 40), *curve(16, 30, 20, 10))
    (slider,) = figure.layout.sliders
    assert [step.label for step in slider.steps] == ["1", "2", "4"]
    assert [trace.visible for trace in figure.data] == [False, False, True]
    assert slider.steps[0].args[0] == {"visible": [True, False, False]}
    first, _, last = figure.data
    assert dict(zip(first.y, first.x, strict=True)) == {"cpu-1, batch size 1": 10.0, "cpu-1, batch size 16": 30.0}
    assert dict(zip(first.y, first.text, strict=True)) == {
        "cpu-1, batch size 1": "25 %",
        "cpu-1, batch size 16": "100 %",
    }
    assert list(last.x) == [30.0, 40.0]


def test_batch_sizes_are_in_the_order_of_their_numbers(encoder_bench: Workload) -> None:
    figure, _ = draw(encoder_bench, "Did we try enough VUs?", *curve(1, 1), *curve(8, 1), *curve(16, 1), *curve(128, 1))
    shown = [label.rpartition(" ")[2] for label in figure.layout.yaxis.categoryarray]
    assert shown == ["128", "16", "8", "1"]  # from the bottom up


def of_image(image: str, *fidelities: float) -> list[Entry]:
    entries = [entry(repeat=number, fidelity=value) for number, value in enumerate(fidelities)]
    return [dataclasses.replace(one, settings={**one.settings, "image": image}) for one in entries]


def test_the_runs_are_drawn_by_variant_with_the_limit_that_they_have_to_keep(encoder_bench: Workload) -> None:
    entries = [*of_image("fp32", 1.0, 1.0), *of_image("int8", 0.993, 0.994), *of_image("int4", 0.955, 0.954, 0.956)]
    figure, (text, table) = draw(encoder_bench, "Fidelity distribution", *entries)
    assert {trace.name: list(trace.x) for trace in figure.data} == {
        "fp32": [1.0, 1.0],
        "int4": [0.955, 0.954, 0.956],
        "int8": [0.993, 0.994],
    }
    assert {trace.mode for trace in figure.data} == {"markers"}
    for row, trace in enumerate(figure.data):
        assert all(abs(place - row) < 0.5 for place in trace.y)
    (limit,) = figure.layout.shapes
    assert (limit.x0, limit.x1) == (0.99, 0.99)
    assert figure.layout.annotations[0].text == "limit 0.9900"
    assert text == (
        "fidelity of 7 runs: fp32 1.0000 (2 runs); int4 0.9540 to 0.9560 (3 runs); int8 0.9930 to 0.9940 (2 runs). "
        "3 runs are beyond the limit of 0.9900 and can't be the best: int4 (3)."
    )
    assert "100" in str(table)


def test_a_run_stands_out_from_its_own_variant(encoder_bench: Workload) -> None:
    entries = [*of_image("fp32", *[1.0, 0.9999] * 10, 0.995), *of_image("int8", 0.993, 0.993)]
    _, (text, table) = draw(encoder_bench, "Fidelity distribution", *entries)
    assert text.endswith(
        "All keep the limit of 0.9900. 1 run is more than three standard deviations from the mean of the variant."
    )
    assert "-4." in str(table)


def of_shape(image: str, size: int, least: int, mean: float, most: int) -> Entry:
    results = types.SimpleNamespace(
        embedding_size=size, vectors_per_input=mean, vectors_per_input_least=least, vectors_per_input_most=most
    )
    (run,) = of_image(image, 1.0)
    return dataclasses.replace(run, load_lts=lambda: types.SimpleNamespace(results=results))


def test_numbers_of_vectors_are_shown_by_variant_and_one_that_differs_is_said(encoder_bench: Workload) -> None:
    alike = [of_shape("fp32", 128, 700, 731.5, 760), of_shape("int8", 128, 700, 731.6, 760)]
    figure, (text, table) = draw(encoder_bench, "Shapes of the answers", *alike)
    assert (figure, text) == (None, "All runs of a model answer in one shape.")
    assert all(value in str(table) for value in ("'128'", "'700'", "'731.5'", "'731.6'", "'760'"))
    _, (text, _) = draw(encoder_bench, "Shapes of the answers", *alike, of_shape("trt", 128, 1, 1.0, 1))
    assert text.startswith("Not all runs of one model answer in one shape")
    _, text = draw(encoder_bench, "Shapes of the answers", entry())
    assert text == "The shape of the answers is not known for any successful run."


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([0.9], "accuracy of 1 run: cpu-1 90.00 % (1 run)."),
        ([0.9, 0.9, 0.9], "accuracy of 3 runs: cpu-1 90.00 % (3 runs)."),
        ([], "accuracy is not known for any successful run."),
    ],
)
def test_what_has_no_spread_has_a_sentence_and_no_figure(
    encoder_bench: Workload, values: list[float], sentence: str
) -> None:
    entries = [entry(repeat=n, accuracy=value) for n, value in enumerate(values)] or [entry()]
    figure, text = draw(encoder_bench, "Accuracy distribution", *entries)
    assert figure is None
    assert (text if isinstance(text, str) else text[0]) == sentence
