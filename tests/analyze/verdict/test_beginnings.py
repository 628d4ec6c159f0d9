"""One commit that makes many series worse is one cause, though each of them alone would begin a version off."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable, Iterable

import numpy as np
import toy_runs

from matrix_benchmarking.analyze.detect import Change
from matrix_benchmarking.analyze.verdict import beginnings
from matrix_benchmarking.analyze.verdict.alarms import causes
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.lifecycle import new_events
from matrix_benchmarking.analyze.verdict.model import Analysis
from matrix_benchmarking.history.alarms import AlarmEvent
from matrix_benchmarking.matrix import Entry

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
NOISE, VERSIONS, AT = 0.03, 40, 30


def history(first_bad: Callable[[int], int], seed: int, series: int = 20, step: float = 0.1) -> list[Entry]:
    """A run of each version and size, from the version *first_bad* of its size on worse by *step*."""
    draw = random.Random(seed)
    made: list[Entry] = []
    for version in range(VERSIONS):
        for size in range(series):
            cost = 100.0 * math.exp(draw.gauss(0.0, NOISE)) * (1.0 + step * (version >= first_bad(size)))
            made.append(
                toy_runs.entry({"version": f"1.{version}", "size": size, "cost": cost, "day": version}, len(made))
            )
    return made


def analysed(runs: Iterable[Entry], events: Iterable[AlarmEvent] = ()) -> Analysis:
    workload = toy_runs.workload(comparison_keys=("version",))
    return analyse_runs(runs, workload, data="a test", now=NOW, kpi_filter=["cost"], events=events)


def begun(analysis: Analysis) -> list[str]:
    return [alarm.first_bad for verdict in analysis.failing for alarm in verdict.alarms]


def test_one_commit_is_one_cause_where_each_series_alone_would_be_some_versions_off() -> None:
    together = [analysed(history(lambda _: AT, seed)) for seed in range(5)]
    alone = [analysed(history(lambda _: AT, seed, series=1)) for seed in range(60)]
    right = [one == f"1.{AT}" for analysis in alone for one in begun(analysis)]
    assert sum(right) / len(right) < 0.95
    firsts = [begun(analysis) for analysis in together]
    assert sum(len(one) for one in firsts) >= 98
    assert sum(one.count(f"1.{AT}") for one in firsts) >= 96
    assert [causes(analysis)[0].first_bad for analysis in together] == [f"1.{AT}"] * 5


def test_two_commits_that_many_runs_tell_apart_stay_two() -> None:
    found = begun(analysed(history(lambda size: AT + 2 * (size % 2), seed=1, step=0.3)))
    assert sorted(set(found)) == [f"1.{AT}", f"1.{AT + 2}"]
    assert found.count(f"1.{AT}") == 10


def test_few_series_that_clearly_began_later_are_not_drawn_to_many() -> None:
    found = begun(analysed(history(lambda size: AT + (size >= 225), seed=2, series=240, step=0.5)))
    assert (found.count(f"1.{AT}"), found.count(f"1.{AT + 1}")) == (225, 15)


def test_runs_before_and_after_are_those_of_the_beginning_that_is_told() -> None:
    moved = 0
    for seed in range(4):
        for verdict in analysed(history(lambda _: AT, seed)).failing:
            assert verdict.first_bad is not None
            assert verdict.runs_before == verdict.first_bad
            assert verdict.runs_before + verdict.runs_after == VERSIONS
            moved += 1
    assert moved > 70


def test_the_last_good_version_is_the_one_before() -> None:
    analysis = analysed(history(lambda _: AT, seed=3))
    for verdict in analysis.failing:
        for change in verdict.changes:
            assert change.last_before == change.first - 1 < change.seen
        assert verdict.first_bad == verdict.changes[-1].first


def test_an_alarm_that_was_raised_stays_with_its_version() -> None:
    off = (seed for seed in range(100) if begun(analysed(history(lambda _: AT, seed, series=1))) == [f"1.{AT + 1}"])
    odd = history(lambda _: AT, next(off), series=1)
    raised = new_events(analysed(odd), {})
    both = [*odd, *(run for run in history(lambda _: AT, seed=4) if run.settings["size"])]
    for events, version in (((), f"1.{AT}"), (raised, f"1.{AT + 1}")):
        found = analysed(both, events)
        (alarm,) = (one for verdict in found.failing if verdict.labels["size"] == 0 for one in verdict.alarms)
        assert alarm.first_bad == version
        assert begun(found).count(f"1.{AT}") >= 16
    assert alarm.id == raised[0].alarm


def test_between_equal_levels_without_noise_no_place_is_likelier() -> None:
    change = Change(5, 4, 6, 0.0, 0.0, is_worse=True)
    with np.errstate(all="raise"):
        assert set(beginnings._unlikely([[0.0]] * 10, change, 3, 6, 1, 10)) == {0.0}
