"""Splits of a level: which are looked at and what they weigh, against a slow and plain computation."""

from __future__ import annotations

import functools
import itertools

import msgspec
import numpy as np
import plain_splits
import pytest
from detected_series import CASES, repeated, singles

from matrix_benchmarking.analyze.detect import evidence, splits, together
from matrix_benchmarking.analyze.detect.evidence import Prior
from matrix_benchmarking.analyze.detect.levels import counts_up_to, estimate, even_width, noise, spread
from matrix_benchmarking.analyze.detect.series import Blocks, TimeSeries, prepare
from matrix_benchmarking.analyze.detect.splits import LAGS, Plateau, _sums, candidates, every_lag, weigh

LEVEL_FIELDS = ("level", "squares", "low", "high", "second_low", "second_high")
NOISE_FIELDS = ("products", "tail_up", "tail_down", "skew", "outliers")


def of(name: str) -> TimeSeries:
    values, blocks, _ = CASES[name]
    return prepare(values, blocks)[0]


def test_a_level_is_told_anew_from_each_point_up_to_64_and_then_from_each_sixth_in_a_hundred() -> None:
    assert counts_up_to(10).tolist() == [8, 9, 10]
    assert counts_up_to(5, 3).tolist() == [3, 4, 5]
    assert counts_up_to(7).tolist() == []
    assert counts_up_to(67).tolist() == [*range(8, 65)]
    assert counts_up_to(68).tolist() == [*range(8, 65), 68]
    assert counts_up_to(90)[-5:].tolist() == [68, 73, 78, 83, 88]
    assert counts_up_to(100_000)[-1] * 1.06 > 100_000


@pytest.mark.parametrize("name", ["a step up", "a step within spikes", "skewed", "rounded", "three steps", "exact"])
def test_a_level_is_that_of_a_plain_computation(name: str) -> None:
    points = of(name).points
    counts = np.array([2, 3, 4, 5, 8, 9, 25, 32, 33, len(points)])
    counts = counts[counts <= len(points)]
    levels = estimate(points, counts)
    every = noise(points[None], levels, np.arange(2, len(counts)))
    for place, count in enumerate(counts.tolist()):
        plain = plain_splits.level_of(points[:count])
        assert [getattr(levels, field)[place] for field in LEVEL_FIELDS] == pytest.approx(
            [getattr(plain, field) for field in LEVEL_FIELDS]
        )
        assert spread(points[:count]) == pytest.approx((plain.level, plain.squares, plain.products))
        if place >= 2:
            assert [getattr(every, field)[place - 2] for field in NOISE_FIELDS] == pytest.approx(
                [getattr(plain, field) for field in NOISE_FIELDS]
            )


def test_equal_points_spread_by_their_rounding_and_zeros_not_at_all() -> None:
    for value, off in ((3.0, 3e-12), (0.0, 0.0)):
        points = np.full(12, value)
        levels = estimate(points, np.array([2, 12]))
        assert levels.squares.tolist() == pytest.approx([2 * off**2, 12 * off**2], rel=1e-9, abs=0.0)
        assert (levels.low.tolist(), levels.high.tolist()) == ([value] * 2, [value] * 2)
        found = noise(points[None], levels, np.array([1]))
        assert [float(getattr(found, name)[0]) for name in NOISE_FIELDS] == [0.0, 1.0, 1.0, 0.0, 0.0]
        assert spread(points) == (value, pytest.approx(12 * off**2, rel=1e-9, abs=0.0), 0.0)


def test_where_half_of_the_points_are_equal_one_is_held_back_at_each_end() -> None:
    points = np.array([3.0] * 10 + [1.0, 9.0, 2.0, 5.0])
    levels = estimate(points, np.array([12, 14]))
    assert (levels.low.tolist(), levels.high.tolist(), levels.level.tolist()) == (
        [3.0, 2.0], [3.0, 5.0], [3.0, 44.0 / 14.0],
    )  # fmt: skip
    assert spread(points)[:2] == pytest.approx((44.0 / 14.0, levels.squares[1]))


def test_levels_of_series_beside_each_other_are_those_of_each() -> None:
    three = np.stack([singles(seed, 70) for seed in (1, 2, 3)])
    counts = counts_up_to(70)
    levels = estimate(three, counts)
    which = np.array([0, len(counts) - 1, len(counts), 3 * len(counts) - 1])
    together = noise(three, levels, which)
    for row in range(3):
        alone = estimate(three[row], counts)
        part = evidence.only(levels, slice(row * len(counts), (row + 1) * len(counts)))
        assert all(np.array_equal(getattr(part, name), getattr(alone, name)) for name in ("counts", *LEVEL_FIELDS))
    assert together.tail_up[3] == noise(three[2:], estimate(three[2], counts), np.array([len(counts) - 1])).tail_up[0]
    assert together.products[2] == noise(three[1:], estimate(three[1], counts), np.array([0])).products[0]


@pytest.mark.parametrize("begin", [0, 7])
@pytest.mark.parametrize(
    "name",
    [
        *["a step down", "a step within spikes", "two glitches", "around zero", "rounded", "skewed", "three steps"],
        *[
            "five runs, downwards",
            "uneven runs",
            "outliers among runs",
            "a spread that grew",
            "new runs that vary more",
        ],
        *["two hosts", "common rounds", "equal runs, then others", "exact"],
    ],
)
def test_a_split_is_that_of_a_plain_computation(name: str, begin: int) -> None:
    series = of(name)
    points = series.points[begin:]
    levels = estimate(points, counts_up_to(len(points) - 1))
    prior = Prior(4.0, 0.5, 0.1) if begin else series.prior
    for last in (12, len(points) - 5, len(points) - 1):
        found = weigh(Plateau(series, begin, prior, levels), every_lag(levels, last))
        assert found.last.tolist() == [last] * len(found.last)
        lags = [lag for lag in plain_splits.LAGS if last - lag + 1 >= 8]
        assert found.split.after.tolist() == lags
        for place, lag in enumerate(lags):
            count = int(levels.counts[levels.counts <= last - lag + 1].max())
            plain = plain_splits.split_of(series, begin, last, lag, count)
            now = [getattr(found.split, field)[place] for field in plain.__struct_fields__]
            assert now == pytest.approx(msgspec.structs.astuple(plain), rel=1e-8, abs=1e-12), lag
            weighed = evidence.weigh(plain, prior)
            length = last + 1 + prior.degrees if begin else max(last + 1, 16 if series.prior.degrees else 0)
            more = 0.2 if series.prior.degrees and lag == 2 else 0.0
            assert found.excess[place] == pytest.approx(weighed.score - evidence.threshold(lag, length) + more)
            assert found.confirmed[place] == evidence.confirmed(plain, weighed, prior)


@pytest.mark.parametrize("name", ["a step up", "long"])
def test_a_split_weighs_the_same_to_the_last_digit_whatever_is_weighed_beside_it(name: str) -> None:
    series = of(name) if name != "long" else prepare(np.exp(singles(34, 330)).tolist())[0]
    levels = estimate(series.points, counts_up_to(len(series.points) - 1))
    every = every_lag(levels, len(series.points) - 1)
    together = weigh(Plateau(series, 0, series.prior, levels), every)
    for place in range(len(every[0])):
        alone = weigh(Plateau(series, 0, series.prior, levels), (every[0][[place]], every[1][[place]]))
        assert alone.excess.tolist() == together.excess[[place]].tolist()
        assert msgspec.structs.astuple(alone.split) == tuple(
            one[[place]] for one in msgspec.structs.astuple(together.split)
        )


def looked_at(series: TimeSeries, begin: int, span: tuple[int, int], least: int, prior: Prior) -> list[tuple[int, int]]:
    """The splits of which the plain means lie three standard errors apart, and two blocks speak for the new one."""
    points, found = series.points[begin:], []
    level_of = functools.cache(lambda count: plain_splits.level_of(points[:count]))
    for last in range(*span):
        for lag in plain_splits.LAGS:
            first = last - lag + 1
            if first < least:
                continue
            count = int(counts_up_to(first, least)[-1])
            old = level_of(count)
            variance = (old.squares + prior.degrees * prior.deviation**2) / (count - 1 + prior.degrees)
            shift = points[first : last + 1].mean() - old.level
            if shift**2 > 9 * variance * (1 / lag + 1 / count) and series.blocks_from(begin + first, begin + last) >= 2:
                found.append((last, lag))
    return found


@pytest.mark.parametrize("begin", [0, 5])
@pytest.mark.parametrize("name", ["a step up", "a third", "rounded", "two hosts", "single runs of campaigns"])
def test_the_splits_that_are_looked_at_are_those_of_a_plain_computation(
    name: str, begin: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = of(name)
    points = series.points[begin:]
    least = 3 if series.prior.degrees else 8
    prior = Prior(6.0, 0.01, 0.1) if begin else series.prior
    levels = estimate(points, counts_up_to(len(points) - 1, least))
    expected = looked_at(series, begin, (least, len(points)), least, prior)
    assert len(expected) > 5
    for few_places, start, stop in itertools.product(
        (500, 0), (least, len(points) - 6), (len(points) - 1, len(points))
    ):
        monkeypatch.setattr(splits, "_FEW_PLACES", few_places)
        last, lag = candidates(Plateau(series, begin, prior, levels), (start, stop))
        found = [*zip(last.tolist(), lag.tolist(), strict=True)]
        assert found == [one for one in expected if start <= one[0] < stop]


@pytest.mark.parametrize("few_places", [500, 0])
def test_of_equal_points_no_split_is_looked_at(few_places: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splits, "_FEW_PLACES", few_places)
    series = prepare([4.0] * 30)[0]
    last, lag = candidates(Plateau(series, 0, Prior(), estimate(series.points, counts_up_to(29))), (8, 30))
    assert (last.tolist(), lag.tolist()) == ([], [])


@pytest.mark.parametrize("few_places", [500, 0])
def test_all_points_but_the_fewest_of_an_old_level_may_be_a_new_one(
    few_places: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splits, "_FEW_PLACES", few_places)
    series = prepare([1.0, 2.0] * 4 + [10.0, 11.0] * 5)[0]
    last, lag = candidates(Plateau(series, 0, Prior(), estimate(series.points, counts_up_to(17))), (8, 18))
    assert (last[-1], lag[-1]) == (17, 10)


@pytest.mark.parametrize("is_known", [False, True])
def test_splits_of_series_beside_each_other_are_those_of_each(is_known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    every = []
    for place, runs in enumerate((3, 3, 3) if is_known else (1, 2, 3)):
        in_turn: Blocks = [[(at // 15, -1 - at)] * runs for at in range(40)]
        values = repeated(place, 40, (34, 4.0), repeats=runs)
        every.append(prepare(values.tolist(), None if is_known or runs == 2 else in_turn))
    part = together._of_prepared(range(3), *zip(*[(one, scale, index) for one, index, scale in every], strict=True))
    counts = counts_up_to(39, 3 if is_known else 8)
    levels = estimate(part.rows(part.series.points), counts)
    span = int(counts[0]), 40
    found = candidates(Plateau(part.series, 0, part.prior, levels), span)
    rows = found[0] // 40
    monkeypatch.setattr(splits, "_NOISES_AT_ONCE", 2)
    weighed = weigh(Plateau(part.series, 0, evidence.only(part.prior, (rows, 0)), levels), found)
    for row, (series, _, _) in enumerate(every):
        own = estimate(series.points, counts)
        last, lag = candidates(Plateau(series, 0, series.prior, own), span)
        assert len(last) > 5
        assert (found[0][rows == row] - 40 * row).tolist() == last.tolist()
        assert found[1][rows == row].tolist() == lag.tolist()
        alone = weigh(Plateau(series, 0, series.prior, own), (last, lag))
        assert weighed.excess[rows == row] == pytest.approx(alone.excess, rel=1e-9)
        assert weighed.confirmed[rows == row].tolist() == alone.confirmed.tolist()


@pytest.mark.parametrize(
    ("before", "after", "ratio"),
    [(2.0, 10.0, (10 + 4 * 6) / (2 + 4 * 6)), (2.0, 1.0, 1.0), (0.0, 10.0, (10 + 4 * 5) / (4 * 5)), (0.0, 0.0, 1.0)],
)
def test_runs_that_vary_more_than_those_of_the_old_level_did_say_less(
    before: float, after: float, ratio: float
) -> None:
    ones, runs, squares = np.ones(5), np.array([3.0, 1, 1, 1, 3]), np.array([before, 0, 0, 0, after])
    series = TimeSeries(ones, runs, ones, Prior(), ones, ones, squares, np.arange(5), ones)
    assert splits._restless(series, 0, np.array([4]), np.array([1])).tolist() == [pytest.approx(ratio)]


def test_points_beyond_reason_do_not_drown_the_others() -> None:
    points = np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1e30, -1e30, 4.0], [0.0] * 8 + [3.0, 1e30, 1.0]])
    sums = _sums(points, 8, 0)
    assert np.diff(sums[0])[-3:].tolist() == pytest.approx([5.0 + 1e8 * 5.0, 5.0 - 1e8 * 5.0, 4.0])
    assert np.diff(sums[1])[-3:].tolist() == [3.0, 1e30, 0.0]
    wide = np.array([[-10.0, -9.0, -8.0, 1.0, 2.0, 3.0, 50.0, 60.0, 1e30]])
    assert np.diff(_sums(wide, 8, 3))[0, -1] == pytest.approx(2.0 + 1e8 * 58.0)


def test_the_lags_are_all_up_to_ten_and_then_fewer() -> None:
    assert LAGS.tolist() == list(plain_splits.LAGS)


def test_many_splits_weigh_what_few_do() -> None:
    series = prepare(repeated(31, 260).tolist())[0]
    levels = estimate(series.points, counts_up_to(259))
    last = np.repeat(np.arange(170, 200), len(LAGS))
    lag = np.tile(LAGS, 30)
    many = weigh(Plateau(series, 0, series.prior, levels), (last, lag))
    assert len(last) > 500
    for few in (slice(40), slice(300, 340)):
        some = weigh(Plateau(series, 0, series.prior, levels), (last[few], lag[few]))
        assert some.excess.tolist() == many.excess[few].tolist()
    alike = weigh(Plateau(series, 0, series.prior, levels), (last, np.full(len(last), 3)))
    assert alike.excess[:: len(LAGS)].tolist() == many.excess[2 :: len(LAGS)].tolist()


def test_few_splits_are_weighed_at_once_and_of_many_those_of_like_lags() -> None:
    lag = np.tile(LAGS, 24)
    assert splits._of_like_lags(lag[:499]) == [slice(None)]
    together = [sorted({*lag[group].tolist()}) for group in splits._of_like_lags(lag[:500])]
    assert together == [[*range(1, 9)], [9, 10, 12, 14], [17, 20, 24], [30], [40], [56], [80], [112], [160]]


def test_at_best_successive_points_alternate_and_nothing_is_far_off() -> None:
    series = of("a step within spikes")
    levels = estimate(series.points, counts_up_to(59))
    found = weigh(Plateau(series, 0, series.prior, levels), every_lag(levels, 59), at_best=True).split
    assert found.products.tolist() == pytest.approx(-found.squares_before - found.squares_after)
    assert {*found.far, *found.others, *found.outliers} == {0.0}
    assert {*found.tail} == {1.0}


def test_no_zero_is_far_off_a_level_of_zeros() -> None:
    series = prepare([0.0] * 12 + [0.5, 0.5, 0.0, 0.5, 0.5])[0]
    found = weigh(
        Plateau(series, 0, Prior(), estimate(series.points, np.array([12]))), (np.array([16]), np.array([5]))
    ).split
    assert (found.far.tolist(), found.others.tolist()) == ([4.0], [0.0])


def test_rows_are_as_wide_as_numpy_adds_them_alike() -> None:
    # Each eighth number of up to 128, and the halves of more.
    assert [even_width(count) for count in (1, 8, 9, 127, 128, 129, 257)] == [8, 8, 16, 128, 128, 256, 512]
