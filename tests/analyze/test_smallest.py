"""The smallest step that the newest versions would have shown: by value, and found as often as is said."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from detected_series import singles

from matrix_benchmarking.analyze.detect import change_points, judge, scan
from matrix_benchmarking.analyze.detect.changes import FOUR_OF_FIVE, VERSIONS, Minimum, level, smallest_steps
from matrix_benchmarking.analyze.detect.evidence import Floats, normal_score, ratio_of
from matrix_benchmarking.analyze.detect.series import Blocks, prepare

BEFORE = 30


def noise(random: np.random.Generator, versions: int, relative: float = 0.03, repeats: int = 5) -> Floats:
    return np.asarray(100.0 * np.exp(random.normal(0.0, relative, (versions, repeats))))


def step_of(
    values: Floats, blocks: Blocks | None = None, minimum: float = 0.0, absolute: float = 0.0
) -> tuple[float, int]:
    found = judge(values.tolist(), minimum=Minimum(minimum, absolute), blocks=blocks).would_show
    assert found is not None
    return found


@pytest.mark.parametrize(("score", "degrees"), [(0.5, 8.0), (3.83, 34.0), (6.0, 2.5)])
def test_the_ratio_of_a_score_is_that_whose_score_it_is(score: float, degrees: float) -> None:
    assert normal_score(ratio_of(score, degrees), degrees) == pytest.approx(score)
    assert ratio_of(1e9, degrees) < math.inf


def test_a_step_of_that_size_is_seen_within_five_versions_in_about_four_of_five_cases() -> None:
    random, seen, half, sizes = np.random.default_rng(20261122), 0, 0, []
    for _ in range(60):
        size, versions = step_of(noise(random, BEFORE + VERSIONS))
        assert versions == VERSIONS
        sizes.append(size)
        for part in (1.0, 0.5):
            again = noise(random, BEFORE + versions)
            again[BEFORE:] += part * size
            found = bool(change_points(again.tolist()))
            seen, half = seen + found * (part == 1.0), half + found * (part == 0.5)
    assert 39 <= seen <= 58
    assert half <= 20
    assert 4.0 < float(np.median(sizes)) < 6.5


@pytest.mark.parametrize("jumps", [0.0, 0.3])
def test_so_it_is_in_histories_of_single_runs_of_which_three_in_ten_may_be_higher(jumps: float) -> None:
    random, seen, asked = np.random.default_rng(20261126), 0, 0
    for _ in range(150):
        own, other = (
            noise(random, BEFORE + VERSIONS, repeats=1)
            * np.where(random.random((BEFORE + VERSIONS, 1)) < jumps, 1.3, 1)
            for _ in range(2)
        )
        if not change_points(own.tolist()):
            size, versions = step_of(own)
            other[-versions:] += size
            asked, seen = asked + 1, seen + bool(change_points(other.tolist()))
    assert 0.68 < seen / asked < 0.9


def test_a_step_is_not_said_to_be_seen_that_is_too_small_to_count() -> None:
    values = noise(np.random.default_rng(1), 40, relative=0.001)
    size, _ = step_of(values)
    assert size < 0.3
    for least in (step_of(values, minimum=0.01)[0] - 1.0, step_of(values, absolute=7.0)[0] - 7.0):
        assert 0.0 < least < size / 3.0  # it has to be measured as that large in four of five cases


def test_units_and_signs_change_nothing_but_the_unit() -> None:
    values = noise(np.random.default_rng(2), 40)
    assert step_of(values * 1024.0)[0] == pytest.approx(step_of(values)[0] * 1024.0)
    assert step_of(-values)[0] == pytest.approx(step_of(values)[0])


def test_large_steps_are_asked_for_on_the_logarithmic_scale_too() -> None:
    values = noise(np.random.default_rng(3), 40, relative=0.4, repeats=1)
    size, _ = step_of(values)
    moved, _ = step_of(values + 1e4)  # the same spread, which is small beside the level
    assert size > 1.5 * moved
    assert moved > FOUR_OF_FIVE * 40.0 / math.sqrt(VERSIONS)


def test_values_of_which_one_is_zero_have_no_logarithms() -> None:
    values = noise(np.random.default_rng(3), 40, relative=0.4, repeats=1)
    with_logarithms = step_of(values)[0]
    values[5] = 0.0
    assert step_of(-values)[0] == step_of(values)[0] < 0.8 * with_logarithms


def test_too_few_versions_say_nothing_and_equal_ones_all() -> None:
    few = noise(np.random.default_rng(4), 4)
    assert judge(few.tolist()).would_show is None
    assert not judge(few.tolist()).is_one_block
    short = noise(np.random.default_rng(4), 6)
    assert step_of(short)[1] == 3  # of the others three are the old level
    assert step_of(np.full((20, 3), 5.0))[0] < 1e-9  # what nothing blurs shows anything that counts


def test_versions_of_one_block_show_nothing_and_two_blocks_count_from_where_both_speak() -> None:
    values = noise(np.random.default_rng(5), 20)
    together = judge(values.tolist(), blocks=[[(7, None)] * 5] * 20)
    assert (together.would_show, together.is_one_block) == (None, True)
    assert step_of(values, [[(min(place, 9), None)] * 5 for place in range(20)])[1] == 12  # the newest 11 are one night
    assert not judge(values.tolist()).is_one_block


@pytest.mark.parametrize(("count", "versions"), [(4, None), (5, 2), (6, 3)])
def test_one_version_alone_shows_no_step_that_would_have_been_seen(count: int, versions: int | None) -> None:
    """Not even on two hosts; of the others of a new level three are known first."""
    values = noise(np.random.default_rng(3), 20 + count, relative=0.01, repeats=3)
    values[20:] += 20.0
    blocks: Blocks = [[(2 * place, None), *[(2 * place + 1, None)] * 2] for place in range(20 + count)]
    found = judge(values.tolist(), blocks=blocks)
    assert [change.first for change in found.changes] == [20]
    assert (found.would_show and found.would_show[1], found.is_one_block) == (versions, False)


@pytest.mark.parametrize(("lowest", "has_logarithm"), [(100.0, True), (1.0, True), (0.0, False)])
def test_a_step_of_more_than_a_thousandfold_is_beyond_reason_where_values_have_logarithms(
    lowest: float, has_logarithm: bool
) -> None:
    values = singles(71, 40)
    values[20] = lowest
    series, _, _ = prepare(values.tolist())
    found = scan.newest(series, scan.walk(series))
    assert found is not None

    def step(times: float) -> float:
        wider = msgspec.structs.replace(found[1].weight, error=times * found[1].weight.error)
        steps, _ = smallest_steps(series, 0, msgspec.structs.replace(found[1], weight=wider), Minimum(0.0, 0.0))
        return float(steps[0])

    assert math.isfinite(step(1e6)) is not has_logarithm
    low, high = 1.0, 1e6
    while has_logarithm and high / low > 1.0 + 1e-9:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if math.isfinite(step(middle)) else (low, middle)
    assert not has_logarithm or step(low) / level(series.points) == pytest.approx(math.expm1(7.0), rel=1e-6)
