"""One disturbed run or version, of whatever value, hides no regression, repairs none, and ends no drift."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from toy_runs import entry, workload

from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.model import Alarm, SeriesVerdict

NOW = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
ODD = [-1e308, 1e308, -1e9, 1e3, 1.0, 1e-300, -1e-300, 5e-324, 0.0, -0.0]


def verdict_on(versions: list[list[float]], kpi: str = "cost") -> SeriesVerdict:
    runs = [
        entry({"version": f"1.{number}.0", kpi: value, "day": number}, 100 * number + repeat)
        for number, values in enumerate(versions)
        for repeat, value in enumerate(values)
    ]
    (verdict,) = analyse_runs(runs, workload(), data="a test", kpi_filter=[kpi], now=NOW).verdicts
    return verdict


def disturbed(seed: int) -> tuple[str, list[list[float]]]:
    """A regression of 10 % over four versions, six where one is odd: a run of one version, or a version more."""
    draw = np.random.default_rng(seed)
    kpi, repeats = ("cost", "rate")[draw.integers(2)], int(draw.choice([1, 2, 3, 5]))
    old, spread = int(draw.integers(12, 31)), draw.choice([0.0, 0.1, 0.5])
    place = int(draw.integers(0, old + 6))
    new = 4 if place < old else 6
    levels = np.repeat([100.0, 110.0 if kpi == "cost" else 90.0], [old, new])
    versions: list[list[float]] = (levels[:, None] + draw.normal(0.0, spread, (old + new, repeats))).tolist()
    odd = ODD[draw.integers(len(ODD))]
    if draw.integers(2):
        versions.insert(place, [odd] * repeats)
    else:
        versions[place][0] = odd
    return kpi, versions


def test_one_odd_value_hides_no_regression_but_in_one_of_a_hundred_histories() -> None:
    """An odd third version of a new level of single runs may be taken for the last one of the old level."""
    hidden = [seed for seed in range(100) for kpi, versions in [disturbed(seed)] if not verdict_on(versions, kpi).fails]
    assert len(hidden) <= 1


@pytest.mark.parametrize("odd", [1e3, -1e308, 0.0])
@pytest.mark.parametrize(("repeats", "place"), [(1, 0), (1, 9), (5, 0), (5, 2), (5, 14)])
def test_one_value_beside_equal_ones_hides_no_regression(odd: float, repeats: int, place: int) -> None:
    versions = [[100.0] * repeats for _ in range(20)] + [[110.0] * repeats for _ in range(3)]
    assert verdict_on([*versions[:place], [odd] * repeats, *versions[place:]]).fails
    versions[place][0] = odd
    assert verdict_on(versions).fails


def test_two_huge_runs_of_a_version_are_no_trace() -> None:
    versions = [[100.0] * 2 for _ in range(20)] + [[110.0] * 2 for _ in range(10)]
    assert verdict_on([*versions[:24], [-1e308, -1e308], *versions[24:]]).fails


def alarms_of_a_drift(seed: int, noise: float, repeats: int, disturbed: int = 0, by: float = 0.0) -> list[Alarm]:
    """Of 60 versions that from the eleventh on are 0.3 % slower each."""
    random, versions = np.random.default_rng(seed), list[list[float]]()
    for number in range(60):
        level = 100.0 * (1.0 + 0.003 * max(0, number - 10)) * (1.0 + (by if number == disturbed else 0.0))
        versions.append([level + float(random.normal(0.0, noise)) for _ in range(repeats)])
    return list(verdict_on(versions).alarms)


@pytest.mark.parametrize(("seed", "noise", "begin"), [(2, 0.3, 30), (6, 1.0, 26)])
def test_a_drift_is_an_alarm_where_its_later_steps_are_sure(seed: int, noise: float, begin: int) -> None:
    assert [one.first_bad for one in alarms_of_a_drift(seed, noise, 1)] == [f"1.{begin}.0"]


@pytest.mark.parametrize(
    ("seed", "noise", "repeats", "place", "by"),
    [
        (10, 1.0, 1, 40, -0.3),
        (118, 0.5, 1, 33, -0.3),
        (110, 0.5, 1, 24, 0.3),
        (3, 0.5, 3, 47, 0.3),
    ],
)
def test_one_disturbed_version_leaves_a_drift_one_alarm(
    seed: int, noise: float, repeats: int, place: int, by: float
) -> None:
    assert len(alarms_of_a_drift(seed, noise, repeats, place, by)) == 1


@pytest.mark.parametrize("wild", [150.0, 1e6])
def test_one_disturbed_version_between_two_regressions_makes_them_no_drift(wild: float) -> None:
    noise = np.random.default_rng(0).normal(0.0, 1.0, 37)
    versions = [[float(value)] for value in np.repeat([100.0, 108.0, 116.0], [15, 12, 10]) + noise]
    versions[20] = [wild]
    assert [one.first_bad for one in verdict_on(versions).alarms] == ["1.15.0", "1.27.0"]


def test_what_a_line_fits_as_well_as_a_step_may_drift() -> None:
    """Of series that drift by 0.5 % a version most were worse "since" one of them, and as one cause."""

    def may(levels: list[float]) -> list[bool]:
        found = []
        for seed in range(900, 920):
            noise = np.random.default_rng(seed).normal(0.0, 3.0, (len(levels), 5))
            verdict = verdict_on((np.array(levels)[:, None] + noise).tolist())
            assert verdict.drift is None or not verdict.may_drift
            found += [verdict.may_drift or verdict.drift is not None] if verdict.fails else []
        return found

    drift, step = may([100.0 * 1.005**place for place in range(24)]), may([100.0] * 14 + [110.0] * 10)
    assert len(drift) > 12
    assert len(step) > 12
    assert sum(drift) >= 0.9 * len(drift)
    assert sum(step) <= 0.1 * len(step)
    assert not may([100.0] * 24)
