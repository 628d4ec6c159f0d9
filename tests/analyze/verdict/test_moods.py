"""Moods of a machine that last over versions are named where something changed; what changes alone is no such mood."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
import toy_runs

from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.model import Analysis

VERSIONS, SAID = 60, "Neighbouring versions are alike beyond what changed (correlation 0."


def history(levels: np.ndarray, seed: int) -> Analysis:
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
    return analyse_runs(runs, toy_runs.workload(), data="toy", now=now)


def moody(correlation: float, seed: int) -> np.ndarray:
    chance, mood, found = np.random.default_rng(seed), 0.0, []
    for _ in range(VERSIONS):
        mood = correlation * mood + chance.normal(0, 0.03 * np.sqrt(1 - correlation**2))
        found.append(np.exp(mood))
    return np.array(found)


def test_a_mood_that_lasts_is_named_where_it_is_taken_for_a_change() -> None:
    found = [history(moody(0.7, seed), seed) for seed in range(200, 210)]
    worse = [one for one in found if any(verdict.fails for verdict in one.verdicts)]
    assert len(worse) >= 4, "it is what moods that last do"
    assert 3 * sum(SAID in one.beside for one in worse) >= len(worse), "about half of them say so"


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
