"""Findings on values of the headline KPI and the limited one: below zero, or far from all repeats."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from ...kpi import KPIDefinition
from ...matrix import Entry, Matrix
from ...workload import Workload
from ..points import by_point
from ..wording import plural
from .finding import EVERY, Finding

FAR_OFF, AGREE = 5, 2
"""A run is far off if it is so many times the median of its repeats, which are no further than so many times apart."""
MOST_ODD = 0.1
"""Values below zero are odd if at most this share of the runs has them."""


def findings(matrix: Matrix, workload: Workload) -> Iterator[Finding]:
    """The findings on the KPIs by which *workload* says what is best."""
    good = [entry for entry in matrix if not entry.failed]
    judged = [kpi for kpi in (workload.headline, workload.limited) if kpi is not None]
    for kpi in {kpi.name: kpi for kpi in judged}.values():
        yield from _below_zero(good, kpi)
        yield from _far_off(good, kpi)


def _below_zero(good: Sequence[Entry], kpi: KPIDefinition) -> Iterator[Finding]:
    values = [(entry, entry.kpis[kpi.name]) for entry in good if kpi.name in entry.kpis]
    below = [entry for entry, value in values if value < 0]
    others = sum(value > 0 for _, value in values)
    if below and len(below) <= MOST_ODD * len(values) and len(below) + others == len(values):
        what = f"{kpi.name} is {kpi.show(below[0].kpis[kpi.name])} in {_runs(below)}, and above 0 in {others} others"
        yield Finding("below-zero", f"{what}: was it measured?", EVERY, [entry.name for entry in below])


def _far_off(good: Sequence[Entry], kpi: KPIDefinition) -> Iterator[Finding]:
    far = [(entry, rest) for runs in by_point(good) for entry, rest in _far_off_of(runs, kpi.name)]
    if far:
        entry, rest = far[0]
        what = f"{kpi.name} is {kpi.show(entry.kpis[kpi.name])} where the other repeats have {kpi.show(rest)}"
        more = f" ({_runs([one for one, _ in far])} like that)" if len(far) > 1 else ""
        sentence = f"{what}{more}: one such run decides what its point is worth."
        yield Finding("far-off", sentence, EVERY, [one.name for one, _ in far])


def _far_off_of(runs: Sequence[Entry], name: str) -> Iterator[tuple[Entry, float]]:
    """Those of the *runs* of one point that are far from all others, which agree; and the others' median."""
    values = [(entry, entry.kpis[name]) for entry in runs if entry.kpis.get(name, 0) > 0]
    for entry, value in values:
        rest = [other for one, other in values if one is not entry]
        if len(rest) > 1 and max(rest) < AGREE * min(rest):
            median = statistics.median(rest)
            if not median / FAR_OFF <= value <= median * FAR_OFF:
                yield entry, median


def _runs(entries: Sequence[Entry]) -> str:
    return f"{len(entries)} {plural(len(entries), 'run')}"
