"""An analysis on the terminal: the verdict in sentences, then what changed as a table, the worst first."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ..analyze import check
from ..analyze.report.one_line import one_line
from ..analyze.report.worse import worse
from ..analyze.verdict import wording
from ..analyze.verdict.model import Analysis, Outcome, SeriesVerdict, Status
from ..analyze.wording import plural
from . import run

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.table import Table

ROWS = 20
REASONS = 5
_CELL = 200
_WORD = 40
_VERDICT, _ALARM = "Verdict", "Alarm"


@dataclasses.dataclass(frozen=True, slots=True)
class _Column:
    """A column of the table.

    Attributes:
        title: its heading.
        cells: one a row.
        folds_to: its cells may be folded to so many characters; None for cells that stay in one line.
        drop: where the table is too wide, columns go by this number, the largest first; 0 is never left out.
        is_number: aligned to the right.
    """

    title: str
    cells: Sequence[str]
    folds_to: int | None = None
    drop: int = 0
    is_number: bool = False

    @property
    def least_width(self) -> int:
        """With its border."""
        from rich.cells import cell_len

        widest = max(cell_len(line) for cell in (self.title, *self.cells) for line in cell.split("\n"))
        return 3 + (widest if self.folds_to is None else min(widest, self.folds_to))


def print_analysis(analysis: Analysis, console: Console | None = None) -> None:
    """Print the verdict, the series that changed or are in doubt, and what is to be known of the data."""
    console = run.answer_console() if console is None else console
    first, *others = wording.lead(analysis)
    for sentences in filter(None, (first, " ".join(others))):
        _say(sentences, 1000)
    shown = [one for one in analysis.verdicts if wording.is_told(one)]
    if shown:
        console.print(_table(analysis, shown[:ROWS], console.width))
        _say_rest(shown[ROWS:])
    for reason in _reasons(analysis):
        _say(reason)
    for note in analysis.notes:
        _say(f"Note: {note}")
    if analysis.check:
        _say(check.line(analysis.check))


def _table(analysis: Analysis, shown: Sequence[SeriesVerdict], width: int) -> Table:
    """A rich table of at most *width* characters, as far as leaving out columns and folding cells can make it so."""
    from rich.table import Table
    from rich.text import Text

    columns = _columns(analysis, shown)
    while sum(column.least_width for column in columns) + 1 > width:
        last = max(columns, key=lambda column: column.drop)
        if not last.drop:
            break
        columns.remove(last)
        if last.title == _ALARM:
            columns = [_with_ids(each, last.cells) if each.title == _VERDICT else each for each in columns]
    table = Table()
    for column in columns:
        justify: JustifyMethod = "right" if column.is_number else "left"
        table.add_column(Text(column.title), overflow="fold", justify=justify, no_wrap=column.folds_to is None)
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, row))
    return table


def _columns(analysis: Analysis, shown: Sequence[SeriesVerdict]) -> list[_Column]:
    failing = {one.verdict.id: one for one in worse(analysis)}
    sizes, levels, since, before, alarms = [], [], [], [], []
    for one in shown:
        bad = failing.get(one.id)
        sizes.append(wording.size(one) if bad is None else bad.size)
        levels.append(wording.levels(one.kpi, one) if bad is None else bad.levels)
        since.append(one.first_bad_version if bad is None else bad.alarm.first_bad)
        before.append(one.last_good_version if bad is None else bad.alarm.last_good)
        alarms.append(_alarm(one) if bad is None else bad.alarm.id or "–")
    return [
        _column("KPI", [one.kpi.name for one in shown], folds_to=12),
        _column("Series", [one.name for one in shown], folds_to=14),
        _column(_VERDICT, [wording.verdict_text(one) for one in shown], folds_to=12),
        _Column("Change", [_two_lines(size) for size in sizes], is_number=True),
        _column("Level", levels, drop=1, is_number=True),
        _column("Since", [version or "–" for version in since]),
        _column("Last before", [version or "–" for version in before], drop=3),
        _column("Runs", [f"{one.runs_before} → {one.runs_after}" for one in shown], drop=4, is_number=True),
        _column("q", [wording.probability(one.q_value) for one in shown], drop=5, is_number=True),
        _column(_ALARM, alarms, drop=2),
    ]


def _with_ids(verdicts: _Column, alarms: Sequence[str]) -> _Column:
    """The verdicts with the alarms' ids below them: without its id nobody can acknowledge an alarm."""
    pairs = zip(verdicts.cells, alarms, strict=True)
    return dataclasses.replace(verdicts, cells=[one if alarm == "–" else f"{one}\n{alarm}" for one, alarm in pairs])


def _two_lines(size: str) -> str:
    """The interval below the size: one line of both is too wide for most terminals."""
    return one_line(size, 2 * _WORD).replace(" (", "\n(")


def _column(
    title: str, cells: Sequence[str], *, folds_to: int | None = None, drop: int = 0, is_number: bool = False
) -> _Column:
    limit = _WORD if folds_to is None else _CELL
    return _Column(title, [one_line(cell, limit) for cell in cells], folds_to, drop, is_number)


def _alarm(verdict: SeriesVerdict) -> str:
    """The alarm that a verdict is about, if there is one."""
    held = [alarm.id for alarm in verdict.alarms if alarm.status is not Status.FIXED]
    return held[-1] if held and verdict.outcome is Outcome.REGRESSION else "–"


def _say_rest(rest: Sequence[SeriesVerdict]) -> None:
    if rest:
        failing = sum(one.fails for one in rest)
        worse_too = f", {failing} of them worse" if failing else ""
        _say(f"… and {len(rest)} more series{worse_too}: --report-dest writes them all")


def _reasons(analysis: Analysis) -> list[str]:
    """Why series were not analysed, each reason once."""
    counts: dict[str, int] = {}
    for one in analysis.not_analysed:
        counts[one.reason] = counts.get(one.reason, 0) + 1
    said = [
        f"Not analysed: {count} × {reason}" if count > 1 else f"Not analysed: {reason}"
        for reason, count in counts.items()
    ]
    rest = len(said) - REASONS
    return [*said[:REASONS], *([f"… and {rest} other {plural(rest, 'reason')}"] if rest > 0 else [])]


def _say(text: str, limit: int = 500) -> None:
    # One line: a service that reads the output obeys lines that begin in its own way.
    click.echo(one_line(text, limit))
