"""The picture of a comparison: its axis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plotting_support.app_support import elements

from matrix_benchmarking import kpi
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting import compare_charts
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.workload import BaseStore, Workload


@kpi.LowerBetter
@kpi.KPIMetadata(help="What it costs", unit="USD")
def cost(lts: Any) -> Any:
    return lts.cost


def axis_and_marks(factors: dict[str, float]) -> tuple[Any, dict[str, float]]:
    """The axis of image b against a, whose runs cost so many times as much, and where each stands by its vus."""
    workload = Workload(
        name="toy",
        store=BaseStore(parse_once=lambda results, test_dir: None, models_kpis=kpi.collect([cost])),
        variant_keys=("image",),
    )
    runs = [
        Entry(
            settings={"image": image, "vus": vus},
            repeat=repeat,
            location=Path("/results") / f"{image}-{vus}-{repeat}",
            name=f"{image}-{vus}-{repeat}",
            exit_code=0,
            kpis={"cost": (factor if image == "b" else 1.0) * (1.0 + 0.001 * repeat)},
            campaign="one night",
            round=repeat + 1,
        )
        for image in ("a", "b")
        for vus, factor in factors.items()
        for repeat in range(3)
    ]
    catalogue = catalogue_of(Study(Matrix(runs), workload))
    arguments = catalogue.arguments({"setting": "image", "old": "a", "new": "b"})
    forest = elements(catalogue.page("report: Compare").do_plot(*arguments), "Graph")[0].figure
    texts = [text.replace("\xa0", " ").rsplit(" ", 1)[1] for text in forest.layout.yaxis.ticktext]
    marks = {texts[place]: x for trace in forest.data if trace.y for x, place in zip(trace.x, trace.y, strict=True)}
    return forest.layout.xaxis, marks


def test_a_fourfold_cost_and_a_quarter_of_it_lie_as_far_from_no_change() -> None:
    axis, marks = axis_and_marks({"more": 4.0, "less": 0.25})
    assert marks["more"] == pytest.approx(-marks["less"])
    assert axis.ticktext == ("0 %", "+100 %", "−50 %", "+300 %", "−75 %")
    more, less = marks["more"], marks["less"]
    assert axis.tickvals == pytest.approx([0.0, more / 2, less / 2, more, less])
    assert axis.title.text == "change (logarithmic), 95 % intervals"


def test_changes_below_a_doubling_are_in_per_cent_on_a_linear_axis() -> None:
    axis, marks = axis_and_marks({"more": 1.5, "less": 0.5})
    assert [marks["more"], marks["less"]] == pytest.approx([50.0, -50.0])
    assert (axis.ticksuffix, axis.ticktext) == (" %", None)


def test_what_falls_to_nothing_has_a_place_on_the_axis() -> None:
    axis, marks = axis_and_marks({"more": 4.0, "less": 1e-9})
    assert axis.range[0] < marks["less"] == compare_charts._log_place(-1.0)
