"""Which alarms people mean, and what is kept of what they say."""

from __future__ import annotations

import datetime as dt
import re

import msgspec
import pytest
from history_support.alarms import AT_US, event, subject

from matrix_benchmarking.analyze import handling
from matrix_benchmarking.analyze.verdict.alarms import cause_id
from matrix_benchmarking.analyze.verdict.lifecycle import Known, known_alarms
from matrix_benchmarking.analyze.verdict.model import Status
from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.history.alarms import Action
from matrix_benchmarking.history.records import KeptRun
from matrix_benchmarking.lts.read import DescribedKPI, Head

NOW = dt.datetime(2026, 3, 1, 13, tzinfo=dt.UTC)


def known(*ids: str) -> dict[str, Known]:
    return known_alarms(event(number, alarm=each) for number, each in enumerate(ids))


def after(*actions: Action) -> list[Known]:
    """The alarm ``abcdef012345`` after these actions."""
    events = [event(number, each, alarm="abcdef012345", version=None) for number, each in enumerate(actions)]
    return list(known_alarms(events).values())


def test_a_cause_means_those_of_its_alarms_that_something_can_be_done_to() -> None:
    first, second = (subject(first_bad=version) for version in ("1.3.0", "1.4.0"))
    events = [
        *(event(0, alarm=name, about=first) for name in ("open", "fixed")),
        event(0, alarm="late", about=second),
        event(1, Action.FIXED, alarm="fixed"),
        event(1, Action.RESOLVED, alarm="late"),
    ]
    one, two = cause_id("speed", "1.3.0"), cause_id("speed", "1.4.0")
    alarms = known_alarms(events)
    for text, action, meant in [
        (one, None, ["open", "fixed"]),
        (one[:4], Action.ACKNOWLEDGED, ["open"]),
        (one, Action.REOPENED, ["fixed"]),
        (two, Action.RESOLVED, ["late"]),
    ]:
        assert sorted(each.id for each in handling.chosen(alarms, [text], action)) == sorted(meant)
    with pytest.raises(ConfigError, match=f"there is no alarm '{one[:3]}'"):
        handling.chosen(alarms, [one[:3]])


def test_alarms_are_found_by_their_beginnings_each_once() -> None:
    alarms = known("abcd1111", "abce2222", "ffff3333")
    assert [each.id for each in handling.chosen(alarms, ["ffff", "abcd1111", "abcd", "ffff"])] == [
        "ffff3333",
        "abcd1111",
    ]


def test_a_whole_id_is_meant_even_if_others_begin_with_it_or_it_is_short() -> None:
    alarms = known("abcd", "abcd1111", "x")
    assert [each.id for each in handling.chosen(alarms, ["abcd", "x"])] == ["abcd", "x"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "abc",
            "'abc' is the beginning of 2 alarms: abcd1111 (p95_latency), abce2222 (p95_latency); give more of the id",
        ),
        ("f", "'f' is too short for an id, of which 4 characters are needed: did you mean ffff3333 (p95_latency)?"),
        ("abcd1112", "there is no alarm 'abcd1112': did you mean 'abcd1111'?"),
        ("9876", "there is no alarm '9876': 'matbench alarms --all' lists those that there are"),
        ("", "'' is the beginning of 3 alarms: "),
    ],
)
def test_what_means_no_alarm_or_several_is_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        handling.chosen(known("abcd1111", "abce2222", "ffff3333"), [text])
    assert str(caught.value).startswith(sentence)


def test_every_problem_is_named_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        handling.chosen(known("abcd1111", "abcd2222"), ["abcd", "9999", "abcd1111"])
    assert len(str(caught.value).splitlines()) == 2


def test_of_many_alarms_some_are_listed() -> None:
    with pytest.raises(ConfigError, match=r"the beginning of 30 alarms: .* and 25 more; give more of the id"):
        handling.chosen(known(*(f"abcd{number:04}" for number in range(30))), ["abcd"])
    with pytest.raises(ConfigError, match=r"5 alarms: .* abcd0004 \(p95_latency\); give more of the id"):
        handling.chosen(known(*(f"abcd{number:04}" for number in range(5))), ["abcd"])


def test_there_is_nothing_to_mean_in_an_empty_history() -> None:
    with pytest.raises(ConfigError, match="there is no alarm 'abcd'"):
        handling.chosen({}, ["abcd"])


def test_what_was_said_is_an_event_of_now() -> None:
    (alarm,) = after(Action.RAISED)
    (said,) = handling.events(
        [alarm], Action.ACKNOWLEDGED, author="ann", now=NOW, reason="known, see the wiki", until="1.4"
    )
    assert (said.alarm, said.action, said.author, said.subject) == (
        alarm.id,
        Action.ACKNOWLEDGED,
        "ann",
        alarm.subject,
    )
    assert (said.reason, said.until, said.at_us) == ("known, see the wiki", "1.4", AT_US + 3600 * 1_000_000)
    assert known_alarms([alarm.last, said])[alarm.id].status is Status.ACKNOWLEDGED


def test_what_was_said_counts_even_if_the_clock_of_the_last_event_was_ahead() -> None:
    ahead = event(alarm="abcdef012345", at_us=AT_US + 10**12)
    (alarm,) = known_alarms([ahead]).values()
    (said,) = handling.events([alarm], Action.RESOLVED, author="ann", now=NOW)
    assert said.at_us == ahead.at_us + 1
    assert known_alarms([said, ahead])[alarm.id].status is Status.RESOLVED


@pytest.mark.parametrize(
    ("before", "action", "sentence"),
    [
        (Action.FIXED, Action.ACKNOWLEDGED, "is fixed on 2026-03-01: 'matbench alarms reopen' opens it again"),
        (Action.RESOLVED, Action.ACKNOWLEDGED, "is resolved by ann on 2026-03-01: 'matbench alarms reopen' opens it"),
        (Action.FIXED, Action.RESOLVED, "is fixed on"),
        (Action.RESOLVED, Action.RESOLVED, "is resolved by ann"),
        (Action.REOPENED, Action.REOPENED, "is open already"),
        (Action.RAISED, Action.REOPENED, "is open already"),
    ],
)
def test_what_can_not_be_done_is_a_sentence(before: Action, action: Action, sentence: str) -> None:
    alarms = [*after(Action.RAISED, before), *known("ffff3333").values()]
    with pytest.raises(ConfigError, match=f"alarm abcdef012345 {sentence}"):
        handling.events(alarms, action, author="ann", now=NOW)


@pytest.mark.parametrize("before", [Action.RAISED, Action.ACKNOWLEDGED, Action.REOPENED])
@pytest.mark.parametrize("action", [Action.ACKNOWLEDGED, Action.RESOLVED])
def test_what_is_not_dealt_with_can_be_acknowledged_again_and_resolved(before: Action, action: Action) -> None:
    assert len(handling.events(after(before), action, author="ann", now=NOW)) == 1


@pytest.mark.parametrize("before", [Action.ACKNOWLEDGED, Action.RESOLVED, Action.FIXED])
def test_what_was_dealt_with_can_be_opened_again(before: Action) -> None:
    assert len(handling.events(after(before), Action.REOPENED, author="ann", now=NOW)) == 1


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("2026-03-01", "2026-03-01"),
        (" 2026-12-31 ", "2026-12-31"),
        ("1.4", "1.4"),
        (" 1.4", "1.4"),
        ("2026.3.1", "2026.3.1"),
        ("v1-20260131", "v1-20260131"),
        ("2026-03-01-rc1", "2026-03-01-rc1"),
        ("next", "next"),
        ("today", "2026-03-01"),
        ("Tomorrow", "2026-03-02"),
        ("1d", "2026-03-02"),
        ("10 days", "2026-03-11"),
        ("1 week", "2026-03-08"),
        ("2w", "2026-03-15"),
        (" 0 days ", "2026-03-01"),
        ("2  days", "2026-03-03"),
        (" 1.14.0 ", "1.14.0"),
    ],
)
def test_until_is_a_day_or_a_version_as_it_is_written(text: str, kept: str) -> None:
    assert handling.checked_until(text, NOW) == kept


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "`until` is empty"),
        (" ", "`until` is empty"),
        ("2026-02-28", "`until` is 2026-02-28, which is in the past"),
        ("yesterday", "`until` is 2026-02-28, which is in the past"),
        ("3 months", "`until` takes a version, or a date such as 2026-01-31, and '3 months' is neither"),
        ("5h", "is neither"),
        ("2 wide", "is neither"),
        ("2 ways", "is neither"),
        ("5 deeks", "is neither"),
        ("30 minutes", "is neither"),
        ("12/31/26", "is neither"),
        ("2026-02-30", "'2026-02-30' is neither"),
        ("2026-13-01", "is neither"),
        ("2027-1-5", "is neither"),
        ("2027/01/05", "is neither"),
    ],
)
def test_until_a_day_that_can_not_be_meant_is_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        handling.checked_until(text, NOW)


@pytest.mark.parametrize(
    ("until", "versions", "note"),
    [
        (None, ["1.4"], ""),
        ("2026-03-05", ["1.4"], ""),
        ("whatever", [], ""),  # a history of alarms alone
        ("1.4", ["1.3", "1.4"], ""),
        ("1.4", ["1.3", "1.4", "1.5", "main"], ""),  # of which the analysis knows the order
        ("3", [1, 2, 3], ""),
        ("main", ["main", "fix"], ""),
        ("1.5", ["1.3", "1.4"], "No run has the version 1.5 yet."),
        ("1.4.0", ["1.3", "1.4"], "No run has the version 1.4.0 yet."),
        ("1.5", [None, "main", "1.4"], "No run has the version 1.5 yet."),
        ("v1-20260301", ["v1-20260130"], "No run has the version v1-20260301 yet."),
        ("77777ab", ["0b12c3d", "3f2a9bc"], "No run has the version 77777ab yet."),
    ],
)
def test_a_version_that_may_come_is_said_to_have_no_run_yet(
    until: str | None, versions: list[object], note: str
) -> None:
    assert handling.not_measured_yet(until, versions) == note


@pytest.mark.parametrize(
    ("until", "versions", "sentence"),
    [
        ("1.3.9", ["1.3", "1.4", "1.5"], "the version 1.3.9, and 1.5 is later: the acknowledgement would be over"),
        ("1.4", ["1.3", "1.4", "1.5"], "the version 1.4, and 1.5 is later"),
        ("1.2", ["1.3", "main"], "the version 1.2, and 1.3 is later"),
        ("2025", [2024, 2026], "the version 2025, and 2026 is later"),
        ("next", ["1.3", "1.4"], "no run has the version 'next': known: 1.3, 1.4"),
        ("mainn", ["main", "fix"], "no run has the version 'mainn': did you mean 'main'?"),
        ("77777ab", ["1.3"], "no run has the version '77777ab'"),
        ("1.5", ["0b12c3d"], "no run has the version '1.5'"),
        ("server 1.5", ["1.4"], "no run has the version 'server 1.5'"),
        (
            "next week",
            ["1.4"],
            "`until` takes a version or a date such as 2026-01-31, and no run has the version 'next",
        ),
    ],
)
def test_a_version_that_no_run_has_and_that_is_not_later_is_refused(
    until: str, versions: list[object], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        handling.not_measured_yet(until, versions)


def test_the_versions_of_an_alarm_are_those_of_the_label_that_has_its_own() -> None:
    def run(version: object, *, kpi: str = "throughput", **labels: object) -> KeptRun:
        labels = {"image": version, "batch_size": 8, "seed": 7, **labels}
        described = DescribedKPI(kpi, "1/s", "", False, False)
        return KeptRun("k", "encoder_bench", None, "", None, None, Head(labels=labels, values=[1.0]), (described,))

    about = subject(
        kpi="throughput", workload="encoder_bench", labels={"batch_size": 8}, first_bad="1.3", last_good="1.2"
    )
    (alarm,) = known_alarms([event(0, about=about)]).values()
    found = [run("1.2"), run("1.3"), run("1.3", seed=9), run(1.4), run("9.9", kpi="other"), run(None)]
    assert handling.versions_of(alarm, found) == ["1.2", "1.3", 1.4]
    assert handling.versions_of(alarm, [run("2.0")]) == handling.versions_of(alarm, []) == []
    commit = msgspec.structs.replace(
        alarm, subject=subject(kpi="throughput", workload="encoder_bench", labels={}, first_bad="3f2a9bc0de")
    )
    assert handling.versions_of(commit, [run("3f2a9bc0de" + "1" * 30)]) == ["3f2a9bc0de" + "1" * 30]
    two = msgspec.structs.replace(
        alarm,
        subject=subject(
            kpi="throughput", workload="encoder_bench", labels={}, first_bad="1.3 · 0.9", last_good='"1.2" · 0.9'
        ),
    )
    assert handling.versions_of(two, [run("1.2", engine="0.9"), run("1.3", engine="2.0")]) == ["1.2", "1.3"]
