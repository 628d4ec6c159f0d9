"""Tests that were never on a disk, of a workload with a cost, a speed and a limit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from matrix_benchmarking import kpi
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.workload import BaseStore, Gate, Workload

MakeEntries = Callable[..., list[Entry]]


@kpi.LowerBetter
@kpi.Format("{:.2f}")
@kpi.KPIMetadata(help="Cost of a million", unit="USD")
def cost(lts: Any) -> Any:
    return lts.results.cost


@kpi.HigherBetter
@kpi.KPIMetadata(help="Answers per second", unit="1/s")
def speed(lts: Any) -> Any:
    return lts.results.speed


@kpi.HigherBetter
@kpi.KPIMetadata(help="Share of right answers", unit="")
def quality(lts: Any) -> Any:
    return lts.results.quality


@pytest.fixture
def workload() -> Workload:
    return Workload(
        name="toy",
        store=BaseStore(parse_once=lambda results, test_dir: None, models_kpis=kpi.collect([cost, speed, quality])),
        group_keys=("task",),
        variant_keys=("hw_type",),
        gates=(Gate(kpi="quality", minimum=0.9),),
    )


@pytest.fixture
def entries() -> MakeEntries:
    """``entries(settings, *costs)``: one entry a cost, as repeats; other fields by keyword."""

    def make(settings: dict[str, Any], *costs: float | None, **others: Any) -> list[Entry]:
        name = "_".join(str(value) for value in settings.values())
        quality = others.pop("quality", None)
        made = []
        for repeat, value in enumerate(costs):
            kpis = {} if value is None else {"cost": value, "speed": 1000 / value}
            if quality is not None:
                kpis["quality"] = quality
            made.append(
                Entry(
                    settings=settings,
                    repeat=repeat,
                    location=Path("/results") / f"{name}_{repeat}",
                    name=f"{name}_{repeat}",
                    kpis=kpis,
                    missing_kpis={} if value is not None else {"cost": "no price is known"},
                    **{"exit_code": 0, **others},
                )
            )
        return made

    return make
