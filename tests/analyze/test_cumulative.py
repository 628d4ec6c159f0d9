"""The cumulative sum and the test for a drift, by value: each sign, comparison and constant."""

from __future__ import annotations

import itertools
import math

import msgspec
import numpy as np
import plain_splits
import pytest
from detected_series import repeated, singles

from matrix_benchmarking.analyze.detect import change_points, watch
from matrix_benchmarking.analyze.detect.changes import goes_on, is_drift, slope
from matrix_benchmarking.analyze.detect.cumulative import (
    ALLOWANCE,
    LIMIT,
    MOST_OF_ONE,
    _of_correlation,
    _over,
    _scores,
    crosses,
    first_crossing,
)
from matrix_benchmarking.analyze.detect.evidence import Flags, Floats, Prior, normal_score
from matrix_benchmarking.analyze.detect.levels import counts_up_to, estimate
from matrix_benchmarking.analyze.detect.series import Blocks

BEFORE = [1.0, -1.0] * 20


def crossing(points: list[float], since: int = 0) -> tuple[int, int] | None:
    values = np.array(points)
    return first_crossing(values, estimate(values, counts_up_to(len(values) - 1)), Prior(), each(values), since)


def each(points: Floats) -> Flags:
    """Every point speaks."""
    return np.ones(points.shape, dtype=bool)


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
    found = first_crossing(values, levels, Prior(), each(values), 0)
    assert found is not None
    assert first_crossing(values, levels, Prior(), each(values), 0, lambda seen, _: seen >= 47) == (47, found[1])
    later = first_crossing(values, levels, Prior(), each(values), 0, lambda seen, _: seen >= 56)
    assert later is None or later[1] >= 50


def test_a_sum_is_beyond_its_limit_above_the_least_it_was() -> None:
    assert _over(np.array([[1.0, 0.0, LIMIT, LIMIT + 1e-9, 1.0]])).tolist() == [[False, False, False, True, False]]


def test_two_blocks_behind_a_sum_are_enough() -> None:
    in_turn: Blocks = [[(min(place, 30), -1 - place if place >= 30 else None)] * 3 for place in range(46)]
    alarms = watch(repeated(1, 46, (38, 2.0)).tolist(), blocks=in_turn).walk.alarms
    # The second block is the third version of a campaign after the step; a sum has no excess.
    assert [(one.start, one.seen, one.excess) for one in alarms] == [(38, 41, 0.0)]


def test_only_points_that_speak_add_to_a_sum() -> None:
    values = np.array([*BEFORE, *[50.0] * 20])
    levels, speaks = estimate(values, counts_up_to(len(values) - 1)), each(values)
    speaks[41::2] = False
    found = first_crossing(values, levels, Prior(), speaks, 0)
    assert found is not None
    needed = int(LIMIT // (MOST_OF_ONE - ALLOWANCE)) + 1
    assert found[0] == 40 + 2 * (needed - 1)
    beside = np.array([speaks, speaks])
    beside[1, 40 + 2 * (needed - 1) :] = False
    both, none = np.array([values, values]), np.zeros((2, 1))
    counts = counts_up_to(len(values) - 1)
    assert crosses(both, estimate(both, counts), Prior(none, none, none), beside).tolist() == [True, False]


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


def plain_scores(points: Floats, prior: Prior, least: int) -> list[float]:
    """One point at a time, from the first on that has a level before it."""
    ratios: list[float] = []
    held: list[float] = []
    found = []
    for place in range(least, len(points)):
        count = int(counts_up_to(place, least)[-1])
        old = plain_splits.level_of(points[:count])
        degrees = count - 1 + prior.degrees
        variance = (old.squares + prior.degrees * prior.deviation**2) / degrees * (1 + 1 / count)
        ratios.append((points[place] - old.level) / math.sqrt(variance))
        steps = [(after - before) ** 2 / 2 for before, after in itertools.pairwise(ratios)][-12:]
        few = min(max(len(ratios) - 2, 0), 11)
        recent = (sum(steps) - max(steps, default=0.0) + 4) / (few + 4)
        score = math.copysign(normal_score(abs(ratios[-1]), degrees), ratios[-1]) / math.sqrt(max(recent, 1.0))
        held.append(min(max(score, -2.5), 2.5))
        early = held[: max(len(held) - 21, 0)]
        products, squares = sum(a * b for a, b in itertools.pairwise(early)), sum(one * one for one in early)
        correlation = products / max(squares, 1.0) - 2 / math.sqrt(max(len(early), 1))
        correlation = min(max(correlation, 0.0), 0.9)
        found.append(held[-1] / math.sqrt((1 + correlation) / (1 - correlation)))
    return found


def plain_crossings(scores: list[float]) -> list[tuple[int, int]]:
    """Where the sum in either direction is beyond its limit, and where it was zero before."""
    found = []
    for sign in (1.0, -1.0):
        total, begin = 0.0, 0
        for place, score in enumerate(scores):
            total += sign * score - 0.5
            if total <= 0.0:
                total, begin = 0.0, place + 1
            if total > 7.0:
                found.append((place, begin))
    return sorted(found)


@pytest.mark.parametrize("prior", [Prior(), Prior(9.0, 1.3, 0.1)])
@pytest.mark.parametrize(
    ("correlation", "step"), [(0.0, 0.9), (0.7, 0.0), (0.98, 0.0), (-0.4, -1.2)], ids=["0", "0.7", "0.98", "-0.4"]
)
def test_the_scores_and_their_sums_are_those_of_a_plain_computation(
    prior: Prior, correlation: float, step: float
) -> None:
    values = np.stack([singles(seed, 90, (55, step), correlation=correlation) for seed in (71, 72)])
    values[1, 60:] *= 1.02
    least = 3 if prior.degrees else 8
    counts = counts_up_to(89, least)
    of_both = Prior(*[np.full((2, 1), number) for number in (prior.degrees, prior.deviation, prior.correlation)])
    both = _scores(values, counts, estimate(values, counts), of_both, each(values))
    crossed = []
    for points, scores in zip(values, both, strict=True):
        plain = plain_scores(points, prior, least)
        assert scores.tolist() == pytest.approx(plain)
        expected = [(seen + least, start + least) for seen, start in plain_crossings(plain)]
        levels = estimate(points, counts)
        for since in {0, 40, *[place + off for place, _ in expected[:2] for off in (0, 1)]}:
            first = next((one for one in expected if one[0] >= since), None)
            assert first_crossing(points, levels, prior, each(points), since) == first
        crossed.append(bool(expected))
    assert crosses(values, estimate(values, counts), of_both, each(values)).tolist() == crossed


def test_points_that_never_differed_score_nothing() -> None:
    points = np.full((1, 30), 5.0)
    levels = estimate(points, counts_up_to(29))
    none = np.zeros((1, 1))
    nothing = msgspec.structs.replace(levels, squares=0.0 * levels.squares)
    assert not _scores(points, levels.counts, nothing, Prior(none, none, none), each(points)).any()
    assert first_crossing(points[0, :8], levels, Prior(), each(points[0]), 0) is None


def test_a_correlation_is_taken_for_nine_tenths_at_most() -> None:
    assert _of_correlation(np.full((1, 700), 2.5))[0, -1] == pytest.approx(math.sqrt(1.9 / 0.1))


@pytest.mark.parametrize(("count", "starts"), [(20, [10]), (20, [7, 13]), (6, [3]), (7, [1, 3, 5]), (6, [1, 2, 3, 4])])
def test_levels_are_a_drift_up_to_where_a_line_fits_worse_than_they_do_by_their_advantage(
    count: int, starts: list[int]
) -> None:
    stairs = np.array([3.0, 9.0, 4.0, 14.0, 6.0])[np.searchsorted(starts, np.arange(count), side="right")]

    def mixed(share: float) -> Floats:
        return np.asarray((1.0 - share) * np.arange(count) + share * stairs)

    low, high = 0.0, 1.0
    assert is_drift(mixed(low), starts) is True and is_drift(mixed(high), starts) is False
    while high - low > 1e-12:
        middle = (low + high) / 2.0
        low, high = (middle, high) if is_drift(mixed(middle), starts) else (low, middle)
    points, edges = mixed(low), [0, *starts, count]
    line = np.polyval(np.polyfit(np.arange(count), points, 1), np.arange(count))
    of_levels = sum(((points[a:b] - points[a:b].mean()) ** 2).sum() for a, b in itertools.pairwise(edges))
    advantage = 1.0 + 8.0 * len(starts) / (count - len(starts) - 1)
    assert ((points - line) ** 2).sum() == pytest.approx(of_levels * advantage, rel=1e-6)


def test_a_level_goes_on_a_drift_whose_slope_changed() -> None:
    line = np.arange(20.0)
    assert goes_on(line, [10])
    assert goes_on(np.concatenate([np.full(15, 40.0), line]), [15, 25])
    assert goes_on(np.concatenate([np.full(15, 40.0), 5.0 * line, -line]), [15, 35, 45])
    assert goes_on(np.concatenate([[900.0], line]), [1, 11])
    restless = np.array([7.0, 8.0, 11.0, 9.0, 3.0, 3.0, 1.0, 1.0])  # it is one without the first point
    assert is_drift(restless[1:], [3])
    assert not goes_on(restless, [4])
    assert not goes_on(np.concatenate([np.full(15, 40.0), np.repeat([0.0, 8.0], 10)]), [15, 25])
    assert not goes_on(np.repeat([0.0, 8.0], 10), [10])
