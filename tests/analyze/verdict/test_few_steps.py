"""Values that fall on few steps, as bounds of a histogram do: what would have shown, and how large a change is."""

from __future__ import annotations

import dataclasses

import msgspec
import numpy as np
import pytest
from toy_runs import history, workload

from matrix_benchmarking.analyze import pair
from matrix_benchmarking.analyze.pair import NO_ROUND
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.model import Outcome
from matrix_benchmarking.analyze.verdict.sides import judged
from matrix_benchmarking.analyze.verdict.told import ALIKE, TOO_COARSE
from matrix_benchmarking.analyze.weigh import NEW, OLD
from matrix_benchmarking.analyze.wording import verdicts


@pytest.mark.parametrize(
    ("usual", "seldom", "least", "why"),
    [(10.0, 10.0, None, ALIKE), (10.0, 12.5, 0.25, ""), (10.0, 8.0, 0.25, ""), (10.0, 25.0, None, TOO_COARSE)],
)
def test_what_falls_on_few_steps_has_to_move_by_one_to_show(
    usual: float, seldom: float, least: float | None, why: str
) -> None:
    values = [seldom if at % 7 == 3 else usual for at in range(60)]
    entries = history(20, repeats=3)
    runs = [dataclasses.replace(one, kpis={"cost": value}) for one, value in zip(entries, values, strict=True)]
    (verdict,) = analyse_runs(runs, workload(), data="a test").verdicts
    assert verdict.why == why
    assert verdict.would_show == (None if least is None else pytest.approx(least))


@pytest.mark.parametrize(
    ("old", "new", "size"),
    [
        ([10.0], [12.5], "+25.0 % (one value on each side)"),
        ([1000000.0], [1010000.0], "+1.0 % (one value on each side)"),
        ([10.0, 10.0, 12.5], [12.5], "+25.0 % (+0.0 to +56.3 %)"),
        ([10.0], [12.5, 12.5, 10.0], "+25.0 % (+0.0 to +56.3 %)"),
        ([10.0, 10.0, 10.1], [20.0, 20.0, 20.1], "+100 % (+98.0 to +102 %)"),
        # How far odd runs lie off is no step.
        ([10.0, 10.0, 10.0, 10.0, 10.1, 10.1, 10.2, 10.2, 40.0], [20.0, 20.0, 20.1], "+98.1 % (+95.6 to +101 %)"),
    ],
)
def test_how_large_a_change_is_between_few_steps_is_known_to_a_step(
    old: list[float], new: list[float], size: str
) -> None:
    entries = history(30, repeats=3)
    values = [*(old * 60)[:60], *(new * 30)[:30]]
    runs = [dataclasses.replace(one, kpis={"cost": value}) for one, value in zip(entries, values, strict=True)]
    (verdict,) = analyse_runs(runs, workload(), data="a test").verdicts
    assert (verdict.outcome, verdicts.size(verdict)) == (Outcome.REGRESSION, size)
    assert "holds 0" not in verdicts.sentence(verdict)


@pytest.mark.parametrize(
    ("old", "new", "size"),
    [
        ([8.0, 8.0, 8.0, 8.0], [10.0001] * 4, (0.25, 0.25, 0.25)),  # they are exact, or 8 is the step below
        ([8.0, 8.0, 8.0, 10.0], [10.0, 10.0, 10.0, 10.0], (0.182, 0.0, 0.69)),
        ([8.0, 8.0, 8.0, 8.0], [10.0, 10.0, 10.0, 12.5], (0.322, 0.0, 0.89)),
        ([8.0, 8.0, 8.0, 40.0], [10.0, 10.0, 10.0, 10.0], (-0.164, -0.75, 1.8)),  # how far an odd run is, is no step
        ([8.0, 8.1, 7.9, 8.2], [10.0, 10.1, 9.9, 10.2], (0.25, 0.2, 0.3)),
    ],
)
def test_an_interval_has_what_hides_within_few_steps(
    old: list[float], new: list[float], size: tuple[float, float, float]
) -> None:
    placed, none = np.repeat([OLD, NEW], 4), np.full(8, NO_ROUND)
    runs = pair.runs_of([*old, *new], placed, np.arange(8), none)
    effect = judged([runs], pair.evidence([runs]))[0].effect
    assert effect is not None
    assert msgspec.structs.astuple(effect) == pytest.approx(size, abs=0.02)
