"""Which runs were measured together: as recorded, else as times, hosts and points tell."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import pytest
from builders import speed_files, speed_workload, write_test
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking import history, store, workload
from matrix_benchmarking.analyze.blocks import LONGEST_PAUSE_S, Block, blocks_of
from matrix_benchmarking.history import read, transfer
from matrix_benchmarking.matrix import Entry, Facts

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
MINUTE_US = 60_000_000


def run(point: Any, at: float | None, *, end: float | None = None, host: str | None = None, **more: Any) -> Entry:
    """A run of *point* that started *at* a minute, and took half of one unless *end* says when it ended."""
    start_us = None if at is None else round(at * MINUTE_US)
    end_us = None if start_us is None else round((at + 0.5 if end is None else end) * MINUTE_US)
    return Entry(
        settings={"version": point},
        repeat=0,
        location=Path("/nowhere"),
        name=f"{point} at {at}",
        exit_code=0,
        host=host,
        span_us=(start_us, end_us),
        facts=Facts(None),
        **more,
    )


def in_turn(points: str, *, at: int = 0, **more: Any) -> list[Entry]:
    """A run a minute."""
    return [run(point, minute, **more) for minute, point in enumerate(points, start=at)]


def rounds(runs: list[Entry]) -> list[int | None]:
    found = blocks_of(runs)
    assert {block.campaign for block in found} == {0}
    return [block.round for block in found]


def campaigns(runs: list[Entry]) -> list[int]:
    return [block.campaign for block in blocks_of(runs)]


def test_no_runs_have_no_blocks() -> None:
    assert blocks_of([]) == []


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ("ABABAB", [0, 0, 1, 1, 2, 2]),
        ("ABCACBBCA", [0, 0, 0, 1, 1, 1, 2, 2, 2]),
        ("ABBA", [0, 0, 1, 1]),
        ("ABCDBCDABCDA", [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]),
        ("ABCAB", [0, 0, 0, 1, 1]),
    ],
)
def test_a_round_ends_where_a_point_comes_again(points: str, expected: list[int]) -> None:
    assert rounds(in_turn(points)) == expected


@pytest.mark.parametrize(
    "points", ["AABB", "AAABBB", "ABCCBD", "AABBCC", "AABCDDEFGG", "ABCDE", "AAAA", "A", "ABCAD", "AAB"]
)
def test_what_is_measured_one_point_after_the_other_has_no_rounds(points: str) -> None:
    assert rounds(in_turn(points)) == [None] * len(points)


def test_a_point_is_all_of_its_settings_with_their_types() -> None:
    assert rounds(in_turn([1, "1", 1.0, True, 1, "1", 1.0, True])) == [0, 0, 0, 0, 1, 1, 1, 1]


def test_the_order_in_which_runs_are_given_is_not_that_in_which_they_were_measured() -> None:
    runs = in_turn("ABCABC")
    expected = dict(zip((entry.name for entry in runs), rounds(runs), strict=True))
    random.Random(3).shuffle(runs)
    assert rounds(runs) == [expected[entry.name] for entry in runs]


def test_a_long_pause_ends_a_campaign_and_one_as_long_as_the_longest_does_not() -> None:
    pause = LONGEST_PAUSE_S / 60
    first = run("A", 0, end=1)
    assert campaigns([first, run("A", 1 + pause)]) == [0, 0]
    assert campaigns([first, run("A", 1 + pause + 0.001)]) == [0, 1]
    assert LONGEST_PAUSE_S == 1800


def test_a_long_run_is_no_pause() -> None:
    assert campaigns([run("A", 0, end=300), run("B", 300, end=600), run("A", 601, end=900)]) == [0, 0, 0]
    assert campaigns([run("A", 0, end=300), run("B", 1, end=2), run("A", 301)]) == [0, 0, 0]


def test_rounds_end_with_their_campaign_and_are_numbered_on() -> None:
    night = [run(entry.settings["version"], number + 1000) for number, entry in enumerate(in_turn("ABAB"))]
    found = blocks_of([*night, *in_turn("ABAB")])
    assert found == [
        *(Block(1, number) for number in (2, 2, 3, 3)),
        *(Block(0, number) for number in (0, 0, 1, 1)),
    ]


def test_campaigns_of_two_hosts_at_the_same_time_are_two() -> None:
    runs = [*in_turn("ABAB", host="x"), *in_turn("AABB", host="y"), *in_turn("A")]
    found = blocks_of(runs)
    assert [block.campaign for block in found] == [0] * 4 + [1] * 4 + [2]
    assert [block.round for block in found] == [0, 0, 1, 1, *[None] * 5]


def test_a_recorded_campaign_is_taken_as_it_is_recorded() -> None:
    recorded = [(1, "a", 1), (2, "a", 2), (3, "a", 1), (4, "b", 1), (5, "b", None), (2000, "a", 2)]
    runs = [run("A", at, host=str(at), campaign=campaign, round=number) for at, campaign, number in recorded]
    assert blocks_of(runs) == [Block(0, 0), Block(0, 1), Block(0, 0), Block(1, 2), Block(1, None), Block(0, 1)]


def test_runs_without_a_record_are_another_campaign_than_the_recorded_ones_among_them() -> None:
    runs = [run("A", 1), run("A", 2, campaign="None", round=1), run("B", 3), run("B", 4, campaign="None", round=1)]
    assert blocks_of(runs) == [Block(0, None), Block(1, 0), Block(0, None), Block(1, 0)]


def test_runs_of_unknown_time_are_one_campaign_without_rounds_before_all_others() -> None:
    runs = [run(point, None) for point in "ABCABC"]
    assert blocks_of(runs) == [Block(0, None)] * 6
    assert campaigns([run("A", 5), *runs]) == [1] + [0] * 6


def test_where_only_the_end_or_the_start_is_known_it_stands_for_both() -> None:
    def at(start: int | None, end: int | None) -> Entry:
        entry = run("A", None)
        entry.span_us = start, end
        return entry

    apart = LONGEST_PAUSE_S * 10**6
    assert campaigns([at(0, None), at(None, apart), at(2 * apart, 2 * apart + 1), at(3 * apart + 2, None)]) == [
        0,
        0,
        0,
        1,
    ]


def test_runs_of_equal_times_are_in_no_order_that_could_make_rounds() -> None:
    assert rounds([run(point, 0) for point in "ABCABC"]) == [None] * 6


def test_an_unknown_time_is_that_at_which_a_history_first_saw_the_run() -> None:
    day_us = 24 * 60 * MINUTE_US
    runs = [run("A", None, recorded=(1, day * day_us)) for day in (2, 1, 2)]
    assert blocks_of(runs) == [Block(1, None), Block(0, None), Block(1, None)]
    placed = [run("A", None, recorded=(0, day * day_us)) for day in (1, 2)]
    assert campaigns(placed) == [0, 0]
    assert campaigns([run("A", 5, recorded=(1, 2 * day_us)), run("B", 6, recorded=(1, 3 * day_us))]) == [0, 0]


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.none() | st.integers(0, 99), st.none() | st.sampled_from("xy"))))
def test_every_run_has_a_block_and_numbers_have_no_gaps(given_runs: list[tuple[str, int | None, str | None]]) -> None:
    found = blocks_of([run(point, at, campaign=campaign, round=None) for point, at, campaign in given_runs])
    assert {block.campaign for block in found} == set(range(len({block.campaign for block in found})))
    numbers = {block.round for block in found} - {None}
    assert numbers == set(range(len(numbers)))
    of_round = {(block.round, block.campaign) for block in found if block.round is not None}
    assert len(of_round) == len(numbers)


def test_the_recorded_releases_are_eighteen_versions_in_five_rounds(tmp_path: Path) -> None:
    place = history.SQLiteLocation(tmp_path / "releases.db")
    with history.open_history(place, writable=True) as kept:
        transfer.read_import(kept, SAMPLES / "encoder_history" / "history.jsonl.gz")
    runs = list(read.read_matrix(workload.load("encoder_bench"), place))
    found = blocks_of(runs)
    assert {block.campaign for block in found} == {0}
    for number in range(5):
        members = [entry for entry, block in zip(runs, found, strict=True) if block.round == number]
        assert len(members) == 36
        assert len({entry.settings["version"] for entry in members}) == 18


def test_the_encoder_sample_is_three_rounds_over_all_points(sample: Path) -> None:
    runs = list(store.parse_tree(workload.load("encoder_bench"), sample))
    found = blocks_of(runs)
    assert [(block.campaign, block.round) for block in found] == [(0, entry.repeat) for entry in runs]


def test_where_nothing_but_the_environment_tells_hosts_apart_it_does(tmp_path: Path) -> None:
    times = '{"start": "1970-01-01T00:00:01Z", "end": "1970-01-01T00:00:03Z"}'
    for name, cpu in (("a", "Xeon"), ("b", "EPYC"), ("c", "Xeon")):
        environment = f'{{"cpu_model": "{cpu}", "kernel": "Linux 6.1"}}'
        files = {**speed_files(3), "test_start_end.json": times, "environment.json": environment}
        write_test(tmp_path / name, {"vus": name}, files=files)
    write_test(tmp_path / "d", {"vus": "d"}, files={**files, "block.json": '{"version": 1, "campaign": "night"}'})
    for matrix in (
        store.parse_tree(speed_workload(), tmp_path),
        store.read_index(speed_workload(), tmp_path),
    ):
        assert campaigns(matrix.entries) == [0, 1, 0, 2]
        assert [run.host for run in matrix] == [
            "Xeon, Linux 6.1",
            "EPYC, Linux 6.1",
            "Xeon, Linux 6.1",
            "Xeon, Linux 6.1",
        ]


def started(points: str, every: float, at: float = 0.0) -> list[Entry]:
    """Runs of which nobody knows when they ended."""
    minutes = [at + every * place for place in range(len(points))]
    return [run(point, minute, end=minute) for point, minute in zip(points, minutes, strict=True)]


def test_runs_that_follow_each_other_are_one_campaign_though_their_ends_are_not_known() -> None:
    assert campaigns(started("aaabbb", 45)) == [0] * 6
    assert rounds(started("ababab", 45)) == [0, 0, 1, 1, 2, 2]


def test_versions_hour_by_hour_and_night_by_night_stay_campaigns_of_their_own() -> None:
    assert campaigns(started("abcdef", 60)) == campaigns(started("aaabbb", 60)) == [*range(6)]
    files = [each for hour, point in enumerate("aaabbb") for each in in_turn(f"{point}xyz", at=60 * hour)]
    assert campaigns([dataclasses.replace(each, span_us=(each.span_us[0], None)) for each in files]) == [
        hour for hour in range(6) for _ in range(4)
    ]
    assert campaigns([*started("aaa", 45), *started("aaa", 45, at=24 * 60)]) == [0, 0, 0, 1, 1, 1]
    commits = [each for hour, point in enumerate("abcdefgh") for each in started(point * 3, 5, at=60 * hour)]
    assert campaigns(commits) == [hour for hour in range(8) for _ in range(3)]
    again = started("a", 5, at=60 * 2 + 20)  # one of them is measured once more
    assert len(set(campaigns([*commits, *again]))) == 8
