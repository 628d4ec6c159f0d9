"""Moods of a machine that last over versions are named where something changed; what changes alone is no such mood."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import numpy as np
import pytest
import toy_runs

from matrix_benchmarking.analyze.verdict import analyse
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.lifecycle import new_events
from matrix_benchmarking.analyze.verdict.model import OF_A_MOOD, Analysis, SeriesVerdict, Status
from matrix_benchmarking.analyze.wording.analyses import lead
from matrix_benchmarking.history.alarms import AlarmEvent

VERSIONS, SAID = 60, "Neighbouring versions are alike beyond what changed (correlation 0."


def history(levels: np.ndarray, seed: int, events: Sequence[AlarmEvent] = ()) -> Analysis:
    """Five configurations, of three runs at each version, at these *levels*."""
    chance = np.random.default_rng(seed)
    runs = [
        toy_runs.entry(
            {"version": f"1.{at}.0", "image": image, "cost": 100 * level * chance.lognormal(0, 0.02), "day": at}, repeat
        )
        for at, level in enumerate(levels)
        for image in "abcde"
        for repeat in range(3)
    ]
    now = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
    return analyse_runs(runs, toy_runs.workload(), data="toy", events=events, now=now)


def of_a_mood(found: Analysis) -> list[SeriesVerdict]:
    return [one for one in found.suspected if one.why == OF_A_MOOD]


def moody(correlation: float, seed: int) -> np.ndarray:
    chance, mood, found = np.random.default_rng(seed), 0.0, []
    for _ in range(VERSIONS):
        mood = correlation * mood + chance.normal(0, 0.03 * np.sqrt(1 - correlation**2))
        found.append(np.exp(mood))
    return np.array(found)


def test_what_a_mood_that_lasts_may_have_moved_is_suspected_at_most_where_it_is_known() -> None:
    """As worse as before are the histories of which nothing tells the mood, about half."""
    found = [history(moody(0.7, seed), seed) for seed in range(200, 230)]
    known = [one for one in found if SAID in one.beside]
    suspected = list(filter(of_a_mood, known))
    assert len(suspected) >= 3, "it is what moods that last do"
    assert 2 * sum(any(verdict.fails for verdict in one.verdicts) for one in known) < len(known)
    alarms = [alarm for one in suspected for verdict in of_a_mood(one) for alarm in verdict.alarms]
    assert all(alarm.status is Status.FIXED for alarm in alarms)
    assert f": {OF_A_MOOD}." in " ".join(lead(suspected[0]))


def test_what_no_mood_would_have_moved_is_worse_as_ever() -> None:
    step = np.where(np.arange(VERSIONS) >= 50, 1.3, 1.0)
    found = [history(moody(0.7, seed) * step, seed) for seed in range(200, 210)]
    assert sum(SAID in one.beside for one in found) >= 3
    assert sum(not verdict.fails for one in found for verdict in one.verdicts) <= 1  # of 50


def test_an_alarm_that_was_raised_before_the_mood_was_known_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = next(seed for seed in range(200, 220) if of_a_mood(history(moody(0.7, seed), seed)))
    with monkeypatch.context() as before:
        before.setattr(analyse, "that_lasts", lambda series: None)
        raised = new_events(history(moody(0.7, seed), seed), {})
    again = history(moody(0.7, seed), seed, raised)
    stay = {event.alarm for event in raised}
    assert stay
    assert stay <= {alarm.id for one in again.failing for alarm in one.alarms}
    assert SAID in again.beside


@pytest.mark.parametrize(
    "levels",
    [
        np.where(np.arange(VERSIONS) >= 40, 1.05, 1.0),
        np.where(np.arange(VERSIONS) >= 40, 1.2, 1.0) * np.where(np.arange(VERSIONS) >= 20, 1.1, 1.0),
        1.002 ** np.arange(VERSIONS),
        np.where(np.arange(VERSIONS) % 7 >= 5, 1.08, 1.0) * np.where(np.arange(VERSIONS) >= 40, 1.2, 1.0),
    ],
)
def test_what_changes_and_drifts_is_no_mood_that_lasts(levels: np.ndarray) -> None:
    found = [history(levels * moody(0.0, seed) ** 0.3, seed) for seed in range(3)]
    assert all(any(verdict.fails for verdict in one.verdicts) for one in found)
    assert [one.beside for one in found if SAID in one.beside] == []
