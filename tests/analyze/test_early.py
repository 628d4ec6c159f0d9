"""A step among the first versions hides no later one, and is no alarm."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
import toy_runs

from matrix_benchmarking.analyze.detect import Kind, change_points, early, judge, judge_all
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.model import Outcome

NOW = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)


def stepping(before: int, since: int, later: int, step: float, seed: int, *, last: float = 2.0) -> list[float]:
    chance = np.random.default_rng(seed)
    levels = np.repeat([20.0, 20.0 * step, 20.0 * step * last], [before, since, later])
    return (levels * chance.normal(1.0, 0.01, len(levels))).tolist()


@pytest.mark.parametrize(("before", "since"), [(3, 9), (4, 10), (5, 8), (6, 6), (6, 14), (7, 7)])
@pytest.mark.parametrize("step", [0.8, 1.1, 1.3])
def test_a_step_after_an_early_one_is_found(before: int, since: int, step: float) -> None:
    found = [judge(stepping(before, since, 4, step, seed), lower_is_better=True) for seed in range(10)]
    assert sum(one.kind is Kind.REGRESSION and one.first_bad == before + since for one in found) >= 9


def test_it_is_no_change_and_stays_left_out_whatever_comes() -> None:
    for seed in range(10):
        values = stepping(6, 30, 4, 1.1, seed)
        assert [change_points(values[:stop]) for stop in (12, 20, 36, 40)] == [[], [], [], [36]]


def test_noise_has_none_but_in_one_of_hundreds_of_series() -> None:
    noise = np.random.default_rng(17).normal(size=(4000, 60))
    assert np.count_nonzero(early.first_levels(noise)[0]) <= 12
    assert early.first_levels(np.ones((2, 60)))[0].tolist() == [0, 0]  # of which nobody knows how they spread
    assert early.first_levels(noise[:3, :7])[0].tolist() == [0, 0, 0]


def test_levels_that_go_on_moving_are_seldom_a_beginning() -> None:
    moving = np.repeat(np.random.default_rng(5).uniform(60.0, 180.0, (200, 6)), 3, axis=1)
    assert np.count_nonzero(early.first_levels(moving)[0]) <= 20


def test_beside_others_it_is_as_by_itself() -> None:
    values = [stepping(6, 8, 4, 1.0 + 0.1 * (seed % 2), seed, last=1.2) for seed in range(20)]
    assert judge_all(values, lower_is_better=True) == [judge(one, lower_is_better=True) for one in values]


def test_it_is_said_and_levels_are_those_since() -> None:
    values = stepping(6, 10, 4, 1.1, 3)
    runs = [toy_runs.entry({"version": f"1.{at}", "cost": value, "day": at}, at) for at, value in enumerate(values)]
    analysis = analyse_runs(runs, toy_runs.workload(), data="a test", now=NOW, kpi_filter=["cost"])
    [verdict] = analysis.verdicts
    assert (verdict.outcome, verdict.first_bad_version, verdict.runs_before) == (Outcome.REGRESSION, "1.16", 10)
    assert verdict.old_level == pytest.approx(22.0, rel=0.02)
    assert verdict.notes == ("its first 6 versions lie on another level, and take no part",)
