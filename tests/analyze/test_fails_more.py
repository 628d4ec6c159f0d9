"""Runs that fail more often than before are said, by the version since when; those that always fail are not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import toy_runs
from scipy import stats

from matrix_benchmarking.analyze.failures import Past, began, chance, clumps, fails_more, sides_fail
from matrix_benchmarking.analyze.select.labelled import labelled
from matrix_benchmarking.analyze.select.order import Order
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.model import Analysis
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.rows import Rows

Fails = Callable[[int, str, int], bool]
"""Whether a run fails, by its version, configuration and repeat."""


@pytest.mark.parametrize(
    ("new", "old"), [((4, 5), (0, 5)), ((2, 2), (0, 60)), ((224, 250), (3, 1300)), ((1, 9), (2, 3))]
)
def test_the_chance_is_that_of_fishers_exact_test(new: tuple[int, int], old: tuple[int, int]) -> None:
    table = [[new[0], new[1] - new[0]], [old[0], old[1] - old[0]]]
    expected = stats.fisher_exact(table, alternative="greater")[1]
    assert chance(new, old) == pytest.approx(expected if new[0] * old[1] > old[0] * new[1] else 1.0, rel=1e-6)


def test_since_when_is_the_version_that_chance_explains_least() -> None:
    def of(versions: list[tuple[int, int]]) -> tuple[int, float]:
        return began(versions, [Past(versions, clumps([versions], [versions]), 1.0)])

    assert of([(0, 10)] * 8 + [(6, 10)] * 4)[0] == 8
    assert of([(0, 10)] * 8 + [(6, 10)] * 3 + [(0, 10)]) == (12, 1.0)  # the newest one is good again
    assert of([(10, 10)]) == (1, 1.0)
    assert began([], []) == (0, 1.0)
    assert of([(5, 10)] * 20)[1] == 1.0


def history(fails: Fails, versions: int = 20, configurations: str = "ab", repeats: int = 2) -> list[Entry]:
    runs: list[dict[str, Any]] = []
    for version in range(versions):
        for name in configurations:
            for repeat in range(repeats):
                is_bad = fails(version, name, repeat)
                run = {"version": f"1.{version}.0", "size": name, "day": version, "exit_code": int(is_bad)}
                runs.append(run if is_bad else {**run, "cost": 100.0 + (7 * version + 3 * repeat) % 5})
    return [toy_runs.entry(run, number) for number, run in enumerate(runs)]


def analysed(fails: Fails, **shape: Any) -> Analysis:
    return analyse_runs(history(fails, **shape), toy_runs.workload(), data="a test", kpi_filter=["cost"])


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        (
            lambda version, name, repeat: version == 19 and repeat == 1,
            "Runs fail more often at 1.19.0: 2 of 4, and 0 of 76 before.",
        ),
        (
            lambda version, name, repeat: version > 16 and name == "b",
            "Runs of size b fail more often since 1.17.0: 6 of 6, and 0 of 34 before.",
        ),
        (
            lambda version, name, repeat: version > 16 and repeat == 0,
            "Runs fail more often since 1.17.0: 6 of 12, and 0 of 68 before.",
        ),
    ],
)
def test_what_fails_since_one_of_the_newest_versions_is_said_and_makes_it_fail(fails: Fails, said: str) -> None:
    analysis = analysed(fails)
    assert analysis.fails_more == (said,)
    assert analysis.failed
    assert not analysis.failing


@pytest.mark.parametrize(
    "fails",
    [
        lambda version, name, repeat: False,
        lambda version, name, repeat: version == 18,  # repaired
        lambda version, name, repeat: version == 19 and (name, repeat) == ("a", 0),  # one may be chance
        lambda version, name, repeat: repeat == 0,  # as ever
        lambda version, name, repeat: name == "b",
    ],
)
def test_what_is_repaired_or_always_fails_or_may_be_chance_is_not(fails: Fails) -> None:
    assert not analysed(fails).fails_more


def test_a_point_that_is_new_and_fails_was_never_good() -> None:
    runs = [run for run in history(lambda version, name, repeat: name == "b") if run.settings["size"] == "a"]
    new = [one for one in history(lambda version, name, repeat: name == "b", repeats=6) if one.settings["size"] == "b"]
    newest = [run for run in new if run.settings["version"] == "1.19.0"]
    analysis = analyse_runs([*runs, *newest], toy_runs.workload(), data="a test", kpi_filter=["cost"])
    assert len(newest) == 6
    assert not analysis.fails_more


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_runs_that_fail_by_chance_are_hardly_ever_said(share: float) -> None:
    found = 0
    for seed in range(30):
        bad = np.random.default_rng([seed, 77]).random((20, 2, 2)) < share
        found += bool(
            analysed(lambda version, name, repeat, bad=bad: bad[version, "ab".index(name), repeat]).fails_more
        )
    assert found <= 1


@pytest.mark.parametrize("is_of_points", [False, True])
def test_an_outage_as_there_were_before_is_hardly_ever_said(*, is_of_points: bool) -> None:
    """In 15 % of versions a fifth of the runs fails; or 3 % of configurations fail in all runs of a version."""
    found = 0
    for seed in range(12):
        random = np.random.default_rng([seed, 79])
        if is_of_points:
            bad = np.repeat(random.random((20, 10, 1)) < 0.03, 3, axis=2)
        else:
            bad = random.random((20, 10, 3)) < np.where(random.random((20, 1, 1)) < 0.15, 0.2, 0.01)
        found += bool(said_of(bad))
    assert found <= 1


def test_a_configuration_that_fails_for_good_is_said_where_others_fail_in_a_version_now_and_then() -> None:
    bad = np.zeros((20, 10, 3), dtype=bool)
    bad[3, 4] = bad[11, 8] = True
    bad[-3:, 2] = True
    assert said_of(bad) == ("Runs of size c fail more often since 1.17.0: 9 of 9, and 0 of 51 before.",)


def said_of(bad: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    names = "abcdefghij"
    runs = Rows.of(history(lambda version, name, repeat: bool(bad[version, names.index(name), repeat]), 20, names, 3))
    workload = toy_runs.workload()
    return fails_more(runs, Order(labelled(runs, workload), workload), workload)


def sides_said(bad: Sequence[Sequence[int]], campaigns: int = 1) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is said of two sides of which so many of five runs of each point fail in each of as many *campaigns*."""
    sides, runs = [], []
    for number in range(2 * campaigns):
        side = number // campaigns
        names = "abcdefghij"[: len(bad[side])]
        of = history(lambda version, name, repeat, n=side: repeat < bad[n]["abcdefghij".index(name)], 1, names, 5)
        runs += [dataclasses.replace(run, campaign=f"{number}") for run in of]
        sides += [side] * len(of)
    return sides_fail(("old", "new"), Rows.of(runs), sides, toy_runs.workload())


def test_of_two_sides_that_fails_more_often_which_is_the_new_one() -> None:
    assert sides_said([[0], [4]], 2) == (("Runs of new fail more often: 8 of 10, and 0 of 10 of old.",), ())
    assert sides_said([[4], [0]], 2) == sides_said([[0], [1]], 2) == sides_said([[0], [0]], 2) == ((), ())


def test_of_one_campaign_a_side_failed_runs_are_no_more_than_suspected() -> None:
    counts = "4 of 10, and 0 of 10 of old; a campaign alone may have had an outage."
    assert sides_said([[0, 0], [2, 2]]) == ((), (f"Runs of new may fail more often: {counts}",))


def test_most_runs_of_the_one_campaign_that_fail_are_enough() -> None:
    assert sides_said([[0], [4]]) == (("Runs of new fail more often: 4 of 5, and 0 of 5 of old.",), ())


def test_a_point_that_failed_in_all_runs_of_a_campaign_counts_once_and_is_suspected() -> None:
    said = "may fail more often at new: all 5, and 0 of 5 of old; an outage could be why."
    assert sides_said([[0] * 10, [5, *[0] * 9]]) == ((), (f"Runs of size a {said}",))
    two = sides_said([[0] * 10, [0, 5, 0, 5, *[0] * 6]])
    assert two == ((), (f"Runs of size b (and those of 1 more) {said}",))
    assert sides_said([[3] * 10, [5, *[3] * 9]]) == sides_said([[5, *[0] * 9], [0] * 10]) == ((), ())


def test_an_outage_of_one_of_several_campaigns_is_not_said() -> None:
    runs = history(lambda version, name, repeat: version == 3, 4, "abc", 5)
    apart = [dataclasses.replace(run, campaign=str(run.settings["version"])) for run in runs]
    sides = [int(run.settings["version"] in ("1.2.0", "1.3.0")) for run in apart]
    assert sides_fail(("old", "new"), Rows.of(apart), sides, toy_runs.workload()) == ((), ())


def beside_a_history(fails: Fails, **shape: Any) -> Analysis:
    """The newest version's runs at hand, beside a history of the others', which has the good ones alone."""
    runs = history(fails, **shape)
    newest = runs[-1].settings["version"]
    here = [dataclasses.replace(run, kept_in=None) for run in runs if run.settings["version"] == newest]
    kept = [run for run in runs if run.settings["version"] != newest and not run.failed]
    return analyse_runs([*kept, *here], toy_runs.workload(), data="both", kpi_filter=["cost"])


def test_beside_a_history_which_has_good_runs_alone_missing_ones_may_have_failed() -> None:
    (said,) = beside_a_history(lambda version, name, repeat: version == 29 and name == "b", versions=30).fails_more
    assert said == "Runs of size b fail more often at 1.29.0: 2 of 2, and 0 of 58 before."
    flaky = np.random.default_rng(5).random((20, 2, 4)) < 0.3
    flaky[19, :, :2] = True
    assert not beside_a_history(
        lambda version, name, repeat: bool(flaky[version, "ab".index(name), repeat]), repeats=4
    ).fails_more


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_what_always_fails_now_and_then_is_hardly_ever_said_beside_its_history(share: float) -> None:
    found = 0
    for seed in range(50):
        bad = np.random.default_rng([seed, 78]).random((20, 2, 2)) < share
        analysis = beside_a_history(lambda version, name, repeat, bad=bad: bool(bad[version, "ab".index(name), repeat]))
        found += bool(analysis.fails_more)
    assert found <= 1
