"""A results tree below a prefix of an S3 bucket, or one object there, through s3fs."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
import errno
from collections.abc import Iterator, Mapping
from typing import Any

from .. import bucket
from ..errors import DownloadError
from .addresses import Address
from .source import LISTING_S, Directory, File, Readable, Source, Trouble, join

BLOCK_BYTES = 4 << 20
_TRANSIENT_NUMBERS = frozenset({errno.EBUSY, errno.EIO, errno.EREMOTEIO, errno.ECONNRESET, errno.ETIMEDOUT})


class S3Source(Source):
    """Reads what is below the address. s3fs itself tries again where a request fails for the moment."""

    def __init__(self, address: Address) -> None:
        how = {"default_block_size": BLOCK_BYTES, "default_cache_type": "readahead"}
        self._fs = bucket.connect(DownloadError, use_listings_cache=True, **how)
        self._address, self.errors = address, (*bucket.errors(), ValueError)

    def list(self, directory: str) -> Directory:
        path = join(self._address.location, directory) if directory else self._address.location
        content = Directory()
        for entry in self._fs.ls(path, detail=True, timeout=LISTING_S):
            if entry["name"] == path and entry["type"] != "directory":
                raise DownloadError("it is neither a prefix nor an archive (.zip, .tar, .tar.gz, …)")
            child = entry["name"][len(path) + 1 :]
            if child:  # else the marker of the prefix itself
                file = _described(File(join(directory, child)), entry)
                content.add(file, is_directory=entry["type"] == "directory")
        return content

    def describe(self, file: File) -> File:
        if file.etag is not None:
            return file
        return _described(file, self._fs.info(self._path(file), timeout=LISTING_S))

    @contextlib.contextmanager
    def open(self, file: File) -> Iterator[tuple[File, Readable]]:
        with self._fs.open(self._path(file), "rb") as stream:
            yield _described(file, stream.details), stream

    def _path(self, file: File) -> str:
        return self._address.location if self._address.archive else join(self._address.location, file.name)

    def explain(self, error: Exception) -> Trouble:
        import botocore.exceptions
        from fsspec.exceptions import FSTimeoutError

        if isinstance(error, FSTimeoutError):
            return Trouble(f"its listing was not whole after {LISTING_S} s")
        is_broken = isinstance(error, (botocore.exceptions.HTTPClientError, TimeoutError))
        return Trouble(bucket.reason(error), is_broken or getattr(error, "errno", None) in _TRANSIENT_NUMBERS)

    def close(self) -> None:
        bucket.close(self._fs)


def _described(file: File, entry: Mapping[str, Any]) -> File:
    time = entry.get("LastModified")
    return dataclasses.replace(
        file,
        size=entry.get("size"),
        etag=entry.get("ETag"),
        mtime_ns=int(time.timestamp()) * 10**9 if isinstance(time, dt.datetime) else None,
    )
