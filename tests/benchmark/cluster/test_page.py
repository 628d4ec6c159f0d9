"""The table of docs/cluster.md says what is tried, and all of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from benchmark_support.machines import REPOSITORY


def test_each_row_of_the_table_is_the_docstring_of_a_test():
    page = (Path(REPOSITORY) / "docs" / "cluster.md").read_text()
    rows = re.findall(r"^\|(.*?)\|", page.partition("|---|---|\n")[2], re.MULTILINE)
    modules = [ast.parse(path.read_text()) for path in Path(__file__).parent.glob("test_*.py")]
    tests = [each for module in modules for each in module.body if isinstance(each, ast.FunctionDef)]
    tried = [said.rstrip(".") for each in tests if each.name.startswith("test_") and (said := ast.get_docstring(each))]
    assert rows
    assert sorted(rows) == sorted(tried)
