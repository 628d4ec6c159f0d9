"""What repeats are summarised to."""

from __future__ import annotations

import sys

import pytest

from matrix_benchmarking.analyze import intervals
from matrix_benchmarking.analyze.intervals import Sample, Scale


def test_one_run_has_no_deviation() -> None:
    assert intervals.summarise([409.44]) == Sample(1, 409.44, None)


def test_repeats_have_a_deviation_with_one_degree_of_freedom_less() -> None:
    assert intervals.summarise([1.0, 3.0, 8.0]) == Sample(3, 4.0, pytest.approx(13.0**0.5))


def test_a_zero_among_the_values_puts_all_on_the_plain_scale() -> None:
    assert intervals.scale_of([1.0, 2.0]) is Scale.RATIO
    assert intervals.scale_of([1.0, 0.0]) is Scale.DIFFERENCE


@pytest.mark.parametrize("runs", [2, 3, 7])
def test_the_mean_of_the_largest_numbers_is_no_larger(runs: int) -> None:
    largest = sys.float_info.max
    assert intervals.summarise([largest] * runs) == Sample(runs, largest, 0.0)
    assert intervals.summarise([largest, -largest] * runs).mean == 0.0
    unequal = [largest, largest, *[largest / 4] * runs]
    assert intervals.summarise(unequal).mean == pytest.approx(largest * ((2 + runs / 4) / (2 + runs)))


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([27.5, 26.98], 0.01),
        ([26000.0, 27000.0], 1.0),
        ([1e-7, 2e-7], 1e-7),
        ([0.5, 3.0], 0.1),
        ([0.0, 1.0], 1),
        ([1.0] * 3, 0),
    ],
)
def test_values_are_rounded_to_the_last_place_that_one_has(values: list[float], step: float) -> None:
    assert intervals.step_of(values) == pytest.approx(step)
