"""Where a history is. The beginning of a location says which engine keeps it; that engine's module knows the rest.

Exports of a history in Parquet, a file, or a directory of such files, here or in S3, are known here, and only read.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import ipaddress
import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

from .. import bucket
from ..errors import HistoryError, needing
from ..files import open_without_blocking
from .port import Storage

DEFAULT = "sqlite:///matbench.db"
ENGINES = {
    "sqlite:///": ".sqlite",
    "postgresql://": ".postgresql",
    "http://": ".opensearch_location",
    "https://": ".opensearch_location",
}
"""By the beginning of a location the module whose ``locate(text, environment, **options)`` gives it, and warnings."""

MARK = b"matbench_history"
"""The name, in the metadata of a Parquet file, of what says that it is an export, and of which version."""
SUFFIX = ".parquet"
_END = b"PAR1"
_LONGEST_FOOTER = 64 << 20


class Location(Protocol):
    """Where a history is; as text it names no credentials."""

    @property
    def is_server(self) -> bool:
        """True if it can be away: what goes there waits in the outbox until it is acknowledged."""

    def open(self, *, writable: bool) -> Storage:
        """The engine; *writable* makes a history where there is none, else it has to be there, and nothing is changed.

        Raises:
            HistoryError: it is missing, can't be opened, or belongs to another program or to a newer matbench.
            UnavailableError: its server is away, or refuses us.
        """


def parse(text: str, environment: Mapping[str, str], **options: object) -> tuple[Location, list[str]]:
    """The location that *text* means, and warnings about it. Raises HistoryError: it means none, or holds a password.

    Such as ``sqlite:///relative.db``, ``sqlite:////absolute.db`` or ``https://host:port/index``; or an export in
    Parquet: ``runs.parquet``, a directory of such files, ``s3://bucket/runs.parquet``. The *environment* has
    credentials, *options* are what engines take besides.
    """
    text = text.strip()
    scheme, separator, rest = text.partition("://")
    text = f"{scheme.lower()}{separator}{rest}" if separator else text
    for beginning, name in ENGINES.items():
        if text.startswith(beginning):
            try:
                module = importlib.import_module(name, __package__)
            except ImportError as error:
                extra = f"pip install 'matrix-benchmarking[{name[1:]}]'"
                raise HistoryError(f"a history at {beginning} needs more: {extra} ({error})") from error
            found: tuple[Location, list[str]] = module.locate(text, environment, **options)
            return found
    if is_export(text):
        if text.startswith(bucket.BEGINNING):
            bucket.check(text, HistoryError)
        return ParquetLocation(text), []
    named = (rest if separator else text).lstrip("/")
    is_file = named.endswith((".db", ".sqlite", ".sqlite3")) and scheme.lower() in ("sqlite", text.lower())
    hint = f": did you mean sqlite:///{named}?" if is_file else ""
    shown = text.partition("?")[0].partition("#")[0]
    if "@" in text:
        raise HistoryError(
            "the location of the history holds a user name or password, which others could see, and begins with "
            f"none of {', '.join([*ENGINES, bucket.BEGINNING])}"
        )
    raise HistoryError(
        f"'{shown}' is no location of a history, which is {DEFAULT}, postgresql://host/database, "
        f"https://host:9200/index or, exported, runs.parquet{hint}"
    )


def engine(module: str, name: str) -> Callable[..., Storage]:
    """The class *name* of an engine's *module*, imported when a history is opened: some take a tenth of a second."""
    found: Callable[..., Storage] = getattr(importlib.import_module(module, __package__), name)
    return found


def is_local(host: str) -> bool:
    """True for this machine: no name at all and a directory are sockets of it."""
    return not host or host.startswith("/") or is_loopback(host)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclasses.dataclass(eq=False, slots=True)
class ParquetLocation:
    """Exports at a path or an ``s3://`` address; what their footers say is *known* as long as they are the same."""

    is_server: ClassVar = False

    text: str
    known: dict[str, Any] = dataclasses.field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return self.text

    def open(self, *, writable: bool) -> Storage:
        if writable:
            raise HistoryError(f"{self} is an export in Parquet, which is only read: name a history to write to")
        with needing("an export in Parquet", "parquet", HistoryError):
            storage = engine(".parquet", "ParquetStorage")
        return storage(self)


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
