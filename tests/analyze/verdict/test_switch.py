"""Two values of a setting against each other: which runs are a pair, and what each KPI does over all pairs."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

import pytest
from report_support.analyses import verdict
from toy_runs import entry, workload

from matrix_benchmarking.analyze.detect import Estimate
from matrix_benchmarking.analyze.intervals import Scale
from matrix_benchmarking.analyze.select.selection import select
from matrix_benchmarking.analyze.verdict.model import Outcome
from matrix_benchmarking.analyze.verdict.over_all import Effect, _size
from matrix_benchmarking.analyze.verdict.pairs import Switch, pair_up, switch, switch_versions
from matrix_benchmarking.analyze.verdict.sides import Question, RunBlocks
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.workload import Workload

NOISE = (0.99, 1.0, 1.012, 1.003)


def runs(vus: int, old: float, new: float, kpi: str = "cost", **settings: Any) -> list[Entry]:
    """Those of a point at both images, in four common rounds of one night."""
    return [
        dataclasses.replace(
            entry({"image": image, "vus": vus, **settings, kpi: level * NOISE[(number + side) % 4]}, 0),
            name=f"{kpi} {vus} {image} {number}",
            test_uuid=f"{kpi} {vus} {image} {number}",
            campaign="night",
            round=number,
        )
        for side, (image, level) in enumerate((("a", old), ("b", new)))
        for number in range(4)
    ]


def switched(*points: list[Entry], of: Workload | None = None) -> Switch | None:
    entries = [one for point in points for one in point]
    now = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
    return switch(entries, of or workload(), "image", "a", "b", Question("runs", RunBlocks(lambda: entries), now=now))


def effect(*points: list[Entry]) -> Effect:
    found = switched(*points)
    assert found is not None
    (one,) = found.effects
    return one


def value(of: Estimate | None) -> float:
    assert of is not None
    return of.value


def names(of: Effect) -> list[str]:
    return [one.name for one in of.verdicts]


def test_points_at_which_both_values_were_measured_are_pairs_in_order() -> None:
    failed = [dataclasses.replace(one, exit_code=1) for one in runs(2, 10.0, 10.0)]
    wrong = [dataclasses.replace(one, implausible=("it ended before it started",)) for one in runs(3, 10.0, 10.0)]
    pairs = pair_up(
        [*runs(8, 10.0, 20.0), *failed, *wrong, *runs(4, 10.0, 20.0)[:4], *runs(1, 10.0, 20.0)], "image", "a", "b"
    )
    assert [[(len(side), side[0].settings) for side in both] for both in pairs] == [
        [(4, {"image": "a", "vus": 1}), (4, {"image": "b", "vus": 1})],
        [(4, {"image": "a", "vus": 8}), (4, {"image": "b", "vus": 8})],
    ]
    assert switched(runs(1, 10.0, 20.0)[:4]) is None


def test_a_run_each_is_a_pair_that_can_not_be_told() -> None:
    found = effect(*(runs(vus, 10.0, 14.0)[::4] for vus in (1, 2)))
    assert names(found) == ["vus 1", "vus 2"]
    assert {one.outcome for one in (*found.verdicts, found)} == {Outcome.CANT_TELL}
    doubled = effect(*(runs(vus, 10.0, 20.0)[::4] for vus in (1, 2)))
    assert {one.outcome for one in doubled.verdicts} == {Outcome.CANT_TELL}
    assert doubled.outcome is Outcome.SUSPECTED  # both of two points


def test_two_versions_are_compared_in_their_series() -> None:
    history = [
        dataclasses.replace(one, campaign=f"{version} {number // 2}")
        for version, level in (("1.0", 10.0), ("1.1", 30.0), ("1.2", 20.0))
        for number, one in enumerate(
            entry({"version": version, "cost": level * noise}, 0) for noise in (*NOISE, *reversed(NOISE))
        )
    ]
    history = [dataclasses.replace(one, name=str(at), test_uuid=str(at)) for at, one in enumerate(history)]
    question = Question("runs", RunBlocks(lambda: history), now=dt.datetime(2026, 6, 1, tzinfo=dt.UTC))
    selection = select(history, workload())
    found = switch_versions(selection, "version", "1.0", "1.2", question)
    assert found is not None
    assert (found.setting, found.old, found.new) == ("version", "1.0", "1.2")
    assert found.analysis.question == "1.2 against 1.0"
    (one,) = found.effects
    assert (value(one.judged.effect), one.outcome) == (pytest.approx(1.0), Outcome.REGRESSION)
    assert switch_versions(selection, "version", "1.0", "1.3", question) is None


def test_a_pair_is_called_by_the_settings_that_differ() -> None:
    assert names(effect(runs(1, 10.0, 12.0, disk="ssd"), runs(2, 10.0, 11.0, disk="ssd"))) == ["vus 1", "vus 2"]
    assert names(effect(runs(1, 10.0, 12.0, disk="ssd"))) == ["everywhere"]


def test_a_point_without_the_kpi_on_either_side_is_none_of_its_pairs() -> None:
    old_only, new_only = runs(2, 10.0, 20.0)[:4], runs(4, 10.0, 20.0)[4:]
    other = [dataclasses.replace(one, kpis={"rate": 3.0}) for one in (*runs(2, 1.0, 1.0)[4:], *runs(4, 1.0, 1.0)[:4])]
    both = [dataclasses.replace(one, kpis={**one.kpis, "rate": 3.0}) for one in runs(1, 10.0, 20.0)]
    found = switched(both, old_only, new_only, other)
    assert found is not None
    assert {one.kpi.name: [pair.series.labels["vus"] for pair in one.pairs] for one in found.effects} == {
        "cost": [1],
        "rate": [1],
    }


def test_over_two_pairs_the_mean_counts_and_the_larger_difference_comes_first() -> None:
    found = effect(runs(1, 10.0, 10.0), runs(2, 10.0, 14.4))
    assert names(found) == ["vus 2", "vus 1"]
    assert [one.outcome for one in found.verdicts] == [Outcome.REGRESSION, Outcome.NO_CHANGE]
    assert value(found.judged.effect) == pytest.approx(0.2)
    assert found.outcome is Outcome.REGRESSION
    assert (found.count(Outcome.REGRESSION), found.count(Outcome.IMPROVEMENT)) == (1, 0)
    halves = effect(runs(1, 10.0, 10.0), runs(2, 10.0, 5.0), runs(4, 100.0, 100.0))
    assert value(halves.judged.effect) == pytest.approx(0.5 ** (1 / 3) - 1)
    assert halves.outcome is Outcome.IMPROVEMENT


def test_worse_here_and_better_there_is_no_difference_on_average() -> None:
    mixed = effect(runs(1, 10.0, 5.0), runs(2, 10.0, 20.0))
    assert {one.outcome for one in mixed.verdicts} == {Outcome.REGRESSION, Outcome.IMPROVEMENT}
    assert mixed.outcome is Outcome.NO_CHANGE


def test_a_mean_is_one_of_ratios_unless_a_pair_has_none() -> None:
    ratios = effect(runs(1, 10.0, 20.0), runs(2, 10.0, 20.0))
    assert ratios.judged.runs.scale is Scale.RATIO
    in_units = effect(runs(1, 10.0, 20.0), runs(2, 0.0, 4.0))
    assert in_units.judged.runs.scale is Scale.DIFFERENCE
    assert value(in_units.judged.difference) == pytest.approx((10.0 + 4.0) / 2 * sum(NOISE) / 4)


def test_of_one_pair_the_verdict_is_that_of_its_series_among_all() -> None:
    """Among many quiet series it is no discovery, as it would be among two KPIs."""
    crowd = [run for vus in range(1, 30) for run in runs(vus, 10.0, 10.0, "rate")]
    found = switched(runs(1, 10.0, 10.5), crowd)
    assert found is not None
    cost, rate = found.effects
    assert (cost.outcome, rate.outcome) == (Outcome.SUSPECTED, Outcome.NO_CHANGE)
    assert cost.verdicts[0].outcome is Outcome.SUSPECTED
    assert cost.judged.p_value == cost.verdicts[0].p_value
    alone = effect(runs(1, 10.0, 10.5))
    assert (alone.judged.p_value, alone.outcome) == (cost.judged.p_value, Outcome.REGRESSION)


def test_a_kpi_that_no_regression_is_looked_for_in_is_shown_without_a_verdict() -> None:
    memory = effect(runs(1, 10.0, 20.0, "memory"), runs(2, 10.0, 20.0, "memory"))
    assert (memory.outcome, memory.verdicts) == (None, ())
    assert value(memory.judged.effect) == pytest.approx(1.0)


def test_the_size_of_a_difference_is_that_of_its_ratio_either_way() -> None:
    def size(effect: float | None, difference: float | None = None) -> float:
        made = [None if one is None else Estimate(one, one, one) for one in (effect, difference)]
        return _size(verdict(effect=made[0], difference=made[1]))

    assert size(1.0) == pytest.approx(size(-0.5)) == pytest.approx(0.693147)
    assert size(-0.99) < size(-1.0) == size(-1.2) == float("inf")
    assert (size(None, -3.0), size(None)) == (3.0, 0.0)
