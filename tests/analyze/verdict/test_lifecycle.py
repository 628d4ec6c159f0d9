"""What became of alarms, out of their events; and when an acknowledgement is over, in cases that anybody can extend."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
import yaml
from history_support.alarms import event, subject

from matrix_benchmarking.analyze.verdict.lifecycle import date_of, is_expired, known_alarms
from matrix_benchmarking.analyze.verdict.model import Status
from matrix_benchmarking.history.alarms import Action
from matrix_benchmarking.matrix import NOT_SET

CASES = yaml.safe_load((Path(__file__).parent / "until_cases.yaml").read_text(encoding="utf-8"))
NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
A, B = "a" * 32, "b" * 32


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_an_acknowledgement_is_over_when_the_case_says_so(case: dict[str, Any]) -> None:
    now = dt.datetime.fromisoformat(case["now"]) if "now" in case else NOW
    assert is_expired(case["until"], now, case.get("versions", [])) is case["is_over"]


def test_a_version_that_is_not_set_is_no_later_one() -> None:
    assert not is_expired("1.4", NOW, [NOT_SET, "1.4"])


@pytest.mark.parametrize("text", ["20260301", "2026-W09-7", "2026-3-1", "2026-13-01", "٢٠٢٦-03-01", "2026-03-01 "])
def test_what_is_not_written_as_a_date_is_a_version(text: str) -> None:
    assert date_of(text) is None


def test_the_last_event_says_what_became_of_an_alarm_and_the_first_when_it_was_raised() -> None:
    events = [
        event(3, Action.RESOLVED, alarm=A, reason="fixed in 1.4"),
        event(1, alarm=A),
        event(2, Action.ACKNOWLEDGED, alarm=A),
        event(0, alarm=B, about=subject(kpi="throughput")),
    ]
    known = known_alarms(events)
    assert list(known) == [B, A]
    assert (known[B].status, known[B].events, known[B].subject.kpi) == (Status.OPEN, 1, "throughput")
    assert (known[A].status, known[A].events, known[A].last) == (Status.RESOLVED, 3, events[0])
    assert known[A].raised_us == event(1).at_us


@pytest.mark.parametrize(
    ("action", "status"),
    [
        (Action.ACKNOWLEDGED, Status.ACKNOWLEDGED),
        (Action.RESOLVED, Status.RESOLVED),
        (Action.REOPENED, Status.OPEN),
        (Action.FIXED, Status.FIXED),
    ],
)
def test_each_action_gives_a_status(action: Action, status: Status) -> None:
    assert known_alarms([event(0, alarm=A), event(1, action, alarm=A)])[A].status is status


def test_what_is_raised_again_by_another_analysis_stays_acknowledged() -> None:
    acknowledged = event(1, Action.ACKNOWLEDGED, alarm=A)
    known = known_alarms([event(0, alarm=A), acknowledged, event(2, alarm=A)])
    assert (known[A].status, known[A].last, known[A].events) == (Status.ACKNOWLEDGED, acknowledged, 2)


def test_of_one_moment_the_word_of_a_person_counts() -> None:
    both = [event(0, Action.ACKNOWLEDGED, alarm=A), event(0, alarm=A)]
    assert known_alarms(both)[A].status is known_alarms(both[::-1])[A].status is Status.ACKNOWLEDGED
