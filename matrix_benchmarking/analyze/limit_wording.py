"""The best under a limit in sentences, as :mod:`matrix_benchmarking.analyze.wording` says what is best at all."""

from __future__ import annotations

from collections.abc import Sequence

from ..kpi import KPIDefinition
from ..matrix import Entry
from . import wording
from .best import Best
from .limits import Limited, Missed, mean_of
from .points import Point
from .wording import Verdict, plural


def verdict(limited: Limited) -> list[Verdict]:
    """One verdict a group: the best within the limit, or how near the nearest comes."""
    condition = condition_label(limited.kpi, limited.limit)
    if not limited.best.groups and not limited.missed:
        return wording.verdict(limited.best)
    found = wording.verdict(limited.best, condition) if limited.best.groups else []
    return [*found, *(_missed(missed, limited, condition) for missed in limited.missed)]


def condition_label(kpi: KPIDefinition, limit: float) -> str:
    """A limit (in the KPI's unit) in words: ``under 100 ms p95_latency``; ``from 10 1/s speed up`` the other way."""
    amount = f"{limit_label(kpi, limit)} {kpi.name}"
    return f"under {amount}" if kpi.lower_better else f"from {amount} up"


def limit_label(kpi: KPIDefinition, limit: float) -> str:
    """A limit (in the KPI's unit) as it was chosen, with the unit that is shown: ``100 ms``."""
    return f"{limit / kpi.divisor:,.10g} {kpi.display_unit}".rstrip()


def satisfied(best: Best, kpi: KPIDefinition) -> list[str]:
    """For each group, which limit its best point satisfies."""
    return [_satisfied(group.best, kpi, wording.scope(group)) for group in best.groups]


def left_out(limited: Limited) -> str:
    """How many points are beyond the limit; empty where none is, or where that is said already."""
    if not limited.beyond:
        return ""
    count = f"{limited.beyond} {plural(limited.beyond, 'point')}"
    return f"{count} {'is' if limited.beyond == 1 else 'are'} beyond the limit."


def _satisfied(point: Point, kpi: KPIDefinition, scope: str) -> str:
    start = f"For {scope}: its" if scope else "Its"
    value = mean_of(point, kpi)
    if value is None:
        return f"{start} {kpi.name} is unknown: {_reason(point.runs, kpi)}."
    known = sum(kpi.name in entry.kpis for entry in point.runs)
    return f"{start} {kpi.name} is {kpi.show(value)}{f', the mean of {known} runs' if known > 1 else ''}."


def _reason(runs: Sequence[Entry], kpi: KPIDefinition) -> str:
    reasons = (entry.missing_kpis.get(kpi.name) for entry in runs)
    return next((reason for reason in reasons if reason), "not known for this test")


def _missed(missed: Missed, limited: Limited, condition: str) -> Verdict:
    kpi, group = limited.kpi, missed.group
    start = f"For {wording.scope(group)}: no" if group.settings else "No"
    if missed.nearest is None:
        return Verdict(f"{start} point is {condition}: {kpi.name} isn't known for any.")
    value, superlative = mean_of(missed.nearest, kpi), "lowest" if kpi.lower_better else "highest"
    assert limited.best.kpi is not None
    where = wording.point_label(missed.nearest.settings, group)
    return Verdict(
        f"{start} point is {condition}: the {superlative} is {kpi.show(value)}, of {where}, "
        f"for {limited.best.kpi.show(missed.nearest.value)}."
    )
