"""What every source of a results tree can do: list a directory, open a file, explain what went wrong."""

from __future__ import annotations

import dataclasses
from contextlib import AbstractContextManager
from typing import Protocol

LISTING_S = 300
"""How long a listing, or what the headers say of a file, may take as a whole."""
LEAST_BYTES = 64 << 10
"""Of a file, which may take as long as it needs, so much has to come in each LISTING_S."""


@dataclasses.dataclass(frozen=True, slots=True)
class File:
    """A file at its source, as far as it is known without reading it.

    Attributes:
        name: relative to the tree, with ``/``.
        size: in bytes.
        etag: what changes with the content, as the source tells it.
        mtime_ns: modification time, nanoseconds since 1970.
        position: where in an archive; files are read in this order.
    """

    name: str
    size: int | None = None
    etag: str | None = None
    mtime_ns: int | None = None
    position: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Directory:
    """What one directory of the source holds: files, directories by their whole names, and sentences on the rest."""

    files: list[File]
    directories: list[str]
    left_out: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Trouble:
    """Why the source failed: a reason for people, without anything secret, and whether to try again."""

    reason: str
    transient: bool = False


class Readable(Protocol):
    """The content of a file, read from its start to its end."""

    def read(self, size: int, /) -> bytes: ...


class Source(Protocol):
    """A results tree somewhere.

    Attributes:
        parallel: several files may be read at the same time.
        errors: what its methods raise when the source fails; :meth:`explain` says what it means.
    """

    parallel: bool
    errors: tuple[type[Exception], ...]

    def list(self, directory: str) -> Directory:
        """The content of *directory*, empty for the root."""

    def describe(self, file: File) -> File:
        """*file* with what can be known of it without reading it."""

    def open(self, file: File) -> AbstractContextManager[tuple[File, Readable]]:
        """The content of *file*, and the file with what opening it told."""

    def explain(self, error: Exception) -> Trouble:
        """What one of ``errors`` means."""

    def close(self) -> None:
        """Let go of connections and open files."""
