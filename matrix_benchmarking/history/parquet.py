"""Where exports of a history in Parquet are, only read: a file, or a directory of such files, here or in S3."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from .. import bucket
from ..errors import HistoryError, needing
from ..files import open_without_blocking
from .location import engine
from .port import Storage

MARK = b"matbench_history"
"""The name, in the metadata of a file, of what says that it is an export, and of which version."""
SUFFIX = ".parquet"
_END = b"PAR1"
_LONGEST_FOOTER = 64 << 20


@dataclasses.dataclass(eq=False, slots=True)
class ParquetLocation:
    """Exports at a path or an ``s3://`` address; what their footers say is *known* as long as they are the same."""

    text: str
    known: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)

    @property
    def is_server(self) -> bool:
        return False

    def __str__(self) -> str:
        return self.text

    def open(self, *, writable: bool) -> Storage:
        if writable:
            raise HistoryError(f"{self} is an export in Parquet, which is only read: name a history to write to")
        with needing("an export in Parquet", "parquet", HistoryError):
            storage = engine(".parquet_storage", "ParquetStorage")
        return storage(self)


def locate(text: str, _: Mapping[str, str], **__: object) -> tuple[ParquetLocation, list[str]]:
    """The location that a path, or ``s3://bucket/name``, means."""
    if text.startswith(bucket.BEGINNING):
        bucket.check(text, HistoryError)
    return ParquetLocation(text), []


def is_export(place: str | os.PathLike[str]) -> bool:
    """True for a path that ends in ``.parquet``, for a directory in which a file is an export, and for S3."""
    text = os.fspath(place)
    if "://" in text or "\0" in text:
        return text.startswith(bucket.BEGINNING)
    if os.path.isdir(text):
        return any(map(_has_mark, files_in(text)))
    return text.endswith(SUFFIX)


def files_in(directory: str) -> list[str]:
    """The Parquet files in *directory*, not below it."""
    try:
        return sorted(os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(SUFFIX))
    except OSError:
        return []


def _has_mark(path: str) -> bool:
    """True for a file with our mark in its footer; it takes no library to see that."""
    with contextlib.suppress(OSError), open(path, "rb", opener=open_without_blocking) as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - 8))
        end = stream.read()
        length = int.from_bytes(end[:4], "little")
        if end[4:] == _END and length <= min(size - 8, _LONGEST_FOOTER):
            stream.seek(size - 8 - length)
            return MARK in stream.read(length)
    return False
