"""Atomic writing of files: either the whole new file is there afterwards, or nothing has changed."""

from __future__ import annotations

import contextlib
import os
import tempfile
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
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        temporary = None
    except FileExistsError as error:
        raise OutputError(f"cannot write {path}: {path.parent} is not a directory") from error
    except OSError as error:
        raise OutputError(f"cannot write {path}: {os_reason(error)}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current
