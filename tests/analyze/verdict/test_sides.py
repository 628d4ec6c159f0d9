"""What is said of two sides: levels, effects and intervals, and each limit of the verdict on both of its sides."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import msgspec
import numpy as np
import pytest
from report_support.analyses import LATENCY
from toy_runs import entry, workload

from matrix_benchmarking.analyze import pair, weigh
from matrix_benchmarking.analyze.detect import Estimate
from matrix_benchmarking.analyze.intervals import Scale
from matrix_benchmarking.analyze.pair import NO_ROUND, OTHER, Evidence, Ground, Runs
from matrix_benchmarking.analyze.select.selection import select
from matrix_benchmarking.analyze.select.series import series_id
from matrix_benchmarking.analyze.verdict import sides
from matrix_benchmarking.analyze.verdict.alarms import alarm_id
from matrix_benchmarking.analyze.verdict.lifecycle import known_alarms
from matrix_benchmarking.analyze.verdict.model import Outcome, SeriesVerdict
from matrix_benchmarking.analyze.verdict.pairs import compare_versions
from matrix_benchmarking.analyze.verdict.sides import Compared, Judged, Question, RunBlocks, compare_sides
from matrix_benchmarking.analyze.weigh import NEW, OLD, Told, Weighed
from matrix_benchmarking.analyze.wording.verdicts import difference_label, interval_label
from matrix_benchmarking.history.alarms import Action, AlarmEvent, AlarmSubject
from matrix_benchmarking.workload import MinimumEffect

Placed = list[tuple[int, int]]
"""Side and round of each run."""

NOTHING = MinimumEffect(relative=0.0)


def judged(
    scale: Scale, old: float, shift: float, *, p_value: float | None = 0.01, ground: Ground = Ground.ROUNDS,
    blocks: tuple[int, int] = (3, 3), placed: Placed | None = None,
) -> Judged:  # fmt: skip
    """Levels *old* and *old* + *shift* on the scale, with a reach of 0.125, where 0.25 would have been seen."""
    sides, rounds = zip(*(placed or [(OLD, 0), (NEW, 0)]), strict=True)
    values, nothing = np.linspace(0.0, 1e-12, len(sides)), np.zeros(len(sides))
    runs = Runs(
        scale, 8.0 if scale is Scale.DIFFERENCE else 1.0, values, np.array(sides), nothing.astype(int),
        np.array(rounds), 0.0,
    )  # fmt: skip
    weighed = Weighed(*(np.array(one) for one in (shift, 1.0, 2.0, 1.0)))
    told = None if p_value is None else Told(np.array(p_value), np.array(0.125), np.array(0.25))
    return Judged(runs, Evidence(ground, weighed, old, blocks, {}), told)


def parts(estimate: Estimate | None) -> tuple[float, ...]:
    assert estimate is not None
    return msgspec.structs.astuple(estimate)


def test_ratios_have_an_effect_and_the_difference_that_goes_with_it() -> None:
    found = judged(Scale.RATIO, math.log(100.0), math.log(1.5))
    ends = [1.5 * math.exp(-0.125) - 1, 1.5 * math.exp(0.125) - 1]
    assert found.levels == pytest.approx((100.0, 150.0))
    assert parts(found.effect) == pytest.approx((0.5, *ends))
    assert parts(found.difference) == pytest.approx((50.0, 100 * ends[0], 100 * ends[1]))
    assert (found.measure, found.p_value) == (found.effect, 0.01)
    assert found.would_show(NOTHING) == pytest.approx(math.exp(0.25) - 1)
    further = math.exp(0.8416 / 1.96 * 0.125)  # as it has to be measured as that large in four of five cases
    assert found.would_show(MinimumEffect(relative=0.4)) == pytest.approx(1.4 * further - 1)
    assert found.would_show(MinimumEffect(absolute=50.0)) == pytest.approx(1.5 * further - 1)


def test_differences_are_in_the_unit_and_an_effect_where_the_old_level_is_above_zero() -> None:
    found = judged(Scale.DIFFERENCE, 0.5, 0.25)
    assert found.levels == (4.0, 6.0)
    assert parts(found.difference) == (2.0, 1.0, 3.0)
    assert parts(found.effect) == (0.5, 0.25, 0.75)
    assert (found.measure, found.would_show(NOTHING)) == (found.effect, 0.5)
    assert found.would_show(MinimumEffect(absolute=3.0)) == pytest.approx(0.75 + 0.8416 / 1.96 * 0.25)
    assert parts(judged(Scale.DIFFERENCE, 0.005, 0.25).effect) == pytest.approx((50.0, 25.0, 75.0))
    for old in (0.0, -0.5):
        without = judged(Scale.DIFFERENCE, old, 0.25)
        assert without.effect is None
        assert parts(without.measure) == (2.0, 1.0, 3.0)
        assert without.would_show(NOTHING) == 2.0
        assert without.would_show(MinimumEffect(relative=0.0, absolute=3.0)) == pytest.approx(3.0 + 0.8416 / 1.96)
    unseen = msgspec.structs.replace(found, told=Told(np.array(1.0), np.array(0.0), np.array(0.0)))
    assert unseen.would_show(NOTHING) is None


@pytest.mark.parametrize(
    ("values", "least"),
    [([100.0] * 10, None), ([100.0] * 9 + [125.0], None), ([100.0] * 6 + [125.0] * 4, 0.25),
     ([80.0] * 2 + [100.0] * 8, 0.25), ([80.0] * 2 + [100.0] * 6 + [110.0] * 2, 0.25), ([20.0, 21.0] * 5, 0.05)],
)  # fmt: skip
def test_on_few_steps_nothing_smaller_than_one_of_them_would_have_shown(
    values: list[float], least: float | None
) -> None:
    sides = np.array([OLD, NEW] * 5)
    runs = pair.runs_of(values, sides, np.arange(10), np.full(10, pair.NO_ROUND))
    found = pair.evidence([runs])[0]
    shown = Judged(runs, found, weigh.tell(found.weighed)).would_show(NOTHING)
    assert shown is None if least is None else shown is not None and shown > least - 1e-9


@pytest.mark.parametrize(("old", "is_relative"), [((-1.0, 1.0, 1.5), False), ((-0.1, *[0.6] * 6, 0.8), True)])
def test_a_level_that_may_be_zero_has_no_per_cent(old: tuple[float, ...], is_relative: bool) -> None:
    values = np.array([*old, *(one + 1.0 for one in old)])
    of = np.repeat([OLD, NEW], len(old))
    runs = pair.runs_of(values.tolist(), of, np.arange(len(of)), np.full(len(of), NO_ROUND))
    found = sides.judged([runs], pair.lend(pair.evidence([runs])))[0]
    assert (found.effect is not None) is is_relative
    assert found.difference.value == pytest.approx(1.0)


def test_what_can_not_be_told_has_no_ends() -> None:
    found = judged(Scale.RATIO, math.log(100.0), math.log(1.5), p_value=None, ground=Ground.NONE)
    assert parts(found.effect) == pytest.approx((0.5, -1.0, math.inf))
    assert parts(found.difference) == pytest.approx((50.0, -100.0, math.inf))
    assert (found.p_value, found.would_show(NOTHING)) == (None, None)
    assert found.outcome(MinimumEffect(), lower_is_better=True, q_value=0.0) is Outcome.CANT_TELL
    assert parts(judged(Scale.DIFFERENCE, 0.5, 0.25, p_value=None).difference) == (2.0, -math.inf, math.inf)


@pytest.mark.parametrize(
    ("ground", "placed", "said"),
    [
        (Ground.ROUNDS, None, "in 3 common rounds"),
        (Ground.SHARED, None, "in 3 common campaigns"),
        (Ground.CAMPAIGNS, None, "in 3 and 4 campaigns"),
        (Ground.HISTORY, None, "in one campaign each, beside how campaigns differ anyway"),
        (Ground.NONE, [(OLD, 5), (NEW, 5)], "in one common round"),
        (Ground.NONE, [(OLD, 5), (NEW, 6)], "in one campaign each"),
        (Ground.NONE, [(OLD, NO_ROUND), (NEW, NO_ROUND)], "in one campaign each"),
        (Ground.NONE, [(OLD, 5), (NEW, 6), (OTHER, 5), (OTHER, 6)], "in one campaign each"),
    ],
)
def test_what_a_verdict_stands_on_is_said(ground: Ground, placed: Placed | None, said: str) -> None:
    found = judged(Scale.RATIO, 1.0, 0.5, ground=ground, blocks=(3, 4), placed=placed)
    assert found.stands_on == said
    assert found.is_one_round is (placed is None or (placed[0] == (OLD, 5) and placed[1] == (NEW, 5)))
    for count, which in ((1, "one"), (2, "2")):
        held = msgspec.structs.replace(found, evidence=msgspec.structs.replace(found.evidence, held=count))
        assert held.stands_on == f"{said}, {which} of them far off and held back"


@pytest.mark.parametrize(
    ("outcome", "asked"),
    [
        (Outcome.REGRESSION, {}),
        (Outcome.IMPROVEMENT, {"lower_is_better": False}),
        (Outcome.IMPROVEMENT, {"shift": -0.25}),
        (Outcome.REGRESSION, {"shift": -0.25, "lower_is_better": False}),
        (Outcome.NO_CHANGE, {"shift": 0.0, "minimum": MinimumEffect(0.0, 0.0)}),
        (Outcome.REGRESSION, {"minimum": MinimumEffect(0.0, 2.0)}),
        (Outcome.NO_CHANGE, {"minimum": MinimumEffect(0.0, 2.0001)}),
        (Outcome.REGRESSION, {"minimum": MinimumEffect(0.5, 0.0)}),
        (Outcome.NO_CHANGE, {"minimum": MinimumEffect(0.5001, 0.0)}),
        (Outcome.REGRESSION, {"p_value": 0.05}),
        (Outcome.NO_CHANGE, {"p_value": 0.0501}),
        (Outcome.REGRESSION, {"q_value": 0.05}),
        (Outcome.SUSPECTED, {"q_value": 0.0501}),
        (Outcome.SUSPECTED, {"q_value": None}),
        (Outcome.SUSPECTED, {"blocks": (3, 1)}),
        (Outcome.REGRESSION, {"blocks": (2, 2)}),
        (Outcome.SUSPECTED, {"ground": Ground.HISTORY}),
    ],
)
def test_each_limit_of_a_verdict_counts_from_itself_on(outcome: Outcome, asked: dict[str, Any]) -> None:
    of = {name: asked[name] for name in ("p_value", "blocks", "ground") if name in asked}
    found = judged(Scale.DIFFERENCE, 0.5, asked.get("shift", 0.25), **of)
    minimum, lower, q_value = (
        asked.get(name, otherwise)
        for name, otherwise in (("minimum", MinimumEffect()), ("lower_is_better", True), ("q_value", 0.01))
    )
    assert found.outcome(minimum, lower, q_value) is outcome


def test_a_ratio_beyond_what_numbers_can_be_is_infinite() -> None:
    assert [sides.ratio(one) for one in (math.log(3.0), 699.0, 700.0)] == [
        pytest.approx(2.0),
        math.expm1(699.0),
        math.inf,
    ]


def compared(*levels: tuple[float, float], lower_is_better: bool = True) -> list[Compared]:
    """What is said of series, each of an old and a new level in four rounds of one campaign, with a little noise."""
    random, found, entries = np.random.default_rng(5), [], []
    for old_level, new_level in levels:
        both: list[list[Any]] = [[], []]
        for side, level in enumerate((old_level, new_level)):
            for number in range(4):
                run = entry({"version": str(side)}, len(entries))
                entries.append(dataclasses.replace(run, campaign="c", round=number))
                both[side].append((entries[-1], level * (1 + random.normal(0, 0.01)) if level else 0.0))
        found.append((both[0], both[1]))
    return compare_sides(found, RunBlocks(lambda: entries), lower_is_better=lower_is_better)


def test_what_is_no_kpi_is_judged_as_series_of_one_family() -> None:
    levels = [(100.0, 120.0), (10.0, 9.0), (1.0, 1.0), (0.0, 3.0)]
    lower, higher = compared(*levels), compared(*levels, lower_is_better=False)
    assert [one.outcome.value for one in lower] == ["worse", "better", "no difference shown", "worse"]
    assert [one.outcome.value for one in higher] == ["better", "worse", "no difference shown", "better"]
    assert parts(lower[0].judged.effect)[0] == pytest.approx(0.2, abs=0.03)
    assert [float(one.judged.evidence.weighed.degrees) > 3.0 for one in lower] == [True, True, True, False]
    assert float(compared((100.0, 120.0))[0].judged.evidence.weighed.degrees) == 3.0
    assert float(compared((0.0, 3.0), (0.0, 4.0))[0].judged.evidence.weighed.degrees) == 3.0


def on_two_drivers(
    old: str, new: str, *raised: str, axis: str | None = "version", levels: tuple[float, ...] = (100, 101, 110, 111)
) -> SeriesVerdict | None:
    """The verdict on versions 1.0 and 1.1, each of drivers a and b, whose history has alarms since *raised*."""
    random, entries = np.random.default_rng(3), []
    names = [(version, driver) for version in ("1.0", "1.1") for driver in "ab"]
    for day, ((version, driver), level) in enumerate(zip(names, levels, strict=True)):
        for round in range(5):
            cost = level * (1 + random.normal(0, 0.01))
            run = entry({"version": version, "driver": driver, "cost": cost, "day": day}, len(entries))
            entries.append(dataclasses.replace(run, campaign="c", round=round))
    events = []
    for version in raised:
        subject = AlarmSubject(
            workload="toy", kpi="cost", unit="USD", lower_better=True, labels={}, series="all runs", first_bad=version,
            last_good="?", old_level=100, new_level=110,
        )  # fmt: skip
        name = alarm_id(series_id("toy", "cost", "USD", {}), version)
        events.append(AlarmEvent(alarm=name, action=Action.RAISED, at_us=1, author="matbench", subject=subject))
    chosen = select(entries, workload(comparison_keys=["version", "driver"]), kpi_filter=["cost"])
    question = Question("runs", RunBlocks(lambda: entries), known=known_alarms(events))
    return next(iter(compare_versions(chosen, old, new, question, axis=axis).verdicts), None)


def test_a_side_of_several_points_counts_all_their_runs_and_is_named_by_its_newest() -> None:
    found = on_two_drivers("1.0", "1.1")
    assert found is not None
    assert (found.outcome, found.runs_before, found.runs_after) == (Outcome.REGRESSION, 10, 10)
    assert (found.last_good_version, found.first_bad_version) == ("1.0 · b", "1.1 · b")
    ((change,), (alarm,)) = found.changes, found.alarms
    assert [found.versions[place] for place in (change.last_before, change.first, change.seen)] == [
        "1.0 · b",
        "1.1 · b",
        "1.1 · b",
    ]
    assert (alarm.last_good, alarm.first_bad) == ("1.0 · b", "1.1 · b")


@pytest.mark.parametrize(
    ("raised", "first_bad"),
    [
        (["1.1 · a"], "1.1 · a"),
        (["1.1 · b", "1.1 · a"], "1.1 · b"),  # the newest
        (["1.0 · b"], None),  # which the old side has already
        (["0.9 · a"], None),
    ],
)
def test_an_alarm_raised_anywhere_between_both_sides_is_no_news(raised: list[str], first_bad: str | None) -> None:
    found = on_two_drivers("1.0", "1.1", *raised)
    assert found is not None
    assert found.is_new is (first_bad is None)
    assert found.alarms[0].note == (f"Worse since {first_bad}, as the history has it" if first_bad else "")


def test_points_between_the_sides_have_no_part_in_their_levels() -> None:
    found = on_two_drivers("1.0 · a", "1.1 · b", levels=(100, 500, 1000, 110))
    assert found is not None
    assert (found.old_level, found.new_level) == (pytest.approx(100, rel=0.02), pytest.approx(110, rel=0.02))
    assert (found.runs_before, found.runs_after) == (5, 5)


def test_where_time_orders_the_points_a_version_is_named_in_full() -> None:
    assert on_two_drivers("1.0 · a", "1.1 · b", axis=None) is not None
    assert on_two_drivers("1.0", "1.1", axis=None) is None


@pytest.mark.parametrize(
    ("shift", "difference", "interval"),
    [
        (math.log(1.5), "+50.0 %", "+32.4 to +70.0 %"),
        (math.log(10.9), "+990 %", "+862 to +1,135 %"),
        (math.log(11.0) + 1e-9, "+1,000 %", "+871 to +1,146 %"),
        (math.log(0.5), "−50.0 %", "−55.9 to −43.3 %"),
    ],
)
def test_a_ratio_is_in_percent(shift: float, difference: str, interval: str) -> None:
    found = judged(Scale.RATIO, 1.0, shift)
    assert (difference_label(found, LATENCY), interval_label(found, LATENCY)) == (difference, interval)


def test_without_a_ratio_a_difference_is_in_the_unit_and_an_interval_can_be_unknown() -> None:
    without = judged(Scale.DIFFERENCE, 0.0, 0.25)
    assert (difference_label(without, LATENCY), interval_label(without, LATENCY)) == (
        "+2.00 ms",
        "+1.00 ms to +3.00 ms",
    )
    assert interval_label(judged(Scale.RATIO, 1.0, 0.5, p_value=None), LATENCY) == "unknown"
    exactly = judged(Scale.DIFFERENCE, 0.25, 2.5)
    assert difference_label(exactly, LATENCY) == "+1,000 %"


@pytest.mark.parametrize("mean", [0.5, 2.0])
def test_what_would_show_of_few_counts_does_in_four_of_five_cases(mean: float) -> None:
    """Errors of a run, of which a version with more of them also has more scatter."""

    def compared(draw: np.random.Generator, factor: float) -> Judged:
        old, new = (draw.poisson(mean * one, 10).astype(float) for one in (1.0, factor))
        placed = [OLD, NEW] * 10
        rounds = np.repeat(np.arange(10), 2)
        values = np.stack([old, new], axis=1).ravel().tolist()
        runs = pair.runs_of(values, np.array(placed), np.zeros(20, dtype=int), rounds)
        return sides.judged([runs], pair.lend(pair.evidence([runs])))[0]

    seen = list[bool]()
    for seed in range(150):
        alike = compared(np.random.default_rng(seed), 1.0)
        size = alike.would_show(NOTHING)
        if size is not None:
            size /= 1.0 if alike.effect else mean
            found = compared(np.random.default_rng(1000 + seed), 1.0 + size)
            seen.append(found.p_value is not None and found.p_value <= pair.SIGNIFICANT and found.measure.value > 0.0)
    assert len(seen) > 120
    assert 0.7 < sum(seen) / len(seen) < 0.95
