"""Steps, their bottlenecks and their plots where runs are repeated, incomplete, failed or hostile."""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from builders import write_test

from matrix_benchmarking.analyze.check import findings
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.analyze.verdict.model import Outcome
from matrix_benchmarking.analyze.verdict.sides import RunBlocks
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.store import parse_tree
from matrix_benchmarking.workload import Workload, load
from projects.serving_bench.visualizations.analyze import Bottleneck, bottleneck
from projects.serving_bench.visualizations.steps import changes, steps

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def workload() -> Workload:
    return load("projects.serving_bench.visualizations")


def write(root: Path, settings: dict[str, Any], log: str | None, exit_code: int = 0) -> None:
    """A run; those of one repeat are a round."""
    name = "_".join(str(value) for value in settings.values()).replace("/", "_")
    files = {"block.json": json.dumps({"version": 1, "campaign": "c", "round": settings.get("repeat", 0) + 1})}
    files |= {} if log is None else {"benchmark.log": log}
    write_test(root / name, settings, exit_code=exit_code, files=files)


def log(*rates: float, cpu: float | None = None, baseline: float | None = 100.0) -> str:
    lines = [] if baseline is None else [f"Batch size 1: {baseline} reqs/sec"]
    load = "" if cpu is None else f", CPU: {cpu}%"
    return "\n".join([*lines, *(f"Concurrency {2**at}: {rate} reqs/sec{load}" for at, rate in enumerate(rates))])


@pytest.fixture
def repeated(tmp_path: Path, workload: Workload) -> Matrix:
    """Two steps of three runs each: the second is faster with many clients and slower with one."""
    for repeat, noise in enumerate((-1.0, 0.0, 1.0)):
        first, second = (10 + noise / 10, 40 + noise, 50 + noise), (6 + noise / 10, 60 + noise, 80 + noise)
        common = {"hw_type": "cpu-1", "repeat": repeat}
        write(tmp_path, {"experiment": 1, "batch": 1, **common}, log(*first, cpu=99.0))
        write(tmp_path, {"experiment": 2, "batch": 8, **common}, log(*second, cpu=50.0))
    return parse_tree(workload, tmp_path)


def draw(workload: Workload, matrix: Matrix, name: str) -> tuple[Any, Any]:
    catalogue = catalogue_of(Study(matrix, workload))
    return catalogue.plot(name).do_plot(*catalogue.arguments())


def test_repeats_are_one_step_and_tell_a_change_from_chance(workload: Workload, repeated: Matrix) -> None:
    found = steps(repeated, workload)
    assert [(step.label, len(step.runs)) for step in found] == [("experiment 1", 3), ("experiment 2", 3)]
    (change,) = changes(found, RunBlocks(lambda: repeated.entries))
    assert change.what == "batch 1 → 8"
    assert change.best is not None
    assert change.best.outcome is Outcome.IMPROVEMENT
    size = change.best.judged.measure
    assert size.value == pytest.approx((79 * 80 * 81 / (49 * 50 * 51)) ** (1 / 3) - 1)
    assert 0.55 < size.low < size.value < size.high < 0.65
    assert {place: one.outcome for place, one in change.at.items()} == {
        1: Outcome.REGRESSION, 2: Outcome.IMPROVEMENT, 4: Outcome.IMPROVEMENT
    }  # fmt: skip


def test_with_repeats_the_page_gives_intervals_and_says_how_many_runs(workload: Workload, repeated: Matrix) -> None:
    figure, text = draw(workload, repeated, "Best throughput of each step")
    assert "80.00 requests/s at concurrency 4 (3 runs; 95 % interval" in text[0]
    assert ", +60.0 % (better) against experiment 1 (50.00 requests/s at concurrency 4)." in text[0]
    assert text[1] == "The largest gain of the best throughput: experiment 2 (batch 1 → 8): +60.0 % (better)."
    assert text[2] == "Behind each configuration are 3 runs."
    assert figure.data[0].error_y.visible
    curves, _ = draw(workload, repeated, "Throughput over concurrency and batch size")
    assert list(curves.data[0].error_y.array) == pytest.approx([0.1, 1.0, 1.0])


def test_a_change_that_may_be_chance_is_in_brackets_and_no_gain(workload: Workload, tmp_path: Path) -> None:
    for repeat, noise in enumerate((-5.0, 0.0, 5.0)):
        write(tmp_path, {"experiment": 1, "workers": 1, "repeat": repeat}, log(50 + noise))
        write(tmp_path, {"experiment": 2, "workers": 2, "repeat": repeat}, log(51 - noise))
    figure, text = draw(workload, parse_tree(workload, tmp_path), "What each step changed, at which concurrency")
    assert [list(row) for row in figure.data[0].text] == [["(+2.0 %)"]]
    assert text == ["Nowhere was more gained or lost than chance explains."]


def test_the_steps_page_names_what_cant_be_told_apart_from_the_best(workload: Workload, tmp_path: Path) -> None:
    for repeat, noise in enumerate((-5.0, 0.0, 5.0)):
        for step, rate in ((1, 50 + noise), (2, 51 - noise), (3, 20 + noise)):
            write(tmp_path, {"experiment": step, "workers": step, "repeat": repeat}, log(rate))
    matrix = parse_tree(workload, tmp_path)
    _, text = draw(workload, matrix, "Best throughput of each step")
    assert text[0].startswith("Best: experiment 2: 51.00 requests/s")
    assert text[0].endswith("Can't be told apart from it: experiment 1 (50.00 requests/s).")
    assert catalogue_of(Study(matrix, workload)).page("report: Steps").summary() == text[0]


def test_unknown_loads_are_unknown_and_a_cpu_alone_can_be_saturated(workload: Workload, repeated: Matrix) -> None:
    figure, text = draw(workload, repeated, "CPU and GPU over concurrency")
    assert text[0] == ("Of 6 points of all curves: CPU saturated at 3, CPU not saturated, GPU unknown at 3.")
    assert [len(trace.x) for trace in figure.data if trace.name == "GPU"] == [0, 0]


def test_without_any_load_nothing_is_said_of_the_bottleneck(workload: Workload, tmp_path: Path) -> None:
    write(tmp_path, {"experiment": 1}, log(10, 20))
    figure, text = draw(workload, parse_tree(workload, tmp_path), "CPU and GPU over concurrency")
    assert figure is None
    assert "isn't known" in text


@pytest.mark.parametrize(
    ("cpu", "gpu", "expected"),
    [
        (0.95, 0.5, Bottleneck.CPU),
        (0.5, 0.9, Bottleneck.GPU),
        (0.9, 0.9, Bottleneck.BOTH),
        (0.5, 0.5, Bottleneck.WAITING),
        (0.95, None, Bottleneck.CPU),
        (0.5, None, Bottleneck.NOT_CPU),
        (None, 0.5, Bottleneck.NOT_GPU),
        (None, None, Bottleneck.UNKNOWN),
    ],
)
def test_an_unknown_load_is_never_taken_for_an_idle_device(
    cpu: float | None, gpu: float | None, expected: Bottleneck
) -> None:
    assert bottleneck(cpu, gpu) is expected


def test_failed_runs_and_runs_without_a_log_are_no_steps(workload: Workload, tmp_path: Path) -> None:
    write(tmp_path, {"experiment": 1}, log(10, 20))
    write(tmp_path, {"experiment": 2}, log(30, 40), exit_code=1)
    write(tmp_path, {"experiment": 3}, None)
    write(tmp_path, {"experiment": 4}, "Concurrency 8: oops reqs/sec")
    matrix = parse_tree(workload, tmp_path)
    assert [step.label for step in steps(matrix, workload)] == ["experiment 1"]
    missing = {entry.settings["experiment"]: entry.missing_kpis.get("best_api_throughput") for entry in matrix}
    assert missing[3] == missing[4] == "throughput over concurrency (benchmark.log) was not measured"
    (damaged,) = [entry for entry in matrix if entry.problems]
    assert damaged.settings["experiment"] == 4


def test_a_run_of_the_model_alone_has_a_curve_and_no_best_step(workload: Workload, tmp_path: Path) -> None:
    write(tmp_path, {"experiment": 1}, "Batch size 1: 10 reqs/sec\nBatch size 8: 20 reqs/sec")
    matrix = parse_tree(workload, tmp_path)
    figure, text = draw(workload, matrix, "Throughput over concurrency and batch size")
    assert figure is not None
    assert text[0] == "No run measured its throughput through the API."
    assert draw(workload, matrix, "Best throughput of each step")[0] is None
    (entry,) = matrix
    assert entry.kpis["best_baseline_throughput"] == 20
    assert entry.missing_kpis["serving_efficiency"] == "throughput over concurrency (benchmark.log) was not measured"


def test_runs_that_tried_other_numbers_of_clients_are_said_to_be_unlike(workload: Workload, tmp_path: Path) -> None:
    for experiment, rates in ((1, (10, 20, 30)), (2, (10, 20, 30)), (3, (10, 20))):
        write(tmp_path, {"experiment": experiment}, log(*rates))
    matrix = parse_tree(workload, tmp_path)
    (said,) = [one.sentence for one in findings(matrix, workload) if one.kind == "unlike"]
    assert "tried up to 2 clients: 1 run | 4 clients: 2 runs: the best of fewer points is lower by chance" in said
    alike = Matrix([entry for entry in matrix if entry.settings["experiment"] < 3])
    assert [one for one in findings(alike, workload) if one.kind == "unlike"] == []


def test_a_busy_client_and_a_throughput_beyond_the_maximum_are_doubtful(workload: Workload, tmp_path: Path) -> None:
    write(tmp_path, {"experiment": 1, "model_flops": 1e9, "device_flops": 1.5e10}, log(10, 20, 5))
    (directory,) = [path.parent for path in tmp_path.glob("*/settings.yaml")]
    (directory / "client.json").write_text('{"cpu": {"1": 0.2, "2": 0.97}}')
    (entry,) = parse_tree(workload, tmp_path)
    assert entry.kpis["share_of_maximum"] == pytest.approx(20 / 15)
    assert [warning.partition(":")[0] for warning in entry.warnings] == [
        "the client was the limit",
        "throughput is beyond the theoretical maximum",
    ]


def test_a_rate_of_nothing_is_doubtful(workload: Workload, tmp_path: Path) -> None:
    write(tmp_path, {"experiment": 1}, log(0, 0))
    write(tmp_path, {"experiment": 2}, log(10, 0))
    said = [[warning.partition(":")[0] for warning in entry.warnings] for entry in parse_tree(workload, tmp_path)]
    assert said == [[f"the log says 0 requests/s at concurrency {at}"] for at in ("1, 2", "2")]


def test_a_throughput_beyond_the_models_own_is_doubtful(workload: Workload, tmp_path: Path) -> None:
    write(tmp_path, {"experiment": 1}, log(100, 108, 20))
    write(tmp_path, {"experiment": 2}, log(10, 150, 5))
    usual, doubted = parse_tree(workload, tmp_path)
    assert usual.warnings == ()
    assert [warning.partition(":")[0] for warning in doubted.warnings] == [
        "throughput through the API is 1.5 times the best of the model by itself"
    ]


@pytest.mark.parametrize("content", ["[]", '{"cpu": [1]}', '{"cpu": {"1": 3}}', '{"cpu": {"1": "x"}}', "{"])
def test_a_damaged_record_of_the_client_is_a_problem_of_the_run(
    content: str, workload: Workload, tmp_path: Path
) -> None:
    write(tmp_path, {"experiment": 1}, log(10, 20))
    (directory,) = [path.parent for path in tmp_path.glob("*/settings.yaml")]
    (directory / "client.json").write_text(content)
    (entry,) = parse_tree(workload, tmp_path)
    assert [problem.file for problem in entry.problems] == ["client.json"]
    assert entry.kpis["best_api_throughput"] == 20


def test_hostile_names_are_text_on_all_pages(workload: Workload, tmp_path: Path) -> None:
    for experiment in (1, 2):
        settings = {"experiment": experiment, "server": f"{HOSTILE}{experiment}", "precision": HOSTILE}
        write(tmp_path, settings, log(10, 20 * experiment, cpu=95))
    catalogue = catalogue_of(Study(parse_tree(workload, tmp_path), workload))
    for report in workload.pages()[1]:
        page = StaticHTML()
        html = page.render(catalogue.page(report.name).do_plot(*catalogue.arguments()))
        assert "<script>alert" not in html
        figures = [go.Figure(figure.figure.to_dict()) for figure in page.figures]  # which plotly checks
        assert all("<script>" not in figure.to_json() for figure in figures)


def test_settings_without_an_experiment_are_told_apart_by_what_differs(workload: Workload) -> None:
    points = [types.SimpleNamespace(concurrency=1, throughput=5.0, cpu=None, gpu=None)]
    results = types.SimpleNamespace(
        api=points, baseline=[], theoretical_max=None, theoretical_max_source=None, theoretical_max_unknown="x"
    )
    entries = [
        Entry(
            settings={"model": "m", "workers": workers},
            repeat=0,
            location=Path("/results"),
            name=str(workers),
            exit_code=0,
            load_lts=lambda: types.SimpleNamespace(results=results),
        )
        for workers in (1, 2)
    ]
    assert [step.label for step in steps(entries, workload)] == ["workers 1", "workers 2"]


def test_a_load_above_1_cannot_be(workload: Workload) -> None:
    point = types.SimpleNamespace(concurrency=8, throughput=10.0, cpu=1.4, gpu=None)
    results = types.SimpleNamespace(api=[point], baseline=None, client_cpu=None)
    assert workload.implausible is not None
    assert workload.implausible(types.SimpleNamespace(results=results)) == [
        "at concurrency 8: cpu is 1.4, and a share is from 0 to 1"
    ]
