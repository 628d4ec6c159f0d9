"""Files: written atomically (the whole new file is there, or nothing has changed), read without blocking."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .errors import MatbenchError, OutputError, failing, os_reason

MAX_SEGMENT_BYTES, MAX_NAME_BYTES, MAX_DEPTH = 255, 3000, 50
_PIECE = 1 << 20


@contextlib.contextmanager
def atomic_write(path: str | Path, *, durable: bool = True) -> Iterator[IO[bytes]]:
    """Open a temporary file beside *path* for writing, and rename it to *path* on success.

    Args:
        path: the file to write. Missing parent directories are created.
        durable: fsync before the rename; switch it off for what can be recomputed.

    Raises:
        OutputError: the file can't be written (no permission, full disk, a directory is in the way).
    """
    temporary: str | None = None
    try:
        descriptor, temporary = _create_beside(path)
        with open(descriptor, "wb") as stream:
            yield stream
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        os.replace(temporary, path)
        temporary = None
    except (FileExistsError, NotADirectoryError) as error:
        raise OutputError(f"cannot write {path}: {os.path.dirname(path)} is not a directory") from error
    except OSError as error:
        raise OutputError(f"cannot write {path}: {os_reason(error)}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _create_beside(path: str | Path) -> tuple[int, str]:
    """A new file in the directory of *path*, which is made where it is missing, and its name."""
    directory, name = os.path.split(path)
    name = f"{directory or '.'}/.{name[:100]}.{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(name, flags, 0o666), name
    except FileNotFoundError:
        os.makedirs(directory, exist_ok=True)
        return os.open(name, flags, 0o666), name


@contextlib.contextmanager
def only_one(path: Path, root: Path, work: str) -> Iterator[None]:
    """Hold the lock file *path*, so that one *work* at a time is done in *root*; the system lets go if we die.

    Raises:
        OutputError: it can't be made or written.
        MatbenchError: another one works in *root*.
    """
    with failing(f"cannot write to {root}", OutputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 300).decode("ascii", "replace").strip() or "unknown"
            raise MatbenchError(f"another {work} (process {holder}) works in {root}: wait for it, or end it") from None
        except OSError as error:  # a network's file system may have no locks
            raise OutputError(f"cannot lock {path}: {os_reason(error)}") from error
        with contextlib.suppress(OSError):  # the number is a courtesy; a full disk shows soon enough
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def read_regular(path: str | os.PathLike[str], limit: int = -1, *, is_end: bool = False) -> bytes:
    """The content of a regular file, at most the first *limit* bytes of it, or the last ones.

    A pipe or a device in the place of a file, which could block for ever, is an error.

    Raises:
        OSError: it can't be read, or is not a regular file.
    """
    descriptor = open_without_blocking(path, os.O_RDONLY | os.O_CLOEXEC)  # half the time that a file object takes
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
        if limit >= 0:
            return os.pread(descriptor, limit, max(0, status.st_size - limit) if is_end else 0)
        content = os.read(descriptor, status.st_size + 1)
        if len(content) != status.st_size:  # it grows, or its size isn't told
            content += b"".join(iter(lambda: os.read(descriptor, _PIECE), b""))
        return content
    finally:
        os.close(descriptor)


def open_without_blocking(path: str | os.PathLike[str], flags: int) -> int:
    """An opener for :func:`open`, which a pipe or a device in the place of a file does not block."""
    return os.open(path, flags | os.O_NONBLOCK)


def unsafe(name: str) -> str | None:
    """Why the relative *name*, of segments joined by ``/``, may not become a file; None where it may."""
    segments = name.split("/")
    if ".." in segments or name.startswith("/"):
        return "its name leads out of the destination"
    if "" in segments or "." in segments:
        return "its name has an empty part"
    if "\\" in name:
        return "its name has a backslash"
    try:
        lengths = [len(segment.encode("utf-8")) for segment in segments]
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if any(not char.isprintable() for char in name):
        return "its name has control characters"
    if max(lengths) > MAX_SEGMENT_BYTES or sum(lengths) + len(lengths) > MAX_NAME_BYTES:
        return "its name is too long"
    return f"it is more than {MAX_DEPTH} directories deep" if len(segments) > MAX_DEPTH else None


INDEX_PREFIX = ".matbench_index."


def is_index(filename: str) -> bool:
    """True for a tree's index, or what a killed parse left of one: it belongs to no test."""
    return filename.startswith((INDEX_PREFIX, f".{INDEX_PREFIX}"))
