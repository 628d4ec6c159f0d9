"""First runs that differ from the later ones of their point, as of a cold cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
import toy_runs

from matrix_benchmarking.analyze.check import Finding, findings
from matrix_benchmarking.analyze.check.finding import EVERY
from matrix_benchmarking.matrix import Entry, Matrix

MINUTE_US = 60 * 10**6
SEEDS = range(100)
Draw = Callable[[numpy.random.Generator, int], Any]


def cold(by: float, noise: float = 0.01) -> Draw:
    def draw(chance: numpy.random.Generator, runs: int) -> Any:
        return chance.lognormal(0, noise, runs) * numpy.where(numpy.arange(runs) == 0, 1 + by, 1.0)

    return draw


def found(draw: Draw, repeats: Sequence[int], seed: int = 0, *, is_timed: bool = True) -> list[Finding]:
    """What is said of points of so many *repeats*, that were measured one point after the other."""
    chance, runs = numpy.random.default_rng(seed), list[Entry]()
    for point, count in enumerate(repeats):
        for repeat, value in enumerate(draw(chance, count)):
            start, name = len(runs) * MINUTE_US, f"{point} {repeat}"
            span = (start, start + MINUTE_US) if is_timed else (None, None)
            kpis = {"cost": 100 * float(value)}
            runs.append(Entry({"version": "1", "batch": point}, repeat, Path("x"), name, 0, kpis=kpis, span_us=span))
    return [one for one in findings(Matrix(runs), toy_runs.workload()) if one.kind == "first-runs"]


def test_cold_first_runs_are_said_and_change_answers_on_points_of_fewer_runs() -> None:
    (one,) = found(cold(0.05), [5] * 9 + [1])
    assert one.sentence == (
        "cost of a point's first run in a campaign is 5.0 % above that of the later ones, and beyond all of these in 9 "
        "of 9 cases: was it cold, or does the machine drift? Points of 1 and of 5 runs differ by 3.9 % for it."
    )
    assert (one.changes, one.runs) == (EVERY, [f"{point} 0" for point in range(9)])


def test_where_all_points_have_as_many_runs_no_answer_changes() -> None:
    (one,) = found(cold(-0.05), [5] * 10)
    assert "below that of the later ones" in one.sentence
    assert not one.changes


@pytest.mark.parametrize("repeats", [[5] * 5, [3] * 8, [2] * 12, [3] * 50])
@pytest.mark.parametrize(
    "draw",
    [
        cold(0.0),
        lambda chance, runs: 10 + chance.exponential(1, runs),
        lambda chance, runs: numpy.exp(0.05 * chance.standard_t(2, runs)),
        lambda chance, runs: 1.0 + chance.poisson(5, runs),
    ],
    ids=["little noise", "skewed noise", "long tails", "counts"],
)
def test_noise_of_any_form_is_none(draw: Draw, repeats: list[int]) -> None:
    assert sum(bool(found(draw, repeats, seed)) for seed in SEEDS) <= 1


def test_points_whose_order_is_unknown_may_share_a_slow_round() -> None:
    assert found(cold(0.05), [5] * 10, is_timed=False) == []
    assert found(cold(0.005, 0.0001), [5] * 10) == []  # as little as that misleads nobody


@pytest.mark.parametrize("repeats", [[3] * 2, [3] * 4, [2] * 4, [8], [5, 4, 3]])
def test_first_runs_that_are_twice_as_slow_are_said_of_a_few_points_too(repeats: list[int]) -> None:
    for is_timed in (True, False):
        (one,) = found(cold(1.0), repeats, is_timed=is_timed)
        assert one.sentence.startswith("cost of a point's first run in a campaign is ")
        assert len(one.runs) == len(repeats)
        assert bool(one.changes) is (len({*repeats}) > 1)
    assert found(cold(0.2), repeats) == []
    draws = (cold(0.0, 0.2), lambda chance, runs: numpy.exp(0.1 * chance.standard_t(2, runs)))
    assert sum(bool(found(draw, repeats, seed)) for draw in draws for seed in SEEDS) <= 1


def test_the_first_of_three_runs_of_one_point_may_be_slow_by_chance() -> None:
    assert found(cold(1.0), [3]) == found(cold(1.0), [2, 2]) == []
