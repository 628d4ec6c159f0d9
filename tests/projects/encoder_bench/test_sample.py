"""The committed sample: a real server under the genuine k6."""

from __future__ import annotations

import itertools
import json
import os
import re

import pytest

from matrix_benchmarking import lts, store
from matrix_benchmarking.analyze.best import rank
from matrix_benchmarking.workload import load


@pytest.fixture(scope="module")
def workload():
    return load("projects.encoder_bench.visualizations")


@pytest.fixture(scope="module")
def matrix(workload, sample):
    return store.parse_tree(workload, sample)


def test_the_sample_covers_the_matrix(matrix):
    points = {tuple(entry.settings[name] for name in ("hw_type", "image", "batch_size", "vus")) for entry in matrix}
    assert points == set(
        itertools.product(("cpu-1", "cpu-2"), ("onnx-fp32", "onnx-int8"), (1, 8, 32), (1, 4, 8, 16, 32))
    )


def test_each_curve_has_three_repeats_where_it_peaks(matrix):
    for hw_type, image, batch_size in itertools.product(("cpu-1", "cpu-2"), ("onnx-fp32", "onnx-int8"), (1, 8, 32)):
        curve = list(matrix.all_records({"hw_type": hw_type, "image": image, "batch_size": batch_size}))
        runs: dict[int, list[float]] = {}
        for entry in curve:
            runs.setdefault(entry.settings["vus"], []).append(entry.kpis["throughput"])
        peak = max(runs, key=lambda vus: sum(runs[vus]) / len(runs[vus]))
        assert len(runs[peak]) >= 3, (hw_type, image, batch_size)


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
    for entry in matrix:
        expected = 1.0 if entry.settings["image"] == "onnx-fp32" else 0.993
        assert entry.kpis["fidelity"] == pytest.approx(expected, abs=0.002)


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
