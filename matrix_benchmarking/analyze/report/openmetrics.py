"""An analysis as OpenMetrics text, for GitLab's metrics report: what a merge request changes stands in its widget.

Few families, whose names and labels are the same in each analysis:

* ``matbench_regressions``, ``matbench_improvements``: how many series fail, and how many are newly better;
* ``matbench_series{outcome="worse"}``: how many series have which verdict;
* ``matbench_kpi``: the level of each series, by KPI and labels: since its last change, else of the newest version;
* ``matbench_kpi_change_ratio``: of a series that is worse or better, new level / old level − 1.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable, Mapping

from ...filters import exact
from ...lts.openmetrics import escape, label_name
from ..verdict.model import Analysis, Outcome, SeriesVerdict
from .one_line import one_line

_OWN = ("workload", "kpi", "unit")
_LONGEST = 200

Labels = Mapping[str, str]
Sample = tuple[Labels, float]


def openmetrics(analysis: Analysis) -> str:
    """The report, which ends in ``# EOF``."""
    own = {"workload": one_line(analysis.workload, _LONGEST)}
    counts = collections.Counter(one.outcome for one in analysis.verdicts)
    counts[Outcome.NOT_ANALYSED] = analysis.left_out[0]
    better = sum(one.is_new for one in analysis.having(Outcome.IMPROVEMENT))
    labels = _labels(analysis)
    levels = [(labels[one.id], level(one)) for one in analysis.verdicts]
    changes = [(labels[one.id], _ratio(one)) for one in analysis.verdicts]
    outcomes = [({**own, "outcome": outcome.value}, float(counts[outcome])) for outcome in Outcome]
    lines = [
        *_family("matbench_regressions", "Series that are worse and not acknowledged", [(own, len(analysis.failing))]),
        *_family("matbench_improvements", "Series that are newly better", [(own, better)]),
        *_family("matbench_series", "Series by verdict", outcomes),
        *_family("matbench_kpi", "Level of a series, in the unit of the KPI", levels),
        *_family("matbench_kpi_change_ratio", "New level / old level - 1 of a series that changed", changes),
        "# EOF",
    ]
    return "\n".join(lines) + "\n"


def level(verdict: SeriesVerdict) -> float | None:
    """The level since the last change, or a suspected one; else the mean of the newest version; None without one."""
    if verdict.first_bad is not None and verdict.new_level is not None:
        return verdict.new_level
    return verdict.points[-1].mean if verdict.points else None


def _ratio(verdict: SeriesVerdict) -> float | None:
    changed = verdict.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT)
    return verdict.effect.value if changed and verdict.effect is not None else None


def _labels(analysis: Analysis) -> dict[str, Labels]:
    """The labels of each series, by its id; series that would have the same ones (``1``, ``"1"``) say who they are."""
    found = {one.id: _of_series(analysis, one) for one in analysis.verdicts}
    same = collections.Counter(tuple(sorted(labels.items())) for labels in found.values())
    return {
        id: {**labels, "series": id} if same[tuple(sorted(labels.items()))] > 1 else labels
        for id, labels in found.items()
    }


def _of_series(analysis: Analysis, verdict: SeriesVerdict) -> dict[str, str]:
    labels = {"workload": analysis.workload, "kpi": verdict.kpi.name, "unit": verdict.kpi.unit}
    for name, value in verdict.labels.items():
        if isinstance(value, (str, int, float, bool)):
            mapped = label_name(name)
            while mapped in labels or mapped in _OWN or mapped in ("series", "outcome"):
                mapped = f"label_{mapped}"
            labels[mapped] = exact(value)
    return {name: one_line(value, _LONGEST) for name, value in labels.items()}


def _family(name: str, help_text: str, samples: Iterable[tuple[Labels, float | None]]) -> list[str]:
    lines = [f"# TYPE {name} gauge", f"# HELP {name} {help_text}"]
    for labels, value in samples:
        if value is not None and math.isfinite(value):
            text = ",".join(f'{label}="{escape(of)}"' for label, of in labels.items())
            lines.append(f"{name}{{{text}}} {value!r}")
    return lines
