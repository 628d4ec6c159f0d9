"""Of several versions the newest is ranked, each group and each product by its own, and what is left out is said."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from matrix_benchmarking import filters
from matrix_benchmarking.analyze import further, limits
from matrix_benchmarking.analyze.rank import rank
from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.analyze.wording import ranking
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.recorded import Environment
from matrix_benchmarking.runs.answers import BestAnswer
from matrix_benchmarking.workload import RegressionKeys, Workload

MakeEntries = Callable[..., list[Entry]]


@pytest.fixture
def versioned(workload: Workload) -> Workload:
    return dataclasses.replace(workload, regression=RegressionKeys(comparison_keys=["version"]))


def best(study: Study) -> list[tuple[object, ...]]:
    return [tuple(group.best.settings.values()) for group in study.best.groups]


def test_a_cheap_old_release_is_not_the_best(versioned: Workload, entries: MakeEntries) -> None:
    runs = [
        *entries({"version": "1.9", "hw_type": "a"}, 1.0, 1.1),
        *entries({"version": "1.10", "hw_type": "a"}, 3.0, 3.1),
        *entries({"version": "1.10", "hw_type": "b"}, 2.0, 2.1),
    ]
    study = Study(Matrix(runs), versioned)
    assert best(study) == [("1.10", "b")]
    assert len(study.of_all_versions.groups[0].standings) == 3
    (verdict,) = ranking.verdict(study.best)
    assert verdict.lead.startswith("Cheapest by cost at version 1.10: b: 2.05 USD")
    assert ranking.of_newest(study.best) == ["1.10 is the newest of 2 versions; 2 runs of other versions take no part."]
    older = study.selected(filters.parse("version=1.9"))
    assert best(older) == [("1.9", "a")]
    assert older.best.newest is None


def test_groups_and_products_have_their_own_newest_version(versioned: Workload, entries: MakeEntries) -> None:
    runs = [
        *entries({"version": "1", "task": "x", "hw_type": "a"}, 5.0),
        *entries({"version": "2", "task": "x", "hw_type": "a"}, 6.0),
        *entries({"version": "1", "task": "y", "hw_type": "a"}, 1.0),
    ]
    study = Study(Matrix(runs), versioned)
    assert sorted(map(str, best(study))) == [str(("1", "y", "a")), str(("2", "x", "a"))]
    assert ranking.of_newest(study.best) == [
        "Each is ranked at its newest version; 1 run of other versions takes no part."
    ]
    keys = RegressionKeys(comparison_keys=["version"], product_keys=["hw_type"])
    engines = [*entries({"version": "9", "hw_type": "a"}, 2.0), *entries({"version": "1", "hw_type": "b"}, 1.0)]
    assert best(Study(Matrix(engines), versioned)) == [("9", "a")]
    assert best(Study(Matrix(engines), dataclasses.replace(versioned, regression=keys))) == [("1", "b")]


def test_a_newest_version_that_failed_is_among_the_runs_that_take_no_part(
    versioned: Workload, entries: MakeEntries
) -> None:
    runs = [
        *entries({"version": "1"}, 5.0),
        *entries({"version": "2"}, 4.0),
        *entries({"version": "1", "hw_type": "a"}, 4.0, exit_code=1),
        *entries({"version": "3"}, None, exit_code=1),
    ]
    study = Study(Matrix(runs), versioned)
    assert best(study) == [("2",)]
    assert ranking.exclusions(study.best) == "1 run can't take part (1 × failed with exit code 1)"


def test_without_an_order_all_versions_are_ranked(versioned: Workload, entries: MakeEntries) -> None:
    runs = [*entries({"version": "blue"}, 5.0), *entries({"version": "red"}, 4.0)]
    assert best(Study(Matrix(runs), versioned)) == [("red",)]


COMMAND = "matbench benchmark bench.yaml --run '--filters=hw_type=a,vus={},repeat=1'"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (COMMAND.format(8), "matbench benchmark bench.yaml --run --setting=vus=8 --setting=vus=16 --filters=hw_type=a"),
        (None, None),
        ("matbench 'unended", None),
        ("rm -rf /", None),
    ],
)
def test_what_measures_beyond_the_edge(
    workload: Workload, entries: MakeEntries, monkeypatch: pytest.MonkeyPatch, command: str | None, expected: str | None
) -> None:
    monkeypatch.setattr(Entry, "environment", Environment(command=command))
    points = [({"hw_type": "a", "vus": vus}, cost) for vus, cost in ((1, 4.0), (8, 2.0))]
    (group,) = rank(Matrix([run for settings, cost in points for run in entries(settings, cost)]), workload).groups
    assert further.command(group) == expected
    assert ranking.verdict(rank(Matrix(group.best.runs), workload))[0].command == ""  # one value has no edge


@pytest.mark.parametrize(("newest", "is_said"), [(1.06, False), (1.09, True)])
def test_intervals_that_overlap_a_little_hide_no_better_version(
    newest: float, is_said: bool, versioned: Workload, entries: MakeEntries
) -> None:
    """Both reach some .05 towards each other: independent errors, together .07."""
    spread = (-0.05, -0.02, 0.0, 0.02, 0.05)
    runs = [
        *entries({"version": "1.9", "hw_type": "a"}, *(1.0 + one for one in spread)),
        *entries({"version": "1.10", "hw_type": "a"}, *(newest + one for one in spread)),
    ]
    study = Study(Matrix(runs), versioned)
    (group,), (before,) = study.best.groups, rank(Matrix(runs[:5]), versioned).groups
    old, new = before.best.interval, group.best.interval
    assert old is not None and new is not None and old.high > new.low
    assert bool(study.better_before) is is_said


def test_that_the_version_before_had_a_better_one_is_said(versioned: Workload, entries: MakeEntries) -> None:
    runs = [
        *entries({"version": "1.8", "hw_type": "a"}, 0.5, 0.51, 0.52),
        *entries({"version": "1.9", "hw_type": "a"}, 1.0, 1.01, 1.02),
        *entries({"version": "1.10", "hw_type": "a"}, 3.0, 3.01, 3.02),
        *entries({"version": "1.10", "hw_type": "b"}, 2.0, 2.02, 2.04),
    ]
    study = Study(Matrix(runs), versioned)
    assert ranking.of_before(study.better_before, study.best.newest) == [
        "Version 1.9 had a better one: a, 1.01 USD (−50.0 %). Compare says whether by chance."
    ]
    lines = str(BestAnswer(study)).splitlines()
    assert "Compare them: 'matbench compare 1.9 1.10' with the options of this command." in lines
    assert not Study(Matrix(runs[3:6]), versioned).better_before
    dearer_before = [*entries({"version": "1.9", "hw_type": "a"}, 4.0, 4.01, 4.02), *runs[6:]]
    assert not Study(Matrix(dearer_before), versioned).better_before
    single = [*entries({"version": "1.9", "hw_type": "a"}, 1.0), *entries({"version": "1.10", "hw_type": "a"}, 3.0)]
    assert not Study(Matrix(single), versioned).better_before  # nobody knows how they scatter


def test_what_a_filter_leaves_out_was_tried_all_the_same(workload: Workload, entries: MakeEntries) -> None:
    runs = [run for vus in (1, 2, 4, 8) for run in entries({"hw_type": "a", "vus": vus}, 10.0 / vus, 10.1 / vus)]
    study = Study(Matrix(runs), workload)
    filtered = (
        study.selected(filters.parse("vus=1:2")),
        Study.of(study.matrix, workload, filters=filters.parse("vus=1:2")),
    )
    assert "the highest vus that was tried wins" in ranking.verdict(study.best)[0].edge
    for one in filtered:
        (verdict,) = ranking.verdict(one.best)
        assert verdict.lead.startswith("Cheapest by cost: vus 2")
        assert not verdict.edge


def test_a_point_has_one_interval_whatever_else_is_selected(versioned: Workload, entries: MakeEntries) -> None:
    random = np.random.default_rng(8)
    runs = [
        run
        for version in ("1.9", "1.10")
        for hardware in ("a", "b", "c", "d")
        for run in entries({"version": version, "hw_type": hardware}, *random.normal(3.0, 0.3, 3))
    ]
    study = Study(Matrix(runs), versioned)
    speed = versioned.kpis["speed"]

    def known(of: Study) -> dict[str, object]:
        return {
            str(bound.point.settings["hw_type"]): (bound.point.interval, bound.bound)
            for group in of.of_all.groups
            for bound in limits.bounded(group, speed)
        }

    everything = known(study)
    assert len({str(one) for one in everything.values()}) == 4
    for text in ("hw_type=a:b", "hw_type=c", "version=1.10,hw_type=a:d"):
        some = known(study.selected(filters.parse(text)))
        assert some == {name: everything[name] for name in some}
    assert study.selected(filters.parse("hw_type=a")).whole is study  # whose bounds are known
    older = study.selected(filters.parse("version=1.9"))
    assert known(older) != everything
    assert known(older.selected(filters.parse("hw_type=a"))) == {"a": known(older)["a"]}


def test_a_version_of_which_no_run_succeeded_is_named_beside_the_best(
    versioned: Workload, entries: MakeEntries
) -> None:
    good = entries({"version": "2.1", "hw_type": "a"}, 3.0, 3.1)
    failed = entries({"version": "2.2", "hw_type": "a"}, None, exit_code=1)
    study = Study(Matrix([*good, *failed]), versioned)
    assert study.without_a_good_run == ["version 2.2"]
    assert "No good run of version 2.2: nothing is said of it." in "\n".join(BestAnswer(study).verdict())
    assert not Study(Matrix(good), versioned).without_a_good_run
