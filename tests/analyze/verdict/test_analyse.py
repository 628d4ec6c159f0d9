"""Verdicts, case by case; the life of an alarm, version by version; and what holds of every analysis."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from toy_runs import entry, history, version, workload

from matrix_benchmarking.analyze.handling import chosen
from matrix_benchmarking.analyze.handling import events as events_of
from matrix_benchmarking.analyze.select.selection import select
from matrix_benchmarking.analyze.verdict.alarms import alarm_id, causes
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.lifecycle import known_alarms, new_events
from matrix_benchmarking.analyze.verdict.model import Alarm, Analysis, Outcome, Status
from matrix_benchmarking.analyze.verdict.told import NOT_EVEN_A_DOUBLING
from matrix_benchmarking.analyze.wording import analyses, verdicts
from matrix_benchmarking.analyze.words import percent
from matrix_benchmarking.history.alarms import Action, AlarmEvent, AlarmSubject
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.workload import MinimumEffect

CASES = yaml.safe_load((Path(__file__).parent / "verdict_cases.yaml").read_text(encoding="utf-8"))
NOW = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)


def analyse(entries: list[Entry], events: list[AlarmEvent] | tuple[()] = (), **options: Any) -> Analysis:
    options = {"kpi_filter": ["cost", "rate"], "now": NOW, **options}
    return analyse_runs(entries, workload(), data="a test", events=events, **options)


def event(entries: list[Entry], text: str, kpi: str, number: int = 0) -> AlarmEvent:
    """What somebody did to the alarm of the only series, as ``acknowledged at 20 until 1.25.0``."""
    action, place, until = re.fullmatch(r"(\w+) at (\d+)(?: until (.*))?", text).groups()  # type: ignore[union-attr]
    series = select(entries, workload(), kpi_filter=[kpi]).series[0]
    subject = AlarmSubject(
        workload="toy",
        kpi=kpi,
        unit=series.kpi.unit,
        lower_better=series.kpi.lower_better,
        labels=dict(series.labels),
        series=series.name,
        first_bad=version(int(place)),
        last_good=version(int(place) - 1),
        old_level=100.0,
        new_level=110.0,
    )
    return AlarmEvent(
        alarm=alarm_id(series.id, series.keys[int(place)]),
        action=Action(action),
        at_us=number,
        author="ada",
        reason="known",
        until=until,
        subject=subject,
    )


def alarm_text(alarm: Alarm) -> str:
    number = alarm.first_bad.split(".")[1]
    fixed = "" if alarm.fixed_by is None else f" by {alarm.fixed_by.split('.')[1]}"
    return f"{alarm.status.value} at {number}{fixed}"


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_verdict_is_as_its_case_says(case: dict[str, Any]) -> None:
    kpi = case.get("kpi", "cost")
    options = {name: case[name] for name in ("steps", "level", "noise", "repeats") if name in case}
    entries = history(case["versions"], kpi=kpi, **options)
    events = [event(entries, text, kpi, number) for number, text in enumerate(case.get("events", ()))]
    effects = {kpi: MinimumEffect(**case["minimum"])} if "minimum" in case else {}
    (verdict,) = analyse(entries, events, minimum_effects=effects).verdicts
    assert verdict.outcome.value == case["outcome"]
    assert verdict.fails is case["fails"]
    for name in ("first_bad", "last_good"):
        if name in case:
            assert getattr(verdict, name) == case[name]
    if "alarms" in case:
        assert [alarm_text(alarm) for alarm in verdict.alarms] == case["alarms"]
    if verdict.outcome is Outcome.REGRESSION:
        assert verdict.difference is not None
        assert verdict.difference.low < verdict.difference.value < verdict.difference.high
        assert 0 < verdict.runs_after < len(entries)


def test_one_block_makes_a_suspicion_that_fails_nothing_and_the_next_version_an_alarm() -> None:
    entries = history(31, {29: 110}, repeats=3)
    analysis = analyse(entries[:90])
    (verdict,) = analysis.verdicts
    assert (verdict.outcome, verdict.fails, analysis.failed) == (Outcome.SUSPECTED, False, False)
    assert analysis.suspected == [verdict]
    assert (verdict.first_bad, verdict.last_good, verdict.is_new, verdict.alarms) == (29, 28, True, ())
    assert (verdict.runs_before, verdict.runs_after) == (87, 3)
    assert verdict.old_level == pytest.approx(100, abs=1)
    assert verdict.new_level == pytest.approx(110, abs=2)
    assert new_events(analysis, {}) == []
    (confirmed,) = analyse(entries).verdicts
    assert (confirmed.outcome, confirmed.fails, confirmed.first_bad) == (Outcome.REGRESSION, True, 29)


def test_what_one_block_shows_to_be_better_is_no_suspicion() -> None:
    (verdict,) = analyse(history(30, {29: 90}, repeats=3)).verdicts
    assert verdict.outcome is Outcome.NO_CHANGE


def test_versions_that_one_campaign_measured_one_after_the_other_are_one_block() -> None:
    entries = history(32, {29: 110}, repeats=3)
    one_night = [dataclasses.replace(one, campaign="late" if number >= 87 else f"night {number // 3}")
                 for number, one in enumerate(entries)]  # fmt: skip
    assert analyse(one_night).verdicts[0].outcome is Outcome.SUSPECTED
    assert analyse(entries).verdicts[0].outcome is Outcome.REGRESSION


def all_day(minutes: float, versions: int, steps: dict[int, float], shuffled: bool = False) -> list[Entry]:
    """A version each so many *minutes*, three runs right after the other; *shuffled*, not in the order of versions."""
    random, found = np.random.default_rng(8), []
    order = random.permutation(versions) if shuffled else np.arange(versions)
    for one in history(versions, steps, repeats=3):
        number = int(one.settings["version"].split(".")[1])
        run = sum(each.settings == one.settings for each in found)
        at_us = round((float(order[number]) * minutes + 0.5 * run) * 60e6) + 10**12
        found.append(_at(one, at_us))
    return found


def test_a_change_between_campaigns_that_follow_each_other_at_once_says_so() -> None:
    runs = all_day(5, 24, {20: 115})
    recorded = [dataclasses.replace(one, campaign=str(one.settings["version"])) for one in runs]
    analysis = analyse(recorded)
    assert analysis.verdicts[0].outcome is Outcome.REGRESSION
    assert "20 campaigns of one side may be one campaign: no 30 minutes lie between them" in analysis.beside
    days = [dataclasses.replace(one, campaign=str(one.settings["version"])) for one in all_day(24 * 60, 24, {20: 115})]
    assert "may be one campaign" not in analyse(days).beside


def _at(run: Entry, end_us: int) -> Entry:
    return dataclasses.replace(run, span_us=(end_us - 20 * 10**6, end_us))


@pytest.mark.parametrize("minutes", [2, 10, 24 * 60])
def test_what_later_versions_confirm_is_not_suspected_for_ever_however_soon_they_follow(minutes: float) -> None:
    outcomes = [analyse(all_day(minutes, count, {20: 115})).verdicts[0].outcome for count in (20, 21, 24)]
    assert outcomes == [Outcome.NO_CHANGE, Outcome.SUSPECTED, Outcome.REGRESSION]


def test_a_campaign_without_an_order_of_versions_or_without_versions_before_stays_one_block() -> None:
    assert analyse(all_day(2, 24, {20: 115}, shuffled=True)).verdicts[0].outcome is not Outcome.REGRESSION
    night = [*history(20, repeats=3)]  # one a day
    evening = all_day(2, 28, {20: 115})[60:]
    late = [_at(one, 10**14 + (one.time_us or 0)) for one in evening]
    assert analyse([*night, *late]).verdicts[0].outcome is Outcome.SUSPECTED
    recorded = [dataclasses.replace(one, campaign="evening") for one in late]
    assert analyse([*night, *recorded]).verdicts[0].outcome is Outcome.SUSPECTED


def test_where_nothing_was_shown_it_is_said_what_would_have_been() -> None:
    analysis = analyse(history(40, noise=1.0, repeats=3))
    (verdict,) = analysis.verdicts
    assert verdict.outcome is Outcome.NO_CHANGE
    assert verdict.would_show_in == 5
    assert verdict.would_show is not None
    assert 0.015 < verdict.would_show < 0.035
    size = percent(verdict.would_show).lstrip("+")
    assert verdicts.sentence(verdict).startswith(
        f"cost of all runs: no difference shown; {size} would have shown within 5 versions"
    )
    assert f"No difference shown in 1; {size} would have shown within 5 versions." in analyses.lead(analysis)


def test_what_is_back_on_an_old_level_says_it_in_terms_of_today() -> None:
    (verdict,) = analyse(history(60, {20: 300, 26: 100}, repeats=3)).verdicts
    assert [(alarm.status, alarm.id) for alarm in verdict.alarms] == [(Status.FIXED, "")]  # nobody ever raised it
    assert verdict.would_show is not None
    assert 0.01 <= verdict.would_show < 0.04


@pytest.mark.parametrize("kpi", ["cost", "rate"])
def test_where_not_even_a_doubling_would_have_shown_it_cannot_be_told(kpi: str) -> None:
    noisy = history(40, noise=95.0, level=250.0, kpi=kpi)
    better = 1.01 if kpi == "rate" else 0.99
    drifting = [
        dataclasses.replace(one, kpis={kpi: 100.0 * better**at})
        for at, one in enumerate(history(40, noise=0.0, kpi=kpi))
    ]
    for runs in (noisy, drifting) if kpi == "rate" else (noisy,):
        analysis = analyse(runs)
        (verdict,) = analysis.verdicts
        assert (verdict.outcome, verdict.why) == (Outcome.CANT_TELL, NOT_EVEN_A_DOUBLING)
        assert "Nothing is worse" not in " ".join(analyses.lead(analysis))


def test_a_history_of_one_block_cannot_be_told_until_a_second_one_is_there() -> None:
    entries = [dataclasses.replace(one, campaign="night") for one in history(20, repeats=3)]
    analysis = analyse(entries)
    (verdict,) = analysis.verdicts
    assert verdict.outcome is Outcome.CANT_TELL
    assert verdicts.sentence(verdict) == (
        "cost of all runs can't be told: measured in one block, one version after the other, a difference may be the "
        "machine's mood; measure the newest version once more."
    )
    again = [
        dataclasses.replace(one, campaign="night" if number < 57 else "next") for number, one in enumerate(entries)
    ]
    assert analyse(again).verdicts[0].outcome is Outcome.NO_CHANGE


def test_a_drift_is_one_alarm_with_its_slope() -> None:
    values = 100.0 + np.random.default_rng(5).normal(0.0, 1.0, 90) + 0.5 * np.maximum(np.arange(90) - 29, 0)
    runs = [{"version": version(number), "cost": float(value), "day": number} for number, value in enumerate(values)]
    drifting = [entry(run, number) for number, run in enumerate(runs)]
    (verdict,) = analyse(drifting).verdicts
    assert len([change for change in verdict.changes if change.is_worse]) > 1
    assert len(verdict.alarms) == 1
    assert {change.drifts_from for change in verdict.changes[1:]} == {verdict.first_bad}
    assert verdict.drift == pytest.approx(0.005, rel=0.2)
    assert verdicts.sentence(verdict).endswith("% a version.")


def test_two_steps_are_no_drift() -> None:
    (verdict,) = analyse(history(50, {20: 110, 35: 121})).verdicts
    assert [change.drifts_from for change in verdict.changes] == [None, None]
    assert verdict.drift is None


@pytest.mark.parametrize(
    ("levels", "outcome"), [((90.0, 80.0), Outcome.IMPROVEMENT), ((110.0, 100.0), Outcome.NO_CHANGE)]
)
def test_of_several_changes_the_last_is_told(levels: tuple[float, float], outcome: Outcome) -> None:
    (verdict,) = analyse(history(60, {20: levels[0], 40: levels[1]})).verdicts
    assert (verdict.outcome, verdict.first_bad, verdict.last_good) == (outcome, 40, 39)


def test_runs_from_a_day_after_the_analysis_are_noted() -> None:
    entries = history(30)
    begin = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    for days, notes in ((28, ()), (27.999, ("1 run dated in the future: a clock was wrong",))):
        assert analyse(entries, now=begin + dt.timedelta(days=days)).notes == notes


def test_alarms_that_begin_with_one_version_are_one_cause() -> None:
    entries = [*history(30, {24: 110}, image="a"), *history(30, {24: 120}, image="b", seed=6),
               *history(34, {28: 112}, image="c", seed=7)]  # fmt: skip
    analysis = analyse(entries)
    first, second = causes(analysis)
    assert (first.first_bad, len(first.alarms), second.first_bad, len(second.alarms)) == (
        version(24),
        2,
        version(28),
        1,
    )
    assert first.id != second.id
    assert [one.id for one in causes(analyse(list(reversed(entries))))] == [first.id, second.id]
    assert f"2 alarms since 1.24.0 (last good 1.23.0) are one cause, {first.id}." in analyses.lead(analysis)
    known = known_alarms(new_events(analysis, {}))
    assert {each.id for each in chosen(known, [first.id[:6]])} == {alarm.id for alarm in first.alarms}
    said = events_of(chosen(known, [first.id], Action.ACKNOWLEDGED), Action.ACKNOWLEDGED, author="ada", now=NOW)
    again = analyse(entries, [*new_events(analysis, {}), *said])
    assert [cause.id for cause in causes(again)] == [second.id]


def test_an_alarm_is_raised_once_and_keeps_its_name_while_versions_go_on() -> None:
    entries = history(60, {25: 108, 50: 100})
    events: list[AlarmEvent] = []
    failing, fixed = [], []
    for versions in range(8, 61):
        analysis = analyse(entries[:versions], events)
        added = new_events(analysis, known_alarms(events))
        events += added
        if analysis.failed:
            failing.append(versions)
        fixed += [versions for one in added if one.action is Action.FIXED]
    assert [one.action for one in events] == [Action.RAISED, Action.FIXED]
    assert len({one.alarm for one in events}) == 1
    assert events[0].subject.first_bad == version(25)
    assert 26 < failing[0] <= 30
    assert failing == list(range(failing[0], fixed[0]))


def test_an_alarm_that_was_raised_stays_when_many_quiet_series_join() -> None:
    entries = history(44, {36: 104}, noise=1.0, image="a")
    events = new_events(analyse(entries), {})
    assert [one.action for one in events] == [Action.RAISED]
    crowd = [one for number in range(150) for one in history(44, noise=1.0, seed=100 + number, image=f"b{number}")]
    alone = next(one for one in analyse([*entries, *crowd]).verdicts if one.labels["image"] == "a")
    kept = next(one for one in analyse([*entries, *crowd], events).verdicts if one.labels["image"] == "a")
    assert kept.fails
    assert alone.q_value is not None
    assert kept.q_value == alone.q_value


def test_over_many_quiet_series_few_analyses_fail() -> None:
    failed = 0
    for seed in range(20):
        entries = [one for place in range(30) for one in history(30, seed=1000 * seed + place, image=f"i{place}")]
        failed += analyse(entries).failed
    assert failed <= 3


def test_a_version_measured_again_in_between_keeps_the_alarm() -> None:
    entries = history(40, {30: 108})
    events = new_events(analyse(entries), {})
    backport = entry({"version": "1.29.5", "cost": 108.5, "day": 50}, 9999)
    analysis = analyse([*entries, backport], events)
    (verdict,) = analysis.verdicts
    assert [alarm.id for alarm in verdict.alarms] == [events[0].alarm]
    assert new_events(analysis, known_alarms(events)) == []


def test_alarms_of_another_workload_are_not_ours() -> None:
    entries = history(30, {24: 110})
    acknowledged = event(entries, "acknowledged at 24", "cost")
    other = AlarmSubject(
        **{**{n: getattr(acknowledged.subject, n) for n in AlarmSubject.__struct_fields__}, "workload": "x"}
    )
    changed = AlarmEvent(**{**{n: getattr(acknowledged, n) for n in AlarmEvent.__struct_fields__}, "subject": other})
    assert analyse(entries, [changed]).failed


def test_scaling_changes_no_verdict() -> None:
    entries = history(40, {30: 106})
    plain = analyse(entries).verdicts[0]
    for factor in (1e-9, 0.1, 7.0, 1e12):
        scaled = [_with_value(one, one.kpis["cost"] * factor) for one in entries]
        verdict = analyse(scaled).verdicts[0]
        assert (verdict.outcome, verdict.first_bad) == (plain.outcome, plain.first_bad)
        assert verdict.effect is not None
        assert plain.effect is not None
        assert verdict.effect.value == pytest.approx(plain.effect.value)


def test_reversing_the_direction_swaps_the_verdicts() -> None:
    for steps, expected in (({24: 110}, Outcome.REGRESSION), ({24: 90}, Outcome.IMPROVEMENT)):
        worse, better = (analyse(history(30, steps, kpi=name)).verdicts[0] for name in ("cost", "rate"))
        assert worse.outcome is expected
        assert {worse.outcome, better.outcome} == {Outcome.REGRESSION, Outcome.IMPROVEMENT}
        assert worse.first_bad == better.first_bad


def test_failing_series_come_first_and_the_largest_of_them() -> None:
    entries = [
        *history(30, {24: 105}, image="small", seed=1),
        *history(30, {24: 120}, image="large", seed=2),
        *history(30, {24: 80}, image="better", seed=3),
        *history(30, image="quiet", seed=4),
    ]
    assert [one.labels["image"] for one in analyse(entries).verdicts] == ["large", "small", "better", "quiet"]


def test_a_step_from_about_zero_is_in_the_unit() -> None:
    runs = history(40, {30: 1.0}, level=0.01, noise=0.2, repeats=3, seed=1)
    (verdict,) = analyse_runs(runs, workload(), data="here", now=NOW).verdicts
    assert (verdict.outcome, verdict.effect) == (Outcome.REGRESSION, None)
    assert verdict.difference is not None
    assert verdict.difference.value == pytest.approx(1.0, abs=0.2)


def test_an_empty_history_is_an_empty_analysis() -> None:
    analysis = analyse([])
    assert (analysis.verdicts, analysis.failed, analysis.newest) == ((), False, None)


def test_the_status_of_an_alarm_is_told_with_author_time_and_reason() -> None:
    entries = history(30, {24: 110})
    (verdict,) = analyse(entries, [event(entries, "acknowledged at 24", "cost", 10**6)]).verdicts
    (alarm,) = verdict.alarms
    assert (alarm.status, alarm.author, alarm.reason) == (Status.ACKNOWLEDGED, "ada", "known")
    assert alarm.at == dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)


def _with_value(one: Entry, value: float) -> Entry:
    return dataclasses.replace(one, kpis={"cost": value})
