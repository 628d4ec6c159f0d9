"""What a verdict and an analysis say of themselves."""

from __future__ import annotations

import msgspec
import pytest
from report_support.analyses import ERROR_RATE, LATENCY, THROUGHPUT, alarm, analysis, mixed, regression, verdict

from matrix_benchmarking.analyze.detect import Estimate
from matrix_benchmarking.analyze.verdict.model import Outcome, Status
from matrix_benchmarking.kpi import KPIDefinition


@pytest.mark.parametrize("status", Status)
def test_only_an_open_alarm_fails(status: Status) -> None:
    found = analysis(verdict(), regression(status))
    assert found.failed is (status is Status.OPEN)
    assert found.failing == ([found.verdicts[1]] if found.failed else [])
    assert [one.fails for one in found.verdicts] == [False, found.failed]


def test_one_open_alarm_of_several_fails() -> None:
    made = verdict(Outcome.REGRESSION)
    both = msgspec.structs.replace(made, alarms=(alarm(made, Status.FIXED), alarm(made)))
    assert both.fails
    assert analysis(both).alarms(Status.FIXED) == [(both, both.alarms[0])]


@pytest.mark.parametrize(
    ("of", "difference", "looks_worse"),
    [
        (LATENCY, 0.5, True),
        (LATENCY, 0.0, False),
        (LATENCY, -0.5, False),
        (THROUGHPUT, 0.5, False),
        (THROUGHPUT, 0.0, False),
        (THROUGHPUT, -0.5, True),
        (ERROR_RATE, None, False),
        (THROUGHPUT, None, False),
    ],
)
def test_a_difference_looks_worse_by_its_direction(
    of: KPIDefinition, difference: float | None, looks_worse: bool
) -> None:
    estimate = None if difference is None else Estimate(difference, difference - 1, difference + 1)
    made = verdict(Outcome.SUSPECTED, of=of, difference=estimate)
    assert made.looks_worse is looks_worse
    assert analysis(made, verdict(of=of, difference=estimate)).suspected == ([made] if looks_worse else [])


def test_both_sides_of_a_change_are_versions_in_words() -> None:
    made = verdict(first_bad=1, last_good=0)
    assert (made.first_bad_version, made.last_good_version) == ("1.2.10", "1.2.9")
    assert (verdict().first_bad_version, verdict().last_good_version) == (None, None)


def test_the_series_of_an_outcome_are_in_order() -> None:
    found = mixed()
    assert found.having(Outcome.IMPROVEMENT) == [found.verdicts[4], found.verdicts[5]]
    assert found.having(Outcome.SUSPECTED) == []
    assert [one for one, _ in found.alarms(Status.OPEN)] == [found.verdicts[0], found.verdicts[1]]


def test_what_is_not_said_of_a_verdict_or_an_alarm_is_nothing() -> None:
    made = verdict()
    assert (made.runs_before, made.runs_after, made.minimum_effect, made.minimum_effect_absolute) == (0, 0, 0.0, 0.0)
    assert not made.is_new
    assert not msgspec.structs.replace(alarm(made)).is_new


@pytest.mark.parametrize(("value", "of_latency"), [(0.05, True), (-0.05, False)])
def test_a_difference_looks_worse_by_its_direction_however_small_it_is(value: float, of_latency: bool) -> None:
    difference = Estimate(value, -1.0, 1.0)
    assert verdict(of=LATENCY, difference=difference).looks_worse is of_latency
    assert verdict(of=THROUGHPUT, difference=difference).looks_worse is not of_latency
    for nothing in (None, Estimate(0.0, -1.0, 1.0)):
        assert not verdict(of=LATENCY, difference=nothing).looks_worse
        assert not verdict(of=THROUGHPUT, difference=nothing).looks_worse
