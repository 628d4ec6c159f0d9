"""Words for numbers, one and many, and the limits between them."""

from __future__ import annotations

import dataclasses
import math

import pytest
from report_support.analyses import LATENCY, alarm, analysis, point, regression, verdict

from matrix_benchmarking.analyze.detect import Estimate
from matrix_benchmarking.analyze.select.selection import NO_VALUE, NotAnalysed
from matrix_benchmarking.analyze.select.series import KPISeries, Series
from matrix_benchmarking.analyze.verdict import of_kpi, severity, wording
from matrix_benchmarking.analyze.verdict.causes import cause_id, causes
from matrix_benchmarking.analyze.verdict.model import Outcome, Status
from matrix_benchmarking.analyze.verdict.side_wording import outcome_label


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.0, "+0.0 %"),
        (-0.0001, "−0.0 %"),
        (0.1034, "+10.3 %"),
        (0.99949, "+99.9 %"),
        (0.9995, "+100 %"),
        (-12.345, "−1,234 %"),
        (math.inf, "+∞ %"),
        (-math.inf, "−∞ %"),
    ],
)
def test_a_fraction_has_one_decimal_below_a_hundred_percent(fraction: float, text: str) -> None:
    assert wording.percent(fraction) == text
    assert wording.percent(fraction, unit=False) == text.removesuffix(" %")


def test_a_fraction_can_have_more_decimals() -> None:
    assert wording.percent(0.01234, digits=2) == "+1.23 %"


@pytest.mark.parametrize(
    ("value", "text"), [(None, "unknown"), (0.0009, "< 0.001"), (0.001, "0.001"), (0.04567, "0.046"), (1.0, "1.000")]
)
def test_a_probability_has_three_decimals(value: float | None, text: str) -> None:
    assert wording.probability(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "+0.00 ms"), (-1.5, "−1.50 ms"), (math.inf, "+∞"), (-math.inf, "−∞")]
)
def test_a_difference_has_its_sign(value: float, text: str) -> None:
    assert wording.difference(LATENCY, value) == text


def test_a_size_has_its_interval_where_it_is_known() -> None:
    known = verdict(Outcome.REGRESSION, of=LATENCY)
    assert wording.size(known) == "+10.3 % (+8.3 to +12.3 %)"
    assert wording.short_size(known) == "+10.3 %"
    in_unit = verdict(of=LATENCY, difference=Estimate(2.0, -1.0, 5.0))
    assert wording.size(in_unit) == "+2.00 ms (−1.00 ms to +5.00 ms)"
    assert wording.short_size(in_unit) == "+2.00 ms"
    for low, high in ((math.nan, 3.0), (1.0, math.nan)):
        assert wording.size(verdict(of=LATENCY, difference=Estimate(2.0, low, high))) == "+2.00 ms"
    assert (wording.size(verdict()), wording.short_size(verdict())) == ("of unknown size", "unknown")


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        ({}, ""),
        ({"would_show": 0.0, "would_show_in": 5}, ""),
        ({"would_show": 0.051, "would_show_in": 5, "effect": Estimate(0.0, 0.0, 0.0)},
         "; 5.1 % would have been within 5 versions"),
        ({"would_show": 0.051, "effect": Estimate(0.0, 0.0, 0.0)}, "; 5.1 % would have been"),
        ({"would_show": 2.0}, "; 2.00 ms would have been"),
        ({"would_show": 2.0, "outcome": Outcome.CANT_TELL}, ""),
    ],
)  # fmt: skip
def test_what_would_have_been_seen_is_said_of_no_difference(shown: dict[str, object], text: str) -> None:
    outcome = shown.pop("outcome", Outcome.NO_CHANGE)
    assert wording.shown(verdict(outcome, of=LATENCY, **shown)) == text  # type: ignore[arg-type]


def test_several_series_say_what_would_have_been_seen_from_the_smallest_to_the_largest() -> None:
    effect = Estimate(0.0, 0.0, 0.0)
    same = [verdict(would_show=size, would_show_in=count, effect=effect, labels={"n": size})
            for size, count in ((0.03, 5), (0.021, 4), (0.04, 7))]  # fmt: skip
    said = "No difference shown in 3; 2.1 to 4.0 % would have been within 7 versions."
    assert said in wording.lead(analysis(*same))
    assert "No difference shown in 1; 3.0 % would have been within 5 versions." in wording.lead(analysis(same[0]))
    of_sides = verdict(would_show=0.01, would_show_in=0, effect=effect)
    in_unit = verdict(would_show=0.5, would_show_in=9)
    more = "No difference shown in 5; 2.1 to 4.0 % would have been within 7 versions, in 3 of them."
    assert more in wording.lead(analysis(*same, of_sides, in_unit))


def test_doubt_and_missing_history_are_counted_in_one_and_many() -> None:
    assert wording.doubt(verdict(reruns=0)) == wording.doubt(verdict()) == ""
    assert wording.doubt(verdict(reruns=1)) == ", but in doubt (of unknown size): 1 more run would tell"
    assert wording.doubt(verdict(reruns=2)) == ", but in doubt (of unknown size): 2 more runs would tell"
    short = verdict(Outcome.NOT_ENOUGH_HISTORY, versions=("1",), reruns=5)
    assert wording.history_missing(short) == "not enough history: 1 version, 5 more for a verdict"
    assert wording.history_missing(verdict(versions=("1", "2"))) == "not enough history: 2 versions"


def test_the_headline_counts_in_one_and_many() -> None:
    worse = [regression(labels={"n": n}, is_new=n == 0) for n in range(3)]
    assert wording.headline(analysis(*worse[:1], verdict())).startswith("1 of 2 series of 1 KPI is worse: ")
    assert wording.headline(analysis(*worse, verdict(of=LATENCY))).startswith("3 of 4 series of 2 KPIs are worse: ")
    assert "1 of them is new with 1.3.2." in wording.lead(analysis(*worse))
    assert not any("of them" in one for one in wording.lead(analysis(*worse[:1])))
    assert wording.headline(analysis()) == "Nothing could be analysed: 1.3.2 against its history."
    untold = [verdict(Outcome.CANT_TELL, labels={"n": n}, why="why") for n in range(2)]
    assert wording.headline(analysis(*untold)).startswith("Whether 2 series of 1 KPI are worse can't be told: ")
    assert wording.headline(analysis(untold[0])).startswith("Whether 1 series of 1 KPI is worse can't be told: ")
    assert wording.lead(analysis(*untold))[1:] == ["Why."]
    assert "2 can't be told: why." in wording.lead(analysis(*untold, verdict(labels={"n": 9})))


def test_of_causes_those_of_several_alarms_are_named_and_three_at_most() -> None:
    made = [
        regression(labels={"n": f"{version}-{n}"}, said={"first_bad": f"1.{version}", "id": f"{version}{n}"})
        for version, count in enumerate((2, 1, 3, 2, 2))
        for n in range(count)
    ]
    found = causes(analysis(*made))
    assert [(one.first_bad, len(one.alarms)) for one in found] == [
        ("1.2", 3), ("1.0", 2), ("1.3", 2), ("1.4", 2), ("1.1", 1)
    ]  # fmt: skip
    assert len(found[0].id) == 12
    assert found[0].id == cause_id("encoder_bench", "1.2")
    said = [one for one in wording.lead(analysis(*made)) if "one cause" in one]
    assert said == [wording.cause_text(one) for one in found[:3]]
    assert said[0].startswith("3 alarms since 1.2 (last good 1.3.0) are one cause, ")
    assert wording.cause_text(found[-1]).startswith("1 alarm since 1.1 (last good 1.3.0) is one cause, ")
    assert causes(analysis(regression(said={"id": ""}))) == []


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
    assert sorted(backwards, key=severity.severity) == order
    assert (severity.severity(doubtful), severity.severity(same)) == ((True, 3, True, 0.0), (True, 3, True, 1.0))
    assert severity.severity(fails) == (False, 0, True, pytest.approx(-0.103))


def test_the_size_of_a_change_without_a_ratio_is_how_often_it_reaches_its_minimum() -> None:
    made = {"difference": Estimate(-6.0, 0.0, 0.0), "old_level": 100.0}
    assert severity.size_of(verdict(**made, minimum_effect=0.02)) == 3.0  # type: ignore[arg-type]
    assert severity.size_of(verdict(**made, minimum_effect_absolute=4.0)) == 1.5  # type: ignore[arg-type]
    assert severity.size_of(verdict(difference=Estimate(-6.0, 0.0, 0.0), minimum_effect=0.02)) == 6.0
    assert severity.size_of(verdict()) == 0.0


@pytest.mark.parametrize(
    ("outcome", "worse", "better"),
    [
        (Outcome.REGRESSION, "worse", "better"),
        (Outcome.IMPROVEMENT, "worse", "better"),
        (Outcome.SUSPECTED, "suspected: worse", "suspected: better"),
        (Outcome.NO_CHANGE, "no difference shown", "no difference shown"),
        (Outcome.CANT_TELL, "can't be told", "can't be told"),
    ],
)
def test_an_outcome_has_its_way(outcome: Outcome, worse: str, better: str) -> None:
    assert (outcome_label(outcome, True), outcome_label(outcome, False)) == (worse, better)


def test_a_regression_is_a_sentence_with_its_levels_and_drift() -> None:
    said = wording.sentence(regression(drift=-0.0123, labels={}))
    assert said == (
        "throughput of all runs is worse since 1.3.1 (last good 1.3.0): −10.3 % (−12.3 to −8.3 %), "
        "100.0 → 89.7 1/s, 20 and 10 runs, and drifts by −1.23 % a version."
    )
    assert wording.levels(LATENCY, alarm(verdict(of=LATENCY), old_level=1.0, new_level=2.0)) == "1.00 → 2.00 ms"


def test_each_outcome_has_its_sentence() -> None:
    better = verdict(Outcome.IMPROVEMENT, of=LATENCY, labels={})
    assert wording.sentence(better) == (
        "p95_latency of all runs is better since 1.3.1 (last before 1.3.0): −10.3 % (−12.3 to −8.3 %), "
        "100.00 → 89.70 ms, 20 and 10 runs."
    )
    assert wording.sentence(dataclasses.replace(better, first_bad=None, last_good=None)).startswith(
        "p95_latency of all runs is better: −10.3 %"
    )
    assert wording.sentence(dataclasses.replace(better, outcome=Outcome.SUSPECTED)) == (
        "p95_latency of all runs is suspected to be worse since 1.3.1 (last good 1.3.0): −10.3 % (−12.3 to −8.3 %), "
        "100.00 → 89.70 ms, 20 and 10 runs; one block of runs alone says so."
    )
    short = verdict(Outcome.NOT_ENOUGH_HISTORY, of=LATENCY, labels={}, versions=("1", "2"), reruns=3)
    assert wording.sentence(short) == "p95_latency of all runs: not enough history: 2 versions, 3 more for a verdict."
    assert wording.sentence(verdict(Outcome.CANT_TELL, of=LATENCY, labels={}, why="why")) == (
        "p95_latency of all runs: why."
    )
    assert wording.sentence(verdict(of=LATENCY, labels={}, reruns=1)).endswith("1 more run would tell.")


def test_series_without_a_value_at_the_newest_version_are_counted_where_they_are_judged() -> None:
    note = f"{NO_VALUE} 1.3.2"
    judged = verdict(notes=("other", note))
    short = verdict(Outcome.NOT_ENOUGH_HISTORY, notes=(note,), labels={"n": 1})
    said = wording.lead(analysis(judged, short, verdict(labels={"n": 2})))
    assert "1 without a value at 1.3.2: judged up to an older version." in said
    assert not any("without a value" in one for one in wording.lead(analysis(short)))


def test_what_is_new_of_several_is_said_and_of_all_is_not() -> None:
    old, new = regression(labels={"n": 1}), regression(labels={"n": 2}, is_new=True)
    assert "1 of them is new with 1.3.2." in wording.lead(analysis(old, new))
    assert not any("of them" in one for one in wording.lead(analysis(new)))
    assert not any("of them" in one for one in wording.lead(analysis(old)))


@pytest.mark.parametrize(
    ("left_out", "text"),
    [
        ([("cost", "", 3)], "1 KPI not analysed."),
        ([("cost", "", 3), ("load", "", 9)], "2 KPIs not analysed."),
        ([("cost", "size 8", 3), ("cost", "size 9", 1)], "2 series not analysed."),
        ([("latency", "", 1)], "1 run of 1 KPI not analysed."),
        ([("latency", "", 2), ("latency", "", 3)], "5 runs of 1 KPI not analysed."),
        (
            [("latency", "", 2), ("cost", "size 8", 3), ("cost", "", 4), ("load", "", 9)],
            "1 series, 1 KPI, 6 runs of 2 other KPIs not analysed.",
        ),
    ],
)
def test_series_kpis_and_runs_that_were_not_analysed_are_counted_apart(
    left_out: list[tuple[str, str, int]], text: str
) -> None:
    others = [NotAnalysed(kpi, series, {}, "why", runs) for kpi, series, runs in left_out]
    made = analysis(verdict(of=dataclasses.replace(LATENCY, name="latency")), not_analysed=others)
    assert wording.lead(made)[-1] == text


def series_of(count: int, *, axis: str | None = None, left_out: dict[str, int] | None = None) -> KPISeries:
    made = tuple(Series({"n": n}, (point("1.0", 1.0, 2.0), point("1.1", 3.0))) for n in range(count))
    return KPISeries(LATENCY, axis, ("1.0", "1.1") if axis else (), (), (), made, left_out or {})


def judged_as(*outcomes: Outcome | None) -> list[of_kpi.Judged]:
    series = Series({}, ())
    return [
        of_kpi.Judged(series, None if one is None else verdict(one, of=LATENCY, labels={"n": n}, why="why"))
        for n, one in enumerate(outcomes)
    ]


def test_what_the_history_of_a_kpi_says_is_counted_and_the_first_two_changes_are_told() -> None:
    judged = judged_as(*[Outcome.REGRESSION] * 3, Outcome.NO_CHANGE, Outcome.NOT_ENOUGH_HISTORY, None, None)
    said = of_kpi.conclusions(series_of(7, axis="version"), judged)
    assert said[0] == (
        "p95_latency: 3 of 7 series are worse, 1 shows no difference, 1 has too little history, 2 are not judged."
    )
    assert said[1:] == [
        *(wording.sentence(one.verdict) for one in judged[:2] if one.verdict is not None),
        "7 series of p95_latency over 2 versions, 21 runs.",
    ]
    untold = judged_as(Outcome.NOT_ENOUGH_HISTORY, Outcome.CANT_TELL)
    found = of_kpi.conclusions(series_of(2, left_out={"it failed": 1, "it is old": 2}), untold)
    assert found == [
        "p95_latency: 1 of 2 series can't be told, 1 has too little history.",
        "p95_latency of n 1: why.",
        "2 series of p95_latency, 6 runs.",
        "1 run can't take part: it failed.",
        "2 runs can't take part: it is old.",
    ]
    nothing = of_kpi.conclusions(series_of(0, left_out={"it failed": 1}), [])
    assert nothing == ["p95_latency is not known for any successful run.", "1 run can't take part: it failed."]


@pytest.mark.parametrize(("drawn", "is_said"), [(0, False), (1, True), (2, True), (3, False), (4, False)])
def test_how_many_series_are_drawn_is_said_where_some_are_not(drawn: int, is_said: bool) -> None:
    said = of_kpi.conclusions(series_of(3), judged_as(*[Outcome.NO_CHANGE] * 3), drawn)[-1]
    assert said == "3 series of p95_latency, 9 runs." + (
        f" Drawn are the {drawn} most severe of them." if is_said else ""
    )
    assert (
        of_kpi.conclusions(series_of(3), judged_as(*[Outcome.NO_CHANGE] * 3))[-1] == "3 series of p95_latency, 9 runs."
    )


def test_what_was_measured_and_can_not_be_told_is_in_the_table_and_what_was_not_is_not() -> None:
    one = verdict(Outcome.CANT_TELL)
    assert not wording.is_told(one)
    assert wording.is_told(dataclasses.replace(one, stands_on="in 1 round"))
