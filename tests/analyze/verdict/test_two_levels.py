"""Levels that a series has left and returned to: when the worse one is no alarm, and when it is one all the same."""

from __future__ import annotations

import datetime as dt

import pytest
from toy_runs import history, version, workload

from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.model import Analysis, Outcome, Status
from matrix_benchmarking.analyze.wording import analyses, verdicts
from matrix_benchmarking.matrix import Entry

NOW = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)


def analyse(entries: list[Entry]) -> Analysis:
    return analyse_runs(entries, workload(), data="a test", kpi_filter=["cost"], now=NOW)


def test_a_level_that_was_left_and_returned_to_twice_is_one_of_two_and_no_alarm() -> None:
    steps = {15: 110.0, 25: 100.0, 35: 110.0, 45: 100.0, 55: 110.0}
    (twice,) = analyse(history(45, steps)).verdicts
    assert [alarm.status for alarm in twice.alarms] == [Status.FIXED, Status.OPEN]
    (verdict,) = analyse(history(65, steps)).verdicts
    assert [alarm.status for alarm in verdict.alarms] == [Status.FIXED, Status.FIXED]
    assert verdict.outcome is Outcome.NO_CHANGE
    assert any(note.startswith("this machine has two levels, ") for note in verdict.notes)
    assert (verdict.is_at_known_level, verdict.would_show) == (True, None)
    (said,) = [said for said in analyses.lead(analyse(history(65, steps))) if "two levels" in said]
    assert said.startswith("cost of all runs is on the worse of two levels as twice before (+10.")
    assert said.endswith(f" since {version(55)}): no alarm, though it may be a regression that came back.")
    assert verdicts.sentence(verdict).startswith(
        f"cost of all runs is on the worse of two levels as twice before since {version(55)}"
    )
    (back,) = analyse(history(70, {**steps, 65: 100.0})).verdicts
    assert not back.is_at_known_level
    (further,) = analyse(history(65, {**steps, 55: 121.0})).verdicts
    assert further.fails


@pytest.mark.parametrize("levels", [(80.0, 60.0), (90.0, 80.0), (85.0, 75.0)])
def test_what_undoes_two_improvements_is_no_level_that_the_machine_had_before(levels: tuple[float, float]) -> None:
    for seed in range(5):
        (verdict,) = analyse(history(65, {20: levels[0], 40: levels[1], 60: 100.0}, seed=seed)).verdicts
        assert verdict.fails
        assert verdict.first_bad == 60


@pytest.mark.parametrize("good", [2, 3, 4])
def test_what_was_good_for_a_few_versions_repairs_nothing(good: int) -> None:
    for seed in range(5):
        entries = history(66, {30: 110.0, 43: 100.0, 43 + good: 110.0}, repeats=2, seed=seed)
        (verdict,) = analyse(entries).verdicts
        assert verdict.fails
        assert (verdict.first_bad, [alarm.status for alarm in verdict.alarms]) == (30, [Status.OPEN])


def test_what_is_on_a_level_of_the_machine_is_not_suspected() -> None:
    steps = {15: 110.0, 25: 100.0, 35: 110.0, 45: 100.0, 55: 110.0}
    (known,) = analyse(history(56, steps, repeats=3)).verdicts
    assert known.outcome is Outcome.NO_CHANGE
    (new,) = analyse(history(56, {**steps, 55: 130.0}, repeats=3)).verdicts
    assert new.outcome is Outcome.SUSPECTED
