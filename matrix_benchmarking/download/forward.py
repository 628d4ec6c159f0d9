"""A compressed file, decompressed forwards only, a bounded piece at a time."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import DownloadError, needing

MAX_READ_BYTES = 16 << 20
_SKIP_BYTES = 1 << 20


class DamagedArchive(Exception):
    """Something in an archive that no program writes."""


class ForwardReader:
    """Reads *path* as a tar file needs it: a forged header can't make it hold more than a bounded piece.

    Attributes:
        last: what was read last.
    """

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

    def seek(self, position: int, whence: int = 0, /) -> int:
        """Go forwards to *position*."""
        if whence or position < self._position:
            raise DamagedArchive("its headers lead backwards")
        while self._position < position:
            if not self.read(min(_SKIP_BYTES, position - self._position)):
                break
        return self._position

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> ForwardReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


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
