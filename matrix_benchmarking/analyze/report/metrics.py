"""An analysis in a few numbers: MatrixBenchmarking's summary, and OpenMetrics text for GitLab's metrics report.

In the summary a *point* is one KPI of one entry, and an *entry* what a series is without its KPI: one set of labels.
The metrics have few families, whose names and labels are the same in each analysis, so that what a merge request
changes stands in its widget.
"""

from __future__ import annotations

import collections
import math
from collections.abc import Iterable, Mapping

import yaml

from ...filters import exact
from ...lts.exports import escape, label_name
from ..verdict.model import Analysis, Outcome, SeriesVerdict
from ..wording import analyses
from ..words import count_of
from .markdown import one_line


def summary(analysis: Analysis) -> dict[str, int | str]:
    """The summary, whose ``message`` is the verdict in sentences, and all else counts.

    * ``total_points``: series that were looked at, those not analysed among them;
    * ``entries_count``, ``kpis_count``: sets of labels and KPIs behind them;
    * ``failures``: series with an alarm that nobody dealt with, and with --fail-on=suspected what may be worse;
    * ``no_history``, ``not_analyzed``: series of too little history, and those not analysed, of which a KPI that
      no run has is one;
    * ``significant_performance_increase``, ``…_decrease``: series that are better or worse than before their last
      change, acknowledged ones among them.
    """
    series, whole, _ = analysis.left_out
    labels = [one.labels for one in analysis.verdicts]
    labels += [one.labels for one in analysis.not_analysed if one.labels]  # else they are of several series
    sets = {frozenset((name, repr(value)) for name, value in one.items()) for one in labels}
    points, entries, kpis = len(analysis.verdicts) + series + whole, len(sets), len(analysis.kpis)
    begin = f"Performed {points} KPI regression {'analysis' if points == 1 else 'analyses'}"
    over = f"over {entries} {'entry' if entries == 1 else 'entries'} x {count_of(kpis, 'KPI')}"
    did = f"{count_of(analysis.failures, 'KPI')} didn't pass."
    return {
        "total_points": points,
        "entries_count": entries,
        "kpis_count": kpis,
        "failures": analysis.failures,
        "no_history": sum(bool(one.reruns) for one in analysis.having(Outcome.CANT_TELL)),
        "not_analyzed": series + whole,
        "significant_performance_increase": len(analysis.having(Outcome.IMPROVEMENT)),
        "significant_performance_decrease": len(analysis.having(Outcome.REGRESSION)),
        # As MatrixBenchmarking begins it, then in our words.
        "message": f"{begin} {over}. {did} {one_line(' '.join(analyses.lead(analysis)), 1500)}",
    }


def summary_yaml(analysis: Analysis) -> str:
    """The summary as YAML."""
    text: str = yaml.safe_dump(summary(analysis), allow_unicode=True, sort_keys=True)
    return text


_OWN = ("workload", "kpi", "unit")
_LONGEST = 200

Labels = Mapping[str, str]


def openmetrics(analysis: Analysis) -> str:
    """The report, which ends in ``# EOF``."""
    own = {"workload": one_line(analysis.workload, _LONGEST)}
    counts = collections.Counter(one.outcome for one in analysis.verdicts)
    counts[Outcome.NOT_ANALYSED] = analysis.left_out[0]
    better = sum(one.is_new for one in analysis.having(Outcome.IMPROVEMENT))
    labels = _metric_labels(analysis)
    levels = [(labels[one.id], level(one)) for one in analysis.verdicts]
    changed = [one for one in analysis.verdicts if one.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT)]
    changes = [(labels[one.id], None if one.effect is None else one.effect.value) for one in changed]
    outcomes = [({**own, "outcome": outcome.value}, float(counts[outcome])) for outcome in Outcome]
    lines = [
        *_family("matbench_failed", "1 where the analysis fails, else 0", [(own, float(analysis.failed))]),
        *_family("matbench_regressions", "Series that are worse and not acknowledged", [(own, len(analysis.failing))]),
        *_family("matbench_improvements", "Series that are newly better", [(own, better)]),
        *_family("matbench_series", "Series by verdict", outcomes),
        *_family("matbench_kpi", "Level of a series, in the unit of the KPI", levels),
        *_family("matbench_kpi_change_ratio", "New level / old level - 1 of a series that changed", changes),
        "# EOF",
    ]
    return "\n".join(lines) + "\n"


def level(verdict: SeriesVerdict) -> float | None:
    """The level since a change, suspected or not, or of the new side; else the mean of the newest version, if any."""
    if (verdict.first_bad is not None or verdict.stands_on) and verdict.new_level is not None:
        return verdict.new_level
    return verdict.points[-1].mean if verdict.points else None


def _metric_labels(analysis: Analysis) -> dict[str, Labels]:
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
