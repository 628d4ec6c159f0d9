"""One benchmark at a time in a results directory."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import MatbenchError, OutputError, os_reason
from .run_directory import OWN_DIRECTORY

LOCK_FILE = f"{OWN_DIRECTORY}/lock"


@contextlib.contextmanager
def only_one(root: Path) -> Iterator[None]:
    """Hold the results directory *root*, which is made where it is missing. The system lets go of it if we die.

    Raises:
        OutputError: it can't be made or written.
        MatbenchError: another benchmark works in it.
    """
    try:
        (root / LOCK_FILE).parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(root / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise OutputError(f"cannot write to {root}: {os_reason(error)}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
            raise MatbenchError(f"another benchmark (process {holder}) works in {root}") from None
        with contextlib.suppress(OSError):  # the number is a courtesy; a full disk shows soon enough
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
