"""A ranking under a limit in sentences: what is best within it, what may keep it, and what doesn't."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...kpi import KPIDefinition
from ..best import Best, Group
from ..limits import Limited, LimitedGroup, better_than, bounded_best, keeps
from ..points import Bounded
from ..words import count_of, is_or_are
from .ranking import Verdict, for_group, point_label, verdict


def verdict_under(limited: Limited) -> list[Verdict]:
    """One verdict a group: the best within the limit, or how near the nearest comes."""
    condition = condition_label(limited.kpi, limited.limit)
    if not limited.groups:
        return verdict(limited.best)
    found = verdict(limited.best, condition) if limited.best.groups else []
    return [*found, *(_missed(one, limited.kpi, condition) for one in limited.groups if one.inside is None)]


def condition_label(kpi: KPIDefinition, limit: float) -> str:
    """A limit (in the KPI's unit) in words: ``under 100 ms p95_latency``; ``from 10 1/s speed up`` the other way."""
    amount = f"{limit / kpi.divisor:,.10g} {kpi.display_unit}".rstrip()
    return f"under {amount} {kpi.name}" if kpi.lower_better else f"from {amount} {kpi.name} up"


def satisfied(best: Best, kpi: KPIDefinition) -> list[str]:
    """For each group of the ranking of all points that has several, which limit its best point keeps."""
    return [_satisfied(bounded_best(group, kpi), group, kpi) for group in best.compared]


def satisfied_under(limited: Limited) -> list[str]:
    """The same for the best points within a limit."""
    found = {id(one.point): one for of in limited.groups for one in of.bounds}
    return [_satisfied(found[id(group.best)], group, limited.kpi) for group in limited.best.groups]


def not_sure(limited: Limited) -> list[str]:
    """What better points are not sure to keep the limit; where none keeps it, what points may."""
    said = []
    for of in sorted(limited.groups, key=lambda one: one.inside is None):
        some = of.unsure if of.inside is None else better_than(of.inside.best, of.unsure, of.group)
        said += [_unsure(of.group, some, limited.kpi, is_better=of.inside is not None)] if some else []
    return said


ONCE_MEASURED = "no point was measured in two, and the machine's mood may differ"


def left_out(limited: Limited) -> list[str]:
    """Of all points how many keep the limit, unless all do; and whether they would in another campaign isn't known."""
    kpi, said = limited.kpi, list[str]()
    points = [one for of in limited.groups for one in of.bounds]
    kept = sum(keeps(kpi, one.limit, limited.limit) for one in points)
    may, unknown = sum(len(of.unsure) for of in limited.groups), sum(one.mean is None for one in points)
    if kept < len(points):
        beyond = len(points) - kept - may - unknown
        parts = [f"{kept} {'keeps' if kept == 1 else 'keep'} the limit"]
        parts += [f"{may} may keep it or not"] if may else []
        parts += [f"{beyond} {is_or_are(beyond)} beyond it"] if beyond else []
        parts += [f"of {unknown} {kpi.name} is unknown"] if unknown else []
        said.append(f"Of {count_of(len(points), 'point')} {', '.join(parts)}.")
    moods = [group.estimates.campaigns for group in limited.best.groups if group.estimates is not None]
    if any(one is not None and not one.is_known for one in moods):
        said.append(f"Whether a limit is kept in another campaign isn't known: {ONCE_MEASURED}.")
    return said


def _unsure(group: Group, unsure: Sequence[Bounded], kpi: KPIDefinition, *, is_better: bool) -> str:
    """The best of the points that may keep the limit or not, and how many they are; *is_better*: than one that does."""
    start = f"{'better, but ' if is_better else ''}not sure to keep the limit"
    first = unsure[0]
    assert first.mean is not None
    where = point_label(first.point.settings, group)
    if first.bound is None:
        why = f"{kpi.show(first.mean)} in one run, so its bound is unknown: repeat it"
    else:
        bound = kpi.show_bound(first.bound)
        why = f"{kpi.show(first.mean)} is the mean of {first.runs} runs, and its 95 % bound {bound}"
    rest = f"; and {len(unsure) - 1} more" if len(unsure) > 1 else ""
    return for_group(group, f"{start}: {where} ({why}){rest}.")


def _satisfied(found: Bounded, group: Group, kpi: KPIDefinition) -> str:
    start = f"its {kpi.name} is"
    if found.mean is None:
        reasons = [entry.missing_kpis.get(kpi.name) for entry in found.point.runs]
        why = next((reason for reason in reasons if reason), "not known for this test")
        return for_group(group, f"{start} unknown: {why}.")
    if found.bound is None:
        return for_group(group, f"{start} {kpi.show(found.mean)} in one run, so its bound is unknown: repeat it.")
    bound = f"{'at most' if kpi.lower_better else 'at least'} {kpi.show_bound(found.bound)} with 95 %"
    return for_group(group, f"{start} {kpi.show(found.mean)}, the mean of {found.runs} runs: {bound}.")


def _missed(missed: LimitedGroup, kpi: KPIDefinition, condition: str) -> Verdict:
    group, known = missed.group, [one for one in missed.bounds if math.isfinite(one.limit)]
    start = for_group(group, f"no point is {condition}")
    if not known:
        return Verdict(f"{start}: {kpi.name} isn't known for any.")
    nearest = min(known, key=lambda one: one.limit if kpi.lower_better else -one.limit)
    where = f"of {point_label(nearest.point.settings, group)}, for {group.kpi.show(nearest.point.value)}"
    superlative, limit = "lowest" if kpi.lower_better else "highest", kpi.show_bound(nearest.limit)
    if nearest.bound is None:
        return Verdict(f"{start}: the {superlative} is {limit}, {where}.")
    return Verdict(f"{start} with 95 %: the {superlative} bound is {limit} (mean {kpi.show(nearest.mean)}), {where}.")
