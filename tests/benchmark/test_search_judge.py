"""Where a search may look, by value: places in gaps, below failures, beside the leader, and where a rise broke off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from matrix_benchmarking.benchmark.search import Measurement, SearchSpec
from matrix_benchmarking.benchmark.search.judging import (
    Evidence,
    _bracket,
    _broke_off,
    _points,
    _survival,
    gather,
    judge,
)
from matrix_benchmarking.benchmark.search.model import Belief

PEAK = [(4, 50.0), (8, 100.0), (16, 80.0), (64, 70.0), (256, 60.0)]
DEAD: list[tuple[int, float | None]] = [(64, None), (64, None)]


def of(*runs: tuple[int, float | None] | tuple[int, float, float | None], **limits: Any) -> Evidence:
    return gather(SearchSpec(**limits), [Measurement(*run) for run in runs])


def test_a_gap_has_places_at_its_quarters_unless_they_are_too_near_to_its_ends() -> None:
    assert _points(of((4, 1.0), (16, 1.0))) == [4, 6, 8, 11, 16]
    assert _points(of((1, 1.0), (101, 1.0))) == [1, 3, 10, 32, 101]
    assert _points(of((49, 1.0), (51, 1.0))) == [49, 50, 51]
    assert _points(of((100, 1.0), (105, 1.0))) == [100, 102, 105]
    assert _points(of((100, 1.0), (104, 1.0))) == [100, 104]
    assert _points(of((100, 1.0), (105, None), (105, None))) == [100]  # not so near to where the server died
    assert _points(of((100, 1.0), (107, None), (107, None))) == [100, 102, 103]


def test_a_server_survives_up_to_what_it_did_and_never_where_it_failed() -> None:
    survived = _survival(of((4, 1.0), (16, 1.0), *DEAD), [4, 16, 32, 64, 128])
    assert survived.tolist() == pytest.approx([1.0, 1.0, 0.5, 0.0, 0.0])
    assert _survival(of((16, 1.0)), [4, 64]).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("runs", "tied", "unlikely", "middle"),
    [
        (PEAK, [], set(), 11),  # not 6: even the steepest rise from 4 is below the leader there
        ([(4, 54.0), *PEAK[1:]], [], set(), 6),
        (PEAK, [], {11}, None),  # it hardly keeps the limit
        (PEAK, [16], {11}, 32),  # between a tied one and one that isn't
        (PEAK, [16, 64], {11}, 128),  # before that between two that are tied
        (PEAK, [16, 64], {11, 128}, 32),
        (PEAK, [16], set(), 11),  # the leader's neighbours first
        ([(2, 40.1), (8, 100.0)], [], set(), 4),  # the steepest rise from 2 leads past the leader
        ([(2, 40.0), (8, 100.0)], [], set(), None),  # or only up to it
        ([(1, 90.0), (2, None), (2, None)], [], set(), None),  # there is nothing in between
        ([(8, 100.0), (12, 80.0)], [], set(), None),  # near enough
        ([(8, 100.0), (13, 80.0)], [], set(), 10),
        ([(8, 100.0), (16, 99.0), (24, 60.0)], [16], {11}, None),
        ([(8, 100.0), (16, 99.0), (25, 60.0)], [16], {11}, 20),
        ([(8, 100.0), (16, 99.0), (33, 98.0)], [16, 33], {11}, None),  # two that are tied are sooner near
        ([(8, 100.0), (16, 99.0), (34, 98.0)], [16, 34], {11}, 23),
    ],
)
def test_a_wide_gap_beside_the_leader_and_the_tied_is_looked_into(
    runs: list[tuple[int, float | None]], tied: list[int], unlikely: set[int], middle: int | None
) -> None:
    leader = 8 if (8, 100.0) in runs else 1
    assert _bracket(of(*runs), leader, tied, {*range(1, 513)} - {*unlikely}) == middle


@pytest.mark.parametrize(
    ("runs", "is_broken"),
    [
        ([(4, 20.0), (16, 77.0)], True),  # in proportion it would have been 80, by more than 3 % more
        ([(4, 20.0), (16, 78.0)], False),
        ([(1, 10.0), (4, 20.0), (16, 38.0)], True),  # as it rose before it would have been 40
        ([(1, 10.0), (4, 20.0), (16, 39.0)], False),
        ([(1, 16.0), (4, 20.0), (16, 24.2)], True),  # by a quarter for each four times as many
        ([(1, 16.0), (4, 20.0), (16, 24.3)], False),
        ([(1, 1.0), (4, 20.0), (16, 77.0)], True),  # it rises no faster than in proportion
        ([(1, 1.0), (4, 20.0), (16, 78.0)], False),
        ([(1, 90.0), (2, 10.0), (4, 20.0), (16, 77.0)], True),  # the nearest before says how it rose
    ],
)
def test_a_rise_broke_off_where_going_on_it_would_have_beaten_the_leader(
    runs: list[tuple[int, float | None]], is_broken: bool
) -> None:
    assert _broke_off(of(*runs), 4, 16, 16) is is_broken


def test_a_rise_that_would_have_led_just_to_the_tolerance_beats_nobody() -> None:
    assert not _broke_off(of((4, 20.0), (16, 64.0), tolerance=0.25), 4, 16, 16)


def test_until_one_surely_keeps_the_limit_the_fastest_that_may_leads() -> None:
    runs = [Measurement(4, 50.0, 20.0), Measurement(8, 100.0, 30.0), Measurement(16, 120.0, 80.0)]
    found = judge(gather(SearchSpec(p95_ms=50.0), runs))
    assert (found.leader, found.kept) == (8, frozenset())
    alone = judge(gather(SearchSpec(p95_ms=50.0, max_repeats=1, min_repeats=1), runs))
    assert alone.leader == 4  # no repeat can show it: the lowest latency is as near as it gets
    assert alone.telling not in (None, 4, 8, 16)
    sure = judge(gather(SearchSpec(p95_ms=50.0), [*runs, Measurement(4, 50.0, 20.1), Measurement(4, 50.0, 19.9)]))
    assert (sure.leader, sure.kept) == (4, {4})


@pytest.mark.parametrize(("probability", "kept"), [(0.95, {4}), (0.9499, set())])
def test_a_number_keeps_the_limit_where_all_runs_together_are_sure_of_it(
    probability: float, kept: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Belief, "probability_below", lambda belief, _: np.full(belief.means.shape[1], probability))
    found = judge(of((4, 50.0, 20.0), (4, 50.0, 20.1), (4, 50.0, 19.9), p95_ms=50.0))
    assert found.kept == kept
