"""A ranking in sentences, made from the data: what is best, how sure that is, what was left out."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

from ..filters import show
from ..kpi import KPIDefinition
from ..matrix import NOT_SET, typed
from .best import Best, Group, Standing
from .intervals import Interval, Scale
from .points import Point

_CURRENCIES = ("USD", "EUR", "GBP", "JPY", "CNY", "INR", "CHF", "$", "€", "£", "¥")
_NAMED = 3
"""How many runners-up a sentence names."""


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """What is best and what stands behind it, in one sentence; then what is next to it."""

    lead: str
    rest: str = ""

    def __str__(self) -> str:
        return f"{self.lead} {self.rest}".rstrip()


def verdict(best: Best, condition: str = "") -> list[Verdict]:
    """One verdict a group of comparable points; *condition* says which points take part, where not all do."""
    if best.kpi is None:
        return [Verdict("This workload defines no KPI, so no configuration can be called the best.")]
    if not best.groups:
        why = exclusions(best) or "there is no finished test"
        return [Verdict(f"No configuration can be ranked by {best.kpi.name}: {why}.")]
    return [_group(group, best.kpi, condition) for group in best.groups]


def scope(group: Group) -> str:
    """What a group's points have in common, where there are several groups; else empty."""
    return tuning_label(group.settings, group.settings)


def exclusions(best: Best) -> str:
    """How many runs take no part in the ranking, by reason; empty if all do."""
    if not best.excluded:
        return ""
    reasons = collections.Counter(excluded.kind for excluded in best.excluded)
    listed = [f"{count} × {reason}" for reason, count in reasons.most_common(_NAMED)]
    rest = len(reasons) - len(listed)
    if rest:
        listed.append(f"{rest} other {plural(rest, 'reason')}")
    total = len(best.excluded)
    return f"{total} {plural(total, 'run')} can't take part ({'; '.join(listed)})"


def superlative(kpi: KPIDefinition, condition: str = "") -> str:
    """``Cheapest by 1B_cost`` for money, else ``Lowest`` or ``Highest`` with the KPI's name; with its *condition*."""
    if kpi.lower_better and kpi.unit.startswith(_CURRENCIES):
        return " ".join(filter(None, ["Cheapest", condition, f"by {kpi.name}"]))
    return f"{'Lowest' if kpi.lower_better else 'Highest'} {kpi.name} {condition}".rstrip()


def value_label(name: str, value: object) -> str:
    """A setting as people would say it: the value alone if it is a word, else with its name."""
    if value is NOT_SET:
        return f"{name} not set"
    if isinstance(value, str) and value and not value.replace(".", "").isdigit():
        return show(value)
    return f"{name} {show(value)}"


def variant_label(settings: Mapping[str, object], names: Iterable[str]) -> str:
    """The variant's values in one line: ``nvidia-l4 · default · torch``."""
    return " · ".join(value_label(name, settings.get(name, NOT_SET)) for name in names)


def tuning_label(settings: Mapping[str, object], names: Iterable[str]) -> str:
    """Settings with their names: ``batch_size 32, vus 256``."""
    present = [name for name in names if name in settings]
    return ", ".join(f"{name} {show(settings[name])}" for name in present)


def point_label(settings: Mapping[str, object], group: Group) -> str:
    """A point by its variant and the settings that were tuned."""
    variant = variant_label(settings, group.variant_names)
    tuning = tuning_label(settings, group.tuning_names)
    return " at ".join(text for text in (variant, tuning) if text) or "the only configuration"


def behind(point: Point, kpi: KPIDefinition) -> str:
    """How many runs stand behind a value, and its interval."""
    runs = "one run" if point.sample.runs == 1 else f"{point.sample.runs} runs"
    if point.interval is None:
        return f"{runs}: no interval"
    origin = ", its width taken from the points with repeats" if point.interval.pooled else ""
    return f"{runs}; 95 % interval {interval_label(point.interval, kpi)}{origin}"


def interval_label(interval: Interval, kpi: KPIDefinition, *, unit: bool = True) -> str:
    return f"{kpi.show(interval.low, unit=False)} to {kpi.show(interval.high, unit=unit)}"


def difference_label(difference: float, scale: Scale, kpi: KPIDefinition) -> str:
    """A difference, with its sign: ``+0.8 %``."""
    return percent(difference) if scale is Scale.RATIO else f"{sign(difference)}{kpi.show(abs(difference))}"


def percent(fraction: float, *, unit: bool = True, digits: int = 1) -> str:
    """``+10.3 %``: with its sign, one decimal (or so many *digits*) below 100 %, none above."""
    if not math.isfinite(fraction):
        return f"{sign(fraction)}∞{' %' if unit else ''}"
    value = abs(fraction) * 100.0
    text = f"{value:,.0f}" if value >= 99.95 else f"{value:.{digits}f}"
    return f"{sign(fraction)}{text}{' %' if unit else ''}"


def sign(value: float) -> str:
    return "−" if value < 0 else "+"


def plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _group(group: Group, kpi: KPIDefinition, condition: str) -> Verdict:
    best, claim = group.best, superlative(kpi, condition)
    start = f"For {scope(group)}: {claim}" if group.settings else claim
    value = f"{kpi.show(best.value)} ({behind(best, kpi)})"
    said = (_rivals(group, kpi, condition), optimism(group, kpi), edge(group))
    rest = " ".join(sentence for sentence in said if sentence)
    return Verdict(f"{start}: {point_label(best.settings, group)}: {value}.", rest)


def edge(group: Group) -> str:
    """Which settings of the best point are the highest that were tried; empty for none."""
    names = group.highest(group.best)
    if not names:
        return ""
    were = "was" if len(names) == 1 else "were"
    return f"It is at the highest {' and '.join(names)} that {were} tried: more may be better."


def optimism(group: Group, kpi: KPIDefinition) -> str:
    """By how much the best value is too good for having been chosen; empty where that is nothing, or isn't known."""
    amount = group.optimism
    if amount is None or len(group.standings) == 1:
        return ""
    shown = f"{amount * 100:.1f} %" if group.scale is Scale.RATIO else kpi.show(amount)
    if not any(digit in "123456789" for digit in shown):
        return ""
    return f"The best of {len(group.standings)} points looks better than it is, by about {shown} on average."


def _rivals(group: Group, kpi: KPIDefinition, condition: str) -> str:
    others = group.standings[1:]
    if not others:
        return f"It is the only point that {'keeps the limit' if condition else 'could be ranked'}."
    if group.estimates is None:
        return (
            f"Next: {_named(others, group, kpi)}. No point was repeated, so whether such differences are "
            "more than chance isn't known."
        )
    undecided = group.undecided
    if undecided:
        return f"Can't be told apart from it: {_named(undecided, group, kpi)}."
    return f"It differs from every other point by more than chance explains; next: {_named(others, group, kpi)}."


def _named(standings: Sequence[Standing], group: Group, kpi: KPIDefinition) -> str:
    shown = []
    for one in standings[:_NAMED]:
        difference = difference_label(one.difference, group.scale, kpi)
        shown.append(f"{short_label(one.point, group)} ({kpi.show(one.point.value)}, {difference})")
    rest = len(standings) - len(shown)
    return "; ".join([*shown, f"and {rest} more"] if rest else shown)


def short_label(point: Point, group: Group) -> str:
    """A point by what differs from the best."""
    best = group.best.settings

    def differs(name: str) -> bool:
        return typed(point.settings.get(name, NOT_SET)) != typed(best.get(name, NOT_SET))

    if any(differs(name) for name in group.variant_names):
        return point_label(point.settings, group)
    return tuning_label(point.settings, [name for name in group.tuning_names if differs(name)])
