"""The application's answers, and what is in them, without a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting.app.answers import Pages
from matrix_benchmarking.plotting.app.data import Data, Source
from matrix_benchmarking.workload import Workload


def pages_over(matrix: Matrix, workload: Workload, roots: list[Path], report_dest: Path) -> Pages:
    """The answers of an application over *matrix*."""
    data = Data(Source(workload=workload, place="results", roots=roots, read=lambda progress: matrix))
    data.start()
    assert data.wait(10) is not None
    data.join(60)
    return Pages(data, report_dest)


def texts(node: Any) -> str:
    """All text of elements, in order, with that of their grids' cells."""
    if node is None or isinstance(node, bool):
        return ""
    if isinstance(node, (str, int, float)):
        return str(node)
    if isinstance(node, (list, tuple)):
        return " ".join(texts(each) for each in node)
    properties = node.to_plotly_json()["props"]
    cells = " ".join(_cell(part) for row in properties.get("rowData", ()) for part in row.values())
    headers = " ".join(column["headerName"] for column in properties.get("columnDefs", ()))
    return " ".join(part for part in (texts(properties.get("children")), headers, cells) if part)


def _cell(cell: Any) -> str:
    parts = cell if isinstance(cell, list) else [cell]
    return " ".join(part["text"] if isinstance(part, dict) else str(part) for part in parts)


def elements(node: Any, kind: str) -> list[Any]:
    """All elements of this *kind* in *node*, in order."""
    if isinstance(node, (list, tuple)):
        return [found for each in node for found in elements(each, kind)]
    if not hasattr(node, "to_plotly_json"):
        return []
    own = [node] if node._type == kind else []
    return own + elements(getattr(node, "children", None), kind)
