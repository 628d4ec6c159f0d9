"""What several series say of the mean over them: which blocks stand behind it, however they were measured."""

from __future__ import annotations

import math

import numpy as np
import pytest

from matrix_benchmarking.analyze import pair, weigh
from matrix_benchmarking.analyze.pair import NO_ROUND, OTHER, Evidence, Ground, Runs
from matrix_benchmarking.analyze.verdict.over_all import pooled
from matrix_benchmarking.analyze.weigh import NEW, OLD

Run = tuple[float, int, int, int]


def runs(*of: Run) -> Runs:
    values, *others = zip(*of, strict=True)
    return pair.runs_of(values, *(np.array(one) for one in others))


def p_value(evidence: Evidence) -> float:
    return float(weigh.tell(evidence.weighed).p_value)


IN_ROUNDS = [
    *((value, OLD, 0, number) for number, value in enumerate([10.0, 20.0, 30.0])),
    *((value, NEW, 0, number) for number, value in enumerate([11.0, 23.0, 36.0])),
]


def test_the_mean_over_series_is_that_of_their_differences() -> None:
    first, second = runs(*IN_ROUNDS), runs(*((v * 7 if s else v * 5, s, c, n) for v, s, c, n in IN_ROUNDS))
    over = pair.evidence([pooled([first, second])])[0]
    steps = np.log([1.1, 1.15, 1.2])
    assert float(over.weighed.difference) == pytest.approx(steps.mean() + math.log(7 / 5) / 2)
    assert p_value(pair.evidence([pooled([first])])[0]) == pytest.approx(p_value(pair.evidence([first])[0]))


def test_a_series_missing_in_a_round_does_not_move_the_mean() -> None:
    first = runs(*IN_ROUNDS)
    second = runs(*((v * 1000, s, c, n) for v, s, c, n in IN_ROUNDS if n > 0))
    whole, own = pair.evidence([pooled([first, second])])[0], [pair.evidence([one])[0] for one in (first, second)]
    assert float(whole.weighed.difference) == pytest.approx(
        np.mean([float(one.weighed.difference) for one in own]), abs=0.01
    )
    assert whole.blocks == (3, 3)


def in_files_of_their_own(series: int, campaigns: int, random: np.random.Generator) -> list[pair.Runs]:
    """Series without a difference, of which each campaign measured one alone; its mood is that of all at its time."""
    moods = random.normal(0.0, 0.02, 2 * campaigns)
    return [
        runs(
            *(
                (
                    math.exp(place + moods[at] + random.normal(0.0, 0.01)),
                    OLD if at < campaigns else NEW,
                    number,
                    NO_ROUND,
                )
                for at in range(2 * campaigns)
                for number in [100 * at + place]
            )
        )
        for place in range(series)
    ]


def test_campaigns_of_different_series_are_one_block_of_their_mean() -> None:
    random = np.random.default_rng(41)
    assert pair.evidence([pooled(in_files_of_their_own(12, 1, random))])[0].ground is Ground.NONE
    found = [pair.evidence([pooled(in_files_of_their_own(12, 4, random))])[0] for _ in range(300)]
    assert {one.blocks for one in found} == {(4, 4)}
    assert sum(p_value(one) < 0.05 for one in found) < 27


def test_blocks_that_share_a_series_or_are_of_other_sides_stay_apart() -> None:
    first = runs((1.0, OLD, 0, NO_ROUND), (1.1, OLD, 2, NO_ROUND), (1.2, NEW, 4, NO_ROUND), (1.3, NEW, 5, NO_ROUND))
    second = runs((1.0, OLD, 1, NO_ROUND), (1.1, NEW, 3, NO_ROUND), (1.2, NEW, 5, NO_ROUND))
    whole = pooled([first, second])
    assert whole.campaigns.tolist() == [0, 2, 3, 5, 0, 3, 5]
    assert set(whole.rounds.tolist()) == {NO_ROUND}
    together = runs((1.0, OLD, 0, NO_ROUND), (1.1, NEW, 0, NO_ROUND))  # one sitting, and two beside it
    beside = runs((1.0, OLD, 1, NO_ROUND), (1.3, NEW, 2, NO_ROUND))
    assert pair.evidence([pooled([together, beside])])[0].ground is Ground.NONE
    others = runs((1.0, OLD, 1, NO_ROUND), (1.3, NEW, 2, NO_ROUND), (1.3, OTHER, 1, NO_ROUND))
    alone = runs((1.0, OLD, 0, NO_ROUND), (1.1, NEW, 3, NO_ROUND))
    assert pair.evidence([pooled([others, alone])])[0].blocks == (1, 1)
    hosts = [runs(*((v, s, 10 * host, n + 10 * host) for v, s, _, n in IN_ROUNDS)) for host in range(2)]
    assert pair.evidence([pooled(hosts)])[0].blocks == (3, 3)


def test_series_that_are_compared_as_they_are_have_a_mean_in_one_unit() -> None:
    small = runs((0.0, OLD, 0, 0), (0.5, NEW, 0, 0), (0.5, OLD, 0, 1), (0.75, NEW, 0, 1))
    large = runs((0.0, OLD, 0, 0), (40.0, NEW, 0, 0), (8.0, OLD, 0, 1), (64.0, NEW, 0, 1))
    over = pooled([small, large])
    assert (small.unit, large.unit, over.unit) == (1.0, 128.0, 128.0)
    assert over.step * over.unit == pytest.approx(0.01)
    found = pair.evidence([over])[0]
    assert over.back(float(found.weighed.difference)) == pytest.approx((0.375 + 48.0) / 2)
    assert over.back(found.old) == pytest.approx((0.25 + 4.0) / 2)
