"""The events that an analysis adds to a history: alarms raised, repaired, opened again, and closed."""

from __future__ import annotations

import datetime as dt

import pytest
from history_support.alarms import event, subject
from report_support.analyses import MADE_AT, analysis, regression

from matrix_benchmarking.analyze.verdict.lifecycle import ANALYSIS, known_alarms, new_events, subject_of
from matrix_benchmarking.analyze.verdict.model import Status
from matrix_benchmarking.history.alarms import Action

MADE_US = int(MADE_AT.timestamp()) * 10**6
BEFORE = {
    "nothing": [],
    "raised": [event(0, alarm="a")],
    "acknowledged": [event(0, alarm="a"), event(1, Action.ACKNOWLEDGED, alarm="a")],
    "fixed": [event(0, alarm="a"), event(1, Action.FIXED, alarm="a")],
    "resolved": [event(0, alarm="a"), event(1, Action.RESOLVED, alarm="a")],
    "retired": [event(0, alarm="a"), event(1, Action.RESOLVED, alarm="a", author=ANALYSIS)],
}


@pytest.mark.parametrize(
    ("before", "status", "action"),
    [
        ("nothing", Status.OPEN, Action.RAISED),
        ("nothing", Status.FIXED, None),
        ("raised", Status.OPEN, None),
        ("raised", Status.FIXED, Action.FIXED),
        ("acknowledged", Status.ACKNOWLEDGED, None),
        ("fixed", Status.FIXED, None),
        ("fixed", Status.OPEN, Action.REOPENED),
        ("resolved", Status.RESOLVED, None),
        ("resolved", Status.OPEN, None),
        ("retired", Status.OPEN, Action.REOPENED),
        ("retired", Status.RESOLVED, None),
    ],
)
def test_an_event_is_what_the_history_does_not_know(before: str, status: Status, action: Action | None) -> None:
    verdict = regression(status, {"id": "a", "fixed_by": "1.4", "note": "worse again"})
    known = known_alarms(BEFORE[before])
    made = new_events(analysis(verdict), known)
    assert [one.action for one in made] == ([] if action is None else [action])
    for one in made:
        assert (one.alarm, one.author) == ("a", ANALYSIS)
        assert one.subject == subject_of("encoder_bench", verdict, verdict.alarms[0])
        assert one.version == ("1.4" if action is Action.FIXED else None)
        assert one.reason == ("worse again" if action is Action.REOPENED else None)
        assert one.at_us == MADE_US


def test_an_event_comes_after_the_last_one_of_its_alarm() -> None:
    ahead = event(alarm="a", at_us=MADE_US + 10)
    (one,) = new_events(analysis(regression(Status.FIXED, {"id": "a"})), known_alarms([ahead]))
    assert one.at_us == MADE_US + 11


def test_what_somebody_does_to_an_alarm_is_an_event_of_it() -> None:
    (alarm,) = known_alarms([event(0, alarm="a")]).values()
    now = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
    made = alarm.event(Action.RESOLVED, ANALYSIS, now, reason="it is gone")
    assert (made.alarm, made.action, made.author, made.reason, made.subject) == (
        *("a", Action.RESOLVED, ANALYSIS, "it is gone"),
        alarm.subject,
    )
    assert made.at_us == int(now.timestamp()) * 10**6


def test_the_subject_of_an_event_is_all_that_the_alarm_is_about() -> None:
    verdict = regression(labels={"size": 1})
    assert subject_of("encoder_bench", verdict, verdict.alarms[0]) == subject(
        workload="encoder_bench",
        kpi="throughput",
        unit="1/s",
        lower_better=False,
        labels={"size": 1},
        series="size 1",
        first_bad="1.3.1",
        last_good="1.3.0",
        old_level=100.0,
        new_level=verdict.new_level,
    )
