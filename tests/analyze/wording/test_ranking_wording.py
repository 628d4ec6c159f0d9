"""The verdict says what the data supports, and nothing more."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable

import pytest

from matrix_benchmarking.analyze.best import Best
from matrix_benchmarking.analyze.intervals import Scale
from matrix_benchmarking.analyze.rank import rank
from matrix_benchmarking.analyze.wording import ranking
from matrix_benchmarking.analyze.words import ONE_CAMPAIGN, variant_label
from matrix_benchmarking.matrix import Entry, Matrix, Problem, joined
from matrix_benchmarking.workload import Workload

MakeEntries = Callable[..., list[Entry]]


def test_single_runs_are_ranked_but_no_difference_is_claimed(workload: Workload, entries: MakeEntries) -> None:
    points = [(256, 409.44), (512, 412.70), (384, 416.31)]
    matrix = Matrix([entry for vus, cost in points for entry in entries({"hw_type": "l4", "vus": vus}, cost)])
    (verdict,) = ranking.verdict(rank(matrix, workload))
    assert verdict.lead == "Cheapest by cost: vus 256: 409.44 USD (one run: no interval)."
    assert verdict.rest == (
        "Next: vus 512 (412.70 USD, +0.8 %); vus 384 (416.31 USD, +1.7 %). No point was repeated, so whether "
        "such differences are more than chance isn't known."
    )


def test_a_point_of_which_no_run_is_good_is_named_beside_the_winner(workload: Workload, entries: MakeEntries) -> None:
    runs = [
        run
        for vus, hw_type in itertools.product((1, 2), "abc")
        for run in entries({"hw_type": hw_type, "vus": vus, "os": "x"}, 100.0, 104.0)
    ]
    for run in runs:
        bad = (run.settings["hw_type"], run.settings["vus"]) in (("c", 2), ("a", 1))
        if bad or (run.settings["vus"] == 1 and run.repeat):
            run.exit_code = 1
    assert rank(Matrix(runs[2:]), workload).lost(["version"]) == ["hw_type c, vus 2"]
    assert rank(Matrix(runs), workload).lost([]) == ["hw_type a, vus 1", "hw_type c, vus 2"]
    assert rank(Matrix(runs), workload).lost(["vus"]) == []


def test_repeats_give_an_interval_and_name_what_cannot_be_told_apart(workload: Workload, entries: MakeEntries) -> None:
    matrix = Matrix(
        [
            *entries({"hw_type": "a", "vus": 1}, 100.0, 104.0, 96.0),
            *entries({"hw_type": "b", "vus": 2}, 103.0),
        ]
    )
    (verdict,) = ranking.verdict(rank(matrix, workload))
    assert verdict.lead == "Cheapest by cost: a at vus 1: 100.00 USD (3 runs; 95 % interval 90.54 to 115.35 USD)."
    assert verdict.rest == (
        "Can't be told apart from it: b at vus 2 (103.00 USD, +3.0 %). "
        "The best of 2 points looks about 1.9 % better than it is."
    )


def test_an_interval_of_one_campaign_says_so_where_the_points_were_measured_in_turn(
    workload: Workload, entries: MakeEntries
) -> None:
    """How campaigns differ isn't in it: with moods of 5 % it held the truth in .42."""

    def said(campaign: str | None, rounds: bool = True, nights: int = 1) -> str:
        runs = [
            *entries({"hw_type": "a"}, 100.0, 104.0, 96.0, 98.0),
            *entries({"hw_type": "b"}, 203.0, 200.0, 198.0, 199.0),
        ]
        for place, run in enumerate(runs):
            run.campaign = None if campaign is None else f"{campaign}{place % nights}"
            run.round = place % 4 if rounds else None
        (verdict,) = ranking.verdict(rank(Matrix(runs), workload))
        assert (ONE_CAMPAIGN in verdict.rest) == (ONE_CAMPAIGN in verdict.rivals)
        return verdict.rest

    assert ONE_CAMPAIGN in said("monday")
    assert ONE_CAMPAIGN not in said("monday", nights=4)
    assert ONE_CAMPAIGN not in said("monday", rounds=False)  # where that they weren't is said
    assert ONE_CAMPAIGN not in said(None)  # nor is it known


def test_a_name_that_stands_for_three_settings_is_enough(workload: Workload, entries: MakeEntries) -> None:
    one, other = {"vus": 1, "threads": 2, "batch": 4}, {"vus": 2, "threads": 2, "batch": 8}
    points = [*entries({"hw_type": "a", **one}, 1.0, 1.01, 0.99), *entries({"hw_type": "b", **other}, 2.0, 2.01, 1.99)]
    points += entries({"hw_type": "c", **one, "threads": 3}, 3.0, 3.01, 2.99)
    (verdict,) = ranking.verdict(rank(Matrix(points), workload))
    assert verdict.claim == "Cheapest by cost: a: 1.00 USD"
    assert verdict.behind.startswith(" (vus 1, threads 2, batch 4; 3 runs; 95 % interval ")
    assert "next: b (2.00 USD, +100 %); c (3.00 USD, +200 %)." in verdict.rest
    more = [*points, *entries({"hw_type": "a", **one, "vus": 3}, 1.5, 1.51, 1.49)]
    (verdict,) = ranking.verdict(rank(Matrix(more), workload))
    assert verdict.claim == "Cheapest by cost: a at vus 1, threads 2, batch 4: 1.00 USD"


def test_a_difference_beyond_the_noise_is_said(workload: Workload, entries: MakeEntries) -> None:
    matrix = Matrix([*entries({"vus": 1}, 1.0, 1.01, 0.99), *entries({"vus": 2}, 2.0, 2.01, 1.99)])
    (verdict,) = ranking.verdict(rank(matrix, workload))
    assert verdict.rest == (
        "It differs from every other point by more than runs scatter; next: vus 2 (2.00 USD, +100 %). "
        "Nothing says that they were measured in turn: whether it is more than the machine's mood can't be told."
    )


def test_others_that_were_ahead_and_are_not_known_where_the_best_is_are_said(
    workload: Workload, entries: MakeEntries
) -> None:
    known = {("a", 1): 9.0, ("a", 4): 5.0, ("a", 16): 2.0, ("b", 1): 8.0, ("b", 4): 4.0}

    def said(**failed: float) -> str:
        made = [one for (name, vus), cost in known.items() for one in entries({"hw_type": name, "vus": vus}, cost)]
        made += [one for cost in failed.values() for one in entries({"hw_type": "b", "vus": 16}, cost)]
        (verdict,) = ranking.verdict(rank(Matrix(made), workload))
        assert verdict.lead.startswith("Cheapest by cost: a at vus 16: 2.00 USD")
        return verdict.rest

    assert "Nothing is known of b at vus 16; at vus 4 it is ahead (4.00 against 5.00 USD)." in said()
    assert "Nothing is known" not in said(of_b=2.5)
    known["b", 4] = 6.0
    assert "Nothing is known" not in said()


def test_where_nothing_can_be_ranked_the_reasons_are_counted(workload: Workload, entries: MakeEntries) -> None:
    matrix = Matrix([*entries({"vus": 1}, None, None), *entries({"vus": 2}, 1.0, exit_code=1)])
    (verdict,) = ranking.verdict(rank(matrix, workload))
    assert str(verdict) == (
        "No configuration can be ranked by cost: 3 runs can't take part "
        "(2 × cost is unknown: no price is known; 1 × failed with exit code 1)."
    )


def test_a_setting_is_named_unless_its_value_is_a_word() -> None:
    settings = {"image": "default", "gpus": 2, "version": "1.2", "spot": True}
    assert variant_label(settings, [*settings, "zone"]) == ("default · gpus 2 · version 1.2 · spot true · zone not set")


def test_other_kpis_are_named_by_their_direction(workload: Workload) -> None:
    assert ranking.superlative(workload.kpis["speed"]) == "Highest speed"
    assert ranking.superlative(workload.kpis["cost"]) == "Cheapest by cost"


def test_money_is_cheapest_and_what_is_no_money_or_better_high_is_not(workload: Workload) -> None:
    money, speed = workload.kpis["cost"], workload.kpis["speed"]
    assert ranking.superlative(dataclasses.replace(money, unit="ms")) == "Lowest cost"
    assert ranking.superlative(dataclasses.replace(money, lower_better=False), "at noon") == "Highest cost at noon"
    assert ranking.superlative(dataclasses.replace(speed, lower_better=True)) == "Lowest speed"
    assert ranking.superlative(money, "under 1 s") == "Cheapest under 1 s by cost"


@pytest.mark.parametrize(
    ("difference", "ratio", "absolute"),
    [
        (0.0, "+0.0 %", "+0.00 USD"),
        (-0.25, "−25.0 %", "−0.25 USD"),
        (1.06, "+106 %", "+1.06 USD"),
        (11.5, "+1,150 %", "+11.50 USD"),
    ],
)
def test_a_difference_has_its_sign(difference: float, ratio: str, absolute: str, workload: Workload) -> None:
    money = workload.kpis["cost"]
    assert ranking.difference_label(difference, Scale.RATIO, money) == ratio
    assert ranking.difference_label(difference, Scale.DIFFERENCE, money) == absolute


def test_by_how_much_the_best_looks_too_good_is_said_where_that_is_something(
    workload: Workload, entries: MakeEntries
) -> None:
    money = workload.kpis["cost"]
    (group,) = rank(Matrix([*entries({"vus": 1}, 1.0, 2.0), *entries({"vus": 2}, 3.0, 4.0)]), workload).groups
    begin = "The best of 2 points looks about"
    for optimism, scale, said in [
        (0.5, Scale.RATIO, f"{begin} 50.0 % better than it is."),
        (0.001, Scale.RATIO, f"{begin} 0.1 % better than it is."),
        (0.0004, Scale.RATIO, ""),
        (0.5, Scale.DIFFERENCE, f"{begin} 0.50 USD better than it is."),
        (0.004, Scale.DIFFERENCE, ""),
        (None, Scale.RATIO, ""),
    ]:
        other = dataclasses.replace(group, scale=scale)
        vars(other)["optimism"] = optimism
        assert ranking.optimism(other, money) == said
    any_digits = dataclasses.replace(money, format="{:g}")
    other = dataclasses.replace(group, scale=Scale.DIFFERENCE)
    vars(other)["optimism"] = 1e-17
    assert ranking.optimism(other, any_digits) == ""
    alone = dataclasses.replace(group, standings=group.standings[:1])
    vars(alone)["optimism"] = 0.5
    assert ranking.optimism(alone, money) == ""


def test_where_there_is_one_point_or_no_kpi_that_is_said(workload: Workload, entries: MakeEntries) -> None:
    best = rank(Matrix(entries({"vus": 1}, 1.0)), workload)
    assert ranking.exclusions(best) == ""
    assert [str(one) for one in ranking.verdict(best)] == [
        "Cheapest by cost: the only configuration: 1.00 USD (one run: no interval). "
        "It is the only point that could be ranked."
    ]
    assert [str(one) for one in ranking.verdict(Best(None, (), ()))] == [
        "This workload defines no KPI, so no configuration can be called the best."
    ]
    assert [str(one) for one in ranking.verdict(rank(Matrix([]), workload))] == [
        "No configuration can be ranked by cost: there is no finished test."
    ]


def test_three_of_the_next_points_and_of_the_reasons_are_named(workload: Workload, entries: MakeEntries) -> None:
    for count, more in ((4, ""), (5, "; and 1 more"), (6, "; and 2 more")):
        matrix = Matrix([one for vus in range(count) for one in entries({"vus": vus}, 1.0 + vus)])
        (verdict,) = ranking.verdict(rank(matrix, workload))
        assert verdict.rest.startswith(
            "Next: vus 1 (2.00 USD, +100 %); vus 2 (3.00 USD, +200 %); vus 3 (4.00 USD, +300 %)" + more + ". No"
        )
    for count, more in ((3, ""), (4, "; 1 other reason"), (5, "; 2 other reasons")):
        matrix = Matrix([one for code in range(1, count + 1) for one in entries({"vus": 1}, 1.0, exit_code=code)])
        said = "; ".join(f"1 × failed with exit code {code}" for code in (1, 2, 3))
        assert ranking.exclusions(rank(matrix, workload)) == f"{count} runs can't take part ({said}{more})"


def test_a_winner_of_one_run_may_be_an_outlier(workload: Workload, entries: MakeEntries) -> None:
    others = [one for vus in range(2, 5) for one in entries({"vus": vus}, 2.0 + vus, 2.01 + vus, 1.99 + vus)]
    for values, is_single in (((1.0,), True), ((1.0, 1.01), False)):
        (verdict,) = ranking.verdict(rank(Matrix([*entries({"vus": 1}, *values), *others]), workload))
        assert "It differs from every other point by more than runs scatter" in verdict.rest
        assert (ranking.SINGLE in verdict.rest) == (ranking.SINGLE in verdict.rivals) == is_single


def test_reasons_that_differ_in_their_numbers_alone_are_one(workload: Workload, entries: MakeEntries) -> None:
    (good,), without = entries({"vus": 1}, 1.0), entries({"vus": 2}, 1.0, 1.0, 1.0, 1.0)
    why = ("only 30 of 64 samples, p95 wants 100", "only 7 of 64 samples, p95 wants 100", "-5 s is odd", "-7 s is odd")
    unknown = [
        dataclasses.replace(one, kpis={}, missing_kpis={"cost": said}) for one, said in zip(without, why, strict=True)
    ]
    said = "2 × cost is unknown: only 7 to 30 of 64 samples, p95 wants 100; 1 × cost is unknown: -5 s is odd"
    assert ranking.exclusions(rank(Matrix([good, *unknown]), workload)) == (
        f"4 runs can't take part ({said}; 1 × cost is unknown: -7 s is odd)"
    )
    assert ranking.instead(workload.kpis["cost"], unknown) == [
        "No run has cost: only 7 to 30 of 64 samples, p95 wants 100; and 2 other reasons."
    ]


def test_a_group_is_named_by_what_is_set_unless_that_is_part_of_another_ones_name(
    workload: Workload, entries: MakeEntries
) -> None:
    wide = dataclasses.replace(workload, group_keys=("task", "prompts", "length"))
    scopes = [{"task": "a"}, {"task": "b"}, {"task": "b", "length": 8}, {"prompts": "chat"}]
    found = rank(Matrix([one for each in scopes for one in entries({**each, "vus": 1}, 1.0)]), wide)
    assert sorted(ranking.scope(group) for group in found.groups) == [
        "prompts chat",
        "task a",
        "task b, length (not set)",
        "task b, length 8",
    ]


def test_a_doubt_says_whose_it_is_and_once(workload: Workload, entries: MakeEntries) -> None:
    runs = [one for task in "abcde" for one in entries({"task": task}, 1.0)]
    matrix = Matrix([dataclasses.replace(run, warnings=("late",)) for run in runs[:4]] + runs[4:])
    assert ranking.doubts(rank(matrix, workload)) == ["Doubtful for task a; task b; task c; and 1 more: late"]
    assert ranking.doubts(rank(Matrix(matrix.entries[:1]), workload)) == ["Doubtful: late"]


def test_a_doubt_about_the_best_says_how_many_of_the_others_share_it(workload: Workload, entries: MakeEntries) -> None:
    def runs(vus: int, cost: float, *shares: int) -> list[Entry]:
        found = entries({"vus": vus}, *([cost] * len(shares)))
        return [
            dataclasses.replace(run, warnings=(f"others took {share} % of a core",) if share else ())
            for run, share in zip(found, shares, strict=True)
        ]

    best = rank(Matrix([*runs(1, 1.0, 20, 30), *runs(2, 2.0, 40, 0), *runs(3, 3.0, 0)]), workload)
    assert ranking.doubts(best) == ["Doubtful: others took 20 to 30 % of a core (all 2 runs; of the others 1 of 3)"]
    best = rank(Matrix([*runs(1, 1.0, 20), *runs(2, 2.0, 0)]), workload)
    assert ranking.doubts(best) == ["Doubtful: others took 20 % of a core (of the others none)"]


def test_that_the_best_failed_more_often_than_not_is_said_beside_it(workload: Workload, entries: MakeEntries) -> None:
    lost = [*entries({"vus": 1}, 1.0, 1.0, exit_code=1), *entries({"vus": 2}, 1.0, exit_code=1)]
    best = rank(Matrix([*entries({"vus": 1}, 1.0, 1.01), *lost, *entries({"vus": 2}, 2.0, 2.02)]), workload)
    assert ranking.doubts(best) == ["Doubtful: 2 of its 4 runs failed, and the others speak for it alone"]


def test_one_absurd_run_sets_no_point_apart(workload: Workload, entries: MakeEntries) -> None:
    """Which has no interval then: whatever is said of its mean stands on that run."""
    for absurd in (100.0, 1e4, 1e6):
        runs = entries({"vus": 1}, 99.0, 100.0, 101.0, 100.0 * absurd)
        runs += [*entries({"vus": 2}, 100.0, 101.0, 102.0, 101.0), *entries({"vus": 3}, 98.0, 99.0, 99.0, 100.0)]
        (group,) = rank(Matrix(runs), workload).groups
        last = group.standings[-1]
        assert (last.point.settings["vus"], last.point.interval, last.apart) == (1, None, False)


def test_what_has_to_be_installed_stands_where_runs_are_left_out(workload: Workload, entries: MakeEntries) -> None:
    (run,) = entries({"vus": 1}, None)
    lacking = "a table needs pyarrow: pip install 'matrix-benchmarking[parquet]'"
    run = dataclasses.replace(run, problems=(Problem(lacking, "a.feather"),))
    assert ranking.exclusions(rank(Matrix([run]), workload)).endswith(f"; {lacking})")


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ((4.0, 2.0, 1.0), "More may be better: the highest vus that was tried wins."),
        (
            (4.0, 1.01, 1.0),
            "the highest vus that was tried wins, but vus 4 (+1.0 %) came near: the last step brought little.",
        ),
    ],
)
def test_a_winner_at_the_edge_is_said_with_what_the_last_step_brought(
    workload: Workload, entries: MakeEntries, costs: tuple[float, ...], expected: str
) -> None:
    points = zip((1, 4, 8), costs, strict=True)
    matrix = Matrix([one for vus, cost in points for one in entries({"hw_type": "a", "vus": vus}, cost)])
    (verdict,) = ranking.verdict(rank(matrix, workload))
    assert expected in verdict.edge


def test_a_history_which_has_no_failed_runs_does_not_say_what_was_tried(
    workload: Workload, entries: MakeEntries
) -> None:
    runs = [*entries({"hw_type": "a", "vus": 1}, 2.0), *entries({"hw_type": "a", "vus": 4}, 1.0)]
    kept = [dataclasses.replace(run, kept_in="kpis.db") for run in runs]
    (verdict,) = ranking.verdict(rank(Matrix(kept), workload))
    assert verdict.edge == "More may be better: the highest vus that the history has wins."


def test_equal_points_are_said_and_the_smallest_settings_lead_whatever_is_read_first(
    workload: Workload, entries: MakeEntries
) -> None:
    points = [{"vus": 16, "batch": 2}, {"batch": 10, "vus": 4}, {"vus": 8, "batch": 2}, {"batch": 1, "vus": 99}]
    runs = [entries(settings, 5.0 if settings["batch"] > 1 else 7.0) for settings in points]
    for order in itertools.permutations(runs):
        (verdict,) = ranking.verdict(rank(Matrix(itertools.chain.from_iterable(order)), workload))
        assert "batch 2" in verdict.lead
        assert "vus 8" in verdict.lead
        for said in (verdict.rest, verdict.rivals):
            assert "2 other points have the same value: that of the smallest settings is named." in said


def test_that_more_was_tried_and_failed_is_no_invitation_to_try_it(workload: Workload, entries: MakeEntries) -> None:
    of = {"hw_type": "a"}
    runs = [*entries({**of, "vus": 1}, 2.0), *entries({**of, "vus": 4}, 1.0)]
    lost = [*entries({**of, "vus": 8}, 1.0, 1.0, exit_code=3), *entries({"hw_type": "b", "vus": 16}, 1.0, exit_code=3)]
    (verdict,) = ranking.verdict(rank(Matrix([*runs, *lost]), workload))
    told = "The highest vus that could be ranked wins: of more, 2 runs can't take part (2 × failed with exit code 3)."
    assert (verdict.edge, verdict.command) == (told, "")


def test_trees_that_were_put_beside_the_first_are_called_unofficial(workload: Workload, entries: MakeEntries) -> None:
    trees = {name: Matrix(entries({"vus": 1}, 1.0)) for name in ("ours", "a colleague's", "another's")}
    said = [
        ranking.of_trees(rank(joined(dict(itertools.islice(trees.items(), count))), workload)) for count in (1, 2, 3)
    ]
    assert said == [
        [],
        ["a colleague's was put beside ours, and is unofficial."],
        ["a colleague's, another's were put beside ours, and are unofficial."],
    ]
    assert ranking.of_trees(rank(trees["ours"], workload)) == []


def test_why_the_ranking_is_by_another_kpi(workload: Workload, entries: MakeEntries) -> None:
    runs = [*entries({"vus": 1}, None, None), *entries({"vus": 2}, None)]
    assert ranking.instead(workload.headline, runs) == ["No run has cost: no price is known."]
    assert ranking.instead(None, runs) == []
