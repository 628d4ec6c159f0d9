"""Why tests failed, as far as it can be told: their exit codes, the ends of their logs, the settings they share.

A test directory may come from a stranger: of its logs regular files in it are read, a few bytes each.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..analyze.failures import prone_values
from ..analyze.words import plural
from ..filters import show
from ..matrix import DID_NOT_FINISH, Entry, Matrix
from .tables import Cell, Column, Columns, Node, Row, bullets, count_cell, html, table
from .template import short

MOST_READ = 300
"""Of how many tests the logs are read."""
MOST_SHOWN = 25
PRONE_SHOWN = 6
NAMES = ("*.log", "stdout", "stdout.*", "stderr", "stderr.*", "*.stdout", "*.stderr", "*.out", "*.err")
LINES, LONGEST_LINE, TAIL_BYTES = 20, 500, 16 * 1024
FILES, LISTED, DEPTH = 4, 500, 2
"""Of one test: how many logs are read, how many directory entries are looked at, how deep."""

Which = Callable[[Sequence[Entry]], Node]


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """A failed or unfinished test and the ends of its logs; None where they were not read."""

    entry: Entry
    logs: list[Tail] | None

    @property
    def key(self) -> tuple[object, ...]:
        """What tests with the same cause have in common."""
        return self.entry.finished, self.entry.exit_code, None if self.logs is None else same_cause(cause(self.logs))


def failure_sections(matrix: Matrix, link: Callable[[Entry], Node], which: Which) -> list[Node]:
    """What the failed and unfinished tests have in common, their causes, and the ends of their logs."""
    failed = [*(entry for entry in matrix if entry.failed), *matrix.unfinished]
    if not failed:
        return []
    found = [Failure(entry, tails(entry.location) if at < MOST_READ else None) for at, entry in enumerate(failed)]
    groups: dict[tuple[object, ...], list[Failure]] = {}
    for failure in found:
        groups.setdefault(failure.key, []).append(failure)
    largest = sorted(groups.values(), key=len, reverse=True)
    prone = prone_values([*matrix.entries, *matrix.unfinished])
    note = "No value of a setting is among the failed tests more often than chance explains."
    if prone:
        note = "More often than chance explains, by Fisher's exact test at 95 %, corrected for the number of values:"
    parts: list[Node] = [html.H2("Why tests failed"), html.P(note)]
    parts += [bullets(map(str, prone[:PRONE_SHOWN]), len(prone) - PRONE_SHOWN)] if prone else []
    parts.append(_causes(largest, which))
    if len(failed) > MOST_READ:
        parts.append(html.P(f"The logs of the first {MOST_READ} of {len(failed)} tests were read."))
    return [html.Section(parts), *_log_section(largest, link)]


def _causes(groups: Sequence[Sequence[Failure]], which: Which) -> Node:
    said = "of the first such test; tests whose lines differ in numbers only are one"
    columns: Columns = ["Exit code", Column("Last line of its log", help=said), Column("Tests", numeric=True), "Which"]
    rows: list[Row] = []
    for group in groups:
        first, logs = group[0].entry, group[0].logs
        line = "not read" if logs is None else cause(logs) or "no log"
        code = "can't be read" if first.is_unreadable else DID_NOT_FINISH
        code = show(first.exit_code) if first.finished else code
        rows.append([code, line, count_cell(len(group)), Cell(which([failure.entry for failure in group]))])
    return table(columns, rows, caption="Failed and unfinished tests by their most likely common cause")


def _log_section(groups: Sequence[Sequence[Failure]], link: Callable[[Entry], Node]) -> list[Node]:
    ordered = [*(group[0] for group in groups), *(failure for group in groups for failure in group[1:])]
    with_logs = [failure for failure in ordered if failure.logs]
    if not with_logs:
        return []
    parts: list[Node] = [html.H2("Ends of their logs")]
    for failure in with_logs[:MOST_SHOWN]:
        logs = [
            part
            for tail in failure.logs or ()
            for part in (html.P(html.Code(tail.file)), html.Pre(html.Code("\n".join(tail.lines))))
        ]
        title = html.Summary(f"{failure.entry.name}: {cause(failure.logs or [])}")
        parts.append(html.Details([title, html.P(link(failure.entry)), *logs]))
    rest = len(with_logs) - MOST_SHOWN
    if rest > 0:
        parts.append(html.P(f"And those of {rest} more {plural(rest, 'test')}, in their directories."))
    return [html.Section(parts)]


@dataclasses.dataclass(frozen=True, slots=True)
class Tail:
    """The last lines of a log; *file* is relative to the test directory."""

    file: str
    lines: tuple[str, ...]

    @property
    def last_line(self) -> str:
        return next((line.strip() for line in reversed(self.lines) if line.strip()), "")


def tails(location: Path) -> list[Tail]:
    """The ends of the logs of the test directory *location*, what most likely names a cause first."""
    names = sorted(_names(location, "", DEPTH), reverse=True)  # the last of the numbered directories first
    names.sort(key=lambda name: "err" not in os.path.basename(name).lower())
    read = (_tail(location, name) for name in names[:FILES])
    return [tail for tail in read if tail is not None and tail.lines]


def cause(found: list[Tail]) -> str:
    return next((tail.last_line for tail in found if tail.last_line), "")


def same_cause(line: str) -> str:
    """*line* without its numbers and ids, by which causes are the same."""
    return re.sub(r"\b[0-9a-f]{8,}\b|\d+", "#", line)


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


def _tail(location: Path, name: str) -> Tail | None:
    try:
        descriptor = os.open(location / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, "rb", buffering=0) as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        try:
            stream.seek(max(0, status.st_size - TAIL_BYTES))
            content = stream.read(TAIL_BYTES) or b""
        except OSError:
            return None
    lines = content.decode("utf-8", "backslashreplace").splitlines()
    if status.st_size > TAIL_BYTES and len(lines) > 1:
        del lines[0]  # it begins somewhere in a line
    return Tail(name, tuple(short(line, LONGEST_LINE + 1) for line in lines[-LINES:]))
