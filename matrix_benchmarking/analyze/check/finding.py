"""What a finding is, and findings in one line with their counts."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Sequence

from ..words import count_of, is_or_are, plural


class AnswerKind(enum.Enum):
    """A question that is asked of runs."""

    BEST = "best"
    """Which configuration is best?"""
    HISTORY = "history"
    """What changed since when?"""
    PAIR = "pair"
    """Is one build worse than another?"""


EVERY = frozenset(AnswerKind)
ANALYSES = frozenset({AnswerKind.HISTORY, AnswerKind.PAIR})
NONE: frozenset[AnswerKind] = frozenset()


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """Something odd about the runs.

    Attributes:
        kind: a stable name for programs, such as ``misspelt-setting``.
        sentence: what it is, with its count, and what to do.
        changes: the answers that it may change; none for what is good to know only.
        runs: the names of the runs that it is about; empty where it is about none in particular.
        in_most_runs: it makes the numbers of most runs doubtful.
    """

    kind: str
    sentence: str
    changes: frozenset[AnswerKind] = NONE
    runs: Sequence[str] = ()
    in_most_runs: bool = False


_WHERE = "'matbench check'"
MOST_RUNS = "In most runs"
"""The heading above what makes the numbers of most runs doubtful."""


def counted(found: Sequence[Finding], answer: AnswerKind | None = None) -> str:
    """How many there are, and how many change this *answer*, or any: ``5 findings, 2 of which change this answer``.

    And how many are in most runs, where there are any.
    """
    if not found:
        return "no findings"
    general = sum(one.in_most_runs for one in found)
    most = f"; {general} {is_or_are(general)} in most runs" if general else ""
    return f"{_changing(found, answer)}{most}"


def _changing(found: Sequence[Finding], answer: AnswerKind | None) -> str:
    total = count_of(len(found), "finding")
    changing = sum(bool(one.changes) if answer is None else answer in one.changes for one in found)
    what = "an answer" if answer is None else "this answer"
    if not changing and any(one.changes for one in found):
        return f"{total}, {'which changes another answer' if len(found) == 1 else 'none of which changes this answer'}"
    if not changing:
        return f"{total}, {'which changes no' if len(found) == 1 else 'none of which changes an'} answer"
    if len(found) == 1:
        return f"{total}, which changes {what}"
    return f"{total}, {changing} of which {'changes' if changing == 1 else 'change'} {what}"


def about(found: Sequence[Finding], answer: AnswerKind | None = None) -> str:
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
