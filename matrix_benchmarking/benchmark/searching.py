"""What finished runs of a search say: what to measure next, or its answer."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import MatbenchError
from .expand import SEARCHABLE, SearchCase
from .load_driver import LoadDriver
from .run_directory import FoundRun, Outcome

if TYPE_CHECKING:
    from .search import Answer


def next_step(case: SearchCase, driver: type[LoadDriver], measured: Iterable[tuple[int, Outcome]]) -> int | Answer:
    """The number of virtual users to measure next, or the answer; SearchError if every run failed."""
    from . import search  # numpy and scipy, which points alone don't need

    asked = case.range.model_dump(exclude_none=True)
    spec = search.SearchSpec(**asked, unit=driver.unit, most_failed=driver.most_failed)
    known = [(vus, run, run.throughput if run.exit_code == 0 else None) for vus, run in measured]
    return search.next_step(
        spec, [search.Measurement(vus, rate, run.p95_ms, run.error_rate) for vus, run, rate in known]
    )


def in_order(runs: Sequence[FoundRun]) -> list[FoundRun]:
    """Finished runs of a search about as they were made: by repeat.

    What failed once is measured again at once: where it wasn't, nothing came after it.
    """
    ordered = sorted(runs, key=lambda run: run.repeat)
    failures = Counter(run.settings[SEARCHABLE] for run in runs if not run.done)
    last = {run.settings[SEARCHABLE]: run for run in ordered}
    alone = [run for vus, run in last.items() if not run.done and failures[vus] == 1]
    return [*(run for run in ordered if run not in alone), *alone]


def answer_of(case: SearchCase, driver: type[LoadDriver], runs: Iterable[FoundRun]) -> dict[str, Any] | None:
    """The answer that *runs* give, or why there is none; None where more are to be measured."""
    measured = [(int(run.settings[SEARCHABLE]), run.outcome) for run in runs if run.outcome]
    try:
        step = next_step(case, driver, measured) if measured else case.range.start
    except MatbenchError as error:
        return told_of(case, {"error": str(error)})
    return None if isinstance(step, int) else told_of(case, dataclasses.asdict(step))


def told_of(case: SearchCase, answer: Mapping[str, Any]) -> dict[str, Any]:
    """The *answer* of a search, or its error, as it is kept."""
    return {"experiment": case.experiment, "settings": dict(case.settings), **answer}
