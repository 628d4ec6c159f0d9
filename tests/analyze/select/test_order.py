"""Which version came after which: from one source for a whole analysis, never by chance and never by the alphabet."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from toy_runs import DAY_US, entry, workload

from matrix_benchmarking import filters
from matrix_benchmarking.analyze.select.labelled import LabelledRun, labelled
from matrix_benchmarking.analyze.select.order import Order, OrderUnknown, axes
from matrix_benchmarking.analyze.select.order_sources import Explicit, contradiction
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.model import Outcome
from matrix_benchmarking.analyze.words import named
from matrix_benchmarking.errors import ConfigError, WorkloadError
from matrix_benchmarking.filters import matches, parse
from matrix_benchmarking.matrix import NOT_SET, Entry, typed

COMMITS = [
    *("9f3c1ab", "0b7d2e4", "c41a9f0", "7e05d1b", "f2b8c36", "1d94e7a", "a6310fc", "58c2b9d", "e0f7134", "3ab5d82"),
    *("d87e01c", "64f9a2b", "b13c5e7", "2e6d8f1"),
]


def order(
    *runs: dict[str, Any], explicit: Explicit | None = None, names: list[str] | None = None, **keys: Any
) -> Order:
    entries = [entry({"cost": 1.0, "day": None, **run}, number) for number, run in enumerate(runs)]
    if names is not None:
        entries = [dataclasses.replace(one, name=name, kept_in=None) for one, name in zip(entries, names, strict=True)]
    toy = workload(**keys)
    return Order(labelled(entries, toy), toy, explicit)


def versions(found: Order, key: str = "version") -> list[Any]:
    places = found.of(key).places
    return [value for _, value in sorted(places, key=places.__getitem__)]


def nightly(uploads: bool = True, sizes: tuple[int, ...] = (1, 2)) -> list[Entry]:
    """A run at each size of each commit, without a time, the last two versions 15 % slower; in an order of chance."""
    noise = np.random.default_rng(3).normal(0, 1, (len(COMMITS), len(sizes), 3))
    runs = [
        {
            "version": commit,
            "size": size,
            "cost": (115 if night >= 12 else 100) + noise[night, place, repeat],
            "day": None,
            "recorded": (1, night * DAY_US if uploads else 1),
        }
        for night, commit in enumerate(COMMITS)
        for place, size in enumerate(sizes)
        for repeat in range(3)
    ]
    entries = [entry(run, number) for number, run in enumerate(runs)]
    random.Random(7).shuffle(entries)
    return entries


def test_commits_without_times_stand_in_the_order_in_which_the_history_saw_them() -> None:
    found = analyse_runs(nightly(), workload(), data="a test", kpi_filter=["cost"])
    assert (found.newest, found.order) == (
        COMMITS[13],
        "Versions in the order in which the history first saw them.",
    )
    for verdict in found.verdicts:
        assert (verdict.outcome, verdict.last_good_version, verdict.first_bad_version) == (
            Outcome.REGRESSION,
            COMMITS[11],
            COMMITS[12],
        )


@pytest.mark.parametrize("chosen", ["size=1", "size=2"])
def test_a_filter_changes_neither_the_newest_version_nor_the_blame(chosen: str) -> None:
    entries = [one for one in nightly() if not (one.settings["size"] == 2 and one.settings["version"] == COMMITS[13])]
    whole = Order(labelled(entries, workload()), workload())
    part = [one for one in entries if matches(parse(chosen), one.settings)]
    found = analyse_runs(part, workload(), data="a test", kpi_filter=["cost"], order=whole)
    assert found.newest == COMMITS[13]
    assert [verdict.first_bad_version for verdict in found.verdicts] in ([COMMITS[12]], [])
    if chosen == "size=2":
        assert "no value at 2e6d8f1, the newest version" in found.verdicts[0].notes[0]


def test_a_version_of_a_wrong_clock_has_no_place_and_hides_no_newer_one() -> None:
    days = [20500 + at for at in range(6)]
    for wrong in (-20499, 30000):  # in 1970, and in 2052
        found = order(*({"version": COMMITS[at], "day": wrong if at == 2 else day} for at, day in enumerate(days)))
        assert versions(found) == [*COMMITS[:2], *COMMITS[3:6]]
        assert found.notes == (
            f"1 version with 1 run left out ({COMMITS[2]}): without a place in the order of the times",
        )
    often = [{"version": COMMITS[0], "day": 30000}] * 9  # of one version, however many runs it has
    assert versions(order(*often, *({"version": COMMITS[at], "day": 20500 + at} for at in (1, 2)))) == COMMITS[1:3]
    ahead = order(*({"version": commit, "day": 30000 + at} for at, commit in enumerate(COMMITS)))
    assert versions(ahead) == COMMITS


def test_versions_of_one_upload_without_times_have_no_order() -> None:
    with pytest.raises(OrderUnknown, match=r"the order of version is unknown: nothing says which of .* and 9 more is"):
        analyse_runs(nightly(uploads=False), workload(), data="a test")


@pytest.mark.parametrize(
    ("labels", "source"),
    [
        (["1.10", "1.9"], "Versions in the order of their numbers."),
        (["nightly-20260203", "nightly-20251231"], "Versions in the order of their dates."),
    ],
)
def test_versions_of_one_kind_are_their_own_order(labels: list[str], source: str) -> None:
    found = order(*({"version": label} for label in labels))
    assert (versions(found), found.sentence, found.notes) == (labels[::-1], source, ())
    assert found.said("version") == [source]
    assert not found.of("version").leaves_out


@pytest.mark.parametrize(
    "labels", [["1.9", "main"], ["1.9", "9f3c1ab"], ["vllm-0.5", "rhoai-2.9"], ["1.9", "2026-01-01"]]
)
def test_versions_of_several_kinds_are_none(labels: list[str]) -> None:
    with pytest.raises(OrderUnknown):
        order(*({"version": label} for label in labels)).of("version")
    found = order(*({"version": label, "day": day} for day, label in enumerate(labels)))
    assert (versions(found), found.sentence) == (labels, "Versions in the order of the times.")


def test_a_source_that_places_all_versions_goes_before_one_that_places_some() -> None:
    found = order(
        {"version": "b", "day": 1, "recorded": (0, 5)},
        {"version": "a", "day": 2, "recorded": (1, 1)},
        {"version": "c", "recorded": (1, 2)},
    )
    assert versions(found) == ["b", "a", "c"]
    assert found.sentence == "Versions in the order in which the history first saw them."


def test_what_no_source_places_is_left_out_and_said() -> None:
    found = order({"version": "b", "day": 1}, {"version": "a", "day": 2}, {"version": "c"}, {"version": "c"})
    assert versions(found) == ["b", "a"]
    assert found.notes == ("1 version with 2 runs left out (c): without a place in the order of the times",)
    assert found.of("version").leaves_out


def test_older_versions_that_are_tied_are_left_out_and_said() -> None:
    found = order({"version": "b", "day": 1}, {"version": "a", "day": 1}, {"version": "c", "day": 2})
    assert versions(found) == ["c"]
    assert found.notes == ("2 versions with 2 runs left out (b, a): nothing says which of them is the newer one",)


def test_ties_are_broken_by_the_next_source() -> None:
    tied = [{"version": name, "day": 1, "recorded": (1, at)} for at, name in ((2, "a"), (1, "b"), (3, "c"))]
    assert versions(order(*tied)) == ["b", "a", "c"]
    same = [{"version": "1.2", "recorded": (1, 2)}, {"version": "1.2-gpu", "recorded": (1, 1)}]
    assert versions(order({**same[0], "day": 1}, same[1], {"version": "1.3", "recorded": (1, 3)})) == [
        *("1.2-gpu", "1.2", "1.3"),
    ]


def test_the_newest_two_that_are_tied_have_no_order() -> None:
    with pytest.raises(OrderUnknown, match="nothing says which of a, c is the newest;"):
        order({"version": "b", "day": 1}, {"version": "a", "day": 2}, {"version": "c", "day": 2}).of("version")
    with pytest.raises(OrderUnknown, match="nothing says which of a, b is the newest;"):
        order({"version": "b"}, {"version": "a"}).of("version")


def test_one_version_needs_no_order() -> None:
    found = order({"version": "main"}, {"version": "main"}).of("version")
    assert (list(found.places.values()), found.sentence, found.notes, found.leaves_out) == ([0], "", (), False)


def test_each_comparison_key_has_its_places_where_its_order_is_known() -> None:
    runs = [{"version": version, "build": build} for version, build in (("1.1", "x"), ("1.0", "y"))]
    found = order(*runs, comparison_keys=["version", "build"])
    assert found.keys == ["version", "build"]
    assert found.known_places == {"version": {typed("1.0"): 0, typed("1.1"): 1}}


def test_a_comparison_key_that_nothing_has_is_an_error_unless_the_axis_is_said() -> None:
    keys: dict[str, Any] = {"comparison_keys": ["verison", "version"]}
    with pytest.raises(WorkloadError, match=r"nor a setting of any of 2 runs, 'verison': did you mean 'version'\?"):
        order({"version": "1.0"}, {"version": "1.1"}, **keys).of("version")
    runs = labelled([entry({"version": version, "cost": 1.0}, 0) for version in ("1.0", "1.1")], workload(**keys))
    assert Order(runs, workload(**keys), axis="version").newest == "1.1"


def test_the_runs_of_entries_are_those_that_the_order_knows_and_others() -> None:
    known, new, failed = (
        entry({"version": "1", "cost": 1.0, "exit_code": code}, n) for n, code in enumerate((0, 0, 1))
    )
    (run,) = labelled([known], workload())
    first, second = Order([run], workload()).runs_of([known, new, failed])
    assert first is run
    assert second.entry is new


def test_sources_that_contradict_each_other_are_said_with_the_number_of_pairs() -> None:
    runs = [{"version": f"1.2.{number}", "day": number} for number in range(14)]
    runs[4]["day"], runs[1]["day"] = 1, 4
    found = order(*runs)
    assert found.notes == ("the other way round by the times: 5 of 91 pairs, 1.2.2 before 1.2.1",)
    assert found.said("version") == [
        "Versions in the order of their numbers.",
        "The other way round by the times: 5 of 91 pairs, 1.2.2 before 1.2.1.",
    ]


def test_times_that_a_results_tree_has_at_hand_contradict_the_numbers_too() -> None:
    entries = [
        dataclasses.replace(entry({"version": version, "cost": 1.0, "day": None}, place), facts=None, kept_in=None)
        for place, version in enumerate(("1.0", "1.1"))
    ]
    for day, run in zip((9, 2), entries, strict=True):
        run.span_us = (day * DAY_US, day * DAY_US + 1)
    toy = workload()
    found = Order(labelled(entries, toy, by_settings=True), toy)
    assert found.notes == ("the other way round by the times: 1 of 1 pair, 1.1 before 1.0",)


def test_of_runs_without_versions_sources_that_contradict_each_other_are_said() -> None:
    found = order({"day": 1, "recorded": (0, 2)}, {"day": 2, "recorded": (0, 1)}, comparison_keys=[])
    assert found.newest is NOT_SET
    assert found.notes == (
        "the other way round by the order in which the history first saw them: 1 of 1 pair, run 1 before run 0",
    )


def test_interleaved_campaigns_and_further_uploads_claim_no_order() -> None:
    runs = [{"version": f"1.{number}", "day": day} for number, days in enumerate([(5, 9), (1, 6)]) for day in days]
    assert order(*runs).notes == ()


def test_runs_without_a_version_go_first_and_are_counted() -> None:
    found = order({"version": "1.1"}, {"version": "1.0"}, {}, {})
    assert [str(version) for version in versions(found)] == ["(not set)", "1.0", "1.1"]
    assert found.notes == ("2 runs without a version put before the others",)


def given_order(*names: str) -> Explicit:
    return Explicit("the file releases.txt", dict(zip(names, range(len(names)), strict=True)).get, names, "add them")


def test_an_order_that_somebody_gave_goes_before_everything() -> None:
    runs = [{"version": "1.0", "day": 1}, {"version": "1.1", "day": 2}]
    found = order(*runs, explicit=given_order("1.1", "1.0", "2.0"))
    assert versions(found) == ["1.1", "1.0"]
    assert found.sentence == (
        "Versions in the order of the file releases.txt. 1.1 was measured after 1.0, and is not judged."
    )
    assert found.notes == (
        "the other way round by their numbers: 1 of 1 pair, 1.0 before 1.1",
        "the other way round by the times: 1 of 1 pair, 1.0 before 1.1",
    )


def test_in_an_order_that_is_told_runs_without_a_version_go_first() -> None:
    runs = [{"version": "1.0"}, {}, {"version": "1.1"}]
    for found in (order(*runs, explicit=given_order("1.1", "1.0")), order(*runs, version_order=["1.1", "1.0"])):
        assert [str(version) for version in versions(found)] == ["(not set)", "1.1", "1.0"]
        assert found.notes[0] == "1 run without a version put before the others"


def test_a_version_that_the_given_order_lacks_is_an_error() -> None:
    with pytest.raises(ConfigError) as caught:
        order({"version": "1.0"}, {"version": "1.1x"}, explicit=given_order("1.0", "1.1")).of("version")
    assert str(caught.value) == (
        "the file releases.txt has no place for 1 of the 2 versions: 1.1x (did you mean '1.1'?); add them"
    )


@pytest.mark.parametrize("told", [["old", "new"], lambda values: sorted(values, reverse=True)])
def test_a_workload_may_know_the_order_of_its_versions(told: Any) -> None:
    found = order({"version": "new"}, {"version": "old"}, version_order=told)
    assert (versions(found), found.sentence) == (
        ["old", "new"],
        "Versions in the order of the workload's version_order.",
    )


@pytest.mark.parametrize(
    ("told", "said"), [(["old"], "lacks 1 of the 2 versions: new"), (lambda values: 1 / 0, "fails: ZeroDivisionError")]
)
def test_a_version_order_that_fails_is_a_sentence(told: Any, said: str) -> None:
    with pytest.raises(WorkloadError, match=f"version_order of workload 'toy' {said}"):
        order({"version": "new"}, {"version": "old"}, version_order=told).of("version")


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["expt/001__b/x", "expt/002__a/x"], ["0", "1"]),
        (["2026-01-10/x", "2026-01-09/x"], ["1", "0"]),
        (["2026-02-01/x", "2026-01-09/x"], ["1", "0"]),
        (["2/x/y", "1/x"], ["1", "0"]),
        (["a", "a/1"], None),
        (["20260131-1200-b/x", "20260131-0900-a/x"], ["1", "0"]),
        (["1.10/x", "1.9/x"], ["1", "0"]),
        (["b/x", "a/x"], None),
        (["7b/x", "13b/x"], None),
        (["0b7d2e4/x", "9f3c1ab/x"], None),
        (["1_a/x", "b/x"], None),
    ],
)
def test_directories_are_an_order_only_by_numbers_and_dates(names: list[str], wanted: list[str] | None) -> None:
    found = order({"version": "zero"}, {"version": "one"}, names=names)
    if wanted is None:
        with pytest.raises(OrderUnknown):
            found.of("version")
    else:
        assert versions(found) == [["zero", "one"][int(number)] for number in wanted]
        assert found.sentence == "Versions in the order of the names of the directories."


def test_runs_of_the_results_at_hand_are_newer_than_all_recorded_ones() -> None:
    entries = [
        entry({"version": name, "cost": 1, "day": None, "recorded": (1, at)}, at) for at, name in enumerate("cb")
    ]
    entries.append(dataclasses.replace(entry({"version": "a", "cost": 1, "day": None}, 9), kept_in=None))
    assert versions(Order(labelled(entries, workload()), workload())) == ["c", "b", "a"]


def test_a_run_at_hand_that_the_history_knows_stands_where_it_was_first_seen() -> None:
    entries = [
        entry({"version": name, "cost": 1, "day": None, "recorded": (1, at)}, at) for at, name in enumerate("cba")
    ]
    at_hand = [dataclasses.replace(entries[0], kept_in=None), *entries[1:]]
    assert versions(Order(labelled(at_hand, workload()), workload())) == ["c", "b", "a"]


def test_runs_without_versions_that_nothing_puts_in_order_are_repeats() -> None:
    runs = [{"size": size, "recorded": (1, night)} for night in range(3) for size in (1, 1, 2)]
    found = order(*runs, comparison_keys=[])
    assert sorted(found.of(None).places.values()) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert found.sentence == "Runs in the order in which the history first saw them."
    assert found.notes == ("6 runs that nothing puts in order stand as repeats of one point",)


def test_runs_without_versions_and_times_have_no_order() -> None:
    with pytest.raises(OrderUnknown, match="the order of 2 runs is unknown: they have no time, come from no history"):
        order({}, {}, comparison_keys=[]).of(None)


intervals = st.dictionaries(
    st.integers(0, 9).map(lambda number: (number,)), st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=8
).map(lambda found: {item: (first, first + length) for item, (first, length) in found.items()})


@example({(0,): (0, 0), (1,): (1, 1)}, {(0,): (1, 1), (1,): (0, 2)})
@example({(0,): (0, 2), (1,): (1, 3), (2,): (4, 4)}, {(0,): (5, 6), (1,): (3, 3), (2,): (0, 4)})
@example({(0,): (0, 1), (1,): (1, 2), (2,): (2, 2)}, {(0,): (3, 3), (1,): (2, 2), (2,): (1, 1)})
@example(  # one that begins first and ends last comes before nothing
    {(0,): (0, 5), (1,): (1, 2), (2,): (3, 3)}, {(0,): (0, 0), (1,): (5, 5), (2,): (6, 6)}
)
@given(intervals, intervals)
def test_contradictions_are_counted_as_by_looking_at_each_pair(one: Any, other: Any) -> None:
    items = [item for item in one if item in other]
    wanted = sum(one[a][1] < one[b][0] and other[b][1] < other[a][0] for a in items for b in items)
    found = contradiction(one, other)
    count, first, second = found or (0, None, None)
    assert count == wanted
    if found is not None:
        assert other[first][1] < other[second][0]
        assert one[second][1] < one[first][0]


@given(st.permutations(range(8)), st.data())
def test_the_order_does_not_depend_on_the_order_in_which_runs_come(places: list[int], data: Any) -> None:
    runs = [{"version": COMMITS[number], "recorded": (1, at)} for at, number in enumerate(places)]
    mixed = data.draw(st.permutations(runs))
    assert versions(order(*mixed)) == versions(order(*runs)) == [COMMITS[number] for number in places]
    assert typed(order(*mixed).newest) == typed(COMMITS[places[-1]])


def test_a_filter_that_chooses_versions_without_a_place_leaves_no_newest_one() -> None:
    runs = [{"version": "b", "day": 1}, {"version": "a", "day": 2}, {"version": "c"}, {"version": "d"}]
    found = order(*runs).chosen_by(parse("version=c:d"))
    assert found.newest is NOT_SET


def test_of_many_texts_five_are_named() -> None:
    assert [named(list("abcdefg")[:count]) for count in (0, 1, 5, 6, 7)] == [
        *("", "a", "a, b, c, d, e", "a, b, c, d, e and 1 more", "a, b, c, d, e and 2 more"),
    ]
    assert named(["a", "b", "c"], 2) == "a, b and 1 more"


def test_a_filter_of_other_settings_leaves_the_order_as_it_is() -> None:
    found = order(*({"version": f"1.{number}", "size": number} for number in range(3)))
    assert found.chosen_by(parse("size=0:1")).newest == "1.2"
    assert found.chosen_by(parse("version=1.0:1.1")).newest == "1.1"


def placed(*runs: dict[str, Any], keys: list[str]) -> tuple[Order, list[LabelledRun]]:
    toy = workload(comparison_keys=keys)
    known = labelled([entry({"cost": 1.0, **run}, number) for number, run in enumerate(runs)], toy)
    return Order(known, toy), known


def test_a_run_has_its_place_among_the_versions_or_among_the_runs() -> None:
    found, runs = placed({"version": "2", "day": 0}, {"version": "1", "day": 1}, keys=["version"])
    assert found.steps(runs, "version") == [(1,), (0,)]
    unknown = msgspec.structs.replace(runs[0], entry=dataclasses.replace(runs[0].entry, test_uuid="another"))
    assert found.steps([*runs, unknown], None) == [(0,), (1,), None]
    assert found.steps([], "version") == []


def test_the_axis_comes_first_and_then_each_other_key_that_varies_once() -> None:
    found, runs = placed(
        {"version": "2", "driver": "7"}, {"version": "1", "driver": "8"}, {"version": "1", "driver": "7"},
        keys=["version", "driver"],
    )  # fmt: skip
    assert found.steps(runs, "version") == [(1, 0), (0, 1), (0, 0)]
    assert found.steps(runs, "driver") == [(0, 1), (1, 0), (0, 0)]
    toy = workload(comparison_keys=["version", "driver"])
    assert axes(runs, toy) == ["version", "driver"]
    assert axes(runs[1:], toy) == ["driver"]
    assert axes(runs[:1], toy) == []
    assert axes([], toy) == []


@pytest.mark.parametrize(("build", "of"), [("pr-1", "pr-1"), ("feature/x", "feature/x"), ("1.3.0", "1.3.0")])
def test_a_build_at_hand_is_the_newest_of_a_history_that_was_kept_at_once(build: str, of: str) -> None:
    runs = [{"version": f"1.{number}.0", "cost": 100.0 + number % 3, "day": None} for number in range(30)]
    kept = [entry({**run, "recorded": (1, DAY_US)}, number) for number, run in enumerate(runs)]
    at_hand = dataclasses.replace(entry({"version": build, "cost": 200.0, "day": None}, 99), kept_in=None)
    toy = workload()
    found = Order(labelled([*kept, at_hand], toy), toy)
    known = versions(found)
    if build == "1.3.0":  # which a history has
        assert known[-1] == "1.29.0"
        return
    assert known == [*(f"1.{number}.0" for number in range(30)), of]
    assert found.sentence == "Versions in the order of their numbers, the results at hand last."
    assert analyse_runs([*kept, at_hand], toy, data="both", kpi_filter=["cost"]).newest == build


def test_several_builds_at_hand_have_no_order_by_their_names() -> None:
    kept = [
        entry({"version": f"1.{one}.0", "cost": 1.0, "day": None, "recorded": (1, DAY_US)}, one) for one in range(9)
    ]
    at_hand = [
        dataclasses.replace(entry({"version": name, "cost": 1.0, "day": None}, 90 + place), kept_in=None)
        for place, name in enumerate(("pr-1", "pr-2"))
    ]
    toy = workload()
    with pytest.raises(OrderUnknown):
        assert Order(labelled([*kept, *at_hand], toy), toy).of("version")


def test_a_version_that_was_measured_after_the_newest_one_is_said_to_be_not_judged() -> None:
    runs = [{"version": f"1.{number}.0", "day": number} for number in range(9)]
    fixes = [{"version": f"1.5.{number}", "day": 9 + number} for number in (1, 2)]
    found = order(*runs, *fixes)
    assert versions(found)[-1] == "1.8.0"
    said = "1.5.2 was measured after 1.8.0, and is not judged: 'matbench compare 1.5.0 1.5.2' does it."
    assert found.sentence == f"Versions in the order of their numbers. {said}"
    chosen = found.chosen_by(filters.parse("version=1.4.0:1.5.0:1.5.2"))  # of these it is the newest, and judged
    assert (chosen.newest, chosen.sentence) == ("1.5.2", "Versions in the order of their numbers.")
    again = [{"version": "1.3.0", "day": 12}]  # which was measured before it, too
    assert order(*runs, *again).sentence == "Versions in the order of their numbers."
    later = [{"version": "1.9.0", "day": 12}]
    assert order(*runs, *fixes, *later).sentence == "Versions in the order of their numbers."


def test_old_runs_that_a_history_saw_late_were_not_measured_after_the_newest_one() -> None:
    runs = [{"version": f"1.{number}.0", "day": number, "recorded": (1, (number or 9) * DAY_US)} for number in range(9)]
    assert order(*runs).sentence == "Versions in the order of their numbers."
    untimed = [{**run, "day": None} for run in runs]
    assert order(*untimed).sentence.endswith("1.0.0 was measured after 1.8.0, and is not judged.")
