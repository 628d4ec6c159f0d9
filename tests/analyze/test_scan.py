"""Going along a series: where a level begins, when an alarm is raised, and what its parts know of each other."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from detected_series import CASES, repeated, singles

from matrix_benchmarking.analyze.detect import change_points, judge, judge_watched, scan, watch
from matrix_benchmarking.analyze.detect.evidence import MORE_OF_TWO, Floats, Prior
from matrix_benchmarking.analyze.detect.levels import counts_up_to, estimate
from matrix_benchmarking.analyze.detect.scan import _locate, least_history, median_of, newest, unconfirmed, walk
from matrix_benchmarking.analyze.detect.series import Blocks, prepare
from matrix_benchmarking.analyze.detect.splits import Plateau, every_lag, weigh


def test_three_versions_of_three_runs_are_history_enough() -> None:
    assert [least_history(Prior(degrees)) for degrees in (0.0, 5.9, 6.0, 20.0)] == [8, 8, 3, 3]
    assert newest(*_seen([1.0, 2.0] * 4)) is None
    found = newest(*_seen([*[1.0, 2.0] * 4, 1.0]))
    assert found is not None and found[1].split.after.tolist() == [1.0]


def test_what_is_known_of_the_noise_grows_by_the_points_of_each_level() -> None:
    alarm = scan.NewLevel(15, 17, 0.0, 0.5, 0.1)
    assert scan._prior(alarm, 9, Prior(9.0)) == Prior(15.0, 0.5, 0.1)
    assert scan._prior(alarm, 2, Prior(9.0)) == Prior(20.0, 0.5, 0.1)


def test_what_was_estimated_of_a_level_ends_where_the_points_do() -> None:
    whole = watch(CASES["three steps"][0])
    begin = whole.walk.alarms[0].start
    levels = scan.up_to(whole.walk, 60, whole.series).levels[-1]
    assert levels is not None and levels.counts[-1] == 60 - begin


def _seen(values: list[float]) -> Any:
    series, _, _ = prepare(values)
    return series, walk(series)


def test_after_a_change_three_versions_are_history_enough() -> None:
    for few in (3, 4, 5):
        assert change_points([3.0] * 12 + [5.0] * few + [3.0] * 6) == [12, 12 + few]


def test_a_median_is_the_middle_or_the_mean_of_both() -> None:
    for count in range(1, 65):
        points = singles(count, count)
        assert median_of(points) == np.median(points)


@pytest.mark.parametrize(
    ("after", "least", "start"),
    [(4, 8, 10), (10, 8, 10), (12, 8, 10), (3, 8, 11), (2, 8, 14), (1, 8, 17), (4, 12, 12), (10, 10, 10)],
)
def test_a_level_begins_where_two_levels_fit_best_not_far_from_the_split(after: int, least: int, start: int) -> None:
    for sign in (1.0, -1.0):
        assert _locate(sign * np.repeat([0.0, 10.0], 10), after, least) == start


def test_a_level_of_one_point_may_begin_at_the_last_one_and_others_at_the_one_before() -> None:
    assert _locate(np.array([0.0] * 12 + [5.0]), 1, 8) == 12
    assert _locate(np.array([0.0] * 10 + [0.1, 0.0, 5.0]), 2, 8) == 11


def test_what_lies_beyond_both_levels_by_more_than_their_distance_counts_as_that_far() -> None:
    points = np.array([0.0, 1.0] * 6 + [4.0, 5.0, 4.0, 5.0])
    far = points.copy()
    far[11], far[13] = -1e6, 1e6
    assert _locate(far, 4, 8) == _locate(points, 4, 8) == 12
    for place, held in ((5, -3.5), (14, 8.5)):  # both medians are .5 and 4.5
        clipped, beyond = points.copy(), points.copy()
        clipped[place], beyond[place] = held, 100.0 * held
        assert fits(beyond, 4) == fits(clipped, 4)


def fits(points: Floats, after: int) -> list[int]:
    return [_locate(points, after, least) for least in range(4, 13)]


def plain_location(points: Floats, after: int, least: int) -> int:
    old, new = np.median(points[:-after]), np.median(points[-after:])
    low, high = sorted([old, new])
    held = np.clip(points, low - (high - low), high + (high - low))

    def left(start: int) -> float:
        return sum(float(((part - part.mean()) ** 2).sum()) for part in (held[:start], held[start:]))

    starts = range(max(least, len(points) - 3 * after), len(points) - min(2, after) + 1)
    return min(starts, key=left)


def test_the_best_fit_leaves_the_least_squares() -> None:
    for seed in range(40):
        points = singles(seed, 30, (22, 1.5 if seed % 2 else -1.5))
        for after, least in ((1, 8), (2, 5), (5, 8), (9, 3)):
            assert _locate(points, after, least) == plain_location(points, after, least)


@pytest.mark.parametrize("repeats", [1, 3])
def test_an_alarm_is_raised_as_soon_as_the_evidence_reaches_its_threshold(repeats: int) -> None:
    def alarms(size: float) -> list[scan.NewLevel]:
        runs = repeated(51, 40, (34, size), repeats=repeats)
        return watch(runs.tolist() if repeats > 1 else runs[:, 0].tolist()).walk.alarms

    low, high = 0.0, 20.0
    while high - low > 1e-7:
        middle = (low + high) / 2.0
        low, high = (low, middle) if alarms(middle) else (middle, high)
    assert 0.0 <= alarms(high)[0].excess < 1e-5


def test_a_suspicion_is_over_its_threshold_and_has_one_block_or_is_a_coincidence() -> None:
    blocks: Blocks = [[(min(place, 37), None)] for place in range(40)]
    series, _, _ = prepare(singles(52, 40).tolist(), blocks)
    levels = estimate(series.points, counts_up_to(39))
    found = weigh(Plateau(series, 0, series.prior, levels), every_lag(levels, 39))
    excess = np.full(len(found.last), 0.001)
    over = msgspec.structs.replace(found, excess=excess, confirmed=np.ones(len(excess), dtype=bool))
    assert unconfirmed(series, over, 39).tolist() == [True] * 3 + [False] * (len(excess) - 3)
    coincidence = msgspec.structs.replace(over, confirmed=~over.confirmed)
    assert unconfirmed(series, coincidence, 39).all()
    assert unconfirmed(series, msgspec.structs.replace(coincidence, excess=0.0 * excess), 39).all()
    for below, of_two in ((-0.001, True), (MORE_OF_TWO, True), (MORE_OF_TWO - 0.001, False)):
        near = unconfirmed(series, msgspec.structs.replace(over, excess=below + 0.0 * excess), 39)
        assert near.tolist() == [False, of_two] + [False] * (len(excess) - 2)


PARTS = ["three steps", "a small step", "a relapse", "creeping", "versions in turn", "two hosts", "gaps", "long"]


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_a_series_is_judged_as_if_it_were_all(name: str) -> None:
    values, blocks, options = CASES[name]
    whole = watch(values, blocks=blocks)
    assert whole.is_whole and whole.stop == len(values)
    for stop in (len(values) // 2, len(values) - 7, len(values) - 1):
        alone = watch(values[:stop], blocks=blocks and blocks[:stop])
        until, began = whole.until(stop), watch(values, stop - 5 - stop // 9, blocks)
        assert judge_watched(until, **options) == judge_watched(alone, **options)
        assert until.stop == alone.stop and until.is_whole
        assert not began.is_whole
        further = began.further(len(alone.index) - len(began.index))
        assert further.walk.alarms == alone.walk.alarms
        assert judge_watched(further, **options) == judge_watched(alone, **options)
        assert judge_watched(further.until(stop - 2), **options) == judge_watched(whole.until(stop - 2), **options)


@pytest.mark.parametrize("name", ["three steps", "a small step", "gaps", "long", "correlated", "an episode"])
def test_a_series_without_a_part_is_judged_as_if_that_had_not_been_measured(name: str) -> None:
    values, _, options = CASES[name]
    values, count = [*values], len(values)
    for first, stop in ((4, 9), (count // 2, count // 2 + 1), (count - 9, count - 3), (count - 2, count)):
        left = [*values[:first], *values[stop:]]
        without = watch(values).without(first, stop)
        assert judge_watched(without, **options) == judge(left, **options)
        assert without.stop == len(left)
        assert judge_watched(without.until(len(left) - 1), **options) == judge(left[:-1], **options)
    began = watch(values, count - 10).without(count // 2, count // 2 + 4)
    assert began.walk.count == count - 14
    assert judge_watched(began, **options) == judge_watched(
        watch(values).without(count // 2, count // 2 + 4).until(began.stop), **options
    )


def test_versions_that_are_left_out_do_not_say_how_many_runs_are_usual() -> None:
    values = [[1.0, 1.1]] * 4 + [[1.0]] * 2 + [[1.0, 1.1]] * 4
    assert watch(values).series.precision.tolist() == [1.0] * 4 + [1.0] * 2 + [0.75] * 4
    assert watch(values).without(4, 6).series.precision.tolist() == [1.0] * 8


def test_nothing_to_be_watched_ends_at_once() -> None:
    assert watch([]).stop == 0
    assert watch([None, None]).stop == 0
    assert watch([1.0, None]).stop == 1


def test_evidence_that_just_reaches_its_threshold_raises_the_alarm() -> None:
    series, _, _ = prepare(singles(53, 40, (36, 9.0)).tolist())
    levels = estimate(series.points, counts_up_to(39))
    found = weigh(Plateau(series, 0, series.prior, levels), every_lag(levels, 39))
    assert found.excess[3] > 0.0 and found.confirmed[3]
    for excess, is_raised in ((0.0, True), (-1e-9, False)):
        just = msgspec.structs.replace(found, excess=np.where(found.split.after == 4.0, excess, -9.0))
        alarm = scan._raised(Plateau(series, 0, series.prior, levels), just)
        assert (alarm is not None) is is_raised
        assert alarm is None or (alarm.start, alarm.seen, alarm.excess) == (36, 39, 0.0)
