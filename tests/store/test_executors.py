"""Calls of an executor whose outcomes come in order, of which few wait at a time."""

from __future__ import annotations

import itertools
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from matrix_benchmarking.store import tree


def test_outcomes_come_in_order_and_no_more_is_made_than_waits():
    made = itertools.count()
    given = (next(made) for _ in range(tree.AHEAD * 3))
    with ThreadPoolExecutor(4) as threads:
        outcomes = tree.in_order(threads, lambda number: -number, given)
        assert next(outcomes) == 0
        assert next(made) == tree.AHEAD
        assert [*outcomes] == [-number for number in range(1, tree.AHEAD * 3 + 1) if number != tree.AHEAD]


def test_after_an_error_what_waits_is_not_begun():
    begun = list[int]()

    def fail(number: int) -> None:
        begun.append(number)
        time.sleep(0.02)
        raise ValueError("broken")

    with ThreadPoolExecutor(1) as threads:
        outcomes = tree.in_order(threads, fail, range(tree.AHEAD))
        with pytest.raises(ValueError, match="broken"):
            next(outcomes)
    assert len(begun) < tree.AHEAD
