"""The best of points that were measured in several campaigns: a mood of the machine is no difference."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from matrix_benchmarking.analyze.best import Group
from matrix_benchmarking.analyze.best_of import estimate, intervals, is_told, may_be_best
from matrix_benchmarking.analyze.rank import rank
from matrix_benchmarking.analyze.wording import ranking
from matrix_benchmarking.analyze.words import ONE_CAMPAIGN
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.workload import Workload

MakeEntries = Callable[..., list[Entry]]
MOOD, NOISE = 0.03, 0.01


def measured(entries: MakeEntries, hardware: str, campaigns: Sequence[str], *costs: float) -> list[Entry]:
    runs = entries({"hw_type": hardware}, *costs)
    for run, campaign in zip(runs, campaigns, strict=True):
        run.campaign = campaign
    return runs


def group_of(workload: Workload, runs: list[Entry]) -> Group:
    (group,) = rank(Matrix(runs), workload).groups
    return group


def test_a_point_of_another_campaign_is_not_told_apart_where_none_was_measured_in_two(
    workload: Workload, entries: MakeEntries
) -> None:
    runs = [
        *measured(entries, "a", ["monday"] * 3, 100.0, 101.0, 100.5),
        *measured(entries, "b", ["tuesday"] * 3, 105.0, 105.5, 106.0),
        *measured(entries, "c", ["monday"] * 3, 140.0, 141.0, 140.5),
    ]
    group = group_of(workload, runs)
    assert [one.apart for one in group.standings] == [False, None, True]
    assert [one.point.settings["hw_type"] for one in group.untold] == ["b"]
    assert all(one.point.interval is not None and one.point.interval.is_within for one in group.standings)
    (said,) = ranking.verdict(rank(Matrix(runs), workload))
    assert said.rivals.startswith(
        "1 point was measured in other campaigns than the best, and the machine's mood may be the difference."
    )
    assert "within its campaigns alone" in said.lead
    assert "b (105.50 USD, +5.0 %). Measuring them in turn, in one benchmark file, would tell." in said.rest
    narrow = group_of(workload, [run for run in runs if run.settings["hw_type"] != "b"])
    assert [one.apart for one in narrow.standings] == [False, True]
    assert not any(one.point.interval is None or one.point.interval.is_within for one in narrow.standings)


def test_how_campaigns_differ_is_known_from_a_point_that_was_measured_in_several(
    workload: Workload, entries: MakeEntries
) -> None:
    nights = ["1", "1", "2", "2", "3", "3", "4", "4"]
    runs = [
        *measured(entries, "a", nights, 100.0, 100.1, 103.0, 103.1, 97.0, 97.1, 101.0, 101.1),
        *measured(entries, "b", ["5", "5"], 104.0, 104.1),
        *measured(entries, "c", ["5", "5"], 160.0, 160.1),
    ]
    group = group_of(workload, runs)
    assert [one.apart for one in group.standings] == [False, False, True]
    a, b, _ = (one.point.interval for one in group.standings)
    assert a is not None and b is not None
    assert not a.is_within
    assert b.high - b.low > 1.5 * (a.high - a.low)  # one night against four


@pytest.mark.parametrize("again", [("b",), ("a",), ("a", "c"), ("b", "c")])
@pytest.mark.parametrize("lower", [True, False])
def test_what_is_measured_again_on_another_day_takes_nothing_from_what_the_first_day_told(
    again: tuple[str, ...], lower: bool
) -> None:
    """Points are compared where both were measured: one difference of two days is no measure of all moods."""
    rng, means = np.random.default_rng(5), {"a": 40.0, "b": 50.0, "c": 50.0, "d": 51.0}
    told, reach = [], []
    for _ in range(60):
        moods = np.exp(0.02 * rng.standard_normal(2))
        days = {name: [0] * 3 + [1] * 3 * (name in again) for name in means}
        values = [
            [mean * moods[day] * np.exp(0.01 * rng.standard_normal()) for day in days[name]]
            for name, mean in means.items()
        ]
        values = values if lower else [[2000.0 / value for value in of] for of in values]
        found = estimate(values, None, list(days.values()))
        told.append(may_be_best(found, lower_better=lower).tolist())
        low, high = intervals(found, lower_better=lower)
        reach.append(high[0] / low[0])
    assert told == [[True, False, False, False]] * 60
    assert np.median(reach) < 1.1


def test_points_of_different_nights_are_told_apart_no_oftener_than_chance_explains() -> None:
    rng, inside = np.random.default_rng(6), []
    for _ in range(150):
        moods, values, nights = np.exp(0.03 * rng.standard_normal(5)), list[list[float]](), list[list[int]]()
        for _ in range(8):
            own = [night for night in range(5) if rng.random() < 0.6] or [0]
            nights.append([night for night in own for _ in range(2)])
            values.append([float(moods[night] * np.exp(0.01 * rng.standard_normal())) for night in nights[-1]])
        found = estimate(values, None, nights)
        inside.append(may_be_best(found, lower_better=True).mean())
    assert np.mean(inside) > 0.95


def test_runs_of_no_round_may_have_been_measured_one_point_after_the_other(
    workload: Workload, entries: MakeEntries
) -> None:
    runs = [run for hw, cost in (("a", 1.0), ("b", 2.0)) for run in entries({"hw_type": hw}, cost, 1.001 * cost)]
    assert "All others are worse by more than runs scatter. Nothing says that they were measured in turn" in (
        ranking.verdict(rank(Matrix(runs), workload))[0].rivals
    )
    in_turn = [dataclasses.replace(run, campaign="night", round=run.repeat) for run in runs]
    assert ranking.verdict(rank(Matrix(in_turn), workload))[0].rivals == (
        f"All others are worse by more than chance explains. {ONE_CAMPAIGN}"
    )


@pytest.mark.parametrize(
    ("points", "nights", "runs", "is_shared"),
    [(2, 2, 3, False), (2, 4, 3, False), (4, 3, 3, False), (4, 3, 3, True), (3, 6, 1, True), (3, 6, 2, False)],
)
def test_equal_points_are_told_apart_by_moods_no_oftener_than_is_said(
    points: int, nights: int, runs: int, is_shared: bool
) -> None:
    random = np.random.default_rng([905, points, nights, runs, is_shared])
    replications, left_out, covered = 200, 0, 0
    for _ in range(replications):
        moods = random.normal(0.0, MOOD, nights if is_shared else (points, nights)) + np.zeros((points, nights))
        values = np.exp(np.repeat(moods, runs, axis=1) + random.normal(0.0, NOISE, (points, nights * runs)))
        own = np.arange(nights) + (0 if is_shared else nights) * np.arange(points)[:, None]
        found = estimate(values.tolist(), None, np.repeat(own, runs, axis=1).tolist())
        assert is_told(found, lower_better=True).all()
        left_out += not may_be_best(found, lower_better=True)[0]
        low, high = intervals(found, lower_better=True)
        best = values.mean(axis=1).argmin()
        covered += bool(low[best] <= np.exp((MOOD**2 + NOISE**2) / 2) <= high[best])
    assert left_out / replications < 0.085  # 5 % and what 200 replications may add
    assert covered / replications > 0.93
