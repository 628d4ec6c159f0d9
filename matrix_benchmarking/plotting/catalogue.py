"""The plots and reports of a study, by name: the workload's own, and those that every workload has."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..analyze.study import Study
from ..errors import MatbenchError, WorkloadError, did_you_mean
from ..matrix import Entry
from ..workload import Workload
from .base import Plot, PlotsReport, Report, View, plot_section
from .plot_history import KPIHistory
from .report_best import BestReport
from .report_compare import CompareReport
from .report_errors import CheckReport, ErrorReport
from .report_history import HistoryReport
from .report_kpis import KPIReport
from .report_regression import RegressionReport

if TYPE_CHECKING:
    from .tags import Node

K = TypeVar("K", Plot, Report)
Href = Callable[[Entry], str | None]
"""The address of an entry: its test directory, or a page about it; None where it leads nowhere."""
Late = Callable[[Callable[[], "Node"], int], "Node"]
"""The place of what a function makes when it is seen, and its height in pixels."""


def to_location(entry: Entry) -> str | None:
    """The entry's test directory as an absolute ``file:`` address."""
    return None if entry.kept_in is not None else entry.location.absolute().as_uri()


class Catalogue:
    """The plots and reports of a study: what they show, how their pages link and are put together."""

    def __init__(self, study: Study, href: Href = to_location) -> None:
        self.study = study
        self.href = href
        self.section: Callable[[Plot, View], Node] = plot_section
        """Makes the part of a report that shows a plot."""
        self.late: Late | None = None
        """In an application, which has the verdict above all its pages; None where everything is made at once."""

    def of(self, study: Study) -> Catalogue:
        """The same for another study."""
        other = copy.copy(self)
        other.study = study
        return other

    def arguments(self, cfg: Mapping[str, Any] | None = None, first: Sequence[str] = ()) -> View:
        """A view of the whole matrix; of its variables those in *first* come first."""
        everything = self.study.matrix.settings
        names = dict.fromkeys([*(name for name in first if name in everything), *everything])
        variables = {name: everything[name] for name in names if len(everything[name]) > 1}
        settings = {name: values[0] for name, values in everything.items() if len(values) == 1}
        setting_lists = [[(name, value) for value in values] for name, values in variables.items()]
        return View(list(variables), settings, setting_lists, variables, dict(cfg or {}))

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


def _by_name(classes: Iterable[object], kind: type[K]) -> dict[str, type[K]]:
    """Raises WorkloadError for what isn't a class of this *kind*, and for a name used twice."""
    found: dict[str, type[K]] = {}
    for item in classes:
        name = getattr(item, "name", None)
        if not (isinstance(item, type) and issubclass(item, kind) and isinstance(name, str)):
            raise WorkloadError(f"{item!r} is not a {kind.__name__} class with a name")
        if name in found:
            raise WorkloadError(f"two {kind.__name__} classes are called '{name}'")
        found[name] = item
    return found
