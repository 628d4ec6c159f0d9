"""Report: what is odd about the runs, and which answers that may change; and the line about it on every page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ..analyze.check import MOST_RUNS, AnswerKind, Finding, counted
from .base import Report, View
from .tables import Cell, Row, table
from .tags import Node, html

RUNS_LINKED = 5
_QUESTIONS = {
    AnswerKind.BEST: "the best configuration",
    AnswerKind.HISTORY: "the history",
    AnswerKind.PAIR: "a comparison",
}


class CheckReport(Report):
    """The findings, those that change an answer first, then what is in most runs, each with its runs."""

    name: ClassVar[str] = "report: Check"
    description: ClassVar[str] = (
        "What is odd about the runs: misspelt and rare settings, lost and damaged runs, values that can't be, and "
        "names that match nothing."
    )

    def draw(self, view: View) -> list[Node]:
        found = self.study.findings
        parts: list[Node] = [html.Div(html.P(self.summary(), className="lead"), className="verdict")]
        changing = [one for one in found if one.changes]
        general = [one for one in found if one.in_most_runs and not one.changes]
        others = [one for one in found if not one.changes and not one.in_most_runs]
        for heading, caption, part in (
            ("Findings that change an answer", "Look at these first", changing),
            (MOST_RUNS, "All answers stand on such runs", general),
            ("Good to know", "These change no answer", others),
        ):
            rows: list[Row] = []
            for one in part:
                changed = [text for answer, text in _QUESTIONS.items() if answer in one.changes]
                rows.append([one.sentence, *([", ".join(changed)] if changed else []), Cell(self._where(one))])
            columns = ["Finding", *(["May change"] if part is changing else []), "Where"]
            parts += [html.H2(heading), table(columns, rows, caption=caption)] if part else []
        return parts

    def summary(self) -> str:
        text = counted(self.study.findings)
        return f"{text[:1].upper()}{text[1:]}."

    def _where(self, found: Finding) -> Node:
        parts: list[Node] = []
        for name in found.runs[:RUNS_LINKED]:
            entry = self.study.run_called(name)
            parts += [name if entry is None else self.link(entry), html.Br()]
        more = len(found.runs) - RUNS_LINKED
        return [*parts, f"and {more} more ('matbench check --json' has all)"] if more > 0 else parts[:-1]


def check_line(found: Sequence[Finding], answer: AnswerKind, href: str | None = None, *, is_part: bool = False) -> Node:
    """How many findings there are and how many change this *answer*, which may be about a part of the runs."""
    link: list[Node] = [" ", html.A("Findings.", href=href)] if href is not None and found else []
    is_warning = any(answer in one.changes or one.in_most_runs for one in found)
    said = f"Check of all runs: {counted(found)}." if is_part else f"Check: {counted(found, answer)}."
    return html.P([said, *link], className="warning" if is_warning else "note")
