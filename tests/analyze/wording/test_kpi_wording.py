"""What an analysis says of the series of one KPI: in which order, counted, and in sentences."""

from __future__ import annotations

import msgspec
import pytest
from report_support.analyses import LATENCY, analysis, point, verdict

from matrix_benchmarking.analyze.detect import Estimate
from matrix_benchmarking.analyze.select.series import KPISeries, Series
from matrix_benchmarking.analyze.verdict.model import Outcome
from matrix_benchmarking.analyze.wording import verdicts as wording

EMPTY = Series("id", LATENCY, {}, "all runs", (), (), ())


def series_of(count: int, *, axis: str | None = None, left_out: dict[str, int] | None = None) -> KPISeries:
    points = (point("1.0", 1.0, 2.0), point("1.1", 3.0))
    made = tuple(msgspec.structs.replace(EMPTY, id=f"id {n}", labels={"n": n}, points=points) for n in range(count))
    return KPISeries(LATENCY, axis, ("1.0", "1.1") if axis else (), {}, made, left_out or {})


def judged_as(*outcomes: Outcome | None) -> list[wording.WithVerdict]:
    return [
        (EMPTY, None if one is None else verdict(one, of=LATENCY, labels={"n": n}, why="why"))
        for n, one in enumerate(outcomes)
    ]


def test_what_the_history_of_a_kpi_says_is_counted_and_the_first_two_changes_are_told() -> None:
    judged = judged_as(*[Outcome.REGRESSION] * 3, Outcome.NO_CHANGE, Outcome.CANT_TELL, None, None)
    said = wording.conclusions(series_of(7, axis="version"), judged)
    assert said[0] == (
        "p95_latency: 3 of 7 series are worse, 1 shows no difference, 1 can't be told (why), 2 are not judged."
    )
    assert said[1:] == [
        *(wording.sentence(one) for _, one in judged[:2] if one is not None),
        "7 series of p95_latency over 2 versions, 21 runs.",
    ]
    untold = judged_as(Outcome.CANT_TELL, Outcome.CANT_TELL)
    found = wording.conclusions(series_of(2, left_out={"it failed": 1, "it is old": 2}), untold)
    assert found == [
        "p95_latency: 2 of 2 series can't be told (why).",
        "2 series of p95_latency, 6 runs.",
        "1 run can't take part: it failed.",
        "2 runs can't take part: it is old.",
    ]
    nothing = wording.conclusions(series_of(0, left_out={"it failed": 1}), [])
    assert nothing == ["p95_latency is not known for any successful run.", "1 run can't take part: it failed."]


@pytest.mark.parametrize(("drawn", "is_said"), [(0, False), (1, True), (2, True), (3, False), (4, False)])
def test_how_many_series_are_drawn_is_said_where_some_are_not(drawn: int, is_said: bool) -> None:
    said = wording.conclusions(series_of(3), judged_as(*[Outcome.NO_CHANGE] * 3), drawn)[-1]
    assert said == "3 series of p95_latency, 9 runs." + (f" Drawn are the first {drawn} of them." if is_said else "")
    worse = wording.conclusions(series_of(3), judged_as(*[Outcome.NO_CHANGE] * 2, Outcome.REGRESSION), drawn)[-1]
    assert (f"Drawn are the {drawn} most severe of them." in worse) == is_said
    assert (
        wording.conclusions(series_of(3), judged_as(*[Outcome.NO_CHANGE] * 3))[-1] == "3 series of p95_latency, 9 runs."
    )


def test_series_are_in_the_order_of_their_verdicts_and_last_those_without() -> None:
    found = series_of(4)
    verdicts = [
        msgspec.structs.replace(verdict(outcome, of=LATENCY), id=f"id {place}")
        for place, outcome in ((3, Outcome.REGRESSION), (1, Outcome.NO_CHANGE))
    ]
    judged = wording.judged_series(found, analysis(*verdicts))
    assert [one.labels["n"] for one, _ in judged] == [3, 1, 0, 2]
    assert [one and one.outcome for _, one in judged] == [Outcome.REGRESSION, Outcome.NO_CHANGE, None, None]
    assert [one for _, one in wording.judged_series(found, None)] == [None] * 4


def test_what_would_have_been_seen_is_said_of_series_that_show_no_difference() -> None:
    seen = {"effect": Estimate(0.0, -0.1, 0.1), "would_show_in": 5}
    outcomes = ((Outcome.NO_CHANGE, 0.051), (Outcome.NO_CHANGE, 0.072), (Outcome.REGRESSION, 0.3))
    judged = [(EMPTY, verdict(one, of=LATENCY, would_show=size, **seen)) for one, size in outcomes]
    assert wording.conclusions(series_of(3), judged)[0] == (
        "p95_latency: 1 of 3 series is worse, 2 show no difference (5.1 to 7.2 % would have shown within 5 versions)."
    )


def test_what_more_runs_would_tell_is_told_apart_from_what_shows_no_difference() -> None:
    nothing = {"effect": Estimate(0.0, 0.0, 0.0), "would_show": 0.03, "would_show_in": 2}
    same = (EMPTY, verdict(of=LATENCY, labels={"n": 1}, **nothing))
    yet = (EMPTY, verdict(of=LATENCY, labels={"n": 2}, reruns=2, **{**nothing, "would_show": 0.08}))
    said = wording.conclusions(series_of(2), [same, yet])
    assert said[0] == (
        "p95_latency: 2 of 2 series show no difference (3.0 % would have shown within 2 versions; more versions would "
        "tell of 1)."
    )
