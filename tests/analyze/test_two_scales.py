"""Large changes where the noise grows with the value: clear on logarithms, as a twentyfold latency is restless."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from matrix_benchmarking.analyze.detect import Kind, change_points, judge


@pytest.mark.parametrize("factor", [5.0, 20.0])
def test_a_larger_regression_is_not_harder_to_see_where_the_noise_grows_with_the_value(factor: float) -> None:
    def is_seen(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        runs = np.exp(rng.normal(0.0, 0.1, (13, 1)) + rng.normal(0.0, 0.03, (13, 5)))
        runs[10:] *= factor
        return judge(runs.tolist(), lower_is_better=True).kind is Kind.REGRESSION

    assert sum(map(is_seen, range(20))) >= 19


@pytest.mark.parametrize("factor", [0.05, 20.0])
def test_three_single_runs_far_off_a_short_history_are_seen(factor: float) -> None:
    def is_seen(seed: int) -> bool:
        values = np.exp(np.random.default_rng(seed).normal(0.0, 0.05, 13))
        values[10:] *= factor
        return judge(values.tolist(), lower_is_better=factor > 1.0).kind is Kind.REGRESSION

    assert sum(map(is_seen, range(40))) >= 39


def test_what_the_thresholds_were_measured_with_still_finds_what_it_changes(repository: Path) -> None:
    alarms = runpy.run_path(str(repository / "benchmarks" / "detector_thresholds.py"))["_alarms"]
    assert alarms(100, 5, -2.5) == 1.0
    assert alarms(30, 5) == 0.0


def test_a_point_without_a_logarithm_takes_nothing_back_that_was_said_before_it() -> None:
    values = [9, 9, 9, 9, 11, 12, 11, 10, 11, 12, 41, 126, 30, 37, 34, 85, 46, 43, 66, 21, 75]
    for later in ([], [1], [0], [-5, 50, 60], [0, 50, 60, 50, 55, 45, 60]):
        assert change_points([*values, *later]) == [10]
        assert judge([*values, *later], lower_is_better=True).kind is Kind.REGRESSION
        assert change_points([-value for value in (*values, *later)]) == [10]
