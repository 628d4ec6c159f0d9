"""A series of four times as many versions takes about four times as many steps: counted, not timed."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from counted import calls_of
from toy_runs import entry, workload

from matrix_benchmarking.analyze.detect import Watched, together
from matrix_benchmarking.analyze.verdict import levels
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.matrix import Entry

NOW = dt.datetime(2036, 6, 1, tzinfo=dt.UTC)


def quiet(values: Any) -> None:
    """No change at all."""


def one_step(values: Any) -> None:
    """A change that lasts to the end."""
    values[len(values) // 4 :] += 8.0


def steps(values: Any) -> None:
    """Each 100 versions one, up and down."""
    for first in range(100, len(values), 200):
        values[first : first + 100] += 8.0


def episodes(values: Any) -> None:
    """Each 200 versions one of three versions."""
    for first in range(100, len(values), 200):
        values[first : first + 3] += 8.0


def runs(count: int, change: Callable[[Any], None]) -> list[Entry]:
    values = 100.0 + np.random.default_rng(5).normal(0.0, 1.0, count)
    change(values)
    return [
        entry({"version": f"1.{number}.0", "cost": float(value), "day": number}, number)
        for number, value in enumerate(values)
    ]


@pytest.mark.parametrize("change", [quiet, one_step, steps], ids=lambda change: change.__name__)
def test_the_analysis_of_a_series_takes_steps_in_proportion_to_its_versions(change: Callable[[Any], None]) -> None:
    def calls(count: int) -> int:
        entries = runs(count, change)
        return calls_of(lambda: analyse_runs(entries, workload(), data="x", kpi_filter=["cost"], now=NOW))

    calls(50)  # what is imported late
    assert calls(2200) < 2.3 * calls(1100)  # both too long to be judged beside others


def test_episodes_that_are_left_out_one_by_one_cost_no_look_at_what_was_before_them() -> None:
    def calls(count: int) -> int:
        entries = runs(count, episodes)
        return calls_of(lambda: analyse_runs(entries, workload(), data="x", kpi_filter=["cost"], now=NOW))

    calls(50)
    assert calls(1600) < 6 * calls(400)


@pytest.mark.parametrize("change", [quiet, one_step, steps, episodes], ids=lambda change: change.__name__)
def test_a_series_that_is_gone_along_in_parts_has_the_changes_of_one_gone_along_at_once(
    change: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> Any:
        analysis = analyse_runs(runs(900, change), workload(), data="x", kpi_filter=["cost"], now=NOW)
        return [(one.changes, one.alarms, one.p_value) for one in analysis.verdicts]

    monkeypatch.setattr(together, "LONGEST_TOGETHER", 0)  # none lies beside others
    at_once = found()
    monkeypatch.setattr(levels, "AT_ONCE", 60)
    parts: list[int] = []
    further = Watched.further
    monkeypatch.setattr(Watched, "further", lambda self, points: parts.append(points) or further(self, points))
    assert found() == at_once
    assert len(parts) >= 14
