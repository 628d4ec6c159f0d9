"""What a plot doesn't show is said with its count and its reasons."""

from __future__ import annotations

from pathlib import Path

from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting.clicks import not_shown


def runs(*exit_codes: int) -> list[Entry]:
    return [
        Entry(settings={}, repeat=place, location=Path(f"/results/{place}"), name=str(place), exit_code=code)
        for place, code in enumerate(exit_codes)
    ]


def why(run: Entry) -> str:
    return "without throughput"


def test_failed_runs_are_counted_as_such_and_others_by_their_reason() -> None:
    every = runs(1, 0, 0, 1, 0, 1)
    assert not_shown(every, [every[1], every[4]], why) == [
        "4 of 6 runs are not shown: 3 failed, 1 without throughput.",
    ]
    assert not_shown(every, [one for one in every if one is not every[2]], why) == [
        "1 of 6 runs is not shown: 1 without throughput.",
    ]
    assert not_shown(every[:1], [], why) == ["1 of 1 run is not shown: 1 failed."]


def test_nothing_is_said_where_every_run_is_shown() -> None:
    every = runs(0, 1)
    assert not_shown(every, every, why) == []
    assert not_shown([], [], why) == []


def test_a_run_that_looks_like_one_that_is_shown_is_not_shown_by_it() -> None:
    one, other = runs(0)[0], runs(0)[0]
    assert one == other
    assert not_shown([one, other], [one], why) == ["1 of 2 runs is not shown: 1 without throughput."]
