"""A results tree in a local archive: the members become a tree, whose files are read in the order of the archive.

What could write elsewhere or is no plain file (links, devices, names that lead out) is left out. Nothing is
ever extracted by the archive libraries themselves; they only give bytes.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import math
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from ..errors import DownloadError, needing, os_reason
from ..files import unsafe
from .source import MAX_ENTRIES, Directory, File, Readable, Source, Trouble

MAX_READ_BYTES = 16 << 20
_SKIP_BYTES = 1 << 20
_ENCRYPTED = 0x1

Member = tuple[File, str | None]
"""A file or, with a slash at its end, a directory; and the reason why it is left out."""


class DamagedArchive(Exception):
    """Something in an archive that no program writes."""


_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, DamagedArchive)


class ArchiveSource(Source):
    """Reads an archive at *path*; DownloadError if it is damaged, or of more than *max_bytes* or MAX_ENTRIES."""

    parallel = False
    errors = (OSError, NotImplementedError, RuntimeError, ValueError, *_DAMAGED)

    def __init__(self, path: Path, suffix: str, max_bytes: int) -> None:
        try:
            self._archive = _Zip(path) if suffix == ".zip" else _Tar(path, suffix)
            self._tree = _tree(self._archive.members(), max_bytes)
        except self.errors as error:
            raise DownloadError(self.explain(error).reason) from error

    def list(self, directory: str) -> Directory:
        return self._tree.get(directory, Directory())

    @contextlib.contextmanager
    def open(self, file: File) -> Iterator[tuple[File, Readable]]:
        with self._archive.open(file) as stream:
            yield file, stream

    def explain(self, error: Exception) -> Trouble:
        if isinstance(error, _DAMAGED):
            return Trouble(f"the archive is damaged, or is none: {str(error)[:200] or type(error).__name__}")
        if isinstance(error, OSError):
            return Trouble(f"the archive can't be read: {os_reason(error)}")
        return Trouble(f"the archive can't be read: {str(error)[:200]}")

    def close(self) -> None:
        self._archive.close()


def _tree(members: Iterable[Member], max_bytes: int) -> dict[str, Directory]:
    """The directories of an archive by their names; the last of several members with one name counts.

    The bounds are checked before the next member is looked for.
    """
    tree = {"": Directory()}
    files: dict[str, File] = {}
    total = 0
    for number, (member, reason) in enumerate(members):
        if number >= MAX_ENTRIES:
            raise DownloadError(f"the archive has more than {MAX_ENTRIES:,} members")
        total += member.size or 0
        if total > max_bytes:
            raise DownloadError(f"the archive declares more than {max_bytes:,} bytes; `max_bytes` raises the limit")
        name = member.name
        while name.startswith("./"):
            name = name[2:]
        is_directory, name = name.endswith("/"), name.removesuffix("/")
        if name in ("", "."):
            continue
        file = msgspec.structs.replace(member, name=name)
        if reason or unsafe(name):
            tree[""].add(file, reason=reason)
        elif is_directory:
            _add_directory(tree, name)
        else:
            files[name] = file
    for name, file in files.items():
        _add_directory(tree, parent := name.rpartition("/")[0])
        tree[parent].files.append(file)
    return tree


def _add_directory(tree: dict[str, Directory], name: str) -> None:
    """Add a directory and those above it."""
    if name in tree:
        return
    tree[name] = Directory()
    parent = name.rpartition("/")[0]
    _add_directory(tree, parent)
    tree[parent].directories.append(name)


class _Zip:
    """The members of a zip file. zipfile never gives more of one than the directory of the archive declares."""

    def __init__(self, path: Path) -> None:
        self._zip = zipfile.ZipFile(path)
        self._infos = self._zip.infolist()

    def members(self) -> Iterator[Member]:
        for position, info in enumerate(self._infos):
            file = File(info.orig_filename, info.file_size, f"crc32:{info.CRC:08x}", position=position)
            yield file, _reason_of_zip(info)

    def open(self, file: File) -> contextlib.AbstractContextManager[Readable]:
        return self._zip.open(self._infos[file.position])

    def close(self) -> None:
        self._zip.close()


def _reason_of_zip(info: zipfile.ZipInfo) -> str | None:
    """Why a member is left out; None for a plain file or directory."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "a link"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "not a regular file"
    return "it is encrypted" if info.flag_bits & _ENCRYPTED else None


class _Tar:
    """The members of a tar file, which is read once to list them and once forwards for their content."""

    def __init__(self, path: Path, suffix: str) -> None:
        self._path, self._suffix = path, suffix
        self._reader: _ForwardReader | None = None

    def members(self) -> Iterator[Member]:
        with contextlib.closing(_ForwardReader(self._path, self._suffix)) as reader:
            archive = tarfile.TarFile(fileobj=reader, mode="r", errorlevel=2)  # type: ignore[arg-type]
            while (member := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined] # it would keep them all
                if member.size < 0:
                    raise DamagedArchive("a member of negative size")
                name = f"{member.name}/" if member.isdir() else member.name
                mtime_ns = int(member.mtime) * 10**9 if math.isfinite(member.mtime) else None
                file = File(name, member.size, mtime_ns=mtime_ns, position=member.offset_data)
                yield file, _reason_of_tar(member)
            if any(reader.last):  # tarfile takes a header that it can't read for the end
                raise DamagedArchive(f"there is no header at byte {reader.tell() - len(reader.last):,}")
            if not reader.last:
                raise DamagedArchive(f"it ends at byte {reader.tell():,} without the mark of its end, as if cut off")
            if (follows := reader.skip_zeros()) is not None:
                why = "it is behind the end of the archive, as where another was appended: fetch them apart"
                yield File(f"all from byte {follows:,} on"), why

    @contextlib.contextmanager
    def open(self, file: File) -> Iterator[Readable]:
        if self._reader is None or self._reader.tell() > file.position:
            self.close()
            self._reader = _ForwardReader(self._path, self._suffix)
        self._reader.seek(file.position)
        yield _Part(self._reader, file.size or 0)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def _reason_of_tar(member: tarfile.TarInfo) -> str | None:
    """Why a member is left out; None for a plain file or directory."""
    if member.issym() or member.islnk():
        return "a link"
    if member.issparse():
        return "a sparse file"
    return None if member.isreg() or member.isdir() else "not a regular file"


class _Part:
    """The next *size* bytes of a reader."""

    def __init__(self, reader: _ForwardReader, size: int) -> None:
        self._reader, self._left = reader, size

    def read(self, size: int, /) -> bytes:
        content = self._reader.read(min(size, self._left))
        if not content and self._left and size:
            raise DamagedArchive("it ends in the middle of a file")
        self._left -= len(content)
        return content


class _ForwardReader:
    """Decompresses *path* as a tar file needs it, forwards only: a forged header can't make it hold much at a time."""

    def __init__(self, path: Path, suffix: str) -> None:
        self._stream = _decompressed(path, suffix)
        self._position = 0
        self.last = b""

    def read(self, size: int, /) -> bytes:
        if not 0 <= size <= MAX_READ_BYTES:
            raise DamagedArchive(f"a header of {size:,} bytes")
        content: bytes = self._stream.read(size)
        self._position += len(content)
        self.last = content
        return content

    def tell(self) -> int:
        return self._position

    def seek(self, position: int, /) -> int:
        """Go forwards to *position*."""
        if position < self._position:
            raise DamagedArchive("its headers lead backwards")
        while self._position < position:
            if not self.read(min(_SKIP_BYTES, position - self._position)):
                break
        return self._position

    def skip_zeros(self) -> int | None:
        """Go on to the end, or to about where something follows within MAX_READ_BYTES, and where that is."""
        for _ in range(MAX_READ_BYTES // _SKIP_BYTES):
            before, content = self._position, self.read(_SKIP_BYTES)
            if rest := content.lstrip(b"\0"):
                return before + len(content) - len(rest)
            if not content:
                break
        return None

    def close(self) -> None:
        self._stream.close()


def _decompressed(path: Path, suffix: str) -> Any:
    if suffix in (".tar.gz", ".tgz"):
        return gzip.open(path, "rb")
    if suffix == ".tar.bz2":
        return bz2.open(path, "rb")
    if suffix == ".tar.xz":
        return lzma.open(path, "rb")
    if suffix in (".tar.zst", ".tzst"):
        with needing(f"an archive that ends in {suffix}", "parquet", DownloadError):
            import pyarrow

        return pyarrow.CompressedInputStream(str(path), "zstd")
    return open(path, "rb")
