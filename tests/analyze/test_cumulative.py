"""The cumulative sum and the test for a drift, by value: each sign, comparison and constant."""

from __future__ import annotations

import numpy as np
import pytest

from matrix_benchmarking.analyze.detect import change_points
from matrix_benchmarking.analyze.detect.cumulative import ALLOWANCE, LIMIT, MOST_OF_ONE, first_crossing
from matrix_benchmarking.analyze.detect.drift import is_drift, slope
from matrix_benchmarking.analyze.detect.evidence import Floats, Prior
from matrix_benchmarking.analyze.detect.levels import counts_up_to, estimate

BEFORE = [1.0, -1.0] * 20


def crossing(points: list[float], since: int = 0) -> tuple[int, int] | None:
    values = np.array(points)
    return first_crossing(values, estimate(values, counts_up_to(len(values) - 1)), Prior(), since)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_sum_crosses_its_limit_where_enough_has_come_together(sign: float) -> None:
    far = [sign * 50.0] * 10
    needed = int(LIMIT // (MOST_OF_ONE - ALLOWANCE)) + 1
    found = crossing([*BEFORE, *far])
    assert found is not None
    assert found[0] == 40 + needed - 1
    assert found[1] in (39, 40)
    assert crossing([*BEFORE, *far[: needed - 1]]) is None


def test_a_sum_that_too_few_blocks_raised_is_asked_again_while_it_is_beyond_its_limit() -> None:
    values = np.array([*BEFORE, *[50.0] * 10, *[-50.0] * 10])
    levels = estimate(values, counts_up_to(len(values) - 1))
    found = first_crossing(values, levels, Prior(), 0)
    assert found is not None
    assert first_crossing(values, levels, Prior(), 0, lambda seen, _: seen >= 47) == (47, found[1])
    later = first_crossing(values, levels, Prior(), 0, lambda seen, _: seen >= 56)
    assert later is None or later[1] >= 50


def test_what_lies_off_by_the_allowance_never_adds_up() -> None:
    assert crossing([*BEFORE, *[0.4] * 60]) is None
    assert crossing([*BEFORE, *[1.3] * 60]) is not None


def test_a_single_point_however_far_is_no_crossing_and_an_early_one_is_skipped() -> None:
    assert crossing([*BEFORE, 1e6, *BEFORE]) is None
    assert crossing([*BEFORE, *[50.0] * 6, *[-50.0] * 6], since=49) is None
    assert crossing(BEFORE[:9]) is None


def test_a_spread_that_grew_adds_up_to_nothing_and_a_level_in_it_still_does() -> None:
    wide = [4.0, -4.0] * 6
    assert crossing([*BEFORE, *[4.0, 4.0, -4.0] * 12]) is None
    assert crossing([*BEFORE, *wide, *[12.0] * 8]) is not None


def releases(size: float, seed: int, repeats: int = 5) -> Floats:
    values = 100.0 + 3.0 * np.random.default_rng([5, seed]).standard_normal((80, repeats))
    values[30:] += size
    return values


def test_a_small_step_is_seen_within_twenty_versions_where_versions_have_repeats() -> None:
    seen = [bool(change_points(releases(2.0, seed)[:50].tolist())) for seed in range(40)]
    assert sum(seen) >= 18
    assert sum(bool(change_points(releases(0.0, seed).tolist())) for seed in range(60)) <= 2


def test_levels_on_a_line_are_a_drift_and_steps_are_none() -> None:
    line = np.arange(20.0)
    stairs = np.repeat([0.0, 8.0], 10)
    assert is_drift(line, [10])
    assert is_drift(-line, [7, 12])
    assert not is_drift(stairs, [10])
    assert not is_drift(np.zeros(20), [10])
    assert not is_drift(line[:5], [3])
    assert is_drift(line[:6], [3])
    assert not is_drift(line, [0])
    assert not is_drift(line, [20])


def test_the_slope_is_that_of_the_line_of_least_squares() -> None:
    values = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
    assert slope(values) == pytest.approx(np.polyfit(np.arange(6), values, 1)[0])
    assert slope(-2.0 * np.arange(9.0)) == pytest.approx(-2.0)
