"""What stands behind a point of a series: its value, its blocks, and how often a level was left and returned to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from matrix_benchmarking.analyze.detect import change_points, judge, judge_all
from matrix_benchmarking.analyze.detect.evidence import Floats, Prior
from matrix_benchmarking.analyze.detect.series import Blocks, power_of_two, precision, prepare, single_runs
from matrix_benchmarking.analyze.detect.splits import _unsettled
from matrix_benchmarking.analyze.verdict.levels import stays_away


def count_of_stays(points: Floats, old: float, new: float) -> int:
    return len(stays_away(points, old, new))


def one_each(campaigns: list[list[int]]) -> Blocks:
    return [[(campaign, None) for campaign in of] for of in campaigns]


def test_a_point_is_the_median_of_its_blocks_and_a_block_that_of_its_runs() -> None:
    series, index, scale = prepare([[1.0, 2.0, 90.0, 4.0, 8.0]], one_each([[1, 1, 1, 2, 2]]))
    assert series.points[0] * scale == 4.0  # of 2 and 6
    alone, _, scale = prepare([[1.0, 2.0, 90.0, 4.0, 8.0]])
    assert alone.points[0] * scale == 4.0
    assert index.tolist() == [0]


def test_two_disturbed_runs_of_five_move_a_point_no_further_than_the_others_reach() -> None:
    quiet = [[10.0, 10.1, 9.9, 10.2, 9.8]] * 9
    series, _, scale = prepare([*quiet, [10.0, 10.1, 9.9, 13.0, 13.0]])
    assert series.points[9] * scale == pytest.approx(10.1)
    assert 10.1 < series.means[9] * scale < 10.6
    assert series.means[0] * scale == pytest.approx(10.0)


def test_blocks_are_counted_from_campaigns_where_rounds_have_nothing_in_common() -> None:
    series, _, _ = prepare([[1.0, 1.0], [1.0, 1.0], [1.0], [1.0]], one_each([[1, 1], [1, 2], [2], [3]]))
    assert series.blocks.tolist() == [1, 2, 1, 1]
    assert series.fresh.tolist() == [1, 1, 0, 1]
    assert [series.blocks_from(1, last) for last in (1, 2, 3)] == [2, 2, 3]


@pytest.mark.parametrize(
    ("versions", "own", "fresh"),
    [
        ([[(1, 1), (1, 2)], [(1, 1), (1, 2)]], [1, 2], [1, 0]),
        ([[(1, 1), (2, 3)], [(1, 1), (3, 3)]], [2, 2], [2, 0]),  # as many common rounds as campaigns
        ([[(1, 1), (2, 3)], [(1, 1), (3, 3), (4, 5)]], [2, 3], [2, 2]),
        (
            [[(1, 1)] * 2, [(1, 2)] * 2, [(1, 1)] * 2],
            [1, 1, 1],
            [1, 0, 0],
        ),  # one common round is no evidence of its own
    ],
)
def test_common_rounds_count_instead_of_campaigns_where_there_are_as_many(
    versions: Any, own: list[int], fresh: list[int]
) -> None:
    series, _, _ = prepare([[1.0] * len(of) for of in versions], versions)
    assert (series.blocks.tolist(), series.fresh.tolist()) == (own, fresh)


def test_rounds_are_blocks_of_a_point_only_where_they_are_counted() -> None:
    before: Any = [(1, 1), (1, 2), (1, 3)]
    newest: Any = [(1, 1), (1, 1), (1, 2), (1, 3)]
    series, _, scale = prepare([[1.0] * 3, [1.0, 2.0, 9.0, 4.0]], [before, newest])
    assert series.points[1] * scale == 4.0  # of 1.5, 9 and 4
    alone, _, scale = prepare([[1.0] * 3, [1.0, 2.0, 9.0]], [before, [(2, 4), (2, 4), (2, 5)]])
    assert alone.points[1] * scale == 2.0


@pytest.mark.parametrize("of", [[(5, 0)], [(5, None)], [(5, -3), (5, None)], [(5, -3), (6, -4)], [(5, -3), (5, 2)]])
def test_only_what_a_campaign_measured_in_turn_is_a_stretch(of: Any) -> None:
    blocks: Any = [[(5, -1)], [(5, -2)], of, of, [(6, -7)], [(6, -8)], [(5, -9)]]
    series, _, _ = prepare([[1.0] * len(one) for one in blocks], blocks)
    assert series.stretches.tolist() == [0, 0, 2, 3, 4, 4, 6]
    plain, _, _ = prepare([1.0, None, 2.0, 3.0], [[(5, -1)], [(5, -2)], [(5, -3)], [(6, -4)]])
    assert plain.stretches.tolist() == [0, 0, 2]


def test_the_runs_of_the_first_three_versions_say_what_is_known_before() -> None:
    def runs(*counts: int) -> list[list[float]]:
        return [np.linspace(-1.0, 1.0, count).tolist() if count > 1 else [0.0] for count in counts]

    assert prepare(runs(1, 5, 5, 5))[0].prior == Prior()
    assert prepare(runs(2, 2, 4))[0].prior == Prior()
    assert prepare(runs(5, 5))[0].prior == Prior()
    series, _, scale = prepare(runs(2, 5, 6, 9))
    of_ten = series.prior
    squares = sum(float(((of - of.mean()) ** 2).sum()) for of in map(np.array, runs(2, 5, 6)))
    assert (of_ten.degrees, of_ten.correlation) == (10.0, 0.0)
    assert of_ten.deviation * scale == pytest.approx(math.sqrt(squares / 10 * (1.35 / 5 + 0.25)))
    assert prepare(runs(9, 9, 9))[0].prior.degrees == 20.0
    apart = [[value + shift for value in of] for of, shift in zip(runs(3, 3, 3), (-4.0, 0.0, 3.0), strict=True)]
    series, _, scale = prepare(apart)
    assert (series.prior.degrees, series.prior.deviation * scale) == (8.0, pytest.approx(1.7 * 3.0))
    assert series.prior.correlation == 0.0


def test_one_run_of_the_first_three_versions_counts_as_six_times_as_far_off_as_is_usual() -> None:
    usual = [[98.0, 100.0, 101.0, 102.0], [99.0, 100.0, 101.0], [99.0, 100.0, 101.0]]
    held = [*usual[:2], [99.0, 100.0, 106.0]]
    for wild in (1e3, 1e308):
        series, _, scale = prepare([*usual[:2], [99.0, 100.0, wild]])
        assert series.prior.deviation * scale == pytest.approx((lambda s, _, u: s.prior.deviation * u)(*prepare(held)))
    equal = [[100.0] * 3] * 2
    assert prepare([*equal, [100.0, 100.0, 1e3]])[0].prior == prepare([*equal, [100.0] * 3])[0].prior


def test_means_hold_back_what_was_not_usual_before() -> None:
    series, _, scale = prepare([[0.0, 2.0], [0.0, 1.0, 3.0], [-1.0, 0.0, 0.0, 90.0], [0.0, 9.0, 9.5]])
    usual = [1.0, 1.0, math.sqrt((1.0 + 1.0) / 1.0), math.sqrt((1.0 + 1.0 + 1.0) / 3.0)]
    assert (series.means * scale).tolist() == pytest.approx(
        [1.0, 1.0 + (2.0 - 1.0) / 3.0, (-1.0 + 3.0 * usual[2]) / 4.0, 9.0 + (0.5 - 3.0 * usual[3]) / 3.0]
    )
    assert (series.squares * scale**2).tolist() == pytest.approx([1.0, 1.0, 1.0, 0.25])
    alone, _, _ = prepare([100.0, None, 64.0])
    assert alone.means.tolist() == alone.points.tolist() == [100.0 / 64.0, 1.0]


def test_more_runs_than_before_lower_the_variance_of_a_point() -> None:
    assert precision(np.array([2.0, 1.0, 4.0, 2.0]), np.arange(4)).tolist() == [1.0, 1.0, 0.625, 0.75]


def test_values_are_divided_by_a_power_of_two() -> None:
    assert [power_of_two(largest) for largest in (0.0, 1.0, 1.9, 2.0, 0.005, 1e300)] == [
        *[1.0, 1.0, 1.0, 2.0, 2.0**-8, 2.0**996],
    ]


def test_runs_without_a_value_are_left_out() -> None:
    assert [*map(single_runs, ([1.0, None], [[1.0, 2.0]], [1.0, math.inf], [[None]]))] == [None] * 4
    assert [[*(single_runs(values) or [])] for values in ([1.0, 2.0], [[1.0], [2.0]])] == [[1.0, 2.0]] * 2
    mixed, index, scale = prepare([1.0, [2.0, None, 4.0, math.nan, math.inf], None, [None]])
    assert ((mixed.points * scale).tolist(), index.tolist()) == ([1.0, 3.0], [0, 1])
    assert [prepare(nothing)[2] for nothing in ([], [None], [[None]])] == [1.0] * 3


def test_rounds_that_earlier_versions_share_are_blocks_from_two_on() -> None:
    night: Blocks = [[(1, 1), (1, 2), (1, 3)], [(1, 1), (1, 2), (1, 3)], [(1, 2)], [(1, 4), (1, 5)]]
    series, _, _ = prepare([[1.0] * len(of) for of in night], night)
    assert series.blocks.tolist() == [1, 3, 1, 1]
    assert series.fresh.tolist() == [1, 0, 0, 0]


def of_nights(versions: int, nights: int, *, rounds: bool) -> Blocks:
    """So many versions in each night, three runs each."""
    return [[(n, 3 * n + r if rounds else None) for r in range(3)] for n in range(nights) for _ in range(versions)]


def test_rounds_that_few_of_the_earlier_versions_share_are_one_block() -> None:
    def blocks(of: Blocks) -> Any:
        return prepare([[1.0] * 3] * len(of), of)[0].blocks.tolist()

    assert blocks(of_nights(3, 2, rounds=True)) == [1, 3, 3, 1, 1, 1]  # the first night's are all that there are
    assert blocks(of_nights(7, 2, rounds=True)) == [1, *[3] * 6, *[1] * 5, 3, 3]


@pytest.mark.parametrize(("versions", "rounds", "degrees"), [
    (1, False, 6.0), (2, False, 5.9), (2, True, 5.9), (3, False, 5.9), (3, True, 5.9), (4, False, 5.9), (4, True, 6.0),
])  # fmt: skip
def test_repeats_of_versions_that_share_a_night_say_less_of_the_noise(
    versions: int, rounds: bool, degrees: float
) -> None:
    of = of_nights(versions, 12 // versions, rounds=rounds)
    prior = prepare([[99.0, 100.0, 101.0]] * 12, of)[0].prior
    assert (prior.degrees, prior.deviation) == (degrees, prepare([[99.0, 100.0, 101.0]] * 12)[0].prior.deviation)


def test_the_first_version_of_a_night_speaks_for_it() -> None:
    def speaks(of: Blocks) -> Any:
        return prepare([[1.0] * len(one) for one in of], of)[0].speaks.tolist()

    assert speaks(of_nights(3, 2, rounds=False)) == [True, False, False] * 2
    assert speaks(of_nights(1, 4, rounds=False)) == [True] * 4
    assert speaks(of_nights(3, 1, rounds=True)) == [True] * 3
    assert speaks([[(at // 3, -1 - at)] * 3 for at in range(4)]) == [True] * 4


def shared_mood(number: int, versions: int) -> Any:
    """Forty versions of five runs of 3 %, so many of them with the same mood of 5 %."""
    numbers = np.random.default_rng([53, number])
    moods = (100.0 + 5.0 * numbers.standard_normal(40)).repeat(versions)[:40]
    return (moods[:, None] * (1.0 + 0.03 * numbers.standard_normal((40, 5)))).tolist()


@pytest.mark.parametrize("versions", [2, 3])
def test_the_mood_of_a_night_of_several_versions_is_no_level(versions: int) -> None:
    of: Blocks = [[(place // versions, None)] * 5 for place in range(40)]
    series = [shared_mood(number, versions) for number in range(30)]
    found = judge_all(series, blocks=[of] * 30)
    assert sum(bool(one.changes) for one in found) <= 3
    mixed = judge_all([one for one in series[:4] for _ in range(2)], blocks=[of, None] * 4)
    assert mixed == [judge(one, blocks=blocks) for one in series[:4] for blocks in (of, None)]
    assert mixed[::2] == found[:4]
    stepped = [[[run * 1.3 for run in runs] if place >= 20 else runs for place, runs in enumerate(values)]
               for values in series]  # fmt: skip
    assert sum(bool(one.changes) for one in judge_all(stepped, blocks=[of] * 30)) >= 27


def test_a_gap_takes_its_block_with_it() -> None:
    series, index, _ = prepare([[1.0, math.nan], [None], [2.0, 2.0]], one_each([[1, 2], [3], [4, 4]]))
    assert index.tolist() == [0, 2]
    assert series.blocks.tolist() == [1, 1]
    assert series.runs.tolist() == [1, 2]


def test_blocks_that_are_not_those_of_the_runs_are_an_error() -> None:
    night = [(0, None)]
    for blocks in ([night * 2], [night * 2, night * 2], [night * 2, night, night]):
        with pytest.raises(ValueError, match="zip"):
            prepare([[1.0, 2.0], 3.0], blocks)


def levels(text: str, noise: float = 1.0) -> Floats:
    """``.`` for the level 100, ``#`` for 110."""
    values = np.array([110.0 if sign == "#" else 100.0 for sign in text])
    return np.asarray(values + noise * np.tile([0.5, -0.5], len(text))[: len(text)])


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("......####......", 1),
        ("......####......###.....", 2),
        ("......####......###.....##", 2),  # it has not come back yet
        ("####......###......", 2),  # a history may begin on the other level
        ("......#......#......#......", 0),  # single points are disturbed ones as likely
        ("......##......##......", 2),
        ("......##......#......", 2),
        ("......##.##......", 2),  # one point tells where levels lie as far apart
        ("..##..", 0),
        ("....................", 0),
    ],
)
def test_a_return_is_a_stay_near_the_other_level_and_the_way_back(text: str, count: int) -> None:
    assert count_of_stays(levels(text), 100.0, 110.0) == count
    assert count_of_stays(-levels(text), -100.0, -110.0) == count


def test_what_lies_between_both_levels_is_a_stay_on_neither() -> None:
    text = "......####......###....."
    assert count_of_stays(levels(text), 100.0, 113.0) == 2
    assert count_of_stays(levels(text), 100.0, 115.0) == 0
    assert count_of_stays(levels(text, noise=12.0), 100.0, 110.0) == 0
    assert count_of_stays(levels(text), 100.0, 100.0) == 0


def test_the_stay_that_a_change_begins_counts_once_it_is_over() -> None:
    """What a history does between a change and the version that showed it is known by then."""
    assert count_of_stays(levels("......##......#.####"), 100.0, 110.0) == 2


@pytest.mark.parametrize(
    ("newest", "ratio"),
    [
        (3, 1.0),
        (14, 1.0),
        (15, (9 + 9 + 4) / 14),  # nine squares of 1, one of 25 that counts as 9, and four that are lent
        (19, (5 + 45 + 4) / 14),
        (24, (90 + 4) / 14),
    ],
)
def test_the_newest_points_of_an_old_level_say_how_it_spreads_today(newest: int, ratio: float) -> None:
    points = np.tile([1.0, -1.0], 15)
    points[15:] *= 5.0
    found = _unsettled(points + 100.0, np.array([newest]), np.array([newest + 1]), np.array([100.0]), np.array([1.0]))
    assert found.tolist() == [pytest.approx(ratio)]
    assert _unsettled(points, *[np.array([number]) for number in (newest, newest + 1, 0.0, 0.0)]) < 1.0


def test_two_high_points_are_a_new_level_unless_the_spread_grew_before_them() -> None:
    def found(spread: float) -> list[int]:
        middle = 100.0 + np.concatenate([np.tile([1.0, -1.0], 26), np.tile([spread, -spread], 4)])
        return change_points([[v - 0.5, v, v + 0.5] for v in [*middle.tolist(), 107.0, 108.0]])

    assert found(1.0) == [60]
    assert found(3.0) == []


def test_a_series_is_scaled_by_the_lower_middle_run_of_its_versions() -> None:
    versions = [[1.0, 64.0], [1.0, 64.0, 4096.0], [1.0, 2.0, 64.0, 128.0]]
    assert [prepare([runs] * 9)[2] for runs in versions] == [1.0, 64.0, 2.0]


def test_where_most_of_the_first_runs_are_equal_the_second_farthest_is_as_far_as_one_counts() -> None:
    one, other = (prepare([[1.0] * 3, [1.0, 1.0, 3.0], [1.0, 1.0, far]] * 3)[0].prior for far in (9.0, 3.0))
    assert one == other and one.deviation > 0.0
    assert prepare([[1.0] * 3] * 6)[0].prior == Prior(6.0)


def test_two_rounds_that_the_first_versions_share_are_enough_to_know_the_noise() -> None:
    def degrees(campaign: list[tuple[int, int | None]], *alone: int) -> float:
        blocks: Blocks = [campaign if place not in alone else campaign[:2] * 2 for place in range(6)]
        return float(prepare([[1.0, 2.0, 3.0, 4.0 + place] for place in range(6)], blocks)[0].prior.degrees)

    shared: list[tuple[int, int | None]] = [(0, 1), (0, 1), (0, 2), (0, 2)]
    assert degrees(shared) == degrees(shared, 4) == degrees(shared, 5) == 9.0
    assert [degrees(shared, place) for place in (1, 2, 3)] == [5.9] * 3
    later: Blocks = [[(0, None)] * 4] * 2 + [[(0, None)] * 2 + [(5, None)] * 2] * 4
    assert prepare([[1.0, 2.0, 3.0, 4.0]] * 6, later)[0].prior.degrees == 5.9


def test_what_all_points_have_in_common_is_known() -> None:
    assert prepare([1.0, 2.0])[0].common == {"precision": 1.0, "blocks": 1.0, "runs": 1.0}
    assert prepare([[1.0] * 2, [1.0] * 3])[0].common == {"blocks": 1.0}
