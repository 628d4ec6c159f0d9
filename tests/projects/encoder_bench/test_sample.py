"""The committed sample: a real server under the genuine k6."""

from __future__ import annotations

import json
import os
import re

import pytest

from matrix_benchmarking import lts, store
from matrix_benchmarking.analyze.rank import rank
from matrix_benchmarking.benchmark import expand, file, run_directory
from matrix_benchmarking.workload import load


@pytest.fixture(scope="module")
def workload():
    return load("projects.encoder_bench.visualizations")


@pytest.fixture(scope="module")
def matrix(workload, sample):
    return store.parse_tree(workload, sample)


def test_the_sample_covers_the_matrix_that_its_benchmark_file_says(matrix, repository):
    content = file.read(repository / "examples" / "encoder_cpu.yaml")
    wanted = {point.key for point in expand.expand(content, {}).points}
    assert {run_directory.point_key(entry.settings, entry.repeat) for entry in matrix} == wanted
    assert len(matrix) == len(wanted)


def test_every_run_says_where_it_was_made_and_how_to_repeat_it(matrix):
    for entry in matrix:
        environment = entry.environment
        assert environment.command.startswith("matbench benchmark examples/encoder_cpu.yaml ")
        assert environment.cpu_model
        assert {"matbench", "k6", "server", "onnxruntime", "all-MiniLM-L6-v2"} <= environment.versions.keys()


def test_each_run_has_a_time_series_that_adds_up_and_a_few_answers(matrix):
    for entry in matrix:
        summary = json.loads((entry.location / "002__k6__run" / "summary.json").read_text())
        series = json.loads((entry.location / "002__k6__run" / "timeseries.json").read_text())
        assert sum(series["answered_inputs"]) == summary["metrics"]["answered_inputs"]["values"]["count"]
        assert len(json.loads((entry.location / "003__fidelity" / "answers.json").read_text())["answers"]) == 4


def test_the_monitor_took_less_than_two_percent_of_a_core(matrix):
    costs = [entry.lts.results.monitor_cpu for entry in matrix]
    assert max(costs) < 0.02


def test_nothing_in_the_sample_failed_and_its_payloads_are_strict(matrix, workload, tmp_path):
    assert matrix.unfinished == []
    assert matrix.notes == []
    assert [entry.name for entry in matrix if entry.problems or entry.failed or entry.missing_files] == []
    with open(tmp_path / "lts.json", "wb") as stream:
        lts.write_payloads(workload, matrix, stream, pretty=False)
    assert len(json.loads((tmp_path / "lts.json").read_text())) == len(matrix)


def test_gpu_utilisation_is_unknown_and_cpu_utilisation_known(matrix):
    for entry in matrix:
        assert entry.missing_kpis["gpu_util"] == "GPU load was not measured"
        assert 0.2 < entry.kpis["cpu_util"] <= 1


def test_quantised_answers_are_close_to_the_reference_and_exact_ones_equal(matrix):
    expected = {"onnx-fp32": 1.0, "onnx-int8": 0.993, "onnx-int8-per-tensor": 0.965}
    for entry in matrix:
        assert entry.kpis["fidelity"] == pytest.approx(expected[entry.settings["image"]], abs=0.006)
        assert entry.kpis["fidelity_minimum"] <= entry.kpis["fidelity"]


def test_the_default_quantisation_stays_visible_and_cannot_be_the_best(matrix, workload):
    best = rank(matrix, workload)
    refused = {excluded.entry.settings["image"] for excluded in best.excluded}
    assert refused == {"onnx-int8-per-tensor"}
    ranked = {one.point.settings["image"] for one in best.groups[0].standings}
    assert ranked == {"onnx-fp32", "onnx-int8"}


def test_runs_where_k6_competes_with_the_server_are_flagged(matrix):
    for entry in matrix:
        competes = any("k6 competed" in warning for warning in entry.warnings)
        assert competes == (entry.settings["hw_type"] == "cpu-2" and entry.lts.results.load_generator_cpu > 0.05)


def test_the_cheapest_configuration_is_the_quantised_model_on_one_core(matrix, workload):
    best = rank(matrix, workload)
    assert best.groups[0].best.settings["image"] == "onnx-int8"
    assert best.groups[0].best.settings["hw_type"] == "cpu-1"


def test_the_sample_is_small_and_names_no_machine(sample):
    paths = [path for path in sample.rglob("*") if path.is_file() and not path.name.startswith(".matbench")]
    assert sum(os.path.getsize(path) for path in paths) < 5_000_000
    for path in paths:
        if path.suffix == ".json" or path.suffix == ".log":
            assert not re.search(rb"/(root|home|work|tmp|Users)/", path.read_bytes()), path


def test_classifications_have_an_accuracy_beside_that_of_the_reference(repository, workload):
    matrix = store.parse_tree(workload, repository / "data" / "samples" / "encoder_digits")
    content = file.read(repository / "examples" / "digits_cpu.yaml")
    assert len(matrix) == len(expand.expand(content, {}).points)
    for entry in matrix:
        assert entry.problems == ()
        assert entry.kpis["accuracy"] == pytest.approx(0.972, abs=0.01)
        assert entry.kpis["accuracy_loss"] <= 1
        assert entry.kpis["error_rate"] == 0
        assert entry.lts.results.label_agreement > 0.98
    best = rank(matrix, workload)
    assert len(best.groups) == 1
    assert not best.excluded
