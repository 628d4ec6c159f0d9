"""Atomic writing of files: either the whole new file is there afterwards, or nothing has changed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .errors import OutputError, os_reason


@contextlib.contextmanager
def atomic_write(path: Path, *, durable: bool = True) -> Iterator[IO[bytes]]:
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
        raise OutputError(f"cannot write {path}: {path.parent} is not a directory") from error
    except OSError as error:
        raise OutputError(f"cannot write {path}: {os_reason(error)}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _create_beside(path: Path) -> tuple[int, str]:
    """A new file in the directory of *path*, which is made where it is missing, and its name."""
    name = f"{path.parent}/.{path.name[:100]}.{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(name, flags, 0o666), name
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(name, flags, 0o666), name
