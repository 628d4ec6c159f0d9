"""The plots and reports of one matrix, by name: the workload's own, and those that every workload has."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from ..analyze.best import Best, rank
from ..analyze.series import LabelledRun, labelled, may_have_versions
from ..errors import MatbenchError, WorkloadError, did_you_mean
from ..matrix import Entry, Matrix
from ..workload import Workload
from .base import Arguments, Plot, Report

Href = Callable[[Entry], str | None]
"""The address of an entry's test directory; None for a test that has none."""


def to_location(entry: Entry) -> str | None:
    """The entry's test directory as an absolute ``file:`` address."""
    return None if entry.kept_in is not None else entry.location.absolute().as_uri()


class Catalogue:
    """Makes plots and reports, and keeps what they share.

    Attributes:
        matrix, workload: what they show.
        href: the address of an entry's test directory, as the pages link to it.
        past: all known runs, those of the matrix among them; None without a history.
    """

    def __init__(
        self, matrix: Matrix, workload: Workload, href: Href = to_location, *, past: Matrix | None = None
    ) -> None:
        self.matrix = matrix
        self.workload = workload
        self.href = href
        self.past = past

    @functools.cached_property
    def best(self) -> Best:
        """The ranking by the workload's headline KPI."""
        return rank(self.matrix, self.workload)

    @functools.cached_property
    def known_runs(self) -> list[LabelledRun]:
        """The runs of all versions that there are, with what places each in a series: the past's, else the matrix'.

        Empty without a history where the matrix has one version: then there is no series to look at.
        """
        if self.past is None and not may_have_versions(self.matrix, self.workload):
            return []
        return labelled(self.matrix if self.past is None else self.past, self.workload)

    @functools.cached_property
    def plots(self) -> Mapping[str, type[Plot]]:
        """The built-in plot first; a workload's plot takes the place of one with its name."""
        from .plot_history import KPIHistory

        return {KPIHistory.name: KPIHistory, **_by_name(self.workload.plots(), Plot)}

    @functools.cached_property
    def reports(self) -> Mapping[str, type[Report]]:
        """The built-in reports first; a workload's report takes the place of the one with its name."""
        from .report_best import BestReport
        from .report_compare import CompareReport
        from .report_errors import ErrorReport
        from .report_history import HistoryReport
        from .report_kpis import KPIReport

        built_in: list[type[Report]] = [BestReport, CompareReport, KPIReport, ErrorReport, HistoryReport]
        return {
            **{report.name: report for report in built_in},
            **_by_name(self.workload.reports(), Report),
        }

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

    def arguments(self, cfg: Mapping[str, Any] | None = None) -> Arguments:
        """The arguments of a ``do_plot`` that shows the whole matrix."""
        everything = self.matrix.settings
        variables = {name: values for name, values in everything.items() if len(values) > 1}
        settings = {name: values[0] for name, values in everything.items() if len(values) == 1}
        setting_lists = [[(name, value) for value in values] for name, values in variables.items()]
        return list(variables), settings, setting_lists, variables, dict(cfg or {})


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
