"""Report and plot: every KPI over all points: how far it reaches, where it is best, and what the winner gives up."""

from __future__ import annotations

import functools
import math
import operator
import statistics
from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec
import plotly.graph_objects as go

from ..analyze import intervals
from ..analyze.best import Group
from ..analyze.points import ExclusionCause, Key, SettingsOf, by_point, key, part, values_at, varying
from ..analyze.words import named, plural, tuning_label
from ..filters import show
from ..kpi import KPIDefinition
from ..matrix import NOT_SET, Entry, typed
from . import clicks, template
from .base import Drawn, Report, View, of_newest
from .plot_ranking import BEST, LOOKS, OfAGroup
from .series_tables import run_links
from .tables import (
    Cell,
    Column,
    Columns,
    Node,
    Row,
    html,
    kpi_cell,
    setting_cells,
    setting_columns,
    table,
)

NEAR = 1.05
"""A KPI of the winner is as good as the best if it is at most so many times worse."""
FAR = 3.0
"""From so many times on the axis is logarithmic."""
ROW_PX, MARGIN_PX = 34, 130
Points = Sequence[Sequence[Entry]]


class KPIReport(Report):
    name: ClassVar[str] = "report: KPI overview"
    description: ClassVar[str] = (
        "Every KPI: its range, where its mean is best, what the best configuration gives up of it, and what it means."
    )

    def draw(self, view: View) -> list[Node]:
        if not self.workload.kpis:
            return [html.P("This workload defines no KPI.")]
        if not len(self.matrix):
            return [html.P("There is no finished test.")]
        parts: list[Node] = []
        groups = self._groups()
        alone = [points[0] for _, points in groups if len(points) == 1] if len(groups) > 1 else []
        for common, points in groups:
            if alone and len(points) == 1:
                continue
            label = tuning_label(common, [name for name, value in common.items() if value is not NOT_SET])
            said = ", ".join(filter(None, [self._version(points), label]))
            scope = f": {said}" if said else ""
            parts += [html.H2(f"KPIs{scope}"), *self._picture(common), self._kpis(points)]
            parts += [html.H2(f"Values at each point{scope}"), self._values(points, are_groups=False)]
        if alone:
            parts += [html.H2("Groups of one point"), self._values(alone, are_groups=True)]
        note = (
            "A value is the mean of the successful runs at one setting; ± is the standard deviation of one run, "
            "missing where there is one run. Failed tests, and those with values that can't be, take no part; best, "
            "median and worst are of the points whose answers are within the limits."
        )
        return [*parts, html.P(note, className="note")]

    def summary(self) -> str:
        count = len(self.workload.kpis)
        known = len(self.matrix.entries.kpi_names())
        return f"{count} {plural(count, 'KPI')}, {known} of them with values."

    def _version(self, points: Points) -> str:
        """The one version of *points*, where there are others."""
        newest = self.study.best.newest
        version = NOT_SET if newest is None else newest.of_runs(run for runs in points for run in runs)
        return "" if newest is None or version is NOT_SET else f"{newest.key} {show(version)}"

    def _groups(self) -> list[tuple[dict[str, object], Points]]:
        """Of several versions the newest, as the ranking has it."""
        names = self.workload.group_keys
        groups: dict[Key, list[Sequence[Entry]]] = {}
        rows = self.matrix.entries
        is_out = map(operator.or_, rows.failed(), map(bool, rows.values("implausible")))
        for runs in by_point(of_newest(self.study.best, rows.where(map(operator.not_, is_out)))):
            groups.setdefault(key(runs[0].settings, names), []).append(runs)
        return [(part(points[0][0].settings, names), points) for points in groups.values()]

    def _picture(self, common: Mapping[str, object]) -> list[Node]:
        """The KPIs of the group with these settings in *common*, where it is ranked."""
        for group in self.study.best.compared:
            if all(typed(common.get(name, NOT_SET)) == typed(value) for name, value in group.settings.items()):
                return KPISpreads(self.catalogue).parts_of(group)
        return []

    def _kpis(self, points: Points) -> Node:
        columns: Columns = [
            *("KPI", "Unit"),
            *(Column(title, numeric=True) for title in ("Best mean", "Median", "Worst mean")),
            *("Best mean at", Column("Known for", help="tests that have this KPI, of those that did not fail")),
            *("Direction", "Meaning"),
        ]
        tests: dict[object, int] = {}  # by what KPIs ask of the settings
        for kpi in self.workload.kpis.values():
            if kpi.applies_to not in tests:
                tests[kpi.applies_to] = sum(len(runs) for runs in points if kpi.applies(runs[0].settings))
        known = [(kpi, count) for kpi in self.workload.kpis.values() if (count := tests[kpi.applies_to])]
        may_be_best = [id(runs[0]) not in self._out for runs in points]
        rows = [self._kpi_row(kpi, points, may_be_best, count) for kpi, count in known]
        return table(columns, rows, caption="KPIs, their range over the points and where their mean is best")

    def _kpi_row(self, kpi: KPIDefinition, points: Points, may_be_best: Sequence[bool], tests: int) -> Row:
        values = values_at(points, kpi.name)
        known = sum(map(len, values))
        start: list[Cell | str] = [kpi.name, kpi.display_unit]
        end: list[Cell | str] = [f"{known} of {tests}", kpi.direction.removesuffix(" is better"), kpi.help]
        valued = [
            (intervals.mean_of(each), runs)
            for each, runs, may in zip(values, points, may_be_best, strict=True)
            if each and may
        ]
        if not valued:
            said = "the answers of all points are beyond a limit" if known else ""
            return [*start, "unknown", "unknown", "unknown", said, *end]
        valued.sort(key=lambda pair: pair[0], reverse=not kpi.lower_better)
        middle = statistics.median(value for value, _ in valued)
        if kpi.lower_better is None:
            low, high = kpi.show(valued[-1][0], unit=False), kpi.show(valued[0][0], unit=False)
            unjudged = f"not judged: from {low} to {high}"
            return [*start, "", kpi_cell(kpi, middle), "", unjudged, *end]
        best, runs = valued[0]
        ties = sum(math.isclose(value, best) for value, _ in valued)  # means of other numbers of runs
        where: Node = "all points" if ties == len(valued) else f"{ties} points"
        if ties == 1 < len(valued):
            where = self.link(runs[0], tuning_label(runs[0].settings, self._differing) or runs[0].name)
        return [*start, *(kpi_cell(kpi, value) for value in (best, middle, valued[-1][0])), Cell(where), *end]

    @functools.cached_property
    def _out(self) -> set[int]:
        """Runs of points that are never the best: their answers are beyond a limit, or they may not keep the chosen."""
        of_all, best = self.study.of_all, self.study.best
        ranked, kept = ({id(run) for group in found.groups for one in group.standings for run in one.point.runs}
                        for found in (of_all, best))  # fmt: skip
        gated = {id(one.entry) for one in best.excluded if one.cause is ExclusionCause.GATED}
        return gated | (ranked - kept if self.study.limited is not None else set())

    @functools.cached_property
    def _differing(self) -> list[str]:
        names = varying(self.matrix.entries)
        return [name for name in names if name not in self.workload.group_keys]

    def _values(self, points: Points, *, are_groups: bool) -> Node:
        """A table with a row a point, told apart by its settings within the group; of several groups by those that all
        have, and by the groups'.
        """
        settings, keys = SettingsOf(runs[0].settings for runs in points), self.workload.group_keys
        in_all = frozenset[str]() if not are_groups else frozenset.intersection(*map(frozenset, settings))
        names = [name for name in varying(settings) if (name in keys) == are_groups or name in in_all]
        kpis = [kpi for kpi in self.workload.kpis.values() if any(kpi.name in e.kpis for runs in points for e in runs)]
        columns: Columns = [
            *setting_columns(names, settings),
            *(Column(kpi.name, unit=kpi.display_unit, numeric=True, help=kpi.help) for kpi in kpis),
            "Runs",
        ]

        def row(runs: Sequence[Entry]) -> Row:
            settings = setting_cells(runs[0].settings, names)
            links = Cell(run_links(runs, self.link), sort=len(runs))
            return [*settings, *(value_cell(runs, kpi) for kpi in kpis), links]

        return table(columns, map(row, points), caption="Mean over the runs at each point")


def value_cell(runs: Sequence[Entry], kpi: KPIDefinition) -> Cell | str:
    values = [entry.kpis[kpi.name] for entry in runs if kpi.name in entry.kpis]
    if not values:
        return "unknown" if kpi.applies(runs[0].settings) else ""
    sample = intervals.summarise(values)
    value = kpi.show(sample.mean, unit=False)
    if sample.deviation is not None:
        value += f" ± {kpi.show(sample.deviation, unit=False)}"
    return Cell(value, sort=sample.mean / kpi.divisor)


class Spread(msgspec.Struct, frozen=True):
    """How many times worse than its best point's mean a KPI is: at the *winner*, in a quarter of the points, and so on.

    All are at least 1; *winner* is None where the KPI isn't known of it.
    """

    kpi: KPIDefinition
    winner: float | None
    quarter: float
    three_quarters: float
    worst: float


class KPISpreads(OfAGroup):
    name: ClassVar[str] = "All KPIs"

    def of(self, group: Group) -> Drawn:
        spreads, without = spreads_of(group, self.workload.kpis)
        figure = spread_figure(group, spreads) if spreads else None
        return figure, conclusion(group, spreads, without)


def spreads_of(group: Group, kpis: Mapping[str, KPIDefinition]) -> tuple[list[Spread], list[str]]:
    """Of each KPI that some point of *group* has and that has a direction; and the names of those without a ratio."""
    found, without = [], []
    points = [standing.point for standing in group.standings]
    for kpi in kpis.values():
        if kpi.lower_better is None:
            continue
        values = zip(points, values_at([point.runs for point in points], kpi.name), strict=True)
        known = {id(point): intervals.mean_of(each) for point, each in values if each}
        if not known:
            continue
        if min(known.values()) <= 0.0:
            without.append(kpi.name)
            continue
        best = min(known.values()) if kpi.lower_better else max(known.values())
        times = sorted(max(mean / best, best / mean) for mean in known.values())
        winner = known.get(id(group.best))
        at = None if winner is None else max(winner / best, best / winner)
        quarters = statistics.quantiles(times, n=4, method="inclusive") if times[1:] else times * 3
        found.append(Spread(kpi, at, quarters[0], quarters[2], times[-1]))
    return [one for one in found if math.isfinite(one.worst)], without


def spread_figure(group: Group, spreads: Sequence[Spread]) -> go.Figure:
    """A row a KPI, from its best point to its worst, half of the points in the thick part, and the winner's star."""
    figure = go.Figure()
    for name, width, ends in (
        ("all points", 2, [(1.0, one.worst) for one in spreads]),
        ("half of them", 9, [(one.quarter, one.three_quarters) for one in spreads]),
    ):
        figure.add_scatter(
            x=[each for low, high in ends for each in (low, high, None)],
            y=[place for place in range(len(spreads)) for _ in range(3)],
            mode="lines",
            line={"color": template.COLOURS[0], "width": width},
            name=name,
            hoverinfo="skip",
        )
    known = [(place, one) for place, one in enumerate(spreads) if one.winner is not None]
    best = group.best.runs
    said = [f"{one.kpi.name} {one.kpi.show(intervals.mean_of(*values_at([best], one.kpi.name)))}" for _, one in known]
    hover = [clicks.hover(best, template.text(each)) for each in said]
    x, y = [one.winner for _, one in known], [place for place, _ in known]
    look = {"marker": LOOKS[BEST], "name": f"the best by {template.text(group.kpi.name)}"}
    figure.add_trace(clicks.dots(x, y, hover, [clicks.run_of(best)] * len(known), **look))
    names = [template.text(one.kpi.name) for one in spreads]
    figure.update_yaxes(**template.rows_axis(names), showgrid=False)
    figure.update_xaxes(title={"text": "times worse than best", "font_size": 13}, ticksuffix=" ×")
    if max(one.worst for one in spreads) > FAR:
        ticks = template.log_axis([1.0, *(one.worst for one in spreads)])
        figure.update_xaxes(
            type="log", tickvals=ticks["tickvals"], ticktext=[f"{text} ×" for text in ticks["ticktext"]]
        )
    return template.apply(figure, height=ROW_PX * len(spreads) + MARGIN_PX)


def conclusion(group: Group, spreads: Sequence[Spread], without: Sequence[str]) -> list[str]:
    """By which KPIs the winner is as good as any point, and what it gives up by the others."""
    others = [one for one in spreads if one.winner is not None and one.kpi.name != group.kpi.name]
    near = [one.kpi.name for one in others if (one.winner or 0.0) <= NEAR]
    far = sorted((one for one in others if (one.winner or 0.0) > NEAR), key=lambda one: -(one.winner or 0.0))
    said = [f"The best by {group.kpi.name} is within 5 % of the best by {named(near)}."] if near else []
    if far:
        worse = named([f"{one.kpi.name} {one.winner:,.3g} times" for one in far])
        said.append(f"{'It' if near else f'The best by {group.kpi.name}'} is worse by others: {worse}.")
    if not others:
        said += [
            f"{one.kpi.name} is within 5 % of its best at all points."
            if one.worst <= NEAR
            else f"{one.kpi.name} is up to {one.worst:,.3g} times worse than at its best point."
            for one in spreads
        ]
    said += [f"Not drawn, for values that aren't above 0: {named(without)}."] if without else []
    return [" ".join(said) or "No KPI of these points has values and a direction."]
