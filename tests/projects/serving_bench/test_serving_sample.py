"""The committed sample: the example server in six configurations, each run a whole curve."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from matrix_benchmarking import lts, store
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.analyze.verdict.sides import RunBlocks
from matrix_benchmarking.analyze.wording import ranking
from matrix_benchmarking.benchmark import expand, file, run_directory
from matrix_benchmarking.cli import main
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.workload import Workload, load
from projects.serving_bench.visualizations.steps import changes, steps


@pytest.fixture(scope="module")
def sample(repository: Path) -> Path:
    return repository / "data" / "samples" / "serving_bench"


@pytest.fixture(scope="module")
def workload() -> Workload:
    return load("projects.serving_bench.visualizations")


@pytest.fixture(scope="module")
def matrix(workload: Workload, sample: Path) -> Matrix:
    return store.parse_tree(workload, sample)


def test_the_sample_covers_what_its_benchmark_file_says(matrix: Matrix, repository: Path) -> None:
    content = file.read(repository / "examples" / "serving_cpu.yaml")
    wanted = {point.key for point in expand.expand(content, {}).points}
    assert {run_directory.point_key(entry.settings, entry.repeat) for entry in matrix} == wanted
    assert len(matrix) == len(wanted) == 18


def test_nothing_failed_and_the_payloads_are_strict(matrix: Matrix, workload: Workload, tmp_path: Path) -> None:
    assert (matrix.unfinished, matrix.notes) == ([], [])
    assert [entry.name for entry in matrix if entry.problems or entry.failed or entry.missing_files] == []
    with open(tmp_path / "lts.json", "wb") as stream:
        lts.write_payloads(workload, matrix, stream, pretty=False)
    assert len(json.loads((tmp_path / "lts.json").read_text(encoding="utf-8"))) == 18


def test_each_run_says_where_it_was_made_and_has_both_curves(matrix: Matrix) -> None:
    for entry in matrix:
        assert str(entry.environment.command).startswith("matbench benchmark examples/serving_cpu.yaml ")
        assert {"server", "onnxruntime", "all-MiniLM-L6-v2"} <= entry.environment.versions.keys()
        assert [point.concurrency for point in entry.lts.results.api] == [1, 4, 8, 16, 32]
        assert [point.batch_size for point in entry.lts.results.baseline] == [1, 4, 8, 16, 32]


def test_the_operations_of_a_request_are_those_of_24_tokens(matrix: Matrix) -> None:
    by_hand = 2 * 6 * (24 * (4 * 384**2 + 2 * 384 * 1536) + 2 * 24**2 * 384)
    assert {entry.settings["model_flops"] for entry in matrix} == {by_hand}


def test_what_a_machine_without_a_gpu_cannot_know_is_unknown(matrix: Matrix) -> None:
    for entry in matrix:
        assert entry.missing_kpis.keys() == {"gpu_at_best", "share_of_maximum"}


def test_six_steps_of_three_runs_have_intervals(matrix: Matrix, workload: Workload) -> None:
    found = steps(matrix, workload)
    assert [(step.settings["experiment"], len(step.runs)) for step in found] == [(at, 3) for at in range(1, 7)]
    made = changes(found, RunBlocks(lambda: matrix.entries))
    assert [change.best.judged.stands_on for change in made if change.best] == ["in 3 common rounds"] * 5


def test_the_best_step_is_the_best_configuration_with_the_same_numbers(matrix: Matrix, workload: Workload) -> None:
    catalogue = catalogue_of(Study(matrix, workload))
    best = catalogue.study.best.groups[0]
    said = f"{best.best.value:.2f} requests/s"
    behind = ranking.behind(best.best, workload.kpis["best_api_throughput"])
    answers = [str(ranking.verdict(catalogue.study.best)[0])]
    answers += [catalogue.page(f"report: {name}").summary() for name in ("Serving throughput", "Steps")]
    for answer in answers:
        assert said in answer
        assert behind in answer


def test_pages_say_the_same_of_where_a_curve_is_highest(matrix: Matrix, workload: Workload) -> None:
    found = catalogue_of(Study(matrix, workload))

    def text(report: str) -> str:
        return StaticHTML().render(found.page(report).do_plot(*found.arguments()))

    assert "4 of 6 curves have their highest point at the most clients" in text("Serving throughput")
    assert text("Bottleneck").count("(concurrency 32: CPU") == 4


def test_the_sample_is_small_and_names_no_machine(sample: Path) -> None:
    paths = [path for path in sample.rglob("*") if path.is_file() and not path.name.startswith(".matbench")]
    assert sum(os.path.getsize(path) for path in paths) < 200_000
    for path in paths:
        if path.suffix in (".json", ".log", ".yaml"):
            assert not re.search(rb"/(root|home|work|tmp|Users)/", path.read_bytes()), path


def test_the_commands_work_on_it_by_name(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options = [f"--results-dirname={sample}", "--workload=serving_bench"]
    for command in (["parse"], ["visualize", "--generate"], ["upload_lts"], ["analyze_lts"]):
        assert main([*command, *options]) == 0, command
    assert "Highest best_api_throughput" in capsys.readouterr().out
    assert main(["compare", str(sample), str(sample), "--workload=serving_bench"]) in (0, 2)
