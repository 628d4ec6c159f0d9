"""The plots and reports of a study, by name: the workload's own, and those that every workload has."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TypeVar

from ..analyze.study import Study
from ..errors import WorkloadError, did_you_mean
from ..workload import Workload
from . import explore
from .base import Catalogue, Href, Plot, Report, to_location
from .plot_ranking import Ranking, UnderALimit
from .report_best import BestReport
from .report_compare import CompareReport
from .report_errors import CheckReport, ErrorReport
from .report_history import HistoryReport, KPIHistory
from .report_kpis import KPIReport, KPISpreads
from .report_regression import RegressionReport

BUILT_IN = (
    BestReport,
    CheckReport,
    CompareReport,
    KPIReport,
    RegressionReport,
    HistoryReport,
    explore.ExploreReport,
    ErrorReport,
)
_OWN_PLOTS: dict[str, type[Plot]] = {plot.name: plot for plot in (KPIHistory, KPISpreads, Ranking, UnderALimit)}
K = TypeVar("K", Plot, Report)


def catalogue_of(study: Study, href: Href = to_location) -> Catalogue:
    """The plots and reports of a *study*.

    The built-in plots come first; of the reports the best configuration, the workload's own, and then those that every
    workload has. A workload's page takes the place of the built-in one with its name.
    """
    plots, reports = study.workload.pages()
    keys = study.workload.regression.comparison_keys
    own = _by_name(reports, Report)
    first, *others = BUILT_IN
    rest = {report.name: report for report in others if report.name not in own}
    pages: dict[str, type[Report]] = {first.name: first, **own, **rest}
    pages |= explore.views(study.given.views, study.workload.name, pages)
    differing = functools.cache(lambda: sorted(study.known.variables(), key=lambda name: name not in keys))
    return Catalogue(study, {**_OWN_PLOTS, **_by_name(plots, Plot)}, pages, href, differing=differing)


def check(workload: Workload) -> None:
    """Raise WorkloadError where a page of *workload* is none, or names a KPI or a plot that doesn't exist."""
    plots, reports = workload.pages()
    known = {*_OWN_PLOTS, *_by_name(plots, Plot)}
    for report in _by_name(reports, Report).values():
        for name in report.plots:
            if isinstance(name, str) and name not in known:
                raise WorkloadError(
                    f"'{report.name}' of workload '{workload.name}' lists a plot '{name}': {did_you_mean(name, known)}"
                )


def _by_name(classes: Iterable[object], kind: type[K]) -> dict[str, type[K]]:
    found: dict[str, type[K]] = {}
    for item in classes:
        name = getattr(item, "name", None)
        if not (isinstance(item, type) and issubclass(item, kind) and isinstance(name, str)):
            raise WorkloadError(f"{item!r} is not a {kind.__name__} class with a name")
        if name in found:
            raise WorkloadError(f"two {kind.__name__} classes are called '{name}'")
        found[name] = item
    return found
