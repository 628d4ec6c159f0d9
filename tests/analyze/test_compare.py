"""Two values of a setting against each other: pairs, effect, interval, on numbers worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from matrix_benchmarking import kpi
from matrix_benchmarking.analyze.compare import compare
from matrix_benchmarking.analyze.intervals import Scale
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.matrix import Entry


def definition(*, lower_better: bool = True) -> KPIDefinition:
    def cost(lts: Any) -> Any:
        return lts.cost

    direction = kpi.LowerBetter if lower_better else kpi.HigherBetter
    return kpi.collect([direction(kpi.KPIMetadata(help="What it costs", unit="USD")(cost))])["cost"]


def entry(image: Any, cost: float | None, *, repeat: int = 0, exit_code: int = 0, **settings: Any) -> Entry:
    return Entry(
        settings={"image": image, **settings},
        repeat=repeat,
        location=Path("/results"),
        name="run",
        exit_code=exit_code,
        kpis={} if cost is None else {"cost": cost},
    )


def test_pairs_differ_in_the_setting_alone() -> None:
    entries = [
        entry("a", 10.0, vus=1),
        entry("b", 5.0, vus=1),
        entry("a", 20.0, vus=2),
        entry("b", 15.0, vus=2),
        entry("a", 1.0, vus=4),  # nothing to compare with
        entry("b", 1.0, vus=8),
        entry("c", 1.0, vus=1),
        entry("b", 1.0, vus=2, batch=1),
    ]
    effect = compare(entries, "image", "a", "b", definition())
    assert effect is not None
    assert [(pair.settings, pair.old.mean, pair.new.mean) for pair in effect.pairs] == [
        ({"vus": 1}, 10.0, 5.0),
        ({"vus": 2}, 20.0, 15.0),
    ]
    assert [round(pair.comparison.difference, 6) for pair in effect.pairs] == [-0.5, -0.25]


def test_the_effect_is_the_geometric_mean_with_students_interval_over_the_pairs() -> None:
    ratios = [0.5, 0.55, 0.6, 0.45]
    entries = [
        entry(image, 10.0 * (ratio if image == "b" else 1), vus=n) for n, ratio in enumerate(ratios) for image in "ab"
    ]
    effect = compare(entries, "image", "a", "b", definition())
    assert effect is not None
    assert effect.interval is not None
    logs = [math.log(ratio) for ratio in ratios]
    low, high = stats.t.interval(0.95, 3, loc=sum(logs) / 4, scale=stats.sem(logs))
    assert effect.scale is Scale.RATIO
    assert effect.difference == pytest.approx(math.exp(sum(logs) / 4) - 1)
    assert (effect.interval.low, effect.interval.high) == pytest.approx((math.exp(low) - 1, math.exp(high) - 1))
    assert (effect.apart, effect.is_better, effect.disagreeing) == (True, True, 0)
    higher = compare(entries, "image", "a", "b", definition(lower_better=False))
    assert higher is not None
    assert higher.is_better is False


def test_an_interval_that_includes_no_difference_is_not_apart() -> None:
    entries = [entry(image, 10.0 + step * (image == "b"), vus=step) for step in (-2, 2, -1, 1) for image in "ab"]
    effect = compare(entries, "image", "a", "b", definition())
    assert effect is not None
    assert effect.apart is False


def test_values_that_are_not_positive_are_compared_as_differences() -> None:
    entries = [entry(image, 0.0 if image == "a" else 0.5, vus=n) for n in range(3) for image in "ab"]
    effect = compare(entries, "image", "a", "b", definition())
    assert effect is not None
    assert (effect.scale, effect.difference, effect.apart) == (Scale.DIFFERENCE, 0.5, True)
    same = compare([entry(image, 0.0, vus=n) for n in range(3) for image in "ab"], "image", "a", "b", definition())
    assert same is not None
    assert (same.difference, same.apart) == (0.0, False)


def test_a_single_pair_is_told_from_chance_by_its_repeats() -> None:
    repeated = [entry(image, value, repeat=n) for image, values in (("a", (10, 11, 10.5)), ("b", (5, 5.2, 5.1)))
                for n, value in enumerate(values)]  # fmt: skip
    effect = compare(repeated, "image", "a", "b", definition())
    assert effect is not None
    assert (len(effect.pairs), effect.interval, effect.apart) == (1, None, True)
    alone = compare([entry("a", 10.0), entry("b", 5.0)], "image", "a", "b", definition())
    assert alone is not None
    assert (alone.difference, alone.apart) == (-0.5, None)


def test_a_pair_that_goes_the_other_way_by_more_than_chance_is_counted() -> None:
    values = {1: 5.0, 2: 5.0, 3: 5.0, 4: 12.0}
    entries = [
        entry(image, (10.0 if image == "a" else new) + repeat * 0.01, repeat=repeat, vus=vus)
        for vus, new in values.items()
        for image in "ab"
        for repeat in range(3)
    ]
    effect = compare(entries, "image", "a", "b", definition())
    assert effect is not None
    assert (effect.difference < 0, effect.disagreeing) == (True, 1)


def test_types_of_the_setting_are_kept_and_what_has_no_value_takes_no_part() -> None:
    entries = [
        entry(1, 10.0, vus=1),
        entry("1", 1.0, vus=1),
        entry(2, 20.0, vus=1),
        entry(2, 1.0, vus=1, exit_code=1),
        entry(2, None, vus=1),
    ]
    effect = compare(entries, "image", 1, 2, definition())
    assert effect is not None
    assert [(len(pair.old_runs), len(pair.new_runs)) for pair in effect.pairs] == [(1, 1)]
    assert effect.difference == 1.0


@pytest.mark.parametrize(("setting", "old", "new"), [("image", "a", "z"), ("other", 1, 2), ("image", "z", "y")])
def test_without_a_pair_there_is_no_effect(setting: str, old: Any, new: Any) -> None:
    assert compare([entry("a", 1.0), entry("b", 2.0)], setting, old, new, definition()) is None
    assert compare([], setting, old, new, definition()) is None
