"""MatrixBenchmarking's summary of an analysis: a few counts and a message, which its notifications read.

Its words stay: a *point* is one KPI of one entry, and an *entry* what a series is without its KPI: one set of labels.
Each point is counted once: as an increase, a decrease, one of no change, or one without history or not analysed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from ..verdict import wording
from ..verdict.model import Analysis, Outcome
from ..wording import plural
from .one_line import one_line


def summary(analysis: Analysis) -> dict[str, int | str]:
    """The summary.

    * ``total_points``: series that were looked at, those not analysed among them;
    * ``entries_count``, ``kpis_count``: sets of labels and KPIs behind them;
    * ``failures``: series with an alarm that nobody dealt with;
    * ``no_history``, ``not_analyzed``: series of too little history, and those not analysed, of which a KPI that
      no run has is one;
    * ``significant_performance_increase``, ``…_decrease``: series that are better or worse than before their last
      change, acknowledged ones among them;
    * ``message``: the verdict in sentences.
    """
    return {
        "total_points": len(analysis.verdicts) + _left_out(analysis),
        "entries_count": _entries(analysis),
        "kpis_count": len(analysis.kpis),
        "failures": len(analysis.failing),
        "no_history": sum(bool(one.reruns) for one in analysis.having(Outcome.CANT_TELL)),
        "not_analyzed": _left_out(analysis),
        "significant_performance_increase": len(analysis.having(Outcome.IMPROVEMENT)),
        "significant_performance_decrease": len(analysis.having(Outcome.REGRESSION)),
        "message": _message(analysis),
    }


def summary_yaml(analysis: Analysis) -> str:
    """The summary as YAML."""
    text: str = yaml.safe_dump(summary(analysis), allow_unicode=True, sort_keys=True)
    return text


def _left_out(analysis: Analysis) -> int:
    series, kpis, _ = analysis.left_out
    return series + kpis


def _entries(analysis: Analysis) -> int:
    return len(
        {_key(one.labels) for one in analysis.verdicts} | {_key(o.labels) for o in analysis.not_analysed if o.labels}
    )


def _key(labels: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    return frozenset((name, repr(value)) for name, value in labels.items())


def _message(analysis: Analysis) -> str:
    """As MatrixBenchmarking begins it, then in our words."""
    points, failures = len(analysis.verdicts) + _left_out(analysis), len(analysis.failing)
    entries, kpis = _entries(analysis), len(analysis.kpis)
    begin = f"Performed {points} KPI regression {'analysis' if points == 1 else 'analyses'}"
    over = f"over {entries} {'entry' if entries == 1 else 'entries'} x {kpis} {plural(kpis, 'KPI')}"
    did = f"{failures} {plural(failures, 'KPI')} didn't pass."
    return f"{begin} {over}. {did} {one_line(' '.join(wording.lead(analysis)), 1500)}"
