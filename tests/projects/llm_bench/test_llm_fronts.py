"""Pareto fronts and what is read off them, against a search through all points."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projects.llm_bench.visualizations.fronts import Measured, front, reading, round_values, within

POINTS = [
    Measured(name, x, y) for name, x, y in (("a", 10, 100), ("b", 20, 90), ("c", 20, 80), ("d", 30, 95), ("e", 50, 10))
]


def names(points: list[Measured[str]]) -> str:
    return "".join(point.what for point in points)


def test_a_front_holds_what_nobody_beats_in_both() -> None:
    assert names(front(POINTS, lower_x=False)) == "ade"
    assert names(front(POINTS, lower_x=True)) == "a"
    assert names(front(POINTS, lower_x=False, lower_y=True)) == "e"
    assert names(front(POINTS, lower_x=True, lower_y=True)) == "ace"


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25), st.booleans(), st.booleans())
def test_it_is_what_a_search_through_all_pairs_finds(
    pairs: list[tuple[int, int]], lower_x: bool, lower_y: bool
) -> None:
    def beats(one: tuple[int, int], other: tuple[int, int]) -> bool:
        felt = other[0] - one[0] if lower_x else one[0] - other[0]
        gained = other[1] - one[1] if lower_y else one[1] - other[1]
        return felt >= 0 and gained >= 0 and felt + gained > 0

    found = front([Measured(None, x, y) for x, y in pairs], lower_x=lower_x, lower_y=lower_y)
    assert [(point.x, point.y) for point in found] == sorted(
        {pair for pair in pairs if not any(beats(other, pair) for other in pairs)}
    )


def test_it_is_read_between_its_points_and_nowhere_else() -> None:
    points = front(POINTS, lower_x=False)
    between = reading(points, 40)
    assert between is not None
    assert between.y == pytest.approx(52.5)
    assert (between.below.what, between.above.what, between.is_measured) == ("d", "e", False)
    there = reading(points, 30)
    assert there is not None
    assert (there.y, there.is_measured) == (95, True)
    assert reading(points, 9.9) is None
    assert reading(points, 50.1) is None
    assert reading([], 1) is None


def test_a_limit_keeps_what_is_within_it() -> None:
    assert names(within(POINTS, 20, lower_x=True)) == "abc"
    assert names(within(POINTS, 20, lower_x=False)) == "bcde"


@given(st.floats(1e-6, 1e6), st.floats(1, 1e4))
def test_round_values_are_few_ascending_and_within(low: float, times: float) -> None:
    found = round_values(low, low * times)
    assert 1 <= len(found) <= 12
    assert found == sorted(set(found))
    assert all(low <= value <= low * times * (1 + 1e-9) for value in found)


def test_nothing_is_round_below_zero() -> None:
    assert round_values(-1, 3) == []
    assert round_values(0, 0) == []
    assert round_values(12, 95) == [20, 30, 40, 50, 60, 70, 80, 90]
    assert round_values(3, 700) == [5, 10, 20, 50, 100, 200, 500]
    assert round_values(104, 290) == [120, 140, 160, 180, 200, 220, 240, 260, 280]
