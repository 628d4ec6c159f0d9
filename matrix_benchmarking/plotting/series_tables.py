"""The series of an analysis as tables; their alarms, and what a person can do to these: by fields, or by commands."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from ..analyze.select.series import NotAnalysed, Series
from ..analyze.verdict.alarms import causes
from ..analyze.verdict.model import Alarm, Analysis, Outcome, SeriesVerdict, Status
from ..analyze.wording import verdicts as wording
from ..analyze.words import cut_inside, probability
from ..matrix import Entry
from .base import Catalogue
from .series_chart import BETTER, DOUBTFUL, OTHER, WORSE, kind_of
from .tables import Cell, Column, Columns, Node, Row, command, count_cell, dcc, html, table
from .template import short

RUNS_LINKED = 10
LONGEST_NAME, LONG_NAME, LONGEST_VERSION, LONGEST_REASON = 160, 40, 28, 400
SIGNS = {WORSE: "✕\u00a0", BETTER: "★\u00a0", DOUBTFUL: "◆\u00a0", OTHER: ""}
"""The same signs as in the charts, so that colour isn't all that tells."""
MOST_CAUSES = 3
DEALINGS = (
    (
        *("acknowledged", "Acknowledge", "ack"),
        "it is known, and fails no analysis any more (--until VERSION or DATE: up to then)",
    ),
    ("resolved", "Resolve", "resolve", "it is over, by a fix or because the new level is wanted"),
    ("reopened", "Reopen", "reopen", "it fails analyses again"),
    ("commented", "Comment", "comment", "it stays what it is"),
)
"""What can be done to an alarm: the action, its button, its command, what it means."""

Link = Callable[[Entry, str], Node]
Judged: TypeAlias = "tuple[Series | SeriesVerdict, SeriesVerdict | None]"
"""A series and the verdict on it; None where it isn't judged."""


def changed(analysis: Analysis) -> list[SeriesVerdict]:
    return [one for one in analysis.verdicts if one.changes or wording.is_told(one)]


def outcome_text(verdict: SeriesVerdict) -> str:
    return f"{SIGNS[kind_of(verdict)]}{wording.verdict_text(verdict)}"


def version(shown: str | None, after: str = "") -> Node:
    """A version in a cell and what comes *after* it, in one line; long ones differ at their ends."""
    said = "–" if shown is None else cut_inside(shown, LONGEST_VERSION)
    return html.Span(f"{said}{after}", className="version")


def series_cell(name: str) -> Cell:
    look = "series-name wide" if len(name) > LONG_NAME else "series-name"
    return Cell(html.Span(short(name, LONGEST_NAME), className=look))


def size_cell(verdict: SeriesVerdict) -> Cell:
    effect = verdict.effect or verdict.difference
    return Cell(wording.size(verdict), sort=None if effect is None else effect.value)


def changed_table(verdicts: Sequence[SeriesVerdict], charts: int, limit: int) -> Node:
    columns: Columns = [
        *(Column("KPI", setting=True), Column("Series", setting=True), "Verdict"),
        Column("Change", numeric=True, help="new level against the old one, with its 95 % interval"),
        Column("Levels", numeric=True, help="old level → new level"),
        Column("Good → bad", help="the last version on the old level → the first on the new one"),
        "Alarm",
        Column("Runs", numeric=True, help="behind the old level → behind the new one"),
        Column("q", numeric=True, help="the false discovery rate at which this series is among the discoveries"),
    ]
    rows: Iterator[Row] = (_changed_row(one, number < charts, number) for number, one in enumerate(verdicts))
    return table(
        columns,
        rows,
        caption="Series that changed, or may have: what is worse by the headline KPI, then the most severe",
        limit=limit,
    )


def chart_id(number: int) -> str:
    """The address of a chart on its page; two hyphens, so that no heading has it."""
    return f"regression-chart--{number + 1}"


def _changed_row(verdict: SeriesVerdict, has_chart: bool, number: int) -> Row:
    kpi = verdict.kpi
    name: Node = html.A(kpi.name, href=f"#{chart_id(number)}", title="its chart") if has_chart else kpi.name
    said = outcome_text(verdict)
    return [
        Cell(name),
        series_cell(verdict.name),
        Cell(html.Strong(said) if verdict.fails else said),
        size_cell(verdict),
        Cell(wording.levels(kpi, verdict), sort=verdict.new_level),
        Cell(_way(verdict)),
        Cell(_alarm_ids(verdict)),
        Cell(f"{verdict.runs_before} → {verdict.runs_after}", sort=verdict.runs_after),
        Cell(probability(verdict.q_value), sort=verdict.q_value),
    ]


def _way(verdict: SeriesVerdict) -> Node:
    good, bad = verdict.last_good_version, verdict.first_bad_version
    if bad is None:
        return "–"
    if good is not None and len(good) + len(bad) <= LONGEST_VERSION:
        return version(good, f" → {bad}")
    return [version(good, " →"), " ", version(bad)]


def _alarm_ids(verdict: SeriesVerdict) -> list[Node]:
    """The alarms of a series that count: those that aren't fixed, else the last one; two sides raise none."""
    known = [alarm for alarm in verdict.alarms if alarm.id or not verdict.stands_on]
    shown = [alarm for alarm in known if alarm.status is not Status.FIXED] or known[-1:]
    parts: list[Node] = []
    for alarm in shown[-3:]:
        parts += [", "] if parts else []
        parts += [html.Code(alarm.id), f"\u00a0{alarm.status.value}"] if alarm.id else [alarm.status.value]
    return parts or ["–"]


def alarms_table(known: Iterable[tuple[SeriesVerdict, Alarm]]) -> Node:
    levels = Column("Levels", numeric=True, help="when the alarm was raised")
    columns: Columns = ["Alarm", "Status", "KPI", "Series", "First bad", levels, "By", "When", "Reason", "Until"]
    rows: Iterator[Row] = (
        [
            Cell(html.Code(alarm.id)),
            alarm.status.value,
            alarm.kpi,
            series_cell(verdict.name),
            Cell(version(alarm.first_bad)),
            Cell(wording.levels(verdict.kpi, alarm), sort=alarm.new_level),
            short(alarm.author or "–", 60),
            Cell(version(None if alarm.at is None else alarm.at.strftime("%Y-%m-%d %H:%M UTC"))),
            short(" ".join(filter(None, (alarm.reason, alarm.note))) or "–", LONGEST_REASON),
            "always" if alarm.status is Status.ACKNOWLEDGED and alarm.until is None else Cell(version(alarm.until)),
        ]
        for verdict, alarm in known
    )
    return table(columns, rows, caption="Alarms that somebody acknowledged or resolved")


def fixed_table(known: Iterable[tuple[SeriesVerdict, Alarm]]) -> Node:
    levels = Column("Levels", numeric=True, help="old level → level while it was bad")
    columns: Columns = ["Alarm", "KPI", "Series", "First bad", "Fixed by", levels]
    rows: Iterator[Row] = (
        [
            Cell(html.Code(alarm.id)) if alarm.id else "never raised",
            alarm.kpi,
            series_cell(verdict.name),
            Cell(version(alarm.first_bad)),
            Cell([version(alarm.fixed_by), ", new" if alarm.is_new else ""]),
            Cell(wording.levels(verdict.kpi, alarm), sort=alarm.new_level),
        ]
        for verdict, alarm in known
    )
    return table(columns, rows, caption="Alarms that a later version fixed")


def series_table(judged: Iterable[Judged], caption: str, link: Link) -> Node:
    columns: Columns = [
        *(Column("KPI", setting=True), Column("Series", setting=True), "Verdict"),
        Column("Change", numeric=True, help="the newest level against the one before it, with its 95 % interval"),
        *("Since", Column("Versions", numeric=True, help="or runs, in time"), Column("Runs", numeric=True)),
        Column("First", numeric=True, help="the mean at the first version"),
        Column("Newest", numeric=True, help="the mean at the newest version"),
        *("Newest at", "To know", "Newest runs"),
    ]
    return table(columns, (_series_row(*one, link) for one in judged), caption=caption)


def _series_row(series: Series | SeriesVerdict, verdict: SeriesVerdict | None, link: Link) -> Row:
    kpi, points = series.kpi, series.points
    told: list[Cell | str] = ["not judged", "–", "–"]
    if verdict is not None:
        change = "–" if verdict.first_bad_version is None else size_cell(verdict)
        told = [outcome_text(verdict), change, cut_inside(verdict.first_bad_version or "–", LONGEST_VERSION)]
    ends: list[Cell | str] = [
        Cell(kpi.show(one.mean), sort=one.mean / kpi.divisor) for one in (*points[:1], *points[-1:])
    ]
    return [
        kpi.name,
        series_cell(series.name),
        *told,
        count_cell(len(points)),
        count_cell(sum(point.count for point in points)),
        *ends,
        cut_inside(series.versions[-1], LONGEST_VERSION) if points else "–",
        short("; ".join(series.notes if verdict is None else _notes(verdict)), LONGEST_REASON),
        Cell(run_links(points[-1].entries, link) if points else "–"),
    ]


def _notes(verdict: SeriesVerdict) -> Sequence[str]:
    if verdict.outcome is Outcome.CANT_TELL:
        return [wording.untold(verdict), *verdict.notes]
    return [*([f"{wording.size(verdict)}{wording.shown(verdict)}"] if verdict.stands_on else []), *verdict.notes]


def not_analysed_table(which: Sequence[NotAnalysed]) -> Node:
    rows: Iterator[Row] = (
        [one.kpi, short(one.series, LONGEST_NAME) or "all", short(one.reason, LONGEST_REASON), count_cell(one.runs)]
        for one in which
    )
    return table(["KPI", "Series", "Why", Column("Runs", numeric=True)], rows, caption="Runs that no verdict is about")


def run_links(entries: Sequence[Entry], link: Link) -> list[Node]:
    """Links to the first of *entries*, by their numbers; the page of each leads to the others."""
    parts: list[Node] = []
    for number, entry in enumerate(entries[:RUNS_LINKED], 1):
        parts += [link(entry, str(number)), " "]
    more = len(entries) - RUNS_LINKED
    return [*parts, *([f"and {more} more"] if more > 0 else [])]


def for_causes(analysis: Analysis, catalogue: Catalogue) -> list[Node]:
    """A box for each cause of several alarms that nobody dealt with."""
    if catalogue.study.past is None:
        return []
    several = [cause for cause in causes(analysis) if len(cause.alarms) > 1]
    return [
        _box(
            f"Deal with all {len(cause.alarms)} since {cause.first_bad}",
            [alarm.id for alarm in cause.alarms],  # and not what somebody has dealt with of the same cause
            Status.OPEN,
            catalogue,
        )
        for cause in several[:MOST_CAUSES]
    ]


def for_alarm_of(verdict: SeriesVerdict, catalogue: Catalogue) -> list[Node]:
    """A box for the newest alarm of a series that isn't fixed, with what was said of it."""
    alarms = [alarm for alarm in verdict.alarms if alarm.id and alarm.status is not Status.FIXED]
    if not alarms or catalogue.study.past is None:
        return []
    last = alarms[-1]
    return [*_said(last), _box("Deal with this alarm", [last.id], last.status, catalogue)]


def _said(alarm: Alarm) -> list[Node]:
    said = [f"{alarm.comment}."] if alarm.comment else []
    if alarm.author is not None:
        when = "" if alarm.at is None else f" on {alarm.at:%Y-%m-%d}"
        until = f" until {alarm.until}" if alarm.until else ""
        done = "reopened" if alarm.status is Status.OPEN and not alarm.note else alarm.status.value
        reason = f": {alarm.reason}" if alarm.reason else ""
        said.insert(0, f"{done.capitalize()} by {alarm.author}{when}{until}{reason}.")
    return list(map(html.P, said))


def _box(title: str, ids: Sequence[str], status: Status, catalogue: Catalogue) -> Node:
    offered = [
        one for one in DEALINGS if one[0] == "commented" or (one[0] == "reopened") == (status is not Status.OPEN)
    ]
    if not catalogue.may_write:
        study = catalogue.study
        place = f" --history={shlex.quote(study.given.history)}" if study.given.history else ""
        # Who only looked hasn't kept the alarm, which the others can't deal with before.
        analyse = f"matbench analyze_lts --workload={shlex.quote(study.workload.spec or study.workload.name)}{place}"
        if study.given.history and study.given.place != study.given.history:  # results beside it
            analyse += f" --results-dirname={shlex.quote(study.given.place)}"
        shown: list[Node] = [html.P("Keep what is seen here in the history, if no analysis has yet:"), command(analyse)]
        for action, label, name, meaning in offered:
            why, reason = ("", "") if action == "reopened" else ("; write why for the …", " --reason '…'")
            shown.append(html.P(f"{label}: {meaning}{why}."))
            shown.append(command(f"matbench alarms {name} {shlex.join(ids)}{place}{reason}"))
        return html.Details([html.Summary(title), *shown])
    fields = [
        html.Label([f"{label} ", dcc.Input(type="text", className="field", autoComplete="off", name=name)])
        for label, name in (("Reason", "reason"), ("Until (a version or a date)", "until"))
    ]
    buttons = [html.Button(label, className="tool", **{"data-deal": action}) for action, label, *_ in offered]
    form = html.Div(
        [*fields, html.Div(buttons, className="figure-tools")], className="deal", **{"data-ids": ",".join(ids)}
    )
    return html.Details([html.Summary(title), form])
