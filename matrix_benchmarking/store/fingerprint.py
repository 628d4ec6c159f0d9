"""Fingerprints of the files behind a cache: size and modification time, and the content's digest where they differ."""

from __future__ import annotations

import enum
import fnmatch
import functools
import glob
import hashlib
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

DIGEST_SIZE = 16
_UNTOLD = 1  # the mode of no file
_MOST_NAMES = 50  # of which is remembered what matched


class Sighting(NamedTuple):
    """How a path was when it was looked for: ``size`` in bytes, None if nothing was there, or it couldn't be told."""

    size: int | None
    mtime_ns: int = 0
    mode: int = 0

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Sighting:
        try:
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return cls(None)
        except (OSError, ValueError):
            return cls(None, mode=_UNTOLD)
        return cls(status.st_size, status.st_mtime_ns, status.st_mode)

    @property
    def is_absent(self) -> bool:
        """True where nothing is there, a link that leads nowhere at the most."""
        return self.size is None and self.mode != _UNTOLD

    @property
    def exists(self) -> bool:
        return self.size is not None

    @property
    def is_directory(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        """True for a regular file: neither a directory nor a device, a pipe or a socket."""
        return stat.S_ISREG(self.mode)


class Glob(NamedTuple):
    """A pattern that was resolved, and what it matched."""

    pattern: str
    matches: tuple[str, ...]


class Source(NamedTuple):
    """One recorded path: relative to the test; a file with its digest, a directory, or nothing."""

    path: str
    size: int | None
    mtime_ns: int
    digest: bytes | None


class State(enum.Enum):
    SAME = "same"
    CHANGED = "changed"
    ABSENT = "absent"


def digest_file(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb", buffering=0) as stream:
        return hashlib.file_digest(stream, functools.partial(hashlib.blake2b, digest_size=DIGEST_SIZE)).digest()


def digest(content: bytes | memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST_SIZE).digest()


def take(
    root: str, sightings: Iterable[tuple[str, Sighting]], digests: Mapping[str, bytes] | None = None
) -> list[Source] | None:
    """Fingerprints of what was read below *root*; None if a file has changed since it was looked for.

    One of whose content a digest is among *digests* can't have changed unnoticed: its size and time are older.
    """
    known = digests or {}
    sources = []
    for relative, sighting in sightings:
        content_digest = known.get(relative)
        if content_digest is None and sighting.is_file:
            content_digest = digest_file(f"{root}/{relative}")
            if sighting != Sighting.of(f"{root}/{relative}"):
                return None
        size = -1 if sighting.is_directory else sighting.size
        sources.append(Source(relative, size, 0 if size == -1 else sighting.mtime_ns, content_digest))
    return sources


def compare(root: str, source: Source) -> State:
    """What became of one recorded path below *root*."""
    path = f"{root}/{source.path}"
    now = Sighting.of(path)
    if not now.exists:
        return State.SAME if source.size is None else State.ABSENT
    if source.size == -1:
        return State.SAME if now.is_directory else State.CHANGED
    if source.size is None or now.size != source.size:
        return State.CHANGED
    if now.mtime_ns == source.mtime_ns:
        return State.SAME
    try:
        return State.SAME if digest_file(path) == source.digest else State.CHANGED
    except OSError:
        return State.CHANGED


def named(pattern: str, names: tuple[str, ...]) -> Sequence[str]:
    """Those of *names* that match *pattern*; the directories of tests are alike, and are asked for the same."""
    return _named(pattern, names) if len(names) <= _MOST_NAMES else fnmatch.filter(names, pattern)


@functools.lru_cache(maxsize=512)
def _named(pattern: str, names: tuple[str, ...]) -> Sequence[str]:
    return fnmatch.filter(names, pattern)


def matching(root: str, pattern: str, names: tuple[str, ...] | None = None) -> Sequence[str]:
    """Paths below *root* that match the glob *pattern*, relative to it; *names* are what it holds, where known."""
    step, slash, rest = pattern.partition(os.sep)
    if slash and (not rest or glob.has_magic(rest) or step.startswith(".") or not glob.has_magic(step)):
        return glob.glob(pattern, root_dir=root)
    found = named(step, tuple(list_names(root)) if names is None else names)
    if not slash:
        return found
    below = [f"{name}/{rest}" for name in found if not name.startswith(".")]  # a third of the time that glob takes
    return [each for each in below if os.path.lexists(f"{root}/{each}")]


def list_names(directory: str) -> list[str]:
    """What *directory* holds; nothing if it can't be listed."""
    try:
        return os.listdir(directory)
    except OSError:
        return []


def unchanged(root: str, globs: Sequence[Glob]) -> bool:
    """True if every pattern matches what it matched."""
    names = tuple(list_names(root)) if globs else ()
    return all(set(matching(root, known.pattern, names)) == set(known.matches) for known in globs)
