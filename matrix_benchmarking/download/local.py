"""A results tree in a local directory. Links that lead out of it, and devices, are left out."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ..errors import DownloadError, os_reason
from .source import Directory, File, Readable, Source, Trouble, join


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
            yield dataclasses.replace(_file(file.name, status), position=file.position), stream

    def explain(self, error: Exception) -> Trouble:
        return Trouble(os_reason(error) if isinstance(error, OSError) else str(error))


def _file(name: str, status: os.stat_result) -> File:
    return File(name, status.st_size, mtime_ns=status.st_mtime_ns)
