"""Payloads of a history as files, one a payload; and everything of it as one file, and back.

That has a header, a run a line, an event of an alarm a line, and a last line that says how many. Versions 1 and 2,
whose lines of runs are payloads alone, are read, too: these runs are of one upload.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Annotated, BinaryIO, Literal

import msgspec

from ..errors import ConfigError, HistoryError, failing, os_reason
from ..files import atomic_write, read_regular
from ..jsonable import Document
from . import alarms
from .alarms import AlarmEvent
from .history import History
from .plan import Pushed
from .port import Progress, silent
from .records import KeptRun, Record, record

VERSION = 3
LONGEST_HEADER = 1000
RECORD, RECORD_VERSION = Path(".matbench") / "download_lts.json", 1
_GZIP = b"\x1f\x8b"
_RUN, _BEFORE = b'{"recorded":', b'{"recorded":[0,'
_EVENT, _EVENT_END = b'{"alarm_event":', b"}\n"


class _Run(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of version 3."""

    recorded: tuple[Literal[0, 1], Annotated[int, msgspec.Meta(ge=0, lt=2**62)]] | None
    payload: msgspec.Raw


_decode_run = msgspec.json.Decoder(_Run).decode


class Contents(msgspec.Struct, frozen=True):
    payloads: int
    alarm_events: int

    def __str__(self) -> str:
        events = f" and {self.alarm_events} events of alarms" if self.alarm_events else ""
        return f"{self.payloads} payloads{events}"


class Imported(msgspec.Struct, frozen=True):
    pushed: Pushed
    alarms_added: int
    alarms_unchanged: int


def write_export(history: History, stream: gzip.GzipFile | IO[bytes], progress: Progress = silent) -> Contents:
    """Write all payloads, newest first, and all events of alarms, oldest first."""
    events = history.alarm_events()
    stream.write(msgspec.json.encode({"matbench_history": VERSION}) + b"\n")
    count, checksum = 0, hashlib.blake2b(digest_size=16)
    for each in history.records():
        line = msgspec.json.encode({"recorded": each.recorded, "payload": each.payload}) + b"\n"
        stream.write(line)
        checksum.update(line)
        count += 1
        progress(count)
    of_alarms = b"".join(_EVENT + alarms.encode(event).encode() + _EVENT_END for event in events)
    checksum.update(of_alarms)
    stream.write(of_alarms + msgspec.json.encode(_end(count, len(events), checksum.hexdigest())) + b"\n")
    return Contents(count, len(events))


def read_import(history: History, path: Path, *, replace: bool = False, progress: Progress = silent) -> Imported:
    """Keep all of the export *path*, which is read before to see that it is whole.

    A run that is new here was first seen when the export says. A place in the order of insertion says nothing beside
    those of another history: where this one has some, such runs were first seen now.

    Raises:
        HistoryError: it is no export, was cut off, or the history can't be written.
    """
    events, has_places = [], False
    with _open(path) as stream:
        for line in _lines(stream, path):
            has_places = has_places or line.startswith(_BEFORE)
            if line.startswith(_EVENT):
                events.append(_event(line, path))
    with _open(path) as stream:
        return _keep(history, _records(stream, path), events, has_places, replace, progress)


def copy(history: History, export: History, *, replace: bool = False, progress: Progress = silent) -> Imported:
    """Keep all of another history, such as an *export* in Parquet, as :func:`read_import` does."""
    has_places = any(map(_has_place, export.runs()))
    return _keep(history, export.records(), export.alarm_events(), has_places, replace, progress)


def _keep(
    history: History,
    records: Iterable[Record],
    events: Sequence[AlarmEvent],
    has_places: bool,
    replace: bool,
    progress: Progress,
) -> Imported:
    if has_places and any(map(_has_place, history.runs())):
        records = (msgspec.structs.replace(each, recorded=None) if _has_place(each) else each for each in records)
    pushed = history.push(records, replace=replace, are_copies=True, progress=progress)
    added = history.record_alarms(events) if events else 0
    return Imported(pushed, added, len(events) - added)


def contents(path: Path) -> Contents:
    """What the export *path* holds. Raises HistoryError as :func:`read_import`."""
    with _open(path) as stream:
        are_events = [line.startswith(_EVENT) for line in _lines(stream, path)]
    return Contents(are_events.count(False), are_events.count(True))


def _open(path: Path) -> gzip.GzipFile | BinaryIO:
    with failing(f"cannot read '{path}'", HistoryError):
        is_compressed = read_regular(path, 2) == _GZIP
        return gzip.open(path) if is_compressed else path.open("rb")


def _records(stream: gzip.GzipFile | IO[bytes], path: Path) -> Iterator[Record]:
    runs = (line for line in _lines(stream, path) if not line.startswith(_EVENT))
    for number, line in enumerate(runs, start=1):
        try:
            if line.startswith(_RUN):
                run = _decode_run(line)
                yield record(msgspec.json.decode(run.payload), run.recorded)
            else:
                yield record(msgspec.json.decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, HistoryError) as error:
            raise HistoryError(f"{path}: payload {number}: {error}") from error


def _has_place(of: Record | KeptRun) -> bool:
    return of.recorded is not None and of.recorded[0] == 0


def _event(line: bytes, path: Path) -> AlarmEvent:
    try:
        return alarms.decode(line.removeprefix(_EVENT).removesuffix(_EVENT_END))
    except HistoryError as error:
        raise HistoryError(f"{path}: an event of an alarm: {error}") from error


def _lines(stream: gzip.GzipFile | IO[bytes], path: Path) -> Iterator[bytes]:
    """The lines of payloads and events, all but the header and the last one, which are checked."""
    try:
        version = (_decoded(stream.readline(LONGEST_HEADER)) or {}).get("matbench_history")
        if not isinstance(version, int):
            raise HistoryError(f"'{path}' is no export of a history")
        if version > VERSION:
            raise HistoryError(f"'{path}' was exported by a newer matbench: update this one to import it")
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


def _end(payloads: int, events: int, checksum: str) -> Document:
    """The last line."""
    return {"payloads": payloads, **({"alarm_events": events} if events else {}), "checksum": checksum}


def _decoded(line: bytes) -> Document | None:
    try:
        return msgspec.json.decode(line, type=Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


@dataclasses.dataclass(slots=True)
class Written:
    """What a download did: files that are new or changed, that were there already, and that were removed."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0


def write_payloads(records: Iterable[Record], directory: Path, *, force: bool, clean: bool) -> Written:
    """Write the payload of each of *records* to ``<test_uuid>.json`` in *directory*, unless it is there.

    *force* takes a directory that holds other things than a download, *clean* removes the files of earlier downloads
    that are not among *records*. Without any record nothing is changed.
    """
    known = _downloaded(directory, force=force)
    outcome, names = Written(), set[str]()
    for kept in records:
        name = f"{kept.id}.json"
        if not names:
            _note(directory, known)  # so that a download that is interrupted can go on
        names.add(name)
        content = msgspec.json.format(msgspec.json.encode(kept.payload), indent=2)
        with contextlib.suppress(OSError):
            if read_regular(directory / name) == content:
                outcome.unchanged += 1
                continue
        with atomic_write(directory / name, durable=False) as stream:
            stream.write(content)
        outcome.written += 1
    if not names:
        return outcome
    if clean:
        for name in known - names:
            path = directory / name
            outcome.removed += path.exists()
            path.unlink(missing_ok=True)
        known = set()
    _note(directory, known | names)
    return outcome


def _note(directory: Path, files: set[str]) -> None:
    """Write down which files of *directory* come from downloads."""
    with atomic_write(directory / RECORD, durable=False) as stream:
        stream.write(msgspec.json.encode({"version": RECORD_VERSION, "files": sorted(files)}))


def _downloaded(directory: Path, *, force: bool) -> set[str]:
    """The names of the files that earlier downloads wrote."""
    try:
        content = msgspec.json.decode((directory / RECORD).read_bytes(), type=Document)
        if content["version"] > RECORD_VERSION:
            raise HistoryError(
                f"'{directory}' was downloaded by a newer matbench: update it, or name another directory"
            )
        names = {name for name in content["files"] if isinstance(name, str) and name.endswith(".json")}
        return {name for name in names if Path(name).name == name}
    except FileNotFoundError:
        if not force and directory.is_dir() and any(directory.iterdir()):
            raise ConfigError(f"'{directory}' holds other things: name another directory, or give `force`") from None
        return set()
    except NotADirectoryError as error:
        raise ConfigError(f"'{directory}' is a file: name a directory for the payloads") from error
    except OSError as error:
        raise HistoryError(f"cannot read '{directory}': {os_reason(error)}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise HistoryError(f"'{directory / RECORD}' is damaged: remove it, and give `force`") from error
