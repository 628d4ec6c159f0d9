"""The plots and reports of a study, by name: the workload's own, and those that every workload has."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from ..errors import MatbenchError, WorkloadError, did_you_mean
from ..workload import Workload
from .base import Plot, PlotsReport, Presentation, Report
from .plot_history import KPIHistory
from .report_best import BestReport
from .report_check import CheckReport
from .report_compare import CompareReport
from .report_errors import ErrorReport
from .report_history import HistoryReport
from .report_kpis import KPIReport
from .report_regression import RegressionReport


class Catalogue(Presentation):
    """Makes the plots and reports of a study."""

    @functools.cached_property
    def plots(self) -> Mapping[str, type[Plot]]:
        """The built-in plot first; a workload's plot takes the place of one with its name."""
        return {KPIHistory.name: KPIHistory, **_by_name(self.study.workload.pages()[0], Plot)}

    @functools.cached_property
    def reports(self) -> Mapping[str, type[Report]]:
        """The best configuration, the workload's own, then those that every workload has; a workload's report takes the
        place of the built-in one with its name.
        """
        own = _by_name(self.study.workload.pages()[1], Report)
        first, *others = (
            BestReport,
            CheckReport,
            CompareReport,
            KPIReport,
            RegressionReport,
            HistoryReport,
            ErrorReport,
        )
        rest = {report.name: report for report in others if report.name not in own}
        return {first.name: first, **own, **rest}

    def plot(self, name: str) -> Plot:
        """Raises MatbenchError for an unknown *name*."""
        if name not in self.plots:
            raise MatbenchError(f"there is no plot '{name}': {did_you_mean(name, self.plots)}")
        return self.plots[name](self)

    def report(self, name: str) -> Report:
        """A report by its name, with or without ``report:``; raises MatbenchError where there is none."""
        full_name = name if name in self.reports else f"report: {name}"
        if full_name not in self.reports:
            raise MatbenchError(f"there is no report '{name}': {did_you_mean(name, self.reports)}")
        return self.reports[full_name](self)

    def page(self, name: str) -> Report:
        """A report, or a page of one plot, as a list of what to write names it: the plot of exactly this name first.

        Raises MatbenchError where there is neither.
        """
        if name in self.plots:
            of_plot: type[Report] = type("PlotPage", (PlotsReport,), {"name": name, "plots": (self.plots[name],)})
            return of_plot(self)
        if name not in self.reports and f"report: {name}" not in self.reports:
            known = [*self.reports, *self.plots]
            raise MatbenchError(f"there is no report or plot '{name}': {did_you_mean(name, known)}")
        return self.report(name)


def check(workload: Workload) -> None:
    """Raise WorkloadError where a page of *workload* is none, or names a KPI or a plot that doesn't exist."""
    plots, reports = workload.pages()
    known = {KPIHistory.name, *_by_name(plots, Plot)}
    for report in _by_name(reports, Report).values():
        for name in report.plots:
            if isinstance(name, str) and name not in known:
                raise WorkloadError(
                    f"'{report.name}' of workload '{workload.name}' lists a plot '{name}': {did_you_mean(name, known)}"
                )


def _by_name(classes: Any, kind: type[Any]) -> dict[str, Any]:
    """Raises WorkloadError for what isn't a class of this *kind*, and for a name used twice."""
    found: dict[str, Any] = {}
    for item in classes:
        name = getattr(item, "name", None)
        if not (isinstance(item, type) and issubclass(item, kind) and isinstance(name, str)):
            raise WorkloadError(f"{item!r} is not a {kind.__name__} class with a name")
        if name in found:
            raise WorkloadError(f"two {kind.__name__} classes are called '{name}'")
        found[name] = item
    return found
