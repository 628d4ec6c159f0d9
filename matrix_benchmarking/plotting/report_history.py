"""Report: did the new version make it worse? Each KPI from version to version, series by series."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ..analyze.changes import Change, changes, count
from ..analyze.history_wording import (
    chance_text,
    conclusions,
    cut_inside,
    interval_text,
    point_text,
    series_text,
    step_texts,
)
from ..analyze.select.series import KPISeries, Series
from ..analyze.wording import difference_label
from ..matrix import SettingLists, Variables
from .base import Report
from .plot_history import KPIHistory, find, why_nothing
from .tables import Cell, Column, Row, kpi_cell, table
from .template import short

NEWEST_RUNS_LINKED = 5
LONGEST_NAME, LONGEST_VERSION = 160, 26


class HistoryReport(Report):
    """The plot of the series that moved most, and a table of all; cfg ``kpi`` and ``axis`` choose."""

    name: ClassVar[str] = "report: KPI history"
    description: ClassVar[str] = (
        "Did the new version make it worse? A KPI from version to version, at settings that differ in nothing else."
    )

    def do_plot(
        self,
        ordered_vars: list[str],
        settings: dict[str, Any],
        setting_lists: SettingLists,
        variables: Variables,
        cfg: Mapping[str, Any],
    ) -> list[Any]:
        from dash import html

        notes = [] if self.catalogue.past is None else self.catalogue.past.notes
        parts: list[Any] = [html.P(f"Note: {short(note, 500)}", className="note") for note in notes[:3]]
        parts += self.Plot_and_Text(KPIHistory.name, (ordered_vars, settings, setting_lists, variables, cfg))
        if why_nothing(self.catalogue):
            return parts
        found = find(self.catalogue, settings, setting_lists, cfg)
        parts += [html.H2("Every KPI"), self._kpis(settings, setting_lists, cfg)]
        if found.series:
            parts += [html.H2(f"All series of {found.kpi.name}"), self._table(found)]
        parts.append(_how_to_read(found))
        return parts

    def summary(self) -> str:
        if why_nothing(self.catalogue):
            return "There is no history to compare with."
        found = find(self.catalogue, {}, (), {})
        return conclusions(found, changes(found))[0]

    def _kpis(self, settings: Mapping[str, Any], setting_lists: SettingLists, cfg: Mapping[str, Any]) -> Any:
        """A row for each KPI: in how many series the newest value is worse, and where most."""
        help_text = "series whose newest value differs by more than chance from the one before it"
        columns = [
            Column("KPI"),
            Column("Direction"),
            Column("Series", numeric=True, help="that have two points at least"),
            Column("Worse", numeric=True, help=help_text),
            Column("Better", numeric=True, help=help_text),
            Column("No difference", numeric=True, help="series whose interval includes no difference"),
            Column("Unknown", numeric=True, help="nothing was repeated, so chance isn't known"),
            Column("Worse by most"),
        ]
        rows: list[Row] = []
        for name, kpi in self.workload.kpis.items():
            found = find(self.catalogue, settings, setting_lists, {**cfg, "kpi": name})
            moved = changes(found)
            counts = count(moved)
            worst = next((one for one in moved if one.is_better is False), None)
            most = ""
            if worst is not None:
                difference = difference_label(worst.comparison.difference, worst.comparison.scale, kpi)
                most = f"{difference}: {_name(found, worst.series)}"
            if counts.changed:
                most = f"not judged: {counts.changed} differ by more than chance"
            numbers = (len(moved), counts.worse, counts.better, counts.same, counts.unknown)
            cells = [Cell(str(number), sort=number) for number in numbers]
            rows.append([name, kpi.direction.removesuffix(" is better"), *cells, most])
        return table(columns, rows, caption="The newest point of each series against the one before it, KPI by KPI")

    def _table(self, found: KPISeries) -> Any:
        kpi = found.kpi
        points, point = ("Versions", "version") if found.axis is not None else ("Runs in time", "run")
        columns = [
            Column("Series"),
            Column(points, numeric=True),
            Column("Runs", numeric=True),
            Column("First", unit=kpi.display_unit, numeric=True, help=f"the mean at the first {point}"),
            Column("Newest", unit=kpi.display_unit, numeric=True, help=f"the mean at the newest {point}"),
            Column("Newest at"),
            Column("Change", numeric=True, help=f"the newest {point} against the one before it"),
            Column("95 % interval", numeric=True, help="of the change"),
            Column("More than chance"),
            Column("Since the first", numeric=True),
            Column("Newest runs"),
        ]
        moved = changes(found)
        texts = step_texts(found)
        compared = {id(one.series) for one in moved}
        rows = [self._row(one.series, one, found, texts) for one in moved]
        rows += [self._row(one, None, found, texts) for one in found.series if id(one) not in compared]
        return table(columns, rows, caption=f"{kpi.name}, {kpi.direction}: series by series, what moved most first")

    def _row(self, series: Series, change: Change | None, found: KPISeries, texts: list[str]) -> Row:
        kpi, first, newest = found.kpi, series.points[0], series.newest
        moved: list[Cell | str] = ["–", "–", "one point", "–"]
        if change is not None:
            since = difference_label(change.comparison_with_first.difference, change.comparison_with_first.scale, kpi)
            moved = [
                Cell(
                    difference_label(change.comparison.difference, change.comparison.scale, kpi),
                    sort=change.comparison.difference,
                ),
                interval_text(change, found),
                Cell(chance_text(change), mark=change.comparison.apart is True),
                Cell(since, sort=change.comparison_with_first.difference),
            ]
        return [
            _name(found, series),
            Cell(str(len(series.points)), sort=len(series.points)),
            Cell(str(series.runs), sort=series.runs),
            kpi_cell(kpi, first.mean),
            kpi_cell(kpi, newest.mean),
            cut_inside(point_text(found, newest, texts).removeprefix(f"{found.axis} "), LONGEST_VERSION),
            *moved,
            Cell(list(self._newest_runs(series))),
        ]

    def _newest_runs(self, series: Series) -> Iterator[Any]:
        for number, entry in enumerate(series.newest.entries[:NEWEST_RUNS_LINKED], 1):
            yield self.link(entry, str(number))
            yield " "
        more = series.newest.count - NEWEST_RUNS_LINKED
        if more > 0:
            yield f"and {more} more"


def _name(found: KPISeries, series: Series) -> str:
    return short(series_text(found, series), LONGEST_NAME)


def _how_to_read(found: KPISeries) -> Any:
    from dash import html

    by = "version" if found.axis is not None else "run"
    items = [
        f"A change is the newest {by} of a series against the one before it, by Welch's t-test over the repeats; where "
        "one of them is a single run, the spread is that of all points with repeats.",
        "Each comparison is at 95 % by itself, not corrected for making many: of a hundred that did not change, some "
        "five say otherwise.",
        "A run without a link is known from the history alone; its id is behind its number.",
    ]
    return html.Section([html.H2("How to read this"), html.Ul([html.Li(item) for item in items])])
