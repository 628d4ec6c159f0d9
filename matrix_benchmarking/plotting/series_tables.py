"""Tables of the series of an analysis: what changed, the others, what was not analysed; and their alarms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..analyze.select.series import NotAnalysed
from ..analyze.verdict.model import Alarm, Analysis, SeriesVerdict, Status
from ..analyze.wording import verdicts as wording
from ..analyze.words import cut_inside, probability
from ..matrix import Entry
from .series_chart import BETTER, DOUBTFUL, OTHER, WORSE, kind_of
from .tables import Cell, Column, Columns, Node, Row, count_cell, html, kpi_cell, table
from .template import short

RUNS_LINKED = 10
LONGEST_NAME, LONG_NAME, LONGEST_VERSION, LONGEST_REASON = 160, 40, 28, 400
SIGNS = {WORSE: "✕\u00a0", BETTER: "★\u00a0", DOUBTFUL: "◆\u00a0", OTHER: ""}
"""The same signs as in the charts, so that colour isn't all that tells."""

Link = Callable[[Entry, str], Node]


def changed(analysis: Analysis) -> list[SeriesVerdict]:
    return [one for one in analysis.verdicts if one.changes or wording.is_told(one)]


def outcome_text(verdict: SeriesVerdict) -> str:
    return f"{SIGNS[kind_of(verdict)]}{wording.verdict_text(verdict)}"


def name_of(verdict: SeriesVerdict) -> str:
    return short(verdict.name, LONGEST_NAME)


def version(shown: str | None, after: str = "") -> Node:
    """A version in a cell and what comes *after* it, in one line; long ones differ at their ends."""
    said = "–" if shown is None else cut_inside(shown, LONGEST_VERSION)
    return html.Span(f"{said}{after}", className="version")


def series_cell(verdict: SeriesVerdict) -> Cell:
    name = name_of(verdict)
    return Cell(html.Span(name, className="series-name wide" if len(name) > LONG_NAME else "series-name"))


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
        caption="Series that changed: what is worse by the headline KPI, then the most severe",
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
        series_cell(verdict),
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
    """The alarms of a series that count: those that aren't fixed, else the last one."""
    shown = [alarm for alarm in verdict.alarms if alarm.status is not Status.FIXED] or list(verdict.alarms[-1:])
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
            series_cell(verdict),
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
            series_cell(verdict),
            Cell(version(alarm.first_bad)),
            Cell([version(alarm.fixed_by), ", new" if alarm.is_new else ""]),
            Cell(wording.levels(verdict.kpi, alarm), sort=alarm.new_level),
        ]
        for verdict, alarm in known
    )
    return table(columns, rows, caption="Alarms that a later version fixed")


def brief_table(verdicts: Sequence[SeriesVerdict], caption: str, link: Link) -> Node:
    columns: Columns = [
        *("KPI", "Series", Column("Versions", numeric=True), Column("Runs", numeric=True)),
        Column("Newest", numeric=True, help="the mean at the newest version"),
        *("Newest version", "To know", "Newest runs"),
    ]
    rows: Iterator[Row] = (_brief_row(one, link) for one in verdicts)
    return table(columns, rows, caption=caption)


def _brief_row(verdict: SeriesVerdict, link: Link) -> Row:
    points = verdict.points
    runs = sum(point.count for point in points)
    newest: list[Cell | str] = ["–", "–"]
    if points:
        shown = kpi_cell(verdict.kpi, points[-1].mean)
        newest = [Cell(verdict.kpi.show(points[-1].mean), sort=shown.sort), Cell(version(verdict.versions[-1]))]
    notes = list(verdict.notes)
    if verdict.why:
        notes.insert(0, wording.untold(verdict))
    elif verdict.stands_on:
        notes.insert(0, f"{wording.size(verdict)}{wording.shown(verdict)}")
    elif verdict.would_show:
        notes.insert(0, wording.nothing(verdict))
    return [
        verdict.kpi.name,
        series_cell(verdict),
        count_cell(len(points)),
        count_cell(runs),
        *newest,
        short("; ".join(notes), LONGEST_REASON),
        Cell(run_links(points[-1].entries, link) if points else "–"),
    ]


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
