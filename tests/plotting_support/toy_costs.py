"""A workload of costs, and runs of it at three numbers of users, for tests of comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matrix_benchmarking import kpi
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.workload import BaseStore, Gate, Workload


@kpi.LowerBetter
@kpi.KPIMetadata(help="What it costs", unit="USD")
def cost(lts: Any) -> Any:
    return lts.cost


@kpi.HigherBetter
@kpi.KPIMetadata(help="How right it is", unit="")
def fidelity(lts: Any) -> Any:
    return lts.fidelity


def toy_costs() -> Workload:
    return Workload(
        name="toy",
        store=BaseStore(parse_once=lambda results, test_dir: None, models_kpis=kpi.collect([cost, fidelity])),
        variant_keys=("image",),
        gates=(Gate(kpi="fidelity", minimum=0.9),),
    )


def entry(image: str, vus: int, value: float, right: float = 1.0, repeat: int = 0) -> Entry:
    return Entry(
        settings={"image": image, "vus": vus},
        repeat=repeat,
        location=Path("/results") / f"{image}-{vus}-{repeat}",
        name=f"{image}-{vus}-{repeat}",
        exit_code=0,
        kpis={"cost": value, "fidelity": right},
        campaign="one night",
        round=repeat + 1,
    )


def sweep(image: str, factor: float, right: float = 1.0) -> list[Entry]:
    noise = (0.99, 1.0, 1.01)
    return [
        entry(image, vus, 100.0 * factor * noise[(vus + r) % 3] / vus, right, r) for vus in (1, 2, 4) for r in range(3)
    ]
