"""Report: the best configuration, what stands behind it, and what can't be told apart from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from ..analyze.best import WIDEST, Best, Group
from ..analyze.study import Study
from ..analyze.wording import ranking
from ..analyze.words import plural, tuning_label
from . import tables
from .base import Report, View
from .controls import Control, Number, read
from .environments import repeat_section
from .point_tables import limit_table, setting_cells, setting_columns, value_cells, value_columns
from .tables import Cell, Columns, Node, Row, html, table

if TYPE_CHECKING:
    from dash.development.base_component import Component

    from .base import Href

LIMIT = "limit"


class BestReport(Report):
    name: ClassVar[str] = "report: Best configuration"
    description: ClassVar[str] = (
        "The best configuration, how many runs stand behind it, and which others can't be told apart from it."
    )

    def draw(self, view: View) -> list[Node]:
        if LIMIT in view.cfg:
            self.study = self.study.under(view.cfg[LIMIT])
            self.catalogue = dataclasses.replace(self.catalogue, study=self.study)
        best = self.study.best
        parts: list[Node] = [] if self.catalogue.is_live else [verdict_box(self.study)]
        for group in best.compared:
            parts += [html.H2(_heading("Best of each variant", group)), variants_table(group, self.catalogue.href)]
            parts += repeat_section(group.best.runs, self.catalogue.href, _heading("Repeat the best", group))
        if best.alone:
            parts += [
                html.H2("Groups of one point, in which nothing is compared"),
                alone_table(best, self.catalogue.href),
            ]
        parts += self._limits()
        if any(not entry.failed for entry in self.matrix):
            parts += self.figures(view)
        for group in best.compared:
            parts += [html.H2(_heading("All points, the best first", group)), self._ranking(group)]
        if best.excluded:
            rows: list[Row] = [[Cell(self.link(one.entry)), one.cause.value, one.reason] for one in best.excluded]
            caption = "Left out of the ranking"
            parts += [html.H2("Runs that take no part"), table(["Test", "State", "Reason"], rows, caption=caption)]
        if best.groups:
            parts.append(how_to_read(self.study))
        return parts

    def controls(self) -> Sequence[Control]:
        return limits(self.study)

    def summary(self) -> str:
        groups = self.study.best.groups
        points = sum(len(group.standings) for group in groups)
        variants = sum(len(group.variants) for group in groups)
        return f"{points} {plural(points, 'point')} of {variants} {plural(variants, 'variant')}."

    def _limits(self) -> list[Node]:
        kpi = self.workload.limited
        if kpi is None:
            return []
        parts: list[Node] = []
        for group in self.study.of_all.groups:
            found = limit_table(group, self.catalogue.href, kpi)
            if found:
                parts += [html.H2(_heading(f"Best under a limit on {kpi.name}", group)), *found]
        return parts

    def figures(self, view: View) -> list[Node]:
        """What a workload shows between the best of each variant and the list of all points."""
        return []

    def _ranking(self, group: Group) -> Node:
        names = [*group.variant_names, *group.tuning_names]
        columns: Columns = [*setting_columns(names, group), *value_columns(group.kpi)]
        rows = (
            [*setting_cells(one.point.settings, names), *value_cells(one, group, self.catalogue.href)]
            for one in group.standings
        )
        return table(columns, rows, caption=f"All points by {group.kpi.name}, {group.kpi.direction}")


def limits(study: Study) -> Sequence[Control]:
    """The limit that the best has to keep, on all pages; none where no point has a value of a limited KPI."""
    kpi = study.workload.limited
    points = (one.point for group in study.of_all.groups for one in group.standings)
    values = [] if kpi is None else [run.kpis[kpi.name] for one in points for run in one.runs if kpi.name in run.kpis]
    if kpi is None or not values:
        return ()
    bound = "at most" if kpi.lower_better else "at least"
    least = 0.0 if min(values) >= 0 else None
    return [Number(LIMIT, f"{kpi.name} {bound}", minimum=least, unit=kpi.display_unit)]


def limited(study: Study, texts: Mapping[str, str]) -> Study:
    """*study* under the limit that the *texts* of an address choose; one that can't be read is none."""
    return study.under(read(limits(study), texts)[0].get(LIMIT))


def under_which(study: Study) -> str:
    limited = study.limited
    return "" if limited is None else f"Ranked are the points {ranking.condition_label(limited.kpi, limited.limit)}."


def verdict_box(study: Study, more: Sequence[Node] = ()) -> Component:
    best, limited = study.best, study.limited
    verdicts = ranking.verdict(best) if limited is None else ranking.verdict_under(limited)
    lines: list[Node] = []
    for verdict in verdicts:
        lines.append(html.P(verdict.lead, className="lead"))
        if verdict.rest:
            lines.append(html.P(verdict.rest))
    if limited is not None:
        said = [*ranking.satisfied_under(limited), *ranking.left_out(limited)]
        lines += [html.P(sentence) for sentence in said]
    elif study.workload.limited is not None:
        lines += [html.P(sentence) for sentence in ranking.satisfied(best, study.workload.limited)]
    if best.groups and best.excluded:
        lines.append(html.P(f"{ranking.exclusions(best)}."))
    for group in best.groups:
        lines += [html.P(f"Doubtful: {warning}", className="warning") for warning in group.best.warnings]
    return html.Div([*lines, *more], className="verdict")


def variants_table(group: Group, href: Href) -> Node:
    kpi, tuning = group.kpi, group.tuning_names
    at = ["At"] if tuning else []
    columns: Columns = [*setting_columns(group.variant_names, group), *at, *value_columns(kpi), "Warnings"]
    rows: list[Row] = []
    for one in group.variants:
        settings = setting_cells(one.point.settings, group.variant_names)
        settings += [tuning_label(one.point.settings, tuning)] if tuning else []
        rows.append([*settings, *value_cells(one, group, href), _kinds(one.point.warnings)])
    return table(columns, rows, caption=_heading(f"Best {kpi.name} of each variant, {kpi.direction}", group))


def alone_table(best: Best, href: Href) -> Node:
    assert best.kpi is not None
    names = list(best.alone[0].settings)
    value, interval, *_, runs = value_columns(best.kpi)
    rows: list[Row] = []
    for group in best.alone:
        of_value, of_interval, *_, of_runs = value_cells(group.standings[0], group, href, is_alone=True)
        rows.append(
            [*setting_cells(group.settings, names), of_value, of_interval, of_runs, _kinds(group.best.warnings)]
        )
    columns: Columns = [*names, value, interval, runs, "Warnings"]
    return table(columns, rows, caption=f"{best.kpi.name} of the groups of one point, {best.kpi.direction}")


def _kinds(warnings: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(warning.partition(":")[0] for warning in warnings)) or "none"


def how_to_read(study: Study) -> Node:
    groups = study.best.groups
    items = [
        "A value is the mean of the runs at one setting. Its 95 % interval is Student's t interval of the logarithm of "
        "the mean (of the mean itself where some values aren't positive). The spread of each point's runs is drawn "
        "towards what is usual of all points, and the interval's worse end allows for the point's having been chosen "
        "among all.",
        "May be the best: the points of a set that contains the best one with 95 %, however many were compared "
        "(multiple comparisons with the best). The others are worse by more than chance explains.",
    ]
    rounds = max((group.rounds for group in groups), default=0)
    if rounds:
        items.append(f"All points were measured in each of {rounds} rounds: what a round adds to all is taken out.")
    if any(group.estimates is not None for group in groups):
        items.append("* One run: the interval's width is taken from the repeats of other points.")
        if any(one.point.interval is None for group in groups for one in group.standings):
            items.append(f"Unknown: there are too few repeats to tell the mean within a factor of {WIDEST:g}.")
    else:
        items.append("No point was repeated, so intervals are unknown: run some points three times.")
    if study.workload.limited is not None:
        items.append(
            "A limit is kept by the one-sided 95 % bound of a point's mean, which allows for all the points that keep "
            "it. One run has no bound."
        )
    return tables.how_to_read(items)


def _heading(text: str, group: Group) -> str:
    return f"{text}: {ranking.scope(group)}" if group.settings else text
