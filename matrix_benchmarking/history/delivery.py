"""Uploads: payloads from a writer into a history, through the outbox where the history is on a server.

The outbox holds on disk what a server has not acknowledged yet, a directory a location, without credentials.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec
import platformdirs

from ..errors import HistoryError, MissingHistoryError, UnavailableError, failing, os_reason
from ..files import atomic_write
from ..jsonable import Document
from . import open_history, plan
from .history import History
from .location import Location
from .opensearch_location import OpenSearchLocation
from .plan import Pushed, twins
from .port import silent
from .records import Record, Recorded, next_moment, record

VERSION = 1
VARIABLE = "MATBENCH_OUTBOX"
SUFFIX = ".jsonl"
Writer = Callable[[IO[bytes]], object]
ProgressOfAll = Callable[[int, int], None]
"""Called with the number of payloads dealt with, and of all."""


class UndeliveredError(HistoryError):
    """The server is away; what it didn't acknowledge waits in the outbox."""


@dataclasses.dataclass(slots=True)
class Delivered:
    """What became of an upload, and of *earlier* ones; None where none had waited, or another process delivered.

    *twins* are the ids of new runs that look like another one, and of those; see :func:`.plan.twins`. *expired* says
    what the history let go.
    """

    pushed: Pushed | None
    earlier: Pushed | None = None
    twins: Sequence[str] = ()
    expired: Sequence[str] = ()

    def __repr__(self) -> str:
        """Short: the ids of many runs are long."""
        said = [f"earlier={self.earlier}"] * (self.earlier is not None)
        said += [f"twins={len(self.twins)}"] * bool(self.twins) + [f"expired={len(self.expired)}"] * bool(self.expired)
        return f"<{type(self).__name__} {', '.join([f'pushed={self.pushed}', *said])}>"


def upload(
    write: Writer, location: Location, outboxes: Path, *, replace: bool = False, progress: ProgressOfAll = silent
) -> Delivered:
    """Keep what *write* writes, one payload a line, in the history at *location*.

    Raises:
        UndeliveredError: the server is away; the payloads wait below *outboxes*.
        HistoryError: the history can't be used. Payloads for a server wait, then, too.
        MatbenchError: whatever *write* raises; then nothing was sent, and nothing waits.
    """
    if not location.is_server:
        with tempfile.TemporaryFile() as spool:
            write(spool)
            spool.seek(0)
            total = sum(1 for _ in spool)
            spool.seek(0)
            with open_history(location, writable=True) as history:
                told = records(spool, "the upload")
                pushed = history.push(told, replace=replace, progress=lambda done: progress(done, total))
                return Delivered(pushed, None, _twins(history, pushed))
    outbox = Outbox(outboxes, str(location))
    batch = outbox.add(write, replace=replace)
    earlier = [each for each in outbox.batches() if each.path < batch.path]
    with _undelivered(outbox), open_history(location, writable=True) as history:
        waited = outbox.deliver_all(earlier, history, silent)
        delivered = outbox.deliver(outbox.as_newest(batch, history), history, progress)
        twins_of_all = _twins(history, waited, delivered)
    return Delivered(delivered, waited, twins_of_all, _expired(location))


def _expired(location: Location) -> Sequence[str]:
    """What became of old months, where the configuration lets them go: what is kept is kept whatever this says."""
    if not isinstance(location, OpenSearchLocation) or location.keep_months is None:
        return ()
    from .opensearch_indices import expire  # the driver, a tenth of a second

    try:
        return [each.said("was deleted") for each in expire(location, delete=True)]
    except HistoryError as error:
        return [f"months that are too old are still there: {error}"]


def flush(location: Location, outboxes: Path, progress: ProgressOfAll = silent) -> Pushed | None:
    """Send what waits for *location*; None where nothing does. Raises as :func:`upload`."""
    if not location.is_server:
        return None
    outbox = Outbox(outboxes, str(location))
    batches, strange = outbox.batches(), outbox.strange()
    if not batches and not strange:
        return None
    with _undelivered(outbox), open_history(location, writable=True) as history:
        pushed = outbox.deliver_all(batches, history, progress)
    if strange:
        raise HistoryError("\n".join(["the rest of the outbox was delivered, but:", *strange]))
    return pushed


def dry_run(write: Writer, location: Location, *, replace: bool = False) -> Delivered:
    """What :func:`upload` would do; nothing is changed."""
    with tempfile.TemporaryFile() as spool:
        write(spool)
        spool.seek(0)
        try:
            with open_history(location, writable=False) as history:
                foreseen = history.foresee(records(spool, "the upload"), replace=replace)
                return Delivered(foreseen, None, _twins(history, foreseen))
        except MissingHistoryError:
            return Delivered(plan.foresee(records(spool, "the upload"), None, replace=replace))


@contextlib.contextmanager
def _undelivered(outbox: Outbox) -> Iterator[None]:
    """Say with any error what waits in *outbox*."""
    try:
        yield
    except HistoryError as error:
        kind = UndeliveredError if isinstance(error, UnavailableError) else HistoryError
        raise kind(f"{error}\n{waiting(outbox)}") from error


def waiting(outbox: Outbox) -> str:
    """A sentence on what waits in *outbox*, and how it gets out."""
    count = outbox.pending()
    runs = "1 run waits" if count == 1 else f"{count} runs wait"
    return f"{runs} in the outbox ({outbox.directory}): the next upload or 'matbench history flush' delivers"


def _twins(history: History, *pushed: Pushed | None) -> Sequence[str]:
    new = {run: twin for each in pushed if each is not None for run, twin in each.new}
    with contextlib.suppress(HistoryError):  # what was delivered is delivered, and a check of the history says the rest
        return twins(history.runs, new) if new else ()
    return ()


class Batch(msgspec.Struct, frozen=True):
    """Payloads that are to be sent, one a line behind a header.

    *moment_us* is when they were put here, which is when the history first saw them; None of an older matbench.
    """

    path: Path
    location: str
    replace: bool
    moment_us: int | None = None

    def lines(self) -> Iterator[bytes]:
        """The payloads as they are written."""
        with failing(f"cannot read the outbox's '{self.path}'", HistoryError), self.path.open("rb") as stream:
            stream.readline()
            yield from stream

    def records(self) -> Iterator[Record]:
        return records(self.lines(), str(self.path), None if self.moment_us is None else (1, self.moment_us))

    def count(self) -> int:
        return sum(1 for _ in self.lines()) if self.path.exists() else 0


def outboxes(environment: Mapping[str, str] = os.environ) -> Path:
    """Where outboxes are: ``MATBENCH_OUTBOX``, else below the user's state directory."""
    named = environment.get(VARIABLE)
    return Path(named) if named else platformdirs.user_state_path("matbench") / "outbox"


class Outbox:
    """The outbox of one location, below *root*."""

    def __init__(self, root: Path, location: str) -> None:
        name = hashlib.blake2b(location.encode(), digest_size=8).hexdigest()
        self.location = location
        self.directory = root / name

    def add(self, write: Writer, *, replace: bool = False) -> Batch:
        """A new batch of what *write* writes, one payload a line, whole on disk; none where that fails."""
        firsts = (path.name.partition("-")[0] for path in self._files())
        number = 1 + max((int(first) for first in firsts if first.isdecimal()), default=0)
        path = self.directory / f"{number:06d}-{os.urandom(4).hex()}{SUFFIX}"
        batch = Batch(path, self.location, replace, next_moment(None))
        _write(batch, write)
        return batch

    def as_newest(self, batch: Batch, history: History) -> Batch:
        """*batch*, which is sent for the first time, with a moment later than all of *history*, whatever clocks say."""
        last = history.last_recorded()
        if batch.moment_us is None or last is None or batch.moment_us > last:
            return batch
        newest = msgspec.structs.replace(batch, moment_us=next_moment(last))
        with _locked(batch.path) as is_there:
            if is_there:
                _write(newest, lambda stream: stream.writelines(batch.lines()))
        return newest

    def batches(self) -> list[Batch]:
        """All batches that can be read, oldest first."""
        return [batch for batch in map(_readable, self._files()) if isinstance(batch, Batch)]

    def strange(self) -> list[str]:
        """A sentence for each file that is no batch that can be read."""
        return [said for said in map(_readable, self._files()) if isinstance(said, str)]

    def pending(self) -> int:
        return sum(batch.count() for batch in self.batches())

    def deliver_all(self, batches: Sequence[Batch], history: History, progress: ProgressOfAll) -> Pushed | None:
        """Send *batches*; None where there are none."""
        pushed = Pushed()
        for batch in batches:
            delivered = self.deliver(batch, history, progress)
            if delivered is not None:
                pushed.add(delivered)
        return pushed if batches else None

    def deliver(self, batch: Batch, history: History, progress: ProgressOfAll = silent) -> Pushed | None:
        """Send *batch*; None where another process has done it meanwhile.

        What is acknowledged leaves the outbox; what is rejected stays, and so does the rest where the server is away.
        """
        total = batch.count()
        with _locked(batch.path) as is_there:
            if not is_there:
                return None
            try:
                told = batch.records()
                pushed = history.push(told, replace=batch.replace, progress=lambda done: progress(done, total))
            except UnavailableError as error:
                if error.acknowledged:
                    left = _left(batch, error.acknowledged, set(error.not_kept))
                    _write(batch, lambda stream: stream.writelines(left))
                raise
            if rejected := {each.id for each in pushed.rejected}:
                kept = (line for line in batch.lines() if _id(line) in rejected)
                _write(batch, lambda stream: stream.writelines(kept))
            else:
                batch.path.unlink(missing_ok=True)
            return pushed

    def drop(self) -> int:
        """Remove everything; how many payloads there were."""
        dropped = 0
        for batch in self.batches():
            with _locked(batch.path) as is_there:
                dropped += batch.count() if is_there else 0
                batch.path.unlink(missing_ok=True)
        for path in self._files():
            path.unlink(missing_ok=True)
        return dropped

    def _files(self) -> list[Path]:
        if self.directory.parent.is_file():
            raise HistoryError(f"the outbox '{self.directory.parent}' is a file: let {VARIABLE} name a directory")
        return sorted(path for path in self.directory.glob(f"*{SUFFIX}") if not path.name.startswith("."))


def _left(batch: Batch, acknowledged: int, not_kept: set[str]) -> Iterator[bytes]:
    """What is still to be sent, behind what was sent and not kept: the next delivery says so again, to the end."""
    for number, line in enumerate(batch.lines()):
        if number >= acknowledged or (not_kept and _id(line) in not_kept):
            yield line


def records(lines: Iterable[bytes], where: str, recorded: Recorded | None = None) -> Iterator[Record]:
    """The records of payloads, one a line of *where*, first seen when *recorded* says."""
    for number, line in enumerate(lines, start=1):
        try:
            yield record(msgspec.json.decode(line), recorded)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise HistoryError(f"{where}: payload {number} is no JSON: {error}") from error
        except HistoryError as error:
            raise HistoryError(f"{where}: payload {number}: {error}") from error


def _write(batch: Batch, write: Writer) -> None:
    """Leave what *write* writes, and nothing else, in *batch*."""
    said = {"location": batch.location, "replace": batch.replace, "moment_us": batch.moment_us}
    with atomic_write(batch.path) as stream:
        stream.write(msgspec.json.encode({"matbench_outbox": VERSION, **said}) + b"\n")
        write(stream)


def _readable(path: Path) -> Batch | str | None:
    """The batch in *path*, or a sentence on why there is none; None where it was delivered meanwhile."""
    try:
        with path.open("rb") as stream:
            header = msgspec.json.decode(stream.readline(), type=Document)
        if header["matbench_outbox"] > VERSION:
            return f"'{path}' was written by a newer matbench: update it to deliver what is in there"
        moment_us = None if header.get("moment_us") is None else int(header["moment_us"])
        return Batch(path, str(header["location"]), bool(header["replace"]), moment_us)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"cannot read the outbox's '{path}': {os_reason(error)}"
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError):
        return f"'{path}' is no batch of an outbox: move it away"


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Hold the batch against other processes; False if it is gone by the time it is ours."""
    while True:
        try:
            stream = path.open("rb")
        except FileNotFoundError:
            yield False
            return
        with stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            try:
                is_same = os.fstat(stream.fileno()).st_ino == path.stat().st_ino
            except FileNotFoundError:
                is_same = False
            if is_same:
                yield True
                return


def _id(line: bytes) -> str:
    return record(msgspec.json.decode(line)).id
