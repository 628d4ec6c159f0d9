"""Which runs of a history go, by age and by number."""

from __future__ import annotations

import dataclasses

from .history import History
from .port import Query


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """Which runs are pruned: those before *before_us*, and all but the newest *keep* of each workload.

    A run of unknown time is not known to be old; it is among the last that are kept by number.
    """

    before_us: int | None = None
    keep: int | None = None
    workload: str | None = None


def prunable(history: History, choice: Choice) -> list[str]:
    """The ids of the runs that *choice* prunes, newest first.

    Raises:
        HistoryError: the history can't be read.
    """
    seen: dict[str, int] = {}
    found = []
    for run in history.runs(Query(choice.workload)):
        seen[run.workload] = seen.get(run.workload, 0) + 1
        is_old = choice.before_us is not None and run.time_us is not None and run.time_us < choice.before_us
        is_beyond = choice.keep is not None and seen[run.workload] > choice.keep
        if is_old or is_beyond:
            found.append(run.id)
    return found
