"""Within a run: its time series, what the machine did, and the quantiles of its latency."""

from __future__ import annotations

import dataclasses
import json
import types
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting import controls
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.workload import Workload, load
from projects.encoder_bench.visualizations.plotting import within
from projects.encoder_bench.visualizations.plotting.within import quantiles_frame
from projects.encoder_bench.visualizations.store.artifacts import parse_timeseries

GOOD = {
    "start": 1000.0,
    "interval_s": 1.0,
    "last_interval_s": 0.5,
    "requests": [8, 10, 10, 5],
    "failed": [0, 0, 0, 0],
    "answered_inputs": [80, 100, 100, 50],
    "p50_ms": [5.0, 4.0, 4.0, None],
    "p95_ms": [9.0, 8.0, 8.0, None],
}


@pytest.fixture
def encoder_bench(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Workload:
    monkeypatch.chdir(repository)
    return load("projects.encoder_bench.visualizations")


def entry(vus: int = 8, repeat: int = 0, cost: float = 10.0, image: str = "fp32", **results: Any) -> Entry:
    return Entry(
        settings={"hw_type": "cpu-1", "image": image, "batch_size": 8, "vus": vus},
        repeat=repeat,
        location=Path("/results"),
        name=f"{image}-{vus}-{repeat}",
        exit_code=0,
        test_uuid=f"id-{image}-{vus}-{repeat}",
        kpis={"1B_cost": cost},
        load_results=lambda: types.SimpleNamespace(**results),
    )


def draw(workload: Workload, name: str, *entries: Entry, **cfg: Any) -> tuple[Any, Any]:
    catalogue = catalogue_of(Study(Matrix(entries), workload))
    return catalogue.plot(name).do_plot(*catalogue.arguments(cfg))


def series(**changes: Any) -> types.SimpleNamespace:
    return parse_timeseries({**GOOD, **changes})


def test_rates_are_those_of_the_intervals_and_a_small_rest_is_left_out() -> None:
    seconds, rates, medians, high = within.steady(series())
    assert (seconds, rates) == ([1.0, 2.0, 3.0, 3.5], [80.0, 100.0, 100.0, 100.0])
    assert (medians[-1], high[-1]) == (None, None)
    seconds, rates, medians, _ = within.steady(series(last_interval_s=0.01))
    assert (seconds, rates, len(medians)) == ([1.0, 2.0, 3.0], [80.0, 100.0, 100.0], 3)


def test_the_repeats_of_the_best_point_are_shown_unless_another_run_is_named(encoder_bench: Workload) -> None:
    entries = [
        entry(vus, repeat, cost, timeseries=series()) for vus, cost in ((8, 20.0), (16, 10.0)) for repeat in (0, 1)
    ]
    figure, text = draw(encoder_bench, "Throughput and latency over the run", *entries)
    assert {trace.name for trace in figure.data} == {"repeat 0", "repeat 1"}
    assert all("fp32-16-" in trace.hovertemplate for trace in figure.data)
    assert text == (
        "Over 2 runs the throughput of a second varies by 11 % at most (one standard deviation). The first second is "
        "20 % below the rest: a warm-up that the mean includes."
    )
    figure, _ = draw(encoder_bench, "Throughput and latency over the run", *entries, entry=entries[1])
    assert all("fp32-8-" in trace.hovertemplate for trace in figure.data)
    assert [trace.name for trace in figure.data[::3]] == ["repeat 1", "repeat 0"]


def test_a_run_is_chosen_by_the_beginning_of_its_id_and_the_best_stands_for_none(encoder_bench: Workload) -> None:
    entries = [entry(vus, 0, cost, timeseries=series()) for vus, cost in ((8, 20.0), (16, 10.0))]
    plot = catalogue_of(Study(Matrix(entries), encoder_bench)).plot("Throughput and latency over the run")
    (control,) = plot.controls()
    assert isinstance(control, controls.RunChoice)
    assert control.default is entries[1]
    assert control.read("id-fp32-8") is entries[0]
    (none,) = catalogue_of(Study(Matrix([]), encoder_bench)).plot("CPU, GPU and memory over the run").controls()
    assert none.default is None


def test_a_named_run_is_shown_though_it_failed_or_is_not_selected(encoder_bench: Workload) -> None:
    failed = dataclasses.replace(entry(8, 0, timeseries=series()), exit_code=1)
    plots = catalogue_of(Study(Matrix([failed, entry(8, 1, timeseries=series()), entry(16, 0)]), encoder_bench))
    names, _, _, variables, _ = plots.arguments()
    plot = plots.plot("Throughput and latency over the run")
    figure, _ = plot.do_plot(names, {"vus": 16}, [], variables, {"entry": failed})
    assert [trace.name for trace in figure.data if trace.showlegend] == ["repeat 0", "repeat 1"]


def test_a_steady_run_is_said_to_be_steady(encoder_bench: Workload) -> None:
    steady = series(answered_inputs=[100, 101, 99, 50])
    _, text = draw(encoder_bench, "Throughput and latency over the run", entry(timeseries=steady))
    assert "varies by 1 % at most" in text
    assert text.endswith("The first second is no different from the rest.")


def test_a_first_second_above_the_rest_is_no_warm_up(encoder_bench: Workload) -> None:
    falling = series(answered_inputs=[200, 100, 100, 50])
    _, text = draw(encoder_bench, "Throughput and latency over the run", entry(timeseries=falling))
    assert text.endswith("The first second is 100 % above the rest: it slowed down after it.")


def test_without_a_time_series_there_is_a_sentence(encoder_bench: Workload) -> None:
    assert draw(encoder_bench, "Throughput and latency over the run", entry()) == (
        None,
        "No time series was recorded for this run.",
    )
    short = series(requests=[1], failed=[0], answered_inputs=[1], p50_ms=[1.0], p95_ms=[1.0])
    _, text = draw(encoder_bench, "Throughput and latency over the run", entry(timeseries=short))
    assert "too short to say" in text


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        {},
        {**GOOD, "requests": "many"},
        {**GOOD, "requests": [1, 2, 3]},
        {**GOOD, "p95_ms": [1, 2, 3, "4"]},
        {**GOOD, "interval_s": 0},
        {**GOOD, "interval_s": None},
        {**GOOD, "start": True},
    ],
)
def test_what_is_no_time_series_is_refused(content: Any) -> None:
    with pytest.raises(ValueError, match=r"time series|unequal length"):
        parse_timeseries(content)


def test_the_load_window_is_shaded_and_what_is_unknown_is_said(encoder_bench: Workload) -> None:
    log = types.SimpleNamespace(
        time=[10.0, 11.0, 12.0],
        cpus_load=[[0.5, 0.1], [0.9, 0.2], [0.7, 0.1]],
        gpus_load=[],
        gpus=None,
        gpus_memory=[],
        main_memory=[0.2, 0.3, 0.3],
        load_window={"start": 10.5, "end": 11.5},
        cpu_util=0.9,
        gpu_util=None,
        main_memory_max=0.3,
        other_cores=0.25,
    )
    figure, text = draw(encoder_bench, "CPU, GPU and memory over the run", entry(utilization=log))
    assert [trace.name for trace in figure.data] == ["core 0", "core 1", "main memory"]
    (window,) = figure.layout.shapes
    assert (window.x0, window.x1) == (0.5, 1.5)
    assert text == (
        "fp32-8-0: during the load the server's cores were busy 90 % of the time (2 cores were watched), no GPU was "
        "measured, main memory reached 30 %. Other processes took 0.25 cores."
    )
    assert draw(encoder_bench, "CPU, GPU and memory over the run", entry())[0] is None


def test_quantiles_have_the_band_of_their_repeats(encoder_bench: Workload) -> None:
    def with_quantiles(vus: int, repeat: int, factor: float) -> Entry:
        k6 = types.SimpleNamespace(latency_quantiles_ms={"50": 10.0 * factor, "99": 30.0 * factor})
        return entry(vus, repeat, k6=k6)

    entries = [with_quantiles(8, 0, 1.0), with_quantiles(8, 1, 2.0), with_quantiles(16, 0, 4.0), entry(32)]
    frame = quantiles_frame(entries, ["hw_type"])
    assert frame[["virtual users", "quantile", "mean", "low", "high", "runs"]].values.tolist() == [
        [8, "50", 15.0, 10.0, 20.0, 2],
        [8, "99", 45.0, 30.0, 60.0, 2],
        [16, "50", 40.0, 40.0, 40.0, 1],
        [16, "99", 120.0, 120.0, 120.0, 1],
    ]
    figure, text = draw(encoder_bench, "Latency quantiles over virtual users", *entries)
    assert [trace.name for trace in figure.data if trace.name] == ["50 %", "99 %"]
    assert "the 99th percentile is 3.0 times the median latency" in text[0]
    assert text[1:] == ["1 of 4 runs is not shown: 1 without quantiles of its latency."]
    beside = [*entries, entry(8, 2), entry(16, 1)]
    _, text = draw(encoder_bench, "Latency quantiles over virtual users", *beside)
    assert text[1:] == ["3 of 6 runs are not shown: 3 without quantiles of its latency."]


def test_the_sample_tells_its_quantiles_and_time_series(repository: Path, encoder_bench: Workload) -> None:
    from matrix_benchmarking import store

    matrix = store.parse_tree(encoder_bench, repository / "data" / "samples" / "encoder_bench")
    results = next(iter(matrix)).results
    assert list(results.k6.latency_quantiles_ms) == ["50", "90", "95", "99"]
    summary = json.loads(next(next(iter(matrix)).location.glob("*__k6__run/timeseries.json")).read_text())
    assert results.timeseries.requests == summary["requests"]
