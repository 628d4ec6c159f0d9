"""Report: what an analysis says: the verdict, what changed with a chart each, what can't be told and why."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import ClassVar

import msgspec

from ..analyze.check import AnswerKind
from ..analyze.verdict.model import Analysis, Outcome, SeriesVerdict, Status
from ..analyze.wording import analyses
from ..analyze.wording import verdicts as wording
from ..analyze.words import cut_inside, plural
from ..filters import show
from . import series_chart
from .base import Report, View
from .compare_sides import NEW, OLD, SETTING, candidates, judged
from .report_compare import CompareReport
from .report_history import why_nothing
from .series_tables import (
    LONGEST_NAME,
    alarms_table,
    changed,
    changed_table,
    chart_id,
    fixed_table,
    for_alarm_of,
    for_causes,
    not_analysed_table,
    outcome_text,
    run_links,
    series_table,
)
from .tables import Node, Part, bullets, html
from .template import short

MOST_CHARTS = 40
CHARTS_OF_A_LATE_PAGE = 12
"""How many charts there are where the page is made as one part, after it was opened."""
FIRST_CHARTS = 2
"""How many of them stand above the table."""
MOST_ROWS = 200
FAILING_NAMED, VERSIONS_NAMED, LONGEST_LEAD = 5, 3, 400
NOTES_SHOWN = 20
NAME_IN_SENTENCE, VERSION_IN_SENTENCE = 120, 40
PAGE_HEIGHT_PX = 700


class RegressionReport(Report):
    name: ClassVar[str] = "report: Regression analysis"
    description: ClassVar[str] = "Did something get worse, and since when?"
    answers = AnswerKind.HISTORY

    def draw(self, view: View) -> list[Node]:
        if not self.catalogue.is_live or self.study.has_analysis:
            return self._parts(MOST_CHARTS)
        # What may take long is made when the page is there, as one part: only then is known what it consists of.
        return [Part(self.name, lambda: html.Div(self._parts(CHARTS_OF_A_LATE_PAGE)), PAGE_HEIGHT_PX)]

    def summary(self) -> str:
        analysis = self.study.analysis
        if analysis is None:
            return self._nothing()
        untold = analyses.untold_sentences(analysis) if analyses.is_untold(analysis) else []
        return " ".join(filter(None, [CompareReport(self.catalogue).instead(), *analyses.headlines(analysis), *untold]))

    def _nothing(self) -> str:
        return f"There is nothing to analyse. {why_nothing(self.study)}".strip()

    def _parts(self, most_charts: int) -> list[Node]:
        analysis = self.study.analysis
        if analysis is None:
            return [html.P(self._nothing())]
        instead = CompareReport(self.catalogue).instead()
        parts: list[Node] = [verdict_box(analysis, self.study.headline_name, instead)]
        parts += self._next(analysis)
        parts += for_causes(analysis, self.catalogue)
        headline, worse = self.study.headline_name, Outcome.REGRESSION
        shown = sorted(changed(analysis), key=lambda one: not (one.outcome is worse and one.kpi.name == headline))
        if shown:
            told = "What changed" if any(one.changes for one in shown) else "What may have changed"
            parts += [html.H2(told), *self._charts(shown[:FIRST_CHARTS])]
            parts.append(changed_table(shown, most_charts, MOST_ROWS))
            parts += self._more_charts(shown, most_charts)
        parts.append(html.P(_scope(analysis), className="note"))
        parts += [*_alarms(analysis), *self._others(analysis)]
        if analysis.not_analysed:
            parts += [html.H2("Not analysed, and why"), not_analysed_table(analysis.not_analysed)]
        notes = analysis.notes
        if notes:
            listed = bullets((short(note, 500) for note in notes[:NOTES_SHOWN]), len(notes) - NOTES_SHOWN)
            parts += [html.H2("Notes on the data"), listed]
        return parts

    def _next(self, analysis: Analysis) -> list[Node]:
        """Where to look next: at what else differs between the newest version and the one it is judged by."""
        if not (analysis.failing or analyses.is_untold(analysis)) or (sides := judged(self.study)) is None:
            return []
        usual = next((one for one in candidates(self.study, {}) if one.setting == sides.setting), None)
        chosen = {SETTING: sides.setting, OLD: show(sides.old), NEW: show(sides.new)}
        address = self.catalogue.address_of(CompareReport.name, chosen)
        if address is None and usual == sides:  # a written page shows its usual comparison
            address = self.catalogue.address_of(CompareReport.name, {})
        if address is not None:
            other = "the last good one" if analysis.failing else "the one before"
            said = f" says in what else the newest version differs from {other}: runs, settings, environments."
            return [html.P([html.A("Compare", href=address), said])]
        if not any(one.last_good_version is not None for one in analysis.failing):
            return []
        command = html.Code(f"matbench compare {shlex.join((show(sides.old), show(sides.new)))}")
        return [html.P([command, " says in what else they differ, with the options of this analysis."])]

    def _charts(self, shown: Sequence[SeriesVerdict], start: int = 0) -> list[Node]:
        cards = [self._card(verdict, number) for number, verdict in enumerate(shown, start)]
        return [html.Div(cards, className="series-charts")]

    def _more_charts(self, shown: Sequence[SeriesVerdict], most: int) -> list[Node]:
        legend = html.P(series_chart.LEGEND, className="note")
        if len(shown) <= FIRST_CHARTS:
            return [legend]
        parts: list[Node] = [html.H2("More charts"), legend]
        if len(shown) > most:
            left = len(shown) - most
            parts.append(html.P(f"The {most} most severe are drawn, {left} more are in the table above."))
        return [*parts, *self._charts(shown[FIRST_CHARTS:most], FIRST_CHARTS)]

    def _card(self, verdict: SeriesVerdict, number: int) -> Node:
        heading = html.H3(f"{verdict.kpi.name}: {short(verdict.name, LONGEST_NAME)}", id=chart_id(number))
        body: list[Node] = [html.P([html.Strong(outcome_text(verdict)), f". {_sentence(verdict)}"])]
        body.append(series_chart.chart(verdict, _sentence(verdict)))
        body += [html.P(f"{_as_sentence(short(note, 300))}", className="note") for note in verdict.notes[:3]]
        body.append(html.P(self._runs(verdict), className="note"))
        body += for_alarm_of(verdict, self.catalogue)
        return html.Section([heading, *body], className=f"series-chart{' failing' if verdict.fails else ''}")

    def _runs(self, verdict: SeriesVerdict) -> list[Node]:
        good, bad, newest = verdict.last_good, verdict.first_bad, len(verdict.points) - 1
        words = ("last good", "first bad") if verdict.outcome is Outcome.REGRESSION else ("last before", "first after")
        wanted = [(words[0], good), (words[1], bad)]
        if newest >= 0 and newest not in (good, bad):
            wanted.append(("newest", newest))
        elif newest == bad:
            wanted[1] = (f"{words[1]} and newest", bad)
        parts: list[Node] = ["Runs: "]
        for what, place in wanted:
            if place is not None:
                parts += ["" if len(parts) == 1 else " · ", f"{what} {cut_inside(verdict.versions[place], 40)}: "]
                parts += run_links(verdict.points[place].entries, self.link)
        return parts

    def _others(self, analysis: Analysis) -> list[Node]:
        told = {one.id for one in changed(analysis)}
        same = [one for one in analysis.having(Outcome.NO_CHANGE) if one.id not in told]
        untold = analysis.having(Outcome.CANT_TELL)
        parts: list[Node] = []
        for which, what in ((same, "without a difference shown"), (untold, "of which it can't be told")):
            if which:
                title = f"{len(which)} series {what}"
                listed = series_table([(one, one) for one in which], title.capitalize(), self.link)
                parts.append(html.Details([html.Summary(title), listed]))
        return [html.H2("The other series"), *parts] if parts else []


def _alarms(analysis: Analysis) -> list[Node]:
    known = [*analysis.alarms(Status.ACKNOWLEDGED), *analysis.alarms(Status.RESOLVED)]
    fixed = sorted(analysis.alarms(Status.FIXED), key=lambda pair: not pair[1].is_new)
    parts: list[Node] = [alarms_table(known)] if known else []
    if fixed:
        title = html.Summary(f"{len(fixed)} {plural(len(fixed), 'alarm')} fixed by a later version")
        parts.append(html.Details([title, fixed_table(fixed)], open=fixed[0][1].is_new or None))
    return [html.H2("Alarms that were dealt with"), *parts] if parts else []


def verdict_box(analysis: Analysis, first_kpi: str = "", instead: str = "") -> Node:
    """What is worse since when, then how many series are, and what else there is to say behind a line that opens.

    What is known *instead*, where that can't be told, comes first.
    """
    counted, *others = analyses.lead(analysis)[len(analysis.fails_more) :]
    failing, broken = analysis.failing, analyses.broken(analysis)
    known = analyses.at_known_levels(analysis)
    others = [one for one in others if one not in (*known, *broken)]
    said = analyses.changes(analysis, first_kpi)
    first = [*broken, *said[:VERSIONS_NAMED]]
    lines: list[Node] = [html.P(short(one, LONGEST_LEAD), className="lead") for one in first]
    if more := len(said[VERSIONS_NAMED:]):
        lines.append(html.P(f"And {more} more versions made series worse."))
    lines += [html.P(instead, className="lead")] if instead else []
    lines.append(html.P(counted, className=None if lines else "lead"))
    lines += map(html.P, known)
    # What may explain all of it isn't folded away.
    lines += [html.P(analysis.beside, className="warning")] if failing and analysis.beside else []
    behind: list[Node] = [bullets(wording.sentence(_cut(one)) for one in failing[:FAILING_NAMED])] if failing else []
    if len(failing) > FAILING_NAMED:
        behind.append(html.P(f"And {len(failing) - FAILING_NAMED} more, in the table below."))
    behind += [html.P(" ".join(others))] if others else []
    if behind:
        lines.append(html.Details([html.Summary("How much, and what else" if failing else "What else"), *behind]))
    return html.Div(lines, className=f"verdict{' failing' if failing or broken else ''}")


def _cut(verdict: SeriesVerdict) -> SeriesVerdict:
    """*verdict* with what is long in its words cut, so that a sentence with it still says what happened."""
    versions = [cut_inside(version, VERSION_IN_SENTENCE) for version in verdict.versions]
    return msgspec.structs.replace(verdict, name=short(verdict.name, NAME_IN_SENTENCE), versions=versions)


def _scope(analysis: Analysis) -> str:
    count, kpis = len(analysis.verdicts), len({one.kpi.name for one in analysis.verdicts})
    over = (
        f"{count} series of {kpis} {plural(kpis, 'KPI')}, {analysis.points:,} {plural(analysis.points, 'value')} of "
        f"{analysis.runs:,} {plural(analysis.runs, 'run')}"
    )
    rate = f"{100 * analysis.false_discovery_rate:g} %"
    relative = sorted({one.minimum_effect for one in analysis.verdicts})
    having = [one for one in analysis.verdicts if one.minimum_effect_absolute > 0]
    absolute = {one.kpi.name: one.kpi.show(one.minimum_effect_absolute) for one in having}
    said = f"{over}. On average at most {rate} of the changes named are false alarms, if runs differ by chance alone"
    if relative:
        ends = f"{100 * relative[0]:g}" if len(relative) == 1 else f"{100 * relative[0]:g} to {100 * relative[-1]:g}"
        said += f"; a change counts from {ends} % of the old level"
    if absolute:
        named = ", ".join(f"{amount} for {name}" for name, amount in list(absolute.items())[:4])
        more = f" and {len(absolute) - 4} more KPIs" if len(absolute) > 4 else ""
        said += f", and from {named}{more}"
    return f"{said}."


def _sentence(verdict: SeriesVerdict) -> str:
    """What :func:`.wording.sentence` says, without the name, which stands in the heading."""
    shown = _cut(verdict)
    if shown.outcome is Outcome.NO_CHANGE and shown.changes:
        runs = f"{shown.runs_before} and {shown.runs_after} runs"
        return f"Since {shown.first_bad_version}: {wording.size(shown)}, {wording.levels(shown.kpi, shown)}, {runs}."
    said = wording.sentence(shown).removeprefix(f"{shown.kpi.name} of {shown.name}")
    return _as_sentence(said.removeprefix(":").removeprefix(" is").strip())


def _as_sentence(said: str) -> str:
    return said[:1].upper() + said[1:]
