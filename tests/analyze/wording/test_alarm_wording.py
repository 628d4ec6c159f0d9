"""Alarms in words."""

from __future__ import annotations

import datetime as dt

import pytest
from history_support.alarms import event, subject

from matrix_benchmarking import kpi
from matrix_benchmarking.analyze.handling import about, about_unjudged, about_unseen, as_data, is_over, levels, standing
from matrix_benchmarking.analyze.verdict.alarms import cause_id
from matrix_benchmarking.analyze.verdict.lifecycle import known_alarms
from matrix_benchmarking.history.alarms import Action, AlarmEvent

NOW = dt.datetime(2026, 3, 1, 13, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("old", "new", "unit", "words"),
    [
        (20.0, 22.5, "ms", "20 → 22.5 ms, +12.5 %"),
        (158.84, 146.0, "inputs/s", "158.8 → 146 inputs/s, −8.1 %"),
        (0.0, 0.01, "", "0 → 0.01"),
        (-5.0, 5.0, "°C", "-5 → 5 °C"),
        (5.0, 0.0, "", "5 → 0, −100 %"),
        (0.5, 0.75, "", "0.5 → 0.75, +50.0 %"),
        (0.5, -0.5, "", "0.5 → -0.5"),
    ],
)
def test_levels_have_a_unit_and_where_there_is_one_a_ratio(old: float, new: float, unit: str, words: str) -> None:
    assert levels(subject(old_level=old, new_level=new, unit=unit), {}) == words


def test_levels_are_shown_as_the_kpi_asks_for_unless_its_unit_is_another_one_by_now() -> None:
    def p95_latency(lts: object) -> float:
        return 0.0

    shown = kpi.FormatDivisor(1000, unit="s", format="{:.3f}")(p95_latency)
    kpis = kpi.collect([kpi.LowerBetter(kpi.KPIMetadata(help="A latency", unit="ms")(shown))])
    of_alarm = subject(old_level=2000.0, new_level=2250.0)
    assert levels(of_alarm, kpis) == "2.000 → 2.250 s, +12.5 %"
    assert about(of_alarm, kpis).endswith(" since 1.3.0 (2.000 → 2.250 s, +12.5 %)")
    assert levels(subject(old_level=2.0, new_level=2.25, unit="min"), kpis) == "2 → 2.25 min, +12.5 %"
    assert levels(subject(kpi="another"), kpis) == "20 → 22.5 ms, +12.5 %"


def test_what_an_alarm_is_about_is_one_line() -> None:
    words = about(subject(series="a\nb"), {})
    assert words == "p95_latency of a b since 1.3.0 (20 → 22.5 ms, +12.5 %)"


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (event(1, alarm="a"), "open"),
        (event(1, Action.REOPENED, alarm="a", reason="still\nbad"), "reopened by ann on 2026-03-01: still bad"),
        (event(1, Action.RESOLVED, alarm="a", reason="rolled back"), "resolved by ann on 2026-03-01: rolled back"),
        (event(1, Action.FIXED, alarm="a", version="1.3.2"), "fixed by 1.3.2 on 2026-03-01"),
        (event(1, Action.FIXED, alarm="a"), "fixed on 2026-03-01"),
        (event(1, Action.ACKNOWLEDGED, alarm="a", until="1.4"), "acknowledged by ann on 2026-03-01 until 1.4"),
    ],
)
def test_what_became_of_an_alarm_is_said_with_what_stands_behind_it(last: AlarmEvent, words: str) -> None:
    assert standing(known_alarms([event(0, alarm="a"), last])["a"]) == words


def test_an_acknowledgement_that_is_over_says_so() -> None:
    last = event(1, Action.ACKNOWLEDGED, alarm="a", until="2026-02-28", reason="known")
    alarm = known_alarms([event(0, alarm="a"), last])["a"]
    assert is_over(alarm, NOW, [])
    assert standing(alarm, over=True) == "acknowledged by ann on 2026-03-01 until 2026-02-28, which is over: known"


def test_alarms_that_are_over_or_unseen_are_counted_and_three_of_them_named() -> None:
    alarms = list(known_alarms(event(number, alarm=f"a{number}") for number in range(5)).values())
    named = [f"{alarm.id} {about(alarm.subject, {})}" for alarm in alarms]
    for count, more in ((1, ""), (2, ""), (3, ""), (4, "; and 1 more"), (5, "; and 2 more")):
        what, are, its = ("alarm", "is", "its") if count == 1 else ("alarms", "are", "their")
        listed = f"{'; '.join(named[: min(count, 3)])}{more}"
        assert about_unjudged([(alarm, f"why {n // 2}") for n, alarm in enumerate(alarms[:count])], {}) == (
            f"{count} {what} {are} over, since {its} KPI is not judged any more: {listed} "
            f"({'; '.join(('why 0', 'why 1', 'why 2')[: (count + 1) // 2])})"
        )
        assert about_unseen([(alarm, f"why {n // 2}") for n, alarm in enumerate(alarms[:count])], {}) == (
            f"{count} {what} of the history {are} open, and not to be seen in these runs "
            f"('matbench alarms resolve' closes what is over): {listed} "
            f"({'; '.join(('why 0', 'why 1', 'why 2')[: (count + 1) // 2])})"
        )


def test_an_alarm_as_data_has_all_that_is_known() -> None:
    events = [event(0, alarm="a"), event(1, Action.FIXED, alarm="a", version="1.3.2")]
    assert as_data(known_alarms(events)["a"]) == {
        "id": "a",
        "cause": cause_id("speed", "1.3.0"),
        "status": "fixed",
        "workload": "speed",
        "kpi": "p95_latency",
        "unit": "ms",
        "lower_better": True,
        "labels": {"image": "onnx-fp32", "batch_size": 8},
        "series": "onnx-fp32 · batch_size 8",
        "first_bad": "1.3.0",
        "last_good": "1.2.10",
        "old_level": 20.0,
        "new_level": 22.5,
        "raised_at": "2026-03-01T12:00:00+00:00",
        "changed_at": "2026-03-01T12:00:01+00:00",
        "author": "matbench",
        "reason": None,
        "until": None,
        "is_over": False,
        "fixed_by": "1.3.2",
        "events": 2,
    }
