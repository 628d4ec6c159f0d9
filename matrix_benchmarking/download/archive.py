"""A results tree in a local archive: the members become a tree, whose files are read in the order of the archive.

What could write elsewhere or is no plain file (links, devices, names that lead out) is left out. Nothing is
ever extracted by the archive libraries themselves; they only give bytes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from ..errors import DownloadError, os_reason
from . import names
from .forward import DamagedArchive
from .source import Directory, File, Readable, Trouble
from .tar import TarMembers
from .zip import ZipMembers

_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, DamagedArchive)


class Members(Protocol):
    """An archive of one format: ``entries`` gives each member, or the reason why it is left out."""

    def entries(self, max_bytes: int) -> Iterator[tuple[File, str | None]]: ...

    def open(self, file: File) -> AbstractContextManager[Readable]: ...

    def close(self) -> None: ...


class ArchiveSource:
    """Reads an archive at *path*.

    Raises:
        DownloadError: it is damaged, or would become more than *max_bytes* or *max_entries*.
    """

    parallel = False
    errors: tuple[type[Exception], ...] = (OSError, NotImplementedError, RuntimeError, ValueError, *_DAMAGED)

    def __init__(self, path: Path, suffix: str, max_bytes: int, max_entries: int) -> None:
        try:
            self._members: Members = ZipMembers(path) if suffix == ".zip" else TarMembers(path, suffix)
            self._tree = _tree(self._members, max_bytes, max_entries)
        except self.errors as error:
            raise DownloadError(self.explain(error).reason) from error

    def list(self, directory: str) -> Directory:
        return self._tree.get(directory, Directory([], []))

    def describe(self, file: File) -> File:
        return file

    @contextlib.contextmanager
    def open(self, file: File) -> Iterator[tuple[File, Readable]]:
        with self._members.open(file) as stream:
            yield file, stream

    def explain(self, error: Exception) -> Trouble:
        if isinstance(error, _DAMAGED):
            return Trouble(f"the archive is damaged, or is none: {str(error)[:200] or type(error).__name__}")
        if isinstance(error, OSError):
            return Trouble(f"the archive can't be read: {os_reason(error)}")
        return Trouble(f"the archive can't be read: {str(error)[:200]}")

    def close(self) -> None:
        self._members.close()


def _tree(members: Members, max_bytes: int, max_entries: int) -> dict[str, Directory]:
    """The directories of an archive by their names; the last of several members with one name counts."""
    tree = {"": Directory([], [])}
    files: dict[str, File] = {}
    for number, (member, reason) in enumerate(members.entries(max_bytes)):
        if number >= max_entries:
            raise DownloadError(f"the archive has more than {max_entries:,} members")
        name = member.name
        while name.startswith("./"):
            name = name[2:]
        is_directory, name = name.endswith("/"), name.removesuffix("/")
        if name in ("", "."):
            continue
        reason = reason or names.unsafe(name)
        if reason is not None:
            tree[""].left_out.append(f"{names.shown(name)}: left out, {reason}")
        elif is_directory:
            _add_directory(tree, name)
        else:
            files[name] = dataclasses.replace(member, name=name)
    for name, file in files.items():
        parent = name.rpartition("/")[0]
        _add_directory(tree, parent)
        tree[parent].files.append(file)
    return tree


def _add_directory(tree: dict[str, Directory], name: str) -> None:
    """Add a directory and those above it."""
    if name in tree:
        return
    tree[name] = Directory([], [])
    parent = name.rpartition("/")[0]
    _add_directory(tree, parent)
    tree[parent].directories.append(name)
