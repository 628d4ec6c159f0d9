"""What is measured next, by value, where the model believes this or that: the leader, a challenger or a neighbour."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from matrix_benchmarking.benchmark.search import Measurement, SearchSpec, _wanted, next_step
from matrix_benchmarking.benchmark.search import judging as of_search
from matrix_benchmarking.benchmark.search.judging import Conclusion, Evidence, gather, judge
from matrix_benchmarking.benchmark.search.model import LATENCY, Array, Belief, believe


def of(*runs: tuple[int, float | None] | tuple[int, float, float | None], **limits: Any) -> Evidence:
    return gather(SearchSpec(**limits), [Measurement(*run) for run in runs])


def believed(means: list[float], deviations: list[float]) -> Belief:
    """Of one curve, each point of which is known by itself; a run is within 3 %."""
    covariances = np.diag(np.square(deviations))[None]
    return Belief(np.ones(1), np.log([means]), covariances, np.array([0.03]), np.array([False]))


THREE = [(4, 90.0), (8, 100.0), (16, 99.0)]
ALIKE = believed([90.0, 100.0, 100.0], [0.0, 0.01, 0.02])


def challenge(evidence: Evidence, points: list[int], belief: Belief, keeping: Array | None = None) -> Any:
    """The doubt about 8 virtual users, and what is to be measured."""
    everywhere = np.ones(len(points)) if keeping is None else keeping
    return of_search._challenge(evidence, points, belief, points.index(8), everywhere)


def test_the_doubt_is_how_likely_another_number_that_keeps_the_limit_is_better_by_the_tolerance() -> None:
    belief = believed([90.0, 100.0, 103.0], [0.0, 0.0, 0.02])
    assert challenge(of(*THREE), [4, 8, 16], belief) == (pytest.approx(0.5), 16)
    assert challenge(of(*THREE), [4, 8, 16], belief, np.array([1.0, 1.0, 0.4])) == (pytest.approx(0.2), 16)
    assert challenge(of(*THREE), [4, 8, 16], belief, np.array([1.0, 1.0, 0.0])) == (pytest.approx(0.0), None)


def test_nobody_is_its_own_challenger() -> None:
    alone = believed([100.0], [0.02])
    assert challenge(of((8, 100.0), tolerance=1e-7), [8], alone) == (0.0, None)


def test_what_the_server_hardly_survives_is_a_challenge_for_the_more_it_gains() -> None:
    runs: list[tuple[int, float | None]] = [(8, 100.0), (64, None), (64, None)]
    points, deviations = [8, 16, 32], [0.0, 0.01, 0.01]
    assert challenge(of(*runs), points, believed([100.0, 106.0, 107.0], deviations))[1] == 16
    assert challenge(of(*runs), points, believed([100.0, 106.0, 112.0], deviations))[1] == 32


@pytest.mark.parametrize(
    ("repeats", "wanted"),
    [
        ({4: 1, 8: 2, 16: 2}, 16),  # known least
        ({4: 1, 8: 2, 16: 3}, 8),  # it may be repeated no more, so the other one of the two
        ({4: 1, 8: 3, 16: 2}, 16),
        ({4: 1, 8: 3, 16: 3}, 4),  # both no more: the next best
        ({4: 3, 8: 3, 16: 3}, None),
    ],
)
def test_what_was_repeated_as_often_as_it_may_be_is_left_alone(repeats: dict[int, int], wanted: int | None) -> None:
    runs = [(vus, 100.0) for vus, count in repeats.items() for _ in range(count)]
    belief = believed([99.0, 100.0, 100.0], [0.015, 0.01, 0.02])
    assert challenge(of(*runs, max_repeats=3), [4, 8, 16], belief)[1] == wanted


@pytest.mark.parametrize(("share", "wanted"), [(1.27, 8), (1.29, 16)])
def test_a_challenger_that_is_nine_times_in_ten_ahead_is_measured_however_well_it_is_known(
    share: float, wanted: int
) -> None:
    spread = math.hypot(0.04, 0.01)  # of which 1.28 leave one in ten below
    belief = believed([90.0, 100.0, 100.0 * math.exp(share * spread)], [0.0, 0.04, 0.01])
    assert challenge(of(*THREE), [4, 8, 16], belief)[1] == wanted


@pytest.mark.parametrize(
    ("keeping", "leader"),
    [([0.9, 0.5, 1.0], 0), ([0.9, 0.85, 1.0], 1), ([0.0, 0.0, 1.0], 1), ([1.0, 0.0, 0.0], 0)],
)
def test_while_none_surely_keeps_the_limit_what_is_likelier_to_may_be_slower(keeping: list[float], leader: int) -> None:
    evidence = of((4, 100.0, 20.0), (8, 110.0, 30.0), (16, 120.0, 60.0), p95_ms=50.0)
    belief = believed([100.0, 110.0, 120.0], [0.01] * 3)
    sure = np.zeros(3, dtype=bool)
    assert of_search._leader(evidence, [4, 8, 16], belief, np.array(keeping), sure) == leader


def judged(
    monkeypatch: pytest.MonkeyPatch, keeping: list[float], surely: list[bool], means: list[float], **limits: Any
) -> Conclusion:
    """The judgement on 4, 8 and 16 virtual users, where the model believes that."""
    evidence = of(*THREE, **limits)
    monkeypatch.setattr(of_search, "_points", lambda evidence: [4, 8, 11, 16])
    monkeypatch.setattr(of_search, "_throughput", lambda evidence, points: believed(means, [0.0, 0.01, 0.02, 0.02]))
    monkeypatch.setattr(of_search, "_keeping", lambda evidence, points: (np.array(keeping), np.array(surely)))
    return judge(evidence)


SURE = [True, True, False, True]


@pytest.mark.parametrize(("doubt", "bracket"), [(0.49, 11), (0.5, None), (0.54, None)])
def test_while_the_leader_will_hardly_stay_its_neighbours_can_wait(
    monkeypatch: pytest.MonkeyPatch, doubt: float, bracket: int | None
) -> None:
    """The one that is surely better keeps the limit so likely."""
    found = judged(monkeypatch, [1.0, 1.0, doubt, 0.0], SURE, [90.0, 100.0, 200.0, 50.0])
    assert (found.leader, found.doubt, found.telling, found.bracket) == (8, pytest.approx(doubt), 11, bracket)


@pytest.mark.parametrize(
    ("doubt", "found"), [(0.0, (0.015, 8)), (0.3, (0.3, 8)), (0.49, (0.49, 8)), (0.5, (0.5, 11)), (0.54, (0.54, 11))]
)
def test_a_leader_that_may_keep_the_limit_is_to_be_shown_to_if_it_is_likely_to_stay(
    monkeypatch: pytest.MonkeyPatch, doubt: float, found: tuple[float, int]
) -> None:
    told = judged(monkeypatch, [1.0, 1.0, doubt, 0.0], [False] * 4, [90.0, 100.0, 200.0, 50.0])
    assert (told.leader, told.doubt, told.telling) == (8, pytest.approx(found[0]), found[1])


def test_tied_is_what_is_less_unlikely_to_be_faster_than_the_doubt_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    for slower, tied in ((0.047, (16,)), (0.05, ())):  # 2.17 deviations of 2.24 % leave 1.5 % above
        means = [50.0, 100.0, 50.0, 100.0 * math.exp(-slower)]
        assert judged(monkeypatch, [1.0] * 4, SURE, means).tied == tied
    even = [50.0, 100.0, 50.0, 100.0]
    assert judged(monkeypatch, [1.0] * 4, SURE, even, doubt=0.5).tied == ()  # just as unlikely
    assert judged(monkeypatch, [1.0] * 4, SURE, even, doubt=0.499).tied == (16,)
    assert judged(monkeypatch, [1.0] * 4, [True, True, False, False], even).tied == ()


@pytest.mark.parametrize(("keeping", "bracket"), [(0.015, None), (0.016, 11)])
def test_a_neighbour_that_as_good_as_never_keeps_the_limit_is_not_looked_at(
    monkeypatch: pytest.MonkeyPatch, keeping: float, bracket: int | None
) -> None:
    found = judged(monkeypatch, [1.0, 1.0, keeping, 1.0], SURE, [50.0, 100.0, 50.0, 50.0])
    assert found.bracket == bracket


def test_what_can_be_shown_to_keep_the_limit_is_below_it_by_half_the_tolerance() -> None:
    known = [(4, 47.0), (8, 49.0), (16, 52.0)]
    runs = [(vus, 10.0 * vus, p95_ms) for vus, p95_ms in (*known, (16, None), (16, 0.0), (8, math.inf))]
    points = [4, 8, 11, 16]
    can, _ = of_search._keeping(of(*runs, p95_ms=50.0, tolerance=0.04), points)
    expected = believe(LATENCY, known, points, (1, 512)).probability_below(49.0)
    assert can.tolist() == pytest.approx(expected.tolist())


@pytest.mark.parametrize(
    ("judgement", "wanted"),
    [
        (Conclusion(8, 0.5, 16, 11, (), frozenset()), 11),  # a gap that may hide a peak comes first
        (Conclusion(8, 0.5, 16, None, (), frozenset()), 16),
        (Conclusion(8, 0.015, 16, None, (), frozenset()), 16),  # as where the limit is still to be shown
        (Conclusion(8, 0.0149, 16, None, (), frozenset()), 8),  # settled, but for the repeat of the answer
        (Conclusion(8, 0.5, None, None, (), frozenset()), 8),
        (Conclusion(4, 0.0149, 16, None, (), frozenset()), None),
    ],
)
def test_what_is_wanted_before_a_leader_is_settled(judgement: Conclusion, wanted: int | None) -> None:
    assert _wanted(of((4, 90.0), (4, 90.0), *THREE[1:]), judgement) == wanted


def test_the_scan_goes_up_to_a_failure_and_not_there_again() -> None:
    runs: list[tuple[int, float | None]] = [(1, 10.0), (4, 40.0), (16, 100.0)]
    scanned = [Measurement(*run) for run in runs]
    assert next_step(SearchSpec(), scanned) == 64
    step = next_step(SearchSpec(), [*scanned, Measurement(64, None), Measurement(64, None)])
    assert isinstance(step, int)
    assert step < 64
