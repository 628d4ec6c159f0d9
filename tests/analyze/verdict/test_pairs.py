"""Two builds without a history: which series are paired, what is worse, what chance is, and what can't be told."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

import numpy as np
import pytest
from toy_runs import entry, workload

from matrix_benchmarking.analyze.select.selection import select
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.model import Analysis, Outcome
from matrix_benchmarking.analyze.verdict.pairs import Build, against_baseline, compare_builds
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.workload import MinimumEffect

NOW = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)


def build(name: str, levels: dict[str, float], *, version: str = "1.0.0", repeats: int = 5, seed: int = 1) -> Build:
    """Runs of a build: the cost of each image, with one percent of noise."""
    random = np.random.default_rng(seed)
    runs = [
        {"version": version, "image": image, "cost": level * (1 + random.normal(0, 0.01)), "day": 0}
        for image, level in levels.items()
        for _ in range(repeats)
    ]
    return Build(name, [entry(run, number) for number, run in enumerate(runs)])


def compare(old: Build, new: Build, **options: Any) -> Analysis:
    return compare_builds(old, new, workload(), data="two builds", kpi_filter=["cost"], now=NOW, **options)


def outcomes(analysis: Analysis) -> dict[str, str]:
    return {str(one.labels["image"]): one.outcome.value for one in analysis.verdicts}


def test_each_setting_is_compared_with_itself() -> None:
    old = build("before", {"a": 100, "b": 10, "c": 1}, seed=1)
    new = build("after", {"a": 110, "b": 9, "c": 1}, version="1.1.0", seed=2)
    analysis = compare(old, new)
    assert outcomes(analysis) == {"a": "regression", "b": "improvement", "c": "no change"}
    assert analysis.question == "after against before"
    assert [one.labels["image"] for one in analysis.failing] == ["a"]
    worse = analysis.failing[0]
    assert (worse.first_bad_version, worse.last_good_version) == ("after", "before")
    assert worse.effect is not None
    assert worse.effect.low < 0.1 < worse.effect.high
    assert (worse.runs_before, worse.runs_after) == (5, 5)


def test_of_a_kpi_that_can_not_be_better_the_values_are_said_and_nothing_is_judged() -> None:
    kinds = {**workload().kpis, "cost": dataclasses.replace(workload().kpis["cost"], lower_better=None)}
    unjudged = dataclasses.replace(workload(), store=dataclasses.replace(workload().store, models_kpis=kinds))
    old, new = build("before", {"a": 100}), build("after", {"a": 150}, version="1.1.0", seed=2)
    by_build = compare_builds(old, new, unjudged, data="two builds", kpi_filter=["cost"], now=NOW)
    in_order = analyse_runs([*old.entries, *new.entries], unjudged, data="a test", kpi_filter=["cost"], now=NOW)
    for analysis, before, after in ((by_build, "before", "after"), (in_order, "1.0.0", "1.1.0")):
        assert not analysis.verdicts
        (said,) = analysis.not_analysed
        assert (said.kpi, said.runs) == ("cost", 10)
        assert said.reason.startswith("neither direction is better, not judged: ")
        assert f" at {before}, " in said.reason
        assert f" at {after} (+4" in said.reason or f" at {after} (+5" in said.reason


def test_the_order_of_the_builds_is_theirs_and_not_that_of_their_versions() -> None:
    new, old = build("rc", {"a": 100}, version="2.0.0"), build("release", {"a": 120}, version="1.0.0", seed=2)
    assert outcomes(compare(new, old)) == {"a": "regression"}
    assert outcomes(compare(old, new)) == {"a": "improvement"}


def test_what_is_in_one_build_only_is_named() -> None:
    analysis = compare(build("before", {"a": 100, "b": 10}), build("after", {"a": 100, "c": 10}, seed=2))
    assert sorted((one.series, one.reason) for one in analysis.not_analysed if one.series) == [
        ("b", "it is in before only"),
        ("c", "it is in after only"),
    ]


def test_labels_that_may_differ_are_left_out_of_the_pairing() -> None:
    analysis = compare(build("torch", {"torch": 100}), build("onnx", {"onnx": 80}, seed=2), ignored=["image"])
    assert [one.outcome for one in analysis.verdicts] == [Outcome.IMPROVEMENT]


def test_single_runs_can_only_be_told_apart_by_the_repeats_of_others() -> None:
    alone = compare(build("before", {"a": 100}, repeats=1), build("after", {"a": 130}, repeats=1, seed=2))
    assert outcomes(alone) == {"a": "not enough history"}
    assert not alone.failed
    others = {f"i{number}": 50.0 for number in range(6)}
    single = build("before", {"a": 100}, repeats=1, seed=3), build("after", {"a": 130}, repeats=1, seed=4)
    many = build("before", others, seed=5), build("after", others, seed=6)
    both = [Build(one.name, [*one.entries, *more.entries]) for one, more in zip(single, many, strict=True)]
    assert outcomes(compare(*both))["a"] == "regression"


def test_among_many_quiet_series_hardly_any_is_called_worse() -> None:
    levels = {f"i{number}": 10.0 + number for number in range(40)}
    wrong = 0
    for seed in range(20):
        analysis = compare(build("before", levels, seed=2 * seed), build("after", levels, seed=2 * seed + 1))
        wrong += any(one.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT) for one in analysis.verdicts)
    assert wrong <= 4


def test_a_difference_below_the_minimum_effect_doesnt_count() -> None:
    old, new = build("before", {"a": 100}), build("after", {"a": 104}, seed=2)
    assert outcomes(compare(old, new)) == {"a": "regression"}
    effects = {"cost": MinimumEffect(relative=0.1)}
    assert outcomes(compare(old, new, minimum_effects=effects)) == {"a": "no change"}


def test_failed_runs_are_left_out_and_counted() -> None:
    old, new = build("before", {"a": 100}), build("after", {"a": 100}, seed=2)
    broken = entry({"version": "1.0.0", "image": "a", "cost": 1e9, "exit_code": 1}, 99)
    analysis = compare(old, Build("after", [*new.entries, broken]))
    assert outcomes(analysis) == {"a": "no change"}
    assert "1 failed run of after left out" in analysis.notes


@pytest.fixture
def releases() -> list[Entry]:
    runs: list[Entry] = []
    for number, level in enumerate([100, 100, 101, 112, 112]):
        made = build("x", {"a": level, "b": 50}, version=f"1.{number}.0", seed=number)
        runs += [entry({**dict(one.settings), **one.kpis, "day": number}, len(runs)) for one in made.entries]
    return runs


def test_a_baseline_is_compared_with_the_newest_version(releases: list[Entry]) -> None:
    chosen = select(releases, workload(), kpi_filter=["cost"])
    analysis = against_baseline(chosen, "1.1.0", data="releases", minimum_effects={}, now=NOW)
    assert outcomes(analysis) == {"a": "regression", "b": "no change"}
    assert analysis.question == "1.4.0 against 1.1.0"
    assert not against_baseline(chosen, "1.3.0", data="releases", minimum_effects={}, now=NOW).failed


def test_the_newest_version_is_no_baseline(releases: list[Entry]) -> None:
    chosen = select(releases, workload(), kpi_filter=["cost"])
    analysis = against_baseline(chosen, "1.4.0", data="releases", minimum_effects={}, now=NOW)
    assert analysis.verdicts == ()
    assert {one.reason for one in analysis.not_analysed} == {"1.4.0 is its newest version"}


def test_zeros_in_one_series_spoil_no_other() -> None:
    def runs(name: str, level: float, zero: list[float], seed: int) -> Build:
        made = build(name, {"a": level}, seed=seed)
        flat = [{"version": "1.0.0", "image": "errors", "cost": value, "day": 0} for value in zero]
        return Build(name, [*made.entries, *(entry(run, 100 + number) for number, run in enumerate(flat))])

    old, new = runs("before", 0.001, [0.0] * 5, 1), runs("after", 0.0011, [0.0, 0.0, 0.0, 0.0, 3.0], 2)
    assert outcomes(compare(old, new))["a"] == "regression"
    assert outcomes(compare(old, runs("after", 0.001, [0.0] * 5, 3))) == {"a": "no change", "errors": "no change"}


def test_a_difference_that_versions_show_anyway_is_no_change() -> None:
    wrong = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        runs = [
            {"version": f"1.{number}.0", "image": "a", "cost": mood * (1 + random.normal(0, 0.005)), "day": number}
            for number, mood in enumerate(100 * (1 + random.normal(0, 0.03, 30)))
            for _ in range(5)
        ]
        chosen = select([entry(run, n) for n, run in enumerate(runs)], workload(), kpi_filter=["cost"])
        wrong += against_baseline(chosen, "1.20.0", data="moods", minimum_effects={}, now=NOW).failed
    assert wrong <= 3


def test_a_level_that_stays_is_one_among_restless_versions() -> None:
    random = np.random.default_rng(3)
    levels = [*100 * (1 + random.normal(0, 0.02, 20)), *125 * (1 + random.normal(0, 0.02, 5))]
    runs = [
        {"version": f"1.{number}.0", "image": "a", "cost": level * (1 + random.normal(0, 0.01)), "day": number}
        for number, level in enumerate(levels)
        for _ in range(5)
    ]
    chosen = select([entry(run, n) for n, run in enumerate(runs)], workload(), kpi_filter=["cost"])
    assert against_baseline(chosen, "1.15.0", data="moods", minimum_effects={}, now=NOW).failed
