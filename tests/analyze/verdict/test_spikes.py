"""Runs that are far worse now and then, more often since a version: no median of its runs moves."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import toy_runs

from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.model import NOW_AND_THEN, Analysis, Outcome, SeriesVerdict
from matrix_benchmarking.analyze.wording import analyses

NOW = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)
Runs = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Any]


def quiet(draw: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Noise of 2 % between repeats, and of 1 % between versions."""
    return draw.lognormal(0.0, 0.02, shape) * draw.lognormal(0.0, 0.01, (shape[0], 1))


def lognormal(draw: np.random.Generator, runs: int) -> Any:
    return 100.0 * draw.lognormal(0.0, 0.01, (40, runs))


def often(
    seed: int, share: float = 1 / 3, since: int = 30, *, versions: int = 40, runs: int = 5, by: float = 3.0
) -> Runs:
    """Versions by runs, of which from one on a share takes several times as long."""
    draw = np.random.default_rng(seed)
    values: Runs = 100.0 * quiet(draw, (versions, runs))
    values[since:] *= np.where(draw.random((versions - since, runs)) < share, by, 1.0)
    return values


def analysed(values: Runs, kpi: str = "cost", **more: Any) -> Analysis:
    made = [
        toy_runs.entry({"version": f"1.{number}", kpi: value, "day": number}, 100 * number + repeat)
        for number, runs in enumerate(values.tolist())
        for repeat, value in enumerate(runs)
    ]
    return analyse_runs(made, toy_runs.workload(), data="a test", now=NOW, kpi_filter=[kpi], **more)


def the(analysis: Analysis) -> SeriesVerdict:
    (verdict,) = analysis.verdicts
    return verdict


def is_seen(values: Runs, kpi: str = "cost") -> bool:
    return the(analysed(values, kpi)).why == NOW_AND_THEN


def test_one_run_in_five_that_takes_three_times_as_long_is_suspected_since_about_its_version() -> None:
    values = 100.0 * quiet(np.random.default_rng(5), (40, 5))
    assert the(analysed(values)).outcome is Outcome.NO_CHANGE
    values[30:, 2] *= 3.0
    analysis = analysed(values)
    verdict = the(analysis)
    assert (verdict.outcome, verdict.why, verdict.first_bad_version) == (Outcome.SUSPECTED, NOW_AND_THEN, "1.30")
    assert verdict.notes == ("runs far beyond the usual: 10 of 50 since, 0 of 150 before",)
    assert verdict.effect is not None
    assert verdict.effect.low < 0.4 < verdict.effect.high
    assert (verdict.would_show, verdict.runs_before, verdict.runs_after) == (None, 150, 50)
    said = " ".join(analyses.lead(analysis))
    assert re.search(rf"cost of all runs is suspected to be worse \(\+\S+ % since 1.30\): {NOW_AND_THEN}\.", said)


@pytest.mark.parametrize(("kpi", "by"), [("cost", 3.0), ("cost", 1.3), ("rate", 1 / 3), ("rate", 0.75)])
def test_one_in_three_is_mostly_seen_ten_versions_later(kpi: str, by: float) -> None:
    found = [the(analysed(often(seed, by=by), kpi)) for seed in range(20)]
    assert sum(one.outcome in (Outcome.SUSPECTED, Outcome.REGRESSION) for one in found) >= 18


@pytest.mark.parametrize("runs", [3, 5])
def test_where_each_run_is_fast_or_slow_by_itself_it_is_no_spike(runs: int) -> None:
    """What is usual is now the one and now the other: beside the fast every second run is far, beside the slow none."""
    draws = [np.random.default_rng([seed, runs]) for seed in range(20)]
    fast_or_slow = (np.where(draw.random((40, runs)) < 0.5, 1.4, 1.0) * lognormal(draw, runs) for draw in draws)
    assert sum(map(is_seen, fast_or_slow)) <= 1


@pytest.mark.parametrize(("kpi", "by"), [("cost", 0.3), ("rate", 3.0)])
def test_what_is_far_better_now_and_then_is_no_harm(kpi: str, by: float) -> None:
    assert not any(is_seen(often(seed, by=by), kpi) for seed in range(10))


def test_it_is_new_once_and_fails_where_what_may_be_worse_is_enough() -> None:
    values = 100.0 * quiet(np.random.default_rng(5), (40, 5))
    values[30:, 2] *= 3.0
    found = [the(analysed(values[:count])) for count in range(31, 41)]
    seen = [one.why == NOW_AND_THEN for one in found]
    first = seen.index(True)
    assert first <= 2
    assert all(seen[first:])
    assert [one.is_new for one in found[first:]] == [True] + [False] * (len(found) - first - 1)


@pytest.mark.parametrize(
    "draw",
    [
        quiet,
        lambda draw, shape: np.exp(0.02 * draw.standard_t(3, shape)),
        lambda draw, shape: quiet(draw, shape) * np.where(draw.random(shape) < 0.3, 1.3, 1.0),
        lambda draw, shape: 1.0 + 0.02 * draw.pareto(1.5, shape),
        lambda draw, shape: np.exp(np.cumsum(draw.normal(0.0, 0.02, shape[0])))[:, None] * quiet(draw, shape),
    ],
    ids=["even", "t3", "two speeds", "Pareto", "a walk"],
)
@pytest.mark.parametrize("shape", [(20, 5), (60, 3), (60, 1)])
def test_what_was_always_so_is_not_said(draw: Draw, shape: tuple[int, int]) -> None:
    assert sum(is_seen(100.0 * draw(np.random.default_rng(seed), shape)) for seed in range(20)) <= 1


def test_a_day_on_which_many_runs_were_slow_is_one_campaign_and_says_nothing() -> None:
    values = 100.0 * quiet(np.random.default_rng(3), (30, 10))
    values[-1, :4] *= 2.0
    assert not is_seen(values)


def test_small_changes_before_hide_nothing() -> None:
    values = often(2, versions=60)
    values[30:] *= 1.006
    values[30:, 0] = 300.0
    assert the(analysed(values)).outcome in (Outcome.SUSPECTED, Outcome.REGRESSION)


@pytest.mark.parametrize("value", [0.0, -1.0, 1e300])
def test_values_without_a_logarithm_and_large_ones_are_no_error(value: float) -> None:
    values = often(1)
    values[3, 1] = value
    the(analysed(values))


def test_where_levels_follow_one_another_the_change_is_that_of_the_levels_that_are_said() -> None:
    """A run three times as long now and then makes medians go up and down: +3.6 % was said from 100 to 134."""
    draw, values = np.random.default_rng(4), np.empty((36, 5))
    for version, name in itertools.product(range(36), ("small", "large")):
        mood = draw.lognormal(0.0, 0.01)
        for run in range(5):
            value = 100.0 * mood * draw.lognormal(0.0, 0.02)
            is_slow = version >= 28 and name == "large" and draw.random() < 0.33
            values[version, run] = 3.0 * value if is_slow else value  # those of the large one stay
    verdict = the(analysed(values))
    assert verdict.outcome is Outcome.REGRESSION
    assert len(verdict.changes) > 1
    assert verdict.effect is not None
    assert verdict.old_level is not None
    assert verdict.new_level is not None
    assert verdict.effect.value == pytest.approx(verdict.new_level / verdict.old_level - 1.0, rel=0.1)
