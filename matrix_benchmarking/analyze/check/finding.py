"""What a finding is, and findings in one line with their counts."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from ...grouped import grouped
from ...matrix import Entry
from ...rows import Rows, RunNames
from ..words import count_of, listed


class AnswerKind(enum.Enum):
    """A question that is asked of runs."""

    BEST = "best"  # which configuration is best?
    HISTORY = "history"  # what changed since when?
    PAIR = "pair"  # is one build worse than another?


EVERY = frozenset(AnswerKind)
ANALYSES = frozenset({AnswerKind.HISTORY, AnswerKind.PAIR})
OF_HISTORY, OF_BEST = frozenset({AnswerKind.HISTORY}), frozenset({AnswerKind.BEST})
NONE: frozenset[AnswerKind] = frozenset()
SAID = 2
"""How many of the findings that change an answer are said beside it."""


class Finding(msgspec.Struct, frozen=True):
    """Something odd about the runs."""

    kind: str  # a stable name for programs, such as ``misspelt-setting``
    sentence: str  # what it is, with its count, and what to do
    changes: frozenset[AnswerKind] = NONE  # the answers that it may change; none for what is good to know only
    runs: Sequence[str] = ()  # the names of those that it is about; empty where it is about none in particular
    in_most_runs: bool = False  # it makes the numbers of most runs doubtful

    @classmethod
    def of(cls, kind: str, sentence: str, entries: Iterable[Entry], changes: frozenset[AnswerKind] = EVERY) -> Finding:
        """One that is about *entries*."""
        return cls(kind, sentence, changes, RunNames(Rows.of(entries)))

    @property
    def heading(self) -> str:
        """What it is listed under."""
        most = "These make the numbers of most runs doubtful" if self.in_most_runs else "Good to know"
        return "These change an answer" if self.changes else most

    def unless_about_others(self, answer: AnswerKind, asked: Collection[str]) -> Finding:
        """The same, which doesn't change the *answer* where it is about none of the runs that are *asked*, by name."""
        is_of_others = bool(self.runs) and not any(name in asked for name in self.runs)
        return msgspec.structs.replace(self, changes=self.changes - {answer}) if is_of_others else self


def counted(found: Sequence[Finding], answer: AnswerKind | None = None) -> str:
    """How many there are, and how many change this *answer*, or any: ``5 findings, 2 of which change this answer``.

    And how many make most runs doubtful, where there are any.
    """
    if not found:
        return "no findings"
    changing = sum(bool(one.changes) if answer is None else answer in one.changes for one in found)
    what, is_other = "an answer" if answer is None else "this answer", any(one.changes for one in found)
    if len(found) == 1:
        said = f"which changes {what if changing else 'another answer' if is_other else 'no answer'}"
    elif changing:
        said = f"{changing} of which {'changes' if changing == 1 else 'change'} {what}"
    else:
        said = f"none of which changes {'this' if is_other else 'an'} answer"
    general = sum(one.in_most_runs for one in found)
    most = f"; {general} {'makes' if general == 1 else 'make'} most runs doubtful" if general else ""
    return f"{count_of(len(found), 'finding')}, {said}{most}"


def about(found: Sequence[Finding], answer: AnswerKind | None = None) -> str:
    """The line that each surface shows, and where the list is."""
    return line(counted(found, answer))


def line(said: str) -> str:
    """The line with what :func:`counted` *said*; empty for nothing."""
    where = "" if said.startswith("no ") else f" ('matbench check' lists {'it' if said.startswith('1 ') else 'them'})"
    return f"Check: {said}{where}." if said else ""


FEW = 0.1  # fewer runs than this share are few; one run is, among four and more
ALONE_FROM = 4


def are_few(count: int, of: int) -> bool:
    """Whether so many of all are so few that they may be a mistake."""
    return 0 < count <= max(FEW * of, 1 if of >= ALONE_FROM else 0)


def runs_have(entries: Sequence[object]) -> str:
    """``1 run has``, ``3 runs have``."""
    return f"{count_of(len(entries), 'run')} {'has' if len(entries) == 1 else 'have'}"


UNEXPLAINED = "no reason is given"


def by_reason(reasons: Mapping[str, str]) -> list[str]:
    """Each of the *reasons* for which KPIs are unknown: ``a and b: each was not measured``; of one no names."""
    several = grouped((_of_each(name, reason), name) for name, reason in reasons.items())
    said = [(listed(names), why if names[1:] else reasons[names[0]]) for why, names in several.items()]
    return [why if not said[1:] or why.startswith(f"{names} ") else f"{names}: {why}" for names, why in said]


def _of_each(name: str, reason: str) -> str:
    """*reason* without the *name* of the KPI that it begins with, or quotes."""
    own = next((each for each in (name, name.replace("_", " ")) if reason.startswith(f"{each} ")), None)
    return reason.replace(f"'{name}'", "'…'") if own is None else f"each{reason.removeprefix(own)}"


def said_of_twins(count: int) -> str:
    """What is said of *count* runs, two at least, of which one may be another one that was changed and kept again."""
    what = f"{count} runs have the settings, the repeat and the time of another one"
    return f"{what}: was a run changed after it was kept?"
