"""What a finding is."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence


class Answer(enum.Enum):
    """A question that is asked of runs."""

    BEST = "best"
    """Which configuration is best?"""
    HISTORY = "history"
    """What changed since when?"""
    PAIR = "pair"
    """Is one build worse than another?"""


EVERY = frozenset(Answer)
ANALYSES = frozenset({Answer.HISTORY, Answer.PAIR})
NONE: frozenset[Answer] = frozenset()


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
    changes: frozenset[Answer] = NONE
    runs: Sequence[str] = ()
    in_most_runs: bool = False
