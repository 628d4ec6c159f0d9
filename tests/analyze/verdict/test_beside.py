"""What a history says beside a comparison; alarms that an analysis doesn't see."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from toy_runs import entry, workload

from matrix_benchmarking.analyze.select.selection import select
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.beside import of_history
from matrix_benchmarking.analyze.verdict.lifecycle import known_alarms, new_events, unseen
from matrix_benchmarking.analyze.verdict.model import Analysis, Outcome
from matrix_benchmarking.analyze.verdict.pairs import compare_versions
from matrix_benchmarking.analyze.verdict.sides import Pair, Question, RunBlocks
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.workload import MinimumEffect

NOW = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)


def nightly(levels: Sequence[float], seed: int = 1, repeats: int = 3) -> list[Entry]:
    """One campaign of repeats a version, a day apart."""
    random = np.random.default_rng(seed)
    runs = []
    for version, level in enumerate(levels):
        for _ in range(repeats):
            run = {
                "version": f"1.{version}",
                "image": "a",
                "cost": level * (1 + random.normal(0, 0.01)),
                "day": version,
            }
            runs.append(entry(run, len(runs)))
    return runs


def analysed(runs: list[Entry], minimum: MinimumEffect | None = None) -> Analysis:
    effects = None if minimum is None else {"cost": minimum}
    return analyse_runs(runs, workload(), data="a test", now=NOW, kpi_filter=["cost"], minimum_effects=effects)


STEP = [100.0] * 12 + [104.0] * 4


def test_a_failing_history_says_nothing_of_the_comparison_that_nobody_asked_for() -> None:
    """Of one campaign a version, two versions alone always say less: that would stand under each failing analysis."""
    analysis = analysed(nightly(STEP))
    assert [one.first_bad_version for one in analysis.failing] == ["1.12"]
    assert analysis.notes == ()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("1.12", "1.15", "1 of these series is worse since 1.12: both sides are."),
        ("1.11", "1.15", "1 of these series is worse since 1.12: by the two sides alone it is suspected."),
        ("1.12", "1.11", "1 of these series is worse since 1.12: by the two sides alone it is suspected."),
        ("1.10", "1.11", "1 of these series is worse since 1.12: after both sides."),
        ("1.15", "1.12", "1 of these series is worse since 1.12: both sides are."),
    ],
)
def test_a_comparison_says_where_the_first_bad_version_lies(old: str, new: str, words: str) -> None:
    runs = nightly(STEP)
    events = new_events(analysed(runs), {})
    question = Question("runs", RunBlocks(lambda: runs), raised=known_alarms(events), now=NOW)
    selection = select(runs, workload(), kpi_filter=["cost"], now_us=0)
    compared = compare_versions(selection, old, new, question, axis="version")
    assert compared.beside == f"The history says that {words}"


def test_what_two_sides_show_the_other_way_round_is_not_denied() -> None:
    """The older version against the newer one, measured in five common rounds: what got worse since is better."""
    runs = nightly([100.0] * 12 + [150.0] * 4, repeats=5)
    for at, run in enumerate(runs):
        if run.settings["version"] in ("1.11", "1.12"):
            runs[at] = dataclasses.replace(run, campaign="both", round=at % 5)
    question = Question("runs", RunBlocks(lambda: runs), raised=known_alarms(new_events(analysed(runs), {})), now=NOW)
    selection = select(runs, workload(), kpi_filter=["cost"], now_us=0)
    compared = compare_versions(selection, "1.12", "1.11", question, axis="version")
    said = "The history says that 1 of these series is worse since 1.12: "
    assert compared.beside == f"{said}the two sides show it too."
    (shown,), (series,) = compared.verdicts, selection.series
    assert shown.outcome is Outcome.IMPROVEMENT
    for outcome, old, words in (
        (Outcome.SUSPECTED, 12, "by the two sides alone it is suspected"),
        (Outcome.NO_CHANGE, 12, "the two sides alone don't show it"),
        (Outcome.IMPROVEMENT, 11, "the two sides alone don't show it"),
    ):
        alarms = tuple(msgspec.structs.replace(each, id="") for each in shown.alarms)  # what a pair raises has none
        verdict = msgspec.structs.replace(shown, outcome=outcome, alarms=alarms)
        assert of_history([Pair(series, (old,), (23 - old,))], [verdict], question.raised) == f"{said}{words}."


@pytest.mark.parametrize(("count", "more"), [(3, ""), (4, "; and so on for 1 more"), (5, "; and so on for 2 more")])
def test_of_the_versions_since_which_something_is_worse_three_are_named(count: int, more: str) -> None:
    runs = nightly(STEP)
    (series,) = select(runs, workload(), kpi_filter=["cost"], now_us=0).series
    (raised,) = known_alarms(new_events(analysed(runs), {})).values()
    known = {
        str(place): msgspec.structs.replace(
            raised, id=str(place), subject=msgspec.structs.replace(raised.subject, first_bad=f"1.{place}")
        )
        for place in range(1, count + 1)
    }
    said = "; ".join(f"1 of these series is worse since 1.{place}: both sides are" for place in (1, 2, 3))
    assert of_history([Pair(series, (14,), (15,))], [], known) == f"The history says that {said}{more}."


def test_an_alarm_that_is_not_seen_any_more_has_its_reason() -> None:
    events = new_events(analysed(nightly(STEP)), {})
    known = known_alarms(events)

    def reasons(runs: list[Entry]) -> list[str]:
        return [reason for _, reason in unseen(analysed(runs), known)]

    assert reasons(nightly(STEP)) == []
    assert reasons(nightly([100.0] * 16)) == ["no change at 1.12 is shown"]
    assert reasons(nightly(STEP[:12])) == ["there is no run of 1.12"]
    assert reasons(nightly([100.0] * 12 + [120.0])) == ["suspected: one or two blocks of runs alone say so"]
    assert reasons(nightly([100.0] * 13 + [120.0])) == ["no change at 1.12 is shown"]
    small = analysed(nightly(STEP), MinimumEffect(0.5))
    assert [reason for _, reason in unseen(small, known)] == ["what changed is less than the minimum effect"]
    two = [one for one in nightly(STEP) if one.settings["version"] in ("1.11", "1.12")]
    assert reasons(two) == ["the history is too short; measure 8 more versions, fewer with repeats"]
