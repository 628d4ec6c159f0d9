"""Who is compared with whom, case by case; and what holds of every selection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from toy_runs import DAY_US, entry, workload

from matrix_benchmarking.analyze.select.order import OrderUnknown
from matrix_benchmarking.analyze.select.selection import Selection, select
from matrix_benchmarking.analyze.select.series import NotAnalysed, Series, series_id
from matrix_benchmarking.matrix import NOT_SET

CASES = yaml.safe_load((Path(__file__).parent / "selection_cases.yaml").read_text(encoding="utf-8"))


def selected(runs: list[dict[str, Any]], options: dict[str, Any] | None = None, **keys: Any) -> Selection:
    entries = [entry(run, number) for number, run in enumerate(runs)]
    return select(entries, workload(**keys), **(options or {}))


def line(series: Series) -> str:
    values = [" ".join(f"{value:g}" for value in repeats) for repeats in series.values]
    points = ", ".join(f"{version}={value}" for version, value in zip(series.versions, values, strict=True))
    return " ".join([f"{series.kpi.name} of {series.name}: {points}", *(f"({note})" for note in series.notes)])


def skipped_line(skipped: NotAnalysed) -> str:
    return f"{skipped.kpi}{f' of {skipped.series}' if skipped.series else ''}: {skipped.reason} [{skipped.runs}]"


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_selection_is_as_its_case_says(case: dict[str, Any]) -> None:
    options = {"kpi_filter": case.get("kpi_filter", ())}
    options |= {f"{name}_us": case[name] * DAY_US for name in ("since", "now") if name in case}
    found = selected(case["runs"], options, **case.get("keys", {}))
    about = case.get("kpis", ["cost"])
    assert [line(series) for series in found.series if series.kpi.name in about] == case["series"]
    assert list(found.notes) == case.get("notes", [])
    assert [skipped_line(each) for each in found.skipped if each.kpi in about] == case.get("skipped", [])
    if "kpis" in case:
        assert list(found.kpis) == case["kpis"]
    if "newest" in case:
        assert found.newest == case["newest"]


labels = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.0, 1.0, 2.5]), st.text(max_size=3))
runs = st.lists(
    st.fixed_dictionaries(
        {"version": st.sampled_from(["1.0", "1.1", "2.0", "main"])},
        optional={"size": labels, "zone": labels, "cost": st.floats(1, 9), "day": st.integers(0, 9)},
    ),
    max_size=12,
)


@given(runs)
def test_each_run_is_in_one_series_or_counted_as_left_out(some: list[dict[str, Any]]) -> None:
    try:
        found = selected(some, {"kpi_filter": ["cost"]})
    except OrderUnknown:
        return
    inside = sum(point.count for series in found.series for point in series.points)
    outside = sum(each.runs for each in found.skipped)
    assert inside + outside == found.runs


@given(runs)
def test_series_have_names_and_ids_of_their_own(some: list[dict[str, Any]]) -> None:
    found = selected([{**run, "recorded": (0, number)} for number, run in enumerate(some)]).series
    assert len({series.id for series in found}) == len(found)
    assert len({(series.kpi.name, series.name) for series in found}) == len(found)
    for series in found:
        assert len(set(series.keys)) == len(series.points)


@given(runs, st.randoms(use_true_random=False))
def test_the_order_in_which_runs_come_changes_nothing(some: list[dict[str, Any]], random: Any) -> None:
    dated = [{**run, "day": number} for number, run in enumerate(some)]
    mixed = random.sample(dated, len(dated))
    first, second = selected(dated), selected(mixed)
    assert {one.id: (one.versions, one.values) for one in first.series} == {
        one.id: (one.versions, one.values) for one in second.series
    }


def test_the_labels_of_a_series_are_those_of_the_key_that_has_the_version_or_of_the_one_that_varies() -> None:
    runs = [{"version": "1", "driver": driver, "cost": 1.0} for driver in ("7", "8")]
    (series,) = selected(runs, comparison_keys=["version", "driver"]).series
    for version, labels in (("8", ["7", "8"]), ("1", ["1", "1"]), ("2", ["7", "8"]), (None, ["7", "8"])):
        assert series.labels_for(version) == labels
    assert msgspec.structs.replace(series, points=series.points[:1]).labels_for("2") == ["1"]
    assert msgspec.structs.replace(series, points=()).labels_for("2") == []


@pytest.mark.parametrize(("versions", "notes"), [(("1.0", "1.1"), 1), (("9f3c1ab", "0b7d2e4"), 0)])
def test_runs_without_a_version_are_put_before_the_others_by_names_and_not_by_times(
    versions: tuple[str, str], notes: int
) -> None:
    runs = [{"version": version, "cost": 1.0, "day": day} for day, version in enumerate(versions)]
    found = selected([*runs, {"cost": 1.0, "day": 2}])
    assert sum("without a version put before the others" in one for one in found.notes) == notes


@pytest.mark.parametrize(("ahead_us", "notes"), [(DAY_US, 0), (DAY_US + 1, 1)])
def test_a_clock_may_be_a_day_ahead(ahead_us: int, notes: int) -> None:
    runs = [{"version": str(day), "cost": 1.0, "day": day} for day in range(3)]
    found = selected(runs, {"now_us": 2 * DAY_US - ahead_us}).notes
    assert sum("dated in the future" in one for one in found) == notes


def test_a_label_that_is_no_unicode_text_is_one_all_the_same() -> None:
    runs = [{"version": "1.0", "image": "\udcff", "cost": 1}, {"version": "1.1", "image": "\udcff", "cost": 2}]
    assert [len(series.points) for series in selected(runs).series] == [2]


def test_the_identity_of_a_series_depends_on_types_and_unit() -> None:
    ids = {series_id("toy", "cost", "USD", {"size": value}) for value in (1, "1", 1.0, True, None, "None")}
    assert len(ids) == 6
    assert series_id("toy", "cost", "USD", {"size": NOT_SET}) == series_id("toy", "cost", "USD", {"size": None})
    assert series_id("toy", "cost", "USD", {"size": {"a": 1}}) == series_id("toy", "cost", "USD", {"size": "{'a': 1}"})
    assert series_id("toy", "cost", "USD", {"a": 1, "b": 2}) == series_id("toy", "cost", "USD", {"b": 2, "a": 1})
    assert series_id("toy", "cost", "EUR", {"a": 1}) != series_id("toy", "cost", "USD", {"a": 1})
