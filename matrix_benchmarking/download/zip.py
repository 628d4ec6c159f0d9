"""Members of a zip archive."""

from __future__ import annotations

import contextlib
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

from ..errors import DownloadError
from .source import File, Readable

_ENCRYPTED = 0x1


class ZipMembers:
    """The members in *path*. zipfile never gives more of one than the directory of the archive declares."""

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path)
        self._infos = self._zip.infolist()

    def entries(self, max_bytes: int) -> Iterator[tuple[File, str | None]]:
        total = 0
        for position, info in enumerate(self._infos):
            total += info.file_size
            if total > max_bytes:
                raise DownloadError(f"the archive declares more than {max_bytes:,} bytes; --max-bytes raises the limit")
            yield File(info.orig_filename, info.file_size, f"crc32:{info.CRC:08x}", position=position), _reason(info)

    @contextlib.contextmanager
    def open(self, file: File) -> Iterator[Readable]:
        with self._zip.open(self._infos[file.position]) as stream:
            yield stream

    def close(self) -> None:
        self._zip.close()


def _reason(info: zipfile.ZipInfo) -> str | None:
    """Why a member is left out; None for a plain file or directory."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "a link"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "not a regular file"
    return "it is encrypted" if info.flag_bits & _ENCRYPTED else None
