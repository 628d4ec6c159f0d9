"""Members of a tar archive, compressed or not, read once to list them and once forwards for their content."""

from __future__ import annotations

import contextlib
import math
import tarfile
from collections.abc import Iterator
from pathlib import Path

from ..errors import DownloadError
from .forward import DamagedArchive, ForwardReader
from .source import File, Readable


class TarMembers:
    """The members in *path*, whose *suffix* says how it is compressed."""

    def __init__(self, path: Path, suffix: str) -> None:
        self._path = path
        self._suffix = suffix
        self._reader: ForwardReader | None = None

    def entries(self, max_bytes: int) -> Iterator[tuple[File, str | None]]:
        total = 0
        with ForwardReader(self._path, self._suffix) as reader, _opened(reader) as archive:
            while (member := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined] # it would keep them all
                total += _size(member)  # checked before the reader goes on to the next header
                if total > max_bytes:
                    raise DownloadError(
                        f"the archive declares more than {max_bytes:,} bytes; --max-bytes raises the limit"
                    )
                yield _file(member), _reason(member)
            if any(reader.last):  # tarfile takes a header that it can't read for the end
                raise DamagedArchive(f"there is no header at byte {reader.tell() - len(reader.last):,}")

    @contextlib.contextmanager
    def open(self, file: File) -> Iterator[Readable]:
        if self._reader is None or self._reader.tell() > file.position:
            self.close()
            self._reader = ForwardReader(self._path, self._suffix)
        self._reader.seek(file.position)
        yield _Part(self._reader, file.size or 0)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


class _Part:
    """The next *size* bytes of a reader."""

    def __init__(self, reader: ForwardReader, size: int) -> None:
        self._reader, self._left = reader, size

    def read(self, size: int, /) -> bytes:
        content = self._reader.read(min(size, self._left))
        if not content and self._left and size:
            raise DamagedArchive("it ends in the middle of a file")
        self._left -= len(content)
        return content


def _opened(reader: ForwardReader) -> tarfile.TarFile:
    return tarfile.TarFile(fileobj=reader, mode="r", errorlevel=2)  # type: ignore[arg-type]


def _size(member: tarfile.TarInfo) -> int:
    if member.size < 0:
        raise DamagedArchive("a member of negative size")
    return member.size


def _file(member: tarfile.TarInfo) -> File:
    name = f"{member.name}/" if member.isdir() else member.name
    mtime_ns = int(member.mtime) * 10**9 if math.isfinite(member.mtime) else None
    return File(name, member.size, mtime_ns=mtime_ns, position=member.offset_data)


def _reason(member: tarfile.TarInfo) -> str | None:
    """Why a member is left out; None for a plain file or directory."""
    if member.issym() or member.islnk():
        return "a link"
    if member.issparse():
        return "a sparse file"
    return None if member.isreg() or member.isdir() else "not a regular file"
