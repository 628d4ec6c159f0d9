"""What comes first in a report, and what is shown there without a verdict."""

from __future__ import annotations

from ...workload import MinimumEffect
from ..detect import Estimate
from ..select.selection import NotAnalysed, SelectedSeries
from ..words import percent
from .levels import amount
from .model import Outcome, SeriesVerdict

SEVERITY = (
    Outcome.REGRESSION,
    Outcome.SUSPECTED,
    Outcome.IMPROVEMENT,
    Outcome.NO_CHANGE,
    Outcome.CANT_TELL,
)


def unjudged(series: SelectedSeries, old: int, new: int) -> NotAnalysed:
    """A series of a KPI of which neither direction is better: its values at the points *old*, if any, and *new*."""
    kpi, point = series.kpi, series.points[new]
    said = kpi.show(point.mean)
    if old >= 0:
        before = series.points[old].mean
        amount = f" ({percent(point.mean / before - 1)})" if before > 0 else ""
        said = f"{kpi.show(before)} at {series.versions[old]}, {said} at {series.versions[new]}{amount}"
    runs = sum(one.count for one in series.points)
    return NotAnalysed(kpi.name, series.name, series.labels, f"neither direction is better, not judged: {said}", runs)


def severity(verdict: SeriesVerdict) -> tuple[bool, int, bool, float]:
    """A sorting key: what fails, then by outcome, new, large and doubtful ones first; the rest stays in its order."""
    is_change = verdict.outcome in (Outcome.REGRESSION, Outcome.SUSPECTED, Outcome.IMPROVEMENT)
    size = -size_of(verdict) if is_change else float(not verdict.reruns)
    return not verdict.fails, SEVERITY.index(verdict.outcome), not verdict.is_new, size


def size_of(verdict: SeriesVerdict) -> float:
    """How large a change is, for the order of a report: its ratio, else how often it reaches its minimum."""
    effect: Estimate | None = verdict.effect
    if effect is not None:
        return abs(effect.value)
    least = amount(MinimumEffect(verdict.minimum_effect, verdict.minimum_effect_absolute), verdict.old_level or 0.0)
    return 0.0 if verdict.difference is None else abs(verdict.difference.value) / (least or 1.0)
