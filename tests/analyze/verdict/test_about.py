"""What the verdict on a series is about: which p-values pass, which levels are compared, what would have been seen."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

import msgspec
import numpy as np
import pytest
from report_support.analyses import LATENCY, THROUGHPUT, verdict
from toy_runs import entry, workload

from matrix_benchmarking.analyze.detect import Change, Estimate, Judgement, Kind, compare_levels, judge, watch
from matrix_benchmarking.analyze.detect.series import OF_THE_PRIOR
from matrix_benchmarking.analyze.select.selection import select
from matrix_benchmarking.analyze.select.series import Series
from matrix_benchmarking.analyze.verdict import analyse
from matrix_benchmarking.analyze.verdict import told as of
from matrix_benchmarking.analyze.verdict.alarms import Raised
from matrix_benchmarking.analyze.verdict.levels import JudgedSeries, judged
from matrix_benchmarking.analyze.verdict.model import Outcome
from matrix_benchmarking.workload import MinimumEffect


def selected(values: list[float], repeats: int = 1) -> Series:
    runs = [
        entry({"version": f"1.{n // repeats}.0", "cost": one, "day": n // repeats}, n) for n, one in enumerate(values)
    ]
    return select(runs, workload(), kpi_filter=["cost"]).series[0]


@pytest.fixture(scope="module")
def stepped() -> JudgedSeries:
    random = np.random.default_rng(3)
    levels = [100.0] * 20 + [110.0] * 15 + [130.0] * 10
    series = selected([float(level + random.normal()) for level in levels])
    found = judged(series, MinimumEffect(), watch(series.values))
    assert [one.first for one in found.changes] == [20, 35]
    return found


def with_p(one: JudgedSeries, value: float | None) -> JudgedSeries:
    return msgspec.structs.replace(one, judgement=msgspec.structs.replace(one.judgement, p_value=value))


@pytest.mark.parametrize(
    ("p", "q", "largest"),
    [
        ([0.001, 0.02, 0.5], [0.003, 0.05, 0.5], 0.02),
        ([0.001, 0.02, 0.5], [0.003, 0.0501, 0.5], 0.05 / 3),
        ([0.3, 0.2, None], [0.4, 0.4, None], 0.05 / 2),
        ([0.3, None, None], [0.3, None, None], 0.05),
        ([None, None, None], [None, None, None], 0.05),
    ],
)
def test_the_largest_p_value_that_passes_is_that_of_the_rate_or_of_bonferroni(
    stepped: JudgedSeries, p: list[float | None], q: list[float | None], largest: float
) -> None:
    found = of._largest_accepted([with_p(stepped, one) for one in p], q)
    assert found == pytest.approx(largest, rel=1e-12)
    assert of._accepted(msgspec.structs.replace(stepped, p_values=(0.02, 0.03)), 0.02) == [True, False]


def about(one: JudgedSeries, place: int, changes: tuple[Change, ...] | None = None) -> Any:
    changes = one.changes if changes is None else changes
    return of._about(verdict(of=LATENCY, changes=changes), one, one.series.values, place, Outcome.REGRESSION)


def test_a_verdict_compares_the_level_before_a_change_with_the_newest(stepped: JudgedSeries) -> None:
    values = stepped.series.values
    last, first = about(stepped, 1), about(stepped, 0)
    assert (last.effect, last.difference) == (stepped.judgement.effect, stepped.judgement.difference)
    assert (last.first_bad, last.last_good, last.runs_after) == (35, 34, 10)
    assert last.runs_before == stepped.judgement.runs_before
    assert (first.effect, first.difference) == compare_levels(values, (0, 20), (35, 45))
    assert (first.runs_before, first.runs_after, first.is_new) == (20, 10, False)
    assert (first.old_level, first.new_level) == (stepped.changes[0].old_level, stepped.changes[1].new_level)
    other = about(msgspec.structs.replace(stepped, judged=20), 1)
    assert (other.effect, other.runs_before) == (compare_levels(values, (20, 35), (35, 45))[0], 15)
    back = msgspec.structs.replace(stepped.changes[1], takes_back=22)
    taken = about(stepped, 1, (stepped.changes[0], back))
    assert (taken.effect, taken.runs_before) == (compare_levels(values, (22, 35), (35, 45))[0], 13)
    for seen, is_new in ((43, False), (44, True)):
        assert about(stepped, 0, (msgspec.structs.replace(stepped.changes[0], seen=seen),)).is_new is is_new


def test_a_drift_has_its_slope_from_the_last_good_point_on() -> None:
    values = [[float(100 + max(n - 9, 0))] for n in range(30)]
    change = Change(10, 9, 12, 100.0, 110.0, True)
    goes_on = Change(20, 19, 22, 110.0, 120.0, True, drifts_from=10)
    assert of._drift(change, [change, goes_on], values) == pytest.approx(0.01)
    assert of._drift(change, [change], values) is None
    assert of._drift(goes_on, [change, goes_on], values) is None
    tiny = msgspec.structs.replace(change, old_level=0.005)
    assert of._drift(tiny, [tiny, goes_on], values) == pytest.approx(0.01)
    for level in (0.0, -1.0):
        below = msgspec.structs.replace(change, old_level=level)
        assert of._drift(below, [below, goes_on], values) is None
    first = msgspec.structs.replace(change, first=0, last_before=-1)
    from_first = msgspec.structs.replace(goes_on, drifts_from=0)
    rising = [[float(100 + n)] for n in range(30)]
    assert of._drift(first, [first, from_first], rising) == pytest.approx(0.01)
    zero = [[0.0] if n == 9 else one for n, one in enumerate(values)]
    assert of._drift(change, [change, goes_on], zero) is None
    small = [[0.25] if n == 9 else one for n, one in enumerate(values)]
    assert of._drift(change, [change, goes_on], small) == pytest.approx(
        float(np.polyfit(np.arange(21), [0.25, *range(101, 121)], 1)[0]) / 0.25
    )


def sized(kpi: Any, would_show: tuple[float, int] | None, **more: Any) -> tuple[float | None, int]:
    quiet = judge([100.0 + (n % 3) for n in range(12)])
    found = of._sized(verdict(of=kpi, **more), msgspec.structs.replace(quiet, would_show=would_show), [[99.0, 101.0]])
    return found.would_show, found.would_show_in


def test_the_step_that_would_have_been_seen_is_a_share_of_the_level_that_holds() -> None:
    effect = Estimate(0.0, -0.1, 0.1)
    changes = (Change(5, 4, 6, 100.0, 50.0, False),)
    assert sized(LATENCY, (5.0, 4), effect=effect, old_level=100.0, new_level=50.0) == (0.05, 4)
    assert sized(LATENCY, (5.0, 4), effect=effect, old_level=100.0, new_level=50.0, changes=changes) == (0.1, 4)
    assert sized(LATENCY, (5.0, 4), effect=effect, old_level=-100.0) == (0.05, 4)
    assert sized(LATENCY, (5.0, 4), effect=effect, old_level=None) == (None, 4)
    assert sized(LATENCY, (5.0, 4), old_level=100.0) == (5.0, 4)
    assert sized(LATENCY, None, effect=effect, old_level=100.0) == (None, 0)
    assert sized(LATENCY, (100.0, 4), effect=effect, old_level=100.0) == (1.0, 4)
    assert sized(THROUGHPUT, (100.0, 4), effect=effect, old_level=100.0) == (None, 0)
    assert sized(THROUGHPUT, (99.0, 4), effect=effect, old_level=100.0) == (0.99, 4)
    assert sized(THROUGHPUT, (500.0, 4), old_level=100.0) == (500.0, 4)


def test_an_analysis_is_made_now_unless_it_is_told_when_and_names_what_was_asked() -> None:
    before, runs = dt.datetime.now(dt.UTC), [entry({"version": f"1.{n}", "cost": 1.0, "day": n}, n) for n in range(8)]
    found = analyse.analyse_runs(runs, workload(), data="a test", kpi_filter=["cost"])
    assert before <= found.made_at <= dt.datetime.now(dt.UTC)
    assert found.question == "1.7 against its history"
    told = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
    assert analyse.analyse_runs(runs, workload(), data="a test", kpi_filter=["cost"], now=told).made_at == told
    nothing = analyse.analyse_runs([], workload(), data="a test", now=told)
    assert (nothing.newest, nothing.question) == (None, "the newest runs against their history")


def test_a_kpi_that_can_not_be_better_is_shown_at_its_newest_two_points() -> None:
    kinds = {**workload().kpis, "cost": dataclasses.replace(workload().kpis["cost"], lower_better=None)}
    unjudged = dataclasses.replace(workload(), store=dataclasses.replace(workload().store, models_kpis=kinds))
    runs = [entry({"version": f"1.{n}", "cost": float(100 + 10 * n), "day": n}, n) for n in range(4)]
    found = analyse.analyse_runs(
        runs, unjudged, data="a test", kpi_filter=["cost"], now=dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
    )
    (said,) = found.not_analysed
    assert not found.verdicts
    assert said.reason.endswith(": 120 USD at 1.2, 130 USD at 1.3 (+8.3 %)")


def placed(*runs: tuple[int, float | None, dict[str, Any]]) -> list[list[tuple[int, int | None]]]:
    """Campaign and round of each run of each version, of runs that start at a minute, or of an unknown time."""
    made = []
    for number, (version, minute, more) in enumerate(runs):
        one = entry({"version": f"1.{version}", "cost": 100.0, "day": None}, number)
        time = None if minute is None else int(minute * 60e6) + 10**12
        made.append(dataclasses.replace(one, span_us=(time, time), **more))
    series = select(made, workload(), kpi_filter=["cost"]).series[0]
    return [list(point) for point in analyse._with_blocks([series])[0].blocks]


def test_versions_of_unknown_time_are_measured_by_themselves() -> None:
    assert placed((0, None, {}), (1, None, {}), (2, None, {})) == [[(-1, None)], [(-2, None)], [(-3, None)]]
    recorded = placed((0, None, {"campaign": "a"}), (1, None, {"campaign": "a"}), (2, 5.0, {}))
    assert [len({campaign for campaign, _ in one}) for one in recorded] == [1, 1, 1]
    assert recorded[0] == recorded[1] != recorded[2]


def test_versions_that_an_inferred_campaign_measured_in_their_order_have_a_round_each() -> None:
    assert placed((0, 1, {}), (0, 2, {}), (1, 2, {}), (1, 3, {}), (2, 4, {})) == [
        [(0, -1), (0, -1)], [(0, -2), (0, -2)], [(0, -3)]
    ]  # fmt: skip
    assert placed((0, 1, {}), (1, 3, {}), (2, 2, {})) == [[(0, -1)], [(0, -2)], [(0, None)]]
    one = {"campaign": "a"}
    assert placed((0, 1, one), (1, 2, one), (2, 3, one)) == [[(0, None)], [(0, None)], [(0, None)]]
    rounds = placed(*((n % 2, float(n), {}) for n in range(4)))
    assert rounds == [[(0, 0), (0, 1)], [(0, 0), (0, 1)]]


@pytest.mark.parametrize(
    ("points", "of_one_version", "missing", "said"),
    [
        (OF_THE_PRIOR - 1, False, 3, "measure 3 more versions, fewer with repeats"),
        (OF_THE_PRIOR, False, 3, "measure 3 more versions"),
        (OF_THE_PRIOR, False, 1, "measure 1 more version"),
        (OF_THE_PRIOR, True, 3, "measure 3 more runs"),
        (2, True, 1, "measure 1 more run, fewer with repeats"),
        (1, True, 2, "measure 2 more versions, fewer with repeats"),
    ],
)
def test_of_a_history_that_is_too_short_it_is_said_what_is_to_be_measured(
    points: int, of_one_version: bool, missing: int, said: str
) -> None:
    series = selected([100.0] * points)
    if of_one_version:
        alike = tuple(msgspec.structs.replace(one, versions=series.points[0].versions) for one in series.points)
        series = msgspec.structs.replace(series, points=alike)
    assert of._too_short(series, missing) == f"the history is too short; {said}"


@pytest.mark.parametrize("points", [3, 5])
def test_a_series_too_short_to_be_judged_says_how_many_versions_are_missing(points: int) -> None:
    series = selected([100.0] * points)
    one = judged(series, MinimumEffect(), watch(series.values))
    found = of._of_levels(one, Raised(), None)
    assert (found.outcome, found.reruns) == (Outcome.CANT_TELL, one.judgement.reruns)
    assert found.why.startswith(f"the history is too short; measure {one.judgement.reruns} more versions")


@pytest.mark.parametrize(("worse", "times", "is_suspected"), [(True, 0, True), (True, 2, False), (False, 0, False)])
def test_worse_is_suspected_unless_it_is_one_of_two_levels_that_the_machine_has(
    worse: bool, times: int, is_suspected: bool
) -> None:
    series = selected([*[100.0] * 6, *[110.0, 110.0, 110.0, 100.0, 100.0, 100.0, 100.0] * times, *[100.0] * 6, 110.0])
    last, size = len(series.points) - 1, Estimate(10.0, 9.0, 11.0)
    kind = Kind.REGRESSION if worse else Kind.IMPROVEMENT
    suspicion = Judgement(
        kind=kind, difference=size, old_level=100.0, new_level=110.0, first_bad=last, last_good=last - 1
    )
    assert of._is_suspected(suspicion, series.values) is is_suspected
