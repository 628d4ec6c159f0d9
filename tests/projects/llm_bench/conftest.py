"""What the tests of llm_bench share: real files, where they lie, and a parse without anybody's caches."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from requirements import missing

from matrix_benchmarking import store
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.workload import load

WORKLOAD = "projects.llm_bench.visualizations"


@pytest.fixture(autouse=True)
def own_caches(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))


@pytest.fixture
def formats() -> Path:
    """The directory of other tools' real files, which is not part of the project."""
    directory = Path(os.environ.get("MATBENCH_TEST_SAMPLES", "real files: MATBENCH_TEST_SAMPLES")).resolve() / "formats"
    return directory if directory.is_dir() else missing(str(directory))


@pytest.fixture
def parsed() -> Callable[..., Matrix]:
    """Parses a tree with llm_bench; options are those of the parsers."""

    def parse(tree: Path, **options: Any) -> Matrix:
        return store.parse_tree(load(WORKLOAD), tree, options={"prices": {}, **options})

    return parse
