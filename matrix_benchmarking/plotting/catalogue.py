"""The plots and reports of one matrix, by name: the workload's own, and those that every workload has."""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..analyze import check
from ..analyze.best import Best, rank
from ..analyze.limits import Limited, under
from ..analyze.select.labelled import LabelledRun, labelled, may_have_versions
from ..analyze.select.order import Order
from ..analyze.select.order_sources import Explicit
from ..analyze.verdict.sides import Blocks
from ..errors import MatbenchError, WorkloadError, did_you_mean
from ..matrix import Entry, Matrix
from ..workload import Workload
from .base import Arguments, Plot, PlotsReport, Report, plot_section

if TYPE_CHECKING:
    from ..analyze.check import Finding
    from ..analyze.verdict.model import Analysis
    from ..history.alarms import AlarmEvent
    from ..workload import MinimumEffect

FEW_VALUES = 3_000
"""So many values of KPIs are analysed while a page waits, some tenths of a second; more are analysed afterwards."""
Href = Callable[[Entry], str | None]
"""The address of an entry: its test directory, or a page about it; None where it leads nowhere."""
Section = Callable[[Plot, Arguments], Any]
Late = Callable[[Callable[[], Any], int], Any]
"""The place of what a function makes when it is seen, and its height in pixels."""


@dataclasses.dataclass(frozen=True, slots=True)
class AnalysisOptions:
    """What the analysis of the runs takes besides them.

    Attributes:
        data: where they came from, in words.
        minimum_effects: by KPI; the workload's unless given.
        events: reads what is known of earlier alarms.
        prices: those of the configuration, in USD per hour by ``vendor/hw_type`` or ``hw_type``.
        order: the order of versions that somebody gave.
    """

    data: str = "these runs"
    minimum_effects: Mapping[str, MinimumEffect] | None = None
    events: Callable[[], Iterable[AlarmEvent]] = tuple
    prices: Mapping[str, float] = dataclasses.field(default_factory=dict)
    order: Explicit | None = None


class _LazyAnalysis:
    """An analysis that is made once, when it is asked for, whichever copy of a catalogue and thread asks first."""

    def __init__(self, made: Analysis | None) -> None:
        self.is_made = made is not None
        self._analysis = made
        self._lock = threading.Lock()

    def get(self, make: Callable[[], Analysis | None]) -> Analysis | None:
        with self._lock:
            if not self.is_made:
                self._analysis = make()
                self.is_made = True
            return self._analysis


def to_location(entry: Entry) -> str | None:
    """The entry's test directory as an absolute ``file:`` address."""
    return None if entry.kept_in is not None else entry.location.absolute().as_uri()


class Catalogue:
    """Makes plots and reports, and keeps what they share.

    Attributes:
        matrix, workload: what they show; a KPI value that isn't finite is among the missing ones.
        whole: all that was read, of which *matrix* may be a selection; colours are given out over it.
        past: all known runs, those of the matrix among them; None without a history.
        findings: what is odd about all that was read; made when it is first asked for unless given.
        href: the address of an entry, as the pages link to it: its test directory, or a page about it.
        section: makes the part of a report that shows a plot.
        late: gives the place of a part that is made when it is seen; None where everything is made at once.
        limited: the ranking under the limit that is in force; None without one.
        has_verdict_above: True where the verdict stands above all pages, so that none repeats it.
    """

    def __init__(
        self,
        matrix: Matrix,
        workload: Workload,
        href: Href = to_location,
        *,
        whole: Matrix | None = None,
        past: Matrix | None = None,
        order: Callable[[], Order] | None = None,
        analysis: Analysis | None = None,
        analysis_options: AnalysisOptions | None = None,
        findings: Sequence[Finding] | None = None,
    ) -> None:
        """*order* gives that of all runs that there are; that of those at hand unless given."""
        self.matrix = _finite(matrix)
        self.workload = workload
        self.whole = matrix if whole is None else whole
        self.href = href
        self.past = past
        self._order = order
        self.section: Section = plot_section
        self.late: Late | None = None
        self.limited: Limited | None = None
        self.has_verdict_above = False
        self.analysis_options = AnalysisOptions() if analysis_options is None else analysis_options
        self._analysis = _LazyAnalysis(analysis)
        if findings is not None:
            self.findings = findings

    def shown_by(self, href: Href, section: Section, late: Late | None = None) -> Catalogue:
        """The same for the pages of an application; what was computed is shared."""
        other = copy.copy(self)
        other.href, other.section, other.late, other.has_verdict_above = href, section, late, True
        return other

    @functools.cached_property
    def of_all(self) -> Best:
        """The ranking of all points by the workload's headline KPI, whatever the limit."""
        return rank(self.matrix, self.workload)

    @property
    def best(self) -> Best:
        """The ranking by the workload's headline KPI, of the points that keep the limit."""
        return self.of_all if self.limited is None else self.limited.best

    def under(self, limit: float | None) -> Catalogue:
        """The same under a limit on the workload's limited KPI, in the unit in which that is shown; None for none."""
        everything, kpi = self.of_all, self.workload.limited
        other = copy.copy(self)
        other.limited = None
        if limit is not None and kpi is not None and everything.kpi is not None:
            other.limited = under(everything, kpi, limit * kpi.divisor)
        return other

    @functools.cached_property
    def findings(self) -> Sequence[Finding]:
        """What is odd about the runs."""
        runs, options = self.whole if self.past is None else self.past, self.analysis_options
        order = check.order_of(runs, self.workload, options.order, {})
        return check.findings(runs, self.workload, options.prices, order)

    def run_called(self, name: str) -> Entry | None:
        """The run of this name; None for a name that is none."""
        return self._by_name.get(name)

    @functools.cached_property
    def _by_name(self) -> Mapping[str, Entry]:
        runs = self.whole if self.past is None else self.past
        return {entry.name: entry for entry in (*runs.entries, *runs.unfinished)}

    @functools.cached_property
    def known_runs(self) -> list[LabelledRun]:
        """The runs of all versions that there are, with what places each in a series: the past's, else the matrix'.

        Empty without a history where the matrix has one version: then there is no series to look at.
        """
        if self.past is None and not may_have_versions(self.matrix, self.workload):
            return []
        runs = self.matrix if self.past is None else self.past
        return labelled(runs, self.workload) if self._order is None else self._order().runs_of(runs.entries)

    @functools.cached_property
    def order(self) -> Order:
        """Which version came after which; what isn't asked of it isn't computed."""
        if self._order is not None:
            return self._order()
        return Order(self.known_runs, self.workload, self.analysis_options.order)

    @functools.cached_property
    def blocks(self) -> Blocks:
        """Which runs were measured together, among all that there are."""
        runs = self.whole if self.past is None else self.past
        return Blocks(lambda: runs.entries)

    @functools.cached_property
    def order_problem(self) -> str:
        """Why the versions have no order, and what to do; empty where they have one."""
        try:
            _ = self.order.notes
        except MatbenchError as error:
            return f"{str(error)[:1].upper()}{str(error)[1:]}."
        return ""

    def places(self, setting: str) -> Mapping[Any, int]:
        """By value of a comparison key its place, the oldest first; empty for other settings, and without an order."""
        is_ordered = setting in self.workload.regression.comparison_keys and not self.order_problem
        return self.order.of(setting).places if is_ordered else {}

    @property
    def analysis(self) -> Analysis | None:
        """The verdicts on all series of the known runs: the one that was given, else made when it is first asked for.

        None where there is nothing to analyse: no KPI, no order, or one version and no history.
        """
        return self._analysis.get(self._analyse)

    @property
    def has_analysis(self) -> bool:
        """True if the analysis is there already, or is soon made."""
        if self._analysis.is_made:
            return True
        runs = self.matrix if self.past is None else self.past
        # A run of a results tree has to load its payload first, which takes longer than its values.
        return sum(max(len(entry.kpis), 1 if entry.facts else 20) for entry in runs) <= FEW_VALUES

    def _analyse(self) -> Analysis | None:
        if not self.workload.kpis or (self.past is None and not may_have_versions(self.matrix, self.workload)):
            return None
        if self.order_problem:
            return None
        from ..analyze.verdict.analyse import analyse_runs

        options = self.analysis_options
        return analyse_runs(
            self.matrix if self.past is None else self.past,
            self.workload,
            data=options.data,
            order=self.order,
            minimum_effects=options.minimum_effects,
            events=options.events(),
        )

    @functools.cached_property
    def plots(self) -> Mapping[str, type[Plot]]:
        """The built-in plot first; a workload's plot takes the place of one with its name."""
        from .plot_history import KPIHistory

        return {KPIHistory.name: KPIHistory, **_by_name(self.workload.plots(), Plot)}

    @functools.cached_property
    def reports(self) -> Mapping[str, type[Report]]:
        """The best configuration, the workload's own, then those that every workload has; a workload's report takes the
        place of the built-in one with its name.
        """
        from .report_best import BestReport
        from .report_check import CheckReport
        from .report_compare import CompareReport
        from .report_errors import ErrorReport
        from .report_history import HistoryReport
        from .report_kpis import KPIReport
        from .report_regression import RegressionReport

        own = _by_name(self.workload.reports(), Report)
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
        everything = self.matrix.settings
        names = dict.fromkeys([*(name for name in first if name in everything), *everything])
        variables = {name: everything[name] for name in names if len(everything[name]) > 1}
        settings = {name: values[0] for name, values in everything.items() if len(values) == 1}
        setting_lists = [[(name, value) for value in values] for name, values in variables.items()]
        return Arguments(list(variables), settings, setting_lists, variables, dict(cfg or {}))


def _finite(matrix: Matrix) -> Matrix:
    """*matrix* with values such as NaN, which payloads from elsewhere may hold, as what they are: unknown."""
    if all(math.isfinite(value) for entry in matrix for value in entry.kpis.values()):
        return matrix
    return Matrix(map(_with_finite_kpis, matrix.entries), unfinished=matrix.unfinished, notes=matrix.notes)


def _with_finite_kpis(entry: Entry) -> Entry:
    strange = {name: value for name, value in entry.kpis.items() if not math.isfinite(value)}
    if not strange:
        return entry
    known = {name: value for name, value in entry.kpis.items() if name not in strange}
    reasons = {name: f"not a finite number ({value})" for name, value in strange.items()}
    return dataclasses.replace(entry, kpis=known, missing_kpis={**entry.missing_kpis, **reasons})


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
