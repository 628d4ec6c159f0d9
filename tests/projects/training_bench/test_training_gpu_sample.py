"""The sample of a training on a GPU: what its load says, and what limits it, also without the loop's own record."""

from __future__ import annotations

import dataclasses
import statistics
import tarfile

import pytest

from matrix_benchmarking import store
from matrix_benchmarking.analyze.verdict.sides import Question, RunBlocks
from matrix_benchmarking.benchmark import expand, file, run_directory
from matrix_benchmarking.workload import load
from projects.training_bench.visualizations.plotting import cases, verdicts


@pytest.fixture(scope="module")
def sample(repository):
    return repository / "data" / "samples" / "training_gpu"


@pytest.fixture(scope="module")
def workload():
    return load("training_bench")


@pytest.fixture(scope="module")
def matrix(workload, sample, tmp_path_factory):
    runs = tmp_path_factory.mktemp("training_gpu")
    with tarfile.open(sample / "runs.tar.gz") as archive:
        archive.extractall(runs, filter="data")
    return store.parse_tree(workload, runs)


def limits(matrix, workload):
    question = Question("a test", RunBlocks(lambda: matrix.entries))
    found = verdicts.conclusions(cases.cases_of(matrix, ["strategy"]), workload, question)
    return {(case.settings["strategy"], case.settings["io_speed"]): concluded.limit.value for case, concluded in found}


def test_it_is_what_its_benchmark_file_says(matrix, sample):
    wanted = {point.key for point in expand.expand(file.read(sample / "benchmark.yaml"), {}).points}
    assert {run_directory.point_key(entry.settings, entry.repeat) for entry in matrix} == wanted
    assert [entry.name for entry in matrix if entry.problems or entry.failed or entry.missing_files] == []
    assert {entry.lts.results.device for entry in matrix} == {"cuda"}


def test_a_gpu_is_idle_while_the_loop_waits(matrix):
    """What the monitor saw is never more than what the loop left to the GPU, and at most a seventh of an epoch less."""
    for entry in matrix:
        idle_by_the_loop = entry.kpis["data_wait"]
        assert idle_by_the_loop - 0.02 < entry.kpis["gpu_wait"] < idle_by_the_loop + 0.15
    waits, loads = zip(*((entry.kpis["data_wait"], entry.kpis["gpu_load"]) for entry in matrix), strict=True)
    assert statistics.correlation(waits, loads) < -0.98


def test_what_limits_it_is_found_with_the_record_of_waiting(matrix, workload):
    assert limits(matrix, workload) == {
        **{(strategy, speed): "I/O" for strategy in ("plain", "float16") for speed in (400, "unlimited")},
        **{("blosc2", speed): "CPU decoding" for speed in (400, "unlimited")},
        ("ring-buffer", 400): "I/O",
        ("ring-buffer", "unlimited"): "GPU",
    }


def test_and_without_it_where_a_faster_storage_was_tried(matrix, workload, monkeypatch):
    recorded = limits(matrix, workload)
    measured = verdicts.measured
    monkeypatch.setattr(
        verdicts,
        "measured",
        lambda case: dataclasses.replace(measured(case), data_wait=None, read_s=None, decode_s=None),
    )
    for (strategy, speed), limit in limits(matrix, workload).items():
        if speed == 400 or strategy == "ring-buffer":
            assert limit == recorded[strategy, speed]
        else:
            assert limit == "I/O or CPU decoding"
