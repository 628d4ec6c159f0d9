"""Damaged artifacts: tests/corpus holds one of each kind, expected.yaml what a parse has to say of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from matrix_benchmarking import store
from matrix_benchmarking.cli import main
from matrix_benchmarking.workload import load

CORPUS = Path(__file__).with_name("corpus")
EXPECTED = yaml.safe_load((CORPUS / "expected.yaml").read_text())
WORKLOAD = "--workload=projects.encoder_bench.visualizations"


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    copy = tmp_path_factory.mktemp("corpus") / "results"
    shutil.copytree(CORPUS, copy)
    return copy


@pytest.fixture(scope="module")
def matrix(tree):
    return store.parse_tree(load("projects.encoder_bench.visualizations"), tree)


def test_every_test_of_the_corpus_is_told_of_and_no_other(matrix):
    assert {entry.name for entry in (*matrix, *matrix.unfinished)} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_damaged_test_has_the_expected_problem(matrix, name):
    (entry,) = [entry for entry in (*matrix, *matrix.unfinished) if entry.name == name]
    if EXPECTED[name] is None:
        assert entry.problems == ()
        assert entry.kpis["throughput"] > 0
    else:
        assert EXPECTED[name] in "; ".join(map(str, entry.problems))


def test_what_is_whole_beside_a_damaged_artifact_is_still_parsed(matrix):
    parsed = {entry.name: entry.kpis for entry in matrix}
    for name in ("utilization_unequal", "fidelity_without_mean", "uuid_is_none", "times_without_zone"):
        assert parsed[name]["throughput"] == parsed["whole"]["throughput"]


def test_a_lenient_parse_and_all_reports_are_written(tree, tmp_path, capsys):
    assert main(["parse", WORKLOAD, f"--results-dirname={tree}", f"--output-matrix={tmp_path / 'm.json'}"]) == 0
    assert (
        main(["visualize", WORKLOAD, f"--results-dirname={tree}", f"--report-dest={tmp_path / 'r'}", "--generate"]) == 0
    )
    page = (tmp_path / "r" / "error-report.html").read_text()
    assert all(name in page for name in EXPECTED if EXPECTED[name])


def test_a_strict_parse_names_every_damaged_test_at_once_and_writes_nothing(tree, tmp_path, capsys):
    assert main(["parse", WORKLOAD, f"--results-dirname={tree}", f"--output-lts={tmp_path / 'lts.json'}"]) == 1
    said = capsys.readouterr().err
    assert all(f"  {name}: " in said for name in EXPECTED if EXPECTED[name])
    assert not (tmp_path / "lts.json").exists()
