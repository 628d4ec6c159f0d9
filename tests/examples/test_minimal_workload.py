"""A workload of one file and at most 40 lines already has KPIs, a payload and reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix_benchmarking import store
from matrix_benchmarking.workload import load

EXAMPLE = Path("examples/minimal_workload.py")
SAMPLE = Path("data/samples/openssl_speed")


@pytest.mark.parametrize("example", [EXAMPLE, Path("matrix_benchmarking/scaffold/template/workload.py")])
def test_a_first_workload_has_at_most_40_lines(repository, example):
    assert len((repository / example).read_text().splitlines()) <= 40


def test_the_example_gives_kpis_of_its_sample(repository):
    matrix = store.parse_tree(load(str(repository / EXAMPLE)), repository / SAMPLE)
    assert len(matrix) == 36
    assert all(set(entry.kpis) == {"hash_rate", "block_time"} for entry in matrix)
    for entry in matrix:
        bytes_per_block = entry.kpis["hash_rate"] * entry.kpis["block_time"]
        assert bytes_per_block == pytest.approx(entry.settings["block_bytes"])
