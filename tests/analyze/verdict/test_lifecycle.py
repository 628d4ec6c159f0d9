"""What became of alarms, out of their events; and when an acknowledgement is over, in cases that anybody can extend."""

from __future__ import annotations

import dataclasses
import datetime as dt
from pathlib import Path
from typing import Any

import pytest
import toy_runs
import yaml
from history_support.alarms import AT_US, event, subject
from report_support.analyses import LATENCY, analysis, regression

from matrix_benchmarking.analyze.select.series import series_id
from matrix_benchmarking.analyze.verdict.lifecycle import (
    ANALYSIS,
    date_of,
    is_expired,
    known_alarms,
    next_us,
    of_unjudged_kpis,
    unseen,
)
from matrix_benchmarking.analyze.verdict.model import Status
from matrix_benchmarking.history.alarms import Action, AlarmEvent
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
    for events in (both, both[::-1]):
        assert (known_alarms(events)[A].status, known_alarms(events)[A].events) == (Status.ACKNOWLEDGED, 2)


@pytest.mark.parametrize(
    ("events", "disputed"),
    [
        ([event(1, Action.FIXED, alarm=A, version="1.4")], None),
        ([event(1, Action.FIXED, alarm=A, version="1.4"), event(2, Action.REOPENED, alarm=A)], "1.4"),
        (
            [
                event(1, Action.FIXED, alarm=A, version="1.4"),
                *(event(n, Action(name), alarm=A) for n, name in enumerate(("reopened", "resolved", "reopened"), 2)),
            ],
            "1.4",
        ),
        ([event(1, Action.RESOLVED, alarm=A, version="1.4"), event(2, Action.REOPENED, alarm=A)], None),
        (
            [
                *(event(n, Action.FIXED, alarm=A, version=f"1.{n}") for n in (1, 4)),
                *(event(n, Action.REOPENED, alarm=A) for n in (2,)),
            ],
            "1.1",
        ),
        (
            [
                event(1, Action.FIXED, alarm=A, version="1.4"),
                event(2, Action.REOPENED, alarm=A),
                event(3, Action.RESOLVED, alarm=A),
                event(4, Action.REOPENED, alarm=A, author=ANALYSIS),
            ],
            None,
        ),
    ],
)
def test_a_repair_is_disputed_when_somebody_opens_it_again(events: list[AlarmEvent], disputed: str | None) -> None:
    assert known_alarms([event(0, alarm=A), *events])[A].disputed == disputed


@pytest.mark.parametrize(
    ("last", "is_retired"),
    [
        (event(1, Action.RESOLVED, alarm=A, author=ANALYSIS), True),
        (event(1, Action.RESOLVED, alarm=A), False),
        (event(1, Action.FIXED, alarm=A), False),
    ],
)
def test_an_alarm_that_an_analysis_closed_is_retired(last: AlarmEvent, is_retired: bool) -> None:
    assert known_alarms([event(0, alarm=A), last])[A].is_retired is is_retired


def test_an_event_is_of_now_or_after_the_last_one() -> None:
    (alarm,) = known_alarms([event(0, alarm=A)]).values()
    noon, second = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC), dt.timedelta(seconds=1)
    assert next_us(noon - second, None) == AT_US - 1_000_000
    assert [next_us(now, alarm) for now in (noon - second, noon, noon + second)] == [
        *(AT_US + 1, AT_US + 1, AT_US + 1_000_000),
    ]


def test_open_alarms_of_a_judged_series_that_an_analysis_does_not_see_are_unseen() -> None:
    about = subject(workload="speed", kpi=LATENCY.name, unit="ms", labels={"size": 1})
    series = series_id("speed", LATENCY.name, "ms", {"size": 1})
    seen = regression(of=LATENCY, labels={"size": 1}, id=series, said={"id": "seen"})
    known = known_alarms(
        [
            event(0, alarm="seen", about=about),
            event(1, alarm="gone", about=about),
            event(2, alarm="other", about=subject(labels={"size": 2})),
            *(event(3, action, alarm="closed", about=about) for action in (Action.RAISED, Action.RESOLVED)),
        ]
    )
    assert [alarm.id for alarm, _ in unseen(analysis(seen), known)] == ["gone"]
    assert unseen(analysis(), known) == []


def test_alarms_of_what_is_not_judged_any_more_are_told_with_the_reason() -> None:
    kpis = toy_runs.workload().kpis
    kpis = {**kpis, "rate": dataclasses.replace(kpis["rate"], lower_better=None)}
    known = known_alarms(
        [
            *(event(n, alarm=name, about=subject(kpi=name)) for n, name in enumerate(("cost", "rate", "memory", "no"))),
            *(event(n, alarm=name, about=subject(kpi="memory")) for n, name in enumerate(("meant", "over", "done"), 4)),
            event(7, Action.ACKNOWLEDGED, alarm="meant", until="2026-03-01"),
            event(7, Action.ACKNOWLEDGED, alarm="over", until="2026-02-28"),
            event(7, Action.RESOLVED, alarm="done"),
        ]
    )
    assert [(alarm.id, why) for alarm, why in of_unjudged_kpis(known.values(), kpis, NOW)] == [
        ("rate", "neither direction of rate is better any more"),
        ("memory", "memory is left out of analyses by its workload"),
        ("over", "memory is left out of analyses by its workload"),
    ]
