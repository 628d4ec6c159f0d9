"""Detection of changes: what it must find, what it must not, and what must not depend on how a series is written."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from matrix_benchmarking.analyze import detect
from matrix_benchmarking.analyze.detect import InvalidThresholdError, Kind, Minimum, change_points, judge

Floats = npt.NDArray[np.float64]
CASES = yaml.safe_load((Path(__file__).parent / "detect_cases.yaml").read_text())
ANYTHING = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, 1.0, 2.0, math.nan, 1e300, -1e300, 5e-324]),
    st.none(),
    st.lists(st.floats(), max_size=4),
)


def normal(seed: int, count: int = 100, size: float = 0.0, after: int = 40) -> Floats:
    values = 100.0 + np.random.default_rng([77, seed]).standard_normal(count)
    values[after:] += size
    return values


def correlated(seed: int, correlation: float) -> Floats:
    shocks = np.random.default_rng([78, seed]).standard_normal(160)
    values = np.zeros(160)
    for place in range(1, 160):
        values[place] = correlation * values[place - 1] + shocks[place]
    return 100.0 + values[60:]


def spiked(seed: int) -> Floats:
    return normal(seed) + 10.0 * (np.random.default_rng([79, seed]).random(100) < 0.02)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_verdicts_on_small_series(case: dict[str, Any]) -> None:
    options = case.get("options", {})
    minimum = Minimum(*options.get("minimum", ()))
    verdict = judge(case["values"], **{**options, "minimum": minimum})
    assert verdict.kind.value == case["verdict"]
    assert verdict.first_bad == case.get("first_bad")
    assert verdict.last_good == case.get("last_good")
    if "reruns" in case:
        assert verdict.reruns == case["reruns"]


@pytest.mark.parametrize(
    ("family", "allowed"),
    [
        (normal, 0.03),
        (lambda seed: np.exp(0.3 * (normal(seed) - 100.0)), 0.05),
        (spiked, 0.05),
        (lambda seed: correlated(seed, 0.3), 0.06),
        (lambda seed: correlated(seed, 0.6), 0.09),
        (lambda seed: np.round(normal(seed)), 0.04),
    ],
    ids=["normal", "lognormal", "spikes", "AR(1) 0.3", "AR(1) 0.6", "rounded"],
)
def test_series_without_a_change_rarely_raise_an_alarm(family: Callable[[int], Floats], allowed: float) -> None:
    alarms = sum(bool(change_points(family(seed))) for seed in range(150))
    assert alarms <= 150 * allowed


@pytest.mark.parametrize(("size", "points"), [(5.0, 3), (3.0, 5), (2.0, 9), (1.5, 15)])
def test_a_shift_is_seen_soon_and_where_it_is(size: float, points: int) -> None:
    found = [change_points(normal(seed, 40 + points, size)) for seed in range(60)]
    assert sum(any(abs(point - 40) <= 5 for point in points) for points in found) >= 31


@pytest.mark.parametrize("seed", range(6))
def test_later_points_neither_move_nor_remove_a_change_point(seed: int) -> None:
    values = normal(seed, 220, 3.0)
    values[90:] -= 5.0
    values[150:] += np.linspace(0, 6, 70)
    whole = change_points(values)
    assert whole
    for count in range(2, len(values), 3):
        found = change_points(values[:count])
        assert found == whole[: len(found)]


@pytest.mark.parametrize("slope", [0.2, -0.2])
def test_a_drift_is_one_change_that_later_points_do_not_move(slope: float) -> None:
    for seed in range(3):
        values = 100.0 + np.random.default_rng(seed).standard_normal(200) + slope * np.arange(200.0)
        whole = change_points(values)
        assert len(whole) == 1
        for count in range(20, len(values), 12):
            assert change_points(values[:count]) in ([], whole)


@pytest.mark.parametrize(("lasts", "ends"), [(20, False), (50, True), (200, True)])
def test_where_a_drift_ended_a_level_begins_once_it_lasts(lasts: int, ends: bool) -> None:
    values = np.random.default_rng(3).standard_normal(80 + lasts)
    values[40:80] += np.linspace(0.0, 12.0, 40)
    values[80:] += 12.0
    series = (100.0 + values).tolist()
    found = change_points(series)
    assert len(found) == 1 + ends
    assert 40 <= found[0] <= 55
    assert all(65 <= place <= 90 for place in found[1:])
    earlier = [change_points(series[:stop]) for stop in range(60, len(series), 5)]
    assert all(found[: len(one)] == one for one in earlier)


@pytest.mark.parametrize("size", [4.0, -4.0])
def test_steps_that_follow_each_other_are_no_drift(size: float) -> None:
    for seed in range(6):
        values = np.random.default_rng(seed).standard_normal(120) + size * (np.arange(120) // 30)
        assert len(change_points(values)) == 3


@pytest.mark.parametrize("seed", range(4))
def test_a_regression_stays_one_with_the_same_first_bad_version(seed: int) -> None:
    values = normal(seed, 80, 4.0)
    verdicts = [judge(values[:count], lower_is_better=True) for count in range(41, 81)]
    seen = [verdict.first_bad for verdict in verdicts if verdict.kind is Kind.REGRESSION]
    first = next(place for place, verdict in enumerate(verdicts) if verdict.kind is Kind.REGRESSION)
    assert len(seen) == len(verdicts) - first
    assert set(seen) == {seen[0]}


@pytest.mark.parametrize("seed", range(12))
def test_scale_shift_and_sign_change_nothing(seed: int) -> None:
    values = np.round(normal(seed, 80, 2.5) * 1024) / 1024  # so that the transformations are exact
    expected = change_points(values)
    assert change_points(values * 2.0**20) == expected
    assert change_points(values * 2.0**-30) == expected
    assert change_points(values + 4096.0) == expected
    assert change_points(-values) == expected


@pytest.mark.parametrize("seed", range(12))
def test_reversing_the_direction_swaps_regression_and_improvement(seed: int) -> None:
    values = normal(seed, 60, 4.0 if seed % 2 else -4.0)
    swapped = {Kind.REGRESSION: Kind.IMPROVEMENT, Kind.IMPROVEMENT: Kind.REGRESSION}
    verdict = judge(values, lower_is_better=True)
    assert verdict.kind in swapped
    assert judge(values, lower_is_better=False).kind is swapped[verdict.kind]
    assert judge(values).kind is Kind.CHANGE


@pytest.mark.parametrize("seed", range(8))
def test_another_repeat_of_the_same_value_loses_no_alarm(seed: int) -> None:
    values: list[Any] = normal(seed, 60, 4.0).tolist()
    assert judge(values, lower_is_better=True).kind is Kind.REGRESSION
    for place in (0, 20, 39, 40, 45, 59):
        repeated = [*values[:place], [values[place], values[place]], *values[place + 1 :]]
        assert judge(repeated, lower_is_better=True).kind is Kind.REGRESSION


@given(st.lists(ANYTHING, max_size=60), st.booleans())
def test_any_series_gets_a_verdict(values: list[Any], lower_is_better: bool) -> None:
    verdict = judge(values, lower_is_better=lower_is_better)
    points = change_points(values)
    assert points == sorted(set(points))
    assert all(0 < point < len(values) for point in points)
    assert (verdict.first_bad is None) == (verdict.kind in (Kind.NO_CHANGE, Kind.NOT_ENOUGH_HISTORY))


@settings(max_examples=30)
@given(st.lists(st.sampled_from([0.0, 1.0, 1.0, 1.0, 2.0, 1e-9, math.nan]), min_size=60, max_size=300))
def test_long_rounded_series_with_gaps_get_a_verdict(values: list[float]) -> None:
    assert judge(values, lower_is_better=True).kind in Kind
    found = change_points(values[:50])
    assert change_points(values)[: len(found)] == found


def test_constant_series_never_change_and_their_steps_are_exact() -> None:
    assert change_points([0.1] * 500) == []
    assert change_points([0.1] * 30 + [0.1 + 1e-15] * 30) == []
    assert change_points([0.0] * 20 + [0.02] * 6) == [20]
    assert change_points([3.0] * 12 + [5.0] * 12 + [3.0] * 12) == [12, 24]


def test_gaps_keep_the_indices_of_the_versions() -> None:
    values: list[Any] = normal(1, 60, 5.0).tolist()
    for place in (0, 10, 39, 41, 55):
        values[place] = math.nan if place % 2 else None
    verdict = judge(values, lower_is_better=True)
    assert (verdict.first_bad, verdict.last_good) == (40, 38)
    assert (verdict.runs_before, verdict.runs_after) == (37, 18)


def test_one_spike_is_no_change_and_no_reason_to_miss_one() -> None:
    values = normal(3, 60, 5.0)
    values[20] += 30.0
    assert change_points(values) == [40]
    values = normal(3, 41)
    values[40] += 30.0
    assert change_points(values) == []


@pytest.mark.parametrize("seed", range(5))
def test_a_change_that_is_older_than_the_level_before_it_is_still_found(seed: int) -> None:
    found = change_points(normal(seed, 110, 3.0, after=12))
    assert any(abs(point - 12) <= 4 for point in found)


def test_an_outlier_says_nothing_of_a_level_that_its_neighbours_do_not() -> None:
    values = np.full(46, 100.0) + 0.5 * np.tile([-1.0, 1.0], 23)
    assert change_points([*values, 101.2, 112.0, 101.1]) == []
    assert change_points([*values, 103.2, 112.0, 103.1, 103.0]) == [46]


def test_an_outlier_that_is_no_alarm_is_no_discovery() -> None:
    verdict = judge([*normal(7, 40), 130.0], lower_is_better=True)
    assert verdict.kind is Kind.NO_CHANGE
    assert verdict.p_value is not None and verdict.p_value > 0.005


def test_five_repeats_suspect_a_regression_in_a_short_history_and_the_next_version_confirms_it() -> None:
    suspected, found = 0, 0
    for seed in range(20):
        runs = 100.0 + 3.0 * np.random.default_rng([80, seed]).standard_normal((7, 5))
        runs[5:] += 20.0
        before = judge(runs[:6].tolist(), lower_is_better=True)
        seen = before.suspicion
        suspected += seen is not None and seen.first_bad == 5 and seen.kind is Kind.REGRESSION
        assert before.kind is Kind.NO_CHANGE
        found += judge(runs.tolist(), lower_is_better=True).first_bad == 5
    assert suspected >= 15
    assert found >= 13


def test_three_versions_of_three_quiet_runs_are_history_enough_for_a_collapse() -> None:
    runs = [[100.0, 101.0, 99.5], [100.5, 99.0, 100.0], [101.0, 100.0, 99.0], [70.0, 70.7, 69.5], [70.2, 69.8, 70.5]]
    alone = judge(runs[:4], lower_is_better=False)
    assert alone.kind is Kind.NO_CHANGE and alone.suspicion is not None
    assert (alone.suspicion.first_bad, alone.suspicion.last_good, alone.suspicion.kind) == (3, 2, Kind.REGRESSION)
    assert (alone.suspicion.runs_before, alone.suspicion.runs_after) == (9, 3)
    assert judge(runs, lower_is_better=False).first_bad == 3
    assert judge(runs[1:], lower_is_better=False).kind is Kind.NOT_ENOUGH_HISTORY


@pytest.mark.parametrize(
    ("rounds", "campaigns", "is_alarm"),
    [
        pytest.param([1, 2, 3], [9, 9, 9], True, id="three rounds"),
        pytest.param([1, 1, 2, 2], [9] * 4, True, id="two rounds"),
        pytest.param([1, 2], [9, 9], False, id="two runs are as likely glitches"),
        pytest.param([1], [9], False, id="one round"),
        pytest.param([None] * 3, [9] * 3, False, id="no rounds"),
        pytest.param([None] * 3, [9, 9, 10], True, id="two campaigns"),
        pytest.param([4, 5, 6], [9, 9, 9], False, id="rounds without the others"),
    ],
)
def test_a_single_version_raises_an_alarm_by_its_common_rounds_or_its_campaigns(
    rounds: list[int | None], campaigns: list[int], is_alarm: bool
) -> None:
    history = [[value + 0.01 * repeat for repeat in range(3)] for value in normal(7, 30)]
    of_old = [(9, 1), (9, 2), (9, 3)]
    newest = [108.0 + 0.01 * repeat for repeat in range(len(rounds))]
    blocks = [*[of_old] * 30, list(zip(campaigns, rounds, strict=True))]
    verdict = judge([*history, newest], lower_is_better=True, blocks=blocks)
    assert (verdict.first_bad == 30) is is_alarm
    assert (verdict.suspicion is not None) is not is_alarm


def test_versions_of_one_campaign_without_rounds_confirm_nothing() -> None:
    history = [[value + 0.01 * repeat for repeat in range(3)] for value in normal(7, 33)]
    for runs in history[30:]:
        runs[:] = [run + 8.0 for run in runs]
    one_night = [[(place, None)] * 3 for place in range(30)] + [[(30, None)] * 3] * 3
    assert judge(history, lower_is_better=True, blocks=one_night).first_bad is None
    two_nights = [*one_night[:32], [(31, None)] * 3]
    assert judge(history, lower_is_better=True, blocks=two_nights).first_bad == 30


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_a_first_version_that_was_measured_differently_hides_no_later_regression(factor: float) -> None:
    history = [[value - 0.5, value, value + 0.5] for value in normal(7, 40, 8.0, after=30)]
    history[0] = [factor * run for run in history[0]]
    assert 30 in change_points(history)


def test_runs_that_vary_more_than_those_before_are_believed_less() -> None:
    history = [[value - 0.5, value, value + 0.5, value - 0.2, value + 0.2] for value in normal(7, 30)]
    calm = [[value - 0.5, value, value + 0.5, value - 0.2, value + 0.2] for value in (105.0, 105.2)]
    wild = [[value - 4, value, value + 4, value - 2, value + 2] for value in (105.0, 105.2)]
    assert judge([*history, *calm], lower_is_better=True).first_bad == 30
    assert judge([*history, *wild], lower_is_better=True).first_bad is None


def test_there_and_back_are_two_changes() -> None:
    values = normal(5, 100, 5.0)
    values[52:] -= 5.0
    assert change_points(values) == [40, 52]
    verdict = judge(values, lower_is_better=True)
    assert verdict.kind is Kind.IMPROVEMENT
    assert [change.is_worse for change in verdict.changes] == [True, False]


def test_the_effect_is_within_its_interval_about_as_often_as_it_says() -> None:
    verdicts = [judge(normal(seed, 80, 5.0), lower_is_better=True) for seed in range(100)]
    inside = [v.effect is not None and v.effect.low <= 0.05 <= v.effect.high for v in verdicts]
    assert sum(inside) >= 88
    assert sum(v.difference is not None and 4.0 < v.difference.value < 6.0 for v in verdicts) >= 95


def test_small_steps_add_up_to_one_that_counts() -> None:
    steps = np.repeat([100.0, 100.6, 101.2, 101.8], 40)
    values = steps + 0.05 * np.random.default_rng(5).standard_normal(160)
    assert change_points(values) == [40, 80, 120]
    verdicts = [judge(values[:count], lower_is_better=True).kind for count in (80, 120, 160)]
    assert verdicts == [Kind.NO_CHANGE, Kind.REGRESSION, Kind.REGRESSION]


def test_a_second_campaign_confirms_what_one_does_not() -> None:
    history: list[Any] = normal(7, 30).tolist()
    assert judge([*history, 108.0], lower_is_better=True).kind is Kind.NO_CHANGE
    assert judge([*history, 108.0], lower_is_better=True).reruns in (1, 2)
    alone = judge([*history, [107.0, 108.5, 108.0]], lower_is_better=True)
    assert alone.kind is Kind.NO_CHANGE and alone.suspicion is not None and alone.suspicion.first_bad == 30
    again = [[(place, None)] for place in range(30)] + [[(30, None), (30, None), (31, None)]]
    assert judge([*history, [107.0, 108.5, 108.0]], lower_is_better=True, blocks=again).kind is Kind.REGRESSION
    assert judge([*history, [100.3, 108.0, 100.1]], lower_is_better=True).kind is Kind.NO_CHANGE


def test_repeats_shorten_the_history_that_is_needed() -> None:
    runs = (100.0 + np.random.default_rng(9).standard_normal((7, 5))).tolist()
    assert judge(runs, lower_is_better=True).kind is Kind.NO_CHANGE
    slower = [value + 8.0 for value in runs[0]]
    assert judge([*runs[1:], slower], lower_is_better=True).suspicion is not None
    assert judge([*runs[1:], slower, slower], lower_is_better=True).kind is Kind.REGRESSION
    assert judge([run[0] for run in runs], lower_is_better=True).kind is Kind.NOT_ENOUGH_HISTORY


def test_p_values_fall_as_the_evidence_grows() -> None:
    values = normal(11, 46, 4.0)
    p_values = [judge(values[:count], lower_is_better=True).p_value for count in range(40, 47)]
    assert all(p is not None and 0.0 <= p <= 1.0 for p in p_values)
    assert [p for p in p_values if p is not None][-1] < 1e-4
    assert judge(values[:40]).p_value > 0.05  # type: ignore[operator]


def test_q_values_are_those_of_benjamini_and_hochberg() -> None:
    p_values = [0.001, 0.4, 0.013, 0.04, 0.9, 0.0004]
    assert detect.q_values(p_values) == pytest.approx(stats.false_discovery_control(p_values))
    assert detect.q_values([None, 0.01, math.nan]) == [None, 0.01, None]
    assert detect.discoveries([0.001, 0.2, None]) == [True, False, False]
    assert detect.discoveries([0.05]) == [True]  # on the limit
    assert detect.discoveries([0.0501]) == [False]
    assert detect.q_values([]) == []


def test_over_many_series_few_discoveries_are_false() -> None:
    p_values = [judge(normal(seed, 60), lower_is_better=True).p_value for seed in range(150)]
    p_values += [judge(normal(seed, 60, 5.0), lower_is_better=True).p_value for seed in range(200, 220)]
    found = detect.discoveries(p_values)
    assert sum(found[150:]) >= 19
    assert sum(found[:150]) <= 2


@pytest.mark.parametrize("wrong", [(-0.1, 0.0), (0.0, math.nan)])
def test_an_impossible_minimum_is_refused_in_a_sentence(wrong: tuple[float, float]) -> None:
    with pytest.raises(InvalidThresholdError, match=r"^A minimum effect is zero or a positive number, not "):
        Minimum(*wrong)


def test_ten_thousand_points_are_looked_through() -> None:
    values = 100.0 + np.random.default_rng(13).standard_normal(10_000)
    values[7000:] += 2.0
    assert any(abs(point - 7000) <= 5 for point in change_points(values))


def test_nightly_runs_of_a_real_database_have_stable_changes(foreign_samples: Path) -> None:
    runs = sorted(json.loads((foreign_samples / "tigerbeetle.json").read_text()), key=lambda run: run["timestamp"])
    values = [metric["value"] for run in runs for metric in run["metrics"] if metric["name"] == "load_accepted"]
    whole = change_points(values)
    assert 2 <= len(whole) <= 20
    for earlier, later in itertools.pairwise([change_points(values[:count]) for count in range(20, len(values), 15)]):
        assert later[: len(earlier)] == earlier


def test_the_benchmark_prints_its_table(repository: Path) -> None:
    command = [sys.executable, "benchmarks/detector.py", "--quick", "--no-peers"]
    printed = subprocess.run(command, cwd=repository, check=True, capture_output=True, text=True).stdout
    for row in ("false alarms, AR(1) 0.6", "points until a shift of 1.5 sigma", "time for 5,000 points"):
        assert row in printed


@pytest.mark.parametrize("far", [(12, 31), (0, 1, 2), (0, 1, 2, 3, 4)])
def test_what_was_once_far_off_hides_no_later_level_for_good(far: tuple[int, ...]) -> None:
    """A step of ten times the noise behind a few slow runs, or behind a slow beginning: it was never seen."""
    found = []
    for seed in range(20):
        values = 100.0 * np.exp(np.random.default_rng(seed).normal(0.0, 0.01, 60))
        values[list(far)] *= 1.25
        values[40:] *= 1.1
        found.append(any(abs(place - 40) <= 2 for place in change_points(values.tolist())))
    assert sum(found) >= 18
