"""Which limit a point keeps: against scipy, by what the risks add up to, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from matrix_benchmarking.analyze.best_of import Estimates, estimate
from matrix_benchmarking.analyze.bounds import FEW, bounds, bounds_of
from matrix_benchmarking.analyze.intervals import Scale


def of(values: list[float], errors: list[float], scale: Scale = Scale.DIFFERENCE, degrees: float = 8.0) -> Estimates:
    return Estimates(scale, np.array(values), np.array(errors) ** 2, np.full(len(values), degrees))


def by_chance(values: np.ndarray, errors: np.ndarray, order: np.ndarray, place: int) -> float:
    """How many of the next 64 points would come before the one at *place*, were all measured again."""
    own, others = order[place], order[place + 1 : place + 65]
    apart = (values[own] - values[others]) / np.hypot(errors[own], errors[others])
    return float(stats.norm.cdf(apart).sum())


def test_a_single_point_keeps_the_one_sided_bound_of_its_mean() -> None:
    quantile = stats.t.ppf(0.95, 8)
    assert bounds(of([10.0], [2.0]), lower_better=True) == pytest.approx([10 + 2 * quantile])
    assert bounds(of([10.0], [2.0]), lower_better=False) == pytest.approx([10 - 2 * quantile])
    ratio = bounds(of([math.log(10)], [0.2], Scale.RATIO), lower_better=True)
    assert ratio == pytest.approx([10 * math.exp(0.2 * quantile)])


@pytest.mark.parametrize("lower", [True, False])
def test_at_a_points_own_limit_its_risk_or_the_sum_with_those_before_it_and_beside_it_is_five_percent(
    lower: bool,
) -> None:
    sign = 1 if lower else -1
    values = np.array([9.0, 9.5, 9.8, 10.0])
    found = of((sign * values).tolist(), [1.0, 1.2, 0.9, 1.1])
    limits = sign * bounds(found, lower_better=lower)
    errors = np.sqrt(found.variances)
    of_sums = 0
    order = np.argsort(values + stats.t.ppf(0.95, 8) * errors)
    for place, point in enumerate(order):
        risks = stats.t.sf((limits[point] - values) / errors, 8)
        added = risks[order[:place]].sum() + 2 * risks[point] * (0.5 + by_chance(values, errors, order, place))
        assert max(risks[point], added) == pytest.approx(0.05, abs=1e-6)
        of_sums += bool(added > 0.0499)
    assert of_sums >= 2


def test_points_far_from_the_limit_add_no_risk() -> None:
    alone = bounds(of([100.0], [1.0]), lower_better=True)
    assert bounds(of([1.0, 2.0, 100.0], [1e-6, 1e-6, 1.0]), lower_better=True)[2] == pytest.approx(alone[0], abs=1e-6)


def test_points_without_noise_add_no_risk_however_many() -> None:
    found = of([*[0.0] * 60, 10.0, 10.0], [*[0.0] * 60, 2.0, 2.0])
    alike = 10 + 2 * stats.t.isf(0.05 / 2, 8)
    assert bounds(found, lower_better=True)[-2:] == pytest.approx([alike, alike])


def test_the_risks_of_the_nearest_64_points_are_added_and_no_more() -> None:
    """Of alike points one may be in another's place, so that the first is no surer than if it had been chosen of 65."""
    found = bounds(of([10.0] * 70, [1.0] * 70), lower_better=True)
    more = 1 + (FEW / 70) ** 2
    counts = [min(64, place) + more * (1 + min(64, 69 - place)) / 2 for place in range(70)]
    before = [max(counts[max(0, place - 64) : place + 1]) for place in range(70)]  # none is surer than what is surer
    assert found == pytest.approx([10 + stats.t.isf(0.05 / count, 8) for count in before])
    assert (counts[0], counts[69]) == pytest.approx((33.46, 64.51), abs=0.01)


def test_a_limit_beyond_what_numbers_can_be_is_cut() -> None:
    assert bounds(of([800.0], [1.0], Scale.RATIO), lower_better=True).tolist() == [math.exp(700)]


@pytest.mark.parametrize("value", [0.0, 1.0, 100.0])
@pytest.mark.parametrize("points", [2, 8])
def test_what_all_runs_agree_in_is_kept_by_all_points(points: int, value: float) -> None:
    """An availability of 100 % everywhere, or no error at all: nobody sees to which step they are rounded."""
    for lower in (True, False):
        known = bounds_of([[value] * 3] * points, [1.0 + at for at in range(points)], lower_better=lower)
        assert known == [value] * points


def test_without_noise_a_point_keeps_its_own_value() -> None:
    assert bounds(of([4.0, 3.0], [0.0, 0.0]), lower_better=True) == pytest.approx([4.0, 3.0])


def test_the_cheapest_point_that_keeps_a_limit_does_in_most_simulated_campaigns() -> None:
    rng, means, right = np.random.default_rng(4), np.linspace(60, 140, 25), 0
    for _ in range(150):
        found = estimate((means[:, None] * np.exp(0.18 * rng.standard_normal((25, 3)) - 0.0162)).tolist())
        kept = np.flatnonzero(bounds(found, lower_better=True) <= 100)
        right += bool(len(kept) and means[kept.max()] <= 100)
    assert right >= 136  # 95 %, less two and a half standard errors


def test_of_points_that_are_all_just_beyond_a_limit_one_is_seldom_said_to_keep_it() -> None:
    """The one that was luckiest among 40: its bound alone keeps it in a quarter of the campaigns."""
    rng, named, alone = np.random.default_rng(6), 0, 0
    for _ in range(150):
        found = estimate((105.0 * np.exp(0.1 * rng.standard_normal((40, 3)))).tolist())
        named += bool((bounds(found, lower_better=True) <= 100).any())
        own = found.values + stats.t.ppf(0.95, found.degrees) * np.sqrt(found.variances)
        alone += bool((np.exp(own) <= 100).any())
    assert named <= 15 < 30 < alone


def test_of_few_points_that_are_all_at_a_limit_one_is_seldom_said_to_keep_it() -> None:
    rng, named = np.random.default_rng(7), 0
    for _ in range(200):
        values = 50.01 * np.exp(0.2 * rng.standard_normal((8, 10)) - 0.02)
        named += min(bounds_of(values.tolist(), [*range(1, 9)], lower_better=True)) <= 50
    assert named <= 36


@pytest.mark.parametrize("lower", [True, False])
def test_the_bound_of_a_few_points_is_that_of_their_own_runs(lower: bool) -> None:
    runs = [[90.0, 100.0, 110.0], [190.0, 200.0, 215.0]]
    found = estimate(runs)
    assert bounds_of(runs, [2.0, 1.0], lower_better=lower) == pytest.approx(bounds(found, lower_better=lower).tolist())


@pytest.mark.parametrize("shift", [0.0, -300.0])
@pytest.mark.parametrize("lower", [True, False])
def test_what_was_measured_beyond_a_limit_does_not_keep_it_for_its_neighbours_sake(lower: bool, shift: float) -> None:
    sign = -1 if lower else 1
    runs = [[shift + 100 + at - 20, shift + 100 + at, shift + 100 + at + 20] for at in range(12)]
    runs[6] = [one - sign * 22 for one in runs[6]]
    found = bounds_of(runs, list(range(1, 13)), lower_better=lower)
    assert found[6] == pytest.approx(shift + 106 - sign * 22)
    assert all(sign * (shift + 100 + at - one) > 0 for at, one in enumerate(found) if at != 6)


@pytest.mark.parametrize("lower_better", [True, False])
def test_repeats_that_are_equal_to_the_last_of_many_digits_keep_their_own_value(lower_better: bool) -> None:
    """Their errors are below the rounding of the values, so that both ends of where a bound is looked for are equal."""
    values = [651.9944543240761, 1.4647937767458479, 431.5211770166249]
    found = bounds_of([[value, value] for value in values], [1.0, 1.0, 1.0], lower_better=lower_better)
    assert found == pytest.approx(values, rel=1e-12)


def test_a_point_without_any_spread_adds_no_risk_of_its_own() -> None:
    found = bounds(of([9.0, 9.0, 11.5], [1.0, 1.0, 0.0], degrees=3.0), lower_better=True)
    assert found[2] == pytest.approx(9.0 + stats.t.ppf(0.975, 3), rel=0.01)  # where the risks of both others are 5 %


@pytest.mark.parametrize("lower", [True, False])
def test_the_limits_of_the_first_points_and_of_many_are_those_that_each_row_of_a_sum_has(lower: bool) -> None:
    rng = np.random.default_rng(11)
    found = Estimates(
        Scale.DIFFERENCE, rng.normal(0.0, 3.0, 300), rng.chisquare(5.0, 300) / 50.0, rng.uniform(2.0, 60.0, 300)
    )
    limits = bounds(found, lower_better=lower)
    sign = 1 if lower else -1
    values, errors = sign * found.values, np.sqrt(found.variances)
    own = values + stats.t.ppf(0.95, found.degrees) * errors
    order = np.argsort(own, kind="stable")
    for place, at in enumerate(order):
        taking = order[max(0, place - 64) : place + 1]
        risks = stats.t.sf((sign * limits[at] - values[taking]) / errors[taking], found.degrees[taking])
        together = risks[:-1].sum() + (1 + (FEW / 300) ** 2) * risks[-1] * (
            0.5 + by_chance(values, errors, order, place)
        )
        surer = max([sign * limits[one] for one in order[max(0, place - 64) : place]], default=-np.inf)
        is_at_end = sign * limits[at] in (own[at], surer)
        assert together == pytest.approx(0.05, rel=1e-4) or (is_at_end and together < 0.05)
        assert sign * limits[at] >= surer
    assert bounds(found, lower_better=lower, first=3) == pytest.approx(limits[:3], rel=1e-6)


@pytest.mark.parametrize("lower", [True, False])
def test_a_limit_is_kept_by_what_the_mean_would_be_in_worse_campaigns(lower: bool) -> None:
    runs, campaigns = [[10.0, 10.2, 9.0, 9.2], [20.0, 20.4, 18.0, 18.4]], [[0, 0, 1, 1]] * 2
    scatter = np.mean([2 * (0.5 / 9.6) ** 2, 2 * (1.0 / 19.2) ** 2])  # the variance of a campaign's mean
    reach = stats.t.ppf(0.95, 1) * math.sqrt(scatter / 2)
    expected = [mean * math.exp(reach if lower else -reach) for mean in (9.6, 19.2)]
    assert bounds_of(runs, [2.0, 1.0], campaigns, lower_better=lower) == pytest.approx(expected)
    own = bounds_of(runs, [2.0, 1.0], [[0, 0, 1, 1], [2, 2, 3, 3]], lower_better=lower)
    reach = stats.t.ppf(1 - 0.05 / 2, 2) * math.sqrt(scatter / 2)  # each has nights of its own: two risks
    assert own == pytest.approx([mean * math.exp(reach if lower else -reach) for mean in (9.6, 19.2)])
    alone = bounds_of(runs, [2.0, 1.0], lower_better=lower)
    assert bounds_of(runs, [2.0, 1.0], [[0] * 4, [1] * 4], lower_better=lower) == alone


@pytest.mark.parametrize("nights_are_shared", [True, False])
def test_the_cheapest_point_that_keeps_a_limit_does_though_each_night_has_a_mood(nights_are_shared: bool) -> None:
    rng, means, right, named = np.random.default_rng(12), np.linspace(36, 50, 10), 0, 0
    campaigns = [[night + (0 if nights_are_shared else 2 * point) for night in (0, 0, 1, 1)] for point in range(10)]
    for _ in range(200):
        moods = 0.03 * (rng.standard_normal((1, 2)) if nights_are_shared else rng.standard_normal((10, 2)))
        values = means[:, None] * np.exp(np.repeat(moods, 2, axis=1) + 0.01 * rng.standard_normal((10, 4)))
        kept = np.flatnonzero(
            np.array(bounds_of(values.tolist(), (-means).tolist(), campaigns, lower_better=True)) <= 43
        )
        named += bool(len(kept))
        right += bool(len(kept) and means[kept.max()] <= 43)
    assert named >= 140
    assert right >= 0.93 * named
