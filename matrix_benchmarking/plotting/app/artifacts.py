"""The files of a test directory: listed, shown and served, only from inside the results directory."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ...errors import MatbenchError, os_reason
from ...files import read_regular
from ...matrix import Entry

MOST_FILES = 500
SHOWN_BYTES = 256 * 1024
_TEXT = {
    *(".txt", ".log", ".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".csv", ".tsv", ".md", ".ini", ".cfg", ".toml"),
    *(".xml", ".html", ".htm", ".js", ".py", ".sh", ".prom", ".out", ".err", ".svg"),
}
_BINARY_BELOW = set(range(32)) - {9, 10, 12, 13, 27}


class NoArtifactError(MatbenchError):
    """A file that isn't there, or isn't inside the results directory."""


class Artifact(NamedTuple):
    """A file of a test directory: its path there, with ``/``, and its size."""

    name: str
    size_bytes: int


class Shown(NamedTuple):
    """What a page shows of a file: its beginning, JSON indented (None if it isn't text), and whether that is all."""

    text: str | None
    is_whole: bool
    size_bytes: int


def listing(entry: Entry, roots: Sequence[Path]) -> tuple[list[Artifact], bool]:
    """The files below the entry's test directory, in the order of their names, and whether those are all."""
    base = _inside(entry.location, roots)
    if base.is_file():
        return [Artifact(base.name, base.stat().st_size)], True
    if not base.is_dir():
        raise NoArtifactError(f"the test directory {entry.location} is gone")
    found = list(itertools.islice(_walk(base), MOST_FILES + 1))
    return sorted(found[:MOST_FILES]), len(found) <= MOST_FILES


def locate(entry: Entry, name: str, roots: Sequence[Path]) -> Path:
    """The path of the entry's file *name*, with all links followed: a regular one inside the test directory."""
    base = _inside(entry.location, roots)
    missing = NoArtifactError(f"there is no file '{name}' of this test")
    if base.is_file():
        if name != base.name:
            raise missing
        return base
    try:
        path = Path(os.path.realpath(base / name, strict=True))
        is_regular = stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        raise missing from None
    if not is_regular or not path.is_relative_to(base):
        raise missing
    return path


def show(path: Path) -> Shown:
    try:
        size = path.stat().st_size
        content = read_regular(path, SHOWN_BYTES)
    except OSError as error:
        raise NoArtifactError(f"'{path.name}' can't be read: {os_reason(error)}") from error
    is_whole = size <= len(content)
    if any(byte in _BINARY_BELOW for byte in content[:4096]):
        return Shown(None, is_whole, size)
    text = content.decode("utf-8", "replace")
    if is_whole and path.suffix == ".json":
        with contextlib.suppress(msgspec.DecodeError, RecursionError):  # what is none is shown as it is
            text = msgspec.json.format(text, indent=2)
    return Shown(text, is_whole, size)


def content_type(path: Path) -> str:
    """How the file is sent: never as something that a browser runs."""
    return "text/plain" if path.suffix.lower() in _TEXT else "application/octet-stream"


def _inside(location: Path, roots: Sequence[Path]) -> Path:
    base = Path(os.path.realpath(location))
    if not any(base.is_relative_to(os.path.realpath(root)) for root in roots):
        raise NoArtifactError("this run has no files here: it is of a history, of payloads or in a bucket")
    return base


def _walk(base: Path) -> Iterator[Artifact]:
    for parent, directories, names in os.walk(base):
        directories.sort()
        for name in sorted(names):
            path = Path(parent, name)
            try:
                status = path.lstat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                yield Artifact(path.relative_to(base).as_posix(), status.st_size)
