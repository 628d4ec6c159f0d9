"""The sample that was measured on a GPU: the monitor's figures of a real one, and what follows from them."""

from __future__ import annotations

import json
import statistics
import tarfile

import pytest

from matrix_benchmarking import lts, store
from matrix_benchmarking.benchmark import expand, file, monitor, run_directory
from matrix_benchmarking.workload import load


@pytest.fixture(scope="module")
def sample(repository):
    return repository / "data" / "samples" / "encoder_gpu"


@pytest.fixture(scope="module")
def workload():
    return load("projects.encoder_bench.visualizations")


@pytest.fixture(scope="module")
def matrix(workload, sample, tmp_path_factory):
    runs = tmp_path_factory.mktemp("encoder_gpu")
    with tarfile.open(sample / "runs.tar.gz") as archive:
        archive.extractall(runs, filter="data")
    return store.parse_tree(workload, runs)


def test_it_is_what_its_benchmark_file_says(matrix, sample, workload, tmp_path):
    wanted = {point.key for point in expand.expand(file.read(sample / "benchmark.yaml"), {}).points}
    assert {run_directory.point_key(entry.settings, entry.repeat) for entry in matrix} == wanted
    assert [entry.name for entry in matrix if entry.problems or entry.failed] == []
    with open(tmp_path / "lts.json", "wb") as stream:
        lts.write_payloads(workload, matrix, stream, pretty=False)


def test_the_gpu_of_the_server_was_found_by_its_process(matrix):
    assert {tuple(entry.results.utilization.gpus) for entry in matrix} == {(0,)}
    assert {name for entry in matrix for name in entry.environment.gpus} == {"NVIDIA H100 80GB HBM3"}


def test_its_kpis_say_that_the_gpu_waited_and_a_core_did_not(matrix):
    entry = next(
        entry
        for entry in matrix
        if entry.settings["image"] == "torch-fp32"
        and entry.settings["batch_size"] == 16
        and entry.settings["vus"] == 32
    )
    assert entry.kpis["gpu_util"] == pytest.approx(0.355, abs=0.0005)
    assert entry.kpis["gpu_memory"] == 0.0306
    assert entry.results.utilization.process_cores["server"] == pytest.approx(1.06, abs=0.005)
    assert max(entry.kpis["gpu_util"] for entry in matrix) < 0.4


def test_batches_bring_six_times_the_throughput_and_bfloat16_next_to_nothing(matrix):
    def throughput(image, batch_size):
        at = {"image": image, "batch_size": batch_size, "vus": 32}
        return statistics.fmean(entry.kpis["throughput"] for entry in matrix if at.items() <= entry.settings.items())

    assert throughput("torch-fp32", 16) / throughput("torch-fp32", 1) == pytest.approx(6.2, abs=0.1)
    assert throughput("torch-bf16", 16) / throughput("torch-fp32", 16) == pytest.approx(1.03, abs=0.005)


def test_a_load_is_nearer_to_the_truth_when_it_counts_where_it_was(sample):
    shares = json.loads((sample / "duty.json").read_text())["shares"]
    late = round(monitor.LAG_S / monitor.INTERVAL_S)
    for each in shares:
        as_given, as_it_was = statistics.fmean(each["loads"]), statistics.fmean(each["loads"][late:])
        assert abs(as_it_was - each["busy"]) <= abs(as_given - each["busy"])
        assert as_it_was == pytest.approx(each["busy"], abs=0.08)
