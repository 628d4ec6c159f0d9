"""Data as it shouldn't be: each page says what is wrong, none fails."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting import site
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.workload import Workload, load

NUMBERS = {"1B_cost": 10.0, "p95_latency": 5.0, "avg_latency": 3.0, "throughput": 100.0, "fidelity": 1.0}
LONG = "x" * 400


@pytest.fixture(scope="module")
def encoder_bench() -> Workload:
    return load("encoder_bench")


def entry(number: int = 0, kpis: dict[str, float] | None = None, **settings: Any) -> Entry:
    return Entry(
        settings={"hw_type": "cpu-1", "image": "fp32", "engine": "onnx", "batch_size": 8, "vus": 4, **settings},
        repeat=0,
        location=Path("/results") / f"run-{number}",
        name=f"run-{number}",
        exit_code=0,
        test_uuid=f"{number:032x}",
        kpis=NUMBERS if kpis is None else kpis,
    )


def without(*names: str) -> dict[str, float]:
    return {name: value for name, value in NUMBERS.items() if name not in names}


CASES: dict[str, tuple[list[Entry], str]] = {
    "all costs unknown": (
        [entry(vus, without("1B_cost"), vus=vus) for vus in (1, 2, 4)],
        "No configuration can be ranked by 1B_cost",
    ),
    "one number of many is unknown": ([entry(0), entry(1, without("1B_cost"), vus=8), entry(2, vus=16)], ""),
    "sixty values of a setting": ([entry(n, image=f"image {n}") for n in range(60)], "image 0"),
    "a long value and a long name": (
        [dataclasses.replace(entry(0, image=LONG), name=LONG), entry(1, image="b")],
        LONG,
    ),
    "no KPI at all": ([entry(0, {})], "No configuration can be ranked by 1B_cost"),
    "one run": ([entry()], "It is the only point that could be ranked."),
    "only failed runs": ([dataclasses.replace(entry(), exit_code=3)], "failed with exit code 3"),
    "settings of mixed types": ([entry(n, vus=vus) for n, vus in enumerate((1, "1", True, None, 1.5))], "1B_cost"),
    "zeros": ([entry(n, dict.fromkeys(NUMBERS, 0.0) | {"fidelity": 1.0}, vus=2**n) for n in range(3)], "0.00 USD"),
    "negative numbers": (
        [entry(n, dict.fromkeys(NUMBERS, -1.0 - n) | {"fidelity": 1.0}, vus=2**n) for n in range(3)],
        "",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_page_is_written_and_says_what_is_wrong(case: str, encoder_bench: Workload, tmp_path: Path) -> None:
    entries, said = CASES[case]
    written = site.write_site(Study(Matrix(entries), encoder_bench, given=Given(place="results")), tmp_path, [])
    assert len(written.pages) == 12
    assert said in written.pages[0].read_text(encoding="utf-8")
    for path in written.pages:
        page = path.read_text(encoding="utf-8")
        main = page[page.index("<main") : page.index("</main>")]
        assert not re.search(r"\b(nan|inf|NaN|Infinity)\b(?!\))", main), path.name


@pytest.mark.parametrize("case", CASES)
def test_a_limit_is_answered_too(case: str, encoder_bench: Workload) -> None:
    catalogue = catalogue_of(Study(Matrix(CASES[case][0]), encoder_bench))
    report = catalogue.page("report: Best configuration")
    for limit in (0.001, 5, 1e9):
        assert report.do_plot(*catalogue.arguments({"limit": limit}))
