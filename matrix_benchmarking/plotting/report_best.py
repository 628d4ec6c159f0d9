"""Report: the best configuration, what stands behind it, and what can't be told apart from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from ..analyze.best import Best, Group, Standing
from ..analyze.intervals import WIDEST
from ..analyze.points import Point
from ..analyze.study import Study
from ..analyze.wording import ranking, under_limit
from ..analyze.words import count_of, plural, tuning_label
from ..kpi import KPIDefinition
from ..matrix import Entry
from .base import Href, Report, View
from .controls import Control, Number, read
from .environments import repeat_section
from .plot_ranking import limit_picture, pictures
from .report_errors import left_out
from .series_tables import run_links
from .tables import Cell, Column, Columns, Node, Row, command, html, kpi_cell, setting_cells, setting_columns, table
from .tables import how_to_read as explained

if TYPE_CHECKING:
    from dash.development.base_component import Component

LIMIT = "limit"


class BestReport(Report):
    name: ClassVar[str] = "report: Best configuration"
    description: ClassVar[str] = "Which configuration is best, and what else may be?"

    def draw(self, view: View) -> list[Node]:
        if LIMIT in view.cfg:
            self.study = self.study.under(view.cfg[LIMIT])
            self.catalogue = dataclasses.replace(self.catalogue, study=self.study)
        best = self.study.best
        parts: list[Node] = [] if self.catalogue.is_live else [verdict_box(self.study)]
        for place, group in enumerate(best.compared):
            parts += _heading_of(group)
            parts.append(pictures(self.catalogue, group, is_first=not place))
            parts.append(variants_table(best, group, self.catalogue.href))
            parts += repeat_section(group.best.runs, self.catalogue.href, _heading("Repeat the best", group))
        parts += [
            part for group in self._beyond() for part in (*_heading_of(group), limit_picture(self.catalogue, group))
        ]
        if best.alone:
            parts += [
                html.H2("Groups of one point, in which nothing is compared"),
                *alone_tables(best, self.catalogue.href),
            ]
        if any(not entry.failed for entry in self.matrix):
            parts += self.figures(view)
        for group in best.compared:
            parts += [html.H2(_heading("All points, the best first", group)), self._ranking(group)]
        parts += left_out(best, self.link)
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

    def figures(self, view: View) -> list[Node]:
        """What a workload shows between the best of each variant and the list of all points."""
        return []

    def _beyond(self) -> list[Group]:
        """The groups of which no point keeps the limit that is in force."""
        kept = [group.settings for group in self.study.best.groups]
        return [group for group in self.study.of_all.compared if group.settings not in kept]

    def _ranking(self, group: Group) -> Node:
        names = [*group.variant_names, *group.tuning_names]
        columns: Columns = [*setting_columns(names, group.tried), *value_columns(group.kpi)]
        rows = (
            [*setting_cells(one.point.settings, names), *value_cells(one, group, self.catalogue.href)]
            for one in group.standings
        )
        return table(columns, rows, caption=f"All points by {group.kpi.name}, {group.kpi.direction}")


def _heading_of(group: Group) -> list[Node]:
    return [html.H2(f"For {ranking.scope(group)}")] if group.settings else []


def limits(study: Study) -> Sequence[Control]:
    """The limit that the best has to keep, on all pages; none where no point has a value of a limited KPI."""
    kpi, ends = study.workload.limited, study.ends_of_limited
    if kpi is None or ends is None:
        return ()
    bound = "at most" if kpi.lower_better else "at least"
    least = 0.0 if ends[0] >= 0 else None
    return [Number(LIMIT, f"{kpi.name} {bound}", minimum=least, unit=kpi.display_unit)]


def limited(study: Study, texts: Mapping[str, str]) -> Study:
    """*study* under the limit that the *texts* of an address choose; one that can't be read is none."""
    return study.under(read(limits(study), texts)[0].get(LIMIT))


def under_which(study: Study) -> str:
    limited = study.limited
    return (
        "" if limited is None else f"Ranked are the points {under_limit.condition_label(limited.kpi, limited.limit)}."
    )


def verdict_box(
    study: Study,
    more: Sequence[Node] = (),
    *,
    is_brief: bool = False,
    check: Node = None,
    findings: int | None = 0,
    compare: str | None = None,
) -> Component:
    """What is best and whether it is at the edge; what stands behind it is one line that opens.

    *is_brief* leaves all but the first group to what opens; *check* is the line on what is odd about the runs, of so
    many *findings*, None while they are looked for, *compare* the address of the page that compares.
    """
    best, limited = study.best, study.limited
    verdicts = ranking.verdict(best) if limited is None else under_limit.verdict_under(limited)
    lines: list[Node] = []
    behind: list[Node] = []
    for place, verdict in enumerate(verdicts):
        shown = behind if is_brief and place else lines
        shown.append(html.P([verdict.claim, html.Span(verdict.behind, className="behind")], className="lead"))
        shown += [html.P(said) for said in [" ".join(filter(None, (verdict.rivals, verdict.edge)))] if said]
        behind += [html.P(verdict.rest)] if verdict.rest else []
        behind += [html.P("Measure beyond it:"), command(verdict.command)] if verdict.command else []
    for said in ranking.of_before(study.better_before, best.newest):
        claim, name, rest = said.rpartition(ranking.COMPARE)
        lines.append(html.P([claim, name if compare is None else html.A(name, href=compare), rest]))
    # The index has said it, and other pages are about something else.
    lines += [html.P(said, className="warning") for said in ([] if is_brief or more else ranking.of_history(study))]
    failed = ranking.of_failed(study.without_a_good_run)
    lines += [html.P(said, className="warning") for said in failed]
    if limited is not None:
        lines += [html.P(said) for said in under_limit.not_sure(limited)]
        behind += [html.P(said) for said in [*under_limit.satisfied_under(limited), *under_limit.left_out(limited)]]
    elif study.workload.limited is not None:
        behind += [html.P(sentence) for sentence in under_limit.satisfied(best, study.workload.limited)]
    behind += [html.P(sentence) for sentence in ranking.of_newest(best)]
    lines += [html.P(sentence) for sentence in ranking.of_trees(best)]
    if best.groups and best.excluded:
        behind.append(html.P(f"{ranking.exclusions(best)}."))
    lines += [html.P(sentence) for sentence in ranking.instead(study.unknown_headline, study.matrix)]
    is_odd = getattr(check, "className", None) == "warning"  # what may change the answer isn't folded away
    lines += [check] if is_odd else []
    doubts = ranking.doubts(best)
    others = max(len(verdicts), len(best.groups)) - 1  # those of one point have one sentence
    counts = [count_of(others, "other group")] if is_brief and len(verdicts) > 1 else []
    counts += ["What to measure next"] if any(verdict.command for verdict in verdicts) else []
    counts += [f"{count_of(len(best.excluded), 'run')} left out"] if best.groups and best.excluded else []
    counts += ["looking for findings"] if findings is None else []
    counts += [count_of(findings, "finding")] if findings and not is_odd else []
    # A single one, such as that more may do better, is said and not only counted.
    is_said = len(doubts) == 1 and not is_brief
    counts += [f"1 doubt{doubts[0].removeprefix(ranking.DOUBTFUL)}"] if is_said else []
    counts += [count_of(len(doubts), "doubt")] if doubts and not is_said else []
    behind += [html.P(doubt, className="warning") for doubt in doubts if not is_said]
    title = html.Summary(", ".join(counts) or "What stands behind it", className="warning" if doubts else None)
    hidden = [*behind, *([check] if check is not None and not is_odd else [])]
    lines += [html.Details([title, *hidden])] if hidden else [html.P(doubt, className="warning") for doubt in doubts]
    return html.Div([*lines, *more], className="verdict brief" if is_brief else "verdict")


def variants_table(best: Best, group: Group, href: Href) -> Node:
    kpi, tuning = group.kpi, group.tuning_names
    at = [Column("At", setting=True)] if tuning else []
    columns: Columns = [*setting_columns(group.variant_names, group.tried), *at, *value_columns(kpi), "Warnings"]
    rows: list[Row] = []
    for one in group.variants:
        settings = setting_cells(one.point.settings, group.variant_names)
        settings += [tuning_label(one.point.settings, tuning)] if tuning else []
        rows.append([*settings, *value_cells(one, group, href), _warnings(best, one.point)])
    return table(columns, rows, caption=_heading(f"{kpi.name} of each variant at its best, {kpi.direction}", group))


def alone_tables(best: Best, href: Href) -> list[Node]:
    """A table for each KPI of the groups of one point."""
    tables: list[Node] = []
    for groups in best.alone_by_kpi:
        kpi = groups[0].kpi
        names = list(dict.fromkeys(name for group in groups for name in group.settings))
        value, interval, *_, runs = value_columns(kpi)
        rows: list[Row] = []
        for group in groups:
            of_value, of_interval, *_, of_runs = value_cells(group.standings[0], group, href, is_alone=True)
            settings = setting_cells(group.settings, names)
            rows.append([*settings, of_value, of_interval, of_runs, _warnings(best, group.best)])
        columns: Columns = [*names, value, interval, runs, "Warnings"]
        tables.append(table(columns, rows, caption=f"{kpi.name} of the groups of one point, {kpi.direction}"))
    return tables


def _warnings(best: Best, point: Point) -> str:
    return _kinds([*filter(None, [ranking.failed_runs(best, point)]), *point.warnings])


def _kinds(warnings: Sequence[str]) -> str:
    """What *warnings* are about, and where not all runs have one how many: ``the client lagged (1 of 3 runs)``."""
    kinds = []
    for warning in warnings:
        said, _, share = warning.rpartition(" (")
        count = share.rstrip(")").partition(":")[0]
        is_counted = bool(said) and count.endswith("runs")
        kind = (said if is_counted else warning).partition(":")[0]
        kinds.append(f"{kind} ({count})" if is_counted and " of " in count else kind)
    return "; ".join(dict.fromkeys(kinds)) or "none"


def how_to_read(study: Study) -> Node:
    groups = study.best.groups
    items = [
        "A value is the mean of the runs at one setting. Its 95 % interval is Student's t interval of the logarithm of "
        "the mean (of the mean itself where some values aren't positive). The spread of each point's runs is drawn "
        "towards what is usual of all points, and the interval's worse end allows for the point's having been chosen "
        "among all.",
        "May be the best: the points of a set that contains the best one with 95 %, however many were compared "
        "(multiple comparisons with the best). The others are worse by more than chance explains; in one campaign "
        "without rounds, by more than runs scatter there.",
    ]
    rounds = max((group.rounds for group in groups), default=0)
    if rounds:
        items.append(f"All points were measured in each of {rounds} rounds: what a round adds to all is taken out.")
    if any(group.estimates is not None for group in groups):
        items.append("* One run: the interval's width is taken from the repeats of other points.")
        if any(one.point.interval and one.point.interval.is_within for group in groups for one in group.standings):
            items.append(ranking.OF_WITHIN)
        if any(one.point.interval is None for group in groups for one in group.standings):
            items.append(f"Unknown: there are too few repeats to tell the mean within a factor of {WIDEST:g}.")
    else:
        items.append("No point was repeated, so intervals are unknown: run some points three times.")
    if study.workload.limited is not None:
        items.append(
            "A limit is kept by the one-sided 95 % bound of a point's mean, which allows for all the points that keep "
            "it. One run has no bound."
        )
    return explained(items)


def _heading(text: str, group: Group) -> str:
    return f"{text}: {ranking.scope(group)}" if group.settings else text


def value_columns(kpi: KPIDefinition) -> list[Column]:
    return [
        Column(kpi.name, unit=kpi.display_unit, numeric=True, help=f"{kpi.help}; {kpi.direction}"),
        Column("95 % interval", unit=kpi.display_unit, numeric=True, help="of the mean; allows for having been chosen"),
        Column("Difference", numeric=True, help="from the best point of all"),
        Column("May be the best", help="whether it is in the set that contains the best with 95 %"),
        Column("Runs", help="the runs behind the value, each a link to its test directory"),
    ]


def value_cells(standing: Standing, group: Group, href: Href, *, is_alone: bool = False) -> list[Cell | str]:
    point, kpi = standing.point, group.kpi
    is_best = point is group.best and not is_alone
    difference = ranking.difference_label(standing.difference, group.scale, kpi)
    no = "no" if group.is_in_turn else "not by its runs"
    return [
        kpi_cell(kpi, point.value, mark=is_best),
        interval_cell(point, kpi),
        Cell("best" if is_best else difference, sort=standing.difference),
        "" if is_best else {True: no, False: "yes", None: "unknown"}[standing.apart],
        runs_cell(point.runs, href),
    ]


def interval_cell(point: Point, kpi: KPIDefinition) -> Cell | str:
    if point.interval is None:
        return "unknown"
    label = ranking.interval_label(point.interval, kpi, unit=False)
    marks = f"{' *' if len(point.runs) == 1 else ''}{' †' if point.interval.is_within else ''}"
    return Cell(f"{label}{marks}", sort=point.interval.low / kpi.divisor)


def runs_cell(runs: Sequence[Entry], href: Href) -> Cell:
    def link(run: Entry, text: str) -> Node:
        return html.A(text, href=href(run), title=run.name)

    links = [link(runs[0], "1 run")] if len(runs) == 1 else [f"{len(runs)} runs: ", *run_links(runs, link)]
    return Cell(links, sort=len(runs))
