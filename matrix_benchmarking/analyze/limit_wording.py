"""The best under a limit in sentences, as :mod:`matrix_benchmarking.analyze.wording` says what is best at all."""

from __future__ import annotations

from collections.abc import Sequence

from ..kpi import KPIDefinition
from ..matrix import Entry
from . import wording
from .best import Best, Group
from .limits import Bounded, Limited, Missed, bounded
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
    """For each group of the ranking of all points, which limit its best point keeps."""
    return [_satisfied(bounded(group, kpi)[0], group, kpi) for group in best.groups]


def satisfied_under(limited: Limited, best: Best) -> list[str]:
    """The same for the best points within a limit; *best* is the ranking of all points, of which they are a part."""
    found = {id(one.point): one for group in best.groups for one in bounded(group, limited.kpi)}
    return [_satisfied(found[id(group.best)], group, limited.kpi) for group in limited.best.groups]


def left_out(limited: Limited) -> list[str]:
    """What better points are not sure to keep the limit; and of all points how many keep it, unless all do."""
    groups = [*zip(limited.best.groups, limited.unsure, strict=True), *((m.group, m.unsure) for m in limited.missed)]
    said = [_unsure(group, unsure, limited.kpi, is_better=at < len(limited.unsure))
            for at, (group, unsure) in enumerate(groups) if unsure]  # fmt: skip
    total = limited.kept + limited.open + limited.beyond + limited.unknown
    if limited.kept < total:
        parts = [f"{limited.kept} {'keeps' if limited.kept == 1 else 'keep'} the limit"]
        parts += [f"{limited.open} may keep it or not"] if limited.open else []
        parts += [f"{limited.beyond} {'is' if limited.beyond == 1 else 'are'} beyond it"] if limited.beyond else []
        parts += [f"of {limited.unknown} {limited.kpi.name} is unknown"] if limited.unknown else []
        said.append(f"Of {total} {plural(total, 'point')} {', '.join(parts)}.")
    return said


def _unsure(group: Group, unsure: Sequence[Bounded], kpi: KPIDefinition, *, is_better: bool) -> str:
    """The best of the points that may keep the limit or not, and how many they are; *is_better*: than one that does."""
    start = f"{'better, but ' if is_better else ''}not sure to keep the limit"
    start = f"For {wording.scope(group)}: {start}" if group.settings else f"{start[:1].upper()}{start[1:]}"
    first = unsure[0]
    assert first.mean is not None
    where = wording.point_label(first.point.settings, group)
    if first.bound is None:
        why = f"{kpi.show(first.mean)} in one run, so its bound is unknown: repeat it"
    else:
        bound = kpi.show_bound(first.bound)
        why = f"{kpi.show(first.mean)} is the mean of {first.runs} runs, and its 95 % bound {bound}"
    rest = f"; and {len(unsure) - 1} more" if len(unsure) > 1 else ""
    return f"{start}: {where} ({why}){rest}."


def _satisfied(found: Bounded, group: Group, kpi: KPIDefinition) -> str:
    start = f"For {wording.scope(group)}: its" if group.settings else "Its"
    if found.mean is None:
        return f"{start} {kpi.name} is unknown: {_reason(found.point.runs, kpi)}."
    if found.bound is None:
        return f"{start} {kpi.name} is {kpi.show(found.mean)} in one run, so its bound is unknown: repeat it."
    bound = f"{'at most' if kpi.lower_better else 'at least'} {kpi.show_bound(found.bound)} with 95 %"
    return f"{start} {kpi.name} is {kpi.show(found.mean)}, the mean of {found.runs} runs: {bound}."


def _reason(runs: Sequence[Entry], kpi: KPIDefinition) -> str:
    reasons = (entry.missing_kpis.get(kpi.name) for entry in runs)
    return next((reason for reason in reasons if reason), "not known for this test")


def _missed(missed: Missed, limited: Limited, condition: str) -> Verdict:
    kpi, group, nearest = limited.kpi, missed.group, missed.nearest
    start = f"For {wording.scope(group)}: no" if group.settings else "No"
    if nearest is None or nearest.mean is None:
        return Verdict(f"{start} point is {condition}: {kpi.name} isn't known for any.")
    assert limited.best.kpi is not None
    where = f"of {wording.point_label(nearest.point.settings, group)}, for {limited.best.kpi.show(nearest.point.value)}"
    superlative = "lowest" if kpi.lower_better else "highest"
    if nearest.bound is None:
        return Verdict(f"{start} point is {condition}: the {superlative} is {kpi.show_bound(nearest.mean)}, {where}.")
    return Verdict(
        f"{start} point is {condition} with 95 %: the {superlative} bound is {kpi.show_bound(nearest.bound)} "
        f"(mean {kpi.show(nearest.mean)}), {where}."
    )
