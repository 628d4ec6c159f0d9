"""When a series counts as back on its old level, and how often it was: each limit on both of its sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from test_disturbed import verdict_on

from matrix_benchmarking.analyze.detect import Change, changes_of, watch
from matrix_benchmarking.analyze.verdict import levels as of
from matrix_benchmarking.analyze.verdict.alarms import levels_known
from matrix_benchmarking.analyze.verdict.levels import early_return, outlasts, persists, stays_away

QUIET = [100.0] * 6


def returns(points: Any, old: float, new: float) -> int:
    """How often the points left the level *old* for *new* and came back."""
    return len(stays_away(points, old, new))


BY_STEPS = [99.0, 101.0] * 3
"""Each differs from the next by 2: 2.10 as a standard deviation."""
BY_MIDDLE = [99.0] * 3 + [101.0] * 3
"""Most don't differ from the next, and all by 1 from the middle: 1.48 as a standard deviation."""


def back(
    old: Sequence[float], after: Sequence[float | list[float]], *, is_up: bool = True, least: float = 0.0, **more: int
) -> Change | None:
    """Of a series with a point of 500 before its old level; one that falls is the mirror image of one that rises."""
    values = [[500.0], *([one] if isinstance(one, float) else one for one in (*old, *after))]
    first = 1 + len(old)
    mirrored = [[one if is_up else 200.0 - one for one in repeats] for repeats in values]
    change = Change(first, first - 1, first + more.get("seen", 1), 100.0, 110.0, is_worse=True)
    end = more.get("end", len(values))
    return early_return(mirrored, more.get("begin", 1), change, end, least, is_up=is_up)


def places(found: Change | None) -> tuple[int, int] | None:
    """The first point back and the one that showed it."""
    return None if found is None else (found.first, found.seen)


def test_what_takes_a_change_back_has_the_levels_and_the_points_of_both() -> None:
    found = back(QUIET, [110.0, 112.0, 101.0, 100.0, 100.0])
    assert found == Change(9, 8, 10, 111.0, 100.5, is_worse=False, takes_back=7)
    mirrored = back(QUIET, [110.0, 112.0, 101.0, 100.0, 100.0], is_up=False)
    assert mirrored == Change(9, 8, 10, 89.0, 99.5, is_worse=False, takes_back=7)


@pytest.mark.parametrize("is_up", [True, False])
@pytest.mark.parametrize(
    ("old", "step", "is_back"),
    [
        (BY_STEPS, 4 * 1.4826 * math.sqrt(2.0) - 0.01, False),
        (BY_STEPS, 4 * 1.4826 * math.sqrt(2.0) + 0.01, True),
        (BY_MIDDLE, 4 * 1.4826 - 0.01, False),
        (BY_MIDDLE, 4 * 1.4826 + 0.01, True),
        (QUIET, 0.25, True),
    ],
)
def test_two_points_are_back_where_they_lie_four_standard_errors_from_the_two_before(
    old: list[float], step: float, is_back: bool, is_up: bool
) -> None:
    found = back(old, [100.0 + step, 100.0 + step, 100.0, 100.0], is_up=is_up)
    assert places(found) == ((9, 10) if is_back else None)


@pytest.mark.parametrize(("level", "is_back"), [(102.0 + 4 * 1.4826 - 0.01, False), (102.0 + 4 * 1.4826 + 0.01, True)])
def test_what_is_left_of_the_step_is_no_part_of_how_far_they_lie(level: float, is_back: bool) -> None:
    assert places(back(BY_MIDDLE, [level, level, 102.0, 102.0], least=3.0)) == ((9, 10) if is_back else None)


def test_as_far_as_four_standard_errors_is_not_far_enough() -> None:
    old, step = [-1.0] * 3 + [1.0] * 3, 4 * 1.4826
    assert back(old, [step, step, 0.0, 0.0]) is None
    assert places(back(old, [np.nextafter(step, 6.0)] * 2 + [0.0, 0.0])) == (9, 10)


@pytest.mark.parametrize("away", [1, 4])
def test_the_more_points_were_away_the_less_they_have_to_differ(away: int) -> None:
    error = 4 * 1.4826 * math.sqrt(1 / away + 1 / 2)
    for more, is_back in ((-0.01, False), (0.01, True)):
        found = back(BY_MIDDLE, [*[100.0 + error + more] * away, 100.0, 100.0])
        assert places(found) == ((7 + away, 8 + away) if is_back else None)


@pytest.mark.parametrize(
    ("left", "least", "is_back"),
    [(2.0, 0.0, True), (2.0625, 0.0, False), (3.0, 3.0, True), (3.0, 2.96875, False), (-3.0, 0.0, True)],
)
def test_a_quarter_of_the_step_may_be_left_or_what_is_not_worth_a_word(
    left: float, least: float, is_back: bool
) -> None:
    found = back(QUIET, [108.0, 108.0, 100.0 + left, 100.0 + left], least=least)
    assert places(found) == ((9, 10) if is_back else None)


def test_one_version_counts_if_it_was_run_three_times_else_it_takes_two() -> None:
    assert places(back(QUIET, [110.0, 110.0, [100.0] * 3])) == (9, 9)
    assert places(back(QUIET, [110.0, 110.0, [100.0] * 2])) is None
    assert places(back(QUIET, [110.0, 110.0, [100.0] * 2, 100.0])) == (9, 10)
    assert places(back(QUIET, [110.0, 100.0, 100.0], seen=0)) == (8, 9)


@pytest.mark.parametrize(("point", "first"), [(104.9375, 9), (105.0, 11)])
def test_all_that_came_after_the_first_point_back_lies_nearer_to_the_old_level(point: float, first: int) -> None:
    assert places(back(QUIET, [110.0, 110.0, 100.0, point, 100.0, 100.0])) == (first, first + 1)


@pytest.mark.parametrize("away", [100.0, 97.0])
def test_what_did_not_leave_in_the_way_of_the_change_does_not_come_back(away: float) -> None:
    assert back(QUIET, [away, away, 90.0, 90.0]) is None


def test_it_takes_three_points_to_know_the_old_level() -> None:
    """As many as the detector needs: what it sees begin, it may not see end."""
    after = [110.0, 110.0, 100.0, 100.0]
    assert places(back([100.0] * 3, after)) == (6, 7)
    assert back([100.0] * 2, after) is None
    assert places(back([300.0, *[100.0] * 3], after, begin=2)) == (7, 8)
    assert back([300.0, *[100.0] * 3], after, begin=3) is None


def test_a_return_is_seen_after_the_change_was_and_before_the_next_one() -> None:
    after = [110.0, 110.0, *[100.0] * 6]
    assert [places(back(QUIET, after, seen=seen)) for seen in (1, 2, 5, 6, 7)] == [
        (9, 10),
        (9, 10),
        (9, 13),
        (9, 14),
        None,
    ]
    assert [places(back(QUIET, after, end=end)) for end in (10, 11)] == [None, (9, 10)]


def test_so_many_points_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of.FURTHEST == 2_000
    monkeypatch.setattr(of, "FURTHEST", 6)
    found = back([*[90.0] * 8, *QUIET], [110.0, 110.0, 100.0, 100.0])
    assert places(found) == (17, 18)
    monkeypatch.setattr(of, "FURTHEST", 10)
    assert back([*[90.0] * 8, *QUIET], [110.0, 110.0, 100.0, 100.0]) is not None
    slow = [110.0] * 8 + [100.0] * 3
    assert places(back(QUIET, slow, seen=0)) == (15, 16)
    monkeypatch.setattr(of, "FURTHEST", 9)
    assert back(QUIET, slow, seen=0) is None


def went(*levels: tuple[float, int]) -> Any:
    """Points on these levels, so many on each."""
    return np.array([level for level, count in levels for _ in range(count)])


def test_each_time_that_a_level_was_left_for_the_other_and_taken_again_counts() -> None:
    twice = went((100.0, 3), (110.0, 2), (100.0, 2), (110.0, 1), (100.0, 2))
    assert returns(twice, 100.0, 110.0) == 2
    assert returns(200.0 - twice, 100.0, 90.0) == 2
    assert returns((twice - 100.0) / 1000.0, 0.0, 0.01) == 2
    assert returns(twice[1:], 100.0, 110.0) == 0  # too few points
    assert returns(twice[:-2], 100.0, 110.0) == 0
    assert returns(went((100.0, 3), (110.0, 2), (100.0, 5), (110.0, 2)), 100.0, 110.0) == 1
    with np.errstate(all="raise"):
        assert returns(twice, 100.0, 100.0) == 0


def test_single_points_alone_are_no_level() -> None:
    assert returns(went((100.0, 4), (110.0, 1), (100.0, 4), (110.0, 1), (100.0, 4)), 100.0, 110.0) == 0
    assert returns(went((100.0, 4), (110.0, 1), (100.0, 4), (110.0, 2), (100.0, 4)), 100.0, 110.0) == 2


@pytest.mark.parametrize(("level", "count"), [(107.5, 2), (107.4375, 0), (130.0, 2)])
def test_the_other_level_lies_at_most_a_quarter_of_the_step_nearer(level: float, count: int) -> None:
    assert returns(went((100.0, 4), (level, 2), (100.0, 3), (level, 2), (100.0, 3)), 100.0, 110.0) == count


@pytest.mark.parametrize(("share", "count"), [(0.99, 0), (1.01, 2)])
def test_a_stay_is_told_by_how_much_likelier_its_points_are_there(share: float, count: int) -> None:
    gap = share * math.sqrt(2.5) * 1.4826 * math.sqrt(2.0)  # so that two points are e^2.5 times as likely
    points = went((100.0, 6), (100.0 + gap, 2), (100.0, 4), (100.0 + gap, 2), (100.0, 4))
    points += np.where(np.arange(len(points)) % 2, -1.0, 1.0)
    assert returns(points, 100.0, 100.0 + gap) == count


@pytest.mark.parametrize(
    ("each", "lengths", "count"),
    [
        (2.49, [2] * 4, 0),
        (2.51, [2] * 4, 4),
        (1.19, [4] * 5, 0),
        (1.21, [4] * 5, 5),  # of four points each, twelve together
        (1.61, [2] * 8, 0),
        (1.27, [4] * 12, 0),  # of 102 points each is asked for more
        (1.30, [4] * 12, 12),
        (1.21, [12, 4, 4], 0),  # a long one adds six
        (1.21, [12, 4, 4, 4], 4),
    ],
)
def test_stays_that_are_each_hardly_likely_count_where_all_together_are_very_likely(
    each: float, lengths: list[int], count: int
) -> None:
    gap = math.sqrt(2.0 * each) * 1.4826  # two points are so much likelier away, as a logarithm
    points = went((100.0, 6), *[stay for length in lengths for stay in ((100.0 + gap, length), (100.0, 4))])
    points += np.where(np.arange(len(points)) % 2, -1.0, 1.0)
    assert returns(points, 100.0, 100.0 + gap) == count


@pytest.mark.parametrize(("before", "gap"), [(60, 2.0), (120, 2.0), (200, 2.0), (120, 3.0), (400, 3.0)])
def test_noise_alone_is_seldom_a_second_level(before: int, gap: float) -> None:
    """Of a series that rose once, whatever came before is one level: in .4 to .9 of these it was two."""
    rng = np.random.default_rng(11)
    found = [
        returns(np.append(rng.normal(0.0, 1.0, before), rng.normal(gap, 1.0, 20)), 0.0, gap) >= 2 for _ in range(150)
    ]
    assert sum(found) <= 20


@pytest.mark.parametrize("correlation", [0.3, 0.5])
def test_noise_of_which_neighbours_are_alike_is_seldom_a_second_level(correlation: float) -> None:
    rng, found = np.random.default_rng(12), 0
    for _ in range(100):
        points = rng.standard_normal(320)
        for place in range(1, len(points)):
            points[place] += correlation * points[place - 1]
        points /= points.std()
        points[300:] += 3.0
        found += returns(points, 0.0, 3.0) >= 2
    assert found <= 6


def test_two_long_stays_are_very_likely_together_so_one_point_can_part_them() -> None:
    gap = math.sqrt(12.0) * 1.4826
    points = went((100.0, 6), (100.0 + gap, 4), (100.0, 1), (100.0 + gap, 4), (100.0, 6))
    points += np.where(np.arange(len(points)) % 2, -1.0, 1.0)
    assert returns(points, 100.0, 100.0 + gap) == 2


@pytest.mark.parametrize(("level", "count"), [(105.0, 1), (105.1, 1), (107.4, 1), (107.6, 2), (110.0, 2), (115.0, 2)])
def test_a_stay_is_of_the_other_level_if_it_is_most_of_the_way_there(level: float, count: int) -> None:
    points = went((100.0, 5), (110.0, 3), (100.0, 2), (level, 1), (100.0, 2))
    assert returns(points, 100.0, 110.0) == count


@pytest.mark.parametrize(
    ("likelier", "stays"),
    [
        ([5.0, 5.0, -5.0, -5.0], [(0, 2)]),
        ([-5.0, -5.0, 5.0, 5.0, -4.0, -5.0, 4.0, -4.0], [(2, 4), (6, 7)]),
        ([-1.0, 4.0, -4.0], [(1, 2)]),
        ([4.0, -4.0, 1.0, 3.0, -4.0], [(0, 1), (2, 4)]),
        ([4.0, -4.0, 3.9, -4.0, 4.0, 1.0, -3.9, 1.0, -4.0], [(0, 1), (4, 6)]),
        ([-1.0] * 5 + [2.0] * 2 + [-1.0] * 4, [(5, 7)]),
        ([-1.0] * 5 + [1.9] * 2 + [-1.0] * 4, []),  # not clear enough that it was away
        ([-1.0] * 5 + [2.0] * 2 + [-1.0] * 3, []),  # nor that it is back
        ([-1.0] * 5 + [2.0] * 2 + [-3.0] + [2.0] * 2 + [-4.0], [(5, 10)]),
        ([-1.0, 2.0, -1.0, 3.0, -1.0, 2.0, -3.0, -1.0], [(1, 6)]),
        ([2.0, -2.0, 2.0, 2.0, -2.0, 2.0, -4.0], [(2, 6)]),  # what weighs nothing together is no part of it
        ([-5.0, 3.999, -5.0], []),
        ([5.0, -3.999], []),
        ([0.001, 4.0, -4.0], [(0, 2)]),
        ([], []),
    ],
)
def test_a_stay_is_from_where_points_began_to_lie_away_to_where_they_began_to_lie_back(
    likelier: list[float], stays: list[tuple[int, int]]
) -> None:
    assert of._stays(likelier, 4.0) == stays


@pytest.mark.parametrize("wild", [130.0, 200.0, 1000.0, 1e9, 1e170, 1e308])
@pytest.mark.parametrize("place", range(4))
def test_a_disturbed_point_on_a_new_level_is_not_a_step_that_was_taken_back(place: int, wild: float) -> None:
    after = [109.5, 110.5, 110.0, 109.0, 111.0, 109.5, 110.5, 110.0]
    after[place] = wild
    assert back(QUIET, after, seen=3) is None
    found = back(QUIET, [*after, *[100.0] * 3], seen=3)
    assert places(found) == (15, 16)
    assert found is not None
    assert found.old_level == pytest.approx(110.0, abs=1.0)


@pytest.mark.parametrize(
    ("points", "middle"),
    [([3.0], 3.0), ([1.0, 9.0], 1.0), ([1.0, 2.0, 9.0], 2.0), ([1.0, 2.0, 3.0, 9.0], 2.0), ([1, 2, 3, 4, 9, 9], 3.0)],
)
def test_the_middle_of_two_is_the_one_nearer_to_the_old_level(points: list[float], middle: float) -> None:
    assert of._middle(points) == middle


@pytest.mark.parametrize(("off", "is_clear"), [(1.99, False), (2.01, True)])
def test_points_are_clearly_off_beyond_four_standard_errors_of_their_number(off: float, is_clear: bool) -> None:
    found = of._clearly_off([50.0 + off] * 4, 50.0, 1.0)
    assert found == (pytest.approx(off) if is_clear else math.inf)


def test_a_step_is_at_most_what_was_off_when_it_was_seen() -> None:
    after: list[float | list[float]] = [104.0, 110.0, 112.0, 102.4, 102.4, 102.4]
    assert back(QUIET, after) is None  # of the two points that were seen, one was off by 4
    assert places(back(QUIET, after, seen=2)) == (10, 11)  # of three, most by 10


@pytest.mark.parametrize(("beyond", "is_back"), [(90.0, True), (89.9, False), (-1e308, False)])
def test_one_version_as_far_beyond_the_old_level_as_the_step_was_is_disturbed(beyond: float, is_back: bool) -> None:
    assert (back(QUIET, [110.0, 110.0, [beyond] * 4]) is not None) is is_back
    assert back(QUIET, [110.0, 110.0, [beyond] * 4, [beyond] * 4]) is not None


@pytest.mark.parametrize(
    ("wild", "stays"),
    [(60.0, (1, 1)), (89.99, (1, 1)), (90.0, (2, 1)), (120.0, (1, 2)), (120.01, (1, 1)), (160.0, (1, 1))],
)
def test_one_point_far_from_both_levels_is_on_neither(wild: float, stays: tuple[int, int]) -> None:
    two = went((100.0, 4), (110.0, 2), (100.0, 4), (110.0, 2), (100.0, 2))
    assert returns(two, 100.0, 110.0) == 2
    away = went((100.0, 4), (110.0, 3), (wild, 1), (110.0, 2), (100.0, 4))
    home = went((100.0, 4), (110.0, 3), (100.0, 4), (wild, 1), (100.0, 4))
    assert (returns(away, 100.0, 110.0), returns(home, 100.0, 110.0)) == stays


def test_points_that_stay_on_their_level_persist_and_noise_does_not() -> None:
    assert persists(went((100.0, 9), (110.0, 3), (100.0, 9), (110.0, 4), (100.0, 5)), 100.0, 110.0)
    assert not persists(np.full(30, 100.0), 100.0, 110.0)
    draw = np.random.default_rng(20261201)
    skewed = [persists(draw.exponential(1.0, 80), 0.7, 2.7) for _ in range(500)]
    modes = [persists((draw.random(80) < 0.3).astype(np.float64), 0.0, 1.0) for _ in range(500)]
    assert sum(skewed) < 75
    assert sum(modes) < 75


def test_a_level_that_lasts_much_longer_than_before_is_not_the_one_of_before() -> None:
    assert [outlasts(lasted, [(3, 5), (9, 11)]) for lasted in (1, 35, 37)] == [False, False, True]
    assert [outlasts(lasted, [(3, 13), (20, 30), (40, 50)]) for lasted in (30, 108, 110)] == [False, False, True]


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_first_step_behind_skewed_noise_is_an_alarm(repeats: int) -> None:
    draw, known, worse = np.random.default_rng([20261202, repeats]), 0, 0
    for _ in range(40):
        values = 100.0 + draw.exponential(10.0, (100, repeats))
        values[80:] *= 1.2
        watched = watch(values.tolist())
        changes = changes_of(watched, lower_is_better=True)
        known += bool(levels_known(changes, values.tolist()))
        worse += any(one.is_worse for one in changes)
    assert worse > 30
    assert known <= 4


@pytest.mark.parametrize(
    ("runs", "newest", "said"),
    [(1, 100.0, True), (2, 100.0, True), (3, 100.0, None), (2, 107.0, False), (1, 80.0, True)],
)
def test_of_a_newest_version_that_may_be_back_it_is_said_that_more_runs_would_tell(
    runs: int, newest: float, said: bool | None
) -> None:
    """None where it is back, as three runs show."""
    chance = np.random.default_rng(runs)
    levels = [100.0] * 15 + [110.0] * 6 + [newest]
    found = verdict_on([(level + chance.normal(0.0, 0.5, runs)).tolist() for level in levels])
    assert found.fails is (said is not None)
    assert any("is where it was before, or better, in too few runs to tell" in note for note in found.notes) is bool(
        said
    )
