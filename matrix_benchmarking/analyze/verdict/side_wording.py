"""How two sides differ, in the words of every page that compares: by how much, how sure that is, and the verdict."""

from __future__ import annotations

import math

from ...kpi import KPIDefinition
from .model import Outcome
from .sides import Judged
from .wording import difference, percent

UNKNOWN = "unknown"
_LARGE = 10
"""From so many times the old level on, a change is shown as a factor."""


def outcome_label(outcome: Outcome, is_worse: bool) -> str:
    """``worse``, ``better``, ``suspected: worse``, ``no difference shown`` or ``can't be told``."""
    way = "worse" if is_worse else "better"
    if outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT):
        return way
    if outcome is Outcome.SUSPECTED:
        return f"suspected: {way}"
    return "no difference shown" if outcome is Outcome.NO_CHANGE else str(outcome.value)


def difference_label(judged: Judged, kpi: KPIDefinition) -> str:
    """``+10.3 %``; in the KPI's unit if there is no ratio."""
    return _amount(judged, kpi, judged.measure.value)


def interval_label(judged: Judged, kpi: KPIDefinition) -> str:
    """``+8.1 % to +12.4 %``; ``unknown`` where it can't be told."""
    found = judged.measure
    if math.isinf(found.high):
        return UNKNOWN
    return f"{_amount(judged, kpi, found.low)} to {_amount(judged, kpi, found.high)}"


def _amount(judged: Judged, kpi: KPIDefinition, value: float) -> str:
    if judged.effect is None:
        return difference(kpi, value)
    return percent(value) if abs(value) < _LARGE else f"× {value + 1:.3g}"
