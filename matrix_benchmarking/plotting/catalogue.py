"""The plots and reports of a study, by name: the workload's own, and those that every workload has."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..analyze.study import Study
from ..errors import MatbenchError, WorkloadError, did_you_mean
from ..matrix import Entry
from .base import Arguments, Plot, PlotsReport, Report, plot_section
from .plot_history import KPIHistory
from .report_best import BestReport
from .report_check import CheckReport
from .report_compare import CompareReport
from .report_errors import ErrorReport
from .report_history import HistoryReport
from .report_kpis import KPIReport
from .report_regression import RegressionReport

Href = Callable[[Entry], str | None]
"""The address of an entry: its test directory, or a page about it; None where it leads nowhere."""
Section = Callable[[Plot, Arguments], Any]
Late = Callable[[Callable[[], Any], int], Any]
"""The place of what a function makes when it is seen, and its height in pixels."""


def to_location(entry: Entry) -> str | None:
    """The entry's test directory as an absolute ``file:`` address."""
    return None if entry.kept_in is not None else entry.location.absolute().as_uri()


class Catalogue:
    """Makes plots and reports, and says how their pages link and are put together.

    Attributes:
        study: the runs that they show, and the answers about them.
        href: the address of an entry, as the pages link to it: its test directory, or a page about it.
        section: makes the part of a report that shows a plot.
        late: gives the place of a part that is made when it is seen; None where everything is made at once.
        has_verdict_above: True where the verdict stands above all pages, so that none repeats it.
    """

    def __init__(self, study: Study, href: Href = to_location) -> None:
        self.study = study
        self.href = href
        self.section: Section = plot_section
        self.late: Late | None = None
        self.has_verdict_above = False

    def of(self, study: Study) -> Catalogue:
        """The same for another study."""
        other = copy.copy(self)
        other.study = study
        return other

    def shown_by(self, href: Href, section: Section, late: Late | None = None) -> Catalogue:
        """The same for the pages of an application."""
        other = copy.copy(self)
        other.href, other.section, other.late, other.has_verdict_above = href, section, late, True
        return other

    @functools.cached_property
    def plots(self) -> Mapping[str, type[Plot]]:
        """The built-in plot first; a workload's plot takes the place of one with its name."""
        return {KPIHistory.name: KPIHistory, **_by_name(self.study.workload.plots(), Plot)}

    @functools.cached_property
    def reports(self) -> Mapping[str, type[Report]]:
        """The best configuration, the workload's own, then those that every workload has; a workload's report takes the
        place of the built-in one with its name.
        """
        own = _by_name(self.study.workload.reports(), Report)
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
        """A report by its name, with or without ``report:``.

        Raises:
            MatbenchError: there is no such report.
        """
        full_name = name if name in self.reports else f"report: {name}"
        if full_name not in self.reports:
            raise MatbenchError(f"there is no report '{name}': {did_you_mean(name, self.reports)}")
        return self.reports[full_name](self)

    def page(self, name: str) -> Report:
        """A report, or a page of one plot, as a list of what to write names it: the plot of exactly this name first.

        Raises:
            MatbenchError: there is neither.
        """
        if name in self.plots:
            of_plot: type[Report] = type("PlotPage", (PlotsReport,), {"name": name, "plots": (self.plots[name],)})
            return of_plot(self)
        if name not in self.reports and f"report: {name}" not in self.reports:
            known = [*self.reports, *self.plots]
            raise MatbenchError(f"there is no report or plot '{name}': {did_you_mean(name, known)}")
        return self.report(name)

    def arguments(self, cfg: Mapping[str, Any] | None = None, first: Sequence[str] = ()) -> Arguments:
        """The arguments of a ``do_plot`` that shows the whole matrix; of its variables those in *first* come first."""
        everything = self.study.matrix.settings
        names = dict.fromkeys([*(name for name in first if name in everything), *everything])
        variables = {name: everything[name] for name in names if len(everything[name]) > 1}
        settings = {name: values[0] for name, values in everything.items() if len(values) == 1}
        setting_lists = [[(name, value) for value in values] for name, values in variables.items()]
        return Arguments(list(variables), settings, setting_lists, variables, dict(cfg or {}))


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
