"""Everything of a history as one file, and back: a header, a payload a line, then an event of an alarm a line, and a
last line that says how many. Without events it is version 1, which an older matbench reads; with them it is version 2.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

import msgspec

from ..errors import os_reason
from ..files import read_regular
from . import alarms
from .alarms import AlarmEvent
from .errors import HistoryError
from .port import EVERYTHING, History, Progress, Pushed, Query
from .records import Record, record

WITHOUT_ALARMS, VERSION = 1, 2
LONGEST_HEADER = 1000
_GZIP = b"\x1f\x8b"
_EVENT, _EVENT_END = b'{"alarm_event":', b"}\n"


@dataclasses.dataclass(frozen=True, slots=True)
class Contents:
    """How many payloads and events of alarms an export holds."""

    payloads: int
    alarm_events: int

    def __str__(self) -> str:
        events = f" and {self.alarm_events} events of alarms" if self.alarm_events else ""
        return f"{self.payloads} payloads{events}"


@dataclasses.dataclass(frozen=True, slots=True)
class Imported:
    """What became of an export's payloads; how many of its events of alarms were new, and how many there already."""

    pushed: Pushed
    alarms_added: int
    alarms_unchanged: int


def write_export(
    history: History, stream: gzip.GzipFile | IO[bytes], query: Query = EVERYTHING, progress: Progress | None = None
) -> Contents:
    """Write the payloads that *query* selects, newest first, and all events of alarms of its workload, oldest first.

    Raises:
        HistoryError: the history can't be read.
    """
    events = history.alarm_events(query.workload)
    stream.write(msgspec.json.encode({"matbench_history": VERSION if events else WITHOUT_ALARMS}) + b"\n")
    count, checksum = 0, hashlib.blake2b(digest_size=16)
    for payload in history.payloads(query):
        line = msgspec.json.encode(payload) + b"\n"
        stream.write(line)
        checksum.update(line)
        count += 1
        if progress is not None:
            progress(count)
    for event in events:
        line = _EVENT + alarms.encode(event).encode() + _EVENT_END
        stream.write(line)
        checksum.update(line)
    stream.write(msgspec.json.encode(_end(count, len(events), checksum.hexdigest())) + b"\n")
    return Contents(count, len(events))


def read_import(history: History, path: Path, *, replace: bool = False, progress: Progress | None = None) -> Imported:
    """Keep all of the export *path*, which is read twice: first to see that it is whole.

    Raises:
        HistoryError: it is no export, was cut off, or the history can't be written.
    """
    with _open(path) as stream:
        events = [_event(line, path) for line in _lines(stream, path) if line.startswith(_EVENT)]
    with _open(path) as stream:
        pushed = history.push(_records(stream, path), replace=replace, progress=progress)
    added = history.record_alarms(events) if events else 0
    return Imported(pushed, added, len(events) - added)


def contents(path: Path) -> Contents:
    """What the export *path* holds.

    Raises:
        HistoryError: as :func:`read_import`.
    """
    with _open(path) as stream:
        are_events = [line.startswith(_EVENT) for line in _lines(stream, path)]
    return Contents(are_events.count(False), are_events.count(True))


def _open(path: Path) -> gzip.GzipFile | BinaryIO:
    try:
        is_compressed = read_regular(path, 2) == _GZIP
        return gzip.open(path) if is_compressed else path.open("rb")
    except OSError as error:
        raise HistoryError(f"cannot read '{path}': {os_reason(error)}") from error


def _records(stream: gzip.GzipFile | IO[bytes], path: Path) -> Iterator[Record]:
    payloads = (line for line in _lines(stream, path) if not line.startswith(_EVENT))
    for number, line in enumerate(payloads, start=1):
        try:
            yield record(msgspec.json.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, HistoryError) as error:
            raise HistoryError(f"{path}: payload {number}: {error}") from error


def _event(line: bytes, path: Path) -> AlarmEvent:
    try:
        return alarms.decode(line.removeprefix(_EVENT).removesuffix(_EVENT_END))
    except HistoryError as error:
        raise HistoryError(f"{path}: an event of an alarm: {error}") from error


def _lines(stream: gzip.GzipFile | IO[bytes], path: Path) -> Iterator[bytes]:
    """The lines of payloads and events, all but the header and the last one, which are checked."""
    try:
        _check_header(_decoded(stream.readline(LONGEST_HEADER)), path)
        checksum, payloads, events, last = hashlib.blake2b(digest_size=16), 0, 0, b""
        for line in stream:
            if last:
                checksum.update(last)
                is_event = last.startswith(_EVENT)
                payloads, events = payloads + (not is_event), events + is_event
                yield last
            last = line
    except (OSError, EOFError) as error:
        raise HistoryError(f"'{path}' is damaged: {error}") from error
    if _decoded(last) != _end(payloads, events, checksum.hexdigest()):
        raise HistoryError(
            f"'{path}' was cut off or changed: its last line does not fit its {Contents(payloads, events)}"
        )


def _end(payloads: int, events: int, checksum: str) -> dict[str, Any]:
    """The last line."""
    return {"payloads": payloads, **({"alarm_events": events} if events else {}), "checksum": checksum}


def _check_header(header: Any, path: Path) -> None:
    version = header.get("matbench_history") if isinstance(header, dict) else None
    if not isinstance(version, int):
        raise HistoryError(f"'{path}' is no export of a history")
    if version > VERSION:
        raise HistoryError(f"'{path}' was exported by a newer matbench: update this one to import it")


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
