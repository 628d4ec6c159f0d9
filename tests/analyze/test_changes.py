"""When levels that follow each other are a drift, and when it is over: each limit on both of its sides."""

from __future__ import annotations

import numpy as np
import pytest

from matrix_benchmarking.analyze.detect.changes import Estimate, _without_spikes, goes_on, is_drift, is_over, slope
from matrix_benchmarking.analyze.detect.evidence import Floats

LINE = np.arange(40.0)


def of_steps(count: int, starts: list[int], size: float) -> Floats:
    """A little noise, and from each of *starts* on a level that is by *size* higher."""
    noise = np.random.default_rng([3, count]).standard_normal(count)
    return np.asarray(noise + size * np.searchsorted(starts, np.arange(count), side="right"))


def is_line(points: Floats, starts: list[int]) -> bool:
    """Plainly: the residues of a line against those of the levels, with eight times the variance for each start."""
    levels = sum(float(part.var()) * len(part) for part in np.split(points, starts))
    places = np.arange(len(points))
    residues = points - np.polyval(np.polyfit(places, points, 1), places)
    return bool((residues @ residues) < levels * (1.0 + 8.0 * len(starts) / (len(points) - len(starts) - 1)))


@pytest.mark.parametrize(("count", "starts"), [(6, [3]), (6, [1, 2, 3, 5]), (40, [10, 25]), (7, [1, 3])])
def test_steps_are_a_drift_up_to_the_size_at_which_no_line_fits_them(count: int, starts: list[int]) -> None:
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if is_line(of_steps(count, starts, middle), starts) else (low, middle)
    assert 0.0 < low < high < 100.0
    for unit in (1.0, -3.0):
        assert is_drift(unit * of_steps(count, starts, low * (1.0 - 1e-9)), starts) is True
        assert is_drift(unit * of_steps(count, starts, high * (1.0 + 1e-9)), starts) is False


def test_six_points_on_levels_of_one_at_least_can_be_a_drift() -> None:
    assert is_drift(LINE[:6], [3]) is True
    assert is_drift(LINE[:5], [3]) is False
    assert [is_drift(LINE[:8], starts) for starts in ([0], [8], [4, 4], [5, 4], [1, 7])] == [False] * 4 + [True]
    assert is_drift(np.repeat([1.0, 2.0], 4), [4]) is False
    assert is_drift(np.ones(8), [4]) is False  # nothing is no drift


def test_a_slope_is_that_of_the_line_of_least_squares() -> None:
    points = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    assert slope(points) == pytest.approx(np.polyfit(np.arange(5), points, 1)[0])
    assert slope(points[:2]) == -2.0
    assert slope(4e15 + LINE) == pytest.approx(1.0, rel=1e-6)  # no digit is lost to a level


def test_a_drift_whose_slope_changes_goes_on_where_the_newest_two_levels_are_one() -> None:
    bent = np.concatenate([np.full(20, 90.0), np.full(20, 40.0), LINE[:20]])
    assert not is_drift(bent, [20, 40, 50])
    assert goes_on(bent, [20, 40, 50]) is True
    assert goes_on(bent[:50], [20, 40]) is False
    assert goes_on(bent[20:50], [20]) is False
    assert goes_on(bent[40:], [10]) is True
    short = np.array([2.0, 3.0, 1.0, 2.0, 8.0, 5.0, 5.0])
    assert (goes_on(short, [4]), goes_on(short[1:], [3])) == (False, True)  # the first point counts, too


@pytest.mark.parametrize("level", [-30.0, 60.0])
def test_a_drift_is_over_once_its_last_level_has_lasted_for_sixteen_points(level: float) -> None:
    points = np.concatenate([LINE[:20], np.full(17, level)])
    assert [is_over(points[:stop], [10, 20]) for stop in (35, 36, 37)] == [False, True, True]
    assert [is_over(points[:stop], [5, 10, 20]) for stop in (35, 36)] == [False, True]
    assert is_over(np.arange(100.0), [10, 20]) is False


def test_whether_a_drift_is_over_is_asked_again_after_twice_as_many_points_and_not_taken_back() -> None:
    for level, lasted in ((28.0, 16), (20.0, 32), (16.0, 64)):
        points = np.concatenate([LINE[:20], np.full(lasted, level)])
        assert [is_over(points[:stop], [10, 20]) for stop in (19 + lasted, 20 + lasted)] == [False, True]
    once = np.concatenate([LINE[:20], np.full(16, -30.0), 36.0 + np.arange(400.0)])
    assert not is_over(once[:35], [10, 20])
    assert not goes_on(once[:36], [10, 20])
    assert goes_on(once, [10, 20])
    assert is_over(once, [10, 20])


@pytest.mark.parametrize("wild", [150.0, 1e6, -1e120])
def test_one_spike_makes_no_steps_a_drift_and_no_drift_steps(wild: float) -> None:
    steps = of_steps(37, [15, 27], 8.0)
    assert goes_on(steps, [15, 27]) is False
    drift = 0.5 * np.arange(37.0) + of_steps(37, [], 0.0)
    assert goes_on(drift, [15, 27]) is True
    steps[20] = drift[20] = wild
    assert (goes_on(steps, [15, 27]), goes_on(drift, [15, 27])) == (False, True)


def test_of_six_points_or_more_one_that_lies_eight_usual_steps_off_both_neighbours_is_as_the_middle_one() -> None:
    spiked = np.array([0.0, 1.0, 2.0, 30.0, 4.0, 5.0])
    assert _without_spikes(spiked).tolist() == [0.0, 1.0, 2.0, 4.0, 4.0, 5.0]
    assert _without_spikes(spiked[:5]).tolist() == spiked[:5].tolist()
    for height, left in ((13.0, 13.0), (13.001, 5.0)):
        points = np.array([0.0, 1.0, 2.0, 3.0, height, 5.0, 6.0, 7.0])
        assert _without_spikes(points)[4] == left


def test_what_may_be_off_widens_an_interval_and_not_its_sign() -> None:
    assert Estimate(-0.25, -0.5, -0.125).off_by(0.25) == Estimate(-0.25, -0.75, 0.0)
    assert Estimate(0.25, 0.125, 0.5).off_by(0.0625) == Estimate(0.25, 0.0625, 0.5625)
    assert Estimate(0.25, -0.125, 0.5).off_by(0.25) == Estimate(0.25, -0.375, 0.75)
