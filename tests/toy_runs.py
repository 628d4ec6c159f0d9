"""Runs that a history might hold, of a workload with a cost, a rate and a memory, to analyse for regressions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from matrix_benchmarking import kpi
from matrix_benchmarking.matrix import Entry, Facts
from matrix_benchmarking.workload import BaseStore, RegressionKeys, Workload

DAY_US = 24 * 3600 * 10**6
NO_LABELS = ("cost", "rate", "memory", "day", "recorded", "exit_code", "other_units", "other_directions", "host")


@kpi.LowerBetter
@kpi.KPIMetadata(help="What it costs", unit="USD")
def cost(lts: Any) -> Any:
    return lts.results.cost


@kpi.HigherBetter
@kpi.KPIMetadata(help="What it does", unit="1/s")
def rate(lts: Any) -> Any:
    return lts.results.rate


@kpi.LowerBetter
@kpi.IgnoredForRegression
@kpi.KPIMetadata(help="What it holds", unit="MB")
def memory(lts: Any) -> Any:
    return lts.results.memory


def workload(**keys: Any) -> Workload:
    kpis = kpi.collect([cost, rate, memory])
    store = BaseStore(parse_once=lambda results, test_dir: None, models_kpis=kpis)
    return Workload(name="toy", store=store, regression=RegressionKeys(**{"comparison_keys": ["version"], **keys}))


def entry(run: dict[str, Any], number: int) -> Entry:
    labels = {name: value for name, value in run.items() if name not in NO_LABELS}
    day = run.get("day", number)
    facts = Facts(
        labels,
        dict.fromkeys(run.get("other_units", ()), "in EUR, and the workload says USD"),
        frozenset(run.get("other_directions", ())),
    )
    return Entry(
        settings={name: value for name, value in labels.items() if not isinstance(value, dict)},
        repeat=0,
        location=Path("/nowhere"),
        name=f"run {number}",
        exit_code=run.get("exit_code", 0),
        test_uuid=f"run {number}",
        kpis={name: run[name] for name in ("cost", "rate", "memory") if run.get(name) is not None},
        host=run.get("host"),
        span_us=(None, None if day is None else day * DAY_US),
        facts=facts,
        recorded=run.get("recorded"),
        kept_in="sqlite:///x.db",
    )


def version(number: int) -> str:
    return f"1.{number}.0"


def history(
    versions: int = 30,
    steps: dict[int, float] | None = None,
    *,
    level: float = 100.0,
    noise: float = 1.0,
    kpi: str = "cost",
    repeats: int = 1,
    seed: int = 5,
    **labels: Any,
) -> list[Entry]:
    """The runs of a series: its level from each version on, and noise that is the same for all steps."""
    random = np.random.default_rng(seed).normal(0.0, noise, (versions, repeats))
    levels = {0: level, **(steps or {})}
    runs = []
    for number in range(versions):
        at = levels[max(start for start in levels if start <= number)]
        for repeat in range(repeats):
            value = at + float(random[number, repeat])
            runs.append({"version": version(number), **labels, kpi: value, "day": number})
    return [entry(run, 1000 * len(labels) + number) for number, run in enumerate(runs)]
