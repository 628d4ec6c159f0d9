"""What a plot doesn't show of the runs that were selected, in a sentence: silence would be a claim."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Sequence

from ..analyze.wording import plural
from ..matrix import Entry

FAILED = "failed"


def not_shown(runs: Sequence[Entry], shown: Iterable[Entry], why: Callable[[Entry], str]) -> list[str]:
    """``3 of 40 runs are not shown: 2 failed, 1 without throughput.`` Nothing where all *runs* are *shown*.

    *why* gives the end of ``1 …`` for a run that didn't fail.
    """
    there = {id(run) for run in shown}
    missing = collections.Counter(FAILED if run.failed else why(run) for run in runs if id(run) not in there)
    count = missing.total()
    if not count:
        return []
    reasons = ", ".join(f"{number} {reason}" for reason, number in missing.most_common())
    return [f"{count} of {len(runs)} {plural(len(runs), 'run')} {'is' if count == 1 else 'are'} not shown: {reasons}."]
