"""A click on a mark of any figure leads to a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking import store
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting.base import Catalogue
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.workload import Workload, load

WITHOUT_RUNS = ("CPU, GPU and memory over the run",)
"""Lines with no mark."""
SILENT = ("Failed requests", "Accuracy distribution", "Shapes of the answers", "KPI history")
"""No request of the sample failed, it has no labels, and one version; shapes are a table."""


@pytest.fixture(scope="module")
def encoder_bench() -> Workload:
    return load("encoder_bench")


@pytest.fixture(scope="module")
def catalogue(encoder_bench: Workload, sample: Path) -> Catalogue:
    return catalogue_of(Study(store.parse_tree(encoder_bench, sample), encoder_bench))


def marks(figure: Any) -> Iterator[dict[str, Any]]:
    """The traces of bars and markers, as a page gets them."""
    import plotly.io

    for trace in json.loads(plotly.io.to_json(figure, validate=False))["data"]:
        if trace["type"] in ("bar", "scatter", "scattergl") and trace.get("mode") != "lines":
            yield trace


def test_every_mark_of_every_figure_brings_back_a_run(catalogue: Catalogue) -> None:
    ids = {entry.test_uuid for entry in catalogue.study.matrix}
    for name in catalogue.plots:
        figure, _ = catalogue.plot(name).do_plot(*catalogue.arguments())
        if name in SILENT:
            assert figure is None
            continue
        found = list(marks(figure))
        assert bool(found) == (name not in WITHOUT_RUNS), name
        for trace in found:
            length = len(trace["x"]) if isinstance(trace["x"], list) else None
            assert isinstance(trace["customdata"], list), name
            assert length is None or len(trace["customdata"]) == length, name
            assert {row[0] for row in trace["customdata"]} <= ids, name


def test_a_bar_of_failed_requests_brings_back_its_run(encoder_bench: Workload) -> None:
    import types

    from matrix_benchmarking.matrix import Entry

    results = types.SimpleNamespace(requests=10, failed_requests=3)
    entries = [
        Entry(
            settings={"vus": vus},
            repeat=0,
            location=Path("/results"),
            name=f"run-{vus}",
            exit_code=0,
            test_uuid=f"id-{vus}",
            load_lts=lambda: types.SimpleNamespace(results=results),
        )
        for vus in (1, 2)
    ]
    plots = catalogue_of(Study(Matrix(entries), encoder_bench))
    figure, _ = plots.plot("Failed requests").do_plot(*plots.arguments())
    (bars,) = marks(figure)
    assert sorted(zip(bars["y"], (row[0] for row in bars["customdata"]), strict=True)) == [
        ("run-1", "id-1"),
        ("run-2", "id-2"),
    ]


def test_the_bar_at_fewer_users_brings_back_the_run_that_was_best_then(catalogue: Catalogue) -> None:
    figure, _ = catalogue.plot("Did we try enough VUs?").do_plot(*catalogue.arguments())
    by_id = {entry.test_uuid: entry for entry in catalogue.study.matrix}
    users = sorted({entry.settings["vus"] for entry in catalogue.study.matrix})
    for limit, trace in zip(users, figure.data, strict=True):
        runs = [by_id[row[0]] for row in trace.customdata]
        assert all(run.settings["vus"] <= limit for run in runs)
        for run, value in zip(runs, trace.x, strict=True):
            repeats = [e.kpis["throughput"] for e in by_id.values() if e.settings == run.settings and not e.failed]
            assert sum(repeats) / len(repeats) == pytest.approx(value)
