"""Fingerprints of the files behind a cache: is what was read, or looked for, still the same?

A file is compared by size and modification time, and by a digest of its content where those differ.
"""

from __future__ import annotations

import dataclasses
import enum
import fnmatch
import functools
import glob
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

DIGEST_SIZE = 16
_CHUNK = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Sighting:
    """How a path was when it was looked for: ``size`` in bytes, None if nothing was there."""

    size: int | None
    mtime_ns: int = 0
    mode: int = 0

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Sighting:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return cls(None)
        return cls(status.st_size, status.st_mtime_ns, status.st_mode)

    @property
    def exists(self) -> bool:
        return self.size is not None

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_special(self) -> bool:
        """True for a device, a pipe or a socket."""
        return self.exists and not self.is_directory and not stat.S_ISREG(self.mode)


@dataclasses.dataclass(frozen=True, slots=True)
class Glob:
    """A pattern that was resolved, and what it matched."""

    pattern: str
    matches: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """One recorded path: relative to the test; a file with its digest, a directory, or nothing."""

    path: str
    size: int | None
    mtime_ns: int
    digest: bytes | None

    def as_row(self) -> list[object]:
        return [self.path, self.size, self.mtime_ns, self.digest]


class State(enum.Enum):
    """What became of the recorded paths."""

    SAME = "same"
    CHANGED = "changed"
    ABSENT = "absent"


def digest_file(path: str | os.PathLike[str]) -> bytes:
    """BLAKE2b digest of a file's content."""
    state = hashlib.blake2b(digest_size=DIGEST_SIZE)
    with open(path, "rb", buffering=0) as stream:
        while chunk := stream.read(_CHUNK):
            state.update(chunk)
    return state.digest()


def take(root: Path, sightings: Iterable[tuple[str, Sighting]]) -> list[Source] | None:
    """Fingerprints of what was read below *root*; None if a file has changed since it was read."""
    sources = []
    for relative, sighting in sightings:
        path = os.path.join(root, relative)
        if sighting != Sighting.of(path):
            return None
        digest = None
        if sighting.exists and stat.S_ISREG(sighting.mode):
            digest = digest_file(path)
        mtime_ns = 0 if sighting.is_directory else sighting.mtime_ns
        sources.append(Source(relative, -1 if sighting.is_directory else sighting.size, mtime_ns, digest))
    return sources


def compare(root: str, source: Source) -> State:
    """What became of one recorded path below *root*."""
    path = os.path.join(root, source.path)
    try:
        status = os.stat(path)
    except OSError:
        return State.SAME if source.size is None else State.ABSENT
    if source.size == -1:
        return State.SAME if stat.S_ISDIR(status.st_mode) else State.CHANGED
    if source.size is None or status.st_size != source.size:
        return State.CHANGED
    if status.st_mtime_ns == source.mtime_ns:
        return State.SAME
    try:
        return State.SAME if digest_file(path) == source.digest else State.CHANGED
    except OSError:
        return State.CHANGED


def matching(root: Path | str, pattern: str) -> list[str]:
    """Paths below *root* that match the glob *pattern*, relative to *root*."""
    if os.sep in pattern:
        return glob.glob(pattern, root_dir=root)
    match = _matcher(pattern)
    try:
        return [name for name in os.listdir(root) if match(name)]
    except OSError:
        return []


@functools.lru_cache(maxsize=1024)
def _matcher(pattern: str) -> Callable[[str], object]:
    return re.compile(fnmatch.translate(pattern)).match


def unchanged(root: Path, globs: Sequence[Glob]) -> bool:
    """True if every pattern matches what it matched."""
    return all(set(matching(root, known.pattern)) == set(known.matches) for known in globs)
