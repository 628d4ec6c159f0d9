"""Real results trees to download: part of the sample of encoder_bench, parsed so that it has caches."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from matrix_benchmarking import store, workload
from matrix_benchmarking.cli import main
from matrix_benchmarking.download import fetch

CACHE = ".matbench_encoder_bench.cache"

Download = Callable[..., int]


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory, a user's cache directory of its own, no waiting, and no settings from outside."""
    for name in [name for name in os.environ if name.startswith(("MATBENCH_", "AWS_", "NETRC", "ARTIFACT_DIR"))]:
        if not name.startswith("MATBENCH_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(fetch, "FIRST_DELAY_S", 0.01)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture(scope="session")
def parsed_sample(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of three runs of the sample, parsed: each test directory has its cache."""
    tree = tmp_path_factory.mktemp("parsed") / "tree"
    shutil.copytree(sample / "cpu-2" / "onnx-int8", tree, ignore=shutil.ignore_patterns("*repeat_[12]"))
    assert len(store.parse_tree(workload.load("encoder_bench"), tree)) == 3
    return tree


@pytest.fixture
def tree(parsed_sample: Path, directory: Path) -> Path:
    """That copy once more, to be changed."""
    return Path(shutil.copytree(parsed_sample, directory.parent / "tree"))


@pytest.fixture
def download() -> Download:
    """``matbench download ADDRESS`` with further options, into ``here``; gives the exit status."""

    def run(address: object, *options: str, workload: str | None = "encoder_bench", to: str = "here") -> int:
        named = [f"--workload={workload}"] if workload else []
        return main(["download", f"--url={address}", f"--results-dirname={to}", *named, *options])

    return run


def files_of(root: Path) -> set[str]:
    """The files below *root*, matbench's own books left out."""
    found = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() or path.is_symlink()}
    return {name for name in found if not name.startswith(".matbench/")}


@pytest.fixture
def files() -> Callable[[Path | str], set[str]]:
    """The names of the files below a directory, matbench's own books left out."""
    return lambda root: files_of(Path(root))
