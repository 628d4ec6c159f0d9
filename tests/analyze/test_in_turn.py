"""Versions that a campaign measured one after the other: what they tell of a change within it."""

from __future__ import annotations

import numpy as np
import pytest

from matrix_benchmarking.analyze.detect import change_points, together
from matrix_benchmarking.analyze.detect.series import Blocks, prepare


def in_turn(campaigns: list[int], runs: int = 3) -> Blocks:
    return [[(campaign, -1 - at)] * runs for at, campaign in enumerate(campaigns)]


def test_a_campaign_that_measured_five_versions_before_tells_a_change_within_it() -> None:
    values = [[100.0] * 3] * 12 + [[110.0] * 3] * 8
    series, _, _ = prepare(values, in_turn([0] * 6 + [1] * 14))
    assert series.stretches.tolist() == [0] * 6 + [6] * 14
    assert [series.blocks_from(12, last) for last in (12, 13, 14, 16)] == [1, 1, 2, 3]
    assert [series.blocks_from(first, 19) for first in (6, 10, 11, 12)] == [1, 1, 5, 4]
    assert series.blocks_from(np.array([12, 6]), np.array([14, 14])).tolist() == [2, 1]
    recorded, _, _ = prepare(values, [[(0, None)] * 3] * 6 + [[(1, None)] * 3] * 14)
    assert recorded.blocks_from(12, 19) == 1


def test_the_blocks_of_series_beside_each_other_are_those_of_each() -> None:
    numbers, every = np.random.default_rng(11), []
    for begins in (1, 2, 3, 4, 5, 6):
        values = (
            100.0 * (1 + begins) + numbers.standard_normal((20, 1)) + np.where(np.arange(20) < 15, 0.0, 1.5)[:, None]
        )
        every.append(prepare(values.repeat(2, axis=1).tolist(), in_turn([0] * begins + [1] * (20 - begins), 2)))
    part = together._of_prepared(range(6), *zip(*[(one, scale, index) for one, index, scale in every], strict=True))
    first, last = (place + 1 for place in np.triu_indices(19))
    found = [part.series.blocks_from(20 * row + first, 20 * row + last).tolist() for row in range(6)]
    assert found == [one.blocks_from(first, last).tolist() for one, _, _ in every]
    assert min(map(max, found)) > 4


def test_the_mood_of_a_campaign_is_no_change_within_it() -> None:
    values = [[100.0] * 3] * 12 + [[110.0] * 3] * 11
    series, _, _ = prepare(values, in_turn([0] * 12 + [1] * 11))
    assert [series.blocks_from(first, 22) for first in (12, 17, 18)] == [1, 1, 1]
    higher, _, _ = prepare([*values, *[[121.0] * 3] * 4], in_turn([0] * 12 + [1] * 15))
    assert higher.blocks_from(23, 26) == 2


@pytest.mark.parametrize(
    ("before", "of_campaign", "blocks"),
    [
        ([500.0] * 10 + [100.0] * 20, [100.0] * 6 + [110.0] * 4, 2),  # twenty versions before it say what its mood is
        ([500.0] + [100.0] * 19, [100.0] * 6 + [110.0] * 4, 1),
        ([90.0] * 20, [100.0] * 6 + [110.0] * 4, 1),  # its mood is as far off
        ([90.0] * 20, [100.0] * 6 + [110.1] * 4, 2),
        ([90.0] * 20, [100.0] * 6 + [111.0, 111.0, 111.0, 100.0], 1),  # all new versions tell it together
        ([100.0] * 20, [100.0] * 6 + [100.5] * 4, 2),
        ([], [100.0] * 5 + [110.0] * 4, 2),
        ([100.0], [100.0] * 6 + [110.0] * 4, 2),
        ([100.0], [100.0] * 5 + [110.0] * 4, 2),
        ([100.0], [100.0] * 4 + [110.0] * 4, 1),
    ],
)
def test_what_lies_before_a_campaign_says_whether_its_versions_tell_a_change(
    before: list[float], of_campaign: list[float], blocks: int
) -> None:
    count, first = len(before), len(before) + len(of_campaign) - 4
    where = [[(place, None)] for place in range(count)] + [[(99, -1 - at)] for at in range(len(of_campaign))]
    series, _, _ = prepare([[value] for value in before + of_campaign], where)
    assert series.blocks_from(first, first + 3) == blocks
    later, _, _ = prepare([[value] for value in [*before, *of_campaign, 110.0, 110.0]], [*where, [(7, None)], [(8, 1)]])
    assert later.blocks_from(first, first + 5) == blocks + 2


@pytest.mark.parametrize("value", [100.0, 0.0])
def test_equal_versions_of_a_campaign_tell_no_change(value: float) -> None:
    series, _, _ = prepare([[value]] * 9, in_turn([0] * 9, 1))
    assert [series.blocks_from(first, 8) for first in (5, 6)] == [1, 1]


def test_by_what_rounding_may_do_nothing_is_farther() -> None:
    def blocks(newest: float) -> int:
        where = [[(place, None)] for place in range(20)] + [[(99, -1 - at)] for at in range(10)]
        series, _, _ = prepare([[value] for value in [90.0] * 20 + [100.0] * 6 + [newest] * 4], where)
        return int(series.blocks_from(26, 29))

    assert [blocks(110.0 + far) for far in (1.05e-7, 1.15e-7)] == [1, 2]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_version_beyond_reason_counts_as_a_million_times_the_first_ones(sign: float) -> None:
    def blocks(newest: float) -> int:
        """Of four versions that lie farther off the campaign's first ones than those do off the twenty before them."""
        values = [sign * value for value in [*[1.0] * 10, 1e9, *[1.0] * 9, *[1.0] * 6, *[newest] * 4]]
        where = [[(place, None)] for place in range(20)] + [[(99, -1 - at)] for at in range(10)]
        return int(prepare([[value] for value in values], where)[0].blocks_from(26, 29))

    assert [blocks(newest) for newest in (50_000.0, 50_002.0)] == [1, 2]


def test_repeats_of_versions_in_turn_say_nothing_of_the_noise_and_each_says_half_as_much() -> None:
    values = [[99.0, 100.0, 101.0]] * 6
    alone, _, _ = prepare(values)
    assert alone.prior.degrees == 6.0
    assert alone.precision.tolist() == [1.0] * 6
    in_one, _, _ = prepare(values, in_turn([0, 0, 0, 0, 1, 1]))
    assert in_one.prior.degrees == 0.0
    assert in_one.precision.tolist() == [1.0, 2.0, 2.0, 2.0, 1.0, 2.0]
    two_of_three, _, _ = prepare(values, in_turn([0, 0, 1, 2, 3, 4]))
    assert two_of_three.prior.degrees == 0.0
    later, _, _ = prepare(values, in_turn([0, 1, 2, 2, 2, 3]))
    assert later.prior.degrees == 6.0
    assert later.precision.tolist() == [1.0, 1.0, 1.0, 2.0, 2.0, 1.0]


def test_a_mood_that_drifts_through_the_day_is_no_change_and_a_step_within_it_is_one() -> None:
    """An AR(1) mood of 2 % that holds for ten versions, runs of 2 %, 30 versions a day; a step of 12 %."""

    def found(step: float) -> list[list[int]]:
        series = []
        for seed in range(40):
            random = np.random.default_rng([seed, 15])
            mood = random.normal(0.0, 0.02, 60)
            for at in range(1, 60):
                mood[at] = 0.905 * mood[at - 1] + 0.425 * mood[at]
            values = mood[:, None] + random.normal(0.0, 0.02, (60, 5))
            values[45:] += step
            series.append(change_points(np.exp(values).tolist(), blocks=in_turn([0] * 30 + [1] * 30, 5)))
        return series

    # Of 40; 31 where repeats are taken to know the mood, and 9 where neighbours do.
    assert sum(map(bool, found(0.0))) <= 6
    assert sum(any(43 <= place <= 47 for place in one) for one in found(0.12)) >= 25
