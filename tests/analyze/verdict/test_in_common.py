"""What the series of a KPI do together along a history, where none of them shows it by itself."""

from __future__ import annotations

import datetime as dt
import math
import random
from typing import Any

import msgspec
import toy_runs

from matrix_benchmarking.analyze.select.selection import select
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs
from matrix_benchmarking.analyze.verdict.model import Analysis, Outcome
from matrix_benchmarking.analyze.verdict.over_all import in_common
from matrix_benchmarking.analyze.wording import analyses
from matrix_benchmarking.workload import MinimumEffect

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
NOISE, VERSIONS, AT = 0.04, 40, 30


def analysed(
    step: float = NOISE, series: int = 20, until: int = VERSIONS, keys: tuple[str, ...] = ("version",), **runs: Any
) -> Analysis:
    """Versions of one run a series, each worse by *step* from 1.30 on; that at size 0 by as much as *first*.

    At versions from *fixed* on it is gone; the series at *absent* sizes have no newest version.
    """
    draw = random.Random(runs.get("seed", 11))
    made = []
    for version in range(VERSIONS):
        for size in range(series):
            worse = AT <= version < runs.get("fixed", VERSIONS)
            moved = (runs.get("first", step) if size == 0 else step) if worse else 0.0
            cost = 100.0 * 1.3 ** (size % 7) * math.exp(draw.gauss(0.0, NOISE) + moved)
            if version < until and not (version == until - 1 and size in runs.get("absent", ())):
                made.append(
                    toy_runs.entry({"version": f"1.{version}", "size": size, "cost": cost, "day": version}, len(made))
                )
    workload = toy_runs.workload(comparison_keys=keys)
    effects = {"cost": runs["minimum"]} if "minimum" in runs else None
    return analyse_runs(made, workload, data="a test", now=NOW, kpi_filter=["cost"], minimum_effects=effects)


def test_a_step_too_small_for_each_series_is_seen_in_all_of_them() -> None:
    analysis = analysed()
    assert not analysis.failing
    (one,) = analysis.over_all
    assert (one.kpi.name, one.series, one.outcome, one.of) == ("cost", 20, Outcome.REGRESSION, 20)
    assert one.since in ("1.29", "1.30", "1.31")
    assert one.effect is not None
    assert one.effect.low < math.exp(NOISE) - 1.0 < one.effect.high
    said = analyses.lead(analysis)
    assert said[0] == "None of 20 series of 1 KPI is worse by itself, and over all 1 KPI is: 1.39 against its history."
    assert said[1].startswith(f"Over its 20 series together cost is worse since {one.since}, which none of them shows")


def test_nothing_is_said_without_a_change_of_few_series_after_a_fix_or_below_the_minimum() -> None:
    assert all(not analysed(0.0, seed=seed).over_all for seed in range(20))
    assert not analysed(series=2).over_all
    assert not analysed(fixed=34).over_all
    assert not analysed(minimum=MinimumEffect(0.1)).over_all
    assert not analysed(minimum=MinimumEffect(0.0, 50.0)).over_all
    assert analysed(minimum=MinimumEffect(0.0, 0.5)).over_all


def test_what_one_series_does_by_itself_is_not_what_all_do() -> None:
    analysis = analysed(0.0, first=0.5)
    assert [one.name for one in analysis.failing] == ["size 0"]
    assert not analysis.over_all
    assert not analysed(0.0, first=0.5, until=AT + 1).over_all  # suspected by itself
    (one,) = analysed(first=0.5).over_all
    assert one.series < one.of == 20
    assert f"Over {one.series} of its 20 series together cost is worse" in " ".join(analyses.lead(analysed(first=0.5)))


def test_it_fails_once_and_only_where_suspicion_is_enough() -> None:
    newly = next(found for until in range(AT + 1, VERSIONS) if (found := analysed(until=until)).over_all)
    assert newly.failures == len(newly.failing)
    assert msgspec.structs.replace(newly, fails_on_suspected=True).failures > newly.failures
    assert not msgspec.structs.replace(analysed(), fails_on_suspected=True).failing_together


def test_most_series_have_to_be_there_and_an_order_of_versions() -> None:
    (one,) = analysed(absent=range(5)).over_all
    assert (one.series, one.of) == (15, 20)
    assert not analysed(absent=range(18)).over_all
    assert not analysed(keys=()).over_all


def test_runs_that_no_version_orders_have_nothing_in_common_and_take_no_room() -> None:
    series = [
        msgspec.structs.replace(one, keys=tuple(f"{one.name} {key}" for key in one.keys))
        for one in select([toy_runs.entry({"version": f"1.{at}", "size": size, "cost": 1.0}, at * 8 + size)
                           for at in range(9) for size in range(8)], toy_runs.workload(), kpi_filter=["cost"]).series
    ]  # fmt: skip
    assert list(in_common(series)) == []
