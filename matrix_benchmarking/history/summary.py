"""What a history holds, counted from its runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .port import KeptRun
from .records import URLS_LABEL, digest


@dataclasses.dataclass(slots=True)
class Span:
    """How many there are, and when; None where no time is known.

    Attributes:
        count: of them.
        first_us, last_us: of those whose time is known, in microseconds since 1970.
    """

    count: int = 0
    first_us: int | None = None
    last_us: int | None = None

    def add(self, time_us: int | None) -> None:
        """Count one in."""
        self.count += 1
        if time_us is not None:
            self.first_us = time_us if self.first_us is None else min(self.first_us, time_us)
            self.last_us = time_us if self.last_us is None else max(self.last_us, time_us)


@dataclasses.dataclass(frozen=True, slots=True)
class SeriesSummary:
    """One KPI in one unit with the same labels, without ``urls``, which lead to pages about single runs."""

    workload: str
    kpi: str
    unit: str
    labels: Mapping[str, Any]
    span: Span


@dataclasses.dataclass(frozen=True, slots=True)
class WorkloadSummary:
    """What a history holds of one workload."""

    workload: str
    runs: Span
    series: int
    values: int


@dataclasses.dataclass(frozen=True, slots=True)
class Summary:
    """What a history holds, workload by workload in the order of their names, its series, and its size on disk."""

    workloads: Sequence[WorkloadSummary]
    series: Sequence[SeriesSummary]
    size_bytes: int = 0


def summary_of(runs: Iterable[KeptRun]) -> Summary:
    """What *runs* hold."""
    spans: dict[str, Span] = {}
    series: dict[tuple[str, str, str, str], SeriesSummary] = {}
    for run in runs:
        spans.setdefault(run.workload, Span()).add(run.time_us)
        labels = {name: value for name, value in (run.head.labels or {}).items() if name != URLS_LABEL}
        key = digest(labels)
        for kpi in run.kpis:
            one = series.get(identity := (run.workload, kpi.name, kpi.unit, key))
            if one is None:
                one = series[identity] = SeriesSummary(run.workload, kpi.name, kpi.unit, labels, Span())
            one.span.add(run.time_us)
    in_order = [series[identity] for identity in sorted(series)]
    workloads = []
    for name in sorted(spans):
        own = [each for each in in_order if each.workload == name]
        workloads.append(WorkloadSummary(name, spans[name], len(own), sum(each.span.count for each in own)))
    return Summary(workloads, in_order)
