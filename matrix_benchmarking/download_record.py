"""What a download keeps about itself in ``.matbench/download.json``: from where, how, and the state of each file.

A later download compares it with the source and fetches what is missing or changed; a parse looks there which caches
came without artifacts. It holds no credentials.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from .config import DownloadMode
from .errors import DownloadError, os_reason
from .files import atomic_write, read_regular

RECORD_FILE = ".matbench/download.json"
FORMAT: Literal[1] = 1


class Held(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A file as it was at its source. Until it is ``fetched`` it is only known to be this download's.

    A cache that is ``useless`` was written by another version of matbench or for another workload.
    """

    size: int | None = None
    etag: str | None = None
    mtime_ns: int | None = None
    fetched: bool = False
    useless: bool = False


class Tree(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One tree below the destination. ``archive`` is the state of the archive that it came from."""

    subdirectory: str
    address: str
    mode: DownloadMode
    workload: str | None = None
    complete: bool = False
    archive: Held | None = None
    files: dict[str, Held] = {}


class Record(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The whole record."""

    format: Literal[1]
    trees: list[Tree] = []


class _Version(msgspec.Struct):
    format: int


def load(root: Path) -> Record:
    """The record of the destination *root*; an empty one where there is none.

    Raises:
        DownloadError: it is of a newer version, or damaged.
    """
    path = root / RECORD_FILE
    try:
        content = read_regular(path)
    except FileNotFoundError:
        return Record(format=FORMAT)
    except OSError as error:
        raise DownloadError(f"{path} can't be read: {os_reason(error)}") from error
    try:
        version = msgspec.json.decode(content, type=_Version).format
        if version > FORMAT:
            raise DownloadError(f"{path} is of format {version}, this matbench reads {FORMAT}: use a newer one")
        return msgspec.json.decode(content, type=Record)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DownloadError(f"{path} is damaged: remove it, and what was downloaded, and download again") from error


def save(path: Path, record: Record) -> None:
    """Write *record* to *path*, atomically."""
    with atomic_write(path, durable=False) as stream:
        stream.write(msgspec.json.format(msgspec.json.encode(record), indent=1))


def is_downloaded(root: Path) -> bool:
    """True if a download brought *root*: there is a record in it, or one above it that knows files in it."""
    return os.path.isfile(root.resolve() / RECORD_FILE) or any(True for _ in brought_below(root))


def brought_below(root: Path) -> Iterator[tuple[str, Held]]:
    """The files below *root* that the record in it, or one above it, knows; their names are relative to *root*."""
    resolved = root.resolve()
    for directory in (resolved, *resolved.parents):
        if not os.path.isfile(directory / RECORD_FILE):
            continue
        start = "" if directory == resolved else f"{resolved.relative_to(directory).as_posix()}/"
        try:
            trees = load(directory).trees
        except DownloadError:
            continue
        for tree in trees:
            for name, held in tree.files.items():
                whole = f"{tree.subdirectory}/{name}" if tree.subdirectory else name
                if whole.startswith(start):
                    yield whole[len(start) :], held


def brought_alone(root: Path, cache_filename: str) -> set[str]:
    """The test directories, relative to *root*, whose cache a download brought, with all that it brought.

    Where something of it is gone, that the artifacts are not here may not be the download's doing.
    """
    brought = [PurePosixPath(name) for name, held in brought_below(root) if held.fetched and not held.useless]
    tests = {path.parent for path in brought if path.name == cache_filename}
    gone = [path for path in brought if not os.path.lexists(root / path)]
    return {str(path) for path in tests.difference(*(path.parents for path in gone))}
