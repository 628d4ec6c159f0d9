"""Series out of runs: which runs belong together, in which order, which take no part, and what moved."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from matrix_benchmarking import kpi
from matrix_benchmarking.analyze.select.labelled import labelled, may_have_versions
from matrix_benchmarking.analyze.select.order import Order, OrderUnknown, axes
from matrix_benchmarking.analyze.select.series import KPISeries, series_of
from matrix_benchmarking.analyze.wording.verdicts import conclusions, judged_series
from matrix_benchmarking.matrix import NOT_SET, Entry, Facts, Matrix
from matrix_benchmarking.workload import BaseStore, RegressionKeys, Workload

HOUR_US = 3_600_000_000


@kpi.LowerBetter
@kpi.KPIMetadata(help="What it costs", unit="USD")
def cost(lts: Any) -> Any:
    return lts.results.cost


def workload(labels: Any = None, **keys: Any) -> Workload:
    store = BaseStore(parse_once=lambda results, test_dir: None, models_kpis=kpi.collect([cost]), get_kpi_labels=labels)
    return Workload(name="toy", store=store, regression=RegressionKeys(**{"comparison_keys": ["version"], **keys}))


def run(version: Any, value: float | None, hours: int | None = 0, number: int = 0, **others: Any) -> Entry:
    """A run as a history gives it, *hours* after 1970."""
    settings = {"image": "a", **others.pop("settings", {})}
    if version is not NOT_SET:
        settings["version"] = version
    time_us = None if hours is None else hours * HOUR_US
    defaults: dict[str, Any] = {
        "facts": Facts(settings),
        "span_us": (None, time_us),
        "kept_in": "sqlite:///x.db",
        "exit_code": 0,
        "kpis": {} if value is None else {"cost": value},
        "test_uuid": f"{version}-{hours}-{number}",
    }
    return Entry(settings, number, Path("/nowhere"), f"run {version} {hours} {number}", **{**defaults, **others})


def found(*entries: Entry, axis: str | None = None, **keys: Any) -> KPISeries:
    toy = workload(**keys)
    runs = labelled(entries, toy)
    return series_of(runs, toy, toy.kpis["cost"], Order(runs, toy), axis)


def points(series: KPISeries, number: int = 0) -> list[tuple[Any, float, int]]:
    return [(point.versions["version"], point.mean, point.count) for point in series.series[number].points]


def test_repeats_at_one_version_are_one_point() -> None:
    entries = [run("2.10", 4.0), run("2.9", 1.0), run("2.9", 2.0, number=1), run("2.9", 6.0, number=2)]
    series = found(*entries)
    assert series.axis == "version"
    assert series.versions == ("2.9", "2.10")
    assert points(series) == [("2.9", 3.0, 3), ("2.10", 4.0, 1)]
    first = series.series[0].points[0]
    assert (first.minimum, first.maximum) == (1.0, 6.0)
    assert first.entries == tuple(entries[1:])


def test_repeats_stand_in_the_order_of_their_times_unknown_ones_first() -> None:
    entries = [run("1", 1.0, 2), run("1", 2.0, None), run("1", 3.0, 1), run("2", 1.0)]
    point = found(*entries).series[0].points[0]
    assert [entry.kpis["cost"] for entry in point.entries] == [2.0, 3.0, 1.0]
    assert point.time_us == 2 * HOUR_US


def test_series_are_in_the_order_of_numbers_then_of_texts() -> None:
    labels = ["a", 10.5, None, 2, True, "1", 3.0]
    series = found(*(run(version, 1.0, settings={"size": label}) for label in labels for version in "12"))
    assert [one.labels["size"] for one in series.series] == [2, 3.0, 10.5, "1", "a", None, True]


def test_versions_come_before_time() -> None:
    assert points(found(run("2.9", 1.0, 9), run("2.10", 2.0, 1))) == [("2.9", 1.0, 1), ("2.10", 2.0, 1)]


def test_names_are_ordered_by_the_time_of_their_first_run() -> None:
    entries = [run("main", 1.0, 5), run("baseline", 2.0, 1), run("main", 3.0, 0, number=1)]
    assert [version for version, _, _ in points(found(*entries))] == ["main", "baseline"]


def test_labels_that_differ_make_series_and_ignored_ones_do_not() -> None:
    entries = [run(v, 1.0, settings={"image": image, "host": v + image}) for v in ("1", "2") for image in ("a", "b")]
    series = found(*entries, ignored_keys=["host"])
    assert [one.labels for one in series.series] == [{"image": "a"}, {"image": "b"}]
    assert [one.name for one in series.series] == ["a", "b"]
    assert [len(one.points) for one in series.series] == [2, 2]


def test_types_of_labels_and_versions_are_kept() -> None:
    entries = [run(1, 1.0, 1), run("1", 2.0, 2)]
    entries += [run("1", 3.0 + image, 2, settings={"image": kind(image)}) for image, kind in ((1, int), (1, str))]
    series = found(*entries)
    assert series.versions == (1, "1")
    assert len(series.series) == 3


def test_urls_are_no_part_of_a_series() -> None:
    first, second = run("1", 1.0), run("2", 2.0)
    first.facts = Facts({"version": "1", "urls": {"job": "https://one"}})
    second.facts = Facts({"version": "2", "urls": {"job": "https://two"}})
    assert len(found(first, second).series) == 1


def test_without_several_versions_each_run_is_a_point_in_time_and_unknown_times_are_left_out() -> None:
    series = found(run("1", 1.0, 5), run("1", 2.0, 3), run("1", 3.0, None))
    assert series.axis is None
    assert [point.mean for point in series.series[0].points] == [2.0, 1.0]
    assert [point.time_us for point in series.series[0].points] == [3 * HOUR_US, 5 * HOUR_US]
    assert series.left_out == {"its place in the order is unknown": 1}


def test_a_current_run_of_unknown_time_is_newer_than_the_history() -> None:
    current = run("1", 9.0, None, kept_in=None, number=1)
    series = found(run("1", 1.0, 5), run("1", 2.0, 3), current)
    assert [point.mean for point in series.series[0].points] == [2, 1, 9]


def test_failed_and_ignored_runs_take_no_part() -> None:
    entries = [run("1", 1.0), run("2", 2.0), run("2", 50.0, exit_code=1), run("3", 60.0, settings={"image": "bad"})]
    series = found(*entries, ignored_entries={"image": ["bad"]})
    assert points(series) == [("1", 1.0, 1), ("2", 2.0, 1)]


def test_an_unknown_value_hides_no_series_and_is_no_zero() -> None:
    unknown = run("2", 5.0)
    unknown.kpis = {"other": 1.0}
    series = found(run("1", 1.0), unknown, run("3", 3.0))
    assert points(series) == [("1", 1.0, 1), ("3", 3.0, 1)]
    assert sum(series.left_out.values()) == 1


def test_a_run_with_values_that_cannot_be_takes_no_part_and_is_counted() -> None:
    series = found(run("1", 1.0), run("2", 2.0), run("2", 50.0, implausible=("120 of 100 inputs were answered",)))
    assert points(series) == [("1", 1.0, 1), ("2", 2.0, 1)]
    assert series.left_out == {"values of the run can't be": 1}


def test_a_value_in_another_unit_is_left_out_and_said() -> None:
    old = run("1", 1000.0)
    assert old.facts is not None
    old.facts = msgspec.structs.replace(old.facts, other_units={"cost": "in EUR, and the workload says USD"})
    assert found(old, run("2", 1.0)).left_out == {"cost is in EUR, and the workload says USD": 1}


def test_values_that_were_better_the_other_way_round_are_left_out_and_counted() -> None:
    turned = [run("1", 1000.0, number=number) for number in range(2)]
    for one in turned:
        assert one.facts is not None
        one.facts = msgspec.structs.replace(one.facts, other_directions=frozenset({"cost"}))
    (said,) = found(*turned, run("2", 1.0)).left_out.items()
    assert said == (f"cost was better the other way round, and {workload().kpis['cost'].direction} today", 2)


def test_what_all_series_have_in_common_tells_none_apart() -> None:
    entries = [run("1", 1.0, settings={"image": image, "host": "x"}) for image in ("a", "b")]
    for keys in ([], ["host"]):
        assert [one.name for one in found(*entries, sorting_keys=keys).series] == ["a", "b"]


def test_of_several_comparison_keys_one_is_the_axis_and_the_others_make_points_of_their_own() -> None:
    entries = [run(v, 1.0, settings={"driver": d}) for v, d in (("1", "7"), ("2", "7"), ("2", "8"), ("3", "8"))]
    keys: dict[str, Any] = {"comparison_keys": ["version", "driver"]}
    by_version, by_driver = found(*entries, **keys), found(*entries, axis="driver", **keys)
    assert axes(labelled(entries, workload(**keys)), workload(**keys)) == ["version", "driver"]
    assert list(by_version.steps.values()) == ["1", "2 · 7", "2 · 8", "3"]
    assert list(by_driver.steps.values()) == ["7 · 1", "7 · 2", "8 · 2", "8 · 3"]
    assert len(by_version.series) == len(by_driver.series) == 1


def test_labels_come_from_the_workload_where_it_has_some() -> None:
    def lts(version: str) -> types.SimpleNamespace:
        return types.SimpleNamespace(metadata=types.SimpleNamespace(settings={"v": version}))

    def labels(payload: Any) -> Any:
        return {"version": payload.metadata.settings["v"], "model": "m"}

    tree: dict[str, Any] = {"facts": None, "kept_in": None, "span_us": (0, HOUR_US)}
    entries = [run(NOT_SET, 1.0, **tree, load_lts=lambda v=v: lts(v)) for v in ("1", "2")]
    series = found(*entries, labels=labels)
    assert series.versions == ("1", "2")
    assert series.series[0].labels == {"model": "m"}
    assert series.series[0].points[-1].time_us == HOUR_US


def test_the_time_of_a_run_of_a_tree_needs_no_payload() -> None:
    loaded = []

    def lts() -> types.SimpleNamespace:
        loaded.append(1)
        return types.SimpleNamespace()

    plain: dict[str, Any] = {"facts": None, "kept_in": None, "load_lts": lts, "span_us": (HOUR_US, None)}
    assert found(run("1", 1.0, **plain), run("2", 1.0, **plain)).axis == "version"
    series = found(run("1", 1.0, **plain), run("1", 1.0, **plain))
    assert series.series[0].points[-1].time_us == HOUR_US
    assert loaded == []


def test_a_tree_of_one_version_is_told_without_loading_its_payloads() -> None:
    loaded = []

    def lts(version: str | None = None) -> types.SimpleNamespace:
        loaded.append(1)
        return types.SimpleNamespace(metadata=types.SimpleNamespace(end=None, start=None, version=version))

    def labels(payload: Any) -> Any:
        return {"image": "a", "version": payload.metadata.version}

    toy, plain = workload(labels), {"facts": None, "kept_in": None, "load_lts": lts, "span_us": (None, None)}
    assert not may_have_versions(Matrix(run("1", 1.0, **plain) for _ in range(9)), toy)
    assert loaded == []
    assert may_have_versions(Matrix(run(v, 1.0, **plain) for v in ("1", "2")), toy)
    assert loaded == []
    assert labelled([run("1", 1.0, **plain)], toy, by_settings=True)[0].labels == {"image": "a"}
    assert loaded == []
    assert labelled([run("1", 1.0, **plain, settings={"size": 1})], toy)[0].labels == {"image": "a"}
    assert loaded.pop()
    loaded.clear()
    known = run("1", 1.0, **{**plain, "facts": Facts({"version": "1", "size": 2})})
    assert labelled([known], toy, by_settings=True)[0].labels == {"size": 2}
    assert labelled([known], workload())[0].labels == {"size": 2}
    assert labelled([run(NOT_SET, 1.0, **plain)], toy, by_settings=True)[0].versions == {"version": NOT_SET}
    assert loaded.pop()
    loaded.clear()
    numbers, names = (
        labelled([run(one, 1.0, **plain) for one in some], toy, by_settings=True)
        for some in (("1.1", "1.0"), ("main", "next"))
    )
    assert Order(numbers, toy).newest == "1.1"
    assert loaded == []
    with pytest.raises(OrderUnknown):
        Order(names, toy).of("version")
    assert loaded == []
    assert not may_have_versions(Matrix([run(NOT_SET, 1.0, **plain)]), toy)
    assert may_have_versions(Matrix([run(NOT_SET, 1.0, **{**plain, "load_lts": lambda: lts("1")})]), toy)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1", "2", "10", "main", 1, NOT_SET]),
            st.floats(allow_nan=False, allow_infinity=False),
            st.one_of(st.none(), st.integers(0, 5)),
            st.sampled_from(["a", "b"]),
        ),
        max_size=12,
    )
)
def test_each_known_run_is_at_one_point_and_nothing_raises(rows: list[tuple[Any, float, int | None, str]]) -> None:
    assume(not rows or any(v is not NOT_SET for v, *_ in rows))  # a key that no run knows is an error
    entries = [run(v, value, hours, n, settings={"image": i}) for n, (v, value, hours, i) in enumerate(rows)]
    try:
        series = found(*entries)
    except OrderUnknown:
        return
    there = [entry for one in series.series for point in one.points for entry in point.entries]
    assert sum(series.left_out.values()) == len(entries) - len(there)
    assert conclusions(series, judged_series(series, None))
