"""The payloads of the good runs of a matrix, for a history, and an account of the other runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import IO

from ..errors import VerdictError
from ..filters import show
from ..matrix import DID_NOT_FINISH, Entry, Matrix
from ..workload import Workload
from .payloads import PayloadProblem, json_bytes, payload_model, summary, validate
from .read import labels_of_entry


class GoodRuns:
    """Writes the payloads of the good runs of *matrix*.

    Attributes:
        left_out: why, by name: the runs that say themselves that they failed, and those that did not finish.
        broken: the problems, by name, of those that claim success and have no valid payload. They stand in the way of
            all, unless these are to *keep going* without them.
        refused: True if nothing was to be written.
    """

    def __init__(self, workload: Workload, matrix: Matrix, *, keep_going: bool) -> None:
        self._workload, self._matrix, self._keep_going = workload, matrix, keep_going
        self.left_out: dict[str, str] = {}
        self.broken: dict[str, list[PayloadProblem]] = {}
        self.refused = False
        self._good: list[Entry] = []

    def write(self, stream: IO[bytes]) -> None:
        """Write them as JSON Lines. Raises VerdictError: none is good, or they are refused; *stream* is no use then."""
        self.left_out, self.broken, self._good = {}, {}, []
        for entry in self._matrix.unfinished:
            if not entry.is_unreadable:
                self.left_out[entry.name] = next((each.reason for each in entry.problems), DID_NOT_FINISH)
            else:
                found = [PayloadProblem(entry.name, each.file, each.reason) for each in entry.problems]
                self.broken[entry.name] = found
        model = payload_model(self._workload)
        for entry in self._matrix:
            if entry.failed:
                self.left_out[entry.name] = f"failed with exit code {entry.exit_code}"
                continue
            payload, problems = validate(model, self._workload, entry)
            if payload is None:
                self.broken[entry.name] = problems
                continue
            self._good.append(entry)
            if self._keep_going or not self.broken:
                stream.write(json_bytes(payload) + b"\n")
        self.refused = bool(self.broken and not self._keep_going) or not self._good
        if self.refused:
            raise VerdictError(self._refusal())

    def versions_without_a_good_run(self) -> list[str]:
        """``version 1.4.0`` for each value of the workload's comparison keys that only the other runs have."""
        if not (self.left_out or self.broken):
            return []
        good_ids = {id(entry) for entry in self._good}
        others = [entry for entry in (*self._matrix, *self._matrix.unfinished) if id(entry) not in good_ids]
        return versions_without(self._good, others, self._workload)

    def _refusal(self) -> str:
        tests = len(self._matrix) + len(self._matrix.unfinished)
        lines = [summary(list(itertools.chain(*self.broken.values())), tests)] if self.broken else []
        if self._good:
            lines.append(f"  `keep_going` keeps the other {_runs(len(self._good))}")
        else:
            lines += [f"there is nothing to keep: none of {_runs(tests)} is good", *listed(self.left_out.items())]
        return "\n".join(lines)


def versions_without(good: Iterable[Entry], others: Iterable[Entry], workload: Workload) -> list[str]:
    """``version 1.4.0`` for each value of the workload's comparison keys that *others* have and none of *good*."""
    missing = {place: said for entry in others for place, said in _versions(entry, workload)}
    for entry in good if missing else ():
        for place, _ in _versions(entry, workload):
            missing.pop(place, None)
    return list(missing.values())


def _versions(entry: Entry, workload: Workload) -> Iterator[tuple[str, str]]:
    """Each version of *entry*: what tells it from all others, be it a list or a mapping; and as it is shown."""
    keys = workload.regression.comparison_keys
    values = dict(entry.settings)
    if any(key not in values for key in keys):
        values = {**(labels_of_entry(workload, entry) or {}), **values}
    for key in keys:
        if values.get(key) is not None:
            yield f"{key} {values[key]!r}", f"{key} {show(values[key])}"


SHOWN = 10


def listed(runs: Iterable[tuple[str, str]]) -> list[str]:
    """The first of *runs*, a name and a reason each, as lines; and how many more there are."""
    lines = [f"  {name}: {reason}" for name, reason in runs]
    return lines if len(lines) <= SHOWN else [*lines[:SHOWN], f"  … and {len(lines) - SHOWN} more"]


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
