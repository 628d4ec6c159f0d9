"""A against B: which blocks count, by how much two sides differ and how sure that is, on numbers worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from counted import calls_of
from scipy import stats

from matrix_benchmarking.analyze import pair, weigh
from matrix_benchmarking.analyze.detect import q_values
from matrix_benchmarking.analyze.intervals import Scale
from matrix_benchmarking.analyze.pair import NO_ROUND, OTHER, Evidence, Ground, Runs
from matrix_benchmarking.analyze.weigh import NEW, OLD

Run = tuple[float, int, int, int]
"""Value, side, campaign, round."""


def runs(*of: Run) -> Runs:
    values, *others = zip(*of, strict=True)
    return pair.runs_of(values, *(np.array(one) for one in others))


def said(*of: Run) -> Evidence:
    return pair.evidence([runs(*of)])[0]


def p_value(evidence: Evidence) -> float:
    return float(weigh.tell(evidence.weighed).p_value)


IN_ROUNDS = [
    *((value, OLD, 0, number) for number, value in enumerate([10.0, 20.0, 30.0])),
    *((value, NEW, 0, number) for number, value in enumerate([11.0, 23.0, 36.0])),
]


def test_rounds_that_both_sides_share_are_compared_one_by_one() -> None:
    found = said(*IN_ROUNDS)
    steps = np.log([1.1, 1.15, 1.2])
    expected = stats.ttest_1samp(steps, 0.0)
    assert (found.ground, found.blocks) == (Ground.ROUNDS, (3, 3))
    assert float(found.weighed.difference) == pytest.approx(steps.mean())
    assert p_value(found) == pytest.approx(expected.pvalue)
    told, ends = weigh.tell(found.weighed), expected.confidence_interval(0.95)
    assert float(told.reach) == pytest.approx((ends.high - ends.low) / 2)
    assert math.exp(found.old) == pytest.approx((10.0 * 20.0 * 30.0) ** (1 / 3))
    assert found.deviations == {(NEW, n): pytest.approx(one - steps.mean()) for n, one in enumerate(steps)}


def test_rounds_that_are_alike_within_campaigns_alone_are_no_evidence_each() -> None:
    def series(*steps: float) -> Runs:  # of three nights, four rounds each
        wiggle = (0.01, -0.01, 0.02, -0.02)
        rounds = [
            (night, 4 * night + at, step + off) for night, step in enumerate(steps) for at, off in enumerate(wiggle)
        ]
        return runs(
            *((100.0, OLD, night, number) for night, number, _ in rounds),
            *((100.0 * math.exp(step), NEW, night, number) for night, number, step in rounds),
        )

    (torn,) = pair.evidence_of([series(0.02, 0.10, 0.06)])
    assert (torn.ground, torn.blocks) == (Ground.SHARED, (3, 3))
    assert p_value(torn) == pytest.approx(stats.ttest_1samp([0.02, 0.10, 0.06], 0.0).pvalue)
    (alike,) = pair.evidence_of([series(0.06, 0.06, 0.06)])
    assert (alike.ground, alike.blocks) == (Ground.ROUNDS, (12, 12))
    # What one series alone says of it is chance, and what all say again is said once.
    few = [series(0.02, 0.035, 0.025), *(series(0.06, 0.06, 0.06) for _ in range(3))]
    assert {one.ground for one in pair.evidence_of(few)} == {Ground.ROUNDS}
    assert {one.ground for one in pair.evidence_of(few[:1])} == {Ground.ROUNDS}


def test_runs_of_a_round_are_one_piece_of_evidence_however_many() -> None:
    more = [(value, side, 0, number) for value, side, _, number in IN_ROUNDS for _ in range(4)]
    assert p_value(said(*more)) == pytest.approx(p_value(said(*IN_ROUNDS)))


def test_what_lies_outside_the_common_rounds_does_not_count() -> None:
    apart = [(500.0, OLD, 1, 7), (1.0, NEW, 2, 8), (3.0, NEW, 0, NO_ROUND)]
    assert p_value(said(*IN_ROUNDS, *apart)) == pytest.approx(p_value(said(*IN_ROUNDS)))


def test_one_common_round_is_no_evidence() -> None:
    found = said((10.0, OLD, 0, 0), (11.0, NEW, 0, 0))
    assert found.ground is Ground.NONE
    assert float(found.weighed.difference) == pytest.approx(math.log(1.1))
    assert float(found.weighed.degrees) == 0.0


def test_two_common_rounds_are_the_least() -> None:
    found = said(*[run for run in IN_ROUNDS if run[3] < 2])
    assert found.ground is Ground.ROUNDS
    assert found.is_confirmed
    assert p_value(found) == pytest.approx(stats.ttest_1samp(np.log([1.1, 1.15]), 0.0).pvalue)


def test_campaigns_that_both_sides_share_are_blocks_as_rounds_are() -> None:
    found = said(*[(value, side, number, NO_ROUND) for value, side, _, number in IN_ROUNDS])
    assert found.ground is Ground.SHARED
    assert p_value(found) == pytest.approx(p_value(said(*IN_ROUNDS)))


def test_campaigns_of_each_side_are_compared_as_two_samples() -> None:
    old, new = [10.0, 10.4, 9.9], [11.0, 11.5, 11.1]
    found = said(
        *((value, OLD, number, NO_ROUND) for number, value in enumerate(old)),
        *((value, NEW, 5 + number, NO_ROUND) for number, value in enumerate(new)),
    )
    expected = stats.ttest_ind(np.log(new), np.log(old))
    assert (found.ground, found.blocks) == (Ground.CAMPAIGNS, (3, 3))
    assert found.is_confirmed
    assert p_value(found) == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval(0.95)
    assert float(weigh.tell(found.weighed).reach) == pytest.approx((ends.high - ends.low) / 2)
    assert found.deviations[(OLD, 1)] == pytest.approx(math.log(10.4) - np.log(old).mean())
    assert found.deviations[(NEW, 6)] == pytest.approx(math.log(11.5) - np.log(new).mean())


def test_a_campaign_is_one_however_many_rounds_and_runs_it_had() -> None:
    one = [(10.0, OLD, 0, 0), (10.4, OLD, 1, 1), (11.0, NEW, 2, 2), (11.6, NEW, 3, 3)]
    many = [(value, side, campaign, 10 * campaign + k) for value, side, campaign, _ in one for k in range(5)]
    assert p_value(said(*many)) == pytest.approx(p_value(said(*one)))


def test_a_side_of_one_campaign_confirms_nothing() -> None:
    found = said((10.0, OLD, 0, NO_ROUND), (10.1, OLD, 1, NO_ROUND), (12.0, NEW, 2, NO_ROUND))
    assert (found.ground, found.blocks) == (Ground.CAMPAIGNS, (2, 1))
    assert not found.is_confirmed


def history(levels: list[float], old: float = 10.0, new: float = 12.0) -> Evidence:
    others = [(value, OTHER + place, place, NO_ROUND) for place, value in enumerate(levels)]
    return said(*others, (old, OLD, 50, NO_ROUND), (new, NEW, 51, NO_ROUND))


def test_of_one_campaign_each_side_the_others_tell_how_campaigns_differ() -> None:
    levels = [10.0, 10.2, 9.9, 10.1, 10.1, 9.8, 10.3]
    found = history(levels)
    steps = np.abs(np.diff(np.log(levels)))
    deviation = 1.4826 * np.median(steps) / math.sqrt(2.0)
    assert found.ground is Ground.HISTORY
    assert not found.is_confirmed
    assert float(found.weighed.variance) == pytest.approx(deviation**2)
    assert (float(found.weighed.degrees), float(found.weighed.size)) == (3.0, 2.0)
    assert p_value(found) == pytest.approx(2 * stats.t.sf(math.log(1.2) / (deviation * math.sqrt(2.0)), 3.0))


def test_fewer_than_six_steps_between_campaigns_tell_nothing() -> None:
    assert history([10.0, 10.2, 9.9, 10.1, 10.1, 9.8]).ground is Ground.NONE
    assert history([10.0, 10.2, 9.9, 10.1, 10.1, 9.8, 10.3]).ground is Ground.HISTORY


def test_a_change_among_the_others_does_not_count_as_mood() -> None:
    quiet = [10.0, 10.2, 9.9, 10.1, 10.1, 9.8, 10.3]
    stepped = [*quiet[:4], *(value * 2 for value in quiet[4:])]
    assert float(history(stepped).weighed.variance) < 2 * float(history(quiet).weighed.variance)


def test_a_difference_is_no_rarer_than_odd_campaigns_that_were_there_before() -> None:
    quiet = [10.0, 10.2, 9.9, 10.1, 10.1, 9.8, 10.3, 10.0, 9.9, 10.2, 10.1, 9.9]
    assert p_value(history(quiet)) < 0.01
    odd = [*quiet[:5], 13.0, *quiet[6:]]
    assert p_value(history(odd)) == pytest.approx(1 / 10)
    assert p_value(history(odd, new=15.0)) < 0.01  # farther than that one was


def test_where_most_campaigns_are_equal_their_runs_and_those_that_return_tell_how_they_differ() -> None:
    """Values such as the bounds of a histogram's buckets: a median of steps would be 0, and any difference certain."""
    odd = {2: 8.75, 7: 11.25, 12: 11.25}
    others = [
        (odd.get(number, 10.0) if run == 0 else 10.0, OTHER + number, number, NO_ROUND)
        for number in range(15)
        for run in range(3)
    ]
    sides = [(10.0, OLD, 50, NO_ROUND)] * 3 + [(new, NEW, 51, NO_ROUND) for new in (10.0, 10.0, 11.25)]
    scattering = said(*others, *sides)
    assert scattering.ground is Ground.HISTORY
    assert p_value(scattering) > 0.03
    assert p_value(history([odd.get(number, 10.0) for number in range(15)], new=11.25)) > 0.03
    exact = [10.0] * 5 + [10.5] * 5 + [10.25] * 5  # a size that changes stay in
    assert p_value(history(exact, old=10.25, new=10.5)) < 1e-6


def test_a_and_b_back_to_back_in_one_campaign_can_not_be_told() -> None:
    found = said(*((10.0 + k / 100, OLD, 0, NO_ROUND) for k in range(5)), *((20.0, NEW, 0, NO_ROUND) for _ in range(5)))
    assert found.ground is Ground.NONE


def test_values_of_which_one_is_not_positive_are_compared_as_they_are() -> None:
    found = runs((0.0, OLD, 0, 0), (0.5, NEW, 0, 0), (0.25, OLD, 0, 1), (1.0, NEW, 0, 1))
    assert found.scale is Scale.DIFFERENCE
    (evidence,) = pair.evidence([found])
    assert float(evidence.weighed.difference) * found.unit == pytest.approx(0.625)
    assert found.back(evidence.old) == pytest.approx(0.125)
    for one in (1e300, 1.5e308):
        both = (-one, OLD, 0, 0), (one, NEW, 0, 0), (-1.1 * one, OLD, 0, 1), (one, NEW, 0, 1)
        assert math.isfinite(float(pair.evidence([runs(*both)])[0].weighed.variance))


def test_others_that_can_not_be_compared_as_ratios_are_left_out() -> None:
    found = runs((1.0, OLD, 0, 0), (2.0, NEW, 0, 0), (0.0, OTHER, 0, 0))
    assert (found.scale, found.unit, len(found.values)) == (Scale.RATIO, 1.0, 2)
    assert len(runs((1.0, OLD, 0, 0), (2.0, NEW, 0, 0), (0.005, OTHER, 0, 0)).values) == 3


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([1.5, 2.25, 3.0], 0.01),
        ([10.0, 20.0, 30.0], 1.0),
        ([1.0, 1.0, 1.0], 0.0),
        ([1.5], 0.0),
        ([0.1 + 0.2, 0.5], 5e-16),
        ([1e-7, 3e-7], 1e-7),
        ([0.0, 3.0], 1.0),
        ([1e-15, 3.0], 1e-15),
        ([1e-16, 3.0], 1e-15),
        ([1.5e-17, 3e-17], 1e-18),
    ],
)
def test_the_step_of_rounded_values_is_that_of_their_decimals(values: list[float], step: float) -> None:
    found = runs(*((value, NEW if number else OLD, 0, 0) for number, value in enumerate(values)))
    unit = float(np.median(values)) if found.scale is Scale.RATIO else found.unit
    assert found.step * unit == pytest.approx(step, rel=1e-9, abs=0.0)


def test_no_spread_is_known_to_be_smaller_than_that_of_the_rounding() -> None:
    found = said((10.0, OLD, 0, 0), (11.0, NEW, 0, 0), (10.0, OLD, 0, 1), (11.0, NEW, 0, 1))
    assert float(found.weighed.variance) == pytest.approx(2 * (1 / 10.5) ** 2 / 12)
    apart = said((10.0, OLD, 0, 0), (11.0, NEW, 2, 2), (10.0, OLD, 1, 1), (11.0, NEW, 3, 3))
    assert float(apart.weighed.variance) == pytest.approx((1 / 10.5) ** 2 / 12)
    same = said((10.0, OLD, 0, 0), (10.0, NEW, 0, 0), (10.0, OLD, 0, 1), (10.0, NEW, 0, 1))
    assert p_value(same) == 1.0


def test_one_block_far_from_all_others_of_its_side_is_held_back() -> None:
    held = weigh.hold_spikes(np.array([1.0, 1.1, 0.9, 1.0, 50.0]))
    others = np.array([1.0, 1.1, 0.9, 1.0])
    room = stats.t.ppf(1 - 0.002 / 5, 3) * others.std(ddof=1)
    assert held.tolist() == pytest.approx([*others, 1.0 + room])
    below = weigh.hold_spikes(np.array([-50.0, 1.0, 1.1, 0.9, 1.0]))
    assert below[0] == pytest.approx(1.0 - room)
    near_zero = weigh.hold_spikes(np.array([-10.0, -10.1, 0.5, -9.9, -10.0]))
    assert near_zero[2] == pytest.approx(-10.0 + room)
    of_four = weigh.hold_spikes(np.array([1.0, 50.0, 1.1, 0.9]))
    assert of_four[1] == pytest.approx(1.0 + stats.t.ppf(1 - 0.002 / 4, 2) * 0.1)


@pytest.mark.parametrize("has_rounds", [True, False])
@pytest.mark.parametrize("side", [OLD, NEW])
def test_the_levels_are_those_of_the_runs_but_for_a_block_that_is_held_back(side: int, has_rounds: bool) -> None:
    """The new level is not outside of all new runs because an old one was three times as slow."""
    values = {OLD: [10.0, 10.1, 9.9, 10.0, 10.05], NEW: [11.0, 11.1, 10.9, 11.0, 11.05]}
    values[side][2] *= 3.0
    found = said(
        *(
            (value, each, 0 if has_rounds else 5 * each + number, number if has_rounds else NO_ROUND)
            for each, several in values.items()
            for number, value in enumerate(several)
        )
    )
    assert found.held == 1
    assert math.exp(found.old) == pytest.approx(10.0, rel=0.02)
    assert math.exp(found.old + float(found.weighed.difference)) == pytest.approx(11.0, rel=0.02)


def test_a_block_off_by_no_more_than_both_sides_differ_is_no_accident() -> None:
    """Of runs that take one of two paths, all but one of a side may take the same by chance."""
    low, high = np.array([1.0, 1.001, 0.999, 1.0, 1.1]), np.array([1.1, 1.101, 1.099, 1.1, 1.0])
    assert weigh.hold_spikes(low, between=0.1).tolist() == low.tolist()
    held = weigh.hold_spikes(low, between=0.01)
    assert held[-1] < 1.1
    assert held[:-1].tolist() == low[:-1].tolist()
    apart = weigh.weigh_apart(low, high)
    assert float(apart.difference) == pytest.approx(high.mean() - low.mean())
    shared = weigh.weigh_shared(high - low)
    assert float(shared.difference) == pytest.approx(high.mean() - low.mean())
    far = low.copy()
    far[-1] = 3.0
    assert float(weigh.weigh_apart(far, high).variance) < float(weigh.weigh_apart(low, high).variance) * 10


def test_runs_of_two_paths_are_not_worse_by_chance() -> None:
    random = np.random.default_rng(270)
    slow = math.log(1.1) * (random.uniform(size=(2, 400, 10, 5)) < 0.5)
    old, new = slow + 0.003 * random.normal(size=slow.shape)
    for weighed in (weigh.weigh_apart(old, new), weigh.weigh_shared(new - old)):
        p_values = weigh.tell(weigh.lend_to(weighed, np.zeros(len(old)))).p_value
        worse = [max(np.array(q_values(row)) <= 0.05) for row in p_values.tolist()]
        assert np.mean(worse) < 0.12  # both ways; nearly half of them if such blocks were held back


@pytest.mark.parametrize("values", [[1.0, 1.1, 50.0], [1.0, 1.1, 0.9, 1.2, 1.6], [1.0, 1.0, 1.0, 1.0, 9.0]])
def test_a_block_is_not_held_where_three_or_equal_ones_can_not_tell(values: list[float]) -> None:
    assert weigh.hold_spikes(np.array(values)).tolist() == values


def test_each_of_many_analyses_is_held_and_weighed_by_itself() -> None:
    random = np.random.default_rng(1)
    old, new = random.normal(size=(2, 3, 4, 5))
    old[1, 2, 3] = 99.0
    together, alone = weigh.weigh_apart(old, new), weigh.weigh_apart(old[1, 2], new[1, 2])
    shared, one = weigh.weigh_shared(new - old), weigh.weigh_shared(new[1, 2] - old[1, 2])
    for many, single in ((together, alone), (shared, one)):
        for field in many.__struct_fields__:
            each = np.broadcast_to(getattr(many, field), (3, 4))
            assert each[1, 2] == pytest.approx(getattr(single, field))
    unequal, by_itself = weigh.weigh_apart(old, new[..., :3]), weigh.weigh_apart(old[0, 1], new[0, 1, :3])
    assert unequal.size[0, 1] == pytest.approx(by_itself.size)


@pytest.mark.parametrize("unit", [1.0, 1e-3])
@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize(
    ("few", "many", "wider"),
    [
        ([10.0, 10.0], [0.0, 0.0, 0.0, 6.0], (1.0 + 0.3 * (2.0 / math.sqrt(3.0) - 0.3) / 2.0) ** 2),
        ([-10.0, -10.0], [0.0, 0.0, 0.0, 6.0], 1.0),  # on the side to which the others aren't skewed
        ([8.0, 12.0], [-1.0, 1.0, -1.0, 1.0], 2.0),
        ([9.9, 10.1], [-1.0, 1.0, -1.0, 1.0], 1.0),
        ([8.0, 12.0], [1.0, 1.0, 1.0, 1.0], 1.0),  # nothing to compare with
    ],
)
def test_of_unequal_sides_the_one_with_fewer_blocks_is_known_worse_where_they_are_skewed_or_spread_more(
    few: list[float], many: list[float], wider: float, is_new: bool, unit: float
) -> None:
    sides = unit * np.array(many), unit * np.array(few)
    found = weigh.weigh_apart(*(sides if is_new else sides[::-1]))
    assert float(found.size) == pytest.approx(wider / 2.0 + 1.0 / 4.0)


def test_a_new_side_that_is_noisier_in_every_series_is_known_for_it_in_each() -> None:
    random = np.random.default_rng(31)
    old, new = random.normal(size=(2000, 10, 10)), random.normal(size=(2000, 10, 3))

    def told(series: int, times: float) -> float:
        weighed = weigh.weigh_apart(old[:, :series], times * new[:, :series])
        return float((weigh.tell(weigh.lend_to(weighed, np.zeros(len(old)))).p_value <= 0.05).mean())

    assert 0.03 < told(10, 1.0) < 0.05
    assert told(10, 3.0) < 0.055
    assert told(1, 3.0) > 0.1  # three blocks of one series say too little


def test_the_difference_that_would_have_been_seen_is_so_in_four_of_five_cases() -> None:
    random = np.random.default_rng(3)
    blocks = 8
    steps = random.normal(size=(4000, blocks))
    unchanged = weigh.tell(weigh.weigh_shared(steps))
    assert float(np.mean(unchanged.p_value <= 0.05)) == pytest.approx(0.05, abs=0.012)
    shift = float(stats.t.ppf(0.975, blocks - 1) + stats.t.ppf(0.8, blocks - 1)) / math.sqrt(blocks)
    assert float(np.median(unchanged.seen)) == pytest.approx(shift, rel=0.1)
    assert float(np.mean(weigh.tell(weigh.weigh_shared(steps + shift)).p_value <= 0.05)) == pytest.approx(0.8, abs=0.06)


def spread(scale: float, seed: int, rounds: int = 5) -> list[Run]:
    random = np.random.default_rng(seed)
    return [
        (float(100 * np.exp(scale * random.normal())), side, 0, number)
        for side in (OLD, NEW)
        for number in range(rounds)
    ]


def test_series_lend_each_other_and_an_odd_one_hides_nothing() -> None:
    found = [said(*spread(0.02, seed)) for seed in range(8)]
    lent = pair.lend(found)
    assert all(after.weighed.degrees > before.weighed.degrees for after, before in zip(lent, found, strict=True))
    assert [float(one.weighed.difference) for one in lent] == [float(one.weighed.difference) for one in found]
    with_odd = pair.lend([*found, said(*spread(2.0, 99))])
    for one, before in zip(with_odd, lent, strict=False):
        assert float(one.weighed.variance) < 1.6 * float(before.weighed.variance)


def test_what_stands_on_other_blocks_is_not_lent() -> None:
    rounds, apart = said(*spread(0.02, 1)), said(*[(v, s, 10 * s + n, NO_ROUND) for v, s, _, n in spread(0.5, 2)])
    for after, before in zip(pair.lend([rounds, apart]), (rounds, apart), strict=True):
        assert float(after.weighed.variance) == pytest.approx(float(before.weighed.variance))
        assert float(after.weighed.degrees) == float(before.weighed.degrees)
    steps = history([10.0, 10.2, 9.9, 10.1, 10.1, 9.8, 10.3])
    assert pair.lend([steps, steps]) == [steps, steps]


def test_other_sides_of_the_same_rounds_tell_how_much_two_differ() -> None:
    random = np.random.default_rng(5)
    others = [
        (float(100 * np.exp(0.02 * random.normal())), OTHER + side, 0, number)
        for side in range(7)
        for number in range(5)
    ]
    alone, beside = said(*spread(0.02, 1)), said(*spread(0.02, 1), *others)
    assert [degrees for _, degrees in beside.others] == [4.0] * 3
    first = [np.array([v for v, s, _, _ in others if s == OTHER + side]) for side in (0, 1)]
    assert beside.others[0][0] == pytest.approx(np.log(first[1] / first[0]).var(ddof=1))
    assert float(pair.lend([beside])[0].weighed.degrees) > float(pair.lend([alone])[0].weighed.degrees) + 3.0


def test_two_rounds_of_two_other_sides_are_the_least_and_rounding_is_the_least_of_their_spread() -> None:
    sides = [(10.0, OTHER), (10.0, OTHER + 1), (10.0, OTHER + 2), (11.0, OTHER + 3)]
    others = [(value + n, side, 0, n) for value, side in sides for n in range(3 if side < OTHER + 2 else 2)]
    found = said(*IN_ROUNDS, *others)
    least = 2.0 * (1.0 / 21.5) ** 2 / 12.0  # of whole numbers, whose median over both sides is 21.5
    assert found.others == ((pytest.approx(least), 2.0), (pytest.approx(least), 1.0))
    assert said(*IN_ROUNDS, *[one for one in others if one[1] < OTHER + 2 or one[3] == 0]).others == found.others[:1]


@pytest.mark.parametrize(("difference", "variance"), [(0.001, 2.5e-5), (-0.3, 0.04), (0.0, 1.0)])
def test_the_chance_is_that_of_students_ratio(difference: float, variance: float) -> None:
    told = weigh.tell(weigh.Weighed(*(np.array(one) for one in (difference, variance, 3.0, 0.5))))
    error = math.sqrt(variance / 2)
    assert float(told.p_value) == pytest.approx(2 * stats.t.sf(abs(difference) / error, 3))
    assert float(told.reach) == pytest.approx(stats.t.ppf(0.975, 3) * error)


@pytest.mark.parametrize("degrees", [1, 2, 4, 9, 30, 300])
def test_what_is_said_to_be_seen_is_seen_in_four_of_five_new_measurements(degrees: int) -> None:
    told = weigh.tell(weigh.Weighed(*(np.array(one) for one in (0.0, 1.0, float(degrees), 1.0))))
    random = np.random.default_rng(20_261_127 + degrees)
    first, second = (np.sqrt(random.chisquare(degrees, 40_000) / degrees) for _ in range(2))
    distance = random.standard_normal(40_000) + float(told.seen) * first
    assert (distance > float(stats.t.ppf(0.975, degrees)) * second).mean() == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize(("difference", "p_value"), [(0.0, 1.0), (0.005, 0.0), (-0.005, 0.0), (7.0, 0.0)])
def test_without_spread_any_difference_is_certain(difference: float, p_value: float) -> None:
    told = weigh.tell(weigh.Weighed(*(np.array(one) for one in (difference, 0.0, 3.0, 0.5))))
    assert (float(told.p_value), float(told.reach), float(told.seen)) == (p_value, 0.0, 0.0)


def test_ratios_can_be_turned_into_differences_to_be_pooled() -> None:
    positive: Any = runs((10.5, OLD, 0, 0), (12.5, NEW, 0, 0))
    turned = positive.as_differences()
    assert turned.values.tolist() == pytest.approx([10.5, 12.5])
    assert turned.scale is Scale.DIFFERENCE
    assert (positive.step, turned.step) == (pytest.approx(0.1 / 11.5), pytest.approx(0.1 / 11.5 * 10.5))
    assert turned.as_differences() is turned


def test_levels_beyond_what_numbers_can_be_are_cut() -> None:
    large = runs((1.0, OLD, 0, 0), (2.0, NEW, 0, 0))
    assert [large.back(one) for one in (1.0, 699.0, 800.0)] == [math.exp(1.0), math.exp(699.0), math.exp(700.0)]
    huge = msgspec.structs.replace(large, values=np.array([1.0, 800.0]))
    assert huge.as_differences().values.tolist() == [math.exp(1.0), math.exp(700.0)]


@pytest.mark.parametrize(
    ("largest", "unit"), [(5.0, 8.0), (-5.0, 8.0), (4.0, 8.0), (0.3, 0.5), (1.5 * 2.0**1023, 2.0**1023)]
)
def test_differences_are_in_the_next_power_of_two(largest: float, unit: float) -> None:
    found = runs((0.0, OLD, 0, 0), (largest, NEW, 0, 0), (largest / 2, OTHER, 0, 0))
    assert (found.unit, found.back(1.5)) == (unit, 1.5 * unit)
    assert found.values.tolist() == [0.0, largest / unit, largest / 2 / unit]
    assert found.step == pair.step_of(np.array([0.0, largest, largest / 2])) / unit


def of_blocks(random: np.random.Generator, *blocks: tuple[int, int, int]) -> pair.Runs:
    return runs(*((float(random.lognormal(3.0, 0.1)), side, *of) for side, *of in blocks))


def test_series_say_the_same_one_by_one_and_at_once() -> None:
    random = np.random.default_rng(5)
    in_rounds = [(side, night, 10 * night + number) for night in (3, 7) for side in (OLD, NEW) for number in range(2)]
    apart = [(side, 2 * night + side, NO_ROUND) for side in (OLD, NEW) for night in range(5 + side)]
    alone = [(OLD, 0, NO_ROUND), (NEW, 1, NO_ROUND)]
    others = [(OTHER + number, 2 + number, NO_ROUND) for number in range(8)]
    later = [(side, night + 20, 200 + number) for side, night, number in in_rounds]
    kinds = [in_rounds, apart, alone, [*alone, *others], later]
    series = [of_blocks(random, *blocks) for _ in range(3) for blocks in kinds]
    found = pair.evidence(series)
    assert [repr(one) for one in found] == [repr(pair.evidence([one])[0]) for one in series]
    assert {number + 200 for _, number in found[0].deviations} == {number for _, number in found[4].deviations}
    known = [one.weighed for one in found if one.ground is not Ground.NONE]
    assert list(map(repr, weigh.tell_each(known))) == [repr(weigh.tell_each([one])[0]) for one in known]


def test_series_of_the_same_blocks_take_few_steps_each() -> None:
    random = np.random.default_rng(6)
    blocks = [(side, 0, number) for side in (OLD, NEW) for number in range(3)]
    few, many = ([of_blocks(random, *blocks) for _ in range(count)] for count in (20, 120))
    each = (calls_of(lambda: pair.evidence(many)) - calls_of(lambda: pair.evidence(few))) / 100
    assert each < 40
