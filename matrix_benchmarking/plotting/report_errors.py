"""Reports: everything that went wrong, with the way to its test directory; what is odd, and the line about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from ..analyze.check import MOST_RUNS, AnswerKind, Finding, counted
from ..analyze.words import plural
from ..filters import show
from ..matrix import Entry, Matrix
from .base import Report, View
from .failures import failure_sections
from .tables import Cell, Column, Columns, Node, Row, bullets, count_cell, html, table

_TESTS_LISTED = 100
RUNS_LINKED = 5
_QUESTIONS = {
    AnswerKind.BEST: "the best configuration",
    AnswerKind.HISTORY: "the history",
    AnswerKind.PAIR: "a comparison",
}


class ErrorReport(Report):
    name: ClassVar[str] = "report: Error report"
    description: ClassVar[str] = (
        "Failed and unfinished tests, damaged and missing artifacts, doubtful numbers, and KPIs that could "
        "not be computed."
    )

    def draw(self, view: View) -> list[Node]:
        matrix = self.matrix
        everything = [*matrix.entries, *matrix.unfinished]
        failed = [(entry, show(entry.exit_code)) for entry in matrix if entry.failed]
        without = [(entry, str(problem)) for entry in matrix.unfinished for problem in entry.problems]
        damaged = [(entry, str(problem)) for entry in matrix for problem in entry.problems]
        missing = [(entry, (file,)) for entry in everything for file in entry.missing_files]
        wrong = [(entry, sentence) for entry in matrix for sentence in (*entry.implausible, *entry.harmless)]
        warned = [(entry, sentence) for entry in matrix for sentence in entry.warnings]
        unknown = [(entry, item) for entry in matrix for item in entry.missing_kpis.items()]
        lines = [html.P(overview(matrix), className="lead")]
        if self.workload.warnings is not None:
            tests = len({id(entry) for entry, _ in warned})
            numbers = f"The numbers of {tests} {plural(tests, 'test')} are" if tests else "No test's numbers are"
            lines.append(html.P(f"{numbers} doubtful by the workload's own checks."))
        sections = [
            html.Div(lines, className="verdict"),
            *failure_sections(matrix, self.link, self._list),
            self._tests("Failed tests", "Exit code", failed),
            self._tests("Tests without results", "Reason", without),
            self._tests("Damaged artifacts", "Problem", damaged),
            self._grouped("Missing artifacts", missing, "File"),
            self._tests("Values that can't be", "What", wrong),
            self._tests("Doubtful numbers", "Warning", warned),
            self._grouped("KPIs without a value", unknown, "KPI", "Reason"),
            html.Section([html.H2("Left out while reading the tree"), bullets(matrix.notes)]) if matrix.notes else None,
        ]
        return [section for section in sections if section is not None]

    def summary(self) -> str:
        return overview(self.matrix)

    def _tests(self, title: str, what: str, found: Sequence[tuple[Entry, str]]) -> Node:
        if not found:
            return None
        commands = {id(entry): entry.environment.command for entry, _ in found[:_TESTS_LISTED]}
        columns: Columns = ["Test", what, "Directory", *(["Repeat it"] if any(commands.values()) else [])]
        rows: list[Row] = []
        for entry, text in found:
            row: list[Cell | str] = [Cell(self.link(entry)), text, Cell(html.Code(str(entry.location)))]
            if len(columns) > len(row):
                row.append(Cell(html.Code(commands.get(id(entry)) or "unknown")))
            rows.append(row)
        return html.Section([html.H2(title), table(columns, rows, caption=f"{title}: {len(rows)}")])

    def _grouped(self, title: str, found: Iterable[tuple[Entry, tuple[str, ...]]], *names: str) -> Node:
        """One row for each different finding, with the tests that have it."""
        tests: dict[tuple[str, ...], list[Entry]] = {}
        for entry, finding in found:
            tests.setdefault(finding, []).append(entry)
        if not tests:
            return None
        rows: list[Row] = [
            [*finding, count_cell(len(entries)), Cell(self._list(entries))] for finding, entries in tests.items()
        ]
        columns: Columns = [*names, Column("Tests", numeric=True), "Which"]
        return html.Section([html.H2(title), table(columns, rows, caption=title)])

    def _list(self, entries: Sequence[Entry]) -> Node:
        if len(entries) == 1:
            return self.link(entries[0])
        if len(entries) == len(self.matrix):
            return "all tests"
        listed = bullets(map(self.link, entries[:_TESTS_LISTED]), len(entries) - _TESTS_LISTED)
        return html.Details([html.Summary(f"{len(entries)} tests"), listed])


def overview(matrix: Matrix) -> str:
    everything = [*matrix.entries, *matrix.unfinished]
    counts = {
        "failed": sum(entry.failed for entry in matrix),
        "without results": len(matrix.unfinished),
        "with damaged artifacts": sum(bool(entry.problems) for entry in matrix),
        "without a file that is read where there is one": sum(bool(entry.missing_files) for entry in everything),
    }
    found = [f"{count} {what}" for what, count in counts.items() if count]
    total = f"{len(everything)} {plural(len(everything), 'test')}"
    if not found:
        return f"None of {total} failed, all finished, no artifact is damaged or missing."
    return f"Of {total}: {', '.join(found)}."


class CheckReport(Report):
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
