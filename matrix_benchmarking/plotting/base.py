"""What a plot and a report are: a class with a name and a ``draw`` (or TOPSAIL's ``do_plot``), made for one matrix."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ..analyze.check import AnswerKind
from ..analyze.select.series import time_text
from ..analyze.words import variant_label
from ..errors import MatbenchError, WorkloadError, did_you_mean
from ..kpi import KPIDefinition
from ..matrix import Entry, Matrix, SettingLists, Variables
from ..rows import Rows
from . import controls
from .controls import Control
from .tables import Node, Part, called, graph, html
from .template import colour_map

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects as go
    from dash.development.base_component import Component

    from ..analyze.best import Best
    from ..analyze.study import Study
    from ..filters import Scalar
    from ..workload import Workload

Drawn: TypeAlias = "tuple[go.Figure | dict[str, Any] | None, Node]"
"""A figure (None: nothing to draw), and text or Dash components about it."""
Href = Callable[[Entry], str | None]
"""The address of an entry: its test directory, or a page about it; None where it leads nowhere."""


@dataclasses.dataclass(frozen=True, slots=True)
class View:
    """What a plot or a report is asked to show, and what there is of it.

    The first five are the arguments of TOPSAIL's ``do_plot``, which a view can be unpacked into.
    """

    ordered_vars: list[str]
    """Names of the variables, those to be told apart first before the others."""
    settings: dict[str, Scalar]
    """Those that have one value."""
    setting_lists: SettingLists
    """For each variable its name with each of its values."""
    variables: Variables
    """The values of each."""
    cfg: Mapping[str, Any]
    """What was chosen of the controls."""
    shown: _Named | None = None
    """The plot or report that is drawn; None as long as nobody draws."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.ordered_vars, self.settings, self.setting_lists, self.variables, self.cfg))

    @classmethod
    def of(cls, args: View | Sequence[Any]) -> View:
        """*args*, which TOPSAIL's reports hand on as a plain tuple."""
        return args if isinstance(args, View) else cls(*args)

    def choosing(self, **chosen: object) -> View:
        """The same with other choices of the controls."""
        return dataclasses.replace(self, cfg={**self.cfg, **chosen})

    @property
    def drawn(self) -> _Named:
        if self.shown is None:
            raise WorkloadError("only the view that 'draw' gets knows its data")
        return self.shown

    @property
    def study(self) -> Study:
        """All answers about these data and their history."""
        return self.drawn.study

    @property
    def matrix(self) -> Matrix:
        return self.drawn.matrix

    @property
    def workload(self) -> Workload:
        return self.drawn.workload

    @property
    def runs(self) -> Rows:
        """The runs that are asked for."""
        return self.matrix.records(self.settings, self.setting_lists)

    @property
    def newest(self) -> Rows:
        """Those of the newest version, as the ranking has it, where there are several."""
        return of_newest(self.study.of_all, self.runs)

    @property
    def kpis(self) -> tuple[KPIDefinition, ...]:
        """What the class says in ``kpis``, in that order."""
        return tuple(self.kpi(name) for name in self.drawn.kpis)

    def kpi(self, name: str) -> KPIDefinition:
        """Raises MatbenchError: the workload has no such KPI."""
        if name not in self.workload.kpis:
            raise MatbenchError(f"there is no KPI '{name}': {did_you_mean(name, self.workload.kpis)}")
        return self.workload.kpis[name]

    def frame(self) -> pandas.DataFrame:
        """A row a run that is asked for: settings, KPIs, location, as ``Matrix.to_dataframe`` has them."""
        return Matrix(self.runs).to_dataframe()

    def name(self, run: Entry) -> str:
        """The run's name by what varies."""
        return run.get_name(self.ordered_vars)

    def option(self, name: str) -> Any:
        """What was chosen of the control *name*, or its default."""
        return self.drawn.option(self.cfg, name)

    def colours(self, setting: str) -> dict[str, str]:
        """For each value of *setting*, as ``template.text`` writes it, the colour that it has on all pages."""
        return colour_map(self.study.read, setting)

    def link(self, run: Entry, text: str | None = None) -> Component:
        """A link to the run's test directory; its id instead for a test of a history, which has none."""
        return self.drawn.link(run, text)


Arguments = View
"""As :class:`View` was called."""


def set_config(changes: Mapping[str, Any], args: View | Sequence[Any]) -> View:
    """*args* with *changes* made to their plot configuration."""
    return View.of(args).choosing(**changes)


def of_newest(best: Best, runs: Iterable[Entry]) -> Rows:
    """Those of *runs* that are of the newest version, as *best* has it; all where there is one."""
    rows, others = Rows.of(runs), set() if best.newest is None else {id(run) for run in best.newest.others}
    return rows.where(id(run) not in others for run in rows) if others else rows


class _Named:
    name: ClassVar[str]
    """Under which people ask for it."""
    kpis: ClassVar[Sequence[str]] = ()
    """The KPIs that it shows: one that the workload doesn't have is an error before anything is read."""
    answers: ClassVar[AnswerKind] = AnswerKind.BEST
    """The question that it answers: above a page on what changed nothing is said of what is best."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.study = catalogue.study
        self.matrix = self.study.matrix
        self.workload = self.study.workload

    def link(self, entry: Entry, text: str | None = None) -> Component:
        address = self.catalogue.href(entry)
        where = str(entry.location) if entry.kept_in is None else f"{entry.test_uuid} in {entry.kept_in}"
        named = text or self.catalogue.name(entry)
        return html.Span(named, title=where) if address is None else html.A(named, href=address, title=where)

    def controls(self) -> Sequence[Control]:
        """What a person may choose, made from the data; ``cfg`` has what was chosen."""
        return ()

    def offered(self) -> Sequence[Control]:
        """The same; none where that fails, which the page itself says."""
        try:
            return self.controls()
        except Exception:  # noqa: BLE001  the others must stay usable
            return ()

    def runs(self, view: View) -> Iterator[Entry]:
        """See :attr:`View.runs`."""
        return self.matrix.all_records(view.settings, view.setting_lists)

    def option(self, cfg: Mapping[str, Any], name: str) -> Any:
        """What *cfg* says of the control *name*, or its default."""
        if name in cfg:
            return cfg[name]
        defaults = {control.name: control.default for control in self.controls()}
        if name not in defaults:
            raise MatbenchError(f"'{self.name}' has no control '{name}': {did_you_mean(name, defaults)}")
        return defaults[name]

    def made(self, view: View) -> Any:
        """What it draws, with what an address says of its controls where *view* doesn't fix that."""
        source = self.workload.source
        chosen, _ = controls.read(called(self.name, source, self.controls), self.catalogue.texts)
        view = view.choosing(**{**chosen, **view.cfg})
        return called(self.name, source, lambda: self.checked(self.do_plot(*view)))

    def checked(self, drawn: Any) -> Any:
        """*drawn*; raises TypeError where it is nothing to show."""
        return drawn

    def draw(self, view: View) -> Any:
        """Of a plot its figure (None: nothing to draw), and text or Dash components about it; of a report those."""
        raise WorkloadError(f"'{self.name}' has neither a draw nor a do_plot")

    def do_plot(
        self,
        ordered_vars: list[str],
        settings: dict[str, Scalar],
        setting_lists: SettingLists,
        variables: Variables,
        cfg: Mapping[str, Any],
    ) -> Any:
        """The same, for what was written for TOPSAIL; it has one of both."""
        return self.draw(View(ordered_vars, settings, setting_lists, variables, cfg, self))


class Plot(_Named):
    """One figure and what to conclude from it."""

    how_to_read: ClassVar[str] = ""
    """What the figure shows and how to read it; stands below what it says."""
    config: ClassVar[Mapping[str, Any]] = {}
    """How plotly shows it in the application, beside what all figures have."""

    def height_px(self) -> int:
        """About how much room the drawn plot takes, its text included: kept free for it, so that nothing jumps."""
        return 600

    def part(self, view: View) -> Part:
        return Part(self.name, lambda: self.shown(*self.made(view)), self.height_px())

    def checked(self, drawn: Any) -> Drawn:
        if not isinstance(drawn, (tuple, list)) or len(drawn) != 2:
            raise TypeError(f"what is drawn is a figure and a text; given is a {type(drawn).__name__}")
        figure, text = drawn
        if figure is not None and not isinstance(figure, dict) and not hasattr(figure, "to_plotly_json"):
            raise TypeError(f"do_plot gives a {type(figure).__name__} in the place of a figure")
        return figure, text

    def shown(self, figure: go.Figure | dict[str, Any] | None, text: Node) -> list[Node]:
        """The conclusion, then the figure, which says it to who can't see it, and the rest of the *text* about it."""
        said = [*text] if isinstance(text, (list, tuple)) else [text] if text else []
        parts: list[Node] = [html.P(part) if isinstance(part, str) else part for part in said]
        if figure is not None:
            lead = [part for part in said[:1] if isinstance(part, str)]
            parts.insert(len(lead), graph(figure, ": ".join([self.name, *lead]), config={**self.config}))
            parts += [html.P(self.how_to_read, className="note")] if self.how_to_read else []
        return parts


class Report(_Named):
    """A page: text, tables and plots."""

    description: ClassVar[str] = ""
    """One sentence on what the page shows, for its header and its card."""
    plots: ClassVar[Sequence[type[Plot] | str]] = ()
    """The plots that it shows, the workload's own as classes, others by their names; there is no other list of them."""

    def __init__(self, catalogue: Catalogue) -> None:
        super().__init__(catalogue)
        self.drawn: list[Plot] = []  # by Plot_and_Text; their controls are the page's too

    def summary(self) -> str:
        """One sentence made from the data, for the page's card on the index; empty for none."""
        return ""

    def Plot_and_Text(self, name: str, args: View) -> list[Node]:
        """The plot *name* under its heading, with its text; where the page has its name, that is its heading."""
        plot = self.catalogue.plot(name)
        self.drawn.append(plot)
        heading = [] if plot.name == title_of(self.name) else [html.H2(plot.name)]
        return [html.Section([*heading, plot.part(View.of(args))], className="plot")]

    def each_plot(self, view: View) -> list[Node]:
        """All of its plots, one below the other."""
        names = (plot if isinstance(plot, str) else plot.name for plot in self.plots)
        return [part for name in names for part in self.Plot_and_Text(name, view)]


class PlotsReport(Report):
    """A page of the *plots*, one below the other."""

    def draw(self, view: View) -> list[Node]:
        runs = (self.matrix, self.study.past or self.matrix)
        if not any(len(each) or each.unfinished for each in runs):
            return [html.P("No run is selected, so there is nothing to draw.")]
        return self.each_plot(view)


def title_of(name: str) -> str:
    return name.removeprefix("report:").strip()


def to_location(entry: Entry) -> str | None:
    return None if entry.kept_in is not None else entry.location.absolute().as_uri()


@dataclasses.dataclass(frozen=True, slots=True)
class Catalogue:
    """The plots and reports of a study by their names, how their pages link, and how they are put together."""

    study: Study
    plots: Mapping[str, type[Plot]]
    reports: Mapping[str, type[Report]]
    href: Href
    texts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What was chosen of the plots' controls, before it is read."""
    is_live: bool = False
    """In an application, which has the verdict above all its pages, and makes parts when they are seen."""

    may_write: bool = False
    """In an application in which who looks at it may deal with alarms and keep views."""

    may_open: bool = True
    """Who looks at it may name other directories and histories to compare with: not from another machine."""

    address_of: Callable[[str, Mapping[str, str]], str | None] = lambda name, chosen: None
    """Gives the address of the page of a plot or report by its name, with what is *chosen* of its controls; None where
    there is none to link to.
    """

    differing: Callable[[], Sequence[str]] = tuple
    """Gives the settings in which runs differ, the versions first."""

    def name(self, run: Entry) -> str:
        """The run's name; of one of a history, which has no directory, what tells it from others instead of its id."""
        if run.kept_in is None:
            return run.name
        settings = variant_label(run.settings, (name for name in self.differing() if name in run.settings))
        return " · ".join(filter(None, (settings, f"repeat {run.repeat}", time_text(run))))

    def arguments(self, cfg: Mapping[str, Any] | None = None) -> View:
        """A view of the whole matrix."""
        everything = self.study.matrix.settings
        variables = {name: values for name, values in everything.items() if len(values) > 1}
        settings = {name: values[0] for name, values in everything.items() if len(values) == 1}
        setting_lists = [[(name, value) for value in values] for name, values in variables.items()]
        return View(list(variables), settings, setting_lists, variables, dict(cfg or {}))

    def plot(self, name: str) -> Plot:
        if name not in self.plots:
            raise MatbenchError(f"there is no plot '{name}': {did_you_mean(name, self.plots)}")
        return self.plots[name](self)

    def page(self, name: str) -> Report:
        """A report, with or without ``report:``, or a page of one plot; the plot of exactly this name first."""
        if name in self.plots:
            plot = self.plots[name]
            of_plot = {"name": name, "plots": (plot,), "answers": plot.answers}
            made: type[Report] = type("PlotPage", (PlotsReport,), of_plot)
            return made(self)
        full_name = name if name in self.reports else f"report: {name}"
        if full_name not in self.reports:
            known = [*self.reports, *self.plots]
            raise MatbenchError(f"there is no report or plot '{name}': {did_you_mean(name, known)}")
        return self.reports[full_name](self)
