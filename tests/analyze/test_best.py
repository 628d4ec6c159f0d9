"""Which configuration is called the best, what can't be told apart from it, and what is left out."""

from __future__ import annotations

import dataclasses
import random
import types
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from matrix_benchmarking import plausible
from matrix_benchmarking.analyze import best_of
from matrix_benchmarking.analyze.intervals import Interval, Scale
from matrix_benchmarking.analyze.points import ExclusionCause, key, keys
from matrix_benchmarking.analyze.rank import among, rank
from matrix_benchmarking.analyze.wording import ranking
from matrix_benchmarking.matrix import Entry, Matrix, Problem
from matrix_benchmarking.plausible import is_number
from matrix_benchmarking.workload import Gate, Workload

MakeEntries = Callable[..., list[Entry]]


def test_the_lowest_mean_wins_where_lower_is_better(workload: Workload, entries: MakeEntries) -> None:
    matrix = Matrix([*entries({"hw_type": "a", "vus": 1}, 3.0, 5.0), *entries({"hw_type": "b", "vus": 2}, 4.5)])
    (group,) = rank(matrix, workload).groups
    assert group.best.settings == {"hw_type": "a", "vus": 1}
    assert (group.best.value, len(group.best.runs)) == (4.0, 2)


def test_the_highest_mean_wins_where_higher_is_better(workload: Workload, entries: MakeEntries) -> None:
    matrix = Matrix([*entries({"hw_type": "a"}, 3.0), *entries({"hw_type": "b"}, 4.5)])
    (group,) = rank(matrix, dataclasses.replace(workload, headline_kpi="speed")).groups
    assert group.best.settings["hw_type"] == "a"
    assert [one.point.settings["hw_type"] for one in group.variants] == ["a", "b"]


@pytest.mark.parametrize("seed", range(5))
def test_ties_are_decided_by_the_settings_whatever_the_order_of_the_entries(
    workload: Workload, entries: MakeEntries, seed: int
) -> None:
    runs = [entry for vus in (8, 2, "2", True, 16) for entry in entries({"hw_type": "a", "vus": vus}, 4.0)]
    random.Random(seed).shuffle(runs)
    (group,) = rank(Matrix(runs), workload).groups
    assert [one.point.settings["vus"] for one in group.standings] == [2, 8, 16, "2", True]


def test_each_variant_has_its_best_point(workload: Workload, entries: MakeEntries) -> None:
    points = [("a", 1, 9.0), ("a", 2, 7.0), ("b", 1, 8.0)]
    matrix = Matrix([entry for hw, vus, cost in points for entry in entries({"hw_type": hw, "vus": vus}, cost)])
    (group,) = rank(matrix, workload).groups
    assert [(one.point.settings["hw_type"], one.point.value) for one in group.variants] == [("a", 7.0), ("b", 8.0)]


def test_different_tasks_are_never_compared_with_each_other(workload: Workload, entries: MakeEntries) -> None:
    cheap, dear = {"task": "small", "hw_type": "a"}, {"task": "large", "hw_type": "a"}
    best = rank(Matrix([*entries(cheap, 1.0), *entries(dear, 100.0)]), workload)
    assert [(group.settings, group.best.value) for group in best.groups] == [
        ({"task": "large"}, 100.0),
        ({"task": "small"}, 1.0),
    ]
    (verdict,) = ranking.verdict(best)
    assert str(verdict) == (
        "Nothing to compare in 2 groups with one point each that could be ranked. They are task large; task small."
    )


def test_groups_of_one_point_are_told_together_beside_those_that_are_compared(
    workload: Workload, entries: MakeEntries
) -> None:
    settings = [{"task": name, "hw_type": "a"} for name in ("p", "q", "r", "s")]
    pair = [*entries({"task": "both", "hw_type": "a"}, 2.0), *entries({"task": "both", "hw_type": "b"}, 1.0)]
    best = rank(Matrix([*pair, *(entry for one in settings for entry in entries(one, 5.0))]), workload)
    assert [group.settings["task"] for group in best.compared] == ["both"]
    assert [group.settings["task"] for group in best.alone] == ["p", "q", "r", "s"]
    compared, alone = ranking.verdict(best)
    assert compared.lead.startswith("For task both: ")
    assert alone.rest == "They are task p; task q; task r; and 1 more."
    (only,) = rank(Matrix(pair[:1]), workload).compared
    assert len(only.standings) == 1


def test_without_variant_keys_there_is_one_line_a_point(workload: Workload, entries: MakeEntries) -> None:
    plain = dataclasses.replace(workload, variant_keys=())
    matrix = Matrix([entry for vus in (1, 2, 3) for entry in entries({"vus": vus}, 10.0 / vus)])
    (group,) = rank(matrix, plain).groups
    assert [one.point.settings for one in group.variants] == [{"vus": 3}, {"vus": 2}, {"vus": 1}]


def test_the_only_point_that_can_be_ranked_is_told_from_those_that_cannot(
    workload: Workload, entries: MakeEntries
) -> None:
    plain = dataclasses.replace(workload, variant_keys=(), group_keys=())
    matrix = Matrix(
        [*entries({"image": "a"}, None), *entries({"image": "b"}, 1.0, 1.1), *entries({"image": "c"}, None)]
    )
    (verdict,) = ranking.verdict(rank(matrix, plain))
    assert "b: 1.05" in str(verdict)
    (verdict,) = ranking.verdict(rank(Matrix(matrix.entries[1:3]), plain))
    assert "the only configuration: 1.05" in str(verdict)


def test_failed_unfinished_and_unknown_runs_are_left_out_with_their_reasons(
    workload: Workload, entries: MakeEntries
) -> None:
    failed = entries({"vus": 1}, 0.1, exit_code=3)
    unknown = entries({"vus": 2}, None)
    unfinished = entries({"vus": 3}, 0.2, finished=False, exit_code=None)
    best = rank(Matrix([*failed, *unknown, *entries({"vus": 4}, 5.0)], unfinished=unfinished), workload)
    assert best.groups[0].best.value == 5.0
    assert {excluded.cause: excluded.reason for excluded in best.excluded} == {
        ExclusionCause.FAILED: "failed with exit code 3",
        ExclusionCause.UNKNOWN: "cost is unknown: no price is known",
        ExclusionCause.UNFINISHED: "did not finish",
    }


def test_a_run_whose_settings_are_lost_is_not_said_to_be_unfinished(workload: Workload, entries: MakeEntries) -> None:
    reasons = ("settings.yaml is not valid YAML in line 2", "exit_code is empty")
    lost = [run for reason in reasons for run in entries({"vus": 1}, 0.1, finished=False, problems=(Problem(reason),))]
    best = rank(Matrix(entries({"vus": 4}, 5.0), unfinished=lost), workload)
    assert {one.cause for one in best.excluded} == {ExclusionCause.UNREADABLE}
    assert [(one.reason, one.kind) for one in best.excluded] == [
        (reasons[0], "settings can't be read"),
        (reasons[1], "exit_code can't be read"),
    ]


def test_a_run_beyond_a_gate_takes_its_point_out_with_all_repeats(workload: Workload, entries: MakeEntries) -> None:
    values = (0.5, 0.6, 0.95, None)
    wrong = [run for value in values for run in entries({"vus": 1}, 1.0, quality=value)]
    best = rank(Matrix([*wrong, *entries({"vus": 2}, 5.0, quality=0.95)]), workload)
    assert best.groups[0].best.value == 5.0
    another = "quality is 0.5 in another run of its point, asked for is at least 0.9"
    assert [excluded.reason for excluded in best.excluded] == [
        "quality is 0.5, asked for is at least 0.9",
        "quality is 0.6, asked for is at least 0.9",
        another,
        another,
    ]
    below = "quality below 0.9"
    assert [one.kind for one in best.excluded] == [*[below] * 2, *[f"{below} in another run of its point"] * 2]


def test_a_run_with_values_that_cannot_be_is_left_out_by_itself(workload: Workload, entries: MakeEntries) -> None:
    wrong = "120 of 100 inputs were answered"
    runs = [*entries({"vus": 1}, 1.0, quality=0.1, implausible=(wrong,)), *entries({"vus": 1}, 4.0, 6.0, quality=0.95)]
    best = rank(Matrix(runs), workload)
    assert (best.groups[0].best.value, len(best.groups[0].best.runs)) == (5.0, 2)
    assert [(one.cause, one.reason) for one in best.excluded] == [
        (ExclusionCause.IMPOSSIBLE, f"it has values that can't be: {wrong}")
    ]
    assert ranking.exclusions(best) == "1 run can't take part (1 × values that can't be)"


def test_a_wrong_clock_and_a_rule_that_fails_spoil_no_number(workload: Workload, entries: MakeEntries) -> None:
    spoilt, harmless = plausible.findings(
        types.SimpleNamespace(metadata=types.SimpleNamespace(start=None, end="2999-01-01T00:00:00Z")), lambda lts: 1 / 0
    )
    assert (len(spoilt), len(harmless)) == (0, 2)
    assert not rank(Matrix(entries({"vus": 1}, 1.0, harmless=harmless)), workload).excluded


@pytest.mark.parametrize(
    ("limits", "quality", "reasons"),
    [
        ({"minimum": 0.5}, 0.4, ("quality is 0.4, asked for is at least 0.5", "quality below 0.5")),
        ({"minimum": 0.5}, 0.5, None),
        ({"maximum": 0.5}, 0.6, ("quality is 0.6, asked for is at most 0.5", "quality above 0.5")),
        ({"maximum": 0.5}, 0.5, None),
        ({"minimum": 0.5, "maximum": 0.7}, 0.4,
         ("quality is 0.4, asked for is at least 0.5 and at most 0.7", "quality below 0.5")),
        ({"minimum": 0.5, "maximum": 0.7}, 0.8,
         ("quality is 0.8, asked for is at least 0.5 and at most 0.7", "quality above 0.7")),
        ({"minimum": 0.5, "maximum": 0.7}, None, None),
    ],
)  # fmt: skip
def test_a_gate_says_which_of_its_limits_is_missed(
    workload: Workload, entries: MakeEntries, limits: dict[str, float], quality: float | None,
    reasons: tuple[str, str] | None,
) -> None:  # fmt: skip
    gated = dataclasses.replace(workload, gates=(Gate(kpi="quality", **limits),))
    found = rank(Matrix(entries({"vus": 1}, 1.0, quality=quality)), gated)
    assert [(one.reason, one.kind) for one in found.excluded] == ([] if reasons is None else [reasons])
    assert len(found.groups) == (reasons is None)


@pytest.mark.parametrize("values", [[1, 2, 1], [1, True, 1], [1, 1.0, True, "1", None], ["a", 1, "a"], [1.0, 1, 2.0]])
def test_values_are_different_points_where_their_types_differ(values: list[object]) -> None:
    settings = [{"vus": value} for value in values]
    found, expected = keys(settings, ["vus"]), [key(one, ["vus"]) for one in settings]
    for one, its in zip(found, expected, strict=True):
        assert [other == one for other in found] == [other == its for other in expected]


@pytest.mark.parametrize(
    ("costs", "low", "high", "is_known"),
    [
        ((4.0, 6.0), 3.0, 300.0, True),
        ((4.0, 6.0), 3.0, 300.1, False),
        ((-1.0, 11.0), -10.0, 490.0, True),  # of differences, as many times the largest mean
        ((-1.0, 11.0), -10.0, 490.1, False),
    ],
)
def test_an_interval_of_more_than_a_hundred_times_the_least_says_nothing(
    workload: Workload, entries: MakeEntries, monkeypatch: pytest.MonkeyPatch,
    costs: tuple[float, ...], low: float, high: float, is_known: bool,
) -> None:  # fmt: skip
    ends = np.full(2, low), np.full(2, high)
    monkeypatch.setattr(best_of, "intervals", lambda found, lower_better: ends)
    (group,) = rank(Matrix([*entries({"hw_type": "a"}, *costs), *entries({"hw_type": "b"}, 5.0)]), workload).groups
    found = {str(one.point.settings["hw_type"]): one.point.interval for one in group.standings}
    pooled = Interval(low, high) if is_known else None
    assert found == {"a": None if pooled is None else Interval(low, high), "b": pooled}


def test_the_largest_number_that_was_tried_with_a_variant_is_one_of_several(
    workload: Workload, entries: MakeEntries
) -> None:
    tried = [("a", 1, 5.0), ("a", 8, 3.0), ("a", 4, 4.0), ("b", 8, 6.0), ("c", 2, 7.0), ("c", 3, 8.0)]
    matrix = Matrix([one for hw, vus, cost in tried for one in entries({"hw_type": hw, "vus": vus}, cost)])
    (group,) = rank(matrix, workload).groups
    found = [(one.point.settings["hw_type"], one.point.settings["vus"]) for one in group.standings]
    assert found == [("a", 8), ("a", 4), ("a", 1), ("b", 8), ("c", 2), ("c", 3)]
    assert [group.highest(one.point) for one in group.standings] == [["vus"], [], [], [], [], ["vus"]]


def test_true_and_false_are_no_numbers() -> None:
    assert [is_number(one) for one in (1, 1.5, 0, True, False, "1", None)] == [True] * 3 + [False] * 4


def test_points_within_the_noise_of_the_best_cannot_be_told_apart_from_it(
    workload: Workload, entries: MakeEntries
) -> None:
    matrix = Matrix(
        [
            *entries({"hw_type": "a", "vus": 1}, 100.0, 104.0, 96.0),
            *entries({"hw_type": "a", "vus": 2}, 103.0, 99.0, 107.0),
            *entries({"hw_type": "b", "vus": 1}, 300.0, 301.0, 299.0),
        ]
    )
    (group,) = rank(matrix, workload).groups
    assert [one.point.settings["vus"] for one in group.undecided] == [2]
    assert group.standings[-1].apart is True


@pytest.mark.parametrize("offset", [0.0, -1000.5])
def test_an_interval_that_says_nothing_is_none(workload: Workload, entries: MakeEntries, offset: float) -> None:
    """One point of 30 has a second run, so the spread of one run is known from a single difference."""
    runs = [run for vus in range(30) for run in entries({"vus": vus}, offset + 1000.0 + vus)]
    (again,) = entries({"vus": 0}, offset + 1400.0)
    (group,) = rank(Matrix([*runs, dataclasses.replace(again, repeat=1)]), workload).groups
    assert {one.point.interval for one in group.standings[1:]} == {None}
    assert "one run: no interval" in ranking.behind(group.standings[1].point, workload.kpis["cost"])


def test_runs_in_rounds_are_compared_within_them(workload: Workload, entries: MakeEntries) -> None:
    made = []
    for vus, factor in ((1, 1.0), (2, 1.05), (3, 1.4)):
        for number, run in enumerate(entries({"vus": vus}, 100.0 * factor, 150.2 * factor, 70.1 * factor), 1):
            run.campaign, run.round = "one night", number
            made.append(run)
    (group,) = rank(Matrix(made), workload).groups
    assert (group.rounds, [one.point.settings["vus"] for one in group.undecided]) == (3, [])
    made[0].round = None
    (without,) = rank(Matrix(made), workload).groups
    assert (without.rounds, [one.point.settings["vus"] for one in without.undecided]) == (0, [2, 3])


@pytest.mark.parametrize("failed", [0, 3_000])
def test_rounds_that_none_recorded_are_found_among_however_many_runs(
    workload: Workload, entries: MakeEntries, failed: int
) -> None:
    made = []
    for vus, factor in ((1, 1.0), (2, 1.05), (3, 1.4)):
        for number, run in enumerate(entries({"vus": vus}, 100.0 * factor, 150.2 * factor, 70.1 * factor)):
            run.span_us = (1 + number * 3 + vus) * 60_000_000, (2 + number * 3 + vus) * 60_000_000
            made.append(run)
    others = entries({"vus": 4}, *[1.0] * failed, exit_code=1) if failed else []
    for run in others:
        run.host = "another machine"
    (group,) = rank(Matrix([*made, *others]), workload).groups
    assert (group.rounds, [one.point.settings["vus"] for one in group.undecided]) == (3, [])


def test_without_repeats_there_are_no_rounds(workload: Workload, entries: MakeEntries) -> None:
    (group,) = rank(Matrix([*entries({"vus": 1}, 1.0), *entries({"vus": 2}, 2.0)]), workload).groups
    assert (group.rounds, group.estimates, group.optimism) == (0, None, None)


def test_values_of_which_one_is_zero_are_compared_by_their_differences(
    workload: Workload, entries: MakeEntries
) -> None:
    zero = entries({"vus": 1}, 1.0)
    zero[0].kpis = {"cost": 0.0}
    (group,) = rank(Matrix([*zero, *entries({"vus": 2}, 2.5), *entries({"vus": 3}, 0.25)]), workload).groups
    assert [one.difference for one in group.standings] == [0.0, 0.25, 2.5]
    assert group.scale is Scale.DIFFERENCE


@pytest.mark.parametrize("headline", ["cost", "speed"])
def test_values_that_are_all_negative_are_the_mirror_of_positive_ones(
    workload: Workload, entries: MakeEntries, headline: str
) -> None:
    rng = np.random.default_rng(7)
    made = [
        one
        for vus, level in ((1, 1.0), (2, 1.02), (4, 30.0), (8, 1000.0))
        for one in entries({"vus": vus}, *(level * rng.normal(1, 0.03, 4)).tolist())
    ]
    mirrored = [dataclasses.replace(one, kpis={headline: -one.kpis["cost"]}) for one in made]
    other = "speed" if headline == "cost" else "cost"
    made = [dataclasses.replace(one, kpis={other: one.kpis["cost"]}) for one in made]
    (plain,), (found,) = (
        rank(Matrix(runs), dataclasses.replace(workload, headline_kpi=name)).groups
        for runs, name in ((made, other), (mirrored, headline))
    )
    assert found.scale is Scale.RATIO
    assert [one.apart for one in found.standings] == [one.apart for one in plain.standings]
    assert [one.difference for one in found.standings] == [-one.difference for one in plain.standings]
    assert found.optimism == plain.optimism
    for one, its in zip(found.standings, plain.standings, strict=True):
        assert one.point.interval is not None and its.point.interval is not None
        assert one.point.interval == msgspec.structs.replace(
            its.point.interval, low=-its.point.interval.high, high=-its.point.interval.low
        )


def test_the_best_above_zero_is_what_differences_start_from(workload: Workload, entries: MakeEntries) -> None:
    below = entries({"vus": 1}, 1.0)
    below[0].kpis = {"cost": -3.0}
    (group,) = rank(Matrix([*below, *entries({"vus": 2}, 2.5)]), workload).groups
    assert [one.difference for one in group.standings] == [0.0, 5.5]


def test_among_the_points_that_are_wanted_each_group_has_its_own_best(workload: Workload, entries: MakeEntries) -> None:
    rows = [("small", 1, 1.0), ("small", 2, 2.0), ("small", 4, 3.0), ("large", 2, 9.0), ("huge", 1, 50.0)]
    made = [entry for task, vus, cost in rows for entry in entries({"task": task, "vus": vus}, cost, cost * 1.1)]
    found = rank(Matrix(made), workload)
    large, small = among(found, lambda point: point.settings["vus"] in (2, 4))
    assert large is next(group for group in found.groups if group.settings["task"] == "large")
    assert [one.point.settings["vus"] for one in small.standings] == [2, 4]
    assert [one.difference for one in small.standings] == [0.0, pytest.approx(0.5)]


def test_the_warnings_of_the_best_point_are_carried_along(workload: Workload, entries: MakeEntries) -> None:
    matrix = Matrix(entries({"vus": 1}, 1.0, 1.1, warnings=("12 requests failed",)))
    assert rank(matrix, workload).groups[0].best.warnings == ("12 requests failed (all 2 runs)",)


def test_warnings_that_differ_in_numbers_alone_are_one_with_the_runs_that_have_it(
    workload: Workload, entries: MakeEntries
) -> None:
    runs = entries({"vus": 1}, 1.0, 1.1, 1.0, 1.1)
    for run, share in zip(runs, (57, None, 80, 57), strict=True):
        run.warnings = () if share is None else (f"others disturbed the run: they took {share} % of a core",)
    runs[1].warnings = ("1,200 of 5,000 requests failed",)
    assert rank(Matrix(runs), workload).groups[0].best.warnings == (
        "others disturbed the run: they took 57 to 80 % of a core (3 of 4 runs: repeats 0, 2, 3)",
        "1,200 of 5,000 requests failed (1 of 4 runs: repeat 1)",
    )
    (alone,) = rank(Matrix(runs[:1]), workload).groups
    assert alone.best.warnings == ("others disturbed the run: they took 57 % of a core",)


def test_runs_that_share_a_number_are_named(workload: Workload, entries: MakeEntries) -> None:
    runs = entries({"vus": 1}, 1.0, 1.1)
    runs[1].repeat, runs[1].name, runs[1].warnings = 0, "other/1", ("odd",)
    assert rank(Matrix(runs), workload).groups[0].best.warnings == ("odd (1 of 2 runs: other/1)",)


def test_an_empty_matrix_and_a_workload_without_kpis_have_no_best(workload: Workload) -> None:
    assert rank(Matrix([]), workload).groups == ()
    bare = dataclasses.replace(workload, store=dataclasses.replace(workload.store, models_kpis={}), gates=())
    assert rank(Matrix([]), bare).kpi is None


def test_whole_numbers_beyond_all_machine_words_are_numbers(workload: Workload, entries: MakeEntries) -> None:
    runs = [
        dataclasses.replace(run, campaign="night", round=run.repeat)
        for vus, cost in ((1, 10**40), (2, 2 * 10**40))
        for run in entries({"vus": vus}, cost, cost + 10**38, cost + 3 * 10**38)
    ]
    (group,) = rank(Matrix(runs), workload).groups
    assert (group.rounds, group.best.settings["vus"], group.standings[1].apart) == (3, 1, True)


def test_a_ranking_shows_itself_in_a_line(workload: Workload, entries: MakeEntries) -> None:
    best = rank(Matrix([*entries({"vus": 1}, 1.0, 2.0), *entries({"vus": 2}, 3.0, 4.0)]), workload)
    assert repr(best) == "<Best of 1 group: <Group of 2 points, best cost 1.5 at {'vus': 1}>>"
