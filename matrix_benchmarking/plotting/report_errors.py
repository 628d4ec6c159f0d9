"""Reports: everything that went wrong, with the way to its test directory; what is odd, and the line about it."""

from __future__ import annotations

import fnmatch
import itertools
import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from ..analyze.best import Best
from ..analyze.check import AnswerKind, Finding, counted
from ..analyze.failures import prone_values
from ..analyze.wording import ranking
from ..analyze.words import plural
from ..files import read_regular
from ..filters import show
from ..matrix import DID_NOT_FINISH, Entry, Matrix
from .base import Report, View
from .tables import ROWS_SHOWN, Cell, Column, Columns, Node, Row, bullets, html, table
from .template import short

_TESTS_LISTED = 100
_QUESTIONS = {
    AnswerKind.BEST: "the best configuration",
    AnswerKind.HISTORY: "the history",
    AnswerKind.PAIR: "a comparison",
}
MOST_READ = 300
"""Of how many tests the logs are read."""
MOST_SHOWN = 25
PRONE_SHOWN = 6
NAMES = ("*.log", "stdout", "stdout.*", "stderr", "stderr.*", "*.stdout", "*.stderr", "*.out", "*.err")
LINES, LONGEST_LINE, TAIL_BYTES = 20, 500, 16 * 1024
FILES, LISTED, DEPTH = 4, 500, 2
"""Of one test: how many logs are read, how many directory entries are looked at, how deep."""
_NUMBER_OR_ID = r"\b[0-9a-f]{8,}\b|\d+"

Logs = Mapping[str, Sequence[str]]
"""The last lines of the logs of a test, by their paths in its directory."""
Failure = tuple[Entry, Logs | None]
"""A failed or unfinished test and its logs; None where they were not read."""


class ErrorReport(Report):
    name: ClassVar[str] = "report: Error report"
    description: ClassVar[str] = (
        "Failed and unfinished tests, damaged and missing artifacts, doubtful numbers, and KPIs that could "
        "not be computed."
    )

    def draw(self, view: View) -> list[Node]:
        matrix, rows = self.matrix, self.matrix.entries
        well = rows.successful.having("warnings")
        failed = [(entry, show(entry.exit_code)) for entry in rows.where(rows.failed())]
        without = [(entry, str(problem)) for entry in matrix.unfinished for problem in entry.problems]
        damaged = [(entry, str(problem)) for entry in rows.having("problems") for problem in entry.problems]
        lacking = [*rows.having("missing_files"), *matrix.unfinished]
        missing = [(entry, (file,)) for entry in lacking for file in entry.missing_files]
        odd = rows.where(map(operator.or_, *(map(bool, rows.values(name)) for name in ("implausible", "harmless"))))
        wrong = [(entry, sentence) for entry in odd for sentence in (*entry.implausible, *entry.harmless)]
        warned = [(entry, said) for entry in well for said in entry.warnings]
        unknown = [(entry, item) for entry in rows.having("missing_kpis") for item in entry.missing_kpis.items()]
        lines = [html.P(overview(matrix), className="lead")]
        if self.workload.warnings is not None:
            numbers = f"The numbers of {len(well)} {plural(len(well), 'test')} are" if well else "No test's numbers are"
            lines.append(html.P(f"{numbers} doubtful by the workload's own checks."))
        sections = [
            html.Div(lines, className="verdict"),
            *self._why(),
            self._tests("Failed tests", "Exit code", failed),
            self._tests("Tests without results", "Reason", without),
            self._tests("Artifacts that can't be read", "Problem", damaged),
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
        columns: Columns = ["Test", what, *(["Repeat it"] if any(commands.values()) else [])]
        rows: list[Row] = []
        for entry, text in found:
            row: list[Cell | str] = [Cell(self.link(entry)), text]
            if len(columns) > len(row):
                command = commands.get(id(entry))
                row.append(Cell(html.Code(command) if command else "unknown"))
            rows.append(row)
        return html.Section([html.H2(title), table(columns, rows, caption=f"{title}: {len(rows)}")])

    def _grouped(self, title: str, found: Iterable[tuple[Entry, tuple[str, ...]]], *names: str) -> Node:
        """One row for each different finding, with the tests that have it."""
        tests: dict[tuple[str, ...], list[Entry]] = {}
        for entry, finding in found:
            tests.setdefault(finding, []).append(entry)
        if not tests:
            return None
        rows: list[Row] = [[*finding, self._list(entries)] for finding, entries in tests.items()]
        columns: Columns = [*names, "Tests"]
        return html.Section([html.H2(title), table(columns, rows, caption=title)])

    def _list(self, entries: Sequence[Entry]) -> Cell:
        """How many they are, sorted by it, and which."""
        count = len(entries)
        if count == 1:
            return Cell(self.link(entries[0]), sort=count)
        if count == len(self.matrix):
            return Cell(f"all {count}", sort=count)
        listed = bullets(map(self.link, entries[:_TESTS_LISTED]), count - _TESTS_LISTED)
        return Cell(html.Details([html.Summary(f"{count} tests"), listed]), sort=count)

    def _why(self) -> list[Node]:
        """What the failed and unfinished tests have in common, their causes, and the ends of their logs."""
        matrix = self.matrix
        failed = [*(entry for entry in matrix if entry.failed), *matrix.unfinished]
        if not failed:
            return []
        groups: dict[tuple[object, ...], list[Failure]] = {}
        for at, entry in enumerate(failed):
            logs = tails(entry.location) if at < MOST_READ else None
            same = None if logs is None else re.sub(_NUMBER_OR_ID, "#", cause(logs))
            groups.setdefault((entry.finished, entry.exit_code, same), []).append((entry, logs))
        largest = sorted(groups.values(), key=len, reverse=True)
        prone = prone_values([*matrix.entries, *matrix.unfinished])
        note = "No single value of a setting is among the failed tests more often than chance explains."
        if prone:
            note = (
                "More often than chance explains, by Fisher's exact test at 95 %, corrected for the number of values:"
            )
        parts: list[Node] = [html.H2("Why tests failed"), html.P(note)]
        parts += [bullets(map(str, prone[:PRONE_SHOWN]), len(prone) - PRONE_SHOWN)] if prone else []
        parts.append(self._causes(largest))
        if len(failed) > MOST_READ:
            parts.append(html.P(f"The logs of the first {MOST_READ} of {len(failed)} tests were read."))
        return [html.Section(parts), *self._logs(largest)]

    def _causes(self, groups: Sequence[Sequence[Failure]]) -> Node:
        said = "of the first such test; tests whose lines differ in numbers only are one"
        columns: Columns = [
            "Exit code",
            Column("Last line of its log", help=said),
            "Tests",
        ]
        rows: list[Row] = []
        for group in groups:
            first, logs = group[0]
            line = "not read" if logs is None else cause(logs) or "no log"
            code = "can't be read" if first.is_unreadable else DID_NOT_FINISH
            code = show(first.exit_code) if first.finished else code
            rows.append([code, line, self._list([entry for entry, _ in group])])
        return table(columns, rows, caption="Failed and unfinished tests by their most likely common cause")

    def _logs(self, groups: Sequence[Sequence[Failure]]) -> list[Node]:
        ordered = [*(group[0] for group in groups), *(failure for group in groups for failure in group[1:])]
        with_logs = [(entry, logs) for entry, logs in ordered if logs]
        if not with_logs:
            return []
        parts: list[Node] = [html.H2("Ends of their logs")]
        for entry, logs in with_logs[:MOST_SHOWN]:
            ends = [
                part
                for file, lines in logs.items()
                for part in (html.P(html.Code(file)), html.Pre(html.Code("\n".join(lines))))
            ]
            title = html.Summary(f"{entry.name}: {cause(logs)}")
            parts.append(html.Details([title, html.P(self.link(entry)), *ends]))
        rest = len(with_logs) - MOST_SHOWN
        if rest > 0:
            parts.append(html.P(f"And those of {rest} more {plural(rest, 'test')}, in their directories."))
        return [html.Section(parts)]


def overview(matrix: Matrix) -> str:
    rows, unfinished = matrix.entries, matrix.unfinished
    every = len(rows) + len(unfinished)
    counts = {
        "failed": sum(rows.failed()),
        "without results": len(unfinished),
        "with artifacts that can't be read": len(rows.having("problems")),
        "without a file that parsers look for": len(rows.having("missing_files"))
        + sum(bool(entry.missing_files) for entry in unfinished),
    }
    found = [f"{count} {what}" for what, count in counts.items() if count]
    total = f"{every} {plural(every, 'test')}"
    if not found and every == 1:
        return "The test didn't fail, it finished, and no artifact is damaged or missing."
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
        parts: list[Node] = [html.Div(html.P(self.summary(), className="lead"), className="verdict")]
        for heading, found in itertools.groupby(self.study.findings, operator.attrgetter("heading")):
            parts += [html.H2(heading), bullets(map(self._said, found))]
        return [*parts, *left_out(self.study.best, self.link)]

    def summary(self) -> str:
        text, without = counted(self.study.findings), ranking.exclusions(self.study.best)
        return f"{text[:1].upper()}{text[1:]}.{f' {without}.' if without else ''}"

    def _said(self, found: Finding) -> list[Node]:
        """The sentence, which answers it may change, and the runs that it is about."""
        changed = [text for answer, text in _QUESTIONS.items() if answer in found.changes]
        said: list[Node] = [found.sentence, f" May change: {', '.join(changed)}." if changed else ""]
        if found.runs:
            named = ((name, self.study.run_called(name)) for name in found.runs[:ROWS_SHOWN])
            listed = bullets((self.link(run) if run else name for name, run in named), len(found.runs) - ROWS_SHOWN)
            said.append(html.Details([html.Summary(f"List of {len(found.runs)}"), listed]))
        return said


def left_out(best: Best, link: Callable[[Entry], Node]) -> list[Node]:
    """The runs that take no part in a ranking, and why."""
    rows: list[Row] = [[Cell(link(one.entry)), one.cause.value, one.reason] for one in best.excluded]
    listed = table(["Test", "State", "Reason"], rows, caption="Left out of the ranking")
    return [html.H2("Runs that take no part"), listed] if rows else []


def check_line(found: Sequence[Finding], answer: AnswerKind, href: str | None = None, *, is_part: bool = False) -> Node:
    """How many findings there are and how many change this *answer*, which may be about a part of the runs."""
    link: list[Node] = [" ", html.A("Findings.", href=href)] if href is not None and found else []
    is_warning = any(answer in one.changes or one.in_most_runs for one in found)
    said = f"Check of all runs: {counted(found)}." if is_part else f"Check: {counted(found, answer)}."
    return html.P([said, *link], className="warning" if is_warning else "note")


def tails(location: Path) -> Logs:
    """The ends of the logs of the test directory *location*, what most likely names a cause first."""
    names = sorted(_names(location, "", DEPTH), reverse=True)  # the last of the numbered directories first
    names.sort(key=lambda name: "err" not in os.path.basename(name).lower())
    return {name: lines for name in names[:FILES] if (lines := _tail(location / name))}


def cause(logs: Logs) -> str:
    """The last line with something in it; empty for none."""
    return next((line.strip() for lines in logs.values() for line in reversed(lines) if line.strip()), "")


def _names(location: Path, below: str, depth: int) -> Iterator[str]:
    """Names of logs in a directory, no link among them or on the way."""
    try:
        with os.scandir(location / below) as entries:
            listed = [entry for entry, _ in zip(entries, range(LISTED), strict=False)]
    except OSError:
        return
    for entry in listed:
        name = f"{below}{entry.name}"
        if entry.is_dir(follow_symlinks=False) and depth > 1:
            yield from _names(location, f"{name}/", depth - 1)
        elif entry.is_file(follow_symlinks=False) and any(fnmatch.fnmatch(entry.name.lower(), each) for each in NAMES):
            yield name


def _tail(path: Path) -> Sequence[str]:
    try:
        content = read_regular(path, TAIL_BYTES + 1, is_end=True)
    except OSError:
        return ()
    lines = content.decode("utf-8", "backslashreplace").splitlines()
    if len(content) > TAIL_BYTES and len(lines) > 1:
        del lines[0]  # it begins somewhere in a line
    return [short(line, LONGEST_LINE + 1) for line in lines[-LINES:]]
