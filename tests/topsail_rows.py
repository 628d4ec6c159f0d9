"""What the tests of docs/coming-from-topsail.md share: its rows, and small trees and workloads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders import rate_workload, speed_files, speed_workload, write_test

from matrix_benchmarking import store
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.cli import main
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.workload import Workload

PAGE = Path(__file__).parents[1] / "docs" / "coming-from-topsail.md"
TABLE = PAGE.read_text(encoding="utf-8").split("\n## ")[0]
ROWS = re.findall(r"^\| (?!There |\*\*|-)(.+?) \| .+? \|$", TABLE, re.M)
CHECKS: dict[str, Callable[[Path], None]] = {}


def of(row: str) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    """The check of the row that begins so; it runs in an empty directory, which it gets."""

    def kept(check: Callable[[Path], None]) -> Callable[[Path], None]:
        (name,) = [each for each in ROWS if each.startswith(row)]
        CHECKS[name] = check
        return check

    return kept


class Said:
    """What commands printed since it was asked last."""

    capture: pytest.CaptureFixture[str]

    @classmethod
    def by(cls, *command: str, status: int = 0) -> str:
        cls.capture.readouterr()
        assert main(list(command)) == status
        printed = cls.capture.readouterr()
        return printed.out + printed.err


def tree(root: Path, *speeds: float, **files: str) -> Path:
    for number, speed in enumerate(speeds):
        write_test(root / "tree" / f"run{number}", {"vus": number}, files=speed_files(speed) | files)
    return root / "tree"


def parsed(root: Path, *speeds: float, **changes: Any) -> Matrix:
    return store.parse_tree(speed_workload(**changes), tree(root, *speeds or (1.0,)))


def file_of(root: Path, name: str = "rates") -> Path:
    """A workload in a file, beside a tree of three versions."""
    (root / f"{name}.py").write_text(rate_workload(name, "version"))
    for version in ("1.0", "1.1", "1.2"):
        write_test(root / "tree" / version, {"version": version}, files={"rate.json": "2.0"})
    return root / f"{name}.py"


def arguments(root: Path) -> list[str]:
    return [f"--workload={file_of(root)}", f"--results-dirname={root / 'tree'}"]


def rendered(workload: Workload, matrix: Matrix, page: str) -> str:
    catalogue = catalogue_of(Study(matrix, workload))
    return StaticHTML().render(catalogue.page(page).do_plot(*catalogue.arguments()))


def payload_of(root: Path, old: str = "", new: str = "") -> Any:
    file = file_of(root)
    file.write_text(file.read_text().replace(old, new))
    Said.by("parse", f"--workload={file}", f"--results-dirname={root / 'tree'}", "--output-lts=lts.json")
    return json.loads((root / "lts.json").read_text())[0]


BENCHMARK = """
common_settings: {y: 1}
expe:
  one: {x: [1, 2, 3]}
  other: {x: 9}
expe_to_run: one
script_tpl: sh -c 'echo {x} {y}; test {x} != 2'
path_tpl: "x_{x}_{y}"
stop_on_error: true
order: grouped
"""
