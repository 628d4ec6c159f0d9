"""The application over the committed sample, without a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from plotting_support.app_support import pages_over

from matrix_benchmarking import store
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting.app.answers import Pages
from matrix_benchmarking.workload import Workload, load


@pytest.fixture(scope="session")
def encoder_workload() -> Workload:
    return load("encoder_bench")


@pytest.fixture(scope="session")
def sample_matrix(encoder_workload: Workload, sample: Path) -> Matrix:
    return store.parse_tree(encoder_workload, sample, jobs=1)


@pytest.fixture
def pages(encoder_workload: Workload, sample_matrix: Matrix, sample: Path, tmp_path: Path) -> Pages:
    return pages_over(sample_matrix, encoder_workload, [sample], tmp_path / "report")
