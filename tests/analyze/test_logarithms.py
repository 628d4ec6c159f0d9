"""Splits on the logarithmic scale: they weigh what the logarithms do, give or take a margin."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import numpy as np
import pytest
from detected_series import repeated, singles

from matrix_benchmarking.analyze.detect.evidence import Floats, Prior
from matrix_benchmarking.analyze.detect.levels import counts_up_to, estimate
from matrix_benchmarking.analyze.detect.series import prepare
from matrix_benchmarking.analyze.detect.splits import (
    Plateau,
    _shrinking,
    as_clear_on_logarithms,
    clearer_on_logarithms,
    every_lag,
    is_doubled,
    weigh,
)


def skewed(seed: int, sign: float, spread: float = 0.4, step: float = 4.0) -> Floats:
    return np.asarray(sign * np.exp(spread * (singles(seed, 40, (32, step)) - 100.0)))


def of_logarithms(values: Floats, last: int) -> Floats:
    """The excess of all splits up to *last* of a series whose values are the logarithms."""
    series, _, _ = prepare(np.log(np.abs(values)).tolist())
    levels = estimate(series.points, counts_up_to(len(values) - 1))
    return weigh(Plateau(series, 0, Prior(), levels), every_lag(levels, last)).excess


def test_what_is_over_its_threshold_stays_so_unless_its_logarithms_are_further_below_than_a_margin() -> None:
    kept = left = near = 0
    for seed in range(30):
        values = skewed(seed, 1.0 if seed % 2 else -1.0)
        series, _, _ = prepare(values.tolist())
        levels = estimate(series.points, counts_up_to(39))
        for last in (34, 37):
            found = weigh(Plateau(series, 0, Prior(), levels), every_lag(levels, last))
            over = np.flatnonzero(found.excess >= 0.0)
            if not len(over):
                continue
            excess = of_logarithms(values, last)[over]
            clear = as_clear_on_logarithms(Plateau(series, 0, Prior(), levels), found, over)
            assert clear.tolist() == over[excess >= -0.3].tolist()
            kept, left = kept + len(clear), left + len(over) - len(clear)
            near += int((np.abs(excess + 0.3) < 0.15).sum())
    assert kept > 40 and left > 5 and near > 5


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("step", [6.0, -6.0])
def test_levels_with_a_factor_of_two_between_them_are_as_clear_as_their_logarithms_less_a_margin(
    sign: float, step: float
) -> None:
    raised = 0
    for seed in range(40):
        values = skewed(seed, sign, 0.3, step)
        series, _, _ = prepare(values.tolist())
        levels = estimate(series.points, counts_up_to(39))
        found = weigh(Plateau(series, 0, Prior(), levels), every_lag(levels, 34))
        clear = clearer_on_logarithms(Plateau(series, 0, Prior(), levels), found)
        old = np.array([levels.level[levels.counts.tolist().index(int(count))] for count in found.split.before])
        ratio = (old + found.split.shift) / old
        far = (found.excess < 0.0) & ((ratio > 2.0) | ((ratio < 0.5) & (ratio > 0.0)))
        expected = np.where(far, np.maximum(found.excess, of_logarithms(values, 34) - 0.3), found.excess)
        assert clear.excess == pytest.approx(expected)
        assert clear.weight.score - found.weight.score == pytest.approx(expected - found.excess)
        raised += int((expected > found.excess).sum())
    assert raised >= 5


def test_the_noise_that_is_known_is_relative_to_the_level_on_logarithms() -> None:
    logarithms = repeated(61, 14, (11, 24.0)) / 8.0
    logarithms[11:] += 3.0 * (logarithms[11:] - np.median(logarithms[11:], axis=1, keepdims=True))
    runs = np.exp(logarithms)
    series, _, _ = prepare(runs.tolist())
    least = 3
    levels = estimate(series.points, counts_up_to(13, least))
    found = weigh(Plateau(series, 0, series.prior, levels), every_lag(levels, 13))
    clear = clearer_on_logarithms(Plateau(series, 0, series.prior, levels), found)
    plain = dataclasses.replace(series, points=np.log(series.points), squares=series.squares / series.points**2)
    known = Prior(series.prior.degrees, series.prior.deviation / levels.level[0], series.prior.correlation)
    of_logs = estimate(plain.points, counts_up_to(13, least))
    expected = weigh(Plateau(plain, 0, known, of_logs), every_lag(of_logs, 13)).excess - 0.3
    far = np.flatnonzero((found.excess < 0.0) & is_doubled(levels, found.split))
    assert clear.excess[far] == pytest.approx(np.maximum(found.excess[far], expected[far]))
    assert (clear.excess[far] > found.excess[far]).any()


def test_values_without_a_logarithm_are_as_clear_as_they_are() -> None:
    values = skewed(3, 1.0)
    for place, value in ((5, 0.0), (5, -1.0)):
        values[place] = value
        series, _, _ = prepare(values.tolist())
        levels = estimate(series.points, counts_up_to(39))
        found = weigh(Plateau(series, 0, Prior(), levels), every_lag(levels, 37))
        over = np.arange(len(found.last))
        assert as_clear_on_logarithms(Plateau(series, 0, Prior(), levels), found, over) is over
        assert clearer_on_logarithms(Plateau(series, 0, Prior(), levels), found) is found


def test_little_values_have_a_logarithm_and_later_points_are_not_asked() -> None:
    for place, value in ((0, 1e-4), (5, 1e-4), (38, -1.0)):
        values = skewed(3, 1.0, 0.3, 6.0)
        values[place] = value
        series, _, _ = prepare(values.tolist())
        levels = estimate(series.points, counts_up_to(39))
        for last in (34, 37):
            found = weigh(Plateau(series, 0, Prior(), levels), every_lag(levels, last))
            found = msgspec.structs.replace(found, excess=found.excess - 9.0)
            assert clearer_on_logarithms(Plateau(series, 0, Prior(), levels), found) is not found


def test_by_how_much_scores_may_shrink() -> None:
    series, _, _ = prepare(skewed(4, 1.0).tolist())
    levels = estimate(series.points, counts_up_to(39))
    found = weigh(Plateau(series, 0, Prior(), levels), every_lag(levels, 37))
    shifts = found.split.shift.copy()
    shifts[0] = 0.0
    found = msgspec.structs.replace(found, split=msgspec.structs.replace(found.split, shift=shifts))
    old = np.array([levels.level[levels.counts.tolist().index(int(count))] for count in found.split.before])
    over = np.array([0, 2, 5])
    expected = found.weight.score * (1.0 - 0.3 / old * np.log1p(np.abs(shifts) / old) / (np.abs(shifts) / old + 1e-300))
    expected[0] = found.weight.score[0]
    assert _shrinking(found, over, levels, 0.3) == pytest.approx(expected[over])


@pytest.mark.parametrize(
    ("old", "new", "is_so"),
    [
        *[(4.0, 8.0, False), (4.0, 8.1, True), (4.0, 2.0, False), (4.0, 1.9, True), (-4.0, -8.1, True)],
        *[
            (-4.0, -1.9, True),
            (4.0, -9.0, False),
            (4.0, 0.0, False),
            (-4.0, 9.0, False),
            (0.01, 0.03, True),
            (-4.0, -5.0, False),
        ],
    ],
)
def test_a_level_is_doubled_that_is_more_than_twice_the_other(old: float, new: float, is_so: bool) -> None:
    points = np.array([[7.0] * 12, [old] * 12])
    levels = estimate(points, counts_up_to(12))
    alone = estimate(points[1], counts_up_to(12))
    split: Any = type("Split", (), {"before": np.array([9.0]), "shift": np.array([new - old])})
    assert is_doubled(alone, split).tolist() == [is_so]
    known = msgspec.structs.replace(alone, level=np.array([*[0.1 * old] * 4, old]))
    last: Any = type("Split", (), {"before": np.array([12.0]), "shift": np.array([new - old])})
    assert is_doubled(known, last).tolist() == [is_so]
    assert is_doubled(levels, split, np.array([1]), 2).tolist() == [is_so]
