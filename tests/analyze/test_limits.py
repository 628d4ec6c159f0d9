"""Which point is best under a limit on another KPI, and for which limits the choice changes."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from matrix_benchmarking import kpi
from matrix_benchmarking.analyze import limits
from matrix_benchmarking.analyze.rank import rank
from matrix_benchmarking.analyze.wording import under_limit
from matrix_benchmarking.errors import WorkloadError
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.workload import BaseStore, Workload

MakeEntries = Callable[..., list[Entry]]


@kpi.LowerBetter
@kpi.Format("{:.2f}")
@kpi.KPIMetadata(help="What it costs", unit="USD")
def cost(lts: Any) -> Any:
    return lts.cost


@kpi.LowerBetter
@kpi.FormatDivisor(1000, unit="ms", format="{:.0f}")
@kpi.KPIMetadata(help="How long it takes", unit="us")
def p95(lts: Any) -> Any:
    return lts.p95


@kpi.HigherBetter
@kpi.KPIMetadata(help="Answers", unit="1/s")
def speed(lts: Any) -> Any:
    return lts.speed


@pytest.fixture
def limited_workload() -> Workload:
    models = kpi.collect([cost, p95, speed])
    store = BaseStore(parse_once=lambda results, test_dir: None, models_kpis=models)
    return Workload(name="toy", store=store, limit_kpi="p95", group_keys=("task",))


def with_latency(made: list[Entry], *latencies_ms: float | None) -> list[Entry]:
    """The entries with a p95, or without one where it is None."""
    for entry, latency in zip(made, latencies_ms, strict=True):
        known = {} if latency is None else {"p95": latency * 1000}
        entry.kpis = {"cost": entry.kpis["cost"], **known}
    return made


def said_of(limited: limits.Limited) -> list[str]:
    return [*under_limit.not_sure(limited), *under_limit.left_out(limited)]


@pytest.fixture
def points(entries: MakeEntries) -> Matrix:
    """Four points, the cheaper the slower; one isn't on the front, and of one the p95 is unknown."""
    rows = [(1, 40.0, 10.0), (2, 30.0, 50.0), (3, 35.0, 60.0), (4, 20.0, 200.0), (5, 5.0, None)]
    return Matrix([entry for vus, price, wait in rows for entry in with_latency(entries({"vus": vus}, price), wait)])


def test_the_front_has_a_step_wherever_a_wider_limit_is_cheaper(points: Matrix, limited_workload: Workload) -> None:
    (group,) = rank(points, limited_workload).groups
    kpis = limited_workload.kpis
    bounds = limits.bounded(group, kpis["p95"])
    steps = limits.staircase(bounds, kpis["cost"], kpis["p95"])
    assert [(step.limit, step.point.value) for step in steps] == [(10e3, 40.0), (50e3, 30.0), (200e3, 20.0)]
    found = {limit: limits.within(group, bounds, kpis["p95"], limit * 1e3) for limit in (9, 10, 49, 50, 199, 10_000)}
    values = {limit: inside and inside.best.value for limit, inside in found.items()}
    assert values == {9: None, 10: 40.0, 49: 40.0, 50: 30.0, 199: 30.0, 10_000: 20.0}


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=30), st.integers(0, 10))
def test_a_step_is_what_a_search_of_all_points_finds(rows: list[tuple[int, int]], limit: int) -> None:
    matrix = Matrix([_entry(number, float(price), float(wait)) for number, (price, wait) in enumerate(rows)])
    models = kpi.collect([cost, p95])
    workload = Workload(name="toy", store=BaseStore(parse_once=lambda results, test_dir: None, models_kpis=models))
    (group,) = rank(matrix, workload).groups
    found = limits.bounded(group, models["p95"])
    steps = limits.staircase(found, models["cost"], models["p95"])
    assert [each.limit for each in steps] == sorted({each.limit for each in steps})
    step = next((step for step in reversed(steps) if step.limit <= limit), None)
    prices = [price for price, wait in rows if wait <= limit]
    assert (step.point.value if step else None) == min(prices, default=None)
    inside = limits.within(group, found, models["p95"], limit)
    assert (inside.best if inside else None) is (step.point if step else None)
    assert len(inside.standings if inside else ()) == len(prices)


def _entry(number: int, price: float, wait: float) -> Entry:
    from pathlib import Path

    kpis = {"cost": price, "p95": wait}
    return Entry(settings={"n": number}, repeat=0, location=Path("/r"), name=str(number), exit_code=0, kpis=kpis)


def test_a_limit_is_kept_by_the_one_sided_bound_of_the_mean_over_the_repeats(
    entries: MakeEntries, limited_workload: Workload
) -> None:
    matrix = Matrix(with_latency(entries({"vus": 1}, 1.0, 1.0, 1.0, 1.0), 90.0, 100.0, 95.0, None))
    best = rank(matrix, limited_workload)
    p95 = limited_workload.kpis["p95"]
    (known,) = limits.bounded(best.groups[0], p95)
    bound = 95_000 * math.exp(stats.t.ppf(0.95, 2) * 5 / 95 / math.sqrt(3))
    assert (known.runs, known.mean, known.bound) == (3, 95_000, pytest.approx(bound))
    assert [len(limits.under(best, p95, limit).best.groups) for limit in (bound * 0.999, bound * 1.001)] == [0, 1]
    assert under_limit.satisfied(best, p95) == ["Its p95 is 95 ms, the mean of 3 runs: at most 104 ms with 95 %."]


def test_a_better_point_that_is_not_sure_to_keep_the_limit_is_named(
    entries: MakeEntries, limited_workload: Workload
) -> None:
    sure = with_latency(entries({"vus": 1}, 30.0, 31.0, 29.0), 50, 51, 49)
    near = with_latency(entries({"vus": 2}, 20.0, 21.0, 19.0), 95, 105, 90)
    once = with_latency(entries({"vus": 3}, 10.0), 60)
    best = rank(Matrix([*sure, *near, *once]), limited_workload)
    limited = limits.under(best, limited_workload.kpis["p95"], 100e3)
    assert [one.point.settings["vus"] for one in limited.best.groups[0].standings] == [1]
    assert said_of(limited) == [
        "Better, but not sure to keep the limit: vus 3 (60 ms in one run, so its bound is unknown: repeat it); and 1 "
        "more.",
        "Of 3 points 1 keeps the limit, 2 may keep it or not.",
    ]
    assert under_limit.verdict_under(limited)[0].rest == "It is the only point that keeps the limit."
    assert under_limit.satisfied_under(limited) == ["Its p95 is 50 ms, the mean of 3 runs: at most 52 ms with 95 %."]
    only_near = limits.under(rank(Matrix(near), limited_workload), limited_workload.kpis["p95"], 100e3)
    assert [str(said) for said in under_limit.verdict_under(only_near)] == [
        "No point is under 100 ms p95 with 95 %: the lowest bound is 111 ms (mean 97 ms), of the only configuration, "
        "for 20.00 USD."
    ]
    assert said_of(only_near) == [
        "Not sure to keep the limit: the only configuration (97 ms is the mean of 3 runs, and its 95 % bound 111 ms).",
        "Of 1 point 0 keep the limit, 1 may keep it or not.",
    ]


def test_where_nothing_was_repeated_the_answer_says_that_no_bound_is_known(
    points: Matrix, limited_workload: Workload
) -> None:
    best = rank(points, limited_workload)
    limited = limits.under(best, limited_workload.kpis["p95"], 60e3)
    assert limited.best.groups[0].best.value == 30.0
    assert under_limit.satisfied_under(limited) == ["Its p95 is 50 ms in one run, so its bound is unknown: repeat it."]


def test_the_best_within_a_limit_is_compared_with_those_within_it(
    entries: MakeEntries, limited_workload: Workload
) -> None:
    matrix = Matrix(
        [
            *with_latency(entries({"vus": 1}, 30.0, 31.0, 29.0), 10, 10, 10),
            *with_latency(entries({"vus": 2}, 30.5, 31.5, 29.5), 20, 20, 20),
            *with_latency(entries({"vus": 3}, 3.0, 3.1, 2.9), 300, 300, 300),
        ]
    )
    best = rank(matrix, limited_workload)
    limited = limits.under(best, limited_workload.kpis["p95"], 100e3)
    (group,) = limited.best.groups
    assert [one.point.settings["vus"] for one in group.standings] == [1, 2]
    assert [one.point.settings["vus"] for one in group.undecided] == [2]
    (said,) = under_limit.verdict_under(limited)
    assert said.lead.startswith("Cheapest under 100 ms p95 by cost: vus 1: 30.00 USD (3 runs;")
    assert said.rest.startswith("Can't be told apart from it: vus 2 (30.50 USD, +1.7 %). The best of 2 points looks")
    assert said_of(limited) == ["Of 3 points 2 keep the limit, 1 is beyond it."]


def test_an_unknown_value_is_within_no_limit_and_counted(points: Matrix, limited_workload: Workload) -> None:
    limited = limits.under(rank(points, limited_workload), limited_workload.kpis["p95"], 1e9)
    assert limited.best.groups[0].best.value == 20.0
    assert [one.reason for one in limited.best.excluded] == ["p95 is unknown: not known for this test"]


def test_an_impossible_limit_names_the_lowest_that_exists(points: Matrix, limited_workload: Workload) -> None:
    limited = limits.under(rank(points, limited_workload), limited_workload.kpis["p95"], 5e3)
    (said,) = under_limit.verdict_under(limited)
    assert str(said) == "No point is under 5 ms p95: the lowest is 10 ms, of vus 1, for 40.00 USD."


def test_where_the_limited_kpi_is_known_nowhere_that_is_said(entries: MakeEntries, limited_workload: Workload) -> None:
    best = rank(Matrix(with_latency(entries({"vus": 1}, 1.0), None)), limited_workload)
    p95 = limited_workload.kpis["p95"]
    found = limits.bounded(best.groups[0], p95)
    assert limits.staircase(found, limited_workload.kpis["cost"], p95) == []
    (said,) = under_limit.verdict_under(limits.under(best, p95, 1.0))
    assert said.lead == "No point is under 0.001 ms p95: p95 isn't known for any."
    assert under_limit.satisfied(best, p95) == ["Its p95 is unknown: not known for this test."]


def test_each_group_has_its_own_answer(entries: MakeEntries, limited_workload: Workload) -> None:
    quick = with_latency(entries({"task": "small", "vus": 1}, 1.0), 10)
    slow = with_latency(entries({"task": "large", "vus": 1}, 9.0), 900)
    limited = limits.under(rank(Matrix([*quick, *slow]), limited_workload), limited_workload.kpis["p95"], 100e3)
    assert [said.lead[:40] for said in under_limit.verdict_under(limited)] == [
        "For task small: Cheapest under 100 ms p9",
        "For task large: no point is under 100 ms",
    ]


def test_a_limit_on_what_is_better_high_is_a_minimum(entries: MakeEntries, limited_workload: Workload) -> None:
    made = [entry for vus, price in ((1, 10.0), (2, 20.0), (4, 40.0)) for entry in entries({"vus": vus}, price)]
    best, speed = rank(Matrix(made), limited_workload), limited_workload.kpis["speed"]
    found = limits.bounded(best.groups[0], speed)
    steps = limits.staircase(found, limited_workload.kpis["cost"], speed)
    assert [(step.limit, step.point.value) for step in steps] == [(100.0, 10.0)]
    assert str(under_limit.verdict_under(limits.under(best, speed, 200.0))[0]).startswith(
        "No point is from 200 1/s speed up"
    )
    assert str(under_limit.verdict_under(limits.under(best, speed, 200.0))[0]).endswith(
        "the highest is 100 1/s, of vus 1, for 10.00 USD."
    )
    kept = {at: limits.under(best, speed, at).best.groups for at in (24.0, 25.0, 50.0, 51.0, 100.0, 101.0)}
    assert [len(groups[0].standings) if groups else 0 for groups in kept.values()] == [3, 3, 2, 1, 1, 0]


def test_within_a_limit_the_best_of_a_kpi_of_which_more_is_better_comes_first(
    entries: MakeEntries, limited_workload: Workload
) -> None:
    rows = [(1, 10.0, 50), (2, 20.0, 40), (4, 20.0, 30), (8, 40.0, 20), (16, 5.0, 900)]
    made = []
    for vus, price, wait in rows:
        (run,) = entries({"vus": vus}, price)
        run.kpis = {"cost": price, "speed": 1000 / price, "p95": wait * 1e3}
        made.append(run)
    best = rank(Matrix(made), dataclasses.replace(limited_workload, headline_kpi="speed"))
    speed, p95 = limited_workload.kpis["speed"], limited_workload.kpis["p95"]
    steps = limits.staircase(limits.bounded(best.groups[0], p95), speed, p95)
    assert [(step.limit, step.point.value) for step in steps] == [(20e3, 25), (30e3, 50), (50e3, 100), (900e3, 200)]
    limited = limits.under(best, limited_workload.kpis["p95"], 100e3)
    assert [one.point.settings["vus"] for one in limited.best.groups[0].standings] == [1, 4, 2, 8]


def test_a_limit_on_a_kpi_that_does_not_exist_is_refused(limited_workload: Workload) -> None:
    with pytest.raises(WorkloadError, match="refers to a KPI 'p96': did you mean 'p95'"):
        dataclasses.replace(limited_workload, limit_kpi="p96").check()


def test_all_points_are_counted_by_whether_they_keep_the_limit(points: Matrix, limited_workload: Workload) -> None:
    best = rank(points, limited_workload)
    for limit_ms, said in (
        (5, "0 keep the limit, 4 are beyond it"),
        (10, "1 keeps the limit, 3 are beyond it"),
        (100, "3 keep the limit, 1 is beyond it"),
        (200, "4 keep the limit"),
    ):
        limited = limits.under(best, limited_workload.kpis["p95"], limit_ms * 1e3)
        assert said_of(limited) == [f"Of 5 points {said}, of 1 p95 is unknown."]
    whole = limits.under(rank(Matrix(points.entries[:4]), limited_workload), limited_workload.kpis["p95"], 200e3)
    assert said_of(whole) == []


@given(
    st.lists(st.tuples(st.integers(1, 5), st.lists(st.integers(1, 99), max_size=3)), min_size=1, max_size=12),
    st.integers(1, 99),
)
def test_the_counts_add_up_to_all_points(rows: list[tuple[int, list[int]]], limit: int) -> None:
    made = []
    for number, (price, waits) in enumerate(rows):
        runs = [_entry(number, float(price), float(wait)) for wait in waits] or [_entry(number, float(price), 0.0)]
        made += [dataclasses.replace(run, repeat=at, kpis=dict(list(run.kpis.items())[: 1 + bool(waits)]))
                 for at, run in enumerate(runs)]  # fmt: skip
    store = BaseStore(parse_once=lambda results, test_dir: None, models_kpis=kpi.collect([cost, p95]))
    best = rank(Matrix(made), Workload(name="toy", store=store))
    limited = limits.under(best, kpi.collect([p95])["p95"], float(limit))
    if said_of(limited):
        every, *parts = map(
            int,
            re.findall(
                r"(?:^Of|the limit,|not,|it,|of|points?) (\d+)",
                said_of(limited)[-1],
            ),
        )
        assert sum(parts) == every
    else:
        assert len(limited.best.groups[0].standings) == len(best.groups[0].standings)


def test_of_each_group_what_is_not_sure_to_keep_the_limit_is_named(
    entries: MakeEntries, limited_workload: Workload
) -> None:
    matrix = Matrix(
        [
            *with_latency(entries({"task": "small", "vus": 1}, 30.0, 31.0), 50, 51),
            *with_latency(entries({"task": "small", "vus": 2}, 20.0), 60),
            *with_latency(entries({"task": "large", "vus": 1}, 30.0, 31.0), 50, 51),
            *(one for n in range(3) for one in with_latency(entries({"task": "large", "vus": 2 + n}, 20.0 + n), 60)),
        ]
    )
    best = rank(matrix, limited_workload)
    limited = limits.under(best, limited_workload.kpis["p95"], 100e3)
    why = "60 ms in one run, so its bound is unknown: repeat it"
    assert sorted(said_of(limited)) == [
        f"For task large: better, but not sure to keep the limit: vus 2 ({why}); and 2 more.",
        f"For task small: better, but not sure to keep the limit: vus 2 ({why}).",
        "Of 6 points 2 keep the limit, 4 may keep it or not.",
    ]
    assert under_limit.satisfied_under(limited)[0].startswith("For task ")


def test_of_what_is_better_high_the_bound_is_below(entries: MakeEntries, limited_workload: Workload) -> None:
    best, speed = rank(Matrix(entries({"vus": 1}, 10.0, 10.0)), limited_workload), limited_workload.kpis["speed"]
    (said,), (missed,) = (
        under_limit.satisfied(best, speed),
        under_limit.verdict_under(limits.under(best, speed, 200.0)),
    )
    assert said.startswith("Its speed is 100 1/s, the mean of 2 runs: at least ")
    assert missed.lead.startswith("No point is from 200 1/s speed up with 95 %: the highest bound is ")


def test_without_any_point_the_answer_is_that_of_the_ranking(limited_workload: Workload) -> None:
    limited = limits.under(rank(Matrix([]), limited_workload), limited_workload.kpis["p95"], 1e3)
    assert [str(said) for said in under_limit.verdict_under(limited)] == [
        "No configuration can be ranked by cost: there is no finished test."
    ]


def test_why_the_limited_kpi_is_unknown_is_said(entries: MakeEntries, limited_workload: Workload) -> None:
    (run,) = with_latency(entries({"vus": 1}, 1.0), None)
    run.missing_kpis = {"p95": "no answer came"}
    best = rank(Matrix([run]), limited_workload)
    assert under_limit.satisfied(best, limited_workload.kpis["p95"]) == ["Its p95 is unknown: no answer came."]


def test_a_limit_on_values_that_are_all_negative_is_that_of_their_mirror(
    limited_workload: Workload, entries: MakeEntries
) -> None:
    levels = {1: (10.0, 10.5, 9.9), 2: (11.0, 11.3, 10.8), 4: (900.0, 930.0, 880.0)}
    made = [
        (one, latency)
        for vus, latencies in levels.items()
        for one, latency in zip(entries({"vus": vus}, *[1.0 / vus] * 3), latencies, strict=True)
    ]
    found = []
    for sign, name in ((1.0, "p95"), (-1.0, "speed")):
        runs = [dataclasses.replace(one, kpis={"cost": one.kpis["cost"], name: sign * value}) for one, value in made]
        (group,) = rank(Matrix(runs), limited_workload).groups
        found.append([one.limit for one in limits.bounded(group, limited_workload.store.models_kpis[name])])
    assert found[1] == [-one for one in found[0]]
