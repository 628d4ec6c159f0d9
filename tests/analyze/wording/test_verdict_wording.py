"""Words for numbers, one and many, and the limits between them."""

from __future__ import annotations

import math

import msgspec
import pytest
from report_support.analyses import LATENCY, alarm, point, regression, verdict

from matrix_benchmarking.analyze.detect import Estimate
from matrix_benchmarking.analyze.select.series import Series
from matrix_benchmarking.analyze.verdict import model
from matrix_benchmarking.analyze.verdict.model import Outcome, SeriesVerdict, Status
from matrix_benchmarking.analyze.wording import verdicts
from matrix_benchmarking.analyze.wording.verdicts import outcome_label
from matrix_benchmarking.analyze.words import difference, percent, probability


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.0, "+0.0 %"),
        (-0.0001, "−0.0 %"),
        (0.1034, "+10.3 %"),
        (0.99949, "+99.9 %"),
        (0.9995, "+100 %"),
        (-12.345, "−1,234 %"),
        (6.674e10, "+6.67e+12 %"),
        (math.inf, "+∞ %"),
        (-math.inf, "−∞ %"),
    ],
)
def test_a_fraction_has_one_decimal_below_a_hundred_percent(fraction: float, text: str) -> None:
    assert percent(fraction) == text
    assert percent(fraction, unit=False) == text.removesuffix(" %")


def test_a_fraction_can_have_more_decimals() -> None:
    assert percent(0.01234, digits=2) == "+1.23 %"


@pytest.mark.parametrize(
    ("value", "text"), [(None, "unknown"), (0.0009, "< 0.001"), (0.001, "0.001"), (0.04567, "0.046"), (1.0, "1.000")]
)
def test_a_probability_has_three_decimals(value: float | None, text: str) -> None:
    assert probability(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "+0.00 ms"), (-1.5, "−1.50 ms"), (math.inf, "+∞"), (-math.inf, "−∞")]
)
def test_a_difference_has_its_sign(value: float, text: str) -> None:
    assert difference(LATENCY, value) == text


def test_a_size_has_its_interval_where_it_is_known() -> None:
    known = verdict(Outcome.REGRESSION, of=LATENCY)
    assert verdicts.size(known) == "+10.3 % (+8.3 to +12.3 %)"
    assert verdicts.short_size(known) == "+10.3 %"
    in_unit = verdict(of=LATENCY, difference=Estimate(2.0, -1.0, 5.0))
    assert verdicts.size(in_unit) == "+2.00 ms (−1.00 ms to +5.00 ms)"
    assert verdicts.short_size(in_unit) == "+2.00 ms"
    for low, high in ((math.nan, 3.0), (1.0, math.nan), (-math.inf, math.inf)):
        assert verdicts.size(verdict(of=LATENCY, difference=Estimate(2.0, low, high))) == "+2.00 ms"
    assert verdicts.size(verdict(of=LATENCY, effect=Estimate(0.058, -1.0, math.inf))) == "+5.8 %"
    assert verdicts.size(verdict(of=LATENCY, effect=Estimate(0.5, 0.031, math.inf))) == "+50.0 % (+3.1 to +∞ %)"
    assert (verdicts.size(verdict()), verdicts.short_size(verdict())) == ("of unknown size", "unknown")


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ({}, ""),
        ({"would_show": 0.0, "would_show_in": 5}, ""),
        ({"would_show": 0.051, "would_show_in": 5, "effect": Estimate(0.0, 0.0, 0.0)},
         "; 5.1 % would have shown within 5 versions"),
        ({"would_show": 0.051, "effect": Estimate(0.0, 0.0, 0.0)}, "; 5.1 % would have shown"),
        ({"would_show": 2.0}, "; 2.00 ms would have shown"),
        ({"would_show": 2.0, "outcome": Outcome.CANT_TELL}, ""),
    ],
)  # fmt: skip
def test_what_would_have_been_seen_is_said_of_no_difference(shown: dict[str, object], text: str) -> None:
    outcome = shown.pop("outcome", Outcome.NO_CHANGE)
    assert verdicts.shown(verdict(outcome, of=LATENCY, **shown)) == text  # type: ignore[arg-type]


def test_a_verdict_is_one_of_five_words() -> None:
    words = ["worse", "better", "suspected: better", "no difference shown", "can't be told"]
    judged = [one for one in Outcome if one is not Outcome.NOT_ANALYSED]
    assert {verdicts.verdict_text(verdict(one)) for one in judged} == set(words)
    assert {one.value for one in judged} == {word.partition(":")[0] for word in words}
    back = msgspec.structs.replace(verdict(), changes=regression().changes)
    assert verdicts.verdict_text(back) == "no difference shown; back on an old level"


def test_what_fails_comes_first_then_new_and_large_ones() -> None:
    fails = regression()
    dealt = regression(Status.ACKNOWLEDGED)
    new = verdict(Outcome.SUSPECTED, is_new=True, effect=Estimate(0.1, 0.0, 0.2))
    large = verdict(Outcome.SUSPECTED, effect=Estimate(-0.3, -0.4, -0.2))
    small = verdict(Outcome.SUSPECTED, effect=Estimate(0.2, 0.1, 0.3))
    same = verdict(effect=Estimate(0.9, 0.0, 2.0))
    doubtful = verdict(effect=Estimate(0.1, 0.0, 0.2), reruns=2)
    order = [fails, dealt, new, large, small, verdict(Outcome.IMPROVEMENT), doubtful, same]
    backwards = list(reversed(order))
    assert sorted(backwards, key=model.severity) == order
    assert (model.severity(doubtful), model.severity(same)) == ((True, 3, True, 0.0), (True, 3, True, 1.0))
    assert model.severity(fails) == (False, 0, True, pytest.approx(-0.103))


def test_the_size_of_a_change_without_a_ratio_is_how_often_it_reaches_its_minimum() -> None:
    made = {"difference": Estimate(-6.0, 0.0, 0.0), "old_level": 100.0}
    assert model.size_of(verdict(**made, minimum_effect=0.02)) == 3.0  # type: ignore[arg-type]
    assert model.size_of(verdict(**made, minimum_effect_absolute=4.0)) == 1.5  # type: ignore[arg-type]
    assert model.size_of(verdict(difference=Estimate(-6.0, 0.0, 0.0), minimum_effect=0.02)) == 6.0
    assert model.size_of(verdict()) == 0.0


@pytest.mark.parametrize(
    ("outcome", "worse", "better"),
    [
        (Outcome.REGRESSION, "worse", "worse"),
        (Outcome.IMPROVEMENT, "better", "better"),
        (Outcome.SUSPECTED, "suspected: worse", "suspected: better"),
        (Outcome.NO_CHANGE, "no difference shown", "no difference shown"),
        (Outcome.CANT_TELL, "can't be told", "can't be told"),
    ],
)
def test_an_outcome_has_its_way(outcome: Outcome, worse: str, better: str) -> None:
    assert (outcome_label(outcome, True), outcome_label(outcome, False)) == (worse, better)


def test_a_regression_is_a_sentence_with_its_levels_and_drift() -> None:
    said = verdicts.sentence(regression(drift=-0.0123, labels={}))
    assert said == (
        "throughput of all runs is worse since 1.3.1 (last good 1.3.0): −10.3 % (−12.3 to −8.3 %), "
        "100.0 → 89.7 1/s, 20 and 10 runs, and drifts by −1.23 % a version."
    )
    assert verdicts.levels(LATENCY, alarm(verdict(of=LATENCY), old_level=1.0, new_level=2.0)) == "1.00 → 2.00 ms"


def test_an_interval_that_holds_0_is_said_of_what_changed() -> None:
    unsure = msgspec.structs.replace(regression(labels={}), effect=Estimate(-0.103, -0.21, 0.01))
    assert verdicts.sentence(unsure).endswith(
        "20 and 10 runs; that interval holds 0, since what came later is less sure: measuring once more would tell."
    )


def test_each_outcome_has_its_sentence() -> None:
    better = verdict(Outcome.IMPROVEMENT, of=LATENCY, labels={})
    assert verdicts.sentence(better) == (
        "p95_latency of all runs is better since 1.3.1 (last before 1.3.0): −10.3 % (−12.3 to −8.3 %), "
        "100.00 → 89.70 ms, 20 and 10 runs."
    )
    assert verdicts.sentence(msgspec.structs.replace(better, first_bad=None, last_good=None)).startswith(
        "p95_latency of all runs is better: −10.3 %"
    )
    assert verdicts.sentence(msgspec.structs.replace(better, outcome=Outcome.SUSPECTED)) == (
        "p95_latency of all runs is suspected to be worse since 1.3.1 (last good 1.3.0): −10.3 % (−12.3 to −8.3 %), "
        "100.00 → 89.70 ms, 20 and 10 runs; one or two blocks of runs alone say so."
    )
    assert verdicts.sentence(verdict(Outcome.CANT_TELL, of=LATENCY, labels={}, why="why")) == (
        "p95_latency of all runs can't be told: why."
    )
    assert verdicts.sentence(verdict(of=LATENCY, labels={}, reruns=1)).endswith("1 more version like it would tell.")


@pytest.mark.parametrize(
    ("of", "text"),
    [
        (regression(), "worse"),
        (regression(is_new=True), "worse, new"),
        (msgspec.structs.replace(regression(is_new=True), stands_on="in 3 common rounds"), "worse"),
        (regression(Status.ACKNOWLEDGED), "worse, acknowledged"),
        (verdict(Outcome.REGRESSION), "worse"),
        (msgspec.structs.replace(regression(), outcome=Outcome.IMPROVEMENT), "better, with an open alarm"),
        (msgspec.structs.replace(regression(Status.FIXED), outcome=Outcome.IMPROVEMENT), "better"),
        (verdict(Outcome.IMPROVEMENT, is_new=True), "better, new"),
        (verdict(Outcome.SUSPECTED, difference=Estimate(-1.0, -2.0, 0.0)), "suspected: worse"),
        (verdict(Outcome.SUSPECTED, of=LATENCY, difference=Estimate(-1.0, -2.0, 0.0)), "suspected: better"),
        (verdict(reruns=1), "no difference shown yet: 1 more version like it would tell"),
        (verdict(reruns=2), "no difference shown yet: 2 more versions like it would tell"),
        (verdict(), "no difference shown"),
        (
            msgspec.structs.replace(verdict(Outcome.REGRESSION), outcome=Outcome.NO_CHANGE),
            "no difference shown; back on an old level",
        ),
        (
            msgspec.structs.replace(verdict(Outcome.REGRESSION, is_new=True), outcome=Outcome.NO_CHANGE),
            "no difference shown; back on an old level, new",
        ),
        (verdict(Outcome.CANT_TELL), "can't be told"),
        (verdict(Outcome.CANT_TELL, reruns=3), "can't be told"),
    ],
)
def test_a_verdict_has_its_words_for_a_table(of: SeriesVerdict, text: str) -> None:
    assert verdicts.verdict_text(of) == text


def test_of_several_alarms_the_newest_says_its_state() -> None:
    of = verdict(Outcome.REGRESSION)
    states = Status.FIXED, Status.RESOLVED, Status.ACKNOWLEDGED
    both = msgspec.structs.replace(of, alarms=tuple(alarm(of, state) for state in states))
    assert verdicts.verdict_text(both) == "worse, acknowledged"


@pytest.mark.parametrize(
    ("of", "is_told"),
    [
        (regression(), True),
        (regression(Status.ACKNOWLEDGED), True),
        (msgspec.structs.replace(regression(), outcome=Outcome.NO_CHANGE), True),
        (msgspec.structs.replace(regression(Status.FIXED), outcome=Outcome.NO_CHANGE), False),
        (verdict(Outcome.SUSPECTED), True),
        (verdict(Outcome.IMPROVEMENT), True),
        (verdict(reruns=1), True),
        (verdict(), False),
        (verdict(Outcome.CANT_TELL, reruns=3), False),
        (verdict(Outcome.CANT_TELL), False),
        (verdict(Outcome.CANT_TELL, stands_on="in 1 round"), True),
    ],
)
def test_what_fails_changed_is_in_doubt_or_was_measured_in_vain_is_told(of: SeriesVerdict, is_told: bool) -> None:
    assert verdicts.is_told(of) is is_told


def test_nothing_shown_is_said_with_what_would_have_been() -> None:
    assert verdicts.would_show([]) == verdicts.would_show([verdict(would_show=0.5)]) == ""
    assert verdicts.nothing(verdict()) == "no difference shown"
    assert verdicts.nothing(verdict(of=LATENCY, would_show=2.0)) == "no difference shown; 2.00 ms would have shown"


@pytest.mark.parametrize(
    ("means", "said"),
    [
        ((0.5, 0.75), "0.50 ms at 1.0, 0.75 ms at 1.1 (+50.0 %)"),
        ((0.0, 0.75), "0.00 ms at 1.0, 0.75 ms at 1.1"),
        ((-1.0, 0.75), "-1.00 ms at 1.0, 0.75 ms at 1.1"),
        ((0.75,), "0.75 ms"),
    ],
)
def test_a_series_that_is_not_judged_says_its_values(means: tuple[float, ...], said: str) -> None:
    versions = ("1.0", "1.1")[: len(means)]
    points = tuple(point(version, mean, mean) for version, mean in zip(versions, means, strict=True))
    series = Series("id", LATENCY, {"n": 1}, "n 1", points, versions, versions)
    found = model.unjudged(series, len(points) - 2, len(points) - 1)
    assert found.reason == f"neither direction is better, not judged: {said}"
    assert found.runs == 2 * len(points)
