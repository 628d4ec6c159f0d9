"""Text from artifacts in Markdown: as GitHub and GitLab render it, it is text and nothing else.

Services look for mentions, references and addresses in what Markdown has already been rendered to, so escaping alone
doesn't stop them: a zero-width space does, and so does code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .one_line import one_line

_GAP = "&#8203;"
"""A zero-width space: invisible, and no name or address goes on behind it."""

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "$": "&#36;", '"': "&quot;"}
_BACKSLASHED = "\\`*_[]{}~#!"
_ESCAPES = str.maketrans(_ENTITIES | {char: f"\\{char}" for char in _BACKSLASHED})

_GAPS = re.compile(
    r"@"  # @team, a@b.org
    r"|[#!~%&$^](?=[\w\"'])"  # references: #12, !3, ~label, %milestone, &epic, $snippet
    r"|:(?=//)|(?<![^\W_])www(?=\.)"  # addresses
    r"|:(?=[\w+-]+(?::|$))"  # :emoji:, whose last colon may be ours
    r"|GH-(?=[0-9])|\b(?:mailto|xmpp)(?=:)",
    re.IGNORECASE,
)


def plain(text: str, limit: int = 300) -> str:
    """*text* as prose in one line: no markup, no mention, no link. It may stand anywhere but at the start of a line."""
    parts, at = [], 0
    line = one_line(text, limit)
    for match in _GAPS.finditer(line):
        parts.append(line[at : match.end()].translate(_ESCAPES))
        at = match.end()
    return _GAP.join([*parts, line[at:].translate(_ESCAPES)])


def code(text: str, limit: int = 120) -> str:
    """*text* as code in one line, in which services look for nothing. Fit for a cell of a table."""
    line = one_line(text, limit) or "(empty)"
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence, pad = "`" * (longest + 1), " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{pad}{line}{pad}{fence}".replace("|", "\\|")


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """A table of cells that are Markdown already; *right* are the columns of numbers."""
    numbers = frozenset(right)
    rule = ["--:" if index in numbers else "---" for index in range(len(headers))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [headers, rule, *rows])


def bullets(items: Sequence[str], at_most: int) -> str:
    """A list of items that are Markdown already, *at_most* of them and how many more there are."""
    rest = len(items) - at_most
    return "\n".join([*(f"* {item}" for item in items[:at_most]), *([f"* … and {rest} more"] if rest > 0 else [])])
