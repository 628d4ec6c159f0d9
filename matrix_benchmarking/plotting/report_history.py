"""Report: did the new version make it worse? Each KPI from version to version, series by series."""

from __future__ import annotations

from typing import ClassVar

from ..analyze.select.series import KPISeries, Series
from ..analyze.verdict.model import SEVERITY, Outcome, SeriesVerdict
from ..analyze.wording import verdicts as wording
from ..analyze.wording.verdicts import conclusions, counts, judged_series
from ..analyze.words import cut_inside
from .base import Report, View
from .plot_history import KPIHistory, find, why_nothing
from .report_regression import outcome_text, run_links, size_cell
from .tables import Cell, Column, Columns, Node, Row, count_cell, how_to_read, html, kpi_cell, table
from .template import short

LONGEST_NAME, LONGEST_VERSION = 160, 26
OUTCOMES = {**{one.value.capitalize(): one for one in SEVERITY}, "Not judged": Outcome.NOT_ANALYSED}


class HistoryReport(Report):
    name: ClassVar[str] = "report: KPI history"
    description: ClassVar[str] = (
        "Did the new version make it worse? A KPI from version to version, at settings that differ in nothing else."
    )

    def draw(self, view: View) -> list[Node]:
        notes = [] if self.study.past is None else self.study.past.notes
        parts: list[Node] = [html.P(f"Note: {short(note, 500)}", className="note") for note in notes[:3]]
        parts += self.Plot_and_Text(KPIHistory.name, view)
        if why_nothing(self.study):
            return parts
        found = find(self.study, view)
        parts += [html.H2("Every KPI"), self._kpis(view)]
        if found.series:
            parts += [html.H2(f"All series of {found.kpi.name}"), self._table(found)]
        parts.append(how_to_read(HOW_TO_READ))
        return parts

    def summary(self) -> str:
        if why_nothing(self.study):
            return "There is no history to compare with."
        found = find(self.study, View([], {}, [], {}, {}))
        return conclusions(found, judged_series(found, self.study.analysis))[0]

    def _kpis(self, view: View) -> Node:
        columns: Columns = [
            "KPI",
            "Direction",
            *(Column(title, numeric=True) for title in ("Series", *OUTCOMES)),
            "Worst",
        ]
        rows: list[Row] = []
        for name, kpi in self.workload.kpis.items():
            judged = judged_series(find(self.study, view.choosing(kpi=name)), self.study.analysis)
            number = counts(judged)
            cells = [count_cell(each) for each in (len(judged), *(number[outcome] for outcome in OUTCOMES.values()))]
            bad = (Outcome.REGRESSION, Outcome.SUSPECTED)
            worst = next((one for _, one in judged if one is not None and one.outcome in bad), None)
            most = "" if worst is None else short(f"{wording.size(worst)}: {worst.name}", LONGEST_NAME)
            rows.append([name, kpi.direction.removesuffix(" is better"), *cells, most])
        return table(columns, rows, caption="The verdicts on all series, KPI by KPI")

    def _table(self, found: KPISeries) -> Node:
        kpi = found.kpi
        points, point = ("Versions", "version") if found.axis is not None else ("Runs in time", "run")
        columns: Columns = [
            *("Series", Column(points, numeric=True), Column("Runs", numeric=True), "Verdict"),
            Column("Change", numeric=True, help="the new level against the old one, with its 95 % interval"),
            "Since",
            Column("First", unit=kpi.display_unit, numeric=True, help=f"the mean at the first {point}"),
            Column("Newest", unit=kpi.display_unit, numeric=True, help=f"the mean at the newest {point}"),
            *("Newest at", "Newest runs"),
        ]
        rows = [self._row(*one) for one in judged_series(found, self.study.analysis)]
        return table(columns, rows, caption=f"{kpi.name}, {kpi.direction}: series by series, the most severe first")

    def _row(self, series: Series, verdict: SeriesVerdict | None) -> Row:
        kpi, newest = series.kpi, series.points[-1]
        told: list[Cell | str] = ["not judged", "–", "–"]
        if verdict is not None:
            told = [
                outcome_text(verdict),
                "–" if verdict.first_bad_version is None else size_cell(verdict),
                cut_inside(verdict.first_bad_version or "–", LONGEST_VERSION),
            ]
        return [
            short(series.name, LONGEST_NAME),
            count_cell(len(series.points)),
            count_cell(sum(point.count for point in series.points)),
            *told,
            kpi_cell(kpi, series.points[0].mean),
            kpi_cell(kpi, newest.mean),
            cut_inside(series.versions[-1], LONGEST_VERSION),
            Cell(run_links(newest.entries, self.link)),
        ]


HOW_TO_READ = (
    "The verdicts are those of the regression analysis: each series against its whole history. What one block of runs "
    "alone supports is suspected; worse is what another block confirms.",
    "A change is the newest level of a series against the one before it, not the newest version against the last.",
    "A run without a link is known from the history alone; its id is behind its number.",
)
