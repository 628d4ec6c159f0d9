"""What stands behind a point of a series: its value, its blocks, and how often a level was left and returned to."""

from __future__ import annotations

import math

import numpy as np
import pytest

from matrix_benchmarking.analyze.detect.evidence import Floats
from matrix_benchmarking.analyze.detect.series import Blocks, prepare
from matrix_benchmarking.analyze.verdict.returns import returns


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


def test_rounds_that_earlier_versions_share_are_blocks_from_two_on() -> None:
    night: Blocks = [[(1, 1), (1, 2), (1, 3)], [(1, 1), (1, 2), (1, 3)], [(1, 2)], [(1, 4), (1, 5)]]
    series, _, _ = prepare([[1.0] * len(of) for of in night], night)
    assert series.blocks.tolist() == [1, 3, 1, 1]
    assert series.fresh.tolist() == [1, 0, 0, 0]


def test_a_gap_takes_its_block_with_it() -> None:
    series, index, _ = prepare([[1.0, math.nan], [None], [2.0, 2.0]], one_each([[1, 2], [3], [4, 4]]))
    assert index.tolist() == [0, 2]
    assert series.blocks.tolist() == [1, 1]
    assert series.runs.tolist() == [1, 2]


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
        ("####......###......", 1),  # the level was not left before it began there
        ("......#......#......#......", 0),  # one point is as likely a disturbed one
        ("......##......##......", 2),
        ("..##..", 0),
        ("....................", 0),
    ],
)
def test_a_return_is_a_stay_of_two_points_near_the_other_level_and_the_way_back(text: str, count: int) -> None:
    assert returns(levels(text), 100.0, 110.0) == count
    assert returns(-levels(text), -100.0, -110.0) == count


def test_a_stay_far_below_the_other_level_or_within_the_noise_is_none() -> None:
    text = "......####......###....."
    assert returns(levels(text), 100.0, 113.0) == 2
    assert returns(levels(text), 100.0, 114.0) == 0
    assert returns(levels(text, noise=8.0), 100.0, 110.0) == 0
