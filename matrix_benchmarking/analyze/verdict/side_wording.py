"""How two sides differ, in the words of every page that compares: by how much, how sure that is, and the verdict."""

from __future__ import annotations

import math

from ...kpi import KPIDefinition
from ...workload import MinimumEffect
from ..intervals import Scale
from .model import Outcome
from .sides import Judged
from .wording import difference, percent

UNKNOWN = "unknown"


def outcome_label(outcome: Outcome, is_worse: bool) -> str:
    """``worse``, ``better``, ``suspected: worse``, ``no difference shown`` or ``can't be told``."""
    way = f": {'worse' if is_worse else 'better'}" if outcome is Outcome.SUSPECTED else ""
    return f"{outcome.value}{way}"


def verdict_label(judged: Judged, outcome: Outcome, kpi: KPIDefinition, minimum: MinimumEffect) -> str:
    """The verdict on one mean; without a difference also which one would have been shown."""
    label = outcome_label(outcome, (judged.difference.value > 0) == kpi.lower_better)
    seen = judged.would_show(minimum) if outcome is Outcome.NO_CHANGE else None
    return f"{label}; {_amount(judged, kpi, seen).lstrip('+')} would have been" if seen else label


def mean_label(judged: Judged, pairs: int) -> str:
    """Which mean of how many pairs of points it is: ``in the geometric mean of 6 pairs of points``."""
    if pairs == 1:
        return "over 1 pair of points"
    return f"in the {'geometric ' if judged.runs.scale is Scale.RATIO else ''}mean of {pairs} pairs of points"


def difference_label(judged: Judged, kpi: KPIDefinition) -> str:
    """``+10.3 %``; in the KPI's unit if there is no ratio."""
    return _amount(judged, kpi, judged.measure.value)


def interval_label(judged: Judged, kpi: KPIDefinition) -> str:
    """``+8.1 to +12.4 %``; ``unknown`` where it can't be told."""
    found = judged.measure
    if math.isinf(found.high):
        return UNKNOWN
    low = _amount(judged, kpi, found.low).removesuffix(" %")
    return f"{low} to {_amount(judged, kpi, found.high)}"


def _amount(judged: Judged, kpi: KPIDefinition, value: float) -> str:
    return difference(kpi, value) if judged.effect is None else percent(value)
