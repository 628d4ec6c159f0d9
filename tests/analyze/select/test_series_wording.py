"""The series of a KPI in words."""

from __future__ import annotations

from typing import Any

import pytest
import toy_runs

from matrix_benchmarking.analyze.select import series as wording
from matrix_benchmarking.analyze.select.labelled import labelled
from matrix_benchmarking.analyze.select.order import Order
from matrix_benchmarking.analyze.select.series import KPISeries, series_of
from matrix_benchmarking.analyze.words import cut_inside


def found(*runs: dict[str, Any], **keys: Any) -> KPISeries:
    toy = toy_runs.workload(**keys)
    known = labelled([toy_runs.entry({"cost": 1.0, **run}, number) for number, run in enumerate(runs)], toy)
    return series_of(known, toy, toy.kpis["cost"], Order(known, toy))


def test_a_series_is_named_by_what_tells_it_from_others() -> None:
    runs = [{"version": version, "image": image, "zone": 1} for image in ("a", "b") for version in "12"]
    series = found(*runs, {"version": "2", "zone": 1})
    assert [one.name for one in series.series] == ["image not set", "a", "b"]
    alone = found({"version": "1"}, {"version": "2"})
    assert alone.series[0].name == "all runs"


def test_a_series_has_one_name_whichever_run_comes_first() -> None:
    kinds = ({}, {"kind": "x"})
    runs = [{"version": "1", "image": image, **kind, "zone": zone} for image in "ab" for kind in kinds for zone in "cd"]
    names = [one.name for one in found(*runs).series]
    assert names[0] == "a · kind not set · c"
    assert [one.name for one in found(*reversed(runs)).series] == names


def test_a_step_is_a_version_with_what_tells_it_from_others_of_it() -> None:
    pairs = [("1", "x"), ("2", "x"), ("2", "y"), ("3", "y")]
    runs = [{"version": version, "driver": driver} for version, driver in pairs]
    series = found(*runs, comparison_keys=["version", "driver"])
    assert list(series.steps.values()) == ["1", "2 · x", "2 · y", "3"]
    same = found({"version": 1, "day": 1}, {"version": "1", "day": 2}, {"version": "2", "day": 3})
    assert list(same.steps.values()) == ["1", '"1"', "2"]
    assert found({"version": "1"}, {"version": "1"}).steps == {}


def test_a_point_is_named_by_its_version_else_by_its_time() -> None:
    assert found({"version": "1.2"}, {"version": "1.10"}).series[0].versions == ("1.2", "1.10")
    timed = found({"version": "1", "day": 1}, {"version": "1", "day": 2})
    assert timed.series[0].versions == ("1970-01-02 00:00 UTC", "1970-01-03 00:00 UTC")
    unknown = found({"day": None, "recorded": (0, 1)}, {"day": None, "recorded": (0, 2)}, comparison_keys=[])
    assert unknown.series[0].versions == ("unknown time", "unknown time")
    assert wording.time_text(unknown.series[0].points[0]) == ""


def test_a_value_has_the_runs_behind_it() -> None:
    series = found({"version": "1"}, {"version": "2", "cost": 2.0}, {"version": "2", "cost": 4.0})
    assert [wording.value_text(series.kpi, point) for point in series.series[0].points] == [
        "1 USD, one run",
        "3 USD, mean of 2 runs from 2 to 4 USD",
    ]


@pytest.mark.parametrize(
    ("text", "longest", "shown"),
    [("abcdefgh", 8, "abcdefgh"), ("abcdefgh", 7, "abc…fgh"), ("abcdefgh", 6, "ab…fgh"), ("abcdefgh", 9, "abcdefgh")],
)
def test_a_long_text_is_cut_inside(text: str, longest: int, shown: str) -> None:
    assert cut_inside(text, longest) == shown
