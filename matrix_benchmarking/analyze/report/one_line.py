"""Text from artifacts made fit to stand in a line of a report: no line breaks, nothing that a reader would obey."""

from __future__ import annotations

_JOINER = "\u200d"
"""Joins emoji; the one invisible character that is kept."""


def one_line(text: str, limit: int = 300) -> str:
    """*text* in one line of at most *limit* characters.

    White space of any kind is one blank; control characters, those that turn the direction of writing and halves of
    surrogate pairs are shown as ``\\x1b`` and not sent.
    """
    start = text[: 4 * limit]
    if not start.isprintable():
        start = "".join(_shown(char) for char in start)
    line = " ".join(start.split())
    return line if len(line) <= limit and len(text) <= 4 * limit else f"{line[: limit - 1].rstrip()}…"


def _shown(char: str) -> str:
    if char.isspace():
        return " "
    return char if char.isprintable() or char == _JOINER else ascii(char)[1:-1]
