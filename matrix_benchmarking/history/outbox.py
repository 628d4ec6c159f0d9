"""The outbox: what a server has not acknowledged yet, on disk, one directory a location.

A batch of payloads is written whole before the first one is sent, and goes when all are acknowledged. Sending one
twice does no harm, since payloads have stable ids. A batch holds the location without credentials, and payloads.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec
import platformdirs

from ..errors import os_reason
from ..files import atomic_write
from .errors import HistoryError, UnavailableError
from .history import History
from .port import Progress, Pushed
from .records import Record, Recorded, next_moment, record

VERSION = 1
VARIABLE = "MATBENCH_OUTBOX"
SUFFIX = ".jsonl"
Writer = Callable[[IO[bytes]], object]


@dataclasses.dataclass(frozen=True, slots=True)
class Batch:
    """Payloads that are to be sent, one a line behind a header.

    Attributes:
        path: the file.
        location: where they go.
        replace: they take the place of other contents under the same ids.
        moment_us: when they were put here, which is when the history first saw them, in microseconds since 1970; None
            in a batch of an older matbench.
    """

    path: Path
    location: str
    replace: bool
    moment_us: int | None = None

    def lines(self) -> Iterator[bytes]:
        """The payloads as they are written.

        Raises:
            HistoryError: the file can't be read.
        """
        try:
            with self.path.open("rb") as stream:
                stream.readline()
                yield from stream
        except OSError as error:
            raise HistoryError(f"cannot read the outbox's '{self.path}': {os_reason(error)}") from error

    def records(self) -> Iterator[Record]:
        """The payloads as records.

        Raises:
            HistoryError: the file can't be read, or was changed by something else.
        """
        recorded = None if self.moment_us is None else (1, self.moment_us)
        return records(self.lines(), str(self.path), recorded)

    def count(self) -> int:
        """How many payloads there are; none where it was delivered meanwhile."""
        return sum(1 for _ in self.lines()) if self.path.exists() else 0


def directory(environment: Mapping[str, str]) -> Path:
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
        """A new batch of what *write* writes, one payload a line; it is on disk when this returns.

        Raises:
            OutputError: it can't be written. Then, and if *write* raises, there is no new batch.
        """
        number = 1 + max((_number(path) for path in self._files()), default=0)
        path = self.directory / f"{number:06d}-{os.urandom(4).hex()}{SUFFIX}"
        batch = Batch(path, self.location, replace, next_moment(None))
        _write(batch, write)
        return batch

    def as_newest(self, batch: Batch, history: History) -> Batch:
        """*batch*, which is sent for the first time, with a moment later than all of *history*, whatever clocks say."""
        last = history.last_recorded()
        if batch.moment_us is None or last is None or batch.moment_us > last:
            return batch
        newest = dataclasses.replace(batch, moment_us=next_moment(last))
        with _locked(batch.path) as is_there:
            if is_there:
                _keep(newest, batch.lines())
        return newest

    def batches(self) -> list[Batch]:
        """All batches that can be read, oldest first."""
        return [batch for batch in map(_readable, self._files()) if isinstance(batch, Batch)]

    def strange(self) -> list[str]:
        """A sentence for each file that is no batch, or was written by a newer matbench."""
        return [said for said in map(_readable, self._files()) if isinstance(said, str)]

    def pending(self) -> int:
        """How many payloads wait."""
        return sum(batch.count() for batch in self.batches())

    def deliver(self, batch: Batch, history: History, progress: Progress | None = None) -> Pushed | None:
        """Send *batch*; None where another process has done it meanwhile.

        What is acknowledged leaves the outbox; what is rejected stays, and is in the outcome.

        Raises:
            UnavailableError: the server was away, or gave up; the rest stays.
        """
        with _locked(batch.path) as is_there:
            if not is_there:
                return None
            try:
                pushed = history.push(batch.records(), replace=batch.replace, progress=progress)
            except UnavailableError as error:
                if error.acknowledged:
                    _keep(batch, _left(batch, error.acknowledged, set(error.not_kept)))
                raise
            rejected = {each.id for each in pushed.rejected}
            if rejected:
                _keep(batch, (line for line in batch.lines() if _id(line) in rejected))
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
    """The records of payloads, one a line, first seen when *recorded* says.

    Raises:
        HistoryError: a line that holds none; it names *where* and the line.
    """
    for number, line in enumerate(lines, start=1):
        try:
            yield record(msgspec.json.decode(line), recorded)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise HistoryError(f"{where}: payload {number} is no JSON: {error}") from error
        except HistoryError as error:
            raise HistoryError(f"{where}: payload {number}: {error}") from error


def _keep(batch: Batch, lines: Iterable[bytes]) -> None:
    """Leave only *lines* in *batch*."""
    _write(batch, lambda stream: stream.writelines(lines))


def _write(batch: Batch, write: Writer) -> None:
    header = {
        "matbench_outbox": VERSION,
        "location": batch.location,
        "replace": batch.replace,
        "moment_us": batch.moment_us,
    }
    with atomic_write(batch.path) as stream:
        stream.write(msgspec.json.encode(header) + b"\n")
        write(stream)


def _readable(path: Path) -> Batch | str | None:
    """The batch in *path*, or a sentence on why there is none; None where it was delivered meanwhile."""
    try:
        return _read_header(path)
    except FileNotFoundError:
        return None
    except HistoryError as error:
        return str(error)


def _read_header(path: Path) -> Batch:
    try:
        with path.open("rb") as stream:
            header: Any = msgspec.json.decode(stream.readline())
        if header["matbench_outbox"] > VERSION:
            raise HistoryError(f"'{path}' was written by a newer matbench: update it to deliver what is in there")
        moment_us = header.get("moment_us")
        return Batch(
            path, str(header["location"]), bool(header["replace"]), None if moment_us is None else int(moment_us)
        )
    except FileNotFoundError:
        raise
    except OSError as error:
        raise HistoryError(f"cannot read the outbox's '{path}': {os_reason(error)}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError) as error:
        raise HistoryError(f"'{path}' is no batch of an outbox: move it away") from error


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


def _number(path: Path) -> int:
    first = path.name.partition("-")[0]
    return int(first) if first.isdecimal() else 0


def _id(line: bytes) -> str:
    return record(msgspec.json.decode(line)).id
