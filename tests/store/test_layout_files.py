"""Layouts whose tests hold other files than matbench's own: what is missing, declared and downloaded goes by layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking import store
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.store import BaseStore, FoundTest, Listing, NativeLayout, ignore_file_not_found, read_text
from matrix_benchmarking.workload import Workload


class Foreign:
    """Tests are directories that are called ``foreign-…``."""

    looks_for = "directories foreign-…"
    important_files = ("out/numbers.txt",)

    def find(self, listing: Listing) -> list[FoundTest]:
        return [FoundTest(listing.path)] if listing.path.name.startswith("foreign-") else []

    def settings_files(self, test: Path, root: Path) -> list[Path]:
        return []

    def read_settings(self, test: Path, root: Path) -> dict[str, Any]:
        return {"name": test.name}

    def read_exit_code(self, test: Path) -> int | None:
        return None


def parse_once(results: Any, test_dir: Any) -> None:
    results.own, results.foreign = _read(test_dir / "numbers.txt"), _read(test_dir / "out" / "numbers.txt")


@ignore_file_not_found
def _read(path: Any) -> str:
    return read_text(path)


@pytest.fixture
def workload() -> Workload:
    layouts = (NativeLayout(), Foreign())
    return Workload(
        name="two", store=BaseStore(parse_once=parse_once, important_files=["numbers.txt"], layouts=layouts)
    )


def parse(workload: Workload, root: Path, *files: str) -> Matrix:
    for name in ("native/settings.yaml", "native/exit_code", "foreign-1/out/log", *files):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("0" if name.endswith("exit_code") else "{}")
    return store.parse_tree(workload, root)


def test_each_layout_is_asked_for_its_own_files(workload, tmp_path):
    foreign, native = parse(workload, tmp_path)
    assert foreign.missing_files == ("out/numbers.txt",)
    assert native.missing_files == ("numbers.txt",)


def test_what_a_layout_declares_may_be_read_without_a_warning(workload, tmp_path):
    matrix = parse(workload, tmp_path, "native/numbers.txt", "foreign-1/out/numbers.txt")
    assert [entry.missing_files for entry in matrix] == [(), ()]
    assert matrix.notes == []


def test_the_files_of_all_layouts_are_declared(workload):
    assert store.declared_files(workload) == ["numbers.txt", "out/numbers.txt"]
