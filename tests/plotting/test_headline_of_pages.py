"""Pages of a tree of several benchmarks begin with the KPI by which its runs are ranked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking import kpi
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.workload import BaseStore, Workload


@pytest.fixture
def toy() -> Workload:
    return Workload(
        name="toy",
        store=BaseStore(
            parse_once=lambda results, test_dir: None,
            models_kpis=kpi.collect(
                [
                    kpi.field_kpi("time", help="Time", unit="s", better="lower", applies_to={"measure": "time"}),
                    kpi.field_kpi("rate", help="Rate", unit="1/s", better="higher", applies_to={"measure": "rate"}),
                ]
            ),
        ),
        variant_keys=("image",),
    )


def entries(measure: str, values: dict[str, float]) -> Sequence[Entry]:
    return [
        Entry(
            settings={"measure": measure, "image": image, "version": version},
            repeat=repeat,
            location=Path("/results") / f"{measure}-{image}-{version}-{repeat}",
            name=f"{measure}-{image}-{version}-{repeat}",
            exit_code=0,
            kpis={measure: value * (1 + repeat / 1000)},
            campaign="one night",
            round=repeat + 1,
        )
        for image, value in values.items()
        for version in ("1.0", "1.1")
        for repeat in range(4)
    ]


def compared(workload: Workload, runs: Sequence[Entry], **cfg: Any) -> str:
    catalogue = catalogue_of(Study(Matrix(runs), workload))
    return StaticHTML().render(catalogue.page("report: Compare").do_plot(*catalogue.arguments(cfg)))


def test_runs_that_have_no_headline_are_compared_by_what_ranks_them(toy: Workload) -> None:
    said = compared(toy, entries("rate", {"a": 100.0, "b": 200.0}), setting="image", old="a", new="b")
    assert "Switch: b instead of a changes rate by +100 %" in re.sub("<[^>]*>", "", said)


def test_of_two_benchmarks_that_of_most_runs_comes_first(toy: Workload) -> None:
    runs = [*entries("rate", {"a": 100.0, "b": 200.0}), *entries("time", {"a": 1.0, "b": 1.0, "c": 1.0})]
    more = compared(toy, runs, setting="image", old="a", new="b")
    pooled = more.split("All settings pooled")[2]
    assert pooled.index(">time<") < pooled.index(">rate<")
    catalogue = catalogue_of(Study(Matrix(runs), toy))
    (choice, *_) = catalogue.plot("KPI history").controls()
    assert choice.default == "time"
    (choice, *_) = catalogue_of(Study(Matrix(entries("rate", {"a": 1.0})), toy)).plot("KPI history").controls()
    assert choice.default == "rate"
