"""Why tests failed, as far as it can be told: their exit codes, the ends of their logs, the settings they share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from ..analyze.failures import prone_values
from ..analyze.wording import plural
from ..filters import show
from ..matrix import DID_NOT_FINISH, Entry, Matrix
from .logs import Tail, cause, same_cause, tails
from .tables import Cell, Column, Row, table

MOST_READ = 300
"""Of how many tests the logs are read."""
MOST_SHOWN = 25
PRONE_SHOWN = 6

Which = Callable[[Sequence[Entry]], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """A failed or unfinished test and the ends of its logs; None where they were not read."""

    entry: Entry
    logs: list[Tail] | None

    @property
    def key(self) -> tuple[object, ...]:
        """What tests with the same cause have in common."""
        return self.entry.finished, self.entry.exit_code, None if self.logs is None else same_cause(cause(self.logs))


def failure_sections(matrix: Matrix, link: Callable[[Entry], Any], which: Which) -> list[Any]:
    """What the failed and unfinished tests have in common, their causes, and the ends of their logs.

    Args:
        link: makes the link to a test.
        which: makes the list of several tests.
    """
    from dash import html

    failed = [*(entry for entry in matrix if entry.failed), *matrix.unfinished]
    if not failed:
        return []
    found = [Failure(entry, tails(entry.location) if at < MOST_READ else None) for at, entry in enumerate(failed)]
    groups: dict[tuple[object, ...], list[Failure]] = {}
    for failure in found:
        groups.setdefault(failure.key, []).append(failure)
    largest = sorted(groups.values(), key=len, reverse=True)
    parts: list[Any] = [html.H2("Why tests failed"), *_in_common(matrix), _causes(largest, which)]
    if len(failed) > MOST_READ:
        parts.append(html.P(f"The logs of the first {MOST_READ} of {len(failed)} tests were read."))
    return [html.Section(parts), *_log_section(largest, link)]


def _in_common(matrix: Matrix) -> list[Any]:
    from dash import html

    prone = prone_values([*matrix.entries, *matrix.unfinished])
    if not prone:
        return [html.P("No value of a setting is among the failed tests more often than chance explains.")]
    items = [html.Li(str(one)) for one in prone[:PRONE_SHOWN]]
    if len(prone) > PRONE_SHOWN:
        items.append(html.Li(f"and {len(prone) - PRONE_SHOWN} more"))
    note = "More often than chance explains, by Fisher's exact test at 95 %, corrected for the number of values:"
    return [html.P(note), html.Ul(items)]


def _causes(groups: Sequence[Sequence[Failure]], which: Which) -> Any:
    columns = [
        Column("Exit code"),
        Column("Last line of its log", help="of the first such test; tests whose lines differ in numbers only are one"),
        Column("Tests", numeric=True),
        Column("Which"),
    ]
    rows: list[Row] = []
    for group in groups:
        first = group[0]
        line = "not read" if first.logs is None else cause(first.logs) or "no log"
        code = _outcome(first.entry)
        count = len(group)
        rows.append([code, line, Cell(str(count), sort=count), Cell(which([failure.entry for failure in group]))])
    return table(columns, rows, caption="Failed and unfinished tests by their most likely common cause")


def _outcome(entry: Entry) -> str:
    if entry.finished:
        return show(entry.exit_code)
    return "can't be read" if entry.is_unreadable else DID_NOT_FINISH


def _log_section(groups: Sequence[Sequence[Failure]], link: Callable[[Entry], Any]) -> list[Any]:
    """The ends of the logs: of one test of each cause, then of the others."""
    from dash import html

    ordered = [*(group[0] for group in groups), *(failure for group in groups for failure in group[1:])]
    with_logs = [failure for failure in ordered if failure.logs]
    if not with_logs:
        return []
    parts: list[Any] = [html.H2("Ends of their logs")]
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
