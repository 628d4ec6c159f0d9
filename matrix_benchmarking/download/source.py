"""What every source of a results tree can do; the sources that are a local directory and a prefix of an S3 bucket."""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from .. import bucket
from ..download_record import Held
from ..errors import DownloadError, os_reason
from ..files import unsafe

LISTING_S = 300
"""How long a listing, or what the headers say of a file, may take as a whole."""
LEAST_BYTES = 64 << 10
"""Of a file, which may take as long as it needs, so much has to come in each LISTING_S."""

OWN_DIRECTORY = ".matbench"
"""Directory at the root of a results tree in which matbench keeps books; never fetched."""

MAX_ENTRIES = 1_000_000
"""So many files and directories a tree, or an archive, may have."""

BLOCK_BYTES = 4 << 20
_TRANSIENT_NUMBERS = frozenset({errno.EBUSY, errno.EIO, errno.EREMOTEIO, errno.ECONNRESET, errno.ETIMEDOUT})


class File(msgspec.Struct, frozen=True):
    """A file at its source, as far as it is known without reading it.

    Attributes:
        name: relative to the tree, with ``/``.
        size: in bytes.
        etag: what changes with the content, as the source tells it.
        mtime_ns: modification time, nanoseconds since 1970.
        position: where in an archive; files are read in this order.
    """

    name: str
    size: int | None = None
    etag: str | None = None
    mtime_ns: int | None = None
    position: int = 0

    def is_still(self, held: Held) -> bool:
        """Whether it has not changed since it was fetched, as far as its source tells."""
        if not held.fetched or (self.size is not None and self.size != held.size):
            return False
        if self.etag is not None and held.etag is not None:
            return self.etag == held.etag
        return self.mtime_ns is not None and self.mtime_ns == held.mtime_ns


class Directory(msgspec.Struct, frozen=True):
    """What one directory of the source holds: files, directories by their whole names, and sentences on the rest."""

    files: list[File] = msgspec.field(default_factory=list)
    directories: list[str] = msgspec.field(default_factory=list)
    left_out: list[str] = msgspec.field(default_factory=list)

    def add(self, file: File, *, is_directory: bool = False, reason: str | None = None) -> None:
        """Add a file, or a directory of its name; it is left out where there is a *reason*, or its name is unsafe."""
        reason = reason or unsafe(file.name)
        if reason is not None:
            self.left_out.append(f"{shown(file.name)}: left out, {reason}")
        elif is_directory:
            self.directories.append(file.name)
        else:
            self.files.append(file)


class Trouble(Exception):
    """Why the source failed: a reason for people, without anything secret, and whether to try again."""

    def __init__(self, reason: str, transient: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.transient = reason, transient


class Readable(Protocol):
    """The content of a file, read from its start to its end."""

    def read(self, size: int, /) -> bytes: ...


class Source(Protocol):
    """A results tree somewhere. The sources inherit what is said here where theirs is no different.

    Attributes:
        parallel: several files may be read at the same time.
        errors: what its methods raise when the source fails; :meth:`explain` says what it means.
    """

    parallel: bool = True
    errors: tuple[type[Exception], ...] = (OSError,)

    def list(self, directory: str) -> Directory:
        """The content of *directory*, empty for the root."""

    def describe(self, file: File) -> File:
        """*file* with what can be known of it without reading it."""
        return file

    def open(self, file: File) -> AbstractContextManager[tuple[File, Readable]]:
        """The content of *file*, and the file with what opening it told."""

    def explain(self, error: Exception) -> Trouble:
        """What one of ``errors`` means."""
        return Trouble(os_reason(error) if isinstance(error, OSError) else str(error))

    def close(self) -> None:
        """Let go of connections and open files."""
        return


def join(directory: str, name: str) -> str:
    """*name* in *directory*, which is empty for the root."""
    return f"{directory}/{name}" if directory else name


def shown(name: str) -> str:
    """*name* for a sentence, cut where it is very long."""
    return repr(name if len(name) <= 120 else f"{name[:117]}…")


class LocalSource(Source):
    """Reads the tree below *root*."""

    def __init__(self, root: Path) -> None:
        if not root.exists():
            raise DownloadError(f"{root} does not exist")
        if not root.is_dir():
            raise DownloadError(f"{root} is neither a directory nor an archive (.zip, .tar, .tar.gz, …)")
        self._root = Path(os.path.realpath(root))

    def list(self, directory: str) -> Directory:
        content = Directory()
        with os.scandir(self._root / directory) as items:
            for item in sorted(items, key=lambda item: item.name):
                name = join(directory, item.name)
                if item.is_dir(follow_symlinks=False):
                    content.add(File(name), is_directory=True)
                    continue
                try:
                    reason = self._reason(item)
                    file = File(name) if reason else _file(name, item.stat())
                except OSError as error:
                    file, reason = File(name), os_reason(error)
                content.add(file, reason=reason)
        return content

    def _reason(self, item: os.DirEntry[str]) -> str | None:
        """Why *item* is left out; None for a file."""
        if item.is_symlink():
            target = os.path.realpath(item.path)
            if not target.startswith(f"{self._root}/"):
                return "a link that leads out of the tree"
            if os.path.isdir(target):
                return "a link to a directory"
        return None if stat.S_ISREG(item.stat().st_mode) else "not a regular file"

    @contextlib.contextmanager
    def open(self, file: File) -> Iterator[tuple[File, Readable]]:
        path = os.path.realpath(self._root / file.name)
        if not path.startswith(f"{self._root}/"):
            raise PermissionError(0, "it became a link that leads out of the tree")
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0) as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise PermissionError(0, "not a regular file")
            yield msgspec.structs.replace(_file(file.name, status), position=file.position), stream


def _file(name: str, status: os.stat_result) -> File:
    return File(name, status.st_size, mtime_ns=status.st_mtime_ns)


class S3Source(Source):
    """Reads what is below *location*, or that alone. s3fs itself tries again where a request fails for the moment."""

    def __init__(self, location: str, *, is_file: bool) -> None:
        how = {"default_block_size": BLOCK_BYTES, "default_cache_type": "readahead"}
        self._fs = bucket.connect(DownloadError, use_listings_cache=True, **how)
        self._location, self._is_file, self.errors = location, is_file, (*bucket.errors(), ValueError)

    def list(self, directory: str) -> Directory:
        path = join(self._location, directory) if directory else self._location
        content = Directory()
        for entry in self._fs.ls(path, detail=True, timeout=LISTING_S):
            if entry["name"] == path and entry["type"] != "directory":
                raise DownloadError("it is neither a prefix nor an archive (.zip, .tar, .tar.gz, …)")
            child = entry["name"][len(path) + 1 :]
            if child:  # else the marker of the prefix itself
                file = _described(File(join(directory, child)), entry)
                content.add(file, is_directory=entry["type"] == "directory")
        return content

    def describe(self, file: File) -> File:
        if file.etag is not None:
            return file
        return _described(file, self._fs.info(self._path(file), timeout=LISTING_S))

    @contextlib.contextmanager
    def open(self, file: File) -> Iterator[tuple[File, Readable]]:
        with self._fs.open(self._path(file), "rb") as stream:
            yield _described(file, stream.details), stream

    def _path(self, file: File) -> str:
        return self._location if self._is_file else join(self._location, file.name)

    def explain(self, error: Exception) -> Trouble:
        import botocore.exceptions
        from fsspec.exceptions import FSTimeoutError

        if isinstance(error, FSTimeoutError):
            return Trouble(f"its listing was not whole after {LISTING_S} s")
        is_broken = isinstance(error, (botocore.exceptions.HTTPClientError, TimeoutError))
        return Trouble(bucket.reason(error), is_broken or getattr(error, "errno", None) in _TRANSIENT_NUMBERS)

    def close(self) -> None:
        bucket.close(self._fs)


def _described(file: File, entry: Mapping[str, Any]) -> File:
    time = entry.get("LastModified")
    return msgspec.structs.replace(
        file,
        size=entry.get("size"),
        etag=entry.get("ETag"),
        mtime_ns=int(time.timestamp()) * 10**9 if isinstance(time, dt.datetime) else None,
    )
