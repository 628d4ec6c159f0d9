"""Which points may be the best, against scipy, published tables and simulation, and by value."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from scipy import integrate, stats

from matrix_benchmarking.analyze import best_of
from matrix_benchmarking.analyze.best_of import Estimates, estimate, intervals, may_be_best, optimism
from matrix_benchmarking.analyze.intervals import Scale


def of(
    values: list[float],
    error: float = 1.0,
    degrees: float = 1e9,
    rounds: int = 0,
    shared: float = 0.0,
    scale: Scale = Scale.DIFFERENCE,
) -> Estimates:
    """Points with these means, whose standard errors are all *error*."""
    count = len(values)
    return Estimates(scale, np.array(values), np.full(count, error**2), np.full(count, degrees), rounds, shared)


@pytest.mark.parametrize(("rivals", "limit"), [(1, 1.645), (2, 1.916), (4, 2.160), (9, 2.421)])
def test_the_largest_difference_by_chance_is_that_of_dunnetts_tables(rivals: int, limit: float) -> None:
    # One-sided, 5 %, infinite degrees, correlation a half: Dunnett 1964, Biometrics 20(3), table 1a.
    chance = best_of._chances(np.array([limit]), np.array([rivals]), np.array([0.5]))
    assert chance == pytest.approx(0.05, abs=0.0005)


def test_independent_differences_are_larger_by_chance_than_correlated_ones() -> None:
    limit = stats.norm.ppf(0.95 ** (1 / 9))
    chances = best_of._chances(np.full(4, limit), np.full(4, 9), np.array([0.0, 0.3, 0.6, 1.0]))
    assert chances[0] == pytest.approx(0.05, abs=1e-6)
    assert (np.diff(chances) < 0).all()
    assert chances[3] == pytest.approx(best_of._chances(limit * np.ones(1), np.array([9]), np.array([0.98]))[0])


@pytest.mark.parametrize(("rivals", "limit"), [(1, 2.1084), (2, 2.1084), (3, 2.2138), (4, 2.3093)])
def test_a_point_is_left_out_where_equal_rivals_would_be_so_much_better_once_in_28_times(
    rivals: int, limit: float
) -> None:
    def chance(at: float) -> float:  # that one of the rivals' errors is so far below the point's own
        inside = integrate.quad(
            lambda own: stats.norm.pdf(own) * stats.norm.sf(own - at * math.sqrt(2)) ** rivals, -9, 9
        )
        return float(1 - inside[0])

    assert max(chance(limit), 2 * stats.norm.sf(limit)) == pytest.approx(best_of.RISK, abs=1e-4)
    for factor, may in ((0.999, True), (1.001, False)):
        found = may_be_best(of([0.0] * rivals + [factor * limit * math.sqrt(2)]), lower_better=True)
        assert found.tolist() == [True] * rivals + [may]


def test_points_that_are_clearly_worse_make_nothing_harder_for_the_others() -> None:
    two = [0.0, 2 * 2.13 * math.sqrt(2)]  # left out as one of two, and not as one of four
    apart, near = two[1] + 2 * 3.01, two[1] + 2 * 2.99  # intervals of 1.5 standard errors
    for further, is_in in ((apart, False), (near, True)):
        four = [*two, further, further]
        assert may_be_best(of(four, 2.0), lower_better=True).tolist() == [True, is_in, False, False]
        assert may_be_best(of([-one for one in four], 2.0), lower_better=False).tolist() == [True, is_in, False, False]


def test_one_rival_is_told_apart_as_by_a_two_sided_t_test_with_the_fewer_degrees() -> None:
    limit = stats.t.isf(best_of.RISK / 2, 5)
    for factor, may in ((0.99, True), (1.01, False)):
        values = np.array([0.0, factor * limit * math.sqrt(1 + 4)])
        found = Estimates(Scale.DIFFERENCE, values, np.array([1.0, 4.0]), np.array([5.0, 50.0]))
        assert may_be_best(found, lower_better=True).tolist() == [True, may]
        assert may_be_best(found, lower_better=False).tolist() == [may, True]


def test_the_best_and_what_is_equal_to_it_are_always_in_the_set() -> None:
    assert may_be_best(of([3.0]), lower_better=True).tolist() == [True]
    assert may_be_best(of([3.0, 3.0, 4.0], error=0.0), lower_better=True).tolist() == [True, True, False]
    assert may_be_best(of([3.0, 3.0, 4.0], error=0.0), lower_better=False).tolist() == [False, False, True]


def test_with_more_points_than_rivals_looked_at_no_more_are_left_out() -> None:
    values = [0.0, *np.linspace(1.0, 9.0, 200)]
    few = may_be_best(of(values), lower_better=True)
    original, best_of.MOST_RIVALS = best_of.MOST_RIVALS, 1000
    try:
        assert (may_be_best(of(values), lower_better=True) == few).all()
    finally:
        best_of.MOST_RIVALS = original


def test_the_64_strongest_rivals_are_looked_at() -> None:
    # The best rival is very sure of its value, and the others, of which the upper ends are better, are not.
    for others, theirs, is_in in ((63, 5.0, False), (64, 5.0, True), (64, 5.05, False)):
        values, errors = np.array([*[0.0] * others, 9.9, 12.0]), np.array([*[theirs] * others, 0.06, 0.1])
        found = Estimates(Scale.DIFFERENCE, values, errors**2, np.full(len(values), 1e9))
        assert bool(may_be_best(found, lower_better=True)[-1]) == is_in


def test_the_interval_of_a_point_is_students_on_its_better_side_and_allows_for_the_choice_on_the_other() -> None:
    found = of([7.0, 9.0, 11.0], error=2.0, degrees=6.0)
    plain, allowing = stats.t.ppf(0.975, 6), stats.t.ppf(0.975 ** (1 / 3), 6)
    low, high = intervals(found, lower_better=True)
    assert (low[0], high[0]) == pytest.approx((7 - 2 * plain, 7 + 2 * allowing))
    low, high = intervals(found, lower_better=False)
    assert (low[2], high[2]) == pytest.approx((11 - 2 * allowing, 11 + 2 * plain))


def test_what_rounds_share_widens_the_intervals_and_no_comparison() -> None:
    found = of([7.0, 9.0], error=2.0, degrees=6.0, rounds=3, shared=9.0)
    low, high = intervals(found, lower_better=True)
    common = stats.t.ppf(0.975, 2) ** 2 * 9
    assert 7 - low[0] == pytest.approx(math.sqrt(stats.t.ppf(0.975, 6) ** 2 * 4 + common))
    assert high[0] - 7 == pytest.approx(math.sqrt(stats.t.ppf(0.975**0.5, 6) ** 2 * 4 + common))
    alone = of([7.0, 9.0], error=2.0, degrees=6.0)
    assert (may_be_best(found, lower_better=True) == may_be_best(alone, lower_better=True)).all()


def test_on_the_ratio_scale_an_interval_is_of_the_mean_and_not_of_its_logarithm() -> None:
    low, high = intervals(of([math.log(50.0)], error=0.1, scale=Scale.RATIO), lower_better=True)
    assert (low[0], high[0]) == pytest.approx((50 * math.exp(-0.19600), 50 * math.exp(0.19600)), rel=1e-4)


@pytest.mark.parametrize(("count", "expected"), [(2, 0.5642), (5, 1.1630), (10, 1.5388)])
def test_the_best_of_equal_points_is_as_much_too_good_as_the_largest_of_so_many_errors(
    count: int, expected: float
) -> None:
    # Expected largest of standard normal values: Harter 1961, Biometrika 48, 151-165.
    for lower in (True, False):
        assert optimism(of([4.0] * count, error=2.0), lower_better=lower) == pytest.approx(2 * expected, rel=0.01)
    ratio = optimism(of([1.0] * count, error=0.1, scale=Scale.RATIO), lower_better=True)
    assert ratio == pytest.approx(math.expm1(0.1 * expected), rel=0.01)


def test_the_best_of_two_points_that_differ_is_too_good_by_what_can_be_integrated() -> None:
    found = of([0.0, 3.0])
    spread = (1 - 1 / 4.5) * 3  # the variance of the two is 4.5, of which 1 is noise

    def losing(error: float) -> float:
        return error * stats.norm.pdf(error) * stats.norm.sf(error - spread)

    expected = -2 * integrate.quad(losing, -8, 8)[0] + 0.0
    other = -integrate.quad(lambda error: error * stats.norm.pdf(error) * stats.norm.sf(error + spread), -8, 8)[0]
    assert optimism(found, lower_better=True) == pytest.approx(expected / 2 + other, rel=0.01)
    assert optimism(of([0.0, 100.0]), lower_better=True) == pytest.approx(0.0, abs=1e-6)
    assert optimism(of([5.0]), lower_better=True) == 0.0
    for mean in (5.0, 6.0):
        assert optimism(of([5.0, mean], error=0.0), lower_better=True) == 0.0


def test_points_that_differ_by_less_than_their_noise_are_taken_as_equal() -> None:
    equal, near = (optimism(of([4.0, mean], error=0.1), lower_better=True) for mean in (4.0, 4.1))
    assert near == equal


@pytest.mark.parametrize("sign", [1, -1])
def test_the_best_of_two_points_of_different_noise_is_too_good_by_what_can_be_integrated(sign: int) -> None:
    values, errors = np.array([1.0, 4.0]), np.array([2.0, 1.0])
    share = 1 - 2.5 / 4.5  # the variance of the two is 4.5, of which 2.5 is noise
    truths = 2.5 + share * (values - 2.5)

    def won(z: float, one: int) -> float:
        other = 1 - one
        return float(
            stats.norm.pdf(z) * stats.norm.cdf((truths[other] - truths[one] - errors[one] * z) / errors[other])
        )

    parts = [integrate.quad(lambda z, at=one: z * won(z, at), -8, 8)[0] for one in (0, 1)]
    found = Estimates(Scale.DIFFERENCE, sign * values, errors**2, np.full(2, 9.0))
    expected = -float(np.dot(parts, errors))
    assert optimism(found, lower_better=sign > 0) == pytest.approx(expected, rel=0.002)
    ratio = msgspec.structs.replace(found, scale=Scale.RATIO)
    assert optimism(ratio, lower_better=sign > 0) == pytest.approx(math.expm1(expected), rel=0.005)


def test_points_that_can_not_be_the_best_do_not_make_it_look_better() -> None:
    one, many = (optimism(of([0.0, 0.5, 1.0, *[1e6] * count]), lower_better=True) for count in (1, 70))
    assert one == pytest.approx(many, rel=1e-6)
    # Alone, the three may be equal; beside points so far away nothing is drawn together.
    assert many < 0.9 * optimism(of([0.0, 0.5, 1.0]), lower_better=True)


def test_the_64_that_are_most_likely_the_best_make_it_look_better() -> None:
    equal = [0.0] * 64
    for mean, counts in ((17.9, True), (18.1, False)):  # whose lower end, two errors of 10 below it, is at -2 or not
        found = Estimates(Scale.DIFFERENCE, np.array([*equal, mean]), np.array([*equal, 99.0]) + 1, np.full(65, 9.0))
        alone = optimism(of(equal), lower_better=True)
        assert (optimism(found, lower_better=True) > 1.5 * alone) == counts
        assert (optimism(found, lower_better=True) == pytest.approx(alone)) != counts


def test_what_is_known_of_some_points_is_in_the_order_that_was_asked_for() -> None:
    found = Estimates(Scale.RATIO, np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), np.array([7.0, 8.0, 9.0]))
    assert (found.rounds, found.shared_variance) == (0, 0.0)
    some = msgspec.structs.replace(found, rounds=3, shared_variance=2.0).of([2, 0])
    assert (some.scale, some.rounds, some.shared_variance) == (Scale.RATIO, 3, 2.0)
    assert [one.tolist() for one in (some.values, some.variances, some.degrees)] == [[3, 1], [6, 4], [9, 7]]


def test_the_error_of_a_mean_is_that_of_its_logarithm_for_positive_values_and_else_its_own() -> None:
    ratio = estimate([[90.0, 100.0, 110.0], [900.0, 1000.0, 1100.0]])
    assert ratio.scale is Scale.RATIO
    assert ratio.values == pytest.approx([math.log(100), math.log(1000)])
    assert ratio.variances == pytest.approx([0.01 / 3, 0.01 / 3], rel=0.1)
    assert ratio.degrees == pytest.approx([4.0, 4.0])  # no more than all runs have
    plain = estimate([[-1.0, 0.0, 1.0], [9.0, 10.0, 11.0]])
    assert plain.scale is Scale.DIFFERENCE
    assert plain.values == pytest.approx([0.0, 10.0])
    assert plain.variances == pytest.approx([1 / 3, 1 / 3], rel=0.1)


def test_a_single_run_has_the_spread_of_the_others_and_the_whole_of_it() -> None:
    found = estimate([[90.01, 100.0, 110.0], [90.0, 100.0, 110.01], [100.02]])
    assert found.variances[2] == pytest.approx(3 * found.variances[0], rel=0.15)
    assert found.degrees[2] <= found.degrees[0]


def test_points_of_different_noise_keep_most_of_their_own() -> None:
    rng = np.random.default_rng(5)
    values = [list(100 + noise * rng.standard_normal(20)) for noise in (0.1, 5.0) * 4]
    found = estimate(values)
    own = [np.var(ones, ddof=1) / np.mean(ones) ** 2 / 20 for ones in values]
    assert found.variances == pytest.approx(own, rel=0.15)


def test_what_complete_rounds_add_to_all_points_is_taken_out_whatever_the_order_of_the_runs() -> None:
    effects, rest = np.array([1.0, 1.5, 0.7]), np.array([[0.1, -0.2, 0.1], [-0.1, 0.2, -0.1], [0.3, 0.0, -0.3]])
    values = 10 * effects + rest + np.array([[0.0], [1.0], [2.0]]) - 12
    inside = estimate(values.tolist(), [[1, 2, 3]] * 3)
    shuffled = estimate(
        [values[0].tolist(), values[1][::-1].tolist(), values[2].tolist()], [[1, 2, 3], [3, 2, 1], [1, 2, 3]]
    )
    outside = estimate(values.tolist())
    assert (inside.rounds, shuffled.rounds, outside.rounds) == (3, 3, 0)
    assert inside.variances == pytest.approx(shuffled.variances)
    assert outside.variances.min() > 20 * inside.variances.max()
    residuals = rest - rest.mean(axis=0)
    pooled = np.sum((residuals - residuals.mean(axis=1, keepdims=True)) ** 2) / ((3 - 1) * (3 - 1))  # two-way analysis
    assert np.mean(inside.variances) == pytest.approx(pooled / 3, rel=0.3)
    assert inside.degrees == pytest.approx([4.0] * 3)
    columns = values.mean(axis=0)
    assert inside.shared_variance == pytest.approx((np.var(columns, ddof=1) - pooled / 3) / 3)


def test_two_points_in_rounds_are_compared_as_pairs() -> None:
    first, second = np.array([10.0, 14.5, 7.2, 9.6]), np.array([10.9, 15.2, 8.3, 10.4])
    found = estimate([(first - 20).tolist(), (second - 20).tolist()], [[1, 2, 3, 4]] * 2)
    assert float(found.variances.sum()) == pytest.approx(np.var(first - second, ddof=1) / 4)
    assert found.degrees == pytest.approx([3.0, 3.0])
    assert found.rounds == 4


def test_two_rounds_of_three_points_are_taken_out_whatever_the_points_are_large() -> None:
    runs = [[10.0, 12.1], [10.1, 12.0], [10.05, 12.2]]
    found = estimate(runs, [[5, 6]] * 3)
    larger = estimate([runs[0], [1000 * one for one in runs[1]], runs[2]], [[5, 6]] * 3)
    assert found.rounds == larger.rounds == 2
    assert found.variances == pytest.approx(larger.variances)
    assert found.variances.max() < 1e-4


def test_rounds_that_add_nothing_share_no_error() -> None:
    found = estimate([[-1.0, 0.0, 1.5], [1.0, 0.0, -1.5], [0.5, 0.1, -0.5]], [[1, 2, 3]] * 3)
    assert (found.rounds, found.shared_variance) == (3, 0.0)


@pytest.mark.parametrize(
    "rounds",
    [
        [[1, 2, 3], [1, 2, 4]],
        [[1, 2, 3], [1, 2, None]],
        [[None, None, None], [None, None, None]],
    ],
)
def test_rounds_that_not_all_points_have_once_are_left_in(rounds: list[list[int | None]]) -> None:
    found = estimate([[1.0, 2.0, 3.1], [2.0, 4.0, 6.2]], rounds)
    assert (found.rounds, found.shared_variance) == (0, 0.0)


def test_of_several_runs_in_a_round_their_mean_is_its_evidence() -> None:
    found = estimate([[1.0, 2.0, 3.1], [2.0, 4.0, 6.2]], [[1, 2, 2], [1, 2, 2]])
    single = estimate([[1.0, 2.55], [2.0, 5.1]], [[1, 2], [1, 2]])
    assert (found.rounds, found.degrees.tolist()) == (single.rounds, single.degrees.tolist()) == (2, [1.0, 1.0])


def test_campaigns_of_all_points_are_the_evidence_where_runs_belong_to_no_round() -> None:
    runs = [[10.0, 10.1, 10.0, 10.4, 10.5, 10.4], [10.3, 10.4, 10.3, 11.3, 11.4, 11.3]]
    of_each = [[1, 1, 1, 2, 2, 2]] * 2
    nothing: list[list[int | None]] = [[None] * 6] * 2
    found, in_rounds = estimate(runs, nothing, of_each), estimate(runs, [[1, 2, 3, 4, 5, 6]] * 2, of_each)
    assert (found.rounds, in_rounds.rounds) == (2, 6)
    assert found.degrees.max() <= 1.0
    assert may_be_best(found, lower_better=True).tolist() == [True, True]
    assert may_be_best(in_rounds, lower_better=True).tolist() == [True, False]


@pytest.mark.parametrize("own", [0.0, 0.03])
@pytest.mark.parametrize("are_in_rounds", [True, False])
def test_what_points_have_for_themselves_in_each_campaign_is_no_difference_of_theirs(
    own: float, are_in_rounds: bool
) -> None:
    """Equal points, of which the last one lacks a campaign where there are no rounds."""
    rng, left_out, at, spreads = np.random.default_rng(41), 0, (1, 2, 3), []
    for _ in range(60):
        moods, owns = 0.03 * rng.standard_normal(3), own * rng.standard_normal((6, 3))
        nights = [at if are_in_rounds or point < 5 else at[:2] for point in range(6)]
        values = [
            [math.exp(moods[n - 1] + owns[point, n - 1] + 0.01 * rng.standard_normal()) for n in of for _ in range(4)]
            for point, of in enumerate(nights)
        ]
        rounds = [[4 * n + run if are_in_rounds else None for n in of for run in range(4)] for of in nights]
        found = estimate(values, rounds, [[n for n in of for _ in range(4)] for of in nights])
        left_out += not may_be_best(found, lower_better=True).all()
        spreads.append(float(np.median(found.variances)) ** 0.5)
    assert left_out <= 12  # 52 and 51 of 60, were runs the evidence
    assert (np.median(spreads) > 0.01) == (own > 0.0)


def test_one_point_or_one_round_is_no_comparison_within_rounds() -> None:
    alone = estimate([[1.0, 2.0, 3.1]], [[1, 2, 3]])
    assert alone.rounds == 0


def test_equal_repeats_are_no_better_known_than_the_number_is_rounded() -> None:
    found = estimate([[5.0, 5.0], [6.0, 6.0]])
    assert found.variances == pytest.approx([1 / 12 / 25, 1 / 12 / 36])
    assert may_be_best(found, lower_better=True).tolist() == [True, True]
    finer = estimate([[5.0, 5.0], [6.01, 6.01]])
    assert may_be_best(finer, lower_better=True).tolist() == [True, False]


def test_runs_that_differ_less_than_the_numbers_are_rounded_tell_no_spread() -> None:
    rare = [5.0] * 19 + [5.1]
    found = estimate([rare, rare])
    assert found.variances == pytest.approx([0.01 / 12 / np.mean(rare) ** 2] * 2)
    assert found.degrees == pytest.approx([38.0, 38.0])


def test_the_error_of_a_mean_is_one_rounding_at_least_where_runs_differ_by_less_than_a_step() -> None:
    found = best_of._errors(4 * np.array([11.9, 12.0, 11.9]), np.array([100.0, 100.0, 2.0]), np.full(3, 4.0))
    assert found == pytest.approx([4.0, 0.48, 4 * 5.95])


def test_two_runs_have_one_degree_and_a_single_one_makes_no_error() -> None:
    with np.errstate(all="raise"):
        found = estimate([[-0.9, 1.1], [-1.9, 0.1], [0.3]])
    assert found.variances[:2] == pytest.approx([1.0, 1.0], rel=0.2)


def test_a_quotient_with_zero_below_is_infinite_or_zero() -> None:
    found = best_of._ratio(np.array([0.0, 2.0, -2.0, 6.0]), np.array([0.0, 0.0, 0.0, 3.0]))
    assert found.tolist() == [0.0, math.inf, -math.inf, 2.0]


def test_an_end_beyond_what_numbers_can_be_is_cut() -> None:
    _, high = intervals(of([800.0], scale=Scale.RATIO), lower_better=True)
    assert high.tolist() == [math.exp(700)]


def test_equal_repeats_have_the_spread_of_the_other_points() -> None:
    found = estimate([[5.01, 5.01, 5.01], [5.0, 5.5, 4.5], [6.0, 5.4, 6.6]])
    assert found.variances[0] == pytest.approx(found.variances[1:].mean(), rel=0.2)


def test_an_error_far_above_the_rounding_is_not_widened_by_it() -> None:
    found = estimate([[20.0, 30.0, 40.0], [21.0, 31.0, 41.0]])
    finer = estimate([[20.001, 30.0, 40.0], [21.0, 31.0, 41.0]])
    assert found.variances == pytest.approx(finer.variances, rel=1e-3)


@pytest.mark.parametrize(("count", "runs", "is_mixed"), [(10, 3, False), (10, 3, True), (25, 5, True)])
def test_the_set_has_a_designated_best_in_most_simulated_campaigns(count: int, runs: int, is_mixed: bool) -> None:
    rng = np.random.default_rng(2)
    named, covered = 0, 0
    for _ in range(200):
        noise = np.exp(rng.uniform(math.log(0.01), math.log(0.09), count)) if is_mixed else np.full(count, 0.05)
        found = estimate((100 * np.exp(noise[:, None] * rng.standard_normal((count, runs)))).tolist())
        named += bool(may_be_best(found, lower_better=True)[0])
        chosen = int(found.values.argmin())
        low, high = intervals(found, lower_better=True)
        covered += bool(low[chosen] <= 100 <= high[chosen])
    assert named >= 182  # 95 %, less two and a half standard errors
    assert covered >= 179


@pytest.mark.parametrize("noises", [(0.05, 0.05), (0.08, 0.02)])
def test_two_equal_points_are_seldom_told_apart(noises: tuple[float, float]) -> None:
    rng = np.random.default_rng(61)
    told = 0
    for _ in range(1000):
        runs = [(1 + noise * rng.standard_normal(rng.integers(3, 11))).tolist() for noise in noises]
        found = estimate(runs)
        told += not may_be_best(found, lower_better=True).all()
    assert told <= 67  # 5 %, and two and a half standard errors


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("values", [[10.0, 11.0, 10.5, 13.0], [10.0, 10.1, 10.05, 10.02], [10.0, 11.8, 10.9, 11.2]])
def test_the_optimism_is_the_mean_error_of_the_winner(values: list[float], lower: bool) -> None:
    sign, errors = 1 if lower else -1, np.array([0.8, 0.5, 1.1, 0.9])
    share = max(0.0, 1 - float(np.mean(errors**2)) / float(np.var(values, ddof=1)))
    truths = share * np.array(values)

    def chance(z: float, one: int) -> float:
        others = [at for at in range(4) if at != one]
        rest = stats.norm.sf((truths[one] + errors[one] * z - truths[others]) / errors[others])
        return float(stats.norm.pdf(z) * rest.prod())

    at = np.linspace(-6.0, 6.0, 61)
    wins = np.array([[chance(float(z), one) for z in at] for one in range(4)])
    expected = -float((wins * errors[:, None] * at).sum() / wins.sum())
    found = Estimates(Scale.DIFFERENCE, sign * np.array(values), errors**2, np.full(4, 8.0))
    assert optimism(found, lower_better=lower) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    "values",
    [
        [[1.0, 1.3e154], [2.0, 3.0]],
        [[1.0, 2.7e154], [2.0]],
        [[0.0, 1.9e154], [1.0, 2.0]],
        [[1e308, -1e308], [0.0, 1.0]],
        [[0.0, 0.1], [1e306, 1.01e306], [2.0, 2.1]],
    ],
)
@pytest.mark.parametrize("lower", [True, False])
def test_values_whose_squares_are_beyond_all_numbers_overflow_nowhere(values: list[list[float]], lower: bool) -> None:
    found = estimate(values)
    assert may_be_best(found, lower_better=lower).any()
    assert np.isfinite(np.concatenate(intervals(found, lower_better=lower))).all()
    assert math.isfinite(optimism(found, lower_better=lower))
