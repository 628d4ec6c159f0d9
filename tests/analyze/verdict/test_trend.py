"""A series that gets worse all along, so slowly that no version shows it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
import re
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
import toy_runs

from matrix_benchmarking.analyze.report.json_report import as_json
from matrix_benchmarking.analyze.select.series import KPISeries, Series
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.model import OF_FEW, Analysis, Outcome, SeriesVerdict
from matrix_benchmarking.analyze.verdict.trend import (
    FEWEST,
    FEWEST_OF_A_STEP,
    LEAST,
    LEAST_OF_A_STEP,
    MOST_OF_A_STEP,
    STEP,
    Trend,
    _lines,
    _ranks,
    _shapes,
)
from matrix_benchmarking.analyze.wording import analyses, verdicts
from matrix_benchmarking.workload import MinimumEffect

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def analysed(values: Sequence[float], kpi: str = "cost", minimum: MinimumEffect | None = None, **run: str) -> Analysis:
    """A series of one run a version, one a day."""
    made = [
        toy_runs.entry({"version": f"1.{number}", kpi: value, "day": number}, number)
        for number, value in enumerate(values)
    ]
    made = [dataclasses.replace(one, **run) for one in made]
    effects = {} if minimum is None else {kpi: minimum}
    return analyse_runs(made, toy_runs.workload(), data="a test", now=NOW, kpi_filter=[kpi], minimum_effects=effects)


def rising(count: int, slope: float = 0.3, seed: int = 6) -> list[float]:
    draw = random.Random(seed)
    return [100.0 + slope * place + draw.gauss(0.0, 3.0) for place in range(count)]


def the(analysis: Analysis) -> SeriesVerdict:
    (verdict,) = analysis.verdicts
    return verdict


def test_a_series_that_gets_worse_all_along_is_suspected() -> None:
    analysis = analysed(rising(40))
    verdict = the(analysis)
    assert (verdict.outcome, verdict.rises_all_along, verdict.looks_worse) == (Outcome.SUSPECTED, True, True)
    assert (verdict.first_bad, verdict.last_good, verdict.reruns) == (None, None, None)
    assert verdict.effect is not None
    assert verdict.effect.low < 0.117 < verdict.effect.high
    assert verdict.drift == pytest.approx(verdict.effect.value / 39)
    assert not analysis.failed
    assert analyses.headline(analysis).startswith("Nothing is worse in 1 series of 1 KPI, and 1 is suspected")
    said = " ".join(analyses.lead(analysis))
    assert "cost of all runs gets worse along the history, it seems (+" in said
    assert "would tell" not in said
    assert verdicts.verdict_text(verdict).startswith("suspected: worse along the history")
    assert "suspected to get worse along the history, all along or in steps: +" in verdicts.sentence(verdict)


def test_what_drifts_so_much_that_no_step_would_show_is_suspected_too() -> None:
    verdict = the(analysed([100.0 * 1.01**number for number in range(40)]))
    assert (verdict.outcome, verdict.rises_all_along, verdict.why) == (Outcome.SUSPECTED, True, "")


def test_neither_what_gets_better_nor_little_nor_a_short_history_nor_one_campaign_is() -> None:
    assert the(analysed(rising(40), kpi="rate")).outcome is Outcome.NO_CHANGE
    assert the(analysed(rising(40, -0.3), kpi="rate")).rises_all_along
    assert the(analysed(rising(40), minimum=MinimumEffect(0.2))).outcome is Outcome.NO_CHANGE
    assert not the(analysed(rising(FEWEST - 1, 1.0))).rises_all_along
    assert not the(analysed(rising(40), campaign="a night")).rises_all_along


def test_it_fails_once_where_suspicion_is_enough() -> None:
    found = [msgspec.structs.replace(analysed(rising(count)), fails_on_suspected=True) for count in range(22, 41)]
    rises = [the(one).rises_all_along for one in found]
    assert any(rises)
    failed = [one.failed for one, is_suspected in zip(found, rises, strict=True) if is_suspected]
    assert failed[0]
    assert sum(failed) < len(failed) / 2


def test_it_fails_once_it_reaches_the_minimum_effect() -> None:
    values = rising(60, 0.25)
    found = [the(analysed(values[:count], minimum=MinimumEffect(0.08))) for count in range(22, 61)]
    rises = [one.is_new for one in found if one.rises_all_along]
    assert rises
    assert rises[0]


def test_a_line_through_what_grows_by_a_factor_stays_above_zero() -> None:
    verdict = the(analysed([1.1**number for number in range(40)]))
    assert verdict.rises_all_along
    assert verdict.old_level == pytest.approx(1.0)
    assert verdict.effect is not None
    assert verdict.effect.value == pytest.approx(1.1**39 - 1.0)


@pytest.mark.parametrize("noise", ["normal", "whole numbers", "rare", "constant", "correlated", "weeks"])
def test_noise_is_no_trend(noise: str) -> None:
    draw, shape = np.random.default_rng(20261130), (1000, 40)
    points = draw.normal(size=shape)
    if noise == "correlated":
        for place in range(1, shape[1]):
            points[:, place] = 0.6 * points[:, place - 1] + 0.8 * points[:, place]
    others = {
        "whole numbers": draw.integers(0, 3, shape).astype(np.float64),
        "rare": (draw.random(shape) < 0.03).astype(np.float64),
        "constant": np.ones(shape),
        "weeks": points + 3.0 * (np.arange(shape[1]) % 7 >= 5),
    }
    scores = _lines(_ranks(others.get(noise, points)))
    assert np.mean(np.abs(scores) >= LEAST) <= 0.015


def stepped(old: int, new: int, step: float, seed: int = 0) -> list[float]:
    draw = random.Random(seed)
    return [100.0 + draw.gauss(0.0, 3.0) + (step if place >= old else 0.0) for place in range(old + new)]


def test_a_step_that_all_of_few_versions_show_is_suspected() -> None:
    found = [the(analysed(stepped(12, 8, 10.0, seed))) for seed in range(40)]
    told = [one for one in found if one.outcome in (Outcome.SUSPECTED, Outcome.REGRESSION)]
    assert len(told) >= 25
    assert sum(one.outcome is Outcome.REGRESSION for one in found) < 20
    suspected = [one for one in told if one.outcome is Outcome.SUSPECTED]
    assert all(one.why == OF_FEW and not one.rises_all_along for one in suspected)
    firsts = [one.first_bad for one in suspected if one.first_bad is not None]
    assert sum(abs(first - 12) <= 1 for first in firsts) >= 0.9 * len(suspected)
    assert all(one.last_good == first - 1 for one, first in zip(suspected, firsts, strict=True))
    assert all(one.runs_before + one.runs_after == 20 and one.drift is None for one in suspected)


def test_what_is_said_of_a_step_that_is_suspected() -> None:
    analysis = next(
        one for seed in range(40) if (one := analysed(stepped(12, 10, 10.0, seed))) and one.having(Outcome.SUSPECTED)
    )
    verdict = the(analysis)
    since = f"since {verdict.first_bad_version}"
    assert f"is suspected to be worse {since} (last good {verdict.last_good_version}): +" in verdicts.sentence(verdict)
    assert verdicts.sentence(verdict).endswith(f"; {OF_FEW}.")
    said = " ".join(analyses.lead(analysis))
    assert re.search(rf"cost of all runs is suspected to be worse \(\+\S+ % {since}\): {OF_FEW}\.", said)
    assert "blocks of runs alone" not in said
    assert not analysis.failed
    assert [one["why"] for one in as_json(analysis)["series"]] == [OF_FEW]


def test_a_step_of_few_versions_fails_once_where_suspicion_is_enough() -> None:
    values = stepped(12, 16, 8.0, 0)
    found = [msgspec.structs.replace(analysed(values[:count]), fails_on_suspected=True) for count in range(13, 29)]
    of_few = [one.failed for one in found if the(one).why == OF_FEW]
    assert len(of_few) > 2
    assert of_few[0]
    assert sum(of_few) < len(of_few) / 2


def test_of_many_series_one_is_new_when_it_is_first_told() -> None:
    """Which it isn't yet when it is sure by itself: of so many, chance makes as much."""
    seeds = range(60)
    values = {seed: stepped(12, 24, 7.0 if seed == 0 else 0.0, 500 + seed) for seed in seeds}
    new = []
    for count in range(16, 37):
        made = [
            toy_runs.entry({"version": f"1.{at}", "size": seed, "cost": values[seed][at], "day": at}, at * 60 + seed)
            for at in range(count)
            for seed in seeds
        ]
        analysis = analyse_runs(made, toy_runs.workload(), data="a test", now=NOW, kpi_filter=["cost"])
        (one,) = (verdict for verdict in analysis.verdicts if verdict.labels["size"] == 0)
        new += [one.is_new] if one.why == OF_FEW else []
    assert new
    assert new[0]
    assert sum(new) <= 2


def test_a_series_that_ended_does_not_fail_for_ever() -> None:
    ended, other = stepped(12, 5, 12.0, 5), stepped(26, 0, 0.0, 5)
    for count, fails in ((17, True), (26, False)):
        made = [
            toy_runs.entry({"version": f"1.{at}", "size": size, "cost": values[at], "day": at}, 2 * at + size)
            for size, values in ((0, ended), (1, other))
            for at in range(min(count, len(values)))
        ]
        analysis = analyse_runs(made, toy_runs.workload(), data="a test", now=NOW, kpi_filter=["cost"])
        (one,) = (verdict for verdict in analysis.verdicts if verdict.labels["size"] == 0)
        assert one.outcome is Outcome.SUSPECTED
        asked = msgspec.structs.replace(analysis, fails_on_suspected=True)
        assert (asked.also_failing, asked.failed) == ([one] if fails else [], fails)


@pytest.mark.parametrize(("place", "factor"), [(-2, 1.5), (-2, 3.0), (-3, 1.5), (0, 0.5), (1, 0.5)])
def test_one_odd_version_is_no_step(place: int, factor: float) -> None:
    odd = [stepped(40, 0, 0.0, seed) for seed in range(30)]
    for values in odd:
        values[place] *= factor
    assert sum(the(analysed(values)).outcome is Outcome.SUSPECTED for values in odd) <= 1


def test_what_is_suspected_to_be_worse_looks_worse() -> None:
    falls = Trend(STEP, 100.0, 97.0, 4.0, 96.0, 98.0, 37)  # its ranks rise
    cost = the(analysed(stepped(12, 8, 10.0))).kpi
    assert not falls.counts(cost, MinimumEffect(0.01))
    assert msgspec.structs.replace(falls, last=103.0).counts(cost, MinimumEffect(0.01))


def test_few_versions_of_a_machine_with_two_levels_or_of_better_values_are_not_suspected() -> None:
    draw = random.Random(3)
    levels = [100.0] * 6 + [110.0] * 4 + [100.0] * 5 + [110.0] * 4 + [100.0] * 6 + [110.0] * 8
    assert the(analysed([one + draw.gauss(0.0, 1.0) for one in levels])).why != OF_FEW
    for seed in range(10):
        assert the(analysed(stepped(12, 10, -10.0, seed))).outcome is not Outcome.SUSPECTED
        assert the(analysed(stepped(12, 10, 10.0, seed), minimum=MinimumEffect(0.3))).outcome is not Outcome.SUSPECTED


@pytest.mark.parametrize(("correlation", "most"), [(0.0, 0.01), (0.3, 0.015), (0.6, 0.03), (0.8, 0.05)])
def test_noise_of_few_versions_is_no_step(correlation: float, most: float) -> None:
    draw = np.random.default_rng(20261129)
    points = draw.normal(size=(1000, MOST_OF_A_STEP))
    for place in range(1, MOST_OF_A_STEP):
        points[:, place] = correlation * points[:, place - 1] + (1.0 - correlation**2) ** 0.5 * points[:, place]
    for count in (FEWEST_OF_A_STEP, 20, MOST_OF_A_STEP):
        for values in (points, np.round(points), np.exp(points)):
            steps = [score for score, place in _shapes(values[:, :count]) if place is not None]
            assert sum(score >= LEAST_OF_A_STEP for score in steps) / len(points) <= most


def test_a_clear_change_that_is_too_small_to_count_is_said() -> None:
    draw = random.Random(4)
    values = [0.999 - (0.009 if number >= 30 else 0.0) + draw.gauss(0.0, 0.0005) for number in range(40)]
    analysis = analysed(values, kpi="rate")
    verdict = the(analysis)
    assert (verdict.outcome, analysis.failed) == (Outcome.NO_CHANGE, False)
    assert verdict.too_small is not None
    said = " ".join(analyses.lead(analysis))
    assert "rate of all runs changed by less than the minimum effect (−0.9 % since 1.30): no alarm" in said
    assert "No difference shown" not in said
    assert verdicts.verdict_text(verdict) == "less than the minimum effect: −0.9 % since 1.30"
    (one,) = as_json(analysis)["series"]
    assert (one["too_small"]["first"], one["too_small"]["is_worse"]) == (30, True)
    found = KPISeries(verdict.kpi, "version", (), {}, (), {})
    with_series = msgspec.structs.replace(found, series=(Series(verdict.id, verdict.kpi, {}, "", (), (), ()),))
    (counted, *_) = verdicts.conclusions(with_series, verdicts.judged_series(with_series, analysis))
    assert counted == "rate: 1 of 1 series shows no difference (1 changed by less than the minimum effect)."
    assert the(analysed(values[:30], kpi="rate")).too_small is None
    counts = analysed(values, kpi="rate", minimum=MinimumEffect(0.005))
    assert (the(counts).outcome, the(counts).too_small) == (Outcome.REGRESSION, None)


@pytest.mark.parametrize("unit", [5e-324, 1e-300, 1e300])
def test_values_of_any_size_have_a_line(unit: float) -> None:
    with np.errstate(all="raise"):
        verdict = the(analysed([unit * (1.0 + number) for number in range(40)]))
    assert verdict.rises_all_along
