"""Runs that now and then are far from the others of their point are said; noise of whatever form is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import toy_runs

from matrix_benchmarking.analyze.check import AnswerKind, Finding, findings
from matrix_benchmarking.matrix import Entry, Matrix

POINTS, SEEDS = 25, range(20)
Draw = Callable[[numpy.random.Generator, tuple[int, int]], Any]


def slow(share: float, times: float) -> Draw:
    def draw(chance: numpy.random.Generator, shape: tuple[int, int]) -> Any:
        return chance.lognormal(0, 0.01, shape) * numpy.where(chance.random(shape) < share, times, 1.0)

    return draw


def found(draw: Draw, repeats: int, seed: int) -> list[Finding]:
    values = (100.0 + numpy.arange(POINTS))[:, None] * draw(numpy.random.default_rng(seed), (POINTS, repeats))
    runs = [
        Entry({"version": "1", "batch": at}, repeat, Path("x"), f"{at} {repeat}", 0, kpis={"cost": float(value)})
        for at, row in enumerate(values)
        for repeat, value in enumerate(row)
    ]
    return [one for one in findings(Matrix(runs), toy_runs.workload()) if one.kind == "uneven"]


@pytest.mark.parametrize("repeats", [3, 5, 10])
@pytest.mark.parametrize("times", [2.0, 1.25])
def test_a_tenth_of_the_runs_that_is_slow_is_said_beside_the_best(times: float, repeats: int) -> None:
    said = [found(slow(0.1, times), repeats, seed) for seed in SEEDS]
    assert sum(any(AnswerKind.BEST in one.changes for one in each) for each in said) >= 0.8 * len(SEEDS)


def test_one_such_run_is_good_to_know() -> None:
    def draw(chance: numpy.random.Generator, shape: tuple[int, int]) -> Any:
        values = chance.lognormal(0, 0.01, shape)
        values[3, 1] *= 2
        return values

    (one,) = found(draw, 3, 0)
    said = "cost is +98.7 % off the middle of a point's repeats in 1 of 75 runs, and else they scatter by 0.8 %."
    assert one.sentence == said
    assert (one.runs, one.changes) == (["3 1"], frozenset())


@pytest.mark.parametrize("repeats", [3, 5])
@pytest.mark.parametrize(
    "draw",
    [
        lambda chance, shape: chance.lognormal(0, 0.1, shape),
        lambda chance, shape: chance.lognormal(0, 0.3, shape),
        lambda chance, shape: numpy.exp(0.05 * chance.standard_t(3, shape)),
        lambda chance, shape: chance.lognormal(0, numpy.where(numpy.arange(shape[0]) % 2, 0.1, 0.005)[:, None], shape),
        lambda chance, shape: slow(0.0, 1.0)(chance, shape) * numpy.where(numpy.arange(shape[1]) == 1, 1.3, 1.0),
    ],
    ids=["noisy", "very noisy", "long tails", "two noises", "a slow round"],
)
def test_noise_of_any_form_is_none(draw: Draw, repeats: int) -> None:
    said = [found(draw, repeats, seed) for seed in SEEDS]
    assert sum(any(one.changes for one in each) for each in said) <= 1
    assert sum(map(bool, said)) <= 0.25 * len(SEEDS)
