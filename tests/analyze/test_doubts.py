"""What makes numbers doubtful, said once for all runs of which it holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
import toy_runs

from matrix_benchmarking.analyze.points import Point
from matrix_benchmarking.analyze.points import joined_warnings as joined
from matrix_benchmarking.matrix import Entry


def runs(*warnings: Sequence[str], repeats: Sequence[int] | None = None) -> list[Entry]:
    return [
        dataclasses.replace(toy_runs.entry({}, n), warnings=tuple(of), repeat=n if repeats is None else repeats[n])
        for n, of in enumerate(warnings)
    ]


def of_point(entries: Sequence[Entry]) -> tuple[str, ...]:
    return Point({}, tuple(entries), 1.0, None).warnings


@pytest.mark.parametrize(
    ("warnings", "said"),
    [
        (["took 80 % of a core", "took 57 % of a core", "took 60 % of a core"], ["took 57 to 80 % of a core"]),
        (["took 80 % of a core", "took 80 % of a core"], ["took 80 % of a core"]),
        (["1,200 of 9 requests", "900 of 10 requests"], ["900 to 1,200 of 9 to 10 requests"]),
        (["1.5 s", "1.25 s"], ["1.25 to 1.5 s"]),
        (
            ["status '9' after '7 s'", "status '-15' after '12.5 s'"],
            ["status '-15' to '9' after '7 s' to '12.5 s'"],
        ),
        (["status '139' after '7 s'", "status '9' after '12.5 s'"], ["status '9' to '139' after '7 s' to '12.5 s'"]),
        (
            ["no '/r-2/x.log'", "no '/r-10/x.log'", "no '/r/x.log'"],
            ["no '/r-2/x.log' to '/r-10/x.log'", "no '/r/x.log'"],
        ),
        (["\"a 1\" can't 'b 2'", "\"a 3\" can't 'b 4'"], ["\"a 1\" to \"a 3\" can't 'b 2' to 'b 4'"]),
        (["it isn't '1 200'", "it isn't '1 300'"], ["it isn't '1 200' to '1 300'"]),
        (['"1\'200" is a text', '"1\'300.5" is a text'], ['"1\'200" to "1\'300.5" is a text']),
        (["the clock was wrong", "it was 5 s late", "the clock was wrong"], ["the clock was wrong", "it was 5 s late"]),
        (
            ["it began at 1970-01-02 00:00:00+00:00, 5 s late", "it began at 1970-01-01 00:00:07+00:00, 3 s late"],
            ["it began at 1970-01-01 00:00:07+00:00 to 1970-01-02 00:00:00+00:00, 3 to 5 s late"],
        ),
        ([], []),
    ],
)
def test_sentences_that_differ_in_numbers_alone_are_one_with_ranges(warnings: list[str], said: list[str]) -> None:
    assert [sentence for sentence, _ in joined(runs(*([one] for one in warnings)))] == said


def test_each_sentence_has_its_runs_once() -> None:
    one, two, three = runs(["a", "5 b", "6 b"], ["a"], [])
    assert joined([one, two, three]) == [("a", [one, two]), ("5 to 6 b", [one])]


@pytest.mark.parametrize(
    ("having", "of", "which"),
    [
        ([1], 3, "1 of 3 runs: repeat 1"),
        ([0, 2], 3, "2 of 3 runs: repeats 0, 2"),
        ([0, 1], 2, "all 2 runs"),
        ([0, 1, 2, 3, 4], 6, "5 of 6 runs: repeats 0, 1, 2, 3, 4"),
        ([0, 1, 2, 3, 4, 5], 7, "6 of 7 runs: repeats 0, 1, 2, 3, 4, and 1 more"),
        ([0, 1, 2, 3, 4, 5, 6], 8, "7 of 8 runs: repeats 0, 1, 2, 3, 4, and 2 more"),
    ],
)
def test_of_a_point_it_is_said_which_runs_have_a_warning(having: list[int], of: int, which: str) -> None:
    some = [["late"] if n in having else [] for n in range(of)]
    assert of_point(runs(*some)) == (f"late ({which})",)


def test_runs_whose_repeats_do_not_tell_them_apart_are_named() -> None:
    assert of_point(runs(["late"], [], repeats=[0, 0])) == ("late (1 of 2 runs: run 0)",)
    assert of_point(runs(["late"], ["late"], [], repeats=[0, 0, 1])) == ("late (2 of 3 runs: run 0, run 1)",)


def test_of_a_single_run_each_warning_is_said_once_as_it_is() -> None:
    assert of_point(runs(["it was 5 s late", "a", "it was 6 s late", "a"])) == (
        "it was 5 s late",
        "a",
        "it was 6 s late",
    )
