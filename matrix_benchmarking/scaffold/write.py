"""Writes a new workload: all of it, or nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from ..errors import ConfigError, OutputError, os_reason
from .content import Scaffold


def check_free(scaffold: Scaffold) -> None:
    """Raise ConfigError where something is in the way: nothing is ever overwritten."""
    for root in scaffold.roots:
        if os.path.lexists(root):
            raise ConfigError(f"{root} is there already: choose another name, or another directory")


def write(scaffold: Scaffold) -> None:
    """Write the files, beside their place at first, so that a directory is whole as soon as it has its name.

    Raises:
        ConfigError: one of the directories exists.
        OutputError: they can't be written. What was written is removed again.
    """
    check_free(scaffold)
    staged: dict[Path, Path] = {}
    finished: list[Path] = []
    try:
        for root in scaffold.roots:
            staged[root] = _staging(root)
            for path, content in scaffold.files.items():
                if path.is_relative_to(root):
                    _write_file(staged[root] / path.relative_to(root), content)
        for root, temporary in staged.items():
            os.rename(temporary, root)
            finished.append(root)
    except BaseException as error:
        left = [str(each) for each in (*staged.values(), *finished) if not _removed(each)]
        if not isinstance(error, OSError):
            raise
        more = f"; {', '.join(left)} could not be removed again" if left else ""
        raise OutputError(f"cannot write {', '.join(map(str, scaffold.roots))}: {_reason(error)}{more}") from error


def _write_file(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _staging(root: Path) -> Path:
    """A new directory beside *root*."""
    root.parent.mkdir(parents=True, exist_ok=True)
    temporary = root.parent / f".{root.name}.{os.urandom(8).hex()}"
    temporary.mkdir()
    return temporary


def _reason(error: OSError) -> str:
    if isinstance(error, (FileExistsError, NotADirectoryError)):
        return f"{error.filename} is not a directory"
    return os_reason(error)


def _removed(directory: Path) -> bool:
    with contextlib.suppress(OSError):
        shutil.rmtree(directory)
    return not directory.exists()
