"""Everything of a history as one file, and back: a header, a payload a line, and a last line that says how many."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO

import msgspec

from ..errors import os_reason
from ..files import read_regular
from .errors import HistoryError
from .port import EVERYTHING, History, Progress, Pushed, Query
from .records import Record, record

VERSION = 1
LONGEST_HEADER = 1000
_GZIP = b"\x1f\x8b"


def write_export(
    history: History, stream: gzip.GzipFile | IO[bytes], query: Query = EVERYTHING, progress: Progress | None = None
) -> int:
    """Write the payloads that *query* selects, newest first; how many there are.

    Raises:
        HistoryError: the history can't be read.
    """
    stream.write(msgspec.json.encode({"matbench_history": VERSION}) + b"\n")
    count, checksum = 0, hashlib.blake2b(digest_size=16)
    for payload in history.payloads(query):
        line = msgspec.json.encode(payload) + b"\n"
        stream.write(line)
        checksum.update(line)
        count += 1
        if progress is not None:
            progress(count)
    stream.write(msgspec.json.encode({"payloads": count, "checksum": checksum.hexdigest()}) + b"\n")
    return count


def read_import(history: History, path: Path, *, replace: bool = False, progress: Progress | None = None) -> Pushed:
    """Push all payloads of the export *path*, which is read twice: first to see that it is whole.

    Raises:
        HistoryError: it is no export, was cut off, or the history can't be written.
    """
    with _open(path) as stream:
        for _ in _lines(stream, path):
            pass
    with _open(path) as stream:
        return history.push(_records(stream, path), replace=replace, progress=progress)


def count(path: Path) -> int:
    """How many payloads the export *path* holds.

    Raises:
        HistoryError: as :func:`read_import`.
    """
    with _open(path) as stream:
        return sum(1 for _ in _lines(stream, path))


def _open(path: Path) -> gzip.GzipFile | BinaryIO:
    try:
        is_compressed = read_regular(path, 2) == _GZIP
        return gzip.open(path) if is_compressed else path.open("rb")
    except OSError as error:
        raise HistoryError(f"cannot read '{path}': {os_reason(error)}") from error


def _records(stream: gzip.GzipFile | IO[bytes], path: Path) -> Iterator[Record]:
    for number, line in enumerate(_lines(stream, path), start=1):
        try:
            yield record(msgspec.json.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, HistoryError) as error:
            raise HistoryError(f"{path}: payload {number}: {error}") from error


def _lines(stream: gzip.GzipFile | IO[bytes], path: Path) -> Iterator[bytes]:
    """The lines of the payloads, all but the header and the last one, which are checked."""
    try:
        _check_header(_decoded(stream.readline(LONGEST_HEADER)), path)
        checksum, found, last = hashlib.blake2b(digest_size=16), 0, b""
        for line in stream:
            if last:
                checksum.update(last)
                found += 1
                yield last
            last = line
    except (OSError, EOFError) as error:
        raise HistoryError(f"'{path}' is damaged: {error}") from error
    end = _decoded(last)
    if end != {"payloads": found, "checksum": checksum.hexdigest()}:
        raise HistoryError(f"'{path}' was cut off or changed: its last line does not fit its {found} payloads")


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
