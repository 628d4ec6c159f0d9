"""A value of a setting that stands out at all points that are else alike is of another unit, or a copy of another."""

from __future__ import annotations

import collections
import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest
import toy_runs

from matrix_benchmarking.analyze.check import Finding, findings, matched
from matrix_benchmarking.matrix import Entry, Matrix

HARDWARE, BATCHES, USERS = {"a": 1.0, "b": 2.3, "c": 6.0}, (1, 8, 32), (1, 4, 16, 64, 256)
Change = Callable[[dict[str, Any], dict[str, float]], object]


def found(change: Change = lambda settings, kpis: None, seed: int = 0) -> list[Finding]:
    """The findings on a sweep whose rate spans two hundred times, of which *change* spoils runs."""
    chance, runs = numpy.random.default_rng(seed), []
    sweep = itertools.product(range(3), HARDWARE, BATCHES, USERS)
    for number, (repeat, hardware, batch, users) in enumerate(sweep):
        settings: dict[str, Any] = {"hw": hardware, "batch": batch, "users": users, "version": "1.0"}
        rate = 100 * HARDWARE[hardware] * batch**0.4 * users / (users + 8)
        kpis = {"rate": rate, "cost": 1000 * users / rate, "memory": 10.0 * batch}
        kpis = {name: float(value * chance.lognormal(0, 0.04)) for name, value in kpis.items()}
        change(settings, kpis)
        runs.append(Entry(settings, repeat, Path("x"), f"run {number}", 0, kpis=kpis))
    every = findings(Matrix(runs), toy_runs.workload())
    return [one for one in every if one.kind in ("another-unit", "same-values")]


def of_b(name: str, times: float) -> Change:
    return lambda settings, kpis: kpis.update({name: kpis[name] * (times if settings["hw"] == "b" else 1.0)})


def test_an_honest_sweep_has_no_such_finding() -> None:
    assert [one.sentence for seed in range(5) for one in found(seed=seed)] == []


def test_one_hardware_in_another_unit_is_asked_about_though_the_sweep_has_values_between() -> None:
    (larger,) = found(of_b("rate", 1000.0))
    assert larger.sentence.startswith("rate is ")
    assert larger.sentence.endswith(
        " times as large where 'hw' is b as where it isn't, at 15 points that are else alike: is it in another unit?"
    )
    assert len(larger.runs) == 45
    (smaller,) = found(of_b("cost", 0.001))
    assert " times as small where 'hw' is b as where it isn't" in smaller.sentence


def test_at_two_points_that_are_alike_in_it_a_thousand_times_is_another_unit() -> None:
    def asked(change: Change) -> list[Finding]:
        def few(settings: dict[str, Any], kpis: dict[str, float]) -> None:
            change(settings, kpis)
            kpis |= {} if settings["batch"] == BATCHES[0] and settings["users"] in USERS[:2] else dict.fromkeys(kpis)

        return found(few)

    (one,) = asked(of_b("rate", 1000.0))
    assert one.sentence.endswith("where it isn't, at 2 points that are else alike: is it in another unit?")
    assert not one.changes  # what is in memory may be so much faster
    assert asked(lambda settings, kpis: None) == []


def test_what_is_a_thousand_times_faster_at_some_points_or_for_a_larger_number_is_no_other_unit() -> None:
    def cached(settings: Mapping[str, Any], kpis: dict[str, float]) -> None:
        kpis["cost"] /= 500 * settings["batch"] if settings["hw"] == "b" else 1.0

    assert found(cached) == []
    assert found(lambda settings, kpis: kpis.update(cost=kpis["cost"] * 1000.0 ** (settings["batch"] == 32))) == []


def pasted(name: str, *values: object) -> Change:
    """Runs of the second of these *values* have what those of the first measured."""
    kept: dict[object, dict[str, float]] = {}
    counts: collections.Counter[object] = collections.Counter()

    def change(settings: Mapping[str, Any], kpis: dict[str, float]) -> None:
        point = tuple(settings.items())
        rest = tuple((key, value) for key, value in point if key != name)
        counts[point] += 1
        if settings[name] in values:
            kpis.update(kept.setdefault((rest, counts[point]), dict(kpis)))

    return change


@pytest.mark.parametrize(("name", "values", "points"), [("hw", ("a", "b"), 15), ("batch", (8, 32), 15)])
def test_a_value_whose_runs_are_another_ones_is_a_copy(name: str, values: tuple[object, ...], points: int) -> None:
    (copy,) = found(pasted(name, *values))
    both = " and ".join(map(str, values))
    assert copy.sentence == (
        f"All runs of '{name}' {both} have the same values at {points} points, though repeats differ: "
        "is one a copy of the other?"
    )
    assert len(copy.runs) == 2 * 3 * points


def test_several_copies_are_one_finding_with_each_run_once() -> None:
    (copy,) = found(pasted("hw", "a", "b", "c"))
    assert copy.sentence.startswith("All runs of 'hw' a and b (and of 2 pairs more) have the same values at 15 points")
    assert len(copy.runs) == 3 * 3 * 15


@pytest.mark.parametrize(("users", "digits", "is_asked"), [((16,), 12, True), ((16,), 3, False), (USERS, 12, False)])
def test_one_point_whose_runs_are_those_of_another_is_a_copy_unless_chance_or_a_limit_repeats_them(
    users: tuple[int, ...], digits: int, is_asked: bool
) -> None:
    """*users*: where two values of a setting do the same, as a limit that isn't reached does, on two hardwares."""
    copy = pasted("batch", 8, 32)

    def change(settings: Mapping[str, Any], kpis: dict[str, float]) -> None:
        kpis.update({name: float(f"{value:.{digits}g}") for name, value in kpis.items()})
        if settings["hw"] != "c" and settings["users"] in users and (len(users) > 1 or settings["hw"] == "a"):
            copy(settings, kpis)

    said = (
        "The 3 runs at the point of 'run 7' have the values of those at the point of 'run 12', all alike to the last "
        "digit: is one a copy of the other?"
    )
    assert [one.sentence for one in found(change)] == ([said] if is_asked else [])


def of_versions(old: Sequence[float], new: Sequence[float]) -> list[str]:
    """What is said of the rates of two versions over the same sweep."""
    rates = [("1.1", *one) for one in enumerate(old)] + [("1.2", *one) for one in enumerate(new)]
    runs = [
        Entry(
            {"version": version, "batch": at}, 0, Path("x"), f"{version} {at}", 0, kpis={"cost": 1.0 + at, "rate": rate}
        )
        for version, at, rate in rates
    ]
    return [one.sentence for one in findings(Matrix(runs), toy_runs.workload()) if one.kind == "another-unit"]


def test_all_points_of_a_version_may_be_in_another_unit() -> None:
    (said,) = of_versions((10.0, 20.0, 40.0, 80.0), (0.011, 0.02, 0.041, 0.079))
    assert said == (
        "rate is 909 to 1,013 times as large where 'version' is 1.1 as where it isn't, at 4 points that are else "
        "alike: is it in another unit?"
    )
    assert of_versions((10.0, 20.0, 40.0, 8000.0), (11.0, 21.0, 41.0, 8100.0)) == []  # of one load, not of a version
    assert of_versions((10.0, 20.0, 40.0, 80.0), (0.05, 0.1, 0.2, 0.4)) == []  # 200 times as fast everywhere


def history(
    change: Callable[[dict[tuple[int, int, int], dict[str, float]]], object], digits: int = 4, seed: int = 0
) -> list[str]:
    """What is found in six versions of six points of three runs, of which *change* spoils some."""
    chance = numpy.random.default_rng(seed)
    kpis = {}
    for version, batch, repeat in itertools.product(range(6), range(6), range(3)):
        rate = 100.0 * (batch + 1) * chance.lognormal(0, 0.03)
        measured = {"rate": rate, "cost": 1000 / rate * chance.lognormal(0, 0.03)}
        kpis[version, batch, repeat] = {name: float(f"{value:.{digits}g}") for name, value in measured.items()}
    change(kpis)
    runs = [
        Entry({"batch": batch, "version": f"1.{version}"}, repeat, Path("x"), f"run {place}", 0, kpis=of)
        for place, ((version, batch, repeat), of) in enumerate(kpis.items())
    ]
    kinds = ("same-values", "stuck")
    return [one.sentence for one in findings(Matrix(runs), toy_runs.workload()) if one.kind in kinds]


def test_a_part_of_the_runs_of_an_earlier_version_is_a_copy() -> None:
    def spoil(kpis: dict[tuple[int, int, int], dict[str, float]]) -> None:
        for batch, repeat in itertools.product(range(3), range(3)):
            kpis[5, batch, repeat] = kpis[4, batch, repeat]

    said = "9 runs of 'version' 1.5 have all values of a run of 1.4 that is else alike, though repeats differ"
    assert history(spoil) == [f"{said}: are they copies?"]
    assert history(lambda kpis: spoil(kpis) or kpis[5, 5, 0].update(rate=1.0), digits=5) == [
        f"{said}: are they copies?"
    ]


def test_runs_of_which_nothing_is_known_are_no_copies() -> None:
    def forget(kpis: dict[tuple[int, int, int], dict[str, float]]) -> None:
        for version, batch in itertools.product(range(6), range(6)):
            kpis[version, batch, 1].clear()

    assert history(forget) == []


@pytest.mark.parametrize("digits", [1, 2, 3, 4, 9])
def test_runs_that_are_alike_by_chance_are_no_copies(digits: int) -> None:
    assert [history(lambda kpis: None, digits, seed) for seed in range(20)] == [[]] * 20


def test_one_value_at_many_points_was_hardly_measured() -> None:
    def spoil(kpis: dict[tuple[int, int, int], dict[str, float]], value: float = 4.0) -> None:
        for version, batch in itertools.product((2, 3), range(1, 5)):
            kpis[version, batch, 1]["cost"] = value

    (said,) = history(spoil, digits=6)
    assert said == (
        "cost is 4 USD in 8 runs at 8 points, to the last digit, where hardly any others agree: was it measured?"
    )
    assert history(lambda kpis: spoil(kpis, 10_000.0), digits=6) == [], "it may be a limit"


@pytest.mark.parametrize(
    ("value", "digits"), [(130.9 * 1e-9, 4), (1.523 / 1000, 4), (0.1 + 0.2, 1), (0.123456789012, 12)]
)
def test_what_a_change_of_the_unit_adds_is_no_digit(value: float, digits: int) -> None:
    assert matched.digits(value) == digits


@pytest.mark.parametrize("sizes", [1, 3])
def test_a_unit_that_changes_in_the_middle_of_a_history_is_asked_about(sizes: int) -> None:
    def asked(since: int, *, times: float = 1000.0, kpi: str = "memory") -> list[Finding]:
        chance, runs = numpy.random.default_rng(3), []
        for version, size, repeat in itertools.product(range(1, 11), range(sizes), range(2)):
            kpis = {"cost": 5.0, "rate": 3.0, "memory": 7.0} | {kpi: 10.0 * 30**size * chance.lognormal(0, 0.05)}
            kpis[kpi] *= times if version >= since else 1.0
            settings = {"version": f"1.{version}", "size": size}
            runs.append(Entry(settings, repeat, Path("x"), f"{version} {size} {repeat}", 0, kpis=kpis))
        every = findings(Matrix(runs), toy_runs.workload())
        return [one for one in every if one.kind == "another-unit"]

    (one,) = asked(since=7)
    assert " times as large where 'version' is 1.7, 1.8, 1.9, 1.10 as where it isn't, at " in one.sentence
    assert one.changes
    assert len(one.runs) == 4 * sizes * 2
    (one,) = asked(since=4)
    assert " times as small where 'version' is 1.1, 1.2, 1.3 as where it isn't, at " in one.sentence
    assert asked(since=7, kpi="cost")
    assert asked(since=11) == asked(since=7, times=150.0) == asked(since=7, times=20.0) == []


def test_a_single_run_with_all_values_of_another_point_is_a_copy() -> None:
    def said(*costs: float, unit: str = "s") -> list[str]:
        runs = [Entry({"size": at}, 0, Path("x"), f"run {at}", 0, kpis={"cost": cost}) for at, cost in enumerate(costs)]
        workload = toy_runs.workload()
        kpis = {name: dataclasses.replace(one, unit=unit) for name, one in workload.kpis.items()}
        store = dataclasses.replace(workload.store, models_kpis=kpis)
        every = findings(Matrix(runs), dataclasses.replace(workload, store=store))
        return [one.sentence for one in every if one.kind == "same-values"]

    assert said(1.23456789012, 1.5, 1.23456789012) == [
        "The run at the point of 'run 0' has the values of that at the point of 'run 2', all alike to the last digit: "
        "is one a copy of the other?"
    ]
    assert said(1.23456789012, 1.5, 1.23456789012, unit="%") == said(1.2345, 1.5, 1.2345) == []
