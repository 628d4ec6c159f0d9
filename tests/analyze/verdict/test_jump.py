"""A version that lies far beyond those just before it, where levels moved so much before that nothing else shows."""

from __future__ import annotations

import datetime as dt
import random
import re
from collections.abc import Sequence

import numpy as np
import pytest
import toy_runs

from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.model import FARTHEST, OF_NEWEST, Analysis, Outcome, SeriesVerdict
from matrix_benchmarking.analyze.verdict.trend import FEWEST_BEFORE, jump, may_jump
from matrix_benchmarking.analyze.wording import analyses, verdicts

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def moving(seed: int = 7, quiet: int = 30) -> list[float]:
    """Sixteen versions whose levels move by half, then *quiet* ones."""
    draw = random.Random(seed)
    levels = [draw.uniform(60.0, 180.0) for _ in range(8)]
    return [levels[place // 2] if place < 16 else 120.0 * draw.gauss(1.0, 0.01) for place in range(16 + quiet)]


def analysed(values: Sequence[float], kpi: str = "cost") -> Analysis:
    made = [
        toy_runs.entry({"version": f"1.{number}", kpi: value, "day": number}, number)
        for number, value in enumerate(values)
    ]
    return analyse_runs(made, toy_runs.workload(), data="a test", now=NOW, kpi_filter=[kpi])


def the(analysis: Analysis) -> SeriesVerdict:
    (verdict,) = analysis.verdicts
    return verdict


def test_a_newest_version_far_beyond_all_before_is_suspected_where_levels_moved() -> None:
    before = moving()
    assert the(analysed(before)).outcome is Outcome.NO_CHANGE
    analysis = analysed([*before, 144.0])
    verdict = the(analysis)
    assert (verdict.outcome, verdict.why, verdict.is_new) == (Outcome.SUSPECTED, FARTHEST, True)
    assert (verdict.first_bad_version, verdict.last_good_version) == ("1.46", "1.45")
    assert verdict.effect is not None
    assert verdict.effect.low < 0.2 < verdict.effect.high
    assert (verdict.runs_before, verdict.runs_after, verdict.rises_all_along) == (46, 1, False)
    assert verdicts.sentence(verdict).endswith(f"46 and 1 runs; {FARTHEST}.")
    said = " ".join(analyses.lead(analysis))
    assert re.search(rf"cost of all runs is suspected to be worse \(\+\S+ % since 1.46\): {FARTHEST}\.", said)


def test_it_stays_suspected_while_versions_stay_there_and_is_new_once() -> None:
    values = [*moving(), 144.0, 143.0, 145.0, 144.5]
    found = [the(analysed(values[:count])) for count in range(47, 51)]
    assert all((one.outcome, one.why, one.first_bad) == (Outcome.SUSPECTED, FARTHEST, 46) for one in found)
    assert [one.is_new for one in found] == [True, False, False, False]
    assert the(analysed([*values, 120.0, 119.0, 121.0, 120.0, 120.5])).outcome is not Outcome.SUSPECTED


def test_neither_what_is_better_nor_what_came_before_nor_a_short_history() -> None:
    before = moving()
    assert the(analysed([*before, 96.0])).outcome is not Outcome.SUSPECTED
    assert the(analysed([*before, 50.0], kpi="rate")).why == FARTHEST
    assert the(analysed([*before[:40], 140.0, *before[40:], 144.0])).why != FARTHEST
    assert jump(np.array([*before[: FEWEST_BEFORE + 4], 200.0]), 1.0) is None
    assert jump(np.array([]), 1.0) is None
    assert jump(np.array([5.0] * 40 + [6.0]), 1.0) is None
    assert not may_jump(np.ones((3, 2))).any()


def wild(seed: int, quiet: int = 22) -> list[float]:
    """Thirty versions whose level moves by factors, then *quiet* ones."""
    draw = random.Random(seed)
    levels = [draw.uniform(20.0, 400.0) for _ in range(10)]
    return [levels[place // 3] if place < 30 else 200.0 * draw.gauss(1.0, 0.02) for place in range(30 + quiet)]


@pytest.mark.parametrize("seed", range(4))
def test_a_series_that_moves_too_much_is_told_by_its_newest_versions(seed: int) -> None:
    values = wild(seed)
    analysis = analysed(values)
    verdict = the(analysis)
    assert (verdict.outcome, verdict.why, verdict.changes) == (Outcome.NO_CHANGE, OF_NEWEST, ())
    assert verdict.would_show is not None
    assert verdict.would_show < 0.2
    assert (len(verdict.points), len(verdict.versions)) == (52, 52)
    assert f"would have shown within 5 versions; {OF_NEWEST}." in verdicts.sentence(verdict)
    assert "1 of these is told by the newest versions alone." in " ".join(analyses.lead(analysis))
    worse = analysed([*values[:-4], *(one * 1.25 for one in values[-4:])])
    found = the(worse)
    assert (found.outcome, found.first_bad_version, found.why) == (Outcome.SUSPECTED, "1.48", OF_NEWEST)
    assert (found.alarms, worse.failed, found.last_good) == ((), False, 47)
    better = the(analysed([*values[:-4], *(one / 1.25 for one in values[-4:])]))
    assert better.outcome is Outcome.CANT_TELL


def test_what_is_told_by_newest_versions_is_new_once() -> None:
    values = [*wild(0), *(200.0 * 1.3 * one for one in (1.0, 0.99, 1.01, 1.0, 1.02))]
    found = [the(analysed(values[:count])) for count in range(53, 58)]
    suspected = [one.is_new for one in found if one.outcome is Outcome.SUSPECTED]
    assert suspected == [True, *[False] * (len(suspected) - 1)]
    assert len(suspected) >= 3


def test_a_point_that_is_left_again_is_no_jump() -> None:
    before = moving()
    assert the(analysed([*before, 160.0, 120.0])).outcome is not Outcome.SUSPECTED
    assert the(analysed([*before[:-15], 60.0, *[119.0, 120.0, 121.0] * 4, 144.0])).why == FARTHEST


@pytest.mark.parametrize("noise", ["normal", "t3", "whole numbers", "rare", "walk", "weeks"])
def test_noise_does_not_jump(noise: str) -> None:
    draw, shape = np.random.default_rng(20261129), (2000, 45)
    points = draw.normal(size=shape)
    others = {
        "t3": draw.standard_t(3, shape),
        "whole numbers": draw.poisson(2.0, shape).astype(np.float64),
        "rare": (draw.random(shape) < 0.03).astype(np.float64),
        "walk": points.cumsum(axis=1),
        "weeks": points + 3.0 * (np.arange(shape[1]) % 7 >= 5),
    }
    values = others.get(noise, points)
    may = may_jump(values)
    assert sum(jump(row, 1.0) is not None for row in values[may]) <= 0.005 * len(values)
    others_that_may = [row for row in values[~may][:200] if jump(row, 1.0) is not None or jump(row, -1.0) is not None]
    assert not others_that_may
