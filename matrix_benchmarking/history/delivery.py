"""Uploads: payloads from a writer into a history, through the outbox where the history is on a server."""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from . import open_history, plan
from .errors import HistoryError, UnavailableError
from .history import History
from .location import Location
from .outbox import Batch, Outbox, Writer, records
from .port import Pushed
from .twins import twins

Progress = Callable[[int, int], None]


class UndeliveredError(HistoryError):
    """The server is away; what it didn't acknowledge waits in the outbox."""


@dataclasses.dataclass(slots=True)
class Delivered:
    """What became of an upload.

    Attributes:
        pushed: of the new payloads; None where another process delivered them.
        earlier: of those that had waited in the outbox; None where there were none.
        twins: the ids of new runs that look like another one, and of those; see :mod:`.twins`.
    """

    pushed: Pushed | None
    earlier: Pushed | None = None
    twins: Sequence[str] = ()


def upload(
    write: Writer, location: Location, outboxes: Path, *, replace: bool = False, progress: Progress | None = None
) -> Delivered:
    """Keep what *write* writes, one payload a line, in the history at *location*.

    Args:
        outboxes: the directory of the outboxes.
        replace: see :meth:`.port.History.push`.
        progress: called with the number of payloads dealt with, and of all.

    Raises:
        UndeliveredError: the server is away; the payloads wait.
        HistoryError: the history can't be used. Payloads for a server wait, then, too.
        MatbenchError: whatever *write* raises; then nothing was sent, and nothing waits.
    """
    if not location.is_server:
        return _into_file(write, location, replace=replace, progress=progress)
    outbox = Outbox(outboxes, str(location))
    batch = outbox.add(write, replace=replace)
    earlier = [each for each in outbox.batches() if each.path < batch.path]
    try:
        with open_history(location, writable=True) as history:
            waited = _deliver(outbox, earlier, history, None)
            batch = outbox.as_newest(batch, history)
            delivered = outbox.deliver(batch, history, _with_total(progress, batch.count()))
            return Delivered(delivered, waited, _twins(history, waited, delivered))
    except UnavailableError as error:
        raise UndeliveredError(f"{error}\n{waiting(outbox)}") from error
    except HistoryError as error:
        raise HistoryError(f"{error}\n{waiting(outbox)}") from error


def flush(location: Location, outboxes: Path, progress: Progress | None = None) -> Pushed | None:
    """Send what waits for *location*; None where nothing does.

    Raises:
        UndeliveredError, HistoryError: as :func:`upload`.
    """
    if not location.is_server:
        return None
    outbox = Outbox(outboxes, str(location))
    batches, strange = outbox.batches(), outbox.strange()
    if not batches and not strange:
        return None
    try:
        with open_history(location, writable=True) as history:
            pushed = _deliver(outbox, batches, history, progress)
        if strange:
            raise HistoryError("\n".join(["the rest of the outbox was delivered, but:", *strange]))
        return pushed
    except UnavailableError as error:
        raise UndeliveredError(f"{error}\n{waiting(outbox)}") from error


def dry_run(write: Writer, location: Location, *, replace: bool = False) -> Delivered:
    """What :func:`upload` would do; nothing is changed.

    Raises:
        HistoryError: the history is there and can't be read.
    """
    with tempfile.TemporaryFile() as spool:
        write(spool)
        spool.seek(0)
        if not location.is_there():
            return Delivered(plan.foresee(records(spool, "the upload"), plan.Nothing(), replace=replace))
        with open_history(location, writable=False) as history:
            foreseen = history.foresee(records(spool, "the upload"), replace=replace)
            return Delivered(foreseen, None, _twins(history, foreseen))


def waiting(outbox: Outbox) -> str:
    """A sentence on what waits in *outbox*, and how it gets out."""
    count = outbox.pending()
    runs = "1 run waits" if count == 1 else f"{count} runs wait"
    return f"{runs} in the outbox ({outbox.directory}): the next upload or 'matbench history flush' delivers"


def _into_file(write: Writer, location: Location, *, replace: bool, progress: Progress | None) -> Delivered:
    with tempfile.TemporaryFile() as spool:
        write(spool)
        total = _lines(spool)
        with open_history(location, writable=True) as history:
            progressed = _with_total(progress, total)
            pushed = history.push(records(spool, "the upload"), replace=replace, progress=progressed)
            return Delivered(pushed, None, _twins(history, pushed))


def _twins(history: History, *pushed: Pushed | None) -> Sequence[str]:
    new = {run: twin for each in pushed if each is not None for run, twin in each.new.items()}
    with contextlib.suppress(HistoryError):  # what was delivered is delivered, and a check of the history says the rest
        return twins(history.runs, new) if new else ()
    return ()


def _deliver(outbox: Outbox, batches: list[Batch], history: History, progress: Progress | None) -> Pushed | None:
    if not batches:
        return None
    pushed = Pushed()
    for batch in batches:
        delivered = outbox.deliver(batch, history, _with_total(progress, batch.count()))
        if delivered is not None:
            pushed.add(delivered)
    return pushed


def _with_total(progress: Progress | None, total: int) -> Callable[[int], None] | None:
    return None if progress is None else lambda done: progress(done, total)


def _lines(spool: IO[bytes]) -> int:
    spool.seek(0)
    count = sum(1 for _ in spool)
    spool.seek(0)
    return count
