"""The directory that a download writes to, and never leaves, whatever the names of the files and the links in it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

from ..errors import DownloadError, OutputError, os_reason
from ..files import atomic_write
from .source import File, join, shown, unsafe

_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{16}")


class Incomplete(Exception):
    """The content of a file ended before its end."""


class Destination:
    """Writes files below *root*, which is made where it is missing, in its *subdirectory*.

    Raises:
        OutputError: it is a file, or can't be written.
    """

    def __init__(self, root: Path, subdirectory: str = "") -> None:
        self.root = Path(os.path.realpath(root))
        self.subdirectory = subdirectory
        self._checked: set[str] = set()
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise OutputError(f"cannot write to {root}: it is a file") from None
        except OSError as error:
            raise OutputError(f"cannot write to {root}: {os_reason(error)}") from error

    @property
    def directory(self) -> Path:
        """The root of the tree that is written."""
        return self.root / self.subdirectory

    def whole(self) -> Destination:
        """The destination without the subdirectory."""
        return Destination(self.root)

    def path(self, name: str) -> Path:
        """Where the file *name* is.

        Raises:
            OutputError: the name leads out, or a link on its way does.
        """
        reason = unsafe(name)
        if reason is not None:
            raise OutputError(f"cannot write {shown(name)}: {reason}")
        name = join(self.subdirectory, name)
        self._check_way(name.rpartition("/")[0])
        return self.root / name

    def _check_way(self, directory: str) -> None:
        """Refuse links among the directories on the way; what isn't there yet will be made."""
        if not directory or directory in self._checked:
            return
        self._check_way(directory.rpartition("/")[0])
        path = self.root / directory
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if stat.S_ISLNK(os.lstat(path).st_mode):
                raise OutputError(f"cannot write to {path}: it is a link; remove it or choose another destination")
            self._checked.add(directory)

    def state(self, name: str) -> tuple[int, int] | None:
        """Size and modification time (ns) of the regular file *name*; None where there is none."""
        try:
            status = os.lstat(self.path(name))
        except OSError:
            return None
        return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None

    def size(self, name: str) -> int | None:
        """The size of the regular file *name*; None where there is none."""
        state = self.state(name)
        return None if state is None else state[0]

    def make_directory(self, name: str) -> None:
        """Make the directory *name*."""
        path = self.path(name)
        self._check_way(join(self.subdirectory, name))
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot make the directory {path}: {os_reason(error)}") from error

    def write(self, file: File, chunks: Iterable[bytes]) -> int:
        """Write *chunks* to the file's place, whole or not at all, with its modification time; gives its size.

        Raises:
            OutputError: it can't be written.
            Incomplete: there is less of it, or more, than the file's size.
        """
        size = 0
        with atomic_write(self.path(file.name), durable=False) as stream:
            for chunk in chunks:
                stream.write(chunk)
                size += len(chunk)
            if file.size is not None and size != file.size:
                raise Incomplete(f"it ended after {size:,} of {file.size:,} bytes")
            stream.flush()
            if file.mtime_ns is not None and 0 <= file.mtime_ns < 2**62:
                os.utime(stream.fileno(), ns=(file.mtime_ns, file.mtime_ns))
        return size

    def remove(self, name: str) -> None:
        """Remove the file *name* if it is there."""
        with contextlib.suppress(OSError):
            os.unlink(self.path(name))

    def remove_leftovers(self, files: Iterable[str]) -> None:
        """Remove temporary files of *files* that a killed download left behind."""
        expected: dict[str, set[str]] = {}
        for name in files:
            directory, _, base = name.rpartition("/")
            expected.setdefault(directory, set()).add(base[:100])
        for directory, bases in expected.items():
            parent = self.path(directory) if directory else self.directory
            with contextlib.suppress(OSError), os.scandir(parent) as items:
                for item in items:
                    match = _TEMPORARY.fullmatch(item.name)
                    if match and match[1] in bases:
                        os.unlink(item.path)

    def check_space(self, needed: int) -> None:
        """Raise DownloadError if the disk has less than *needed* bytes left."""
        free = shutil.disk_usage(self.root).free
        if needed > free:
            raise DownloadError(f"{needed:,} bytes are to be fetched, and {self.root} has room for {free:,}")
