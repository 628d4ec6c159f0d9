"""A matrix out of a history: entries with settings, KPIs and payload, but without a test directory."""

from __future__ import annotations

import dataclasses
import functools
import os
import uuid
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ..filters import Filters
from ..lts.facts import time_of_entry
from ..lts.read import Source, matrix_of
from ..matrix import Entry, Matrix
from ..workload import Workload
from . import open_history
from .errors import HistoryError
from .location import Location
from .port import History, Query
from .sameness import identifies

NOWHERE = Path(os.devnull)
"""Below it there is nothing on any machine, so what asks for an artifact of such an entry finds none."""


def read_matrix(workload: Workload, location: Location, filters: Filters | None = None) -> Matrix:
    """The runs of *workload* in the history at *location*, oldest first, those of unknown time before all others.

    The history is closed when this returns. Payloads are held compressed and decoded on demand.

    Args:
        filters: on the settings; the history itself selects by them.

    Raises:
        HistoryError: the history can't be read.
    """
    query = Query(workload.name, filters or {})
    with open_history(location, writable=False) as history:
        sources = list(_sources(history, query))
    sources.reverse()
    return matrix_of(workload, sources)


def require_matrix(workload: Workload, location: Location) -> Matrix:
    """As :func:`read_matrix`, of a history that has to have runs of *workload*.

    Raises:
        HistoryError: it can't be read, or has none.
    """
    matrix = read_matrix(workload, location)
    if not len(matrix):
        said = "".join(f"\n  {note}" for note in matrix.notes[:5])
        raise HistoryError(f"there is no run of workload '{workload.name}' in {location}{said}")
    return matrix


def with_past(matrix: Matrix, past: Matrix) -> Matrix:
    """All known runs: those of *past* and, as the newest, those of *matrix*. A run in both is there once.

    Of that one the entry of *matrix* is taken, which has its test directory, with the id under which it is kept. A run
    is the same by its id, or by its measurement: one that was described anew may have another id in the tree.
    """
    current = {entry.test_uuid: entry for entry in matrix}
    measured = {entry.measurement: entry for entry in matrix if identifies(entry.measurement)}
    kept, known = [], dict[int, Entry]()
    for entry in past:
        same = current.get(entry.test_uuid)
        if same is None and (described := measured.get(entry.measurement)) is not None:
            same = described if id(described) not in known and _is_same_time(entry, described) else None
        if same is None:
            kept.append(entry)
        else:
            known[id(same)] = dataclasses.replace(same, test_uuid=entry.test_uuid, recorded=entry.recorded)
    merged = [*kept, *(known.get(id(entry), entry) for entry in matrix)]
    return Matrix(merged, unfinished=matrix.unfinished, notes=past.notes)


def _is_same_time(one: Entry, other: Entry) -> bool:
    """False for runs that took place at different times: those are repeats, however equal their artifacts."""
    return len({time_of_entry(one), time_of_entry(other)} - {None}) < 2


def _sources(history: History, query: Query) -> Iterator[Source]:
    for each in history.records(query):
        name, content = _name(each.payload), zlib.compress(msgspec.json.encode(each.payload), level=1)
        load = functools.partial(zlib.decompress, content)
        yield Source(name, NOWHERE / name, load, history.location, each.recorded)


def _name(payload: Any) -> str:
    """The run's id, under which the history keeps it."""
    try:
        return str(uuid.UUID(payload["metadata"]["test_uuid"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        return "a payload without an id"  # which the matrix then notes
