"""The steps' curves as tables that plotly can draw: one row a point of a curve, not a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matrix_benchmarking.analyze.intervals import summarise
from matrix_benchmarking.analyze.words import as_percent
from matrix_benchmarking.plotting.clicks import run_of
from matrix_benchmarking.plotting.template import text

from ..steps import Step

if TYPE_CHECKING:
    import pandas

STEP, PLACE, RATE, ABOVE, BELOW, RUN, HOVER = "step", "place", "requests/s", "above", "below", "run", "hover"
COLUMNS = [STEP, PLACE, RATE, ABOVE, BELOW, RUN, HOVER]


def api_frame(steps: Iterable[Step]) -> pandas.DataFrame:
    """Throughput over concurrency.

    Columns: ``step``; ``place``, the concurrency; ``requests/s``, the mean of the repeats; ``above`` and ``below``, the
    distance to the largest and the smallest of them (NaN for one run); ``run``, the id of the first; ``hover``.
    """
    return _frame((step, "concurrency", step.api) for step in steps)


def baseline_frame(steps: Iterable[Step]) -> pandas.DataFrame:
    """Throughput over batch size; columns as of :func:`api_frame`."""
    return _frame((step, "batch size", step.baseline) for step in steps)


def _frame(curves: Iterable[tuple[Step, str, Mapping[int, Sequence[Any]]]]) -> pandas.DataFrame:
    import pandas

    rows = [
        _row(step, name, place, [record.throughput for record in records], records)
        for step, name, curve in curves
        for place, records in curve.items()
    ]
    return pandas.DataFrame(rows, columns=COLUMNS)


def _row(step: Step, name: str, place: int, rates: Sequence[float], records: Sequence[Any]) -> dict[str, Any]:
    mean = summarise(rates).mean
    repeated = len(rates) > 1
    spread = f" ({min(rates):,.2f} to {max(rates):,.2f} in {len(rates)} runs)" if repeated else ""
    lines = [text(step.label), f"{name} {place}: {mean:,.2f} requests/s{spread}"]
    if name == "concurrency":
        lines.append(", ".join(f"{device.upper()} {percent(step.load(place, device))}" for device in ("cpu", "gpu")))
    return {
        STEP: text(step.label),
        PLACE: place,
        RATE: mean,
        ABOVE: max(rates) - mean if repeated else math.nan,
        BELOW: mean - min(rates) if repeated else math.nan,
        RUN: run_of(step.runs),
        HOVER: "<br>".join(lines),
    }


def percent(share: float | None) -> str:
    """A share as people read it."""
    return "unknown" if share is None else as_percent(share, digits=1)
