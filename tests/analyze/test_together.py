"""Series judged beside each other have the judgements of series judged one by one, to the last digit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from detected_series import CASES, singles
from detected_series import repeated as repeated_runs

from matrix_benchmarking.analyze.detect import (
    InvalidThresholdError,
    Judgement,
    Kind,
    evidence,
    judge,
    judge_all,
    together,
    watched_together,
)
from matrix_benchmarking.analyze.detect.changes import Minimum
from matrix_benchmarking.analyze.detect.evidence import Floats, Prior, Split
from matrix_benchmarking.analyze.detect.levels import counts_up_to, estimate
from matrix_benchmarking.analyze.detect.scan import Watched
from matrix_benchmarking.analyze.detect.series import Blocks, campaigns, prepare
from matrix_benchmarking.analyze.detect.splits import LAGS, Plateau, candidates, weigh
from matrix_benchmarking.analyze.detect.together import estimate_beside

LENGTHS = (0, 1, 5, 9, 10, 12, 33, 60, 60, 100, 100, 140, 300)
Numbers = np.random.Generator


def series(numbers: Numbers) -> Any:
    """One of any kind: noise, disturbances, repeats, gaps."""
    points = noise(numbers, int(numbers.choice(LENGTHS)))
    disturbed(numbers, points)
    level = float(numbers.choice([1e12, 100.0, 1e-6, -50.0, 0.0]))
    spread = float(numbers.choice([0.1, 0.03, 0.01, 0.0])) * (abs(level) or 1.0)
    repeats = int(numbers.choice([1, 1, 2, 3, 5]))
    values: list[Any] = (level + spread * points).tolist()
    if repeats > 1:
        values = [repeated(numbers, value, spread, repeats) for value in values]
    for place in numbers.integers(max(len(values), 1), size=int(numbers.choice([0, 0, 0, 2]))):
        if values:
            values[place] = [None] * repeats if repeats > 1 else numbers.choice([None, np.nan, np.inf])
    return values


def noise(numbers: Numbers, count: int) -> Floats:
    return [
        numbers.standard_normal(count),
        numbers.standard_normal(count),
        numbers.standard_t(3.0, count),
        np.exp(numbers.standard_normal(count)),
        np.round(numbers.standard_normal(count)),
        0.3 * numbers.standard_normal(count).cumsum(),
        np.zeros(count),
    ][numbers.integers(7)]


def disturbed(numbers: Numbers, points: Floats) -> None:
    """A step, one that is taken back, an episode, spikes, a last point that is off, a drift, or nothing."""
    kind, size = numbers.integers(10), float(numbers.choice([2.0, 5.0, 20.0, -5.0]))
    first = int(numbers.integers(max(len(points), 1)))
    if kind == 0:
        points[first:] += size
    elif kind == 1:
        points[first : first + 4] += size
    elif kind == 2 and len(points):
        points[numbers.integers(len(points), size=3)] += 4.0 * size
    elif kind == 3:
        points[-1:] += size
    elif kind == 4:
        points[first : first + 25] += size
        points[first + 15 :] -= size
    elif kind == 5:
        points += 0.05 * size * np.arange(len(points))


def repeated(numbers: Numbers, value: float, spread: float, repeats: int) -> list[float | None]:
    runs = repeats if numbers.random() < 0.9 else int(numbers.integers(1, repeats + 1))
    return [value + 0.5 * spread * float(off) for off in numbers.standard_normal(runs)]


def blocks(numbers: Numbers, values: Any) -> Any:
    """Campaigns of one version or of three, one for all, versions in turn, rounds, two hosts; or nothing is known."""
    runs = [len(one) if isinstance(one, list) else 1 for one in values]
    return [
        None,
        [[(place, None)] * count for place, count in enumerate(runs)],
        [[(place // 3, None)] * count for place, count in enumerate(runs)],
        [[(0, None)] * count for count in runs],
        [[(place // 30, -1 - place)] * count for place, count in enumerate(runs)],
        [[(0, number) for number in range(count)] for count in runs],
        [[(10 * place + number % 2, None) for number in range(count)] for place, count in enumerate(runs)],
    ][numbers.integers(7)]


def many(count: int, seed: int) -> Iterator[tuple[Any, Any]]:
    numbers = np.random.default_rng(seed)
    for _ in range(count):
        values = series(numbers)
        yield values, blocks(numbers, values)


@pytest.mark.parametrize(("minimum", "absolute", "seed"), [(0.01, 0.0, 1), (0.0, 0.0, 2), (0.05, 1e-3, 3)])
def test_series_of_many_kinds_are_judged_together_as_they_are_one_by_one(
    minimum: float, absolute: float, seed: int
) -> None:
    values, of = zip(*many(160, seed), strict=True)
    options: dict[str, Any] = {"minimum": Minimum(minimum, absolute), "lower_is_better": True}
    expected = [judge(one, blocks=each, **options) for one, each in zip(values, of, strict=True)]
    assert judge_all(values, blocks=of, **options) == expected
    seen = watched_together(values, [Minimum(minimum, absolute)] * len(values), blocks=of)
    quiet = [one for one in seen if isinstance(one, Judgement)]
    assert {one.kind for one in quiet} == {Kind.NO_CHANGE}
    there = sum(one.kind is Kind.NO_CHANGE and one.suspicion is None for one in expected)
    assert len(quiet) > 0.75 * there
    assert any(one.reruns for one in quiet)
    assert len({one.kind for one in expected}) == 4


@pytest.mark.parametrize("cut", [0, 9])
def test_recorded_series_are_judged_together_as_they_are_one_by_one(cut: int) -> None:
    cases = [(values[: len(values) - cut], of and of[: len(values) - cut]) for values, of, _ in CASES.values()]
    values, of = zip(*cases, strict=True)
    expected = [judge(one, blocks=each) for one, each in cases]
    assert judge_all(values, blocks=of) == expected
    seen = watched_together(values, [Minimum(0.01, 0.0)] * len(values), blocks=of)
    there = sum(one.kind is Kind.NO_CHANGE and one.suspicion is None for one in expected)
    assert sum(isinstance(one, Judgement) for one in seen) >= there - 12


def test_each_series_has_its_own_minimum_scale_and_runs() -> None:
    points = np.random.default_rng(8).standard_normal((5, 30))
    points[:, 28:] += 1.5
    two = [[float(value), value + 0.1] for value in 100.0 + points[0]]
    later = [*two[:20], *[[value, value + 0.2, value - 0.7] for value in (100.0 + points[1, 20:]).tolist()]]
    wild = [*two[:20], *[[value, value + 4.0, value - 4.0] for value in (100.0 + points[1, 20:]).tolist()]]
    values: list[Any] = [(0.001 + 1e-5 * points[0]).tolist(), (1e6 + 1e4 * points[1]).tolist(), two, later, wild]
    for place, minimum in enumerate([Minimum(0.0, 3e-5), Minimum(0.5, 0.0), *[Minimum(0.0, 0.0)] * 3]):
        minima = [Minimum(9.0, 9.0)] * 5
        minima[place] = minimum
        alone = judge(values[place], minimum=minimum)
        seen = watched_together(values, minima)
        assert seen[place] == alone or not isinstance(seen[place], Judgement)
    assert sum(isinstance(one, Judgement) for one in watched_together(values, [Minimum(0.0, 0.0)] * 5)) >= 3


def test_huge_and_tiny_values_are_judged_together_as_they_are_one_by_one() -> None:
    points = 1.0 + 0.01 * np.random.default_rng(9).standard_normal((3, 40))
    values = (points * [[1e300], [1e-300], [-1e300]]).tolist()
    found = watched_together(values, [Minimum(0.01, 0.0)] * 3)
    assert found == [judge(one) for one in values]
    begun = [[0.0] * 8 + values[0][8:], [0.0, *values[0][1:]], [0.0] * 40]
    assert judge_all(begun) == [judge(one) for one in begun]


def test_series_of_few_versions_are_judged_together_as_they_are_one_by_one() -> None:
    values = [of(1, count).tolist() for of in (singles, repeated_runs) for count in range(14)]
    assert judge_all(values) == [judge(one) for one in values]


def test_many_series_of_one_length_are_judged_together_as_they_are_one_by_one() -> None:
    values = [singles(seed, 30, (27, 0.1 * seed)).tolist() for seed in range(30)]
    values += [repeated_runs(seed, 9, (7, 0.1 * seed)).tolist() for seed in range(30)]
    assert judge_all(values) == [judge(one) for one in values]


def test_two_series_are_judged_together_as_they_are_one_by_one_whether_repeats_say_what_is_known_before_or_not() -> (
    None
):
    known, unknown = (repeated_runs(seed, 30, (26, 2.0), repeats=seed).tolist() for seed in (3, 2))
    assert [prepare(one)[0].prior.degrees > 0.0 for one in (known, unknown)] == [True, False]
    pair = [singles(seed, 40, (30, 4.0)).tolist() for seed in (1, 2)]
    for values in ([known, unknown], [unknown, known], pair):
        assert judge_all(values) == [judge(one) for one in values]


def test_a_series_too_long_to_lie_beside_others_has_its_blocks_and_is_gone_along_as_far_as_is_asked() -> None:
    values, one_night = singles(5, 1200, (300, 6.0)).tolist(), [[(0, None)]] * 1200
    first, last = watched_together([values] * 2, [Minimum(0.01, 0.0)] * 2, blocks=[None, one_night], points=500)
    assert isinstance(first, Watched)
    assert isinstance(last, Watched)
    assert [(len(one.series.points), one.is_whole) for one in (first, last)] == [(500, False)] * 2
    assert (bool(first.walk.alarms), bool(last.walk.alarms)) == (True, False)


def test_a_stretch_of_one_series_does_not_go_on_in_the_next() -> None:
    stretches = [np.array([0, 0, 2]), np.array([0, 1, 1]), np.array([0, 0, 0])]
    one, index, scale = prepare([[1.0, 2.0]] * 3)
    several = [dataclasses.replace(one, stretches=of) for of in stretches]
    part = together._of_prepared(range(3), several, [scale] * 3, [index] * 3)
    assert part.series.stretches.tolist() == [*[0, 0, 2], *[3, 4, 4], *[6, 6, 6]]


def test_of_single_runs_a_campaign_goes_on_where_it_does_for_other_versions() -> None:
    rounds = [(5, -1), (5, -2), (5, -3), (5, 0), (5, -4), (5, None), (6, -5), (6, -6), (7, -7), (7, -8), (7, 1)]
    for of in (rounds, rounds[3:], rounds[5:], rounds[6:]):
        series, _, _ = prepare([[1.0, 1.0]] * len(of), [[block, block] for block in of])
        fresh, stretches = campaigns([[block] for block in of])
        assert (fresh.tolist(), stretches.tolist()) == (series.fresh.tolist(), series.stretches.tolist())
    assert stretches.tolist() == [0, 0, 2, 2, 4]
    run = np.ones(5).tobytes()
    part = together._of_single_runs([0, 1, 2], [run] * 3, [(fresh, stretches)] * 2 + [None])
    assert part.series.stretches.tolist() == [0, 0, 2, 2, 4, 5, 5, 7, 7, 9, *range(10, 15)]


def test_without_options_a_fifth_of_little_counts() -> None:
    little = (1e-3 * np.repeat([1.0, 1.2], 20)).tolist()
    assert judge_all([little]) == [judge(little)]
    assert judge_all([little])[0].changes


def test_how_many_more_runs_would_raise_the_alarm_is_the_same_after_few_versions_of_repeats() -> None:
    values = [repeated_runs(seed, 12, (9, 1.2 + 0.04 * seed)).tolist() for seed in range(20)]
    seen = watched_together(values, [Minimum(0.0, 0.0)] * 20)
    quiet = [(one, of) for one, of in zip(seen, values, strict=True) if isinstance(one, Judgement)]
    alone = [judge(of, minimum=Minimum(0.0)) for _, of in quiet]
    assert [one for one, _ in quiet] == alone
    assert sum(bool(one.reruns) for one in alone) >= 3


def test_a_minimum_is_in_the_unit_of_the_values() -> None:
    values = [(unit * (100.0 + singles(seed, 40))).tolist() for seed, unit in ((1, 1.0), (2, 1e-6), (3, 1e6))]
    minimum = Minimum(0.001, 0.5)
    assert judge_all(values, minimum=minimum) == [judge(one, minimum=minimum) for one in values]


def test_values_are_divided_by_what_those_of_one_series_are() -> None:
    rising = np.exp2(np.arange(20.0))
    values = [rising, rising[::-1].copy(), np.append(0.0, rising[:-1]), np.append(np.zeros(7), np.full(13, 40.0))]
    part = together._of_single_runs(range(4), [one.tobytes() for one in values], [None] * 4)
    assert part.scales.tolist() == [prepare(one.tolist())[2] for one in values] == [16.0, 2.0**16, 16.0, 32.0]


def test_however_few_splits_are_weighed_first_all_are_that_may_be_the_first_near(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = np.random.default_rng(3).standard_normal((60, 50)) + np.where(np.arange(50) < 30, 0.0, 2.5)
    part = together._of_single_runs(range(60), [one.tobytes() for one in points], [None] * 60)
    levels = estimate_beside(part.rows(part.series.points), counts_up_to(49))
    found, looks = [], []
    for few in (1, 2, 3, 32, 10_000):
        monkeypatch.setattr(together, "_FIRST_SPLITS", few)
        quiet_until, near = together._quiet_until(part, levels, 8)
        found.append(quiet_until.tolist())
        looks.append({row: (one.last.tolist(), one.split.after.tolist(), one.excess.tolist(), one.confirmed.tolist())
                      for row, one in near.items()})  # fmt: skip
    assert found == [found[-1]] * 5
    assert all(one == looks[-1][row] for near in looks for row, one in near.items())
    assert sorted(looks[-1]) == [row for row, place in enumerate(found[0]) if place < 50]
    assert len(set(found[0])) > 10


def test_what_lies_beside_a_series_does_not_change_its_judgement(monkeypatch: pytest.MonkeyPatch) -> None:
    values, of = zip(*many(80, 4), strict=True)
    together_ = judge_all(values, blocks=of)
    assert [judge_all([one], blocks=[each])[0] for one, each in zip(values, of, strict=True)] == together_
    monkeypatch.setattr(together, "_AT_ONCE", 60_000)
    assert judge_all(values, blocks=of) == together_


def test_few_numbers_are_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    estimate = together.estimate_beside

    def estimated(points: Floats, counts: Any) -> Any:
        seen.append(points.size * len(counts))
        return estimate(points, counts)

    monkeypatch.setattr(together, "estimate_beside", estimated)
    monkeypatch.setattr(together, "_AT_ONCE", 400_000)
    numbers = np.random.default_rng(5)
    judge_all([numbers.standard_normal(100).tolist() for _ in range(500)])
    judge_all([numbers.standard_normal(5000).tolist()])
    assert len(seen) > 4
    assert max(seen) <= together._AT_ONCE


def test_no_series_at_all_is_no_judgement_and_a_threshold_that_cannot_be_is_an_error() -> None:
    assert judge_all([]) == []
    with pytest.raises(ValueError, match="shorter"):
        judge_all([[1.0] * 20] * 2, blocks=[None])
    with pytest.raises(InvalidThresholdError, match=r"not -1\.0"):
        judge_all([[1.0] * 20], minimum=Minimum(-1.0))


def test_estimates_of_series_beside_each_other_are_those_of_each() -> None:
    numbers = np.random.default_rng(6)
    for count in (9, 33, 100, 128, 129, 300):
        normal = numbers.standard_normal((30, count))
        points = np.concatenate(
            [normal, np.round(normal), np.exp(3.0 * normal), normal.cumsum(axis=1), 0.1 + 0.0 * normal]
        )
        for least in (3, 8):
            counts = counts_up_to(count - 1, least)
            beside, expected = estimate_beside(points, counts), estimate(points, counts)
            for name in ("counts", "level", "squares", "low", "high", "second_low", "second_high"):
                assert np.array_equal(getattr(beside, name), getattr(expected, name)), (count, name)
            assert np.array_equal(estimate_beside(points[7:8], counts).squares, estimate(points[7], counts).squares)


def test_a_split_weighs_no_more_than_at_best_which_is_often_too_little() -> None:
    numbers = np.random.default_rng(7)
    at_best, in_full = [], []
    for _ in range(300):
        points = noise(numbers, 100)
        disturbed(numbers, points)
        one, _, _ = prepare((100.0 + points).tolist())
        levels = estimate(one.points, counts_up_to(99))
        splits = candidates(Plateau(one, 0, one.prior, levels), (8, 100))
        if len(splits[0]):
            at_best += weigh(Plateau(one, 0, one.prior, levels), splits, at_best=True).excess.tolist()
            in_full += weigh(Plateau(one, 0, one.prior, levels), splits).excess.tolist()
    assert len(in_full) > 10_000
    assert (np.array(in_full) <= np.array(at_best) + 1e-9).all()
    assert np.mean(np.array(at_best) < 0.0) > 0.3


def test_no_correlation_and_no_outliers_of_the_old_level_make_any_evidence_the_strongest() -> None:
    numbers, count = np.random.default_rng(8), 200_000
    before, after = numbers.integers(8, 300, count).astype(float), numbers.choice(LAGS, count).astype(float)
    squares = before * np.exp(numbers.normal(0.0, 1.0, count)), (after - 1.0) * np.exp(numbers.normal(0.0, 2.0, count))
    together_, others = squares[0] + squares[1], [np.zeros(count)] * 3
    precision = np.exp(numbers.uniform(np.log(0.5), np.log(30.0), count))
    shift, share, tail = (
        numbers.normal(0.0, 5.0, count),
        numbers.uniform(-1.0, 1.0, count),
        numbers.uniform(1, 2, count),
    )

    def score(products: Floats, tail: Any) -> Any:
        split = Split(before, after, shift, *squares, products, tail, *others, precision, after, after)
        return evidence.weigh(split, Prior()).score

    assert (score(share * together_, tail) <= score(-together_, 1.0) + 1e-9).all()


def test_so_many_series_are_taken_at_a_time_that_estimates_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    values, of_one = [singles(seed, 40).tolist() for seed in range(7)], len(counts_up_to(39)) * 40

    def sizes(most: int) -> list[int]:
        monkeypatch.setattr(together, "_AT_ONCE", most)
        return [len(some.places) for some in together.side_by_side(values, [None] * 7, None, {})]

    assert [sizes(most) for most in (1, 3 * of_one, 4 * of_one - 1, 4 * of_one)] == [
        [1] * 7, [3, 3, 1], [3, 3, 1], [4, 3],
    ]  # fmt: skip
    assert sizes(7 * of_one) == [7]


def test_series_of_which_nothing_is_known_before_lie_beside_none_of_which_something_is() -> None:
    values = repeated_runs(61, 20).tolist()
    blocks: list[Blocks] = [[[(0, None)] * 3] * 20, [[(0, -1 - at)] * 3 for at in range(20)]]
    groups = together.side_by_side([values] * 4, blocks * 2, None, {})
    assert [(every.series.prior.degrees, every.places.tolist()) for every in groups] == [(5.9, [0, 2]), (0.0, [1, 3])]
    assert judge_all([values] * 2, blocks=blocks) == [judge(values, blocks=of) for of in blocks]
