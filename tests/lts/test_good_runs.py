"""Which versions have no good run, whatever kind of value tells them apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from matrix_benchmarking import lts
from matrix_benchmarking.matrix import Entry, Facts
from matrix_benchmarking.workload import RegressionKeys, Workload


@pytest.mark.parametrize("value", [["1.4.0", "2.0"], {"engine": "1.4.0"}, "1.4.0", 1, 1.0, True])
def test_a_version_may_be_of_any_kind(lenient: Workload, make_entry: Callable[..., Entry], value: Any) -> None:
    workload = dataclasses.replace(lenient, regression=RegressionKeys(comparison_keys=["versions"]))
    failed, other = (
        make_entry(name, exit_code=code, facts=Facts({"versions": label}))
        for name, code, label in (("failed", 1, value), ("other", 0, "1"))
    )
    good = make_entry("good", facts=Facts({"versions": value}))
    without = lts.versions_without([other], [failed, failed], workload)
    assert len(without) == 1
    assert without[0].startswith("versions ")
    assert lts.versions_without([other, good], [failed], workload) == []
