"""Where a command's output goes: a file that is whole or untouched, or standard output for ``-``."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

import click

from ..errors import ConfigError, OutputError, os_reason
from ..files import atomic_write

STDOUT = Path("-")
FILE = click.Path(path_type=Path, allow_dash=True)
SPOOL_BYTES = 16 * 2**20


def check(outputs: Iterable[Path | None]) -> None:
    """Raise ConfigError if two outputs would go to the same place."""
    seen: set[Path] = set()
    for path in outputs:
        if path in seen:
            place = "standard output (-)" if path == STDOUT else f"'{path}'"
            raise ConfigError(f"two outputs are to be written to {place}: give each a file of its own")
        if path is not None:
            seen.add(path)


def write(path: Path, writer: Callable[[IO[bytes]], object]) -> None:
    """Let *writer* write to *path*. If it raises, the file is as before and nothing is printed.

    A link stays a link; a device or a pipe is written to, not replaced.

    Raises:
        OutputError: *path* can't be written.
    """
    if path != STDOUT and (path.is_file() or path.is_dir() or not path.exists()):
        with atomic_write(Path(os.path.realpath(path))) as stream:
            writer(stream)
        return
    with tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES) as spool:
        writer(spool)
        spool.seek(0)
        _copy(spool, path)


def _copy(source: IO[bytes], path: Path) -> None:
    """Send *source* to standard output, or to the device or pipe *path*."""
    try:
        if path == STDOUT:
            shutil.copyfileobj(source, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        with path.open("wb") as stream:
            shutil.copyfileobj(source, stream)
    except BrokenPipeError:
        raise
    except OSError as error:
        if path == STDOUT:
            silence_stdout()
        place = "standard output" if path == STDOUT else str(path)
        raise OutputError(f"cannot write to {place}: {os_reason(error)}") from error


def silence_stdout() -> None:
    """Send what is still to be flushed nowhere: whoever read it is gone, or its disk is full."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
