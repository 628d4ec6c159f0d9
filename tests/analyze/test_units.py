"""What is said of a series doesn't depend on the unit of its values, nor, of its first values, on what comes later."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from detected_series import CASES, singles

from matrix_benchmarking.analyze.detect import Judgement, Kind, Minimum, change_points, judge, judge_all
from matrix_benchmarking.analyze.detect.evidence import Floats
from matrix_benchmarking.analyze.detect.series import TimeSeries, prepare, scale_of

QUIET = singles(3, 60)
STEPPED = singles(3, 60, (46, 6.0))
WILD = [1e9, 1e12, 1e17, 1e150, 1e170, 1e308, -1e308, 1e-300, 5e-324]


def in_unit(value: Any, unit: float) -> Any:
    if value is None:
        return None
    return [in_unit(one, unit) for one in value] if isinstance(value, list | np.ndarray) else float(value) * unit


def decided(found: Judgement) -> tuple[Any, ...]:
    changes = [(change.first, change.seen, change.is_worse) for change in found.changes]
    suspected = found.suspicion and (found.suspicion.first_bad, found.suspicion.kind)
    shown = found.would_show and found.would_show[1]
    return found.kind, found.first_bad, found.last_good, found.reruns, changes, suspected, shown, found.is_one_block


def amounts(found: Judgement, unit: float) -> list[float]:
    known = [found.old_level, found.new_level, found.would_show and found.would_show[0]]
    return [amount / unit for amount in known if amount is not None]


@pytest.mark.parametrize("unit", [1e-9, 0.3, 1e9])
def test_a_series_is_judged_alike_in_any_unit(unit: float) -> None:
    for values, blocks, options in CASES.values():
        limits = dict(options)
        least = limits.pop("minimum", Minimum())
        one = judge_all([values], blocks=[blocks], minimum=least, **limits)[0]
        (other,) = judge_all(
            [in_unit(values, unit)], blocks=[blocks], minimum=Minimum(least.relative, least.absolute * unit), **limits
        )
        assert decided(other) == decided(one)
        assert amounts(other, unit) == pytest.approx(
            amounts(one, 1.0), rel=0.2
        )  # equal values spread by their rounding


@pytest.mark.parametrize("spread", [0.0, 1e-15, 1e-13, 1e-12, 1e-11, 1e-9])
@pytest.mark.parametrize("base", [1.0, -3.3e-3])
def test_what_spreads_by_next_to_nothing_is_judged_alike_in_any_unit(spread: float, base: float) -> None:
    for size in (0.0, 1.0, 3.0, 8.0, 0.2 / max(spread, 1e-12), 1.5 / max(spread, 1e-12)):
        values = base * (1.0 + spread * (QUIET - 100.0))
        values[46:] += base * size * max(spread, 1e-12)
        expected = change_points(values)
        assert [change_points(values * unit) for unit in (1e-9, 0.7, 1e3, 1e9)] == [expected] * 4
        assert expected == ([46] if size >= 8.0 else expected)


@pytest.mark.parametrize("later", WILD)
def test_what_was_seen_of_next_to_nothing_stays_whatever_comes_later(later: float) -> None:
    values = 1.0 + 1e-13 * (QUIET - 100.0)
    values[46:] += 2e-12
    assert change_points(values) == [46]
    assert change_points([*values, later]) == [46]


@pytest.mark.parametrize("wild", WILD)
def test_one_value_of_any_size_hides_no_change(wild: float) -> None:
    for place in (0, 20, 60):
        values = [*STEPPED[:place], wild, *STEPPED[place:]]
        first = 46 if place == 60 else 47
        assert change_points(values) == [first]
        found = judge(values, lower_is_better=True)
        assert (found.kind, found.first_bad) == (Kind.REGRESSION, first)
        assert found.old_level == pytest.approx(100.0, abs=1.0)
        assert found.new_level == pytest.approx(106.0, abs=1.0)
        assert judge_all([QUIET, values, STEPPED], lower_is_better=True)[1] == found


def test_a_step_beyond_all_numbers_would_have_shown_nothing_and_is_no_warning() -> None:
    # Half of the points are as large as a number can be, and the others at zero.
    huge = [1e308 * (0.0, 1.7)[number * number % 7 % 2] for number in range(30)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        (found,) = judge_all([huge])
        assert found == judge(huge)
    assert found.would_show is None


def test_runs_that_vary_beyond_reason_are_no_warning() -> None:
    first = [0.0, 2.3e16, 9.5e137, 1.8e-67, -3.4e16, -4.7e136, -1e300]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for last in (7.2e18, 1e300):
            values = [*first, [0.0, 1.0, 2.220446049250313e-16], [0.0, last]]
            assert judge_all([values]) == [judge(values)]


@pytest.mark.parametrize("wild", WILD)
def test_one_run_of_any_size_hides_no_change(wild: float) -> None:
    repeated = [[value, value + 0.1, value - 0.2] for value in STEPPED.tolist()]
    repeated[40][1] = wild
    assert change_points(repeated) == [46]
    assert judge_all([repeated])[0] == judge(repeated)


@pytest.mark.parametrize("later", WILD)
def test_blocks_within_a_campaign_are_counted_whatever_comes_later(later: float) -> None:
    values = singles(5, 40, (33, 8.0)).tolist()
    blocks: Any = [[(min(place, 20), -1 - place)] for place in range(40)]
    assert change_points(values, blocks=blocks) == [33]
    blocks.append([(99, None)])
    assert change_points([*values, later], blocks=blocks) == [33]


def test_a_step_of_any_size_is_one() -> None:
    for old, new in ((1e-310, 1.0), (1.0, 1e-310), (1e-200, 1e200), (-1e300, 1e300), (0.0, 1e-310)):
        noise = 1.0 + 0.01 * (QUIET - 100.0)
        values = np.concatenate([old * noise[:30], new * noise[30:]])
        assert change_points(values) == [30]
        assert judge(values, lower_is_better=new < old).kind is Kind.IMPROVEMENT


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    "values",
    [
        [1e200, 1.01, 0.99, 5e-324, 1.01, 7.0, 1e-9, 1e-9, 2.5, 1e-300, 1.0, 1e-300, 1e200, 7.0, 1e-310, 1e308, 5e-324],
        [1.0, 1.02, 1.04, 1.01, 1.03, 1.0, 1.02, 1.04, *[1e-310] * 4],
        [-2.3e-219, 0.0, 5e-324, 1e-300, -4.9e16, -1.7e144, -0.0, 1e-300, 1e-120, 1.0, 1e-09, 5.2e298, 6.4e16, 5e-324],
        [[-3.3e16, 1.375, 1e-200], [0.0, 1e121, 1e-300], [1e120, -4e128, -5e-324], [3e16, 0.06, 1e-102], [-7e-270]],
    ],
)
def test_values_of_all_sizes_side_by_side_overflow_nothing(values: list[Any]) -> None:
    assert judge(values, lower_is_better=True).kind in Kind
    assert judge_all([values, values], lower_is_better=True)[0] == judge(values, lower_is_better=True)


def test_the_scale_is_that_of_the_middle_of_the_first_eight_values_that_are_not_zero() -> None:
    assert scale_of([]) == scale_of([0.0, 0.0]) == 1.0
    assert scale_of([0.0, 0.0, -3.0]) == 2.0
    assert scale_of([1.0, 1.0, 1.0, 1.0, 16.0, 16.0, 16.0, 16.0, 0.5]) == 16.0
    assert scale_of([1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 16.0, 16.0, 16.0, 16.0]) == 1.0
    beyond = prepare([1.0] * 8 + [1e300, -1e300, 2.0**201, 2.0**-201, 2.0**-199])[0].points[8:].tolist()
    assert beyond == [2.0**200, -(2.0**200), 2.0**200, 0.0, 2.0**-199]
    series, _, scale = prepare([[4.0, 5.0], [4.0, 1e300]])
    assert (series.points.tolist(), scale) == ([1.125, 2.0**199], 4.0)


def test_how_far_a_campaign_lies_off_is_relative_to_what_it_measured() -> None:
    def counted(points: Floats) -> float:
        count = len(points)
        stretches, ones = np.array([*range(count - 10), *[count] * 10]), np.ones(count)
        series = TimeSeries(
            points, ones, ones, prepare([1.0])[0].prior, ones, ones * 0.0, ones * 0.0, stretches, points
        )
        return float(series.blocks_from(np.array([count - 4]), np.array([count - 1]))[0])

    for unit in (1.0, 1e-12, 1e3):
        assert counted(unit * np.array([1.0] * 16 + [1.0 + 5e-10] * 4)) == 1.0
        assert counted(unit * np.array([1.0] * 16 + [1.0 + 2e-9] * 4)) == 2.0
    assert counted(np.array([1e100] * 3 + [1.0] * 33 + [1.1] * 4)) == 2.0
