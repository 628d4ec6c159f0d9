"""Directories side by side whose runs are taken for repeats, and have values of their own."""

from __future__ import annotations

from pathlib import Path

from toy_runs import workload

from matrix_benchmarking.analyze.check import findings
from matrix_benchmarking.matrix import Entry, Matrix


def said(**costs: float) -> list[str]:
    """What is said of a run each in a directory, whose repeat is behind ``_``."""
    runs = []
    for number, (name, cost) in enumerate(costs.items()):
        directory, _, repeat = name.replace("__", "/").rpartition("_")
        runs.append(Entry({"size": 1}, int(repeat or 0), Path("x"), f"{directory}_{number}", 0, kpis={"cost": cost}))
    return [one.sentence for one in findings(Matrix(runs), workload()) if one.kind == "files-differ"]


def test_test_directories_of_two_machines_are_asked_about() -> None:
    (sentence,) = said(a100__size_0=1.0, a100__size_1=1.1, h100__size_0=3.0, h100__size_1=3.1)
    assert "up to 2.9 times as high in one as in another (a100/, h100/)" in sentence
    assert "--settings-from='{version}' or a settings.yaml above them says it" in sentence
    (sentence,) = said(x__v1__size_0=1.0, x__v1__size_1=1.01, x__v2__size_0=1.1, x__v2__size_1=1.2)
    assert "(v1/, v2/)" in sentence
    (sentence,) = said(size_0=1.0, size_1=1.1, old__size_0=3.0, old__size_1=3.1)
    assert "(./, old/)" in sentence


def test_test_directories_of_repeats_are_not() -> None:
    assert said(size_0=1.0, size_1=3.0) == []
    assert said(cold__size_0=3.0, cold__size_1=3.1, warm__size_2=1.0, warm__size_3=1.1) == []  # a person counted
    assert said(run1__size_0=1.0, run2__size_0=2.0) == []
    assert said(a__size_0=1.0, a__size_1=1.3, b__size_0=1.1, b__size_1=1.2) == []
