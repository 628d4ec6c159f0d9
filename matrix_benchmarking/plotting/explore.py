"""Report: any KPI against any setting, chosen by the reader; and views, which are such choices kept under a name."""

from __future__ import annotations

import collections
import functools
import importlib.util
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from .. import filters as filter_language
from ..analyze import intervals
from ..analyze.points import ExclusionCause, SettingsOf, by_point, keys, select, varying
from ..analyze.words import count_of, named, tuning_label
from ..errors import ConfigError
from ..filters import Scalar, show
from ..matrix import NOT_SET, Entry, order, typed
from ..plausible import is_number
from ..prices import unused_prices
from ..rows import Rows
from . import template
from .base import Report, View, title_of
from .controls import Choice, Control
from .explore_chart import Chosen, Mark, explore_figure, mean_of
from .tables import (
    Column,
    Columns,
    Node,
    Row,
    Table,
    command,
    count_cell,
    dcc,
    graph,
    html,
    kpi_cell,
    setting_cells,
    setting_columns,
    table,
)

X, Y, COLOUR, PANELS, REPEATS, LOGARITHMS = "x", "y", "colour", "panels", "repeats", "logarithmic"
FILTERS, WORKLOAD = "filters", "workload"
INTERVALS, DOTS = "intervals", "dots"
NONE, KEPT = "none", "this view"
FEW_PANELS, MOST_PANELS = 6, 12
FAR = 1000.0
"""Of values that are so many times apart the small ones can't be told from 0: a logarithmic axis is suggested."""


class ExploreReport(Report):
    """Controls ``x``, ``y``, ``colour``, ``panels``, ``repeats`` and ``logarithmic``."""

    name: ClassVar[str] = "report: Explore"
    description: ClassVar[str] = "Any KPI against any setting."
    chosen: ClassVar[Mapping[str, str]] = {}
    """What a view says of the controls."""

    def controls(self) -> Sequence[Control]:
        kpis = [name for name, kpi in self.workload.kpis.items() if any(name in run.kpis for run in self._runs)]
        if not kpis:
            return []
        # A view names settings that a filter may leave one value.
        settings = varying(self.study.read.entries)
        x, colour, panels = self._suggested(varying(run.settings for run in self._runs))
        headline = self.workload.headline
        y = headline.name if headline is not None and headline.name in kpis else kpis[0]
        values = [run.kpis[y] for run in self._runs if y in run.kpis]
        logarithms = "y" if min(values) > 0 and max(values) > FAR * min(values) else NONE
        controls = [
            Choice(Y, "KPI (y)", tuple(kpis), y),
            Choice(
                X, "Over (x)", (*settings, *kpis), x if x is not None else next((name for name in kpis if name != y), y)
            ),
            Choice(COLOUR, "Colour", (NONE, *settings), colour),
            Choice(PANELS, "Panels", (NONE, *settings), panels),
            Choice(REPEATS, "Repeats", (INTERVALS, DOTS), INTERVALS),
            Choice(LOGARITHMS, "Logarithmic", (NONE, "x", "y", "x and y"), logarithms),
        ]
        return [self._with_default(control) for control in controls]

    def _with_default(self, control: Choice) -> Choice:
        wanted = self.chosen.get(control.name)
        if wanted is None:
            return control
        try:
            return msgspec.structs.replace(control, default=control.read(wanted))
        except ConfigError as error:
            raise ConfigError(f"matbench.views: '{title_of(self.name)}': {error}") from None

    def _suggested(self, settings: Sequence[str]) -> tuple[str | None, str, str]:
        """The setting to the right: versions, else the number with most values, else one with few; one of few values as
        colours; and where points still stand beside each other one as panels that have several each.
        """
        points = [runs[0].settings for runs in self._points]
        counts = {name: collections.Counter(typed(one.get(name, NOT_SET)) for one in points) for name in settings}
        numbers = {name: [value for one in points if is_number(value := one.get(name))] for name in settings}
        versions = [name for name in settings if name in self.workload.regression.comparison_keys]
        known = [name for name in settings if len({*numbers[name]}) > 1 and 2 * len(numbers[name]) > len(points)]
        x = next(iter([*versions, *sorted(known, key=lambda name: -len({*numbers[name]})), *settings]), None)
        everywhere = [name for name in settings if all(name in one for one in points)]
        few = [name for name in settings if name != x and len(counts[name]) <= len(template.COLOURS)]
        few.sort(key=lambda name: (name not in everywhere, name not in self.workload.variant_keys, -len(counts[name])))
        colour, *rest = few or [NONE]
        if len({*keys(points, [name for name in (x, colour) if name])}) == len(points):
            return x, colour, NONE
        several = [name for name in rest if name in everywhere and min(counts[name].values()) > 1]
        panels = [name for name in several if len(counts[name]) <= FEW_PANELS]
        return x, colour, max(panels, key=lambda name: len(counts[name]), default=NONE)

    @functools.cached_property
    def _runs(self) -> list[Entry]:
        """The successful runs that are selected."""
        wanted = filter_language.parse(self.chosen.get(FILTERS, ""))
        return [
            run
            for run in self.matrix
            if not run.failed and not run.implausible and filter_language.matches(wanted, run.settings, run.repeat)
        ]

    @functools.cached_property
    def _points(self) -> list[Rows]:
        return by_point(self._runs)

    def _refused(self, chosen: Chosen) -> Mapping[int, str]:
        """By identity what can't be the best, and why: a gate, a limit, an older version where that isn't shown."""
        newest, kept = self.study.of_all.newest, {id(run) for run in self.study.within_limit(self._runs)}
        found = {id(run): "not sure to keep the limit" for run in self._runs if id(run) not in kept}
        if newest is not None and newest.key not in chosen.shown:
            found |= {id(run): f"not of the newest {newest.key}" for run in newest.others}
        excluded = select(self.matrix, self.workload)[1] if self.workload.gates else []
        return found | {id(one.entry): one.kind for one in excluded if one.cause is ExclusionCause.GATED}

    def draw(self, view: View) -> list[Node]:
        controls = self.controls()
        if not controls:
            return [html.P("No run that is selected has a KPI.")]
        values = self._values(view.cfg)
        chosen = self._read(values)
        marks = self._marks(chosen)
        if not marks:
            return [html.P(f"No run that is selected has {chosen.y.name} at a known {chosen.x}.")]
        panels = self._panels(marks, chosen)
        figure = explore_figure(panels[:MOST_PANELS], chosen, self.study.read, self.study.places(chosen.x))
        said = self._said(marks, panels, chosen)
        drawn = graph(figure, f"{title_of(self.name)}: {said[0]}")
        texts = {name: show(value) for name, value in values.items()}
        return [drawn, *(html.P(one) for one in said), self._table(marks, chosen), *self._taken_along(texts)]

    def table(self, cfg: Mapping[str, Any]) -> Table:
        """The table beside the figure, at what *cfg* says of the controls."""
        chosen = self._read(self._values(cfg))
        return self._table(self._marks(chosen), chosen)

    def _values(self, cfg: Mapping[str, Any]) -> dict[str, Any]:
        return {control.name: cfg.get(control.name, control.default) for control in self.controls()}

    def summary(self) -> str:
        return count_of(len(self._points), "point") + "."

    def _read(self, values: Mapping[str, Any]) -> Chosen:
        kpis = self.workload.kpis
        x, colour, panels = (str(values[name]) for name in (X, COLOUR, PANELS))
        return Chosen(
            x,
            kpis[str(values[Y])],
            kpis.get(x) if not any(x in run.settings for run in self._runs) else None,
            None if colour == NONE else colour,
            None if panels == NONE else panels,
            values[REPEATS] == DOTS,
            str(values[LOGARITHMS]),
        )

    def _marks(self, chosen: Chosen) -> list[Mark]:
        marks, refused = [], self._refused(chosen)
        for runs in self._points:
            having = [run for run in runs if chosen.y.name in run.kpis]
            if chosen.x_kpi is not None:
                having = [run for run in having if chosen.x in run.kpis]
            if not having:
                continue
            x = having[0].settings.get(chosen.x, NOT_SET)
            if chosen.x_kpi is not None:
                x = intervals.summarise([run.kpis[chosen.x] for run in having]).mean / chosen.x_kpi.divisor
            y, low, high = mean_of([run.kpis[chosen.y.name] for run in having])
            why = [refused.get(id(run), "") for run in having]
            marks.append(Mark(having, x, y, low, high, why[0] if all(why) else ""))
        return marks

    def _panels(self, marks: Sequence[Mark], chosen: Chosen) -> list[tuple[str, list[Mark]]]:
        panels: dict[object, list[Mark]] = {}
        for mark in sorted(marks, key=lambda mark: order(mark.runs[0].settings.get(chosen.panels or "", NOT_SET))):
            value = mark.runs[0].settings.get(chosen.panels, NOT_SET) if chosen.panels else NOT_SET
            panels.setdefault(typed(value), []).append(mark)
        if not chosen.panels:
            return [("", of) for of in panels.values()]
        titles = [template.text(of[0].runs[0].settings.get(chosen.panels, NOT_SET)) for of in panels.values()]
        titles[0] = f"{template.text(chosen.panels)} {titles[0]}"  # once: panels may be narrow
        return list(zip(titles, panels.values(), strict=True))

    def _said(self, marks: Sequence[Mark], panels: Sequence[object], chosen: Chosen) -> list[str]:
        refused = [mark for mark in marks if mark.refused]
        said = []
        if good := [mark for mark in marks if not mark.refused]:
            best = (min if chosen.y.lower_better else max)(good, key=lambda mark: mark.y)
            direction = "Lowest" if chosen.y.lower_better else "Highest"
            where = tuning_label(best.runs[0].settings, varying(mark.runs[0].settings for mark in marks))
            newest, among = self.study.of_all.newest, count_of(len(good), "point")
            among += f" of all {newest.of} versions" if newest is not None and newest.key in chosen.shown else ""
            if alike := sum(mark.y == best.y for mark in good) - 1:
                where = f"{where} and at {count_of(alike, 'other')}" if alike + 1 < len(good) else "all of them"
            what = f"{direction} {chosen.y.name} of {among}" if len(good) > 1 else chosen.y.name
            said = [
                f"{what}: {chosen.y.show(best.y)} at {where or ('all settings' if len(good) > 1 else 'one point')}."
            ]
        if refused:
            why = named(list(dict.fromkeys(mark.refused for mark in refused)), 2)
            said.append(f"{count_of(len(refused), 'point')} can't be the best, drawn hollow: {why}.")
        if not chosen.has_dots and any(mark.low is not None for mark in marks):
            said.append(
                "Each 95 % interval is of the point's own runs alone; the ranking's know the noise of all points."
            )
        others = [name for name in varying(mark.runs[0].settings for mark in marks) if name not in chosen.shown]
        alone = collections.Counter(
            (
                typed(mark.x),
                *(typed(mark.runs[0].settings.get(name, NOT_SET)) for name in (chosen.colour, chosen.panels) if name),
            )
            for mark in marks
        )
        if others and max(alone.values()) > 1:
            said.append(f"Points beside each other differ in {', '.join(others)} too: no line joins them.")
        if len(panels) > MOST_PANELS:
            said.append(f"The first {MOST_PANELS} of {len(panels)} panels are drawn.")
        missing = len(self.matrix) - sum(len(mark.runs) for mark in marks)
        if missing:
            why = f"failed, impossible, not of this view, or without {chosen.y.name}"
            said.append(f"{count_of(missing, 'run')} {'is' if missing == 1 else 'are'} not shown: {why}.")
        return said

    def _table(self, marks: Sequence[Mark], chosen: Chosen) -> Table:
        settings, kpi = SettingsOf(mark.runs[0].settings for mark in marks), chosen.y
        names = varying(settings)
        x = [Column(chosen.x, unit=chosen.x_kpi.display_unit, numeric=True)] if chosen.x_kpi else []
        columns: Columns = [
            *setting_columns(names, settings),
            *x,
            Column(kpi.name, unit=kpi.display_unit, numeric=True, help=f"mean of the runs; {kpi.direction}"),
            Column("Low", unit=kpi.display_unit, numeric=True, help="of the 95 % interval"),
            Column("High", unit=kpi.display_unit, numeric=True, help="of the 95 % interval"),
            Column("Runs", numeric=True),
        ]

        def row(mark: Mark) -> Row:
            at = [kpi_cell(chosen.x_kpi, float(str(mark.x)) * chosen.x_kpi.divisor)] if chosen.x_kpi else []
            ends = ["–" if end is None else kpi_cell(kpi, end) for end in (mark.low, mark.high)]
            return [
                *setting_cells(mark.runs[0].settings, names),
                *at,
                kpi_cell(kpi, mark.y),
                *ends,
                count_cell(len(mark.runs)),
            ]

        return table(columns, map(row, marks), caption=f"{kpi.name} over {chosen.x}")

    def _taken_along(self, texts: Mapping[str, str]) -> list[Node]:
        """The lines that do the same in a notebook, and the block that keeps this view as a page."""
        selection = filter_language.written(
            {**self.study.filters, **filter_language.parse(self.chosen.get(FILTERS, ""))}
        )
        # That of hardware which no run names would be an error.
        given = self.study.given.prices
        of_runs = [run.settings for run in self.study.known if "hw_type" in run.settings] if given else []
        idle = unused_prices(of_runs, given, self.workload.shorter_hardware) if of_runs else ()
        prices = {name: usd for name, usd in given.items() if name not in idle}
        parts: list[Node] = []
        for title, text in (
            ("Open in a notebook", notebook_lines(self.study.given.opened, prices, selection, texts)),
            ("Keep this view as a page", view_block(texts, selection, self.workload.name)),
        ):
            parts.append(html.Details([html.Summary(title), command(text)]))
        parts.append(html.P("A view is a page once its lines are in config.yaml.", className="note"))
        if self.catalogue.is_live:
            query = f"?filters={urllib.parse.quote(selection)}" if selection else ""
            kinds = ["csv", *(["parquet"] if importlib.util.find_spec("pyarrow") else [])]
            tables = [html.A(kind.upper(), href=f"table.{kind}", **{"data-address": "also"}) for kind in kinds]
            runs = [html.A(kind.upper(), href=f"runs.{kind}{query}") for kind in kinds]
            parts.append(html.P(["The table: ", *_spaced(tables), ". The runs behind it: ", *_spaced(runs), "."]))
        if self.catalogue.may_write and self.study.given.has_views_file:
            field = html.Label(["Name ", dcc.Input(type="text", className="field", autoComplete="off")])
            block = view_block(texts, selection, self.workload.name, KEPT)
            keep = html.Button("Keep this view", className="tool", **{"data-keep": block})
            parts.append(html.Div([field, keep], className="deal"))
        return parts


def _spaced(links: Sequence[Node]) -> list[Node]:
    return [part for link in links for part in (" ", link)][1:]


def notebook_lines(opened: str, prices: Mapping[str, float], selection: str, texts: Mapping[str, str]) -> str:
    """Python that loads the same runs and draws them; *opened* is what ``open`` takes besides prices and filters."""
    more = "".join(f", {name}={given!r}" for name, given in (("prices", prices), ("filters", selection)) if given)
    drawn = {"x": texts[X], "y": texts[Y]}
    drawn |= {name: texts[key] for name, key in (("color", COLOUR), ("facet_col", PANELS)) if texts[key] != NONE}
    logs = [f"log_{axis}=True" for axis in "xy" if axis in texts[LOGARITHMS].split(" and ")]
    arguments = ", ".join([*(f"{name}={value!r}" for name, value in drawn.items()), *logs])
    return (
        "import matrix_benchmarking as mb\nimport plotly.express as px\n\n"
        f"runs = mb.open({opened}{more})\n"
        f"frame = runs.to_dataframe()\npx.scatter(frame, {arguments})"
    )


def view_block(texts: Mapping[str, str], selection: str, workload: str, name: str = "") -> str:
    """What keeps this view in the configuration, as YAML."""
    import yaml

    view = {**texts, FILTERS: selection} if selection else texts
    name = name or f"{texts[Y]} over {texts[X]}"
    return str(yaml.safe_dump({"matbench": {"views": {name: {**view, WORKLOAD: workload}}}}, allow_unicode=True,
                              sort_keys=False)).rstrip()  # fmt: skip


def views(
    given: Mapping[str, Mapping[str, Scalar]], workload: str, taken: Mapping[str, object]
) -> dict[str, type[Report]]:
    """A report for each view of *workload*; ConfigError for one whose name is that of a page."""
    found: dict[str, type[Report]] = {}
    for name, view in given.items():
        if view.get(WORKLOAD, workload) != workload:
            continue
        full = f"report: {name}"
        if full in taken or name in taken:
            raise ConfigError(f"matbench.views: there is a page '{name}' already; call the view otherwise")
        chosen = {key: show(value) for key, value in view.items() if value is not None}
        description = f"{chosen.get(Y, 'The headline KPI')} over {chosen.get(X, 'the settings')}"
        made = {"name": full, "chosen": chosen, "description": f"{description}, as it was kept."}
        found[full] = type("ViewReport", (ExploreReport,), made)
    return found
