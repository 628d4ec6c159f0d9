"""Findings in one line, and their counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..wording import plural
from .finding import Answer, Finding

_WHERE = "'matbench check'"


def counted(found: Sequence[Finding], answer: Answer | None = None) -> str:
    """How many there are, and how many change this *answer*, or any: ``5 findings, 2 of which change this answer``."""
    if not found:
        return "no findings"
    total = f"{len(found)} {plural(len(found), 'finding')}"
    changing = sum(bool(one.changes) if answer is None else answer in one.changes for one in found)
    what = "an answer" if answer is None else "this answer"
    if not changing and any(one.changes for one in found):
        return f"{total}, {'which changes another answer' if len(found) == 1 else 'none of which changes this answer'}"
    if not changing:
        return f"{total}, {'which changes no' if len(found) == 1 else 'none of which changes an'} answer"
    if len(found) == 1:
        return f"{total}, which changes {what}"
    return f"{total}, {changing} of which {'changes' if changing == 1 else 'change'} {what}"


def about(found: Sequence[Finding], answer: Answer | None = None) -> str:
    """The line that each surface shows, and where the list is."""
    return line(counted(found, answer))


def line(said: str) -> str:
    """The line with what :func:`counted` *said*; empty for nothing."""
    where = "" if said.startswith("no ") else f" ({_WHERE} lists {'it' if said.startswith('1 ') else 'them'})"
    return f"Check: {said}{where}." if said else ""


def first_of(reasons: Iterable[str]) -> str:
    """The first of *reasons*, and how many others there are."""
    first, *others = dict.fromkeys(reasons)
    return f"{first}; and {len(others)} other {plural(len(others), 'reason')}" if others else first


def said_of_twins(count: int) -> str:
    """What is said of *count* runs, two at least, of which one may be another one that was changed and kept again."""
    return (
        f"{count} runs have the settings, the repeat and the time of another one: was a run changed after it was kept?"
    )
