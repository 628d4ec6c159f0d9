"""Healthy counts, error rates and skewed values have no finding that changes an answer; an odd one among them has."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import toy_runs

from matrix_benchmarking.analyze.check import Finding, findings
from matrix_benchmarking.matrix import Matrix

Floats = npt.NDArray[np.float64]
SHAPE = 5, 30, 3  # sizes, versions, repeats


def changing(values: Floats) -> list[str]:
    return [one.kind for one in found(values) if one.changes]


def found(values: Floats) -> list[Finding]:
    runs = [
        {"version": f"1.{version}", "size": size, "cost": float(value), "rate": 2.0, "memory": 3.0, "day": number}
        for number, ((size, version, _), value) in enumerate(np.ndenumerate(values))
    ]
    made = [toy_runs.entry(run, number) for number, run in enumerate(runs)]
    return findings(Matrix(made), toy_runs.workload())


HEALTHY: dict[str, Callable[[np.random.Generator], Floats]] = {
    "few counts": lambda draw: draw.poisson(1.0, SHAPE).astype(np.float64),
    "counts": lambda draw: draw.poisson(5.0, SHAPE).astype(np.float64),
    "errors of a thousand": lambda draw: draw.binomial(1000, 0.002, SHAPE) / 1000.0,
    "a long tail": lambda draw: 100.0 * np.exp(draw.normal(0.0, 0.5, SHAPE)),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_scatters_so_anyway_is_not_odd(name: str) -> None:
    odd = [changing(HEALTHY[name](np.random.default_rng([20261203, seed]))) for seed in range(5)]
    assert sum(map(bool, odd)) <= 1


def test_what_lies_around_zero_is_not_far_off() -> None:
    assert not any(changing(np.random.default_rng(seed).normal(0.0, 1.0, (1, 40, 3))) for seed in range(10))


def test_a_zero_and_a_run_far_off_are_odd_where_values_are_alike() -> None:
    values = 100.0 * np.exp(np.random.default_rng(20261204).normal(0.0, 0.03, SHAPE))
    assert changing(values) == []
    values[0, 0, 0] = 0.0
    assert changing(values) == ["below-zero"]
    values[0, 0, 0] = 700.0
    assert changing(values) == ["far-off"]
    whole = np.round(values)
    whole[0, 0, 0] = 0.0  # no count comes near it
    assert "below-zero" in changing(whole)


def test_of_two_repeats_that_are_a_unit_apart_one_is_odd_and_nobody_knows_which() -> None:
    values = 100.0 * np.exp(np.random.default_rng(20261204).normal(0.0, 0.03, (*SHAPE[:-1], 2)))
    assert changing(values) == []
    values[0, 0, 0] /= 1000.0
    assert "far-off" in changing(values)


def test_a_zero_is_no_count_of_whole_milliseconds_or_hundreds() -> None:
    milliseconds = np.random.default_rng(5).integers(3, 10, SHAPE).astype(np.float64)
    for values in (milliseconds, 100.0 * np.arange(1, 451).reshape(SHAPE)):
        values[0, 0] = 0.0
        assert "below-zero" in changing(values)


LEVELS = np.exp(np.random.default_rng(20261129).uniform(0.0, 2.0, (5, 30, 1)))


@pytest.mark.parametrize(
    ("name", "draw", "is_odd"),
    [
        ("bounds", lambda noise: 1.25 ** np.ceil(np.log(LEVELS * noise) / np.log(1.25)), True),
        ("ticks", lambda noise: np.maximum(np.round(LEVELS * noise), 1.0), True),
        ("whole milliseconds", lambda noise: np.round(100.0 * LEVELS * noise), False),
        ("exact", lambda noise: 1.25 ** np.ceil(np.log(LEVELS) / np.log(1.25)) * np.ones_like(noise), False),
        ("as measured", lambda noise: LEVELS * noise, False),
    ],
)
def test_values_on_few_steps_are_odd_where_they_scatter(
    name: str, draw: Callable[[Floats], Floats], is_odd: bool
) -> None:
    noise = np.exp(np.random.default_rng(20261130).normal(0.0, 0.05, SHAPE))
    assert ("few-steps" in changing(draw(noise))) == is_odd, name


def test_steps_are_those_between_repeats_and_not_between_levels() -> None:
    values = np.repeat(2.0 ** np.arange(5.0)[:, None], 10, axis=1)
    values[:, 0] *= 1.25
    (said,) = (one.sentence for one in found(values[:, None, :]) if one.kind == "few-steps")
    assert "10 values alone in 50 runs, 25 % apart" in said
