"""Report and plot: a KPI from version to version, a chart for each of the most severe of its series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..analyze.check import AnswerKind
from ..analyze.select.labelled import LabelledRun
from ..analyze.select.series import KPISeries, series_of
from ..analyze.study import Study
from ..analyze.verdict.model import SEVERITY, Outcome, SeriesVerdict
from ..analyze.wording import verdicts as wording
from ..analyze.wording.verdicts import WithVerdict, conclusions, counts, judged_series
from ..errors import ConfigError, did_you_mean
from ..matrix import typed
from ..workload import MinimumEffect
from . import series_chart
from .base import Drawn, Plot, Report, View
from .controls import Choice, Control
from .report_compare import CompareReport
from .series_tables import LONGEST_NAME, series_table
from .tables import Column, Columns, Node, Row, count_cell, how_to_read, html, table
from .template import short

MOST_DRAWN = 12
OUTCOMES = {**{one.value.capitalize(): one for one in SEVERITY}, "Not judged": Outcome.NOT_ANALYSED}


class KPIHistory(Plot):
    """The series of one KPI from version to version, the most severe verdict first; in time where no version varies."""

    name: ClassVar[str] = "KPI history"
    answers = AnswerKind.HISTORY

    def controls(self) -> Sequence[Control]:
        names = list(self.workload.kpis)
        found: list[Control] = [Choice("kpi", "KPI", names, _headline(self.study))]
        keys = self.study.order.keys
        if len(keys) > 1:
            found.append(Choice("axis", "Versions of", keys, keys[0]))
        return found

    def draw(self, view: View) -> Drawn:
        nothing = why_nothing(self.study)
        if nothing:
            return None, nothing
        found = find(self.study, view)
        judged = judged_series(found, self.study.analysis)
        shown = [_drawn(one) for one in judged if len(one[0].points) > 1][:MOST_DRAWN]
        if not shown:
            return None, conclusions(found, judged)
        lead, *others = conclusions(found, judged, drawn=len(shown))
        said = [*others, *self.study.order.said(found.axis)]
        cards = html.Div([*map(_card, shown)], className="series-charts")
        how = (
            "A chart for each series: runs whose settings differ in nothing but the version; failed runs take no part."
        )
        return None, [lead, cards, *said, html.P(f"{how} {series_chart.LEGEND}", className="note")]


def _card(one: SeriesVerdict) -> Node:
    drawn = series_chart.chart(one, f"{one.versions[0]} to {one.versions[-1]}")
    look = f"series-chart{' failing' if one.fails else ''}"
    return html.Section([html.H3(f"{one.kpi.name}: {short(one.name, LONGEST_NAME)}"), drawn], className=look)


def _drawn(one: WithVerdict) -> SeriesVerdict:
    """What is drawn of a series: nothing but its points where it isn't judged, or not in the order that was chosen."""
    series, verdict = one
    if verdict is None or tuple(verdict.versions) != series.versions:
        return SeriesVerdict.of(series, MinimumEffect())
    return verdict


def why_nothing(study: Study) -> str:
    """Why there is no history to draw, and how to get one; empty where there is one."""
    workload = study.workload
    if not workload.kpis:
        return "This workload defines no KPI."
    if study.past is not None or study.order.axis is not None:
        return study.order_problem
    keys = " and ".join(workload.regression.comparison_keys)
    several = f"These runs have one value of {keys}" if keys else "This workload names no version of what it measures"
    return (
        f"{several}, and no history was read. Keep the runs of each version with 'matbench upload_lts --history "
        "LOCATION …', and compare new ones with them: 'matbench visualize --history LOCATION …'."
    )


def find(study: Study, view: View) -> KPISeries:
    """The series of the chosen KPI; raises ConfigError where the configuration names none of the workload's."""
    workload = study.workload
    name = view.cfg.get("kpi") or _headline(study) or ""
    if name not in workload.kpis:
        raise ConfigError(f"there is no KPI '{name}': {did_you_mean(str(name), workload.kpis)}")
    axis, order = view.cfg.get("axis"), study.order
    return series_of(_selected(study, view), workload, workload.kpis[name], order, axis if axis in order.keys else None)


def _headline(study: Study) -> str | None:
    first = next(iter(study.workload.headlines(run.settings for run in study.matrix)), study.workload.headline)
    return None if first is None else first.name


def _selected(study: Study, view: View) -> Sequence[LabelledRun]:
    """The known runs at the settings that were selected out of the matrix; the version is never selected."""
    asked = {name: [value] for name, value in view.settings.items()}
    asked |= {pairs[0][0]: [value for _, value in pairs] for pairs in view.setting_lists if pairs}
    there = study.matrix.settings
    wanted = {
        name: {typed(value) for value in values}
        for name, values in asked.items()
        if name not in study.workload.regression.comparison_keys and len(values) < len(there.get(name, ()))
    }
    if not wanted:
        return study.known_runs
    return [
        run
        for run in study.known_runs
        if all(typed(run.entry.settings.get(name)) in values for name, values in wanted.items())
    ]


class HistoryReport(Report):
    name: ClassVar[str] = "report: KPI history"
    description: ClassVar[str] = (
        "Did the new version make it worse? A KPI from version to version, at settings that differ in nothing else."
    )
    answers = AnswerKind.HISTORY

    def controls(self) -> Sequence[Control]:
        return KPIHistory(self.catalogue).controls()

    def draw(self, view: View) -> list[Node]:
        notes = [] if self.study.past is None else self.study.past.notes
        parts: list[Node] = [html.P(f"Note: {short(note, 500)}", className="note") for note in notes[:3]]
        instead = CompareReport(self.catalogue).instead()
        parts += [html.P(f"All KPIs: {instead}")] if instead else []
        parts += self.Plot_and_Text(KPIHistory.name, view)
        if why_nothing(self.study):
            return parts
        found = find(self.study, view)
        parts += [html.H2("Every KPI"), self._kpis(view)]
        if found.series:
            judged = judged_series(found, self.study.analysis)
            caption = f"{found.kpi.name}, {found.kpi.direction}: series by series, the most severe first"
            parts += [html.H2(f"All series of {found.kpi.name}"), series_table(judged, caption, self.link)]
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


HOW_TO_READ = (
    "The verdicts are those of the regression analysis: each series against its whole history. What one block of runs "
    "(one start of a benchmark, or one pass of it over its points) alone supports is suspected; worse is what another "
    "block confirms.",
    "A change is the newest level of a series against the one before it, not the newest version against the last.",
    "A run without a link is known from the history alone; its id is behind its number.",
)
